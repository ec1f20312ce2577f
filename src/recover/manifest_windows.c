/* The windows of a manifest: those that are left, some of them cut, and those that have gone. */
#include <stdio.h>
#include <string.h>
#include "recorder/files/json.h"
#include "recover/manifest.h"

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static const char *policy_version(const struct ada_draft *draft, char text[64])
{
	const json_object *policy = ada_json_get(draft->manifest, "marking_policy");
	const char *version = ada_json_text(policy, "version", ""), *hash = ada_json_text(policy, "hash", "");

	snprintf(text, 64, "%.20s%s%.16s", *version ? version : "v0", *version && *hash ? "-" : "", *version ? hash : "");
	return text;
}

/* Makes the entry of a window that the recorder never wrote down. */
static json_object *new_window(const struct ada_draft *draft)
{
	static const char *const zero[] = { "requestedPreRollSec", "requestedPostRollSec" };
	json_object *object = json_object_new_object();
	char version[64];

	ada_recover_set_text(object, "triggerKind", "");
	json_object_object_add(object, "triggerKinds", json_object_new_array());
	ada_recover_set_text(object, "keySymbolVersion", policy_version(draft, version));
	for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
		json_object_object_add(object, zero[i], json_object_new_double(0));
	json_object_object_add(object, "marks", json_object_new_array());
	ada_recover_set_text(object, "shortReason", "its recorder died before it had written down what marked it");
	return object;
}

/* A mark whose event was lost with the recorder names none any more. */
static void check_mark(const struct ada_draft *draft, json_object *mark)
{
	const struct ada_session *session = draft->process->session;
	uint64_t seq = ada_json_u64(mark, "indexSeq", UINT64_MAX), number = ada_json_u64(mark, "thread", UINT64_MAX);

	if (seq == UINT64_MAX)
		return;
	for (size_t i = 0; i < draft->process->thread_count; i++) {
		const struct ada_thread *thread = &session->threads.items[draft->process->first_thread + i];
		uint32_t segment = (uint32_t)ada_json_u64(mark, "segment", 0);

		if (thread->number == number && thread->events && segment < atf_thread_segments(thread->events) &&
		    seq < atf_index_count(atf_thread_segment(thread->events, segment)))
			return;
	}
	ada_recover_set_object(mark, "indexSeq", NULL);
	ada_recover_set_object(mark, "segment", NULL);
}

static void say_cut(json_object *object, const char *what)
{
	const char *before = ada_json_text(object, "shortReason", "");
	char text[1024];

	snprintf(text, sizeof text, "%.800s%s%s", before, *before ? "; " : "", what);
	ada_recover_set_text(object, "shortReason", text);
}

static json_object *window_of(const struct ada_draft *draft, const struct ada_saved_window *window)
{
	const AtfDetailWindow *bounds = &window->bounds;
	json_object *object = NULL, *marks;
	uint64_t last_ns = bounds->start_ns;

	if (!window->entry || json_object_deep_copy((json_object *)window->entry, &object, NULL))
		object = new_window(draft);
	marks = ada_json_get(object, "marks");
	for (size_t i = 0; i < ada_json_length(marks); i++) {
		uint64_t ns = ada_json_u64(json_object_array_get_idx(marks, i), "tsNs", 0);

		check_mark(draft, json_object_array_get_idx(marks, i));
		last_ns = ns > last_ns ? ns : last_ns;
	}
	ada_recover_set(object, "id", bounds->window_id);
	ada_recover_set(object, "startNs", bounds->start_ns);
	ada_recover_set(object, "endNs", bounds->end_ns);
	ada_recover_set(object, "event_count", window->records);
	ada_recover_set(object, "eventCount", window->records);
	ada_recover_set(object, "markedNs", bounds->marked_ns);
	ada_recover_set(object, "markedCount", bounds->marked_count);
	if (window->cut) {
		uint64_t pre = bounds->marked_ns > bounds->start_ns ? bounds->marked_ns - bounds->start_ns : 0;

		ada_recover_set_object(object, "preRollSec", json_object_new_double(seconds(pre)));
		ada_recover_set_object(object, "postRollSec",
				       json_object_new_double(seconds(bounds->end_ns > last_ns ? bounds->end_ns - last_ns : 0)));
		if (window->entry)
			say_cut(object, "its recorder died, and it was cut to what was in the files of all threads");
		ada_recover_set_object(object, "recovered", json_object_new_boolean(true));
	}
	ada_recover_set_object(object, "closed", json_object_new_boolean(true));
	ada_recover_set_object(object, "settled", json_object_new_boolean(true));
	return object;
}

void ada_recover_add_windows(struct ada_draft *draft, json_object *note)
{
	json_object *lane = ada_recover_part(draft->manifest, "detail_lane"), *list = json_object_new_array(),
		    *gone = json_object_new_array();
	double ratio = draft->sums.events ? (double)draft->sums.records / (double)draft->sums.events : 0;
	uint64_t cut = 0;

	for (size_t i = 0; i < draft->windows->kept.count; i++) {
		json_object_array_add(list, window_of(draft, &draft->windows->kept.items[i]));
		cut += draft->windows->kept.items[i].cut;
	}
	for (size_t i = 0; i < draft->windows->gone.count; i++)
		json_object_array_add(gone, json_object_get((json_object *)draft->windows->gone.items[i]));
	ada_recover_set_object(lane, "windows", list);
	ada_recover_set(lane, "event_count", draft->sums.records);
	ada_recover_set_object(lane, "coverage_ratio", json_object_new_double(ratio < 1 ? ratio : 1));
	ada_json_count(note, "windowsCut", cut);
	json_object_object_add(note, "windowsGone", gone);
}

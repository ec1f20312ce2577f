/* session.json. */
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "atf/session/anchor.h"
#include "base/file.h"
#include "recorder/bound/bound.h"
#include "recorder/sched/samples.h"
#include "recorder/sched/sched.h"
#include "recorder/session/manifest.h"
#include "recorder/state/provider.h"

static json_object *process_of(const struct ada_provider *provider)
{
	json_object *object = json_object_new_object();

	json_object_object_add(object, "directory", json_object_new_string(provider->name));
	ada_json_count(object, "pid", (uint64_t)provider->pid);
	ada_json_count(object, "parentPid", (uint64_t)provider->parent_pid);
	ada_json_count(object, "provider", provider->number);
	json_object_object_add(object, "program", ada_json_text_of(provider->program, strlen(provider->program)));
	ada_json_count(object, "startNs", provider->start_ns);
	json_object_object_add(object, "endNs", provider->ended ? json_object_new_uint64(provider->end_ns) : NULL);
	ada_json_count(object, "events", ada_provider_events(provider));
	ada_json_count(object, "lost", ada_provider_lost(provider));
	json_object_object_add(object, "exit", ada_json_exit_of(&provider->exit, NULL));
	return object;
}

static json_object *unrecorded_of(const struct ada_unrecorded *note)
{
	json_object *object = json_object_new_object();

	ada_json_count(object, "pid", (uint64_t)note->pid);
	json_object_object_add(object, "program", ada_json_text_of(note->program, strlen(note->program)));
	json_object_object_add(object, "reason", ada_json_text_of(note->reason, strlen(note->reason)));
	return object;
}

static json_object *host_of(const struct ada_session *session)
{
	struct utsname host;
	json_object *object = json_object_new_object();
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	uname(&host);
	json_object_object_add(object, "name", json_object_new_string(host.nodename));
	json_object_object_add(object, "kernel", json_object_new_string(host.release));
	json_object_object_add(object, "machine", json_object_new_string(host.machine));
	ada_json_count(object, "cpus", cpus > 0 ? (uint64_t)cpus : 1);
	ada_json_count(object, "pageFaultNs", session->page_fault_ns);
	return object;
}

static json_object *strings_of(const struct ada_strings *strings)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < strings->count; i++)
		json_object_array_add(list, ada_json_text_of(strings->items[i], strlen(strings->items[i])));
	return list;
}

/* The options in effect: --detail=regs is stack-bytes 0; with the rolls of rules that give none. */
static void add_detail_options(json_object *object, const struct ada_trace_options *options)
{
	static const char *const modes[] = { "circular", "oneshot", "streaming" };
	const char *detail = !options->detail ? "off" : options->detail_stack_bytes ? "stack" : "regs";

	json_object_object_add(object, "detail", json_object_new_string(detail));
	ada_json_count(object, "stack-bytes", options->detail_stack_bytes);
	json_object_object_add(object, "stack-at", json_object_new_string(options->stack_at_return ? "both" : "call"));
	json_object_object_add(object, "detail-mode", json_object_new_string(modes[options->detail_mode]));
	ada_json_count(object, "detail-buffer", options->detail_buffer_bytes);
	json_object_object_add(object, "trigger", strings_of(&options->triggers));
	json_object_object_add(object, "strict", json_object_new_boolean(options->strict));
	json_object_object_add(object, "pre-roll-sec", json_object_new_double((double)options->pre_roll_ns / 1e9));
	ada_json_count(object, "pre-roll-events", options->pre_roll_events);
	json_object_object_add(object, "post-roll-sec", json_object_new_double((double)options->post_roll_ns / 1e9));
	ada_json_count(object, "post-roll-events", options->post_roll_events);
	ada_json_count(object, "mark-signal", (uint64_t)options->mark_signal);
}

static json_object *options_of(const struct ada_trace_options *options)
{
	static const char *const modes[] = { "streaming", "oneshot", "circular" }, *const packs[] = { "auto", "always", "never" };
	json_object *object = json_object_new_object();

	json_object_object_add(object, "modules", strings_of(&options->modules));
	json_object_object_add(object, "functions", strings_of(&options->functions));
	json_object_object_add(object, "exclude", strings_of(&options->exclude));
	json_object_object_add(object, "follow", json_object_new_boolean(options->follow));
	json_object_object_add(object, "libcalls", json_object_new_boolean(options->libcalls));
	json_object_object_add(object, "index-mode", json_object_new_string(modes[options->index_mode]));
	ada_json_count(object, "index-buffer", options->index_buffer_bytes);
	json_object_object_add(object, "on-full", json_object_new_string(options->on_full == ADA_ON_FULL_BLOCK ? "block" : "drop"));
	ada_json_count(object, "segment-size", options->segment_bytes);
	json_object_object_add(object, "pack", json_object_new_string(packs[options->pack]));
	json_object_object_add(object, "sched", json_object_new_string(options->sched ? "auto" : "off"));
	json_object_object_add(object, "debug-poison", json_object_new_boolean(options->poison));
	json_object_object_add(object, "debug-unbound", json_object_new_boolean(options->unbound));
	add_detail_options(object, options);
	return object;
}

/* The anchors that `ada anchor` and programs left in the journal, since they can't write session.json while this process holds it. */
static json_object *anchors_of(const struct ada_session *session)
{
	struct atf_anchors anchors = { 0 };
	json_object *list = json_object_new_array();

	if (!atf_anchors_read_journal(&anchors, session->root))
		atf_anchors_settle(&anchors);
	for (size_t i = 0; i < anchors.items.count; i++) {
		json_object *object = json_object_new_object();

		json_object_object_add(object, "clock", json_object_new_string(anchors.items.items[i].clock));
		ada_json_count(object, "hostTimeNs", anchors.items.items[i].hostTimeNs);
		ada_json_count(object, "mediaTimeNs", anchors.items.items[i].mediaTimeNs);
		json_object_array_add(list, object);
	}
	ada_array_free(&anchors.items);
	return list;
}

/* What all that isn't events has in common. */
static void add_lane(json_object *object, bool recorded, const struct ada_roll_counts *counts, const char *reason)
{
	if (counts->failed)
		reason = strerror(-counts->failed);
	json_object_object_add(object, "recorded", json_object_new_boolean(recorded));
	json_object_object_add(object, "reason", reason ? json_object_new_string(reason) : NULL);
	ada_json_count(object, "events", counts->events);
	if (counts->aged)
		ada_json_count(object, "aged", counts->aged);
}

static json_object *samples_of(const struct ada_recorder *recorder)
{
	json_object *object = json_object_new_object();
	const char *reason = *recorder->no_samples.text ? recorder->no_samples.text : NULL;
	struct ada_roll_counts counts = { 0 };

	if (recorder->samples)
		counts = ada_samples_count(recorder->samples);
	add_lane(object, recorder->samples, &counts, reason);
	return object;
}

/* What became of the scheduling lane. */
static json_object *sched_of(const struct ada_recorder *recorder)
{
	json_object *object = json_object_new_object();
	struct ada_sched_counts counts = { 0 };
	const char *reason = *recorder->no_sched.text ? recorder->no_sched.text : NULL;

	if (recorder->sched)
		counts = ada_sched_count(recorder->sched);
	add_lane(object, recorder->sched, &counts.files, reason);
	ada_json_count(object, "lost", counts.lost);
	ada_json_count(object, "pausedNs", counts.paused_ns);
	return object;
}

static json_object *limit_of(uint64_t limit)
{
	return limit ? json_object_new_uint64(limit) : NULL;
}

json_object *ada_json_bound_of(const struct ada_recorder *recorder)
{
	struct ada_bound_state state = ada_bound_state(recorder->bound);
	json_object *object = recorder->bound ? json_object_new_object() : NULL;

	if (!object)
		return NULL;
	json_object_object_add(object, "diskLimit", limit_of(state.disk_limit));
	json_object_object_add(object, "diskLimitAsked", limit_of(state.disk_limit_asked));
	json_object_object_add(object, "detailLimit", limit_of(state.detail_limit));
	json_object_object_add(object, "maxAgeNs", limit_of(state.max_age_ns));
	return object;
}

static json_object *session_of(struct ada_recorder *recorder, bool finalized)
{
	const struct ada_session *session = &recorder->session;
	char directory[PATH_MAX];
	json_object *object = json_object_new_object(), *command = json_object_new_array();
	json_object *processes = json_object_new_array(), *unrecorded = json_object_new_array();
	const char *cwd, *control;

	for (char **argument = recorder->options->command; *argument; argument++)
		json_object_array_add(command, ada_json_text_of(*argument, strlen(*argument)));
	json_object_object_add(object, "format", json_object_new_string("ada-session"));
	ada_json_count(object, "version", 1);
	json_object_object_add(object, "adaVersion", json_object_new_string(ADA_VERSION));
	json_object_object_add(object, "name", json_object_new_string(session->name));
	json_object_object_add(object, "program", ada_json_text_of(recorder->program.path, strlen(recorder->program.path)));
	json_object_object_add(object, "command", command);
	cwd = getcwd(directory, sizeof directory) ? directory : "";
	json_object_object_add(object, "workingDirectory", ada_json_text_of(cwd, strlen(cwd)));
	json_object_object_add(object, "host", host_of(session));
	json_object_object_add(object, "started", json_object_new_string(session->started));
	ada_json_count(object, "startNs", session->start_ns);
	json_object_object_add(object, "endNs", finalized ? json_object_new_uint64(session->end_ns) : NULL);
	json_object_object_add(object, "options", options_of(recorder->options));
	json_object_object_add(object, "bound", ada_json_bound_of(recorder));
	pthread_mutex_lock(&recorder->lock);
	for (size_t i = 0; i < recorder->providers.count; i++)
		json_object_array_add(processes, process_of(recorder->providers.items[i]));
	for (size_t i = 0; i < recorder->unrecorded.count; i++)
		json_object_array_add(unrecorded, unrecorded_of(&recorder->unrecorded.items[i]));
	pthread_mutex_unlock(&recorder->lock);
	json_object_object_add(object, "processes", processes);
	json_object_object_add(object, "notRecorded", unrecorded);
	json_object_object_add(object, "sched", sched_of(recorder));
	json_object_object_add(object, "samples", samples_of(recorder));
	json_object_object_add(object, "clock", ada_json_clock_of(recorder->clock));
	json_object_object_add(object, "anchors", anchors_of(session));
	json_object_object_add(object, "exit", ada_json_exit_of(&recorder->main_exit, NULL));
	control = finalized ? NULL : recorder->control_path;
	json_object_object_add(object, "control", control ? json_object_new_string(control) : NULL);
	json_object_object_add(object, "finalized", json_object_new_boolean(finalized));
	return object;
}

int ada_session_write(struct ada_recorder *recorder, bool finalized, struct ada_error *error)
{
	recorder->session_paper.session = &recorder->session;
	if (ada_path(recorder->session_paper.path, "%s/session.json", recorder->session.root))
		return ada_error_system(error, ENAMETOOLONG, "%s", recorder->session.directory);
	return ada_paper_replace(&recorder->session_paper, session_of(recorder, finalized), error);
}

void ada_session_update(struct ada_recorder *recorder)
{
	ada_scribe_write(recorder->scribe, &recorder->session_paper, session_of(recorder, false), false);
}

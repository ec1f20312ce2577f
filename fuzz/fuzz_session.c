/* session.json, a manifest and descriptors.json of any content, beside files of events that are as they should be: the session opens, what can't be
 * read is a problem of one line, and whatever it says of processes, threads, modules and windows can be asked for.
 *
 * An input is these documents with a NUL between two of them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "atf/session/anchor.h"
#include "base/file.h"
#include "memory.h"
#include "query/noted/noted.h"
#include "query/session/selection.h"
#include "query/session/windows.h"
#include "query/verify/verify.h"

#define DIRECTORY FUZZ_MEMORY "/session"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void put_events(void)
{
	struct ada_error error = {};
	char *bytes;
	size_t length;

	assert(!ada_file_read(FUZZ_INDEX, &bytes, &length, &error));
	fuzz_file_put(DIRECTORY "/pid_1/thread_0/index.atf", bytes, length);
	free(bytes);
}

static void found(void *context, const struct ada_finding *finding)
{
	assert(*finding->file && *finding->check && (finding->ok || *finding->message));
}

/* Anchors that are there rise on both clocks; from any time there is a way to each clock and, where it leads somewhere, back. */
static void ask_clocks(const struct ada_session *session)
{
	static const uint64_t moments[] = { 0, 1, INT64_MAX, UINT64_MAX };
	struct ada_clock_view view;
	struct ada_error error = {};
	char text[ADA_CLOCK_TEXT];
	int64_t told;
	uint64_t back;

	for (size_t i = 0; i < session->anchor_count; i++) {
		const struct ada_timing_anchor *anchor = &session->anchors[i];

		assert(anchor->hostTimeNs && anchor->mediaTimeNs <= INT64_MAX);
		assert(!i || strcmp(anchor[-1].clock, anchor->clock) < 0 ||
		       (!strcmp(anchor[-1].clock, anchor->clock) && anchor[-1].hostTimeNs < anchor->hostTimeNs &&
			anchor[-1].mediaTimeNs < anchor->mediaTimeNs));
		assert(!ada_clock_view_open(&view, session, anchor->clock, &error) && view.count);
		assert(ada_clock_view_ns(&view, anchor->hostTimeNs, &told) && told == (int64_t)anchor->mediaTimeNs);
		assert(!atf_host_time(view.anchors, view.count, told, &back) && back <= anchor->hostTimeNs);
		for (size_t j = 0; j < sizeof moments / sizeof *moments; j++)
			if (ada_clock_view_ns(&view, moments[j], &told) && !atf_host_time(view.anchors, view.count, told, &back))
				assert(back <= moments[j]);
	}
	if (!ada_clock_view_open(&view, session, "wall", &error))
		ada_clock_view_ns(&view, session->start_ns, &told);
	ada_clock_view_text(session, session->start_ns, text);
}

static void ask_noted(const struct ada_process *process)
{
	struct ada_noted *noted = ada_noted_open(process);

	for (size_t i = 0; noted && i < noted->looks.count && i < 4; i++) {
		const struct ada_noted_look *look = &noted->looks.items[i];

		assert(look->start_ns <= look->end_ns && (!i || look[-1].end_ns <= look->start_ns));
		for (uint64_t descriptor = 0; descriptor < 8; descriptor++) {
			const json_object *lead = ada_noted_at(noted, look, descriptor);
			char *text = lead ? ada_noted_text(noted, lead) : NULL;

			assert(!text || *text);
			free(text);
		}
	}
	ada_noted_close(noted);
}

static void ask(const struct ada_session *session)
{
	struct ada_verify verify = { .session = session, .found = found };
	struct ada_selection selection = {};
	struct ada_error error = {};

	for (size_t i = 0; i < session->problems.count; i++)
		assert(*session->problems.items[i] && !strchr(session->problems.items[i], '\n'));
	ada_session_completeness(session);
	for (size_t i = 0; i < session->processes.count; i++) {
		const struct ada_process *process = session->processes.items[i];

		assert(process->first_thread + process->thread_count <= session->threads.count);
		assert(process->first_window + process->window_count <= session->windows.count);
		for (uint64_t module = 0; module <= process->modules.count; module++) {
			ada_process_module(process, module << 32);
			ada_process_function_key(process, module << 32 | 1);
		}
		ada_process_details(process);
		ask_noted(process);
	}
	ask_clocks(session);
	for (size_t i = 0; i < session->threads.count; i++)
		ada_thread_lost(&session->threads.items[i]);
	for (size_t i = 0; i < session->windows.count; i++) {
		free(ada_window_kinds(session->windows.items[i].entry));
		if (!ada_selection_open(&selection, session, NULL, NULL, NULL, &error))
			ada_selection_narrow(&selection, i, &error);
		ada_selection_close(&selection);
	}
	assert(!ada_verify_session(&verify, &error) && verify.checks && verify.books.count == session->threads.count);
	ada_array_free(&verify.books);
}

/* Into a text of any content: where that is possible it is there afterwards, beside all that was. */
static void store_anchor(const char *text, size_t length)
{
	static const struct ada_timing_anchor anchor = { 3, 4, "a_clock" };
	struct atf_anchors before = {}, after = {};
	struct atf_message message;
	size_t new_length;
	char *new;

	assert(!atf_anchors_parse_session(&before, text, length));
	if (!atf_anchors_insert(text, length, &anchor, 1, &new, &new_length, &message)) {
		assert(!atf_anchors_parse_session(&after, new, new_length));
		assert(before.wrong || (after.items.count == before.items.count + 1 && !after.wrong &&
					!memcmp(&after.items.items[before.items.count], &anchor, sizeof anchor)));
		free(new);
	}
	assert(!atf_anchors_parse_journal(&after, text, length));
	ada_array_free(&before.items);
	ada_array_free(&after.items);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const uint8_t *end = bytes + length, *second = length ? memchr(bytes, 0, length) : NULL;
	const uint8_t *third = second ? memchr(second + 1, 0, (size_t)(end - second - 1)) : NULL;
	struct ada_session *session;
	struct ada_error error = {};
	static bool ready;

	if (!ready)
		put_events();
	ready = true;
	fuzz_file_put(DIRECTORY "/session.json", bytes, second ? (size_t)(second - bytes) : length);
	store_anchor((const char *)bytes, second ? (size_t)(second - bytes) : length);
	fuzz_file_put(DIRECTORY "/pid_1/manifest.json", second ? second + 1 : NULL,
		      second ? (size_t)((third ? third : end) - second - 1) : 0);
	fuzz_file_put(DIRECTORY "/pid_1/descriptors.json", third ? third + 1 : NULL, third ? (size_t)(end - third - 1) : 0);
	if (ada_session_open(&session, DIRECTORY, &error)) {
		assert(*error.text && !strchr(error.text, '\n'));
		return 0;
	}
	ask(session);
	ada_session_close(session);
	return 0;
}

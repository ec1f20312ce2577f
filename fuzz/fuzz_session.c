/* session.json and a manifest of any content, beside files of events that are as they should be: the session opens, what can't be
 * read is a problem of one line, and whatever it says of processes, threads, modules and windows can be asked for.
 *
 * An input is the one document, a NUL, and the other. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "memory.h"
#include "query/selection.h"
#include "query/verify.h"
#include "query/windows.h"

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
	}
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const uint8_t *second = length ? memchr(bytes, 0, length) : NULL;
	struct ada_session *session;
	struct ada_error error = {};
	static bool ready;

	if (!ready)
		put_events();
	ready = true;
	fuzz_file_put(DIRECTORY "/session.json", bytes, second ? (size_t)(second - bytes) : length);
	fuzz_file_put(DIRECTORY "/pid_1/manifest.json", second ? second + 1 : NULL, second ? length - (size_t)(second + 1 - bytes) : 0);
	if (ada_session_open(&session, DIRECTORY, &error)) {
		assert(*error.text && !strchr(error.text, '\n'));
		return 0;
	}
	ask(session);
	ada_session_close(session);
	return 0;
}

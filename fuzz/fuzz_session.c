/* session.json and a manifest of any content, beside files of events that are as they should be: the session opens, what can't be
 * read is a problem of one line, and whatever it says of processes, threads, modules and windows can be asked for.
 *
 * An input is the one document, a NUL, and the other. */
#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "query/selection.h"
#include "query/verify.h"
#include "query/windows.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static char directory[64];
static int documents[2];		/* session.json and manifest.json: files in memory, to which the session has links */

static void remove_session(void)
{
	static const char *const files[] = { "session.json", "pid_1/manifest.json", "pid_1/thread_0/index.atf", "pid_1/thread_0", "pid_1", "" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, files[i]);
		remove(path);
	}
}

static void put_link(const char *target, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert(!symlink(target, path));
}

static void make_session(void)
{
	static const char *const names[] = { "session.json", "pid_1/manifest.json" };
	char path[PATH_MAX];

	snprintf(directory, sizeof(directory), "%.40s/ada-fuzz-XXXXXX", getenv("TMPDIR") ?: "/tmp");
	assert(mkdtemp(directory));
	atexit(remove_session);
	snprintf(path, sizeof(path), "%s/pid_1", directory);
	assert(!mkdir(path, 0700));
	strcat(path, "/thread_0");
	assert(!mkdir(path, 0700));
	put_link(FUZZ_INDEX, "pid_1/thread_0/index.atf");
	for (int i = 0; i < 2; i++) {
		documents[i] = memfd_create(names[i], MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", documents[i]);
		put_link(path, names[i]);
	}
}

static void put_document(int fd, const uint8_t *bytes, size_t length)
{
	assert(!ftruncate(fd, 0) && pwrite(fd, bytes, length, 0) == (ssize_t)length);
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
	assert(!ada_verify_session(&verify, &error) && verify.checks);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const uint8_t *second = length ? memchr(bytes, 0, length) : NULL;
	struct ada_session *session;
	struct ada_error error = {};

	if (!*directory)
		make_session();
	put_document(documents[0], bytes, second ? (size_t)(second - bytes) : length);
	put_document(documents[1], second ? second + 1 : NULL, second ? length - (size_t)(second + 1 - bytes) : 0);
	if (ada_session_open(&session, directory, &error)) {
		assert(*error.text && !strchr(error.text, '\n'));
		return 0;
	}
	ask(session);
	ada_session_close(session);
	return 0;
}

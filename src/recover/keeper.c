#include "recover/keeper.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "base/directory.h"
#include "recorder/index/arena.h"
#include "recover/internal.h"
#include "recover/recover.h"

#define TRIES 30
#define PAUSE_MS 1000

/* Of all descriptors it has these. */
enum { RECORDER = 3, MEMORY, ARENA, SESSION, DESCRIPTORS };

/* First to numbers above these: each may stand in another's place. */
static void keep_descriptors(const struct ada_keeping *keeping, int recorder)
{
	int fds[DESCRIPTORS] = {
		[RECORDER] = recorder, [MEMORY] = keeping->shared.directory, [ARENA] = keeping->arena, [SESSION] = keeping->session
	};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = RECORDER; i < DESCRIPTORS; i++)
		fds[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, DESCRIPTORS);
	for (int i = 0; i < RECORDER; i++)
		dup2(null, i);
	for (int i = RECORDER; i < DESCRIPTORS; i++)
		if (fds[i] < 0)
			close(i);
		else
			dup3(fds[i], i, O_CLOEXEC);
	close_range(DESCRIPTORS, ~0u, 0);
}

/* Keeps the process out of everybody's way. */
static void stand_aside(void)
{
	static const int meant_for_others[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2 };

	setsid();
	prctl(PR_SET_NAME, ADA_KEEPER_NAME);
	for (size_t i = 0; i < sizeof meant_for_others / sizeof *meant_for_others; i++)
		signal(meant_for_others[i], SIG_IGN);
	if (chdir("/"))
		return; /* some other directory can't be unmounted, that is all */
}

/* --- recover.log -------------------------------------------------------------------------------------------------------- */

/* Leaves out the path to the session, by which only this process knows it. */
static void say(FILE *log, const char *what, const char *text)
{
	char place[ADA_DIRECTORY_PATH_BYTES], date[32];
	time_t now = time(NULL);
	struct tm utc;

	ada_directory_path(SESSION, place);
	gmtime_r(&now, &utc);
	strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
	fprintf(log, "%s %s: %s\n", date, what, ada_recover_within(place, text));
}

static FILE *open_log(void)
{
	int fd = openat(SESSION, ADA_KEEPER_LOG, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	FILE *log = fd < 0 ? NULL : fdopen(fd, "a");

	if (!log && fd >= 0)
		close(fd);
	return log;
}

static void write_log(const struct ada_recovered *result, const char *failure)
{
	FILE *log = open_log();

	if (!log)
		return;
	if (failure)
		say(log, "its recorder was killed, and the keeper could not finish it, `ada recover` goes on", failure);
	else
		say(log, "recovered by the keeper", "its recorder was killed");
	for (size_t i = 0; i < result->problems.count; i++)
		say(log, "not saved", result->problems.items[i]);
	fclose(log);
}

/* --- finishing ---------------------------------------------------------------------------------------------------------- */

/* A disk may be full for a moment. */
static int session_finish(struct ada_recovered *result, struct ada_error *error, bool has_arena)
{
	char place[ADA_DIRECTORY_PATH_BYTES];
	struct ada_recover_options options = { .session = place,
					       .directory = SESSION,
					       .memory = MEMORY,
					       .arena = has_arena ? ARENA : -1,
					       .by = "keeper",
					       .reason = "its recorder was killed" };
	int status = 0;

	ada_directory_path(SESSION, place);
	for (int try = 0; try < TRIES; try++) {
		struct ada_error latest = { "" };

		status = ada_recover(&options, result, &latest);
		if (!status)
			return 0;
		*error = latest;
		if (try + 1 < TRIES) {
			ada_recovered_free(result);
			poll(NULL, 0, PAUSE_MS);
		}
	}
	return status;
}

/* Before session.json was there nothing was recorded; a session that ended in order is whole. */
static bool is_to_do(bool has_arena)
{
	struct ada_arena_map map;
	bool ended = false;

	if (faccessat(SESSION, "session.json", F_OK, 0))
		return false;
	if (has_arena && !ada_arena_attach(&map, ARENA, NULL)) {
		ended = __atomic_load_n(&map.header->state, __ATOMIC_ACQUIRE) == ADA_ARENA_ENDED;
		ada_arena_detach(&map);
	}
	return !ended;
}

__attribute__((noreturn)) static void keep(const struct ada_keeping *keeping, int recorder)
{
	struct ada_shared shared = keeping->shared;
	struct pollfd dead = { .fd = RECORDER, .events = POLLIN };
	struct ada_recovered result = { .was_complete = false };
	struct ada_error error = { "" };
	bool has_arena = keeping->arena >= 0;
	sigset_t none;

	stand_aside();
	keep_descriptors(keeping, recorder);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	shared.directory = MEMORY;
	while (poll(&dead, 1, -1) != 1)
		;
	if (is_to_do(has_arena)) {
		int status = session_finish(&result, &error, has_arena);

		if (status || !result.was_complete)
			write_log(&result, status ? error.text : NULL);
		if (status)
			_exit(1); /* memory that has names stays */
	}
	ada_shared_remove(&shared);
	_exit(0);
}

pid_t ada_keeper_start(const struct ada_keeping *keeping)
{
	int recorder = pidfd_open(getpid(), 0), code;
	pid_t keeper = recorder < 0 ? -1 : fork();

	if (!keeper)
		keep(keeping, recorder);
	code = errno;
	if (recorder >= 0)
		close(recorder);
	return keeper < 0 ? -code : keeper;
}

/* Runs a command for each settled window: see herald.h.
 *
 *   ada trace --- pipe: path of the session, end ---> herald --- fork, standard input: the headline ---> sh -c COMMAND
 *       |                                               ^
 *       +---> session directory: manifests -------------+  looked at a few times a second, read where one has changed
 *
 * The herald reads the session as `ada narrate` does, so neither the program nor the recorder waits for it or for COMMAND. Both are a
 * session and a process group of their own: the terminal's signals don't reach them, and one signal ends them.
 */
#include "cli/record/herald.h"
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/file.h"
#include "base/hash.h"
#include "query/narrate/narrate.h"
#include "query/session/windows.h"

#define LOOK_MS 200
#define LAST_SECONDS 5 /* behind the recording's end */

struct herald {
	const char *command;
	int recorder; /* -1: the recording has ended */
	char session[PATH_MAX];
	uint64_t seen; /* manifests, as they were read last */
	struct ada_table told;
	unsigned int failures;
	char directory[NAME_MAX + 1]; /* of the window at hand: what messages call it */
	uint32_t window;
};

/* --- the command ---------------------------------------------------------------------------------------------------------- */

/* Ends what is left, this process and a command that hangs, should nobody else do it: the recorder may have been killed. */
static void end_all(int number)
{
	kill(0, SIGKILL);
}

static void recording_ended(struct herald *herald)
{
	close(herald->recorder);
	herald->recorder = -1;
	signal(SIGALRM, end_all);
	alarm(LAST_SECONDS + 1);
}

static void __attribute__((format(printf, 2, 3))) fail(struct herald *herald, const char *format, ...)
{
	va_list arguments;

	if (herald->failures++)
		return;
	va_start(arguments, format);
	fprintf(stderr, "ada: --on-window: window %u of %s: ", herald->window, herald->directory);
	vfprintf(stderr, format, arguments);
	fputs("; the recording goes on, and further failures are only counted\n", stderr);
	va_end(arguments);
}

static void __attribute__((noreturn)) command_execute(const char *command, int input)
{
	static const int as_usual[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGALRM };

	for (size_t i = 0; i < sizeof as_usual / sizeof *as_usual; i++)
		signal(as_usual[i], SIG_DFL);
	dup2(input, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO); /* the other one is the program's */
	execl("/bin/sh", "sh", "-c", command, NULL);
	_exit(127);
}

/* Waits for it, and notices the recording's end meanwhile. */
static int command_wait(struct herald *herald, pid_t command)
{
	int status = 0, pidfd = pidfd_open(command, 0);
	struct pollfd ends[] = { { .fd = pidfd, .events = POLLIN }, { .fd = herald->recorder, .events = POLLIN } };

	while (pidfd >= 0 && !(ends[0].revents & POLLIN)) {
		if (poll(ends, 2, -1) > 0 && ends[1].revents) {
			recording_ended(herald);
			ends[1] = (struct pollfd){ .fd = -1 };
		}
	}
	while (waitpid(command, &status, 0) < 0 && errno == EINTR)
		;
	if (pidfd >= 0)
		close(pidfd);
	return status;
}

static void command_run(struct herald *herald, int input)
{
	pid_t command = fork();
	int status;

	if (!command)
		command_execute(herald->command, input);
	if (command < 0) {
		fail(herald, "the command can't be run: %s", strerror(errno));
		return;
	}
	status = command_wait(herald, command);
	if (WIFSIGNALED(status))
		fail(herald, "signal %d killed `%s`", WTERMSIG(status), herald->command);
	else if (WEXITSTATUS(status))
		fail(herald, "`%s` ended with status %d", herald->command, WEXITSTATUS(status));
}

/* --- windows ---------------------------------------------------------------------------------------------------------------- */

/* A file that holds the headline of a window; -1: it can't be had. */
static int headline_make(struct herald *herald, struct ada_session *session, uint64_t number)
{
	static struct ada_output output;
	struct ada_narrative narrative = {};
	struct ada_selection selection = {};
	struct ada_error error = {};
	int file = memfd_create("headline", MFD_CLOEXEC);

	if (file < 0)
		return file;
	ada_output_open(&output, file);
	if (ada_selection_open(&selection, session, NULL, NULL, NULL, &error) ||
	    ada_narrate(&narrative, &selection, &(struct ada_narrate_options){ .in_window = true, .window = number }, &error))
		fail(herald, "%s", error.text);
	else
		ada_narrative_print_headline(&output, &narrative, herald->session);
	ada_narrative_free(&narrative);
	ada_selection_close(&selection);
	if (*error.text || !ada_output_flush(&output) || lseek(file, 0, SEEK_SET)) {
		close(file);
		return -1;
	}
	return file;
}

/* What is settled never changes, so its bounds are its name. */
static uint64_t name_of(const struct ada_recorded_window *window)
{
	uint64_t words[3] = { ada_hash_bytes(window->process->directory, strlen(window->process->directory)), window->start_ns,
			      window->end_ns };

	return ada_hash_bytes(words, sizeof words);
}

static void windows_tell(struct herald *herald, struct ada_session *session)
{
	for (size_t i = 0; i < session->windows.count; i++) {
		const struct ada_recorded_window *window = &session->windows.items[i];
		uint64_t name = name_of(window), unused;
		int input;

		if (!ada_json_bool(window->entry, "settled", true) || ada_table_get(&herald->told, name, &unused))
			continue;
		if (ada_table_put(&herald->told, name, 1))
			return;
		snprintf(herald->directory, sizeof herald->directory, "%s", window->process->directory);
		herald->window = window->id;
		input = headline_make(herald, session, i);
		if (input < 0)
			continue;
		command_run(herald, input);
		close(input);
	}
}

/* The manifests as they are now: another number where one was written. */
static uint64_t manifests_look(const char *session)
{
	char pattern[PATH_MAX];
	uint64_t look = 1;
	glob_t found;

	if (ada_path(pattern, "%s/pid_*/manifest.json", session) || glob(pattern, GLOB_NOSORT, NULL, &found))
		return 0;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct stat status = {};
		uint64_t words[3];

		stat(found.gl_pathv[i], &status);
		words[0] = status.st_ino;
		words[1] = (uint64_t)status.st_mtim.tv_sec;
		words[2] = (uint64_t)status.st_mtim.tv_nsec;
		look += ada_hash_bytes(words, sizeof words);
	}
	globfree(&found);
	return look;
}

/* A session that can't be opened yet is looked at again. */
static void news_tell(struct herald *herald)
{
	uint64_t look = manifests_look(herald->session);
	struct ada_session *session = NULL;
	struct ada_error error = {};

	if (!look || look == herald->seen || ada_session_open(&session, herald->session, &error))
		return;
	herald->seen = look;
	windows_tell(herald, session);
	ada_session_close(session);
}

/* --- the process ------------------------------------------------------------------------------------------------------------ */

/* The session's path, which comes with a newline. False: there was no recording. */
static bool path_read(struct herald *herald)
{
	size_t length = 0;
	ssize_t got;

	while (length < sizeof herald->session) {
		got = read(herald->recorder, herald->session + length, sizeof herald->session - length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		length += (size_t)got;
		if (herald->session[length - 1] == '\n') {
			herald->session[length - 1] = 0;
			return true;
		}
	}
	return false;
}

static void __attribute__((noreturn)) herald_run(const char *command, int recorder)
{
	static const int meant_for_others[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };
	struct herald herald = { .command = command, .recorder = recorder };
	int null;

	do /* no file of ours takes the place of a closed stream */
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (null >= 0 && null <= STDERR_FILENO);
	setsid();
	for (size_t i = 0; i < sizeof meant_for_others / sizeof *meant_for_others; i++)
		signal(meant_for_others[i], SIG_IGN);
	if (!path_read(&herald))
		_exit(0);
	while (herald.recorder >= 0) {
		struct pollfd end = { .fd = herald.recorder, .events = POLLIN };

		if (poll(&end, 1, LOOK_MS) > 0)
			recording_ended(&herald);
		news_tell(&herald);
	}
	news_tell(&herald); /* it may have ended while a command ran */
	if (herald.failures > 1)
		fprintf(stderr, "ada: --on-window: %u window%s failed alike\n", herald.failures - 1, herald.failures == 2 ? "" : "s");
	_exit(0);
}

int ada_herald_start(struct ada_herald *herald, const char *command, struct ada_error *error)
{
	int ends[2], status;

	*herald = (struct ada_herald){ .command = command };
	if (!command)
		return 0;
	if (pipe2(ends, O_CLOEXEC))
		return ada_error_system(error, errno, "pipe");
	herald->pid = fork();
	if (!herald->pid) {
		close(ends[1]);
		herald_run(command, ends[0]);
	}
	status = errno;
	close(ends[0]);
	herald->recorder = fcntl(ends[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1); /* a closed stream stays closed */
	close(ends[1]);
	if (herald->pid > 0)
		return 0;
	herald->pid = 0;
	return ada_error_system(error, status, "--on-window: fork");
}

void ada_herald_end(struct ada_herald *herald)
{
	struct pollfd end = { .fd = -1, .events = POLLIN };

	if (herald->recorder)
		close(herald->recorder);
	if (!herald->pid)
		return;
	end.fd = pidfd_open(herald->pid, 0);
	if (end.fd >= 0 && !poll(&end, 1, LAST_SECONDS * 1000)) {
		fprintf(stderr, "ada: --on-window: not done %d s after the recording's end, so `%s` was killed: let it hand its work on\n",
			LAST_SECONDS, herald->command);
		kill(-herald->pid, SIGKILL);
	}
	while (waitpid(herald->pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (end.fd >= 0)
		close(end.fd);
}

/* What `record` starts, and how it ends.
 *
 * Its end has steps, so that the files are finished and nothing goes on. SIGTERM: `ada trace` passes it on to the program. Where the
 * program stays, SIGINT: the second one ends the recording in order. Where even that hangs, SIGKILL: the recorder's keeper finishes
 * the files. Then what is left of the process group. The group's number is ours as long as `ada trace`, its leader, isn't waited for, so
 * it is waited for last. */
#include "cli/mcp/launch.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/file.h"
#include "cli/mcp/call.h"

#define TERM_NS 2000000000ull  /* for the program to end by itself */
#define INT_NS 500000000ull    /* between SIGINTs: two that pend are one */
#define LAST_NS 20000000000ull /* for the recorder to write what it has */
#define LOOK_NS 100000000ull   /* at what is left of the group */
#define SHOWN_BYTES 16384      /* of each file, its end */

static const char *const suffixes[ADA_MCP_LAUNCH_FILES] = { "out", "err" };

/* --- the beginning ------------------------------------------------------------------------------------------------------ */

/* They get the session's name once it has one. */
static int open_files(struct ada_mcp_launch *launch, const char *root, int fds[ADA_MCP_LAUNCH_FILES], struct ada_error *error)
{
	char inside[PATH_MAX];

	if (ada_path(inside, "%s/session.json", root))
		return ada_error_system(error, ENAMETOOLONG, "%s", root);
	if (!access(inside, F_OK))
		return ada_error_set(error, ENOTDIR,
				     "%s is one session: serve the directory that holds it, and record makes others in there", root);
	if (mkdir(root, 0777) && errno != EEXIST)
		return ada_error_system(error, errno, "can't make %s", root);
	for (int i = 0; i < ADA_MCP_LAUNCH_FILES; i++) {
		int status = ada_path(launch->files[i], "%s/.record-XXXXXX", root);

		if (status) {
			*launch->files[i] = 0;
			return ada_error_system(error, ENAMETOOLONG, "%s", root);
		}
		fds[i] = mkostemp(launch->files[i], O_CLOEXEC | O_APPEND);
		if (fds[i] < 0) {
			status = errno;
			*launch->files[i] = 0;
			return ada_error_system(error, status, "can't make a file for the program's output in %s", root);
		}
	}
	return 0;
}

static _Noreturn void run_child(pid_t parent, const int fds[ADA_MCP_LAUNCH_FILES], int announce, const ada_mcp_words *words)
{
	setsid(); /* no terminal is the program's to read or to be stopped by */
	if (ada_mcp_child_prepare(parent, SIGTERM, fds[ADA_MCP_LAUNCH_OUTPUT], fds[ADA_MCP_LAUNCH_ERRORS]))
		_exit(ADA_EXIT_FAILED);
	if (announce == ADA_MCP_LAUNCH_ANNOUNCE ? fcntl(announce, F_SETFD, 0) : dup2(announce, ADA_MCP_LAUNCH_ANNOUNCE) < 0)
		_exit(ADA_EXIT_FAILED);
	ada_mcp_child_become(words);
}

static int spawn(struct ada_mcp_launch *launch, const int fds[ADA_MCP_LAUNCH_FILES], const ada_mcp_words *words)
{
	pid_t parent = getpid();
	int ends[2], status;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	launch->pid = fork();
	if (!launch->pid)
		run_child(parent, fds, ends[1], words);
	status = launch->pid < 0 ? -errno : 0;
	close(ends[1]);
	launch->announced = ends[0];
	fcntl(launch->announced, F_SETFL, O_NONBLOCK);
	if (status)
		return status;
	launch->process = pidfd_open(launch->pid, 0);
	if (launch->process >= 0)
		return 0;
	status = -errno;
	kill(launch->pid, SIGKILL);
	waitpid(launch->pid, NULL, 0);
	return status;
}

int ada_mcp_launch_start(struct ada_mcp_launch **result, const char *root, const ada_mcp_words *words, uint64_t limit_ns,
			 struct ada_error *error)
{
	struct ada_mcp_launch *launch = calloc(1, sizeof *launch);
	int fds[ADA_MCP_LAUNCH_FILES] = { -1, -1 }, status;

	if (!launch)
		return ada_error_set(error, ENOMEM, "out of memory");
	launch->process = launch->announced = -1;
	launch->due_ns = limit_ns;
	status = open_files(launch, root, fds, error);
	if (!status) {
		status = spawn(launch, fds, words);
		if (status)
			ada_error_system(error, -status, "can't run ada trace");
	}
	for (int i = 0; i < ADA_MCP_LAUNCH_FILES; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (status)
		ada_mcp_launch_free(launch);
	else
		*result = launch;
	return status;
}

void ada_mcp_launch_free(struct ada_mcp_launch *launch)
{
	if (launch->process >= 0)
		close(launch->process);
	if (launch->announced >= 0)
		close(launch->announced);
	for (int i = 0; i < ADA_MCP_LAUNCH_FILES; i++)
		if (!*launch->session && *launch->files[i])
			unlink(launch->files[i]);
	free(launch);
}

/* --- its course --------------------------------------------------------------------------------------------------------- */

/* SESSION.out and SESSION.err, beside the session. Where that fails they keep the name that they have. */
static void name_files(struct ada_mcp_launch *launch)
{
	for (int i = 0; i < ADA_MCP_LAUNCH_FILES; i++) {
		char path[PATH_MAX];

		if (!ada_path(path, "%s.%s", launch->session, suffixes[i]) && !rename(launch->files[i], path))
			memcpy(launch->files[i], path, sizeof path);
	}
}

static void read_name(struct ada_mcp_launch *launch)
{
	while (launch->announced >= 0) {
		ssize_t got = read(launch->announced, launch->telling + launch->told, sizeof launch->telling - launch->told);
		char *end;

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		launch->told += got > 0 ? (size_t)got : 0;
		end = memchr(launch->telling, '\n', launch->told);
		if (end) {
			memcpy(launch->session, launch->telling, (size_t)(end - launch->telling));
			name_files(launch);
		}
		if (got <= 0 || end || launch->told == sizeof launch->telling) {
			close(launch->announced);
			launch->announced = -1;
		}
	}
}

/* Whether anyone but the leader is left of the group. */
static bool has_others(pid_t group)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	bool found = false;

	while (processes && !found && (entry = readdir(processes))) {
		pid_t pid = isdigit((unsigned char)*entry->d_name) ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;

		found = pid && pid != group && getpgid(pid) == group;
	}
	if (processes)
		closedir(processes);
	return found;
}

static void group_leave(struct ada_mcp_launch *launch, bool by_force)
{
	if (by_force)
		kill(-launch->pid, SIGKILL);
	waitpid(launch->pid, &launch->status, 0);
	launch->phase = ADA_MCP_LAUNCH_GONE;
}

static void note_end(struct ada_mcp_launch *launch, uint64_t now_ns)
{
	siginfo_t info = {};

	if (waitid(P_PID, (id_t)launch->pid, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
		return;
	read_name(launch); /* its last word may have come meanwhile */
	launch->ended = true;
	launch->status = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) : W_EXITCODE(0, info.si_status);
	if (!has_others(launch->pid)) {
		group_leave(launch, false);
		return;
	}
	kill(-launch->pid, SIGTERM);
	launch->phase = ADA_MCP_LAUNCH_LEFT;
	launch->due_ns = now_ns + LOOK_NS;
	launch->last_ns = now_ns + TERM_NS;
}

void ada_mcp_launch_end(struct ada_mcp_launch *launch, uint64_t now_ns)
{
	if (launch->phase != ADA_MCP_LAUNCH_RUNS)
		return;
	kill(launch->pid, SIGTERM);
	launch->phase = ADA_MCP_LAUNCH_ENDS;
	launch->due_ns = now_ns + TERM_NS;
	launch->last_ns = now_ns + LAST_NS;
}

void ada_mcp_launch_step(struct ada_mcp_launch *launch, uint64_t now_ns)
{
	read_name(launch);
	if (!launch->ended)
		note_end(launch, now_ns);
	if (now_ns < launch->due_ns)
		return;
	switch (launch->phase) {
	case ADA_MCP_LAUNCH_RUNS:
		launch->timed_out = true;
		ada_mcp_launch_end(launch, now_ns);
		break;
	case ADA_MCP_LAUNCH_ENDS:
		kill(now_ns < launch->last_ns ? launch->pid : -launch->pid, now_ns < launch->last_ns ? SIGINT : SIGKILL);
		launch->due_ns = now_ns + INT_NS;
		break;
	case ADA_MCP_LAUNCH_LEFT:
		if (now_ns >= launch->last_ns || !has_others(launch->pid))
			group_leave(launch, now_ns >= launch->last_ns);
		launch->due_ns = now_ns + LOOK_NS;
		break;
	case ADA_MCP_LAUNCH_GONE: break;
	}
}

void ada_mcp_launch_poll(const struct ada_mcp_launch *launch, struct pollfd polls[ADA_MCP_LAUNCH_POLLS])
{
	polls[0] = (struct pollfd){ .fd = launch->ended ? -1 : launch->process, .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = launch->announced, .events = POLLIN };
}

/* --- the answer --------------------------------------------------------------------------------------------------------- */

/* The end of a file, which tells most; *size: of all of it. */
static json_object *end_of(const char *path, uint64_t *size)
{
	char bytes[SHOWN_BYTES];
	struct stat info = {};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t got = 0;

	if (fd >= 0 && !fstat(fd, &info))
		got = pread(fd, bytes, sizeof bytes, info.st_size > SHOWN_BYTES ? info.st_size - SHOWN_BYTES : 0);
	if (fd >= 0)
		close(fd);
	*size = (uint64_t)info.st_size;
	return ada_mcp_call_text(bytes, got > 0 ? (size_t)got : 0);
}

static json_object *failure_of(const struct ada_mcp_launch *launch)
{
	uint64_t size;
	json_object *said = end_of(launch->files[ADA_MCP_LAUNCH_ERRORS], &size), *result;
	const char *text = json_object_get_string(said);

	result = ada_mcp_call_failure(*text ? text : "ada trace has ended without a session");
	json_object_put(said);
	return result;
}

json_object *ada_mcp_launch_answer(const struct ada_mcp_launch *launch, enum ada_mcp_version version)
{
	static const char *const names[ADA_MCP_LAUNCH_FILES][3] = { { "stdout", "stdoutBytes", "stdoutFile" },
								    { "stderr", "stderrBytes", "stderrFile" } };
	json_object *object;
	const char *name = strrchr(launch->session, '/');

	if (!name)
		return failure_of(launch);
	object = json_object_new_object();
	json_object_object_add(object, "session", ada_mcp_call_text(name + 1, strlen(name + 1)));
	json_object_object_add(object, "state",
			       json_object_new_string(launch->ended			   ? "finished" :
						      launch->phase == ADA_MCP_LAUNCH_RUNS ? "recording" :
											     "ending"));
	if (launch->ended && WIFEXITED(launch->status))
		json_object_object_add(object, "exitStatus", json_object_new_int(WEXITSTATUS(launch->status)));
	else if (launch->ended)
		json_object_object_add(object, "recorderSignal", json_object_new_int(WTERMSIG(launch->status)));
	json_object_object_add(object, "timedOut", json_object_new_boolean(launch->timed_out));
	for (int i = 0; i < ADA_MCP_LAUNCH_FILES; i++) {
		uint64_t size;

		json_object_object_add(object, names[i][0], end_of(launch->files[i], &size));
		json_object_object_add(object, names[i][1], json_object_new_uint64(size));
		json_object_object_add(object, names[i][2], ada_mcp_call_text(launch->files[i], strlen(launch->files[i])));
	}
	return ada_mcp_call_object(object, version);
}

/* Runs a tool's command: this same executable in another process, so that neither a hostile recording nor a long question can take the
 * server along. */
#include "cli/mcp/call.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "query/session/json.h"

#define COMPLAINT_BYTES 4096

struct ada_mcp_call *ada_mcp_call_new(json_object *id, const struct ada_mcp_tool *tool, json_object *arguments)
{
	struct ada_mcp_call *call = calloc(1, sizeof *call);

	if (call)
		*call = (struct ada_mcp_call){ .id = json_object_get(id),
					       .arguments = json_object_get(arguments),
					       .tool = tool,
					       .process = -1,
					       .output = -1,
					       .errors = -1 };
	return call;
}

void ada_mcp_call_free(struct ada_mcp_call *call)
{
	if (call->pid && !call->ended) {
		kill(-call->pid, SIGKILL);
		kill(call->pid, SIGKILL); /* both sides make its group, but perhaps neither has yet */
		waitpid(call->pid, NULL, 0);
	}
	for (int i = 0; i < ADA_MCP_CALL_POLLS; i++) {
		int fd = (const int[]){ call->process, call->output, call->errors }[i];

		if (fd >= 0)
			close(fd);
	}
	ada_array_free(&call->printed);
	ada_array_free(&call->complaint);
	json_object_put(call->id);
	json_object_put(call->arguments);
	free(call);
}

/* --- the child ---------------------------------------------------------------------------------------------------------- */

int ada_mcp_child_prepare(pid_t parent, int orphaned, int output, int errors)
{
	sigset_t none;
	int input;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, orphaned);
	if (getppid() != parent)
		return -1;
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return input < 0 || dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0;
}

_Noreturn void ada_mcp_child_become(const ada_mcp_words *words)
{
	execv("/proc/self/exe", words->items);
	dprintf(STDERR_FILENO, "ada mcp: can't run /proc/self/exe: %m\n");
	_exit(ADA_EXIT_NOT_EXECUTABLE);
}

static _Noreturn void run_child(const struct ada_mcp_call *call, const char *root, const ada_mcp_words *words)
{
	const char *format = ada_json_text(call->arguments, "format", "json");

	/* A crash on a hostile recording is an answer, not a file. */
	setrlimit(RLIMIT_CORE, &(const struct rlimit){});
	if (call->tool->command)
		ada_mcp_child_become(words);
	_exit(ada_mcp_sessions_print(root, ada_json_u64(call->arguments, "limit", 20),
				     strcmp(format, "json") ? ADA_FORMAT_TEXT : ADA_FORMAT_JSON));
}

static int open_pipes(int output[2], int errors[2])
{
	if (pipe2(output, O_CLOEXEC))
		return -errno;
	if (pipe2(errors, O_CLOEXEC)) {
		int code = errno;

		close(output[0]);
		close(output[1]);
		return -code;
	}
	fcntl(output[0], F_SETFL, O_NONBLOCK);
	fcntl(errors[0], F_SETFL, O_NONBLOCK);
	return 0;
}

static int spawn(struct ada_mcp_call *call, const char *root, const ada_mcp_words *words)
{
	int output[2], errors[2], result = open_pipes(output, errors);
	pid_t parent = getpid();

	if (result)
		return result;
	call->pid = fork();
	if (!call->pid) {
		if (ada_mcp_child_prepare(parent, SIGKILL, output[1], errors[1]))
			_exit(ADA_EXIT_FAILED);
		run_child(call, root, words);
	}
	result = call->pid < 0 ? -errno : 0;
	close(output[1]);
	close(errors[1]);
	call->output = output[0];
	call->errors = errors[0];
	if (result) {
		call->pid = 0;
		return result;
	}
	setpgid(call->pid, call->pid);
	call->process = pidfd_open(call->pid, 0);
	return call->process < 0 ? -errno : 0;
}

int ada_mcp_call_start(struct ada_mcp_call *call, const char *root, uint64_t deadline_ns, struct ada_error *error)
{
	ada_mcp_words words = {};
	int result = 0;

	if (call->tool->command)
		result = ada_mcp_tool_words(call->tool, root, call->arguments, &words, error);
	if (!result) {
		result = spawn(call, root, &words);
		if (result)
			ada_error_system(error, -result, "can't run %s", call->tool->name);
	}
	ada_mcp_words_free(&words);
	call->deadline_ns = deadline_ns;
	return result;
}

/* --- what it prints ----------------------------------------------------------------------------------------------------- */

void ada_mcp_call_poll(const struct ada_mcp_call *call, struct pollfd polls[ADA_MCP_CALL_POLLS])
{
	polls[0] = (struct pollfd){ .fd = call->process, .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = call->output, .events = POLLIN };
	polls[2] = (struct pollfd){ .fd = call->errors, .events = POLLIN };
}

uint64_t ada_mcp_call_due_ns(const struct ada_mcp_call *call)
{
	return call->pid || (call->launch && *call->launch->session) ? call->deadline_ns : UINT64_MAX;
}

/* True: it holds `most` bytes, and there may be more. */
static bool read_some(int *fd, ada_mcp_bytes *bytes, size_t most)
{
	while (*fd >= 0 && bytes->count < most) {
		ssize_t got;

		if (ada_array_reserve(bytes, most < 65536 ? most : 65536))
			return true;
		got = read(*fd, bytes->items + bytes->count,
			   bytes->capacity - bytes->count < most - bytes->count ? bytes->capacity - bytes->count : most - bytes->count);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return false;
		if (got <= 0) {
			close(*fd);
			*fd = -1;
			return false;
		}
		bytes->count += (size_t)got;
	}
	return *fd >= 0;
}

void ada_mcp_call_step(struct ada_mcp_call *call, uint64_t now_ns)
{
	/* Asked before the pipes are read: if the command has ended, the pipes then hold all that it printed. */
	pid_t ended = waitpid(call->pid, &call->status, WNOHANG);

	if (read_some(&call->output, &call->printed, ADA_MCP_ANSWER_BYTES + 1))
		call->cut = true;
	if (read_some(&call->errors, &call->complaint, COMPLAINT_BYTES) && call->errors >= 0) {
		/* A command that complains without end isn't read any more; that ends it. */
		close(call->errors);
		call->errors = -1;
	}
	call->timed_out = ended != call->pid && !call->cut && now_ns >= call->deadline_ns;
	if (ended != call->pid && (call->cut || call->timed_out)) {
		kill(-call->pid, SIGKILL);
		ended = waitpid(call->pid, &call->status, 0);
	}
	call->ended = ended == call->pid;
}

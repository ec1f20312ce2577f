/* One thread that waits for the client, for signals and for the processes of all calls at once, so that a ping is answered while a call
 * runs. A client that doesn't read holds up everything. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "cli/mcp/server.h"

#define LINE_MAX_BYTES (1 << 20)    /* of a message */
#define UNREAD_MAX_BYTES (1u << 20) /* with more than that unread by the client nothing new begins */
#define GRACE_NS 1000000000ull	    /* for calls that still run when the client's messages end */

enum { INPUT, OUTPUT, SIGNALS, CALLS };

struct loop {
	struct ada_mcp_server *server;
	ada_mcp_bytes line; /* the beginning of one */
	int signals;
	bool skipping; /* the rest of a line that was too long */
	bool input_ended, ending;
	uint64_t end_ns; /* once the input has ended */
	size_t sent;	 /* of the server's output */
	int error;	 /* errno of stdout, or ENOMEM */
	struct pollfd polls[CALLS + ADA_MCP_RUNNING_MAX * ADA_MCP_CALL_POLLS + ADA_MCP_LAUNCHES_MAX * ADA_MCP_LAUNCH_POLLS];
};

uint64_t ada_mcp_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static size_t unsent(const struct loop *loop)
{
	return loop->server->output.count - loop->sent;
}

static bool is_full(const struct loop *loop)
{
	return unsent(loop) > UNREAD_MAX_BYTES;
}

/* --- the client --------------------------------------------------------------------------------------------------------- */

static int take_line(struct loop *loop, const char *line, size_t length)
{
	if (loop->skipping)
		return 0;
	if (length <= LINE_MAX_BYTES)
		return ada_mcp_server_take(loop->server, line, length);
	return ada_mcp_server_send(loop->server, ada_mcp_error(NULL, ADA_MCP_NO_REQUEST, "a message is at most 1 MiB"));
}

static int take_lines(struct loop *loop)
{
	char *from = loop->line.items, *end = from + loop->line.count, *newline;
	int result = 0;

	while (!result && (newline = memchr(from, '\n', (size_t)(end - from)))) {
		result = take_line(loop, from, (size_t)(newline - from));
		loop->skipping = false;
		from = newline + 1;
	}
	if (!result && end - from > LINE_MAX_BYTES) {
		result = take_line(loop, from, (size_t)(end - from));
		loop->skipping = true;
		from = end;
	}
	memmove(loop->line.items, from, (size_t)(end - from));
	loop->line.count = (size_t)(end - from);
	return result;
}

/* The last line may lack its newline. */
static int end_input(struct loop *loop)
{
	loop->input_ended = true;
	loop->end_ns = ada_mcp_now_ns() + GRACE_NS;
	if (!loop->line.count)
		return 0;
	loop->line.items[loop->line.count++] = '\n';
	return take_lines(loop);
}

static int read_input(struct loop *loop)
{
	ssize_t got;

	if (ada_array_reserve(&loop->line, 65536))
		return -ENOMEM;
	got = read(STDIN_FILENO, loop->line.items + loop->line.count, 65535);
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (got <= 0)
		return end_input(loop);
	loop->line.count += (size_t)got;
	return take_lines(loop);
}

/* Never waits: a pipe that poll calls writable takes PIPE_BUF, a socket says when it takes nothing. */
static void write_output(struct loop *loop)
{
	const char *from = loop->server->output.items + loop->sent;
	ssize_t done = send(STDOUT_FILENO, from, unsent(loop), MSG_DONTWAIT | MSG_NOSIGNAL);

	if (done < 0 && errno == ENOTSOCK)
		done = write(STDOUT_FILENO, from, unsent(loop) < PIPE_BUF ? unsent(loop) : PIPE_BUF);
	if (done < 0 && errno != EAGAIN && errno != EINTR)
		loop->error = errno;
	if (done > 0)
		loop->sent += (size_t)done;
	if (!unsent(loop))
		loop->sent = loop->server->output.count = 0;
}

/* --- waiting ------------------------------------------------------------------------------------------------------------ */

static size_t fill_polls(struct loop *loop)
{
	struct pollfd *polls = loop->polls;
	size_t count = CALLS;

	/* A negative descriptor is passed over. */
	polls[INPUT] = (struct pollfd){ .fd = loop->input_ended || is_full(loop) ? -1 : STDIN_FILENO, .events = POLLIN };
	polls[OUTPUT] = (struct pollfd){ .fd = STDOUT_FILENO, .events = unsent(loop) ? POLLOUT : 0 };
	polls[SIGNALS] = (struct pollfd){ .fd = loop->signals, .events = POLLIN };
	for (size_t i = 0; i < loop->server->launches.count; i++, count += ADA_MCP_LAUNCH_POLLS)
		ada_mcp_launch_poll(loop->server->launches.items[i], polls + count);
	for (size_t i = 0; i < loop->server->calls.count && !is_full(loop); i++)
		if (loop->server->calls.items[i]->pid) {
			ada_mcp_call_poll(loop->server->calls.items[i], polls + count);
			count += ADA_MCP_CALL_POLLS;
		}
	return count;
}

static int wait_ms(const struct loop *loop)
{
	uint64_t now = ada_mcp_now_ns(), first = UINT64_MAX;

	for (size_t i = 0; i < loop->server->launches.count; i++)
		if (loop->server->launches.items[i]->phase != ADA_MCP_LAUNCH_GONE && loop->server->launches.items[i]->due_ns < first)
			first = loop->server->launches.items[i]->due_ns;
	if (!is_full(loop) && loop->input_ended && now < loop->end_ns)
		first = loop->end_ns;
	for (size_t i = 0; i < loop->server->calls.count && !is_full(loop); i++)
		if (ada_mcp_call_due_ns(loop->server->calls.items[i]) < first)
			first = ada_mcp_call_due_ns(loop->server->calls.items[i]);
	if (first == UINT64_MAX)
		return -1;
	return first <= now ? 0 : (first - now) / 1000000 < 60000 ? (int)((first - now) / 1000000) + 1 : 60000;
}

static bool is_over(const struct loop *loop)
{
	if (loop->ending || loop->error)
		return true;
	return loop->input_ended && !unsent(loop) && (!loop->server->calls.count || ada_mcp_now_ns() >= loop->end_ns);
}

static int turn(struct loop *loop)
{
	size_t count = fill_polls(loop);
	int result = 0;

	if (poll(loop->polls, count, wait_ms(loop)) < 0)
		return errno == EINTR ? 0 : -errno;
	if (loop->polls[SIGNALS].revents)
		loop->ending = true;
	if (loop->polls[INPUT].revents)
		result = read_input(loop);
	ada_mcp_server_tend(loop->server, ada_mcp_now_ns());
	if (!result && !is_full(loop))
		result = ada_mcp_server_turn(loop->server, ada_mcp_now_ns());
	/* Nobody reads any more: another way for the client to end the server. */
	if (loop->polls[OUTPUT].revents & (POLLERR | POLLNVAL) || (unsent(loop) && loop->polls[OUTPUT].revents & POLLHUP))
		loop->ending = true;
	else if (loop->polls[OUTPUT].revents & POLLOUT && unsent(loop))
		write_output(loop);
	return result;
}

int ada_mcp_loop(struct ada_mcp_server *server)
{
	struct loop loop = { .server = server };
	sigset_t signals;
	int result = 0;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	loop.signals = signalfd(-1, &signals, SFD_CLOEXEC);
	if (loop.signals < 0)
		result = -errno;
	while (!result && !is_over(&loop))
		result = turn(&loop);
	if (loop.error && loop.error != EPIPE && !result)
		result = -loop.error;
	if (result)
		fprintf(stderr, "ada mcp: %s%s\n", loop.error ? "can't write to standard output: " : "", strerror(-result));
	if (loop.signals >= 0)
		close(loop.signals);
	ada_array_free(&loop.line);
	return result ? ADA_EXIT_FAILED : 0;
}

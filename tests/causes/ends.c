/* A long wait on a descriptor of which no call says what it leads to. The second argument says what that is: `accepted` a connection that
 * somebody made to this program, `polled` the same, `inherited` descriptor 5, a fifo whose path is the third argument, `pipe` and `pair` have their
 * other end in a child. `reused`, `replaced`, `closed`: an accepted connection, whose number is another's behind the wait. With `hang` as first argument
 * the answer comes when the input ends. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <fcntl.h>
#include "causes.h"

static const char *how;
static bool hangs;
static int listener, client, second = -1, hold[2] = { -1, -1 };
static int number; /* what the test is to know: a port, or a descriptor of the child's */
static pid_t child;
static atomic_bool *waits; /* shared with the child: the wait is about to begin */

static int check(int status)
{
	if (status < 0)
		abort();
	return status;
}

static bool is(const char *name)
{
	return !strcmp(how, name);
}

static void await_answer(void)
{
	while (!*waits)
		usleep(1000);
	if (hangs)
		await_input();
	else
		usleep(caused ? LONG_US : 1);
}

OUT void load(int end)
{
	struct pollfd one = { .fd = end, .events = POLLIN };
	char byte;

	*waits = true;
	if (is("polled"))
		check(poll(&one, 1, -1));
	else if (is("inherited") || is("pipe"))
		check((int)read(end, &byte, 1));
	else
		check((int)recv(end, &byte, 1, 0));
}

OUT void serve(int end)
{
	load(end);
	if (is("replaced"))
		check(dup2(listener, end));
	else if (is("reused") || is("closed"))
		close(end);
	if (is("reused") && accept(listener, NULL, NULL) != end)
		abort();
}

/* Answers from the other end of a connection, or of a fifo. */
static void *answerer(void *unused)
{
	await_answer();
	check((int)write(client, "x", 1));
	return unused;
}

static int dial(const struct sockaddr_in *address)
{
	int end = check(socket(AF_INET, SOCK_STREAM, 0));

	check(connect(end, (const struct sockaddr *)address, sizeof *address));
	return end;
}

static int make_connection(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof address;

	listener = check(socket(AF_INET, SOCK_STREAM, 0));
	check(bind(listener, (struct sockaddr *)&address, length));
	check(getsockname(listener, (struct sockaddr *)&address, &length));
	check(listen(listener, 4));
	client = dial(&address);
	if (is("reused"))
		second = dial(&address);
	check(getsockname(client, (struct sockaddr *)&address, &length));
	number = ntohs(address.sin_port);
	return check(accept(listener, NULL, NULL));
}

/* The child has the other end, and lives until the parent's end of `hold` is closed. */
static int make_child(void)
{
	int ends[2];
	char byte;

	check(is("pair") ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends));
	check(pipe(hold));
	number = ends[1];
	child = check(fork());
	if (!child) {
		close(ends[0]);
		close(hold[1]);
		await_answer();
		check((int)write(ends[1], "x", 1));
		check((int)read(hold[0], &byte, 1));
		_exit(0);
	}
	close(ends[1]);
	close(hold[0]);
	return ends[0];
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int end_here;
	char go;

	say_ready();
	check((int)read(0, &go, 1)); /* the test has read the line */
	how = argc > 2 ? argv[2] : "accepted";
	hangs = argc > 1 && !strcmp(argv[1], "hang");
	waits = mmap(NULL, sizeof *waits, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (waits == MAP_FAILED)
		abort();
	begin(argc, argv);
	end_here = is("inherited") ? 5 : is("pipe") || is("pair") ? make_child() : make_connection();
	if (is("inherited")) /* before it is read: else that would be at its end */
		client = check(open(argv[3], O_WRONLY));
	if (!child)
		pthread_create(&thread, NULL, answerer, NULL);
	printf("%d %d %d\n", end_here, number, (int)child);
	fflush(stdout);
	serve(end_here);
	if (!child)
		pthread_join(thread, NULL);
	await_input(); /* the test waits for what is noted at the mark */
	if (child) {
		close(hold[1]);
		waitpid(child, NULL, 0);
	}
	end();
}

/* An answer over a socket that takes long. The second argument says which socket, or what became of its number since: `reused` by an
 * accept, `copied` by dup, `refused` at first. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "causes.h"

static union {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un local;
} address;
static socklen_t length;
static int listener, answering = -1;

static void check(int status)
{
	if (status < 0)
		abort();
}

static void *answerer(void *unused)
{
	int peer = answering < 0 ? accept(listener, NULL, NULL) : answering;
	char byte;

	check(peer);
	check((int)read(peer, &byte, 1));
	usleep(caused ? LONG_US : 1);
	check((int)write(peer, "y", 1));
	check((int)read(peer, &byte, 1)); /* until the other end is closed */
	return unused;
}

OUT void load(int socket)
{
	char byte;

	check((int)recv(socket, &byte, 1, 0));
}

OUT void serve(int socket)
{
	check((int)send(socket, "x", 1, 0));
	load(socket);
}

static void choose(const char *kind)
{
	length = sizeof address.in;
	address.in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (!strcmp(kind, "inet6")) {
		length = sizeof address.in6;
		address.in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	} else if (!strcmp(kind, "abstract")) {
		address.local = (struct sockaddr_un){ .sun_family = AF_UNIX };
		length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				     (size_t)snprintf(address.local.sun_path + 1, 90, "slow-%d", (int)getpid()));
	} else if (!strcmp(kind, "unix")) {
		length = sizeof address.local;
		address.local = (struct sockaddr_un){ .sun_family = AF_UNIX };
		snprintf(address.local.sun_path, sizeof address.local.sun_path, "/tmp/slow-%d", (int)getpid());
	}
}

static int dial(const char *kind)
{
	int end = socket(address.any.sa_family, SOCK_STREAM, 0);

	if (!strcmp(kind, "refused") && !connect(end, &address.any, length)) /* nobody listens yet */
		abort();
	check(listen(listener, 4));
	check(connect(end, &address.any, length));
	return end;
}

/* The number becomes an accepted socket's: who is at its other end, no connect says. */
static int take_number(int end)
{
	answering = dial("");
	close(accept(listener, NULL, NULL)); /* of `end` */
	close(end);
	if (accept(listener, NULL, NULL) != end)
		abort();
	return end;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[2] : "inet";
	pthread_t thread;
	int mine;

	begin(argc, argv);
	choose(kind);
	listener = socket(address.any.sa_family, SOCK_STREAM, 0);
	check(bind(listener, &address.any, length));
	if (address.any.sa_family != AF_UNIX)
		check(getsockname(listener, &address.any, &length));
	printf("%d\n", address.any.sa_family == AF_UNIX ? (int)getpid() : ntohs(address.in.sin_port));
	fflush(stdout);
	mine = dial(kind);
	if (!strcmp(kind, "reused"))
		mine = take_number(mine);
	else if (!strcmp(kind, "copied"))
		mine = dup(mine);
	pthread_create(&thread, NULL, answerer, NULL);
	serve(mine);
	shutdown(mine, SHUT_RDWR);
	pthread_join(thread, NULL);
	if (!strcmp(kind, "unix"))
		unlink(address.local.sun_path);
	end();
}

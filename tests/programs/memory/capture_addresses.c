/* Sockets are connected to addresses of each family, through libc's transparent unions and a pointer: arguments behind them are not lost.
 * trace: --trigger=symbol=dial@pre=1000ev,post=1000ev --capture=dial:2=buf[3],reach:2=buf[3]
 * expect: dialled 5, reached 5, connected 0
 */
#define _GNU_SOURCE
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

NOINLINE int dial(int number, __CONST_SOCKADDR_ARG to, socklen_t length, int after)
{
	BARRIER;
	return number >= 0 && to.__sockaddr__ && length && after;
}

NOINLINE int reach(int number, const struct sockaddr_storage *to, socklen_t length)
{
	BARRIER;
	return number >= 0 && to && length;
}

int main(void)
{
	static struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = 0x0100007f };
	static struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	static struct sockaddr_un path = { AF_UNIX, "/no/such/socket" }, hidden = { AF_UNIX, "\0no such socket" };
	static struct sockaddr strange = { .sa_family = 0xeeee };
	const struct {
		struct sockaddr *to;
		socklen_t length;
	} tos[] = { { (void *)&in, sizeof in },
		    { (void *)&in6, sizeof in6 },
		    { (void *)&path, sizeof path },
		    { (void *)&hidden, offsetof(struct sockaddr_un, sun_path) + 15 },
		    { &strange, sizeof strange } };
	int dialled = 0, reached = 0, connected = 0;

	in.sin_port = htons(9);
	in6.sin6_port = htons(80);
	for (int i = 0; i < 5; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0); /* connects to nothing of these */

		dialled += dial(i, tos[i].to, tos[i].length, 41);
		reached += reach(i, (const void *)tos[i].to, tos[i].length);
		connected += !connect(fd, tos[i].to, tos[i].length);
		close(fd);
	}
	printf("dialled %d, reached %d, connected %d\n", dialled, reached, connected);
	return 0;
}

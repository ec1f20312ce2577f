/* Calls that libc makes for a program and that fail, or don't, with a stale errno: test_errno.py knows of each what there is to see. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile int sink;

int main(void)
{
	char text[8] = "abc", other[8] = "abd";
	size_t many = PTRDIFF_MAX;
	FILE *file = tmpfile();
	int ends[2], pair[2];

	__asm__("" : "+r"(many));
	signal(SIGPIPE, SIG_IGN);
	if (!file || pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 9;
	sink += (int)read(-1, text, 3);
	sink += (int)send(pair[0], text, 3, 0);
	sink += (int)recv(pair[1], other, 3, 0);
	sink += (int)recv(pair[1], other, 3, MSG_DONTWAIT);
	close(ends[0]);
	sink += (int)write(ends[1], text, 3);
	close(pair[1]);
	sink += (int)send(pair[0], text, 3, 0);
	sink += (int)write(fileno(file), text, 3);
	sink += (int)lseek(fileno(file), 0xffffffff, SEEK_SET);
	sink += (int)lseek(fileno(file), -1, SEEK_SET);
	sink += !malloc(many);
	strcpy(other, "abd");
	sink += strcoll(text, other);
	sink += open("/nowhere", O_RDONLY);
	return 0;
}

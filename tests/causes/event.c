/* A read of an eventfd that waits for another thread to write to it. The second argument says how: `plain`ly by read and write, by `two` threads, of
 * which one adds nothing and doesn't say so, or does say so (`zero`), to a `copied` descriptor, when it wrote to `other` descriptors before or to the same one and `failed`; or it is a `socket`, to which a thread
 * that isn't the one at its other end writes at the same time. */
#include <sys/eventfd.h>
#include <sys/socket.h>
#include "causes.h"

static int number, written, ends[2];
static const char *how = "counter";
static bool both; /* the other one has written */

static bool is(const char *kind)
{
	return !strcmp(how, kind);
}

OUT void load(void)
{
	eventfd_t count;

	if (is("plain") || is("socket") ? read(number, &count, sizeof count) != sizeof count : eventfd_read(number, &count))
		abort();
}

OUT void serve(void)
{
	load();
}

static void write_one(void)
{
	eventfd_t one = 1;

	if (is("plain") || is("socket") ? write(written, &one, sizeof one) != sizeof one : eventfd_write(written, 1))
		abort();
}

static void *announcer(void *unused)
{
	if (is("failed") && !eventfd_write(number, UINT64_MAX)) /* no such count */
		abort();
	if (caused)
		usleep(LONG_US);
	while (is("two") && !__atomic_load_n(&both, __ATOMIC_ACQUIRE)) /* on a full machine a sleep may take much longer than it should */
		usleep(1000);
	if (is("other") && write(ends[0], &ends, 1) != 1)
		abort();
	write_one();
	return unused;
}

static void *second(void *unused)
{
	const char nothing[8] = "";

	if (caused)
		usleep(LONG_US * 3 / 4);
	if (is("zero") && eventfd_write(number, 0))
		abort();
	if ((is("two") || is("socket")) && write(number, nothing, sizeof nothing) != sizeof nothing)
		abort();
	__atomic_store_n(&both, true, __ATOMIC_RELEASE);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread, other;

	how = argc > 2 ? argv[2] : how;
	begin(argc, argv);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		abort();
	number = is("socket") ? ends[0] : eventfd(0, 0);
	written = is("socket") ? ends[1] : is("copied") ? dup(number) : number;
	pthread_create(&thread, NULL, announcer, NULL);
	pthread_create(&other, NULL, second, NULL);
	if (!caused)
		usleep(2000);
	serve();
	pthread_join(thread, NULL);
	pthread_join(other, NULL);
	end();
}

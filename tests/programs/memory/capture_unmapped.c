/* Another thread maps and unmaps the page that an argument points into, all the time.
 * trace: --trigger=symbol=stop@pre=1000ev,post=1000ev --capture=take:1=str,take:2=*256
 * libs: -pthread
 * expect: done
 */
#define _GNU_SOURCE
#include "check.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *page;
static atomic_int done;

static void *flicker(void *nothing)
{
	while (!done) {
		CHECK(mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page);
		memset(page, 'x', 4096);
		CHECK(!munmap(page, 4096));
	}
	return nothing;
}

NOINLINE int take(const char *text, const char *block)
{
	BARRIER;
	return text == block;
}

NOINLINE void stop(void)
{
	done = 1;
	BARRIER;
}

int main(void)
{
	pthread_t thread;

	page = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	page += 4096;
	CHECK(!pthread_create(&thread, NULL, flicker, NULL));
	for (int i = 0; i < 20000; i++) {
		take(page + i % 4096, page - 100 + i % 4096);
		if (i % 10 == 0) {
			int file = open(page + 4000, O_RDONLY); /* its path has no end, or isn't there */

			CHECK(file < 0);
		}
	}
	stop();
	CHECK(!pthread_join(thread, NULL));
	puts("done");
	return 0;
}

/* A mutex that another takes again and again on its way down, and gives back on its way up; waited for by C11's functions. */
#include <threads.h>
#include "causes.h"

static mtx_t tree;
static atomic_int held;

OUT void compact(int us)
{
	usleep(us);
}

OUT void walk(int depth)
{
	mtx_lock(&tree);
	held++;
	if (depth)
		walk(depth - 1);
	else
		compact(caused ? LONG_US : 1);
	mtx_unlock(&tree);
}

static int walker(void *unused)
{
	(void)unused;
	walk(3);
	return 0;
}

OUT void serve(void)
{
	mtx_lock(&tree);
	mtx_unlock(&tree);
}

int main(int argc, char **argv)
{
	thrd_t thread;

	begin(argc, argv);
	mtx_init(&tree, mtx_plain | mtx_recursive);
	thrd_create(&thread, walker, NULL);
	while (!held)
		usleep(100);
	serve();
	thrd_join(thread, NULL);
	end();
}

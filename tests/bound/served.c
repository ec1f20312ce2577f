/* Makes bound calls as its input says, and has its code changed, its recorder stopped, itself copied meanwhile: test_life.py.
 *
 * A line each, answered by "done": "calls N", "spin" (a thread that calls until the end), "fork N" (a child that makes them),
 * "exec" (begins anew, with "ready"), "crash". At the end of the input the thread's calls are told.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

int leaf(int n), outer(int n);
extern char served_call[];

NOINLINE int leaf(int n)
{
	volatile int keep = n; /* long enough for a patch of its own */

	if (keep == -1)
		*(volatile int *)8 = 1;
	return keep + 1;
}

/* Its call lies behind all that a patch overwrites, and has a name for gdb. */
__asm__(".text\n.globl inner\n.type inner,@function\ninner:\n\t.cfi_startproc\n\tpush %rbx\n\t.cfi_adjust_cfa_offset 8\n\t"
	"mov %edi,%ebx\n\tmov %ebx,%edi\n\tmov %ebx,%edi\n\tmov %ebx,%edi\n\tmov %ebx,%edi\n\t"
	".globl served_call\nserved_call:\n\tcall leaf\n\tadd $0,%eax\n\tpop %rbx\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t"
	".cfi_endproc\n.size inner,.-inner\n");
int inner(int n);

NOINLINE int outer(int n)
{
	volatile int keep = n;

	return inner(keep) + 1;
}

static int calls(int count)
{
	int sum = 0;

	for (int i = 0; i < count; i++)
		sum += outer(i) - i;
	return sum;
}

static int spinning;
static long spun;

static void *spin(void *unused)
{
	while (__atomic_load_n(&spinning, __ATOMIC_ACQUIRE))
		spun += outer(1) == 3;
	return NULL;
}

static void make_child(int count)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(calls(count) != 2 * count);
	if (waitpid(child, &status, 0) != child || status)
		exit(3);
}

int main(int argc, char **argv)
{
	char what[32];
	pthread_t thread;
	int count;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	setvbuf(stdin, NULL, _IONBF, 0); /* what isn't read is for the next image */
	printf("ready\n");
	fflush(stdout);
	while (scanf("%31s %d", what, &count) == 2) {
		if (!strcmp(what, "calls") && calls(count) != 2 * count)
			return 2;
		if (!strcmp(what, "spin")) {
			spinning = 1;
			pthread_create(&thread, NULL, spin, NULL);
		}
		if (!strcmp(what, "fork"))
			make_child(count);
		if (!strcmp(what, "exec"))
			execv("/proc/self/exe", argv);
		if (!strcmp(what, "crash"))
			outer(-1);
		printf("done\n");
		fflush(stdout);
	}
	if (spinning) {
		__atomic_store_n(&spinning, 0, __ATOMIC_RELEASE);
		pthread_join(thread, NULL);
		printf("spun %ld\n", spun);
	}
	return 0;
}

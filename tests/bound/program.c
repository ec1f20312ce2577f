/* Calls of every kind that may be bound to stubs of their own, and of kinds that may not: how often and from where, test_bound.py knows.
 * The prologues of `first` and `second` hold a call, far_* each begin a page of their own. argv[1]: which part runs; argv[2]: the plugin.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))
#define BARRIER __asm__ volatile("" ::: "memory")

int leaf(int n), first(int n), second(int n), tail(int n), deep(int n);

NOINLINE int leaf(int n)
{
	volatile int keep = n; /* long enough for a patch of its own */

	return keep + 1;
}

__asm__(".text\n"
	".globl first\n.type first,@function\nfirst:\n\t"
	".cfi_startproc\n\tpush %rbx\n\t.cfi_adjust_cfa_offset 8\n\tcall leaf\n\tcall leaf\n\tpop %rbx\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t"
	".cfi_endproc\n.size first,.-first\n"
	".globl second\n.type second,@function\nsecond:\n\t"
	".cfi_startproc\n\tsub $8,%rsp\n\t.cfi_adjust_cfa_offset 8\n\tcall first\n\tadd $8,%rsp\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t"
	".cfi_endproc\n.size second,.-second\n");

NOINLINE int tail(int n)
{
	BARRIER;
	return leaf(n); /* a jump */
}

NOINLINE int deep(int n)
{
	BARRIER;
	return n ? deep(n - 1) + leaf(n) : 0;
}

#define FAR(n)                                                                                                                             \
	__attribute__((noinline, noclone, aligned(4096))) int far_##n(int i);                                                              \
	int far_##n(int i)                                                                                                                 \
	{                                                                                                                                  \
		volatile int keep = i; /* lies before the call: no patch reaches that */                                                   \
                                                                                                                                           \
		return leaf(keep) + n - 100;                                                                                               \
	}
#define TEN(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8) m(n##9)
#define SIXTY(m) TEN(m, 10) TEN(m, 11) TEN(m, 12) TEN(m, 13) TEN(m, 14) TEN(m, 15)
SIXTY(FAR)
#define CALL_FAR(n) sum += far_##n(i);

static int plainly(void)
{
	int (*volatile pointer)(int) = leaf;
	int sum = 0;

	for (int i = 0; i < 100; i++) {
		sum += leaf(i);	    /* one call site */
		sum += leaf(i + 1); /* another */
		sum += pointer(i);
		sum += second(i);
		sum += tail(i);
	}
	return sum + deep(50);
}

static int far(void)
{
	int sum = 0;

	for (int i = 0; i < 10; i++) {
		SIXTY(CALL_FAR)
	}
	return sum;
}

static int plugin_stop;

static void *calls_meanwhile(void *argument)
{
	long *calls = argument;

	while (!__atomic_load_n(&plugin_stop, __ATOMIC_ACQUIRE)) {
		leaf(1);
		++*calls;
	}
	return NULL;
}

/* The same library again and again, while another thread calls. */
static int plugins(const char *path)
{
	pthread_t thread;
	long calls = 0;
	int sum = 0;

	pthread_create(&thread, NULL, calls_meanwhile, &calls);
	for (int i = 0; i < 20; i++) {
		void *library = dlopen(path, RTLD_NOW);
		int (*run)(int);

		if (!library)
			return -1;
		run = (int (*)(int))dlsym(library, "plugin_run");
		sum += run(i);
		dlclose(library);
	}
	__atomic_store_n(&plugin_stop, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	printf("leaf %ld\n", calls);
	return sum;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "plainly";

	printf("%d\n", !strcmp(what, "far") ? far() : !strcmp(what, "plugins") ? plugins(argv[2]) : plainly());
	return 0;
}

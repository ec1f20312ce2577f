/* What triggers change in the life of a program: signals mark, functions of libraries that aren't traced are hooked, at the start
 * and late. The judge is the real one, the core is fake_core.c. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "fake_recorder.h"
#include "plan/plan.h"

#define BIT(number) (1ull << ((number)-1))

static struct run *run;
static const char *named; /* a function of libc that is to be hooked; NULL: none */
static bool named_late;	  /* ... but only on a late patch */
static uint32_t base;	  /* of libc, as was answered */

static uint32_t hook_of(const struct ada_plan_header *plan, const char *name)
{
	const struct ada_plan_function *function = (const void *)((const char *)plan + plan->functions_offset);

	for (uint32_t i = 0; i < plan->function_count; i++)
		if (!strcmp((const char *)plan + plan->strings_offset + function[i].name, name))
			return function[i].hook;
	return ADA_PLAN_NONE;
}

/* The victim is traced; libc lends its names, and the named function's entry. */
static int plan_of(const struct ada_shm_module *module, uint32_t *reply_flags, uint64_t *bytes)
{
	bool traced = strstr(module->path, "victim"), libc = strstr(module->path, "libc.so") && named;
	bool now = libc && named_late == run->late;
	struct ada_plan_options options = { .decode = traced || now, .no_cache = true };
	struct ada_error error;
	struct ada_plan *plan;
	uint32_t hook;
	int fd;

	if ((module->flags & (ADA_MODULE_VDSO | ADA_MODULE_AGENT)) || ada_plan_open(&plan, module->path, &options, &error))
		return -1;
	*reply_flags = traced ? ADA_PLAN_REPLY_TRACE | ADA_PLAN_REPLY_IMPORTS : 0;
	run->function_base = libc ? base = 1000 : 0;
	if (now) {
		hook = hook_of(ada_plan_header(plan), named);
		memset(run->filter, 0, sizeof run->filter);
		if (hook < sizeof run->filter * 8) {
			run->filter[hook / 8] = 1 << hook % 8;
			run->filter_bytes = sizeof run->filter;
			*reply_flags = ADA_PLAN_REPLY_NAMED;
		}
	}
	*bytes = ada_plan_bytes(plan);
	fd = fcntl(ada_plan_fd(plan), F_DUPFD_CLOEXEC, 0);
	ada_plan_close(plan);
	return fd;
}

static void victim(char *mode, char *argument)
{
	char *arguments[] = { getenv("ADA_TEST_VICTIM"), mode, argument, NULL };

	run_program(run, arguments);
}

static int begin(void **state)
{
	run = calloc(1, sizeof *run);
	run->welcome = ADA_WELCOME_RECORD;
	run->plan = plan_of;
	named = NULL;
	named_late = false;
	return 0;
}

static int end(void **state)
{
	run_free(run);
	free(run);
	return 0;
}

static const struct ada_shm_module *libc_of(struct ada_shm *shm)
{
	for (uint32_t id = 0; id < shm->module_count; id++)
		if (strstr(run_module(shm, id)->path, "libc.so"))
			return run_module(shm, id);
	return NULL;
}

#define SIGNALS_OUTPUT "10:3 15 own=5 delivered=21 "

/* Without a rule: nothing of the program's signals is touched, and only its death marks. */
static void crashes_mark(void **state)
{
	struct ada_shm *shm;

	victim("signals", "6");
	shm = run->shm[0];
	assert_string_equal(run->output, SIGNALS_OUTPUT);
	assert_true(WIFSIGNALED(run->status) && WTERMSIG(run->status) == SIGABRT);
	assert_int_equal(shm->crash.signal, SIGABRT);
	assert_int_equal(shm->marks.detected, 1);
	assert_int_equal(run_marks(shm)[0].ready, 1);
	assert_int_equal(run_marks(shm)[0].rules, 1);
	assert_int_equal(run_marks(shm)[0].value, SIGABRT);
	assert_int_equal(run_marks(shm)[0].counter, shm->crash.counter);
	assert_true(shm->detail.pin.start != ADA_PIN_NONE);
}

static void signals_that_do_not_end_it_do_not_mark(void **state)
{
	victim("signals", "17");
	assert_string_equal(run->output, SIGNALS_OUTPUT);
	assert_int_equal(run->status, 0);
	assert_int_equal(run->shm[0]->marks.detected, 0);
	assert_int_equal(run->shm[0]->crash.present, 0);
}

/* After SA_RESETHAND has put the default back, without sigaction. */
static void the_signal_after_a_handler_for_once_is_a_crash(void **state)
{
	victim("signals", "11");
	assert_string_equal(run->output, SIGNALS_OUTPUT);
	assert_true(WIFSIGNALED(run->status) && WTERMSIG(run->status) == SIGSEGV);
	assert_int_equal(run->shm[0]->crash.signal, SIGSEGV);
	assert_int_equal(run->shm[0]->marks.detected, 1);
}

/* Named ones: one mark a delivery, to a handler or as the end, and none while it is ignored. */
static void named_signals_mark_and_are_delivered_as_ever(void **state)
{
	const struct ada_mark *marks;

	run->signals = BIT(SIGUSR1) | BIT(SIGRTMIN) | BIT(SIGTERM) | BIT(SIGSEGV) | BIT(SIGCHLD) | BIT(SIGWINCH) | BIT(SIGKILL);
	victim("signals", "15");
	marks = run_marks(run->shm[0]);
	assert_string_equal(run->output, SIGNALS_OUTPUT);
	assert_true(WIFSIGNALED(run->status) && WTERMSIG(run->status) == SIGTERM);
	assert_int_equal(run->shm[0]->marks.detected, 4);
	assert_int_equal(marks[0].value, SIGUSR1);
	assert_int_equal(marks[1].value, SIGRTMIN);
	assert_int_equal(marks[2].value, SIGSEGV);
	assert_int_equal(marks[3].value, SIGTERM);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(marks[i].rules, 2);
	assert_int_equal(run->shm[0]->crash.present, 0); /* a signal, no crash */
	assert_int_equal(run->shm[0]->internal_errors, 0);
}

static void a_named_crash_marks_by_both(void **state)
{
	run->signals = BIT(SIGBUS) | BIT(SIGUSR1);
	victim("crash", "kill");
	assert_int_equal(WTERMSIG(run->status), SIGBUS);
	assert_int_equal(run->shm[0]->marks.detected, 1);
	assert_int_equal(run_marks(run->shm[0])[0].rules, 3);
	assert_int_equal(run->shm[0]->crash.signal, SIGBUS);
}

/* SIGUSR1 ended up at its default, which sigaction was told of. */
static void named_defaults_set_again_mark(void **state)
{
	run->signals = BIT(SIGUSR1);
	victim("signals", "10");
	assert_string_equal(run->output, SIGNALS_OUTPUT);
	assert_int_equal(WTERMSIG(run->status), SIGUSR1);
	assert_int_equal(run->shm[0]->marks.detected, 2);
}

static void hides_its_handlers(void **state)
{
	run->signals = BIT(SIGSEGV) | BIT(SIGTERM);
	victim("dispositions", NULL);
	assert_string_equal(run->output, "default=1 flags=0 own=1 signal=1 again=1");
}

/* A library that isn't traced: one entry is hooked, nothing else, and calls through a GOT slot are counted once. */
static void named_functions_are_hooked_where_they_are(void **state)
{
	struct ada_shm *shm;
	uint64_t without;

	victim("calls", NULL);
	without = run->shm[0]->waits;
	named = "getppid";
	victim("calls", NULL);
	shm = run->shm[1];
	assert_int_equal(shm->waits, without);
	assert_int_equal(libc_of(shm)->hooked, 1);
	assert_int_equal(libc_of(shm)->function_base, 1000);
	assert_int_equal(libc_of(shm)->flags & ADA_MODULE_TRACED, 0);
	assert_int_equal(run_module(shm, 0)->imports, run_module(run->shm[0], 0)->imports - 1);
	assert_int_equal(shm->internal_errors, 0);
}

/* --- late --------------------------------------------------------------------------------------------------------------- */

static char fifo[] = "/tmp/ada-test-fifo-XXXXXX";
static pthread_t injector;
static long injected;
static pid_t tracee;

static int stopped(void)
{
	int status = 0;

	return waitpid(tracee, &status, __WALL) == tracee && WIFSTOPPED(status) ? WSTOPSIG(status) : -1;
}

/* Lets the agent run on its late stack until it says in the frame there that it is done. Its result; -EFAULT: it met a fault. */
static long run_late(uint64_t place)
{
	struct ada_late_frame frame = { 0 };
	struct iovec mine = { &frame, sizeof frame }, its = { (void *)place, sizeof frame };
	int status;

	if (process_vm_writev(tracee, &mine, 1, &its, 1, 0) != sizeof frame)
		return -ESRCH;
	ptrace(PTRACE_CONT, tracee, 0, 0);
	while (!frame.ended) {
		if (waitpid(tracee, &status, __WALL | WNOHANG) == tracee)
			return -EFAULT;
		sched_yield();
		if (process_vm_readv(tracee, &mine, 1, &its, 1, 0) != sizeof frame)
			return -ESRCH;
	}
	ptrace(PTRACE_INTERRUPT, tracee, 0, 0);
	stopped();
	return 1 - (long)frame.ended;
}

/* As the recorder does it, of a program with one thread, which waits to open the FIFO. */
static void *inject(void *unused)
{
	const struct ada_shm *shm = run->shm[0];
	struct user_regs_struct before, ours;
	uint64_t mask, all = ~0ull;

	ptrace(PTRACE_SEIZE, tracee, 0, 0);
	do { /* on a busy machine it is still in the agent, on its way to the FIFO */
		ptrace(PTRACE_CONT, tracee, 0, 0);
		ptrace(PTRACE_INTERRUPT, tracee, 0, 0);
		stopped();
		ptrace(PTRACE_GETREGS, tracee, 0, &before);
	} while (before.rip >= shm->agent_text_start && before.rip < shm->agent_text_end);
	ptrace(PTRACE_GETSIGMASK, tracee, sizeof mask, &mask);
	ptrace(PTRACE_SETSIGMASK, tracee, sizeof all, &all);
	ours = before;
	ours.rip = shm->late_entry;
	ours.rsp = shm->late_stack - sizeof(struct ada_late_frame);
	ours.orig_rax = ~0ull;
	ptrace(PTRACE_SETREGS, tracee, 0, &ours);
	injected = run_late(ours.rsp);
	ptrace(PTRACE_SETREGS, tracee, 0, &before);
	ptrace(PTRACE_SETSIGMASK, tracee, sizeof mask, &mask);
	ptrace(PTRACE_DETACH, tracee, 0, 0);
	close(open(fifo, O_WRONLY));
	return NULL;
}

static void inject_begin(struct run *unused, pid_t child)
{
	tracee = child;
	assert_int_equal(pthread_create(&injector, NULL, inject, NULL), 0);
}

static void hooks_are_put_in_while_it_runs(void **state)
{
	struct ada_shm *shm;
	uint64_t before;

	assert_true(mkdtemp(fifo) && rmdir(fifo) == 0 && mkfifo(fifo, 0600) == 0);
	named = "getsid";
	run->ready = inject_begin;
	victim("late", fifo); /* hooked from the start: 100 calls */
	pthread_join(injector, NULL);
	assert_int_equal(injected, 0);
	before = run->shm[0]->waits;
	end(state);
	begin(state);
	named = "getsid";
	named_late = true;
	run->ready = inject_begin;
	victim("late", fifo); /* hooked half-way */
	pthread_join(injector, NULL);
	unlink(fifo);
	shm = run->shm[0];
	assert_int_equal(injected, 0);
	assert_string_equal(run->output, "ready sum=100");
	assert_int_equal(run->status, 0);
	assert_int_equal(libc_of(shm)->hooked, 1);
	assert_int_equal(libc_of(shm)->function_base, 1000);
	assert_int_equal(shm->waits, before - 50);
	assert_int_equal(run->applied, run->modules);
	assert_int_equal(run->done, 2);
	assert_int_equal(shm->internal_errors, 0);
	assert_int_equal(shm->disabled, ADA_DISABLE_NONE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = { TEST(crashes_mark),
					    TEST(signals_that_do_not_end_it_do_not_mark),
					    TEST(the_signal_after_a_handler_for_once_is_a_crash),
					    TEST(named_signals_mark_and_are_delivered_as_ever),
					    TEST(a_named_crash_marks_by_both),
					    TEST(named_defaults_set_again_mark),
					    TEST(hides_its_handlers),
					    TEST(named_functions_are_hooked_where_they_are),
					    TEST(hooks_are_put_in_while_it_runs) };
	struct rlimit no_core = { 0, 0 };

	setrlimit(RLIMIT_CORE, &no_core);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

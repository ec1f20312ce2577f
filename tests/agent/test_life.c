/* The agent's life in a program: that it works, and that the program never notices; also where the recorder misbehaves.
 * The core is fake_core.c, the recorder fake_recorder.c, the plans are the real planner's.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "fake_recorder.h"
#include "plan/plan.h"

#define RECORD ADA_WELCOME_RECORD
#define FOLLOW (ADA_WELCOME_RECORD | ADA_WELCOME_FOLLOW)
#define UNSEEN "socket=none preload=none descriptors=0"

/* The main program and its library are traced, all others lend their names and intercepts. */
static int plan_of(const struct ada_shm_module *module, uint32_t *reply_flags, uint64_t *bytes)
{
	bool traced = strstr(module->path, "victim");
	struct ada_plan_options options = { .decode = traced, .no_cache = true };
	struct ada_error error;
	struct ada_plan *plan;
	int fd;

	if ((module->flags & (ADA_MODULE_VDSO | ADA_MODULE_AGENT)) || ada_plan_open(&plan, module->path, &options, &error))
		return -1;
	*reply_flags = traced ? ADA_PLAN_REPLY_TRACE | ADA_PLAN_REPLY_IMPORTS : 0;
	*bytes = ada_plan_bytes(plan);
	fd = fcntl(ada_plan_fd(plan), F_DUPFD_CLOEXEC, 0);
	ada_plan_close(plan);
	return fd;
}

static void victim(struct run *run, char *mode, char *argument)
{
	char *arguments[] = { getenv("ADA_TEST_VICTIM"), mode, argument, NULL };

	run_program(run, arguments);
}

static void leaves_no_trace(void **state)
{
	struct run run = { .welcome = FOLLOW, .plan = plan_of };

	victim(&run, "see", NULL);
	assert_string_equal(run.output, UNSEEN);
	assert_int_equal(run.status, 0);
	assert_int_equal(run.hello[0].kind, ADA_HELLO_START);
	assert_int_equal(run.done, 1);
	assert_int_equal(run.modules, run.shm[0]->module_count);
	assert_int_equal(run.applied, run.modules);
	assert_int_equal(run.ahead, 2); /* the next one, while this one is hooked */
	assert_int_equal(run.shm[0]->disabled, ADA_DISABLE_NONE);
	assert_int_equal(run.shm[0]->internal_errors, 0);
	assert_int_equal(run.shm[0]->exit_seen, 1);
	assert_string_equal(run_module(run.shm[0], 0)->path, getenv("ADA_TEST_VICTIM"));
	assert_int_equal(run_module(run.shm[0], 0)->flags, ADA_MODULE_MAIN | ADA_MODULE_TRACED);
	assert_int_equal(run_module(run.shm[0], 0)->mismatched, 0);
	run_free(&run);
}

static void keeps_other_preloads(void **state)
{
	struct run run = { .welcome = RECORD, .preload_also = "/lib/x86_64-linux-gnu/libm.so.6" };

	victim(&run, "see", NULL);
	assert_string_equal(run.output, "socket=none preload=/lib/x86_64-linux-gnu/libm.so.6 descriptors=0");
	run_free(&run);
}

static void comes_last_in_the_module_list(void **state)
{
	struct run run = { .welcome = RECORD };

	victim(&run, "first", NULL);
	assert_string_equal(run.output, "first=other");
	run_free(&run);
}

static void hooks_entries_and_imports(void **state)
{
	struct run run = { .welcome = RECORD, .plan = plan_of };

	victim(&run, "calls", NULL);
	assert_string_equal(run.output, "sum=1100");
	assert_in_range(run.shm[0]->waits, 1100, 1200); /* the 1100, main, and what prints */
	assert_true(run_module(run.shm[0], 0)->hooked > 5);
	assert_true(run_module(run.shm[0], 0)->imports > 3);
	run_free(&run);
}

static void survives_a_bad_recorder(void **state)
{
	for (enum fault fault = FAULT_NO_SOCKET; fault <= FAULT_PLAN_OTHER_MODULE; fault++) {
		struct run run = { .fault = fault, .welcome = FOLLOW, .plan = plan_of };

		victim(&run, "see", NULL);
		assert_string_equal(run.output, UNSEEN);
		assert_int_equal(run.status, 0);
		if (fault == FAULT_SEGMENT_RING)
			assert_int_equal(run.modules, 0);
		else if (run.segments && fault != FAULT_SEGMENT_GARBAGE && fault != FAULT_VERSION && fault != FAULT_TYPE)
			assert_int_not_equal(run.shm[0]->disabled, ADA_DISABLE_NONE);
		if (fault != FAULT_SEGMENT_GARBAGE)
			run_free(&run);
	}
}

static void records_nothing_where_told_so(void **state)
{
	struct run run = { .welcome = 0, .plan = plan_of };

	victim(&run, "exec", "see");
	assert_string_equal(run.output, UNSEEN UNSEEN UNSEEN UNSEEN);
	assert_int_equal(run.hellos, 1);
	assert_int_equal(run.modules, 0);
}

static void follows_forks(void **state)
{
	static char *const modes[] = { "fork" };

	for (int i = 0; i < 1; i++) {
		struct run run = { .welcome = FOLLOW, .plan = plan_of };

		victim(&run, modes[i], NULL);
		assert_string_equal(run.output, "child=42");
		assert_int_equal(run.segments, 2);
		assert_int_equal(run.hello[1].kind, ADA_HELLO_FORK);
		assert_int_equal(run.hello[1].parent_pid, run.shm[0]->pid);
		assert_int_equal(run.shm[1]->module_count, run.shm[0]->module_count);
		assert_memory_equal(run_module(run.shm[0], 0), run_module(run.shm[1], 0), sizeof(struct ada_shm_module));
		assert_true(run.shm[1]->waits >= 1);
		run_free(&run);
	}
}

static void leaves_forks_alone(void **state)
{
	struct run run = { .welcome = RECORD, .plan = plan_of };

	victim(&run, "fork", NULL);
	assert_string_equal(run.output, "child=42");
	assert_int_equal(run.hellos, 1);
	run_free(&run);
}

static void follows_execs(void **state)
{
	struct run run = { .welcome = FOLLOW, .plan = plan_of };

	victim(&run, "exec", "see");
	assert_string_equal(run.output, UNSEEN UNSEEN UNSEEN UNSEEN);
	assert_int_equal(run.status, 0);
	assert_int_equal(run.hellos, 6); /* itself, posix_spawn's, the fork and its fexecve, vfork's, its own exec */
	for (int i = 0; i < 6; i++)
		assert_int_equal(run.hello[i].kind, i == 2 ? ADA_HELLO_FORK : ADA_HELLO_START);
	run_free(&run);
}

static void leaves_execs_alone(void **state)
{
	struct run run = { .welcome = RECORD, .plan = plan_of };

	victim(&run, "exec", "see");
	assert_string_equal(run.output, UNSEEN UNSEEN UNSEEN UNSEEN);
	assert_int_equal(run.hellos, 1);
	run_free(&run);
}

static void hides_its_handlers(void **state)
{
	struct run run = { .welcome = RECORD, .plan = plan_of };

	victim(&run, "dispositions", NULL);
	assert_string_equal(run.output, "default=1 flags=0 own=1 signal=1 again=1");
	run_free(&run);
}

static void records_crashes(void **state)
{
	static const struct {
		char *how;
		int signal;
	} cases[] = { { "fault", SIGSEGV }, { "abort", SIGABRT }, { "trap", SIGTRAP }, { "kill", SIGBUS } };

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct run run = { .welcome = RECORD, .plan = plan_of };

		victim(&run, "crash", cases[i].how);
		assert_true(WIFSIGNALED(run.status));
		assert_int_equal(WTERMSIG(run.status), cases[i].signal);
		assert_int_equal(run.shm[0]->crash.present, 1);
		assert_int_equal(run.shm[0]->crash.signal, cases[i].signal);
		assert_int_equal(run.shm[0]->crash.fault_address, i == 0 ? 64 : run.shm[0]->crash.fault_address);
		assert_int_equal(run.shm[0]->crash.thread_id, run.shm[0]->pid);
		assert_int_equal(run.shm[0]->crash.stack_bytes, 512);
		assert_int_equal(run.shm[0]->exit_seen, 0);
		run_free(&run);
	}
}

static void knows_where_longjmp_lands(void **state)
{
	struct run run = { .welcome = RECORD, .plan = plan_of };

	victim(&run, "jump", NULL);
	assert_string_equal(run.output, "jumped=7");
	assert_int_equal(run.shm[0]->reserved2[0], 1);
	assert_int_equal(run.shm[0]->reserved2[1], 1);
	run_free(&run);
}

static void hooks_what_is_loaded_late(void **state)
{
	struct run run = { .welcome = RECORD, .plan = plan_of };
	uint32_t loaded = 0;

	victim(&run, "load", getenv("ADA_TEST_LIBRARY"));
	assert_string_equal(run.output, "101 102 103 ");
	assert_int_equal(run.unloads, 3);
	for (uint32_t id = 0; id < run.shm[0]->module_count; id++) {
		struct ada_shm_module *module = run_module(run.shm[0], id);

		if (!strstr(module->path, "victim_library"))
			continue;
		loaded++;
		assert_int_equal(module->present, 2);
		assert_true(module->hooked >= 2);
		assert_int_equal(module->imports, 1);
		assert_true(module->unload_counter > module->load_counter);
		assert_int_equal(module->loads, 3); /* at the same place each time */
	}
	assert_int_equal(loaded, 1);
	assert_int_equal(run.shm[0]->internal_errors, 0);
	run_free(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_no_trace),
		cmocka_unit_test(keeps_other_preloads),
		cmocka_unit_test(comes_last_in_the_module_list),
		cmocka_unit_test(hooks_entries_and_imports),
		cmocka_unit_test(survives_a_bad_recorder),
		cmocka_unit_test(records_nothing_where_told_so),
		cmocka_unit_test(follows_forks),
		cmocka_unit_test(leaves_forks_alone),
		cmocka_unit_test(follows_execs),
		cmocka_unit_test(leaves_execs_alone),
		cmocka_unit_test(hides_its_handlers),
		cmocka_unit_test(records_crashes),
		cmocka_unit_test(knows_where_longjmp_lands),
		cmocka_unit_test(hooks_what_is_loaded_late),
	};
	struct rlimit no_core = { 0, 0 };

	setrlimit(RLIMIT_CORE, &no_core);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The core against a recorder inside the test: what is recorded, what is lost and how that is told. */
#include <execinfo.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>
#include "agent/record/lane.h"
#include "fake.h"
#include "../../test.h"

HOOKED static long leaf(long x)
{
	BARRIER;
	return x + 1;
}

HOOKED static long outer(long calls)
{
	for (long i = 0; i < calls; i++)
		leaf(i);
	BARRIER;
	return calls;
}

HOOKED static long recurse(long depth)
{
	long result = depth ? recurse(depth - 1) : 0;

	BARRIER;
	return result + 1;
}

static struct ada_shm *begin(uint32_t chunks, uint32_t mode, uint32_t on_full)
{
	static bool hooked;
	extern void *__start___patchable_function_entries[], *__stop___patchable_function_entries[];
	struct ada_shm *shm = fake_begin(chunks, mode, on_full);

	if (!hooked)
		assert_true(fake_hook(__start___patchable_function_entries, __stop___patchable_function_entries) > 5);
	hooked = true;
	return shm;
}

static struct ada_shm_thread *entry(struct ada_shm *shm, uint32_t number)
{
	return (struct ada_shm_thread *)((char *)shm + shm->threads_offset) + number;
}

static uint32_t chunks_free(struct ada_shm *shm)
{
	uint64_t *words = (uint64_t *)((char *)shm + shm->free_offset);
	uint32_t count = 0;

	for (uint32_t i = 0; i < (shm->index_chunks + 63) / 64; i++)
		count += __builtin_popcountll(words[i]);
	return count;
}

/* --- backtrace: first, as it compares with the time before the hooks ---------------------------------------------------- */

struct trace {
	void *at[64];
	int count;
};

HOOKED static void trace_here(struct trace *trace, int size)
{
	trace->count = backtrace(trace->at, size);
	BARRIER;
}

HOOKED static void trace_below(struct trace *trace, int size, int depth)
{
	if (depth)
		trace_below(trace, size, depth - 1);
	else
		trace_here(trace, size);
	BARRIER;
}

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *context, void *argument)
{
	struct trace *trace = argument;

	trace->at[trace->count++] = (void *)_Unwind_GetIP(context);
	return _URC_NO_REASON;
}

HOOKED static void walk_below(struct trace *trace, int depth)
{
	if (depth)
		walk_below(trace, depth - 1);
	else
		_Unwind_Backtrace(count_frame, trace);
	BARRIER;
}

static struct trace traces[2][40], walks[2];

/* Not inlined: the same call sites, traced and not. */
static __attribute__((noinline, noclone)) void traces_take(int traced)
{
	for (int size = 1; size < 40; size++)
		trace_below(&traces[traced][size], size, 10);
	walk_below(&walks[traced], 10);
	BARRIER;
}

static void backtraces_are_as_untraced(void **state)
{
	for (volatile int traced = 0; traced < 2; traced = traced + 1) { /* one call site: not to be peeled */
		if (traced)
			begin(16, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
		traces_take(traced);
	}
	for (int size = 1; size < 40; size++) {
		assert_int_equal(traces[0][size].count, traces[1][size].count);
		assert_memory_equal(traces[0][size].at, traces[1][size].at, sizeof traces[0][size].at);
	}
	assert_true(traces[0][39].count > 12 && traces[0][39].count < 39);
	assert_int_equal(walks[0].count, walks[1].count);
	assert_memory_equal(walks[0].at, walks[1].at, sizeof walks[0].at);
	fake_drain();
	assert_true(fake_count().calls > 400);
	assert_int_equal(fake_count().errors, 0);
}

/* --- what is recorded ------------------------------------------------------------------------------------------------------ */

static volatile long handled;

static void on_alarm(int number)
{
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		leaf(i);
}

static void signals_cost_no_event(long interval_us)
{
	struct itimerval timer = { { 0, interval_us }, { 0, interval_us } }, off = { 0 };
	struct sigaction action = { .sa_handler = on_alarm }, old;
	const long calls = 4000000;
	struct fake_counts counts;

	begin(1024, ADA_INDEX_STREAMING, ADA_ON_FULL_BLOCK);
	fake_drain_start();
	handled = 0;
	sigaction(SIGALRM, &action, &old);
	setitimer(ITIMER_REAL, &timer, NULL);
	outer(calls);
	setitimer(ITIMER_REAL, &off, NULL);
	sigaction(SIGALRM, &old, NULL);
	fake_drain_stop();
	fake_drain();
	counts = fake_count();
	assert_true(handled > 10);
	assert_int_equal(counts.calls, calls + 1 + 3 * handled);
	assert_int_equal(counts.returns, counts.calls);
	assert_int_equal(counts.lost + counts.errors + counts.open, 0);
}

static void signals_at_1_khz(void **state)
{
	signals_cost_no_event(1000);
}

static void signals_at_20_khz(void **state)
{
	signals_cost_no_event(50);
}

static void deep_recursion(void *depth)
{
	assert_int_equal(recurse((long)depth - 1), (long)depth);
}

static void *deep_thread(void *depth)
{
	deep_recursion(depth);
	return NULL;
}

static void deep_run(long depth)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 20);
	assert_int_equal(pthread_create(&thread, &attributes, deep_thread, (void *)depth), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	fake_drain();
}

static void recursion_100000_deep(void **state)
{
	begin(1024, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
	deep_run(100000);
	assert_int_equal(fake_count().calls, 100000);
	assert_int_equal(fake_count().returns, 100000);
	assert_int_equal(fake_count().lost + fake_count().errors, 0);
}

static void recursion_past_the_shadow_stack(void **state)
{
	struct ada_shm *shm = begin(1024, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
	const long depth = ADA_SHADOW_FRAMES + 5000;

	deep_run(depth);
	assert_int_equal(fake_count().calls, ADA_SHADOW_FRAMES);
	assert_int_equal(fake_count().returns, ADA_SHADOW_FRAMES);
	assert_int_equal(fake_count().lost, 2 * 5000);
	assert_int_equal(entry(shm, 0)->skipped, 5000);
	assert_int_equal(fake_count().errors, 0);
}

/* --- full ------------------------------------------------------------------------------------------------------------------ */

static void what_is_dropped_is_counted_in_place(void **state)
{
	const long calls = 10000;
	struct ada_shm *shm = begin(4, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
	struct fake_counts counts;

	outer(calls);
	assert_true(entry(shm, 0)->lost > 0);
	fake_drain();
	assert_int_equal(fake_count().lost_events, 0);
	leaf(0);
	fake_drain();
	counts = fake_count();
	assert_int_equal(counts.lost_events, 1);
	assert_int_equal(counts.lost, entry(shm, 0)->lost);
	assert_int_equal(counts.calls + counts.returns + counts.lost, 2 * (calls + 2));
	assert_int_equal(counts.errors + counts.open, 0);
	assert_int_equal(fake_frames(), 0);
}

static void blocking_loses_nothing(void **state)
{
	const long calls = 200000;

	begin(2, ADA_INDEX_STREAMING, ADA_ON_FULL_BLOCK);
	fake_drain_start();
	outer(calls);
	fake_drain_stop();
	fake_drain();
	assert_int_equal(fake_count().calls, calls + 1);
	assert_int_equal(fake_count().returns, calls + 1);
	assert_int_equal(fake_count().lost + fake_count().errors, 0);
	assert_true(ada_core_shm()->waits > 0);
}

static void blocking_ends_with_the_recorder(void **state)
{
	struct ada_shm *shm = begin(2, ADA_INDEX_STREAMING, ADA_ON_FULL_BLOCK);
	int status, fd = memfd_create("presence", MFD_CLOEXEC);
	struct ada_presence *page;
	pid_t pid;

	assert_int_equal(ftruncate(fd, ADA_PRESENCE_BYTES), 0);
	page = mmap(NULL, ADA_PRESENCE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	page->owner = 1;
	fflush(NULL);
	pid = fork(); /* hooks are no hooks afterwards */
	if (!pid) {
		fake_use(shm);
		outer(10);
		assert_true(ada_presence_take(fd) && !ada_presence_gone() && ada_core_recording());
		page->owner = ADA_PRESENCE_DIED;
		_exit(outer(10000) == 10000 && !ada_core_recording() ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(shm->disabled, ADA_DISABLE_NO_RECORDER);
	munmap(page, ADA_PRESENCE_BYTES);
	close(fd);
}

static pthread_barrier_t two_hold, two_go_on;

static void *thread_holds_a_chunk(void *calls)
{
	outer(1);
	pthread_barrier_wait(&two_hold);
	pthread_barrier_wait(&two_go_on);
	outer((long)calls);
	return NULL;
}

/* Threads that do nothing hold all chunks, and wait for who would wait for one: it gives up, until there is one again. */
static void blocking_ends_where_idle_threads_hold_all(void **state)
{
	struct ada_shm *shm = begin(2, ADA_INDEX_STREAMING, ADA_ON_FULL_BLOCK);
	pthread_t threads[2];

	pthread_barrier_init(&two_hold, NULL, 3);
	pthread_barrier_init(&two_go_on, NULL, 3);
	fake_drain_start();
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, thread_holds_a_chunk, (void *)5000);
	pthread_barrier_wait(&two_hold);
	outer(9);
	for (int i = 0; i < 1000; i++)
		leaf(i);
	assert_int_equal(shm->waits, 1); /* once for all of them */
	assert_int_equal(shm->disabled, 0);
	assert_int_equal(entry(shm, 2)->lost, 2 * (10 + 1000));
	assert_int_equal(entry(shm, 2)->lost_full, 2 * (10 + 1000));
	pthread_barrier_wait(&two_go_on);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	leaf(0);
	fake_drain_stop();
	fake_drain();
	assert_int_equal(fake_count().calls, 2 * (2 + 5001) + 1);
	assert_int_equal(fake_count().lost, 2 * (10 + 1000));
	assert_int_equal(fake_count().errors, 0);
}

static void oneshot_stops_when_full(void **state)
{
	struct ada_shm *shm = begin(4, ADA_INDEX_ONESHOT, ADA_ON_FULL_DROP);

	assert_int_equal(outer(10000), 10000);
	assert_int_equal(shm->disabled, ADA_DISABLE_ONESHOT_FULL);
	assert_int_equal(shm->sealed_head, 4);
	fake_drain();
	outer(10000);
	fake_drain();
	assert_int_equal(fake_count().events, 4 * ADA_CHUNK_EVENTS);
	assert_int_equal(fake_count().errors + fake_count().lost, 0);
}

static void circular_keeps_the_newest(void **state)
{
	struct ada_shm *shm = begin(4, ADA_INDEX_CIRCULAR, ADA_ON_FULL_DROP);
	const uint64_t events = 2 * 100000;
	uint64_t held = 0, newest = 0;

	for (long i = 0; i < 100000; i++)
		leaf(i);
	for (uint32_t i = 0; i < 4; i++) {
		struct ada_chunk *chunk = (struct ada_chunk *)((char *)shm + shm->index_offset + i * ADA_CHUNK_BYTES);
		uint64_t here = (ada_chunk_end(chunk) - ADA_CHUNK_HEADER_BYTES) / 32;

		held += here;
		if (chunk->first_seq + here > newest)
			newest = chunk->first_seq + here;
	}
	assert_int_equal(newest, events);
	assert_true(held > 3 * ADA_CHUNK_EVENTS);
	assert_int_equal(entry(shm, 0)->lost, 0);
	assert_true(shm->sealed_head - shm->sealed_tail == 3);
}

static void stop_is_obeyed(void **state)
{
	struct ada_shm *shm = begin(64, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
	uint64_t events;

	leaf(1);
	shm->stop = 1;
	outer(ADA_CHUNK_EVENTS); /* it may go on to the end of its chunk */
	fake_drain();
	events = fake_count().events;
	assert_true(events <= ADA_CHUNK_EVENTS);
	outer(10000);
	fake_drain();
	assert_int_equal(fake_count().events, events);
	assert_int_equal(fake_count().lost, 0);
}

/* --- threads and processes --------------------------------------------------------------------------------------------- */

static void *thread_few_calls(void *calls)
{
	outer((long)calls);
	return NULL;
}

static void threads_come_and_go(void **state)
{
	struct ada_shm *shm = begin(64, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
	enum { ROUNDS = 1000, AT_ONCE = 5 };
	pthread_t threads[AT_ONCE];

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < AT_ONCE; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, thread_few_calls, (void *)9), 0);
		for (int i = 0; i < AT_ONCE; i++)
			pthread_join(threads[i], NULL);
		fake_drain();
	}
	assert_int_equal(shm->thread_count, ROUNDS * AT_ONCE);
	assert_int_equal(fake_count().calls, ROUNDS * AT_ONCE * 10);
	assert_int_equal(fake_count().returns, ROUNDS * AT_ONCE * 10);
	assert_int_equal(fake_count().lost + fake_count().errors, 0);
	assert_int_equal(chunks_free(shm), 64);
	assert_true(ada_core->threads_used <= AT_ONCE);
	for (uint32_t i = 0; i < shm->thread_count; i++)
		assert_int_equal(entry(shm, i)->status, ADA_THREAD_ENDED);
}

static pthread_key_t late_key;

static void late(void *unused)
{
	outer(5);
}

static void *thread_with_late_calls(void *unused)
{
	pthread_setspecific(late_key, &late_key);
	outer(2);
	return NULL;
}

static void a_thread_goes_on_after_its_end(void **state)
{
	struct ada_shm *shm = begin(64, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
	pthread_t thread;

	pthread_key_create(&late_key, late);
	pthread_create(&thread, NULL, thread_with_late_calls, NULL);
	pthread_join(thread, NULL);
	pthread_key_delete(late_key);
	fake_drain();
	assert_int_equal(shm->thread_count, 1);
	assert_int_equal(entry(shm, 0)->status, ADA_THREAD_ENDED);
	assert_int_equal(fake_count().calls, 3 + 6);
	assert_int_equal(fake_count().errors, 0);
}

static int forked_seen;
static struct ada_shm *child_shm;

static void child_records_anew(void)
{
	forked_seen++;
	child_shm = fake_begin(16, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
}

static void child_is_left_alone(void)
{
	forked_seen++;
}

HOOKED static long fork_inside(bool raw)
{
	long pid = raw ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();

	BARRIER;
	return pid;
}

/* In the child: exits 0 where all is as it should be. */
static void child_judge(bool records)
{
	bool good = forked_seen == 1;

	outer(3);
	if (records) {
		fake_drain();
		good = good && fake_count().calls == 4 && fake_count().returns == 4 && fake_count().errors == 0 &&
		       entry(child_shm, 0)->orphans == 1 && entry(child_shm, 0)->thread_id == fake_tid();
	}
	_exit(good ? 0 : 1);
}

static void a_fork(bool raw, bool records)
{
	struct ada_shm *shm = begin(16, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
	int status = -1;
	long pid;

	forked_seen = 0;
	fake_forked = records ? child_records_anew : child_is_left_alone;
	outer(2);
	pid = fork_inside(raw);
	if (pid == 0)
		child_judge(records);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	outer(2);
	fake_drain();
	assert_int_equal(shm->thread_count, 1);
	assert_int_equal(fake_count().calls, 3 + 1 + 3);
	assert_int_equal(fake_count().returns, 3 + 1 + 3);
	assert_int_equal(fake_count().errors, 0);
}

static void a_forks_child_is_a_process_of_its_own(void **state)
{
	a_fork(false, true);
	a_fork(true, true);
	a_fork(true, false);
}

/* --- other stacks ------------------------------------------------------------------------------------------------------------ */

static ucontext_t main_context, fiber_context;

HOOKED static void fiber_main(void)
{
	leaf(1);
	swapcontext(&fiber_context, &main_context);
	abort();
}

static void finished_fibers_are_forgotten(void **state)
{
	enum { FIBERS = 20000, STACK = 16384 };
	static void *stack;

	begin(1024, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
	for (int i = 0; i < FIBERS; i++) {
		if (i % 3 == 0) { /* stacks come back, and go */
			if (stack)
				munmap(stack, STACK);
			stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		}
		getcontext(&fiber_context);
		fiber_context.uc_stack.ss_sp = stack;
		fiber_context.uc_stack.ss_size = STACK;
		makecontext(&fiber_context, fiber_main, 0);
		outer(1);
		swapcontext(&main_context, &fiber_context);
		outer(1);
	}
	fake_drain();
	assert_true(fake_frames() < 4096);
	assert_int_equal(fake_count().calls, FIBERS * 6);
	assert_int_equal(fake_count().calls, fake_count().returns + fake_count().exceptions + fake_frames());
	assert_int_equal(fake_count().errors + fake_count().lost, 0);
	munmap(stack, STACK);
}

HOOKED static void jump_from(int depth, void **buffer)
{
	if (depth)
		jump_from(depth - 1, buffer);
	ada_core_longjmp((uint64_t)buffer[2]);
	__builtin_longjmp(buffer, 1);
}

static void a_jump_closes_what_it_leaves(void **state)
{
	static void *buffer[5];

	begin(64, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
	leaf(1);
	if (!__builtin_setjmp(buffer))
		jump_from(9, buffer);
	fake_drain();
	assert_int_equal(fake_frames(), 0);
	assert_int_equal(fake_count().exceptions, 10);
	assert_int_equal(fake_count().open + fake_count().errors, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(backtraces_are_as_untraced),
		cmocka_unit_test(signals_at_1_khz),
		cmocka_unit_test(signals_at_20_khz),
		cmocka_unit_test(recursion_100000_deep),
		cmocka_unit_test(recursion_past_the_shadow_stack),
		cmocka_unit_test(what_is_dropped_is_counted_in_place),
		cmocka_unit_test(blocking_loses_nothing),
		cmocka_unit_test(blocking_ends_with_the_recorder),
		cmocka_unit_test(blocking_ends_where_idle_threads_hold_all),
		cmocka_unit_test(oneshot_stops_when_full),
		cmocka_unit_test(circular_keeps_the_newest),
		cmocka_unit_test(stop_is_obeyed),
		cmocka_unit_test(threads_come_and_go),
		cmocka_unit_test(a_thread_goes_on_after_its_end),
		cmocka_unit_test(a_forks_child_is_a_process_of_its_own),
		cmocka_unit_test(finished_fibers_are_forgotten),
		cmocka_unit_test(a_jump_closes_what_it_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The table of threads: entries are used again, and a full one costs only who comes too late. And what a handler forks while its
 * thread waits goes on, recorded or not. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
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

static struct ada_shm *begin(uint32_t chunks, uint32_t mode, uint32_t on_full)
{
	static bool hooked;
	extern void *__start___patchable_function_entries[], *__stop___patchable_function_entries[];
	struct ada_shm *shm = fake_begin(chunks, mode, on_full);

	if (!hooked)
		assert_int_equal(fake_hook(__start___patchable_function_entries, __stop___patchable_function_entries), 2);
	hooked = true;
	return shm;
}

static struct ada_shm_thread *entry(struct ada_shm *shm, uint32_t number)
{
	return (struct ada_shm_thread *)((char *)shm + shm->threads_offset) + number;
}

static void *thread_few_calls(void *calls)
{
	outer((long)calls);
	return NULL;
}

/* Pages of the calling thread's room that were ever touched. */
static void *thread_looks(void *touched)
{
	unsigned char pages[ADA_ROOM_BYTES / 4096];

	outer(9);
	assert_int_equal(mincore((void *)ada_rooms[ada_self->number], ADA_ROOM_BYTES, pages), 0);
	for (size_t i = 0; i < sizeof pages; i++)
		*(int *)touched += pages[i] & 1;
	return NULL;
}

/* A thread that does little has the page in which both its stacks begin, and at most one more. */
static void a_quiet_thread_costs_little(void **state)
{
	pthread_t thread;
	int touched = 0;

	begin(64, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
	assert_int_equal(pthread_create(&thread, NULL, thread_looks, &touched), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_in_range(touched, 1, 2);
}

/* As the recorder does with threads that are drained. */
static void free_ended_entries(struct ada_shm *shm)
{
	uint64_t *words = (uint64_t *)(entry(shm, ADA_THREADS_MAX));

	for (uint32_t i = 0; i < shm->thread_count; i++) {
		uint32_t status = ADA_THREAD_ENDED;

		if (__atomic_compare_exchange_n(&entry(shm, i)->status, &status, ADA_THREAD_UNUSED, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			__atomic_fetch_or(&words[i / 64], 1ull << i % 64, __ATOMIC_RELEASE);
	}
}

static int lines_of(const char *path)
{
	FILE *file = fopen(path, "r");
	int lines = 0, c;

	assert_non_null(file);
	while ((c = fgetc(file)) != EOF)
		lines += c == '\n';
	fclose(file);
	return lines;
}

/* More threads than the table has entries: each is a new one by its id, and nothing grows. */
static void entries_are_used_again(void **state)
{
	struct ada_shm *shm = begin(64, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
	enum { ROUNDS = 2000, AT_ONCE = 50 };
	pthread_t threads[AT_ONCE];
	int maps = 0;

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < AT_ONCE; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, thread_few_calls, (void *)1), 0);
		for (int i = 0; i < AT_ONCE; i++)
			pthread_join(threads[i], NULL);
		fake_drain();
		free_ended_entries(shm);
		if (round == ROUNDS / 10)
			maps = lines_of("/proc/self/maps");
	}
	assert_int_equal(shm->threads_seen, ROUNDS * AT_ONCE);
	assert_true(shm->threads_seen > ADA_THREADS_MAX);
	assert_in_range(shm->thread_count, 1, AT_ONCE);
	assert_int_equal(shm->threads_refused + shm->disabled, 0);
	assert_int_equal(fake_count().calls, ROUNDS * AT_ONCE * 2);
	assert_int_equal(fake_count().lost + fake_count().errors, 0);
	assert_in_range(lines_of("/proc/self/maps"), 1, maps + 2 * AT_ONCE); /* stacks that libc keeps */
}

/* The one that comes too late is not recorded; the others go on, and so does it when there is room. */
static void a_full_table_costs_one_thread(void **state)
{
	struct ada_shm *shm = begin(64, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
	pthread_t thread;

	outer(1);
	shm->thread_count = ADA_THREADS_MAX;
	pthread_create(&thread, NULL, thread_few_calls, (void *)9);
	pthread_join(thread, NULL);
	outer(1);
	fake_drain();
	assert_int_equal(shm->threads_refused, 1);
	assert_int_equal(shm->disabled, 0);
	assert_int_equal(fake_count().calls, 4);
	entry(shm, 1)->status = ADA_THREAD_ENDED;
	free_ended_entries(shm);
	pthread_create(&thread, NULL, thread_few_calls, (void *)9);
	pthread_join(thread, NULL);
	fake_drain();
	assert_int_equal(shm->threads_refused, 1);
	assert_int_equal(fake_count().calls, 4 + 10);
}

static struct ada_shm *volatile before; /* the parent's segment; NULL: in the child */
static bool recorded;			/* the child, and from its fork on */
static int child_status = -1;

static const struct itimerval once = { { 0, 0 }, { 0, 50000 } };

static void fork_on_alarm(int number)
{
	pid_t pid;

	if (!__atomic_load_n(&before->waits, __ATOMIC_RELAXED)) { /* the machine kept it from coming so far */
		setitimer(ITIMER_REAL, &once, NULL);
		return;
	}
	pid = fork();

	if (!pid && recorded) {
		ada_core_forked();
		fake_begin(64, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
		munmap(before, before->total_bytes);
		before = NULL;
		outer(2000);
	} else if (!pid) {
		before = NULL;
	} else {
		waitpid(pid, &child_status, 0);
		fake_drain_start();
	}
}

static void fork_in_a_wait(bool with_segment)
{
	struct sigaction action = { .sa_handler = fork_on_alarm }, old;
	const long calls = 5000;
	struct ada_shm *shm;

	recorded = with_segment;
	shm = before = begin(2, ADA_INDEX_STREAMING, ADA_ON_FULL_BLOCK);
	sigaction(SIGALRM, &action, &old);
	setitimer(ITIMER_REAL, &once, NULL);
	if (outer(calls) != calls)
		_exit(1);
	if (!before) { /* the child */
		outer(10);
		if (recorded)
			fake_drain();
		_exit(recorded && (fake_count().calls < 2000 + 1 + 11 || fake_count().errors || fake_frames()) ? 2 : 7);
	}
	sigaction(SIGALRM, &old, NULL);
	fake_drain_stop();
	fake_drain();
	assert_true(WIFEXITED(child_status));
	assert_int_equal(WEXITSTATUS(child_status), 7);
	assert_true(shm->waits);
	assert_int_equal(fake_count().calls, calls + 1);
	assert_int_equal(fake_count().lost + fake_count().errors, 0);
}

static void the_child_of_a_wait_goes_on_unrecorded(void **state)
{
	fork_in_a_wait(false);
}

static void the_child_of_a_wait_goes_on_recorded(void **state)
{
	fork_in_a_wait(true);
}

/* A handler that comes between a thread and its exec may execute something in a vfork child. */
static void a_vfork_child_leaves_words_in_use_alone(void **state)
{
	static uint64_t *volatile words, *volatile child_words;

	begin(64, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
	outer(1);
	words = ada_room_words(8);
	assert_non_null(words);
	if (!vfork()) {
		child_words = ada_room_words(8);
		_exit(0);
	}
	assert_null(child_words);
	ada_room_words_return(words);
	for (volatile int i = 0; i < 2; i++) { /* the first one never gives them back */
		child_words = NULL;
		if (!vfork()) {
			child_words = ada_room_words(8);
			_exit(0);
		}
		assert_ptr_equal(child_words, words);
	}
	assert_ptr_equal(ada_room_words(8), words);
	ada_room_words_return(words);
}

static void *left[5];

__attribute__((noinline, noclone)) static void judge_and_jump(int depth)
{
	char room[256];

	__asm__ volatile("" : : "r"(room) : "memory");
	if (depth)
		judge_and_jump(depth - 1);
	assert_non_null(ada_judge_room());
	__builtin_longjmp(left, 1);
}

/* As a handler does that comes in between, and returns. */
__attribute__((noinline, noclone)) static void judge_between(void *one)
{
	char room[256];
	void *other = ada_judge_room();

	__asm__ volatile("" : : "r"(room) : "memory");
	assert_non_null(other);
	assert_ptr_not_equal(one, other);
	ada_judge_room_return(other);
}

/* A judge that a handler's jump leaves gives its room back to the next one. */
static void judges_that_are_left_keep_no_room(void **state)
{
	void *first, *room;

	begin(64, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
	outer(1);
	assert_true(ada_stack_own(ada_self, (uint64_t)&room));
	first = ada_judge_room();
	ada_judge_room_return(first);
	for (volatile int i = 0; i < 10; i++)
		if (!__builtin_setjmp(left))
			judge_and_jump(i % 3);
	room = ada_judge_room();
	assert_ptr_equal(room, first);
	for (int i = 0; i < 5; i++)
		judge_between(room);
	ada_judge_room_return(room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quiet_thread_costs_little),
		cmocka_unit_test(entries_are_used_again),
		cmocka_unit_test(a_full_table_costs_one_thread),
		cmocka_unit_test(judges_that_are_left_keep_no_room),
		cmocka_unit_test(a_vfork_child_leaves_words_in_use_alone),
		cmocka_unit_test(the_child_of_a_wait_goes_on_unrecorded),
		cmocka_unit_test(the_child_of_a_wait_goes_on_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a detail record holds, against a call of which every register is known (probe.S), and that the program keeps all of it. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "abi/plan.h"
#include "agent/record/lane.h"
#include "fake.h"
#include "probe.h"
#include "../../test.h"

#define WORDS 40 /* more than a record takes */

HOOKED static long leaf(long x)
{
	BARRIER;
	return x + 1;
}

HOOKED static long recurse(long depth)
{
	long result = depth ? recurse(depth - 1) : 0;

	BARRIER;
	return result + 1;
}

static struct ada_shm *begin(uint32_t stack)
{
	extern void *__start___patchable_function_entries[], *__stop___patchable_function_entries[];
	static bool hooked;
	struct ada_shm *shm;

	/* more than index chunks: never starved */
	fake_detail = (struct fake_detail){ 320, stack, ADA_DETAIL_STREAMING, fake_no_vectors };
	fake_detail_checked = true;
	shm = fake_begin(256, ADA_INDEX_STREAMING, ADA_ON_FULL_BLOCK);
	if (!hooked)
		assert_true(fake_hook(__start___patchable_function_entries, __stop___patchable_function_entries) >= 4);
	hooked = true;
	return shm;
}

static struct probe in, out;
static uint64_t stack_words[WORDS];

static void inputs_make(uint64_t seed)
{
	uint64_t *words = (uint64_t *)&in;

	for (size_t i = 0; i < sizeof in / 8; i++)
		words[i] = 0x0123456789abcdefull * (i + 3 + seed);
	in.flags = 0xcd7 & ~0x700; /* all that a program sees but TF, IF and DF */
	for (uint32_t i = 0; i < WORDS; i++)
		stack_words[i] = 0xfedcba9876543210ull * (i + 7 + seed);
	for (uint32_t i = 0; i < 6; i++)
		probe_results[i] = 0x1122334455667788ull * (i + 5 + seed);
}

#define RESULTS (1 << ADA_REGISTER_RAX | 1 << ADA_REGISTER_RDX)

/* Everything that the call leaves is as without a hook, but for what is free. */
static void registers_kept(void)
{
	struct probe expected = in;

	expected.rax = probe_results[0];
	expected.rdx = probe_results[1];
	memcpy(expected.xmm[0], &probe_results[2], 16);
	memcpy(expected.xmm[1], &probe_results[4], 16);
	expected.rsp = out.rsp;
	expected.unused = out.unused;
	expected.flags &= PROBE_FLAGS;
	out.flags &= PROBE_FLAGS;
	for (uint32_t i = 0; i < ADA_REGISTER_COUNT; i++)
		if (((fake_free_at_entry | fake_free_at_exit) & ~RESULTS) >> i & 1)
			memcpy((char *)&out + probe_places[i], (char *)&expected + probe_places[i], 8);
	assert_memory_equal(&out, &expected, sizeof out);
}

static struct {
	uint32_t calls, returns, stack_size, return_size;
	bool slot_known;
} seen;
static uint64_t functions[2]; /* that are looked at: the probe's */

static void record_check(const struct ada_event *event, const struct ada_detail *record, const struct ada_detail_view *view)
{
	const uint64_t arguments[8] = { in.rdi, in.rsi, in.rdx, in.rcx, in.r8, in.r9, in.rax, in.r10 };
	static const uint8_t registers[8] = { ADA_REGISTER_RDI, ADA_REGISTER_RSI, ADA_REGISTER_RDX, ADA_REGISTER_RCX,
					      ADA_REGISTER_R8,	ADA_REGISTER_R9,  ADA_REGISTER_RAX, ADA_REGISTER_R10 };
	const uint64_t results[4] = { probe_results[0], probe_results[1], probe_results[2], probe_results[4] };

	if (event->function_id != functions[0] && event->function_id != functions[1])
		return;
	assert_int_equal(view->kind, event->event_kind);
	assert_int_equal(record->lr, (uint64_t)probe_return);
	assert_int_equal(record->fp, in.rbp);
	if (seen.slot_known)
		assert_int_equal(record->sp, out.rsp - 8);
	assert_int_equal(view->stack_size, view->kind == ADA_EVENT_RETURN ? seen.return_size : seen.stack_size);
	assert_memory_equal(view->stack, stack_words, view->stack_size);
	if (event->event_kind == ADA_EVENT_CALL) {
		seen.calls++;
		for (int i = 0; i < 8; i++) /* behind a tail call what was free is gone */
			if (functions[0] == functions[1] || !(fake_free_at_entry >> registers[i] & 1))
				assert_int_equal(record->x[i], arguments[i]);
		assert_true(view->vectors || fake_no_vectors);
		for (int i = 0; i < 8 && view->vectors; i++)
			assert_int_equal(view->vectors[i], in.xmm[i][0]);
	} else {
		seen.returns++;
		assert_memory_equal(record->x, results, sizeof results);
		assert_null(view->vectors);
	}
}

static void probe_begin(void *target, uint32_t stack_size)
{
	probe_target = target;
	functions[0] = fake_id(probed);
	functions[1] = fake_id(target);
	memset(&seen, 0, sizeof seen);
	seen.stack_size = stack_size;
	seen.return_size = fake_detail.at_call ? 0 : stack_size;
	seen.slot_known = true;
	fake_see_detail = record_check;
}

static void probe_end(uint32_t calls)
{
	fake_drain();
	fake_see_detail = NULL;
	assert_int_equal(seen.calls, calls);
	assert_int_equal(seen.returns, calls);
	assert_int_equal(fake_count().errors + fake_count().lost, 0);
}

static void known_calls(void *target, uint32_t functions_called, uint32_t stack)
{
	const uint32_t times = 3 * ADA_CHUNK_EVENTS; /* slow paths among them: the first, each chunk's first */

	begin(stack);
	probe_begin(target, stack);
	for (uint32_t i = 0; i < times; i++) {
		inputs_make(i);
		probe_call(&in, &out, stack_words, WORDS, NULL);
		registers_kept();
		fake_drain();
	}
	probe_end(times * functions_called);
	assert_int_equal(fake_count().detailed, fake_count().events);
}

static void records_hold_what_was(void **state)
{
	for (uint32_t stack = 0; stack <= 256; stack += stack == 16 ? 112 : stack == 0 ? 16 : 128)
		known_calls(probed, 1, stack);
}

static void a_tail_call_knows_its_caller(void **state)
{
	known_calls(probe_tail, 2, 128);
}

/* Results in memory: a function returns their address, and they may be its caller's variables. */
static void a_result_on_the_stack_is_kept(void **state)
{
	static const struct {
		int64_t at; /* the result's address, from the slot */
		uint32_t bytes;
	} results[] = { { 8, 128 }, { 64, 128 }, { 135, 128 }, { 136, 0 }, { -1, 0 }, { 1 << 20, 0 } };

	for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
		begin(128);
		inputs_make(0);
		fake_see_detail = NULL;
		probe_target = probed;
		probe_call(&in, &out, stack_words, WORDS, NULL);
		fake_drain();
		probe_begin(probed, 128);
		seen.return_size = fake_detail.at_call ? results[i].bytes : 128;
		probe_results[0] = out.rsp - 8 + (uint64_t)results[i].at;
		for (uint32_t k = 0; k < 2 * ADA_CHUNK_EVENTS; k++) {
			probe_call(&in, &out, stack_words, WORDS, NULL);
			registers_kept();
		}
		probe_end(2 * ADA_CHUNK_EVENTS);
		assert_int_equal(fake_count().detailed, fake_count().events);
	}
}

/* Records of calls are longer than those of returns: then the chunks go before the index is full. */
static void calls_alone_fill_a_chunk_sooner(void **state)
{
	const struct ada_chunk *first;

	begin(256);
	leaf(0);
	first = (const struct ada_chunk *)ada_self->index;
	recurse(5000);
	assert_in_range(ada_chunk_end(first), ADA_CHUNK_BYTES / 2, ADA_CHUNK_BYTES - 32);
	fake_drain();
	assert_int_equal(fake_count().detailed, 2 * 5002);
	assert_int_equal(fake_count().events, 2 * 5002);
	assert_int_equal(fake_count().errors + fake_count().lost, 0);
}

/* --- the stack's end --------------------------------------------------------------------------------------------------- */

/* On a stack that ends where the address space ends, or where another page goes on: not a byte behind its end is read. */
static void stack_end(bool guard)
{
	char *memory = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = memory + 3 * 4096;

	assert_true(memory != MAP_FAILED);
	if (guard)
		assert_int_equal(mprotect(end, 4096, PROT_NONE), 0);
	for (uint32_t words = 0; words < WORDS; words++) {
		uint32_t bytes = 8 * words < 256 ? 8 * words : 256;

		begin(256);
		probe_begin(probed, bytes);
		for (uint32_t i = 0; i < 10; i++) {
			inputs_make(i);
			probe_call(&in, &out, stack_words, words, end);
			registers_kept();
			fake_drain();
		}
		probe_end(10);
	}
	munmap(memory, 4 * 4096);
}

static void nothing_is_read_behind_a_stack(void **state)
{
	stack_end(true);
	stack_end(false);
}

static uint64_t sizes_short;

static void size_see(const struct ada_event *event, const struct ada_detail *record, const struct ada_detail_view *view)
{
	sizes_short += view->stack_size != (view->kind == ADA_EVENT_RETURN && fake_detail.at_call ? 0 : fake_detail.stack);
}

/* The thread's own stack is known to go on behind a page. */
static void the_own_stack_is_read_across_pages(void **state)
{
	begin(256);
	sizes_short = 0;
	fake_see_detail = size_see;
	recurse(3000);
	fake_drain();
	fake_see_detail = NULL;
	assert_int_equal(fake_count().detailed, 2 * 3001);
	assert_int_equal(sizes_short, 0);
}

static void *thread_at_its_stacks_end(void *unused)
{
	const uint64_t control_block = (uint64_t)__builtin_thread_pointer();

	leaf(1); /* from here on the bounds are known */
	for (uint32_t i = 0; i < 100; i++) {
		inputs_make(i);
		probe_call(&in, &out, stack_words, WORDS, NULL);
		fake_drain();
	}
	assert_true(out.rsp < control_block);
	return NULL;
}

static void threads_have_records_too(void **state)
{
	pthread_t thread;

	begin(256);
	probe_begin(probed, 256);
	assert_int_equal(pthread_create(&thread, NULL, thread_at_its_stacks_end, NULL), 0);
	pthread_join(thread, NULL);
	probe_end(100);
}

/* --- signals ----------------------------------------------------------------------------------------------------------- */

static volatile long handled;
static uint64_t judged;

static void on_alarm(int number)
{
	__asm__ volatile("pxor %%xmm0,%%xmm0; pxor %%xmm1,%%xmm1" ::: "xmm0", "xmm1");
	for (int i = 0; i < 3; i++)
		leaf(i);
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void storm(bool on)
{
	struct itimerval timer = { { 0, 50 }, { 0, 50 } };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

	if (!on)
		timer = (struct itimerval){ 0 };
	if (on) {
		handled = 0;
		sigaction(SIGALRM, &action, NULL);
	}
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* An abort in the midst of a copy through xmm0 must not be seen by anyone. */
static void a_storm_of_signals(uint32_t stack, void (*judge)(const struct ada_judged *))
{
	uint32_t calls = 0;

	struct ada_shm *shm = begin(stack);

	fake_drain_start();
	probe_begin(probed, stack);
	inputs_make(0);
	fake_judge = judge;
	if (judge)
		((uint8_t *)shm)[shm->policy_offset + ADA_POLICY_FLAGS + ADA_FUNCTION_SYMBOL(functions[0])] = ADA_POLICY_CALL |
													      ADA_POLICY_RETURN;
	storm(true);
	while (handled < 2000 || calls < 300000) {
		probe_call(&in, &out, stack_words, WORDS, NULL);
		registers_kept();
		calls++;
	}
	storm(false);
	fake_judge = NULL;
	fake_drain_stop();
	probe_end(calls);
	assert_int_equal(fake_count().calls, calls + 3 * handled);
	/* That the thread waited for the drain is an event, too, and has no registers. */
	assert_int_equal(fake_count().detailed, fake_count().events - fake_count().waits);
}

static void signals_change_no_register(void **state)
{
	a_storm_of_signals(0, NULL);
	a_storm_of_signals(128, NULL);
	a_storm_of_signals(256, NULL);
}

/* Built as the agent is: for general registers only. It leaves nothing in those. */
__attribute__((target("general-regs-only"))) static void judge(const struct ada_judged *event)
{
	judged += event->number == ADA_FUNCTION_SYMBOL(functions[0]);
	__asm__ volatile(
		"xor %%eax,%%eax; xor %%ecx,%%ecx; xor %%edx,%%edx; xor %%esi,%%esi; xor %%edi,%%edi; xor %%r8,%%r8; xor %%r9,%%r9;"
		"xor %%r10,%%r10; xor %%r11,%%r11" ::
			: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
}

static void a_judge_changes_no_register(void **state)
{
	judged = 0;
	a_storm_of_signals(128, judge);
	assert_int_equal(judged, seen.calls + seen.returns);
}

/* --- without detail ---------------------------------------------------------------------------------------------------- */

HOOKED static void jump_from(int depth, void **buffer)
{
	if (depth)
		jump_from(depth - 1, buffer);
	ada_core_longjmp((uint64_t)buffer[2]);
	__builtin_longjmp(buffer, 1);
}

static void out_of_order_has_none(void **state)
{
	static void *buffer[5];
	struct fake_counts counts;

	begin(128);
	leaf(1);
	if (!__builtin_setjmp(buffer))
		jump_from(9, buffer);
	leaf(1);
	fake_drain();
	counts = fake_count();
	assert_int_equal(counts.exceptions, 10);
	assert_int_equal(counts.detailed, counts.events - 10);
	assert_int_equal(counts.errors, 0);
}

static void detail_off_writes_none(void **state)
{
	begin(128);
	fake_detail.chunks = 0;
	fake_begin(256, ADA_INDEX_STREAMING, ADA_ON_FULL_BLOCK);
	for (int i = 0; i < 3000; i++)
		leaf(i);
	fake_drain();
	assert_int_equal(fake_count().events, 6000);
	assert_int_equal(fake_count().detailed + fake_count().errors, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_result_on_the_stack_is_kept),  cmocka_unit_test(calls_alone_fill_a_chunk_sooner),
		cmocka_unit_test(records_hold_what_was),	  cmocka_unit_test(a_tail_call_knows_its_caller),
		cmocka_unit_test(nothing_is_read_behind_a_stack), cmocka_unit_test(the_own_stack_is_read_across_pages),
		cmocka_unit_test(threads_have_records_too),	  cmocka_unit_test(signals_change_no_register),
		cmocka_unit_test(a_judge_changes_no_register),	  cmocka_unit_test(out_of_order_has_none),
		cmocka_unit_test(detail_off_writes_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Which events the judge is asked about, and what it is told of them. */
#include <stdlib.h>
#include <string.h>
#include "agent/record/lane.h"
#include "fake.h"
#include "../../test.h"

#define CALLS (3 * ADA_CHUNK_EVENTS) /* slow paths among them: the first, each chunk's first */

HOOKED static long leaf(long x)
{
	BARRIER;
	return x + 1;
}

HOOKED static long other(long x)
{
	BARRIER;
	return x + 2;
}

HOOKED static long tail(long x)
{
	BARRIER;
	return leaf(x + 10); /* a jump: -foptimize-sibling-calls */
}

HOOKED static long recurse(long depth)
{
	long result = depth ? recurse(depth - 1) : 0;

	BARRIER;
	return result + 1;
}

HOOKED static void jump_from(int depth, void **buffer)
{
	if (depth)
		jump_from(depth - 1, buffer);
	ada_core_longjmp((uint64_t)buffer[2]);
	__builtin_longjmp(buffer, 1);
}

#define JUDGED_MAX (4 * CALLS)
static struct {
	struct ada_judged event;
	uint64_t rdi, rax;
} judged[JUDGED_MAX];
static uint32_t judged_count;

/* Vector registers are the program's. */
__attribute__((target("general-regs-only"))) static void note(const struct ada_judged *event)
{
	judged[judged_count].event = *event;
	judged[judged_count].rdi = event->registers ? event->registers->rdi : 0;
	judged[judged_count].rax = event->registers ? event->registers->rax : 0;
	judged_count++;
}

static struct ada_shm *shm;
static struct ada_policy_table *table;

static void begin(bool detail)
{
	extern void *__start___patchable_function_entries[], *__stop___patchable_function_entries[];
	static bool hooked;

	fake_detail = (struct fake_detail){ detail ? 64 : 0, 128, ADA_DETAIL_CIRCULAR, false };
	shm = fake_begin(256, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
	table = (struct ada_policy_table *)((char *)shm + shm->policy_offset);
	if (!hooked)
		assert_int_equal(fake_hook(__start___patchable_function_entries, __stop___patchable_function_entries), 5);
	hooked = true;
	judged_count = 0;
	fake_judge = note;
}

static void name(void *function, uint8_t flags)
{
	((uint8_t *)table)[ADA_POLICY_FLAGS + ADA_FUNCTION_SYMBOL(fake_id(function))] = flags;
}

/* --- named functions ----------------------------------------------------------------------------------------------------- */

static void call_check(uint32_t at, uint32_t i)
{
	const struct ada_judged *event = &judged[at].event;

	assert_int_equal(event->kind, ADA_EVENT_CALL);
	assert_int_equal(event->function_id, fake_id(leaf));
	assert_int_equal(event->number, ADA_FUNCTION_SYMBOL(fake_id(leaf)));
	assert_int_equal(event->seq, 4 * i);
	assert_int_equal(event->depth + event->thread, 0);
	assert_int_equal(judged[at].rdi, i);
	assert_int_equal(event->slot, judged[0].event.slot);
	assert_int_equal(event->return_address, judged[0].event.return_address);
}

static void return_check(uint32_t at, uint32_t i, uint64_t start)
{
	const struct ada_judged *event = &judged[at].event;

	assert_int_equal(event->kind, ADA_EVENT_RETURN);
	assert_int_equal(event->function_id, fake_id(leaf));
	assert_int_equal(event->number, ADA_FUNCTION_SYMBOL(fake_id(leaf)));
	assert_int_equal(event->seq, 4 * i + 1);
	assert_int_equal(event->depth + event->thread, 0);
	assert_int_equal(judged[at].rax, i + 1);
	assert_int_equal(event->slot, judged[0].event.slot);
	assert_int_equal(event->start_counter, start);
	assert_true(event->counter > start);
}

static void named(uint8_t flags, bool detail)
{
	uint32_t at = 0;

	begin(detail);
	name(leaf, flags);
	for (uint32_t i = 0; i < CALLS; i++) {
		assert_int_equal(leaf(i), i + 1);
		other(i);
	}
	for (uint32_t i = 0; i < CALLS; i++) {
		if (flags & ADA_POLICY_CALL)
			call_check(at++, i);
		if (flags == (ADA_POLICY_CALL | ADA_POLICY_RETURN))
			return_check(at, i, judged[at - 1].event.counter);
		at += (flags & ADA_POLICY_RETURN) != 0;
	}
	assert_int_equal(judged_count, at);
	for (uint32_t i = 1; i < judged_count; i++)
		assert_true(judged[i].event.counter > judged[i - 1].event.counter);
	fake_drain();
	assert_int_equal(fake_count().calls, 2 * CALLS);
	assert_int_equal(fake_count().errors + fake_count().lost, 0);
}

static void what_a_rule_names_is_judged(void **state)
{
	for (int detail = 0; detail < 2; detail++)
		for (uint8_t flags = 0; flags < 4; flags++)
			named(flags, detail);
}

static void a_tail_call_is_judged_by_its_caller(void **state)
{
	for (int detail = 0; detail < 2; detail++) {
		begin(detail);
		name(leaf, ADA_POLICY_CALL | ADA_POLICY_RETURN);
		name(tail, ADA_POLICY_CALL | ADA_POLICY_RETURN);
		for (int i = 0; i < 100; i++)
			assert_int_equal(tail(i), i + 11);
		assert_int_equal(judged_count, 400);
		for (int i = 0; i < 400; i += 4) {
			assert_int_equal(judged[i].event.function_id, fake_id(tail));
			assert_int_equal(judged[i + 1].event.function_id, fake_id(leaf));
			assert_int_equal(judged[i + 1].event.return_address, judged[i].event.return_address);
			assert_int_equal(judged[i + 1].event.slot, judged[i].event.slot);
			assert_int_equal(judged[i + 1].event.depth, 1);
			assert_int_equal(judged[i + 2].event.function_id, fake_id(leaf));
			assert_int_equal(judged[i + 2].event.start_counter, judged[i + 1].event.counter);
			assert_int_equal(judged[i + 3].event.function_id, fake_id(tail));
			assert_int_equal(judged[i + 3].event.start_counter, judged[i].event.counter);
			assert_int_equal(judged[i + 3].rax, i / 4 + 11);
		}
	}
}

static void what_a_jump_leaves_is_judged(void **state)
{
	static void *buffer[5];

	begin(true);
	name(jump_from, ADA_POLICY_RETURN);
	leaf(1);
	if (!__builtin_setjmp(buffer))
		jump_from(9, buffer);
	assert_int_equal(judged_count, 10);
	for (uint32_t i = 0; i < 10; i++) {
		assert_int_equal(judged[i].event.kind, ADA_EVENT_EXCEPTION);
		assert_int_equal(judged[i].event.depth, 9 - i);
		assert_int_equal(judged[i].event.seq, 12 + i);
		assert_null(judged[i].event.registers);
		assert_true(judged[i].event.start_counter && judged[i].event.start_counter < judged[i].event.counter);
	}
}

/* --- depth without a function -------------------------------------------------------------------------------------------- */

static void depth_rule(uint32_t slot, uint64_t depth)
{
	table->version = 1;
	table->rules[slot] = (struct ada_rule){ .kind = ADA_RULE_DEPTH, .flags = ADA_RULE_GLOBAL | ADA_RULE_ENABLED, .operand.u = depth };
	table->global_calls |= 1ull << slot;
	if (!table->depth_limit || depth < table->depth_limit)
		table->depth_limit = depth;
}

static void depth_is_judged_where_it_is_crossed(void **state)
{
	static const uint32_t limits[] = { 20, 30, 45 };

	begin(true);
	for (uint32_t i = 0; i < 3; i++)
		depth_rule(i, limits[i]);
	for (uint32_t round = 0; round < 5; round++) {
		assert_int_equal(recurse(39), 40); /* depths 0 to 39 */
		assert_int_equal(judged_count, 2 * (round + 1));
		for (uint32_t i = 0; i < 2; i++) {
			assert_int_equal(judged[2 * round + i].event.kind, ADA_EVENT_CALL);
			assert_int_equal(judged[2 * round + i].event.depth, limits[i] + 1);
			assert_int_equal(judged[2 * round + i].rdi, 39 - limits[i] - 1);
		}
		for (uint32_t i = 0; i < ADA_CHUNK_EVENTS; i++) /* a new chunk arms the rules again */
			leaf(i);
	}
	recurse(100);
	assert_int_equal(judged_count, 13);
	fake_drain();
	assert_int_equal(fake_count().errors + fake_count().lost + fake_count().open, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_rule_names_is_judged),
		cmocka_unit_test(a_tail_call_is_judged_by_its_caller),
		cmocka_unit_test(what_a_jump_leaves_is_judged),
		cmocka_unit_test(depth_is_judged_where_it_is_crossed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

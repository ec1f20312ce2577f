/* What an event costs, as the agent measures it on a function of its own: there is a figure, and nothing is recorded by it. */
#include "abi/policy.h"
#include "agent/core/state.h"
#include "agent/life/life.h"
#include "fake.h"
#include "../../test.h"

HOOKED static long leaf(long x)
{
	__asm__ volatile("");
	return x + 1;
}

static struct ada_shm *begin(uint32_t stack)
{
	fake_detail = (struct fake_detail){ stack ? 64 : 0, stack, ADA_DETAIL_STREAMING, true };
	return fake_begin(64, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
}

/* Hooks are made for one of the two: a process each, so the lean ones are tried by both. */
static void measure(uint32_t stack)
{
	extern void *__start___patchable_function_entries[], *__stop___patchable_function_entries[];
	struct ada_shm *shm = begin(stack);
	struct ada_lean lean;
	struct fake_counts counts;

	assert_int_equal(fake_hook(__start___patchable_function_entries, __stop___patchable_function_entries), 1);
	lean = ada_lean;
	ada_price_take(shm);
	assert_int_equal(shm->price_event, 0); /* nobody wants it */
	shm->price_wanted = 1;
	ada_price_take(shm);
	assert_in_range(shm->price_event, 1, 10000 * ADA_PRICE_UNIT);
	assert_in_range(shm->price_object, 1, 10000 * ADA_PRICE_UNIT);
	assert_ptr_equal(ada_core_shm(), shm);
	assert_ptr_equal(ada_self, &ada_no_thread);
	assert_memory_equal(&ada_lean, &lean, sizeof lean);
	assert_int_equal(shm->thread_count, 0);
	assert_int_equal(leaf(1), 2);
	ada_core_thread_end();
	fake_drain();
	counts = fake_count();
	assert_int_equal(counts.events, 2);
	assert_int_equal(counts.errors + counts.lost, 0);
	assert_int_equal(counts.detailed, stack ? 2 : 0);
}

static void it_is_measured_and_nothing_is_recorded(void **state)
{
	measure(0);
}

static void likewise_with_detail(void **state)
{
	measure(128);
}

int main(int count, char **words)
{
	const struct CMUnitTest plain[] = { cmocka_unit_test(it_is_measured_and_nothing_is_recorded) };
	const struct CMUnitTest detail[] = { cmocka_unit_test(likewise_with_detail) };

	return count > 1 ? cmocka_run_group_tests(detail, NULL, NULL) : cmocka_run_group_tests(plain, NULL, NULL);
}

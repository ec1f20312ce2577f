/* Return stubs: who gets none, and what is recorded of such calls. */
#include <string.h>
#include "agent/record/lane.h"
#include "fake.h"
#include "../../test.h"

HOOKED static long leaf(long x)
{
	BARRIER;
	return x + 1;
}

HOOKED static long stranger(long x)
{
	BARRIER;
	return x + 2;
}

static struct ada_shm *begin(uint32_t chunks, uint32_t mode, uint32_t on_full)
{
	static bool hooked;
	extern void *__start___patchable_function_entries[], *__stop___patchable_function_entries[];
	struct ada_shm *shm = fake_begin(chunks, mode, on_full);

	if (!hooked)
		assert_int_equal(fake_hook(__start___patchable_function_entries, __stop___patchable_function_entries), 4);
	hooked = true;
	return shm;
}

static struct ada_shm_thread *entry(struct ada_shm *shm, uint32_t number)
{
	return (struct ada_shm_thread *)((char *)shm + shm->threads_offset) + number;
}

static void a_full_stub_table_leaves_returns_out(void **state)
{
	struct ada_shm *shm = begin(64, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);

	leaf(1);
	ada_site_limit = shm->sites;
	for (int i = 0; i < 10; i++)
		assert_int_equal(stranger(i), i + 2);
	ada_site_limit = ADA_SITES_MAX;
	fake_drain();
	assert_int_equal(fake_count().calls, 11);
	assert_int_equal(fake_count().returns, 1);
	assert_int_equal(entry(shm, 0)->unreturned, 10);
	assert_int_equal(entry(shm, 0)->skipped, 0);
	assert_true(shm->sites_refused > 0);
	assert_int_equal(stranger(1), 3);
	fake_drain();
	assert_int_equal(fake_count().calls, 12);
	assert_int_equal(fake_count().returns, 2);
	assert_int_equal(fake_frames(), 0);
}

static bool nothing_hookable(uint64_t return_address)
{
	return false;
}

static void text_of_no_module_gets_no_stub(void **state)
{
	struct ada_shm *shm = begin(64, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);

	leaf(1);
	fake_hookable = nothing_hookable;
	for (int i = 0; i < 10; i++)
		assert_int_equal(stranger(i), i + 2);
	fake_hookable = NULL;
	fake_drain();
	assert_int_equal(fake_count().calls, 11);
	assert_int_equal(fake_count().returns, 1);
	assert_int_equal(entry(shm, 0)->unreturned, 10);
	assert_int_equal(shm->sites_refused, 1);
	ada_site_forget_refused();
}

/* What a call without a stub calls is one deeper; what is called behind it is not, nor is what its caller's caller calls. */
static uint32_t depths[16], depths_seen;

static void note_depth(uint32_t thread, const struct ada_event *event)
{
	if (event->event_kind == ADA_EVENT_CALL && depths_seen < 16)
		depths[depths_seen++] = event->call_depth;
}

HOOKED static long stranger_calls(long x)
{
	long result = leaf(x) + leaf(x);

	BARRIER;
	return result;
}

extern char __start_strange_code[], __stop_strange_code[];

static bool strange_is_not_hookable(uint64_t return_address)
{
	return return_address - (uint64_t)__start_strange_code >= (uint64_t)(__stop_strange_code - __start_strange_code);
}

/* As if made at run time. */
static __attribute__((noinline, noclone, section("strange_code"))) long strange(long x)
{
	long result = stranger_calls(x);

	result += stranger_calls(x);
	BARRIER;
	return result;
}

HOOKED static long calls_strange(long x)
{
	long result = strange(x);

	result += leaf(x);
	BARRIER;
	return result;
}

static void calls_without_stub_have_a_depth(void **state)
{
	static const uint32_t expected[] = { 0, 1, 2, 2, 1, 2, 2, 1, 0 };
	struct ada_shm *shm = begin(64, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);

	fake_hookable = strange_is_not_hookable;
	depths_seen = 0;
	fake_see = note_depth;
	calls_strange(1);
	leaf(1);
	fake_drain();
	fake_see = NULL;
	fake_hookable = NULL;
	ada_site_forget_refused();
	assert_int_equal(entry(shm, 0)->unreturned, 2);
	assert_int_equal(depths_seen, 9);
	assert_memory_equal(depths, expected, sizeof expected);
	assert_int_equal(fake_count().returns, 7);
	assert_int_equal(fake_frames(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_full_stub_table_leaves_returns_out),
					    cmocka_unit_test(text_of_no_module_gets_no_stub),
					    cmocka_unit_test(calls_without_stub_have_a_depth) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What the recorder takes of a full machine: two CPUs, ticks of 10 ms. */
#include "../test.h"
#include "recorder/host/own.h"

#define TICK_NS 1e7

static void it_is_known_once_two_periods_were_full(void **state)
{
	struct ada_own own = {};

	ada_own_note(&own, 1, 1000, 500, 1000, TICK_NS);
	assert_true(own.share == 0);
	ada_own_note(&own, 2, 1000 + 100000000, 505, 1200, TICK_NS); /* 5 of 200 ticks idle */
	assert_true(own.share == 0);
	ada_own_note(&own, 3, 1000 + 180000000, 509, 1400, TICK_NS); /* 80 ms of 2 s */
	assert_true(own.share > 0.0399 && own.share < 0.0401);
	ada_own_note(&own, 4, 1000 + 280000000, 519, 1600, TICK_NS); /* a twentieth idle: somebody could have had it */
	assert_true(own.share == 0);
	ada_own_note(&own, 5, 1000 + 380000000, 519, 1800, TICK_NS);
	assert_true(own.share == 0);
	ada_own_note(&own, 6, 1000 + 400000000, 519, 2000, TICK_NS);
	assert_true(own.share > 0.0099 && own.share < 0.0101);
	ada_own_note(&own, 7, 1000 + 500000000, 519, 2000, TICK_NS); /* no tick has passed */
	assert_true(own.share == 0);
}

static void ticks_are_those_of_all_cpus(void **state)
{
	uint64_t idle, all;

	assert_true(ada_own_ticks("cpu  100 20 30 400 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n", &idle, &all));
	assert_int_equal(idle, 405);
	assert_int_equal(all, 576);
	assert_false(ada_own_ticks("cpu 1 2 3\n", &idle, &all));
	assert_false(ada_own_ticks("", &idle, &all));
}

static void it_is_measured_once_a_period(void **state)
{
	struct ada_own own = {};

	assert_true(ada_own_share(&own, 5) == 0 && own.at_ns == 5 && own.all > 0 && own.cpu_ns > 0);
	ada_own_share(&own, 5 + ADA_OWN_PERIOD_NS - 1);
	assert_int_equal(own.at_ns, 5);
	ada_own_share(&own, 5 + ADA_OWN_PERIOD_NS);
	assert_int_equal(own.at_ns, 5 + ADA_OWN_PERIOD_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_known_once_two_periods_were_full),
		cmocka_unit_test(ticks_are_those_of_all_cpus),
		cmocka_unit_test(it_is_measured_once_a_period),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

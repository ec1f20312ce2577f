/* What the recorder takes of a full machine: two CPUs, ticks of 10 ms. */
#include "../test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "recorder/host/own.h"

static char root[] = "/tmp/ada-own-XXXXXX";

static void write_stat(const char *text)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof path, "%s/proc/stat", root);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* What is said in the next period, in which so many of 200 ticks were idle and the recorder used so many ms. */
static double next(struct ada_own *own, unsigned idle, unsigned used_ms)
{
	uint64_t idles = own->idle + idle, others = own->all - own->idle + 200 - idle;
	char text[128];

	snprintf(text, sizeof text, "cpu  %lu 0 7 %lu 3 0 0 0 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n", others - 7, idles - 3);
	write_stat(text);
	return ada_own_share(own, root, own->at_ns + ADA_OWN_PERIOD_NS, own->cpu_ns + used_ms * 1000000ull);
}

static void it_is_known_once_two_periods_were_full(void **state)
{
	struct ada_own own = {};
	double share;

	assert_true(next(&own, 100, 10) == 0 && own.idle == 100 && own.all == 200);
	assert_true(next(&own, 5, 100) == 0);
	share = next(&own, 4, 80); /* of 2 s */
	assert_true(share > 0.0399 && share < 0.0401);
	assert_true(next(&own, 19, 80) > 0);
	assert_true(next(&own, 20, 80) == 0); /* a tenth idle: somebody could have had it */
	assert_true(next(&own, 0, 80) == 0);
	share = next(&own, 0, 20);
	assert_true(share > 0.0099 && share < 0.0101);
}

/* A machine that the recorder spares has a little more time than one that it doesn't. */
static void what_is_full_stays_full_for_a_while(void **state)
{
	struct ada_own own = {};

	next(&own, 100, 10);
	next(&own, 40, 10);
	assert_false(own.full);
	next(&own, 39, 10);
	assert_true(own.full);
	assert_true(next(&own, 66, 10) == 0 && own.full);
	assert_true(next(&own, 19, 10) == 0 && own.full); /* one period: no share yet */
	next(&own, 67, 10);
	assert_false(own.full);
	next(&own, 66, 10);
	assert_false(own.full);
}

/* In the background nobody stands where nothing at all is left, or so much that nobody needs to. */
static void what_a_full_machine_leaves_is_seen(void **state)
{
	struct ada_own own = {};

	next(&own, 100, 10);
	next(&own, 40, 10);
	assert_false(own.leaves);
	next(&own, 39, 10);
	assert_true(own.leaves);
	next(&own, 10, 10);
	assert_true(own.leaves);
	next(&own, 9, 10);
	assert_true(own.full && !own.leaves);
	next(&own, 66, 10);
	assert_true(own.leaves);
	next(&own, 67, 10);
	assert_false(own.leaves);
}

static void within_a_period_it_stays(void **state)
{
	struct ada_own own = {};

	next(&own, 0, 10);
	next(&own, 0, 10);
	assert_true(next(&own, 0, 20) > 0);
	write_stat("cpu  0 0 0 9000 0 0 0 0\n");
	assert_true(ada_own_share(&own, root, own.at_ns + ADA_OWN_PERIOD_NS - 1, own.cpu_ns + 1) == own.share);
	write_stat("nothing\n");
	assert_true(ada_own_share(&own, root, own.at_ns + ADA_OWN_PERIOD_NS, own.cpu_ns + 1) == own.share);
}

static void this_machine_says_it_too(void **state)
{
	struct ada_own own = {};

	assert_true(ada_own_share(&own, "", 5, 1) == 0 && own.at_ns == 5 && own.all > 0);
}

static int set_up(void **state)
{
	char path[64];

	if (!mkdtemp(root))
		return -1;
	snprintf(path, sizeof path, "%s/proc", root);
	return mkdir(path, 0700);
}

static int tear_down(void **state)
{
	char path[64];

	snprintf(path, sizeof path, "%s/proc/stat", root);
	unlink(path);
	snprintf(path, sizeof path, "%s/proc", root);
	rmdir(path);
	return rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_known_once_two_periods_were_full),
		cmocka_unit_test(what_is_full_stays_full_for_a_while),
		cmocka_unit_test(what_a_full_machine_leaves_is_seen),
		cmocka_unit_test(within_a_period_it_stays),
		cmocka_unit_test(this_machine_says_it_too),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

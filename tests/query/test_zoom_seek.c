/* The nearest call of a function, among many leaves that have none. What was read ahead, or not at all, is test_zoom_ahead.c's. */
#include <stdio.h>
#include "fixture.h"
#include "query/zoom/internal.h"

/* The next call, in one go or by a leaf at a time. */
static uint64_t sought(const struct ada_zoom_thread *thread, const struct ada_zoom_functions *functions, uint64_t position, bool backwards,
		       bool in_one_go)
{
	struct ada_zoom_seek seek;
	uint64_t before;

	ada_zoom_seek_open(&seek, thread, functions, position, backwards);
	while (!seek.done && seek.found == UINT64_MAX) {
		before = seek.next;
		ada_zoom_seek_run(&seek, backwards ? 0 : UINT64_MAX, in_one_go ? UINT64_MAX : 0);
		assert_true(backwards ? seek.next < before : seek.next > before);
		assert_true(!in_one_go || seek.done || seek.found != UINT64_MAX);
	}
	return seek.found;
}

#define MANY 300u
#define AMONG 300000u

/* A call of a few among 600,000 others: leaves that have none are passed over, unless the function shares its bit with those others. */
static void test_a_rare_call_is_found(void **state)
{
	static const unsigned int places[] = { 1000, 150000, 150001, 299000 };
	struct fixture *fixture = *state;
	const char *names[MANY];
	char texts[MANY][8];
	struct synth_thread *thread;
	struct ada_zoom zoom;
	unsigned int alone = 2, shared = 2;

	for (unsigned int i = 0; i < MANY; i++) {
		snprintf(texts[i], sizeof texts[i], "f%u", i);
		names[i] = texts[i];
	}
	while (ada_zoom_bit(ADA_FUNCTION_ID(0, shared)) != ada_zoom_bit(ADA_FUNCTION_ID(0, 1)))
		shared++;
	alone += alone == shared;
	assert_true(shared < MANY);
	thread = fixture_thread(fixture, names, MANY);
	for (unsigned int i = 0, place = 0; i < AMONG; i++) {
		synth_leaf(thread, 1, 10);
		if (place == 4 || i != places[place])
			continue;
		place++;
		synth_leaf(thread, alone, 10);
		synth_leaf(thread, shared, 10);
	}
	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_int_equal(ada_zoom_open(&zoom, fixture->session), 0);
	assert_int_equal(ada_zoom_build(&zoom, 1), 0);
	for (unsigned int is_shared = 0; is_shared < 2; is_shared++) {
		uint64_t id = ADA_FUNCTION_ID(0, is_shared ? shared : alone), position = 0;
		struct ada_zoom_functions functions;
		struct ada_zoom_seek seek;

		ada_zoom_functions_make(&functions, &id, 1);
		for (unsigned int i = 0; i < 4; i++) {
			uint64_t wanted = 2 * (places[i] + 1 + 2 * i + is_shared);

			ada_zoom_seek_open(&seek, &zoom.threads[0], &functions, position, false);
			ada_zoom_seek_run(&seek, UINT64_MAX, 0); /* what is left of the leaf */
			if (seek.found == UINT64_MAX)
				ada_zoom_seek_run(&seek, UINT64_MAX, 0);
			assert_int_equal(seek.found, is_shared && i % 2 ? UINT64_MAX : wanted);
			position = sought(&zoom.threads[0], &functions, position, false, i % 2) + 1;
			assert_int_equal(position, wanted + 1);
		}
		assert_int_equal(sought(&zoom.threads[0], &functions, position, false, true), UINT64_MAX);
		for (unsigned int i = 4; i-- > 0;) {
			position = sought(&zoom.threads[0], &functions, position, true, i % 2);
			assert_int_equal(position, 2 * (places[i] + 1 + 2 * i + is_shared));
		}
		assert_int_equal(sought(&zoom.threads[0], &functions, position, true, true), UINT64_MAX);
	}
	ada_zoom_close(&zoom);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_a_rare_call_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

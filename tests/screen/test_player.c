/* src/cli/live/player.c: which moment of a session is shown. */
#include "cli/live/player.h"
#include "../test.h"

static struct ada_player of(uint64_t first_ns, uint64_t last_ns, bool live)
{
	struct ada_player player = { .step_ns = 10, .follows = live };

	ada_player_bounds(&player, first_ns, last_ns, live);
	return player;
}

static void test_a_finished_session_plays_to_its_end(void **state)
{
	struct ada_player player = of(100, 200, false);

	assert_int_equal(ada_player_moment(&player), 100);
	ada_player_turn(&player, 30);
	assert_int_equal(ada_player_moment(&player), 130);
	ada_player_pause(&player);
	ada_player_turn(&player, 30);
	assert_int_equal(ada_player_moment(&player), 130);
	ada_player_pause(&player);
	ada_player_faster(&player, 1);
	ada_player_turn(&player, 5);
	assert_int_equal(ada_player_moment(&player), 140);
	ada_player_faster(&player, -2);
	ada_player_turn(&player, 10);
	assert_int_equal(ada_player_moment(&player), 145);
	ada_player_turn(&player, 1000);
	assert_true(player.follows);
	assert_int_equal(ada_player_moment(&player), 0);
	ada_player_pause(&player); /* from the beginning */
	assert_int_equal(ada_player_moment(&player), 100);
	assert_false(player.paused);
}

static void test_a_live_session_is_followed(void **state)
{
	struct ada_player player = of(100, 200, true);

	assert_int_equal(ada_player_moment(&player), 0);
	ada_player_turn(&player, 50);
	assert_int_equal(ada_player_moment(&player), 0);
	ada_player_pause(&player);
	ada_player_bounds(&player, 100, 300, true);
	assert_int_equal(ada_player_moment(&player), 200);
	ada_player_pause(&player); /* plays what was missed */
	ada_player_turn(&player, 40);
	assert_int_equal(ada_player_moment(&player), 240);
	ada_player_turn(&player, 100);
	assert_int_equal(ada_player_moment(&player), 0);
	ada_player_bounds(&player, 100, 300, false);
	assert_true(player.follows);
}

static void test_steps_stop(void **state)
{
	struct ada_player player = of(100, 200, true);

	ada_player_step(&player, -1);
	assert_int_equal(ada_player_moment(&player), 190);
	ada_player_step(&player, -1);
	ada_player_turn(&player, 1000);
	assert_int_equal(ada_player_moment(&player), 180);
	ada_player_step(&player, 1);
	assert_int_equal(ada_player_moment(&player), 190);
	for (int i = 0; i < 20; i++)
		ada_player_step(&player, -1);
	assert_int_equal(ada_player_moment(&player), 100);
	player = of(5, 200, false);
	ada_player_step(&player, -1);
	assert_int_equal(ada_player_moment(&player), 5);
}

static void test_seeking(void **state)
{
	struct ada_player player = of(1000, 2000, false);
	uint64_t at_ns;

	assert_true(ada_player_percent(&player, "25%", &at_ns));
	assert_int_equal(at_ns, 1250);
	assert_false(ada_player_percent(&player, "25", &at_ns));
	assert_false(ada_player_percent(&player, "101%", &at_ns));
	assert_false(ada_player_percent(&player, "%", &at_ns));
	assert_false(ada_player_percent(&player, "nan%", &at_ns));
	ada_player_seek(&player, 1250);
	assert_int_equal(ada_player_moment(&player), 1250);
	ada_player_seek(&player, 0);
	assert_int_equal(ada_player_moment(&player), 1000);
	ada_player_seek(&player, UINT64_MAX);
	assert_int_equal(ada_player_moment(&player), 0);
	ada_player_bounds(&player, 3000, 2000, false); /* a session without events */
	assert_int_equal(player.last_ns, 3000);
}

static void test_speed_has_bounds(void **state)
{
	struct ada_player player = of(0, UINT64_MAX, false);

	ada_player_faster(&player, 1000);
	assert_int_equal(player.speed, ADA_PLAYER_SPEED_MAX);
	ada_player_turn(&player, 3);
	assert_int_equal(ada_player_moment(&player), 3 * 1024);
	ada_player_faster(&player, -1000);
	assert_int_equal(player.speed, -ADA_PLAYER_SPEED_MAX);
	ada_player_turn(&player, 2048);
	assert_int_equal(ada_player_moment(&player), 3 * 1024 + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_finished_session_plays_to_its_end),
		cmocka_unit_test(test_a_live_session_is_followed),
		cmocka_unit_test(test_steps_stop),
		cmocka_unit_test(test_seeking),
		cmocka_unit_test(test_speed_has_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

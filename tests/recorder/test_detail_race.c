/* What agents do between two steps of the recorder: each test has the state that such a moment leaves. */
#include "detail_world.h"

static const struct world_options small = { .detail_bytes = 4 << 20, .threads = 4 };

static struct ada_detail_chunk *chunk_of(const struct world *world, uint32_t thread, uint64_t first_seq)
{
	for (uint32_t i = 0; i < world->segment.detail_chunks; i++) {
		struct ada_detail_chunk *chunk = fake_detail(&world->fake, i);

		if (chunk->status == ADA_DETAIL_SEALED && chunk->thread == thread && chunk->first_seq == first_seq)
			return chunk;
	}
	fail_msg("thread %u has no chunk that begins with event %lu", thread, (unsigned long)first_seq);
	return NULL;
}

/* Records as they are once another thread has begun to write into the chunk: of now. The header, looked at before that, still
 * says that it is this thread's. */
static void overwrite(struct world *world, uint64_t first_seq)
{
	struct ada_detail_chunk *chunk = chunk_of(world, 0, first_seq);

	for (uint32_t slot = 0, at = ADA_DETAIL_RECORDS_BEGIN; slot < chunk->records; slot++) {
		struct ada_detail *record = (struct ada_detail *)((char *)chunk + at);

		at += ada_detail_read(record, world->segment.detail_chunk_bytes - at).bytes;
		record->counter = world->fake.counter + 1000000000;
	}
}

/* Two windows are written in one go. The chunk between them is no window's: an agent takes it while it is read. */
static void what_lies_between_windows_may_be_overwritten(void **state)
{
	struct world world;
	uint64_t between;

	world_make(&world, &small);
	fake_events(&world.threads[0], 500);
	fake_mark(&world.threads[0], 0, 0, 0, 0);
	fake_seal(&world.threads[0]);
	between = world.threads[0].seq;
	fake_events(&world.threads[0], 700);
	fake_seal(&world.threads[0]);
	fake_events(&world.threads[0], 500);
	fake_mark(&world.threads[0], 0, 0, 0, 0);
	fake_events(&world.threads[0], 500);
	overwrite(&world, between);
	for (int i = 0; i < 3; i++)
		world_pass(&world, 1000000);
	assert_int_equal(world_windows(&world), 2);
	for (size_t i = 0; i < 2; i++) {
		assert_true(world_window(&world, i)->settled);
		assert_int_equal(world_window(&world, i)->event_count, 1);
	}
	world_finish(&world);
	world_check(&world);
	world_end(&world);
}

/* The first counter that is of a later ns. */
static uint64_t next_ns(const struct world *world, uint64_t counter)
{
	uint64_t ns = ada_clock_ns(world->clock, counter), next = counter;

	while (ada_clock_ns(world->clock, next) == ns)
		next++;
	return next;
}

/* The detail of two threads is missing, of one right behind the other's. A window in the first stretch is moved behind it: into
 * the second one, and on behind that. Another window is written in the same go. */
static void an_emptied_window_moves_behind_all_holes(void **state)
{
	struct world world;

	world_make(&world, &small);
	fake_events(&world.threads[2], 300);
	world.threads[0].starve = world.threads[1].starve = true;
	fake_events(&world.threads[0], 300);
	fake_mark(&world.threads[0], 0, 0, 0, 0);
	fake_seal(&world.threads[0]);
	world.fake.counter = next_ns(&world, world.threads[0].last_counter);
	fake_events(&world.threads[1], 300);
	fake_seal(&world.threads[1]);
	assert_int_equal(ada_clock_ns(world.clock, world.threads[0].last_counter) + 1,
			 ada_clock_ns(world.clock, world.threads[1].last_counter - 299 * world.fake.step));
	world.threads[0].starve = world.threads[1].starve = false;
	for (uint32_t i = 0; i < 3; i++)
		fake_events(&world.threads[i], 300);
	fake_mark(&world.threads[2], 0, 0, 0, 0);
	for (int i = 0; i < 3; i++)
		world_pass(&world, 1000000);
	world_finish(&world);
	world_check(&world);
	assert_int_equal(world_windows(&world), 2);
	assert_int_equal(world_window(&world, 0)->shorts, ADA_SHORT_STARVED);
	world_end(&world);
}

/* Events of thread 1 were committed when their window was settled, and an agent recycled their detail before the drain came by. */
static void late_records_that_are_gone_are_told(void **state)
{
	struct world world;
	uint64_t then;

	world_make(&world, &small);
	world_run(&world, 0, 400);
	then = world.fake.counter;
	world_run(&world, 0, 400);
	fake_mark(&world.threads[0], 200 * TICK + TICK / 2, 0, 0, 0);
	world_run(&world, 0, 400);
	fake_mark(&world.threads[0], 0, 0, 0, 0);
	for (int i = 0; i < 3; i++)
		world_pass(&world, 1000000);
	assert_true(world_window(&world, 1)->settled);
	world_late(&world, 1, then, 700);
	fake_seal(&world.threads[1]);
	chunk_of(&world, 1, 0)->thread = 2;
	world_turn(&world);
	assert_int_equal(world_windows(&world), 2);
	assert_int_equal(world_window(&world, 0)->shorts, ADA_SHORT_LATE);
	assert_int_equal(world_window(&world, 0)->event_count, 201);
	assert_int_equal(world_window(&world, 1)->shorts, 0); /* behind the last of them */
	world_finish(&world);
	world_end(&world);
}

/* A thread ends behind the drain and before the look at its mark: the post-roll is all that it did, and no more. */
static void a_post_roll_waits_for_what_its_ended_thread_sealed(void **state)
{
	struct world world;

	world_make(&world, &small);
	world_run(&world, 0, 500);
	fake_events(&world.threads[0], 100);
	fake_mark(&world.threads[0], 0, 10, 0, 1000);
	fake_events(&world.threads[0], 50);
	fake_thread_end(&world.threads[0]);
	world_wait(&world);
	ada_details_turn(world.details, world_now(&world));
	world_run(&world, 1, 100);
	world_finish(&world);
	world_check(&world);
	assert_int_equal(world_windows(&world), 1);
	assert_int_equal(world_window(&world, 0)->shorts, ADA_SHORT_THREAD);
	assert_int_equal(world.first_seq[0], 589);
	assert_int_equal(world.last_seq[0], 649);
	assert_int_equal(world.persisted, 61);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_post_roll_waits_for_what_its_ended_thread_sealed),
		cmocka_unit_test(what_lies_between_windows_may_be_overwritten),
		cmocka_unit_test(an_emptied_window_moves_behind_all_holes),
		cmocka_unit_test(late_records_that_are_gone_are_told),
	};

	return world_run_tests("detail race", tests);
}

/* Detail files that a disk stops taking: what they hold counts, the rest is lost, and the window says so. */
#include "detail_world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "atf/ground/ground.h"

#define ROOM 100000 /* bytes of each file that the disk takes through the sink: less than a block */

static void refuse(struct atf_block *block)
{
	size_t room = block->offset < ROOM ? (size_t)(ROOM - block->offset) : 0;

	if (room > block->length)
		room = block->length;
	if (room)
		assert_int_equal(pwrite(block->fd, block->bytes, room, block->offset), room);
	atf_block_done(block, room < block->length ? -ENOSPC : 0);
}

static int refusing_write(struct atf_sink *sink, struct atf_block *block)
{
	refuse(block);
	return 0;
}

static struct atf_sink refusing;

static void found(void *context, const char *check, bool ok, const char *message)
{
	if (!ok)
		print_error("%s: %s\n", check, message);
}

/* Records that the thread's file holds. It is finished, sound, and fits the index; its one entry is window 0. */
static uint64_t records_there(const struct world *world, const char *name)
{
	struct atf_detail_file *file;
	struct atf_message message;
	AtfDetailWindow window;
	struct atf_index *index;
	char path[128];
	uint64_t count;

	snprintf(path, sizeof path, "%s/thread_0/index%s.atf", world->directory, name);
	assert_int_equal(atf_index_open(&index, path, &message), 0);
	snprintf(path, sizeof path, "%s/thread_0/detail%s.atf", world->directory, name);
	assert_int_equal(atf_detail_verify(path, index, found, NULL), 0);
	atf_index_close(index);
	assert_int_equal(atf_detail_open(&file, path, &message), 0);
	assert_int_equal(atf_detail_completeness(file), ATF_COMPLETE);
	count = atf_detail_count(file);
	assert_int_equal(atf_detail_window_count(file), 1);
	assert_int_equal(atf_detail_window(file, 0, &window), 0);
	assert_int_equal(window.window_id, 0);
	assert_int_equal(window.event_count, count);
	atf_detail_close(file);
	return count;
}

static void check(struct world *world, uint64_t there, uint64_t lost)
{
	const struct ada_window *window = world_window(world, 0);
	struct ada_detail_metrics metrics;

	assert_int_equal(world_windows(world), 1);
	ada_details_metrics(world->details, &metrics);
	assert_int_equal(window->event_count, there);
	assert_int_equal(metrics.persisted_events, there);
	assert_int_equal(ada_details_thread_events(world->details, 0), there);
	assert_int_equal(window->unwritten, lost);
	assert_int_equal(metrics.unwritten_events, lost);
	assert_int_equal(metrics.avg_events_per_window, there);
	assert_int_equal(window->shorts, ADA_SHORT_DISK);
	assert_true(window->settled);
}

static struct world_options options_of(uint64_t segment_events)
{
	refusing = atf_sink_pwrite;
	refusing.write = refusing_write;
	return (struct world_options){ .detail_bytes = 4 << 20, .threads = 1, .segment_events = segment_events, .detail_sink = &refusing };
}

/* Blocks of the window fail while it is written: no further record gets into the file. 5001 events are in the window. */
static void a_block_is_refused(void **state)
{
	struct world_options options = options_of(0);
	struct world world;
	uint64_t there;

	world_make(&world, &options);
	world_run(&world, 0, 3001);
	fake_mark(&world.threads[0], 0, 2000, 0, 3000);
	world_run(&world, 0, 4000);
	world_finish(&world);
	there = records_there(&world, "");
	assert_in_range(there, ROOM / 256, ROOM / 64);
	check(&world, there, 5001 - there);
	world_end(&world);
}

/* All was handed over when only the file's end fails. 1001 events fill no block. */
static void the_last_block_is_refused(void **state)
{
	struct world_options options = options_of(0);
	struct world world;
	uint64_t there;

	world_make(&world, &options);
	world_run(&world, 0, 3001);
	fake_mark(&world.threads[0], 0, 1000, 0, 0);
	world_run(&world, 0, 10);
	world_finish(&world);
	there = records_there(&world, "");
	assert_in_range(there, ROOM / 256, ROOM / 64);
	check(&world, there, 1001 - there);
	world_end(&world);
}

/* The file of the first segment, which fails where it is left for the next one's; that one isn't begun. */
static void a_file_fails_in_a_window_that_goes_on(void **state)
{
	struct world_options options = options_of(1000);
	struct world world;
	char path[128];
	uint64_t there;

	world_make(&world, &options);
	world_run(&world, 0, 901);
	fake_mark(&world.threads[0], 0, 900, 0, 1000);
	world_run(&world, 0, 2000);
	world_finish(&world);
	there = records_there(&world, "");
	assert_in_range(there, ROOM / 256, 999);
	check(&world, there, 1901 - there);
	snprintf(path, sizeof path, "%s/thread_0/detail.1.atf", world.directory);
	assert_int_equal(access(path, F_OK), -1);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_block_is_refused), cmocka_unit_test(the_last_block_is_refused),
					    cmocka_unit_test(a_file_fails_in_a_window_that_goes_on) };

	return world_run_tests("detail disk", tests);
}

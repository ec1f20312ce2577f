#include "detail_world.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock_source.h"
#include "make_segment.h"

uint64_t world_tick = 1000;
static uint64_t counter_now; /* of the whole machine */

uint64_t __wrap_ada_clock_counter(void);
uint64_t __wrap_ada_clock_boottime_ns(void);

uint64_t __wrap_ada_clock_counter(void)
{
	return counter_now;
}

uint64_t __wrap_ada_clock_boottime_ns(void)
{
	return (uint64_t)((unsigned __int128)counter_now * 1000 / world_tick);
}

static struct ada_clock_reading read_clock(void *context)
{
	return (struct ada_clock_reading){ counter_now, __wrap_ada_clock_boottime_ns() };
}

static void pause_clock(void *context)
{
	counter_now += 4000 * world_tick;
}

static int set_frequency(void **state)
{
	world_tick = *(const uint64_t *)*state;
	counter_now = 3600000000ull * world_tick;
	return 0;
}

int world_run_group(const char *name, const struct CMUnitTest *tests, size_t count)
{
	static const uint64_t mhz[] = { 1000, 2300, 3000, 5000 };
	const size_t rates = sizeof mhz / sizeof *mhz;
	struct CMUnitTest *all = calloc(rates * count, sizeof *all);
	int failed;

	for (size_t i = 0; all && i < rates * count; i++) {
		char *text;
		uint64_t rate = mhz[i / count];

		if (asprintf(&text, "%s at %lu MHz", tests[i % count].name, (unsigned long)rate) < 0)
			return 1;
		all[i] = (struct CMUnitTest){ text, tests[i % count].test_func, set_frequency, NULL, (void *)&mhz[i / count] };
	}
	failed = all ? _cmocka_run_group_tests(name, all, rates * count, NULL, NULL) : 1;
	for (size_t i = 0; all && i < rates * count; i++)
		free((void *)all[i].name);
	free(all);
	return failed;
}

void world_make(struct world *world, const struct world_options *options)
{
	struct ada_segment_options segment = { .index_buffer_bytes = 4 << 20,
					       .index_mode = options->index_mode,
					       .detail_buffer_bytes = options->detail_bytes,
					       .detail_stack_bytes = options->stack_bytes,
					       .detail_mode = options->detail_mode,
					       .pid = (uint32_t)getpid() };
	int agent_fd;
	struct ada_lane_options lane;
	struct ada_details_options details;

	*world = (struct world){ .thread_count = options->threads };
	strcpy(world->directory, "/tmp/ada-detail-XXXXXX");
	assert_non_null(mkdtemp(world->directory));
	assert_int_equal(ada_clock_begin_source(&world->clock, &(struct ada_clock_source){ .read = read_clock, .pause = pause_clock }), 0);
	assert_int_equal(ada_clock_settle(world->clock), 0);
	make_segment(&world->segment, segment, &agent_fd);
	close(agent_fd);
	lane = (struct ada_lane_options){ .clock = world->clock,
					  .segment_events = options->segment_events,
					  .circular = options->index_mode == ADA_INDEX_CIRCULAR };
	assert_int_equal(ada_drain_open(&world->drain, &world->segment, world->directory, getpid(), &lane), 0);
	world->fake = (struct fake){ .socket = -1, .shm = world->segment.shm, .counter = ada_clock_counter(), .step = TICK };
	details = (struct ada_details_options){ .lane = lane,
						.start_ns = world_now(world),
						.persist_all = options->detail_mode != ADA_DETAIL_CIRCULAR };
	details.lane.sink = options->detail_sink;
	assert_int_equal(ada_details_open(&world->details, &world->segment, &world->drain, &details), 0);
	for (uint32_t i = 0; i < options->threads; i++)
		fake_thread_begin(&world->threads[i], &world->fake, 1000 + i, "fake");
	world->fake.counter += TICK;
}

void world_end(struct world *world)
{
	char command[96];

	ada_details_close(world->details);
	ada_drain_close(&world->drain);
	ada_segment_destroy(&world->segment);
	ada_clock_close(world->clock);
	snprintf(command, sizeof command, "rm -r %s", world->directory);
	assert_int_equal(system(command), 0);
}

uint64_t world_now(const struct world *world)
{
	return ada_clock_ns(world->clock, world->fake.counter);
}

void world_wait(const struct world *world)
{
	if (world->fake.counter > counter_now)
		counter_now = world->fake.counter;
}

void world_late(struct world *world, uint32_t thread, uint64_t counter, uint64_t events)
{
	uint64_t now = world->fake.counter;

	world->fake.counter = counter;
	fake_events(&world->threads[thread], events);
	world->fake.counter = now;
}

void world_turn(struct world *world)
{
	world_wait(world);
	ada_segment_grow(&world->segment);
	ada_drain_sealed(&world->drain);
	ada_details_turn(world->details, world_now(world));
}

void world_run(struct world *world, uint32_t thread, uint64_t events)
{
	while (events) {
		uint64_t some = events < 1000 ? events : 1000;

		fake_events(&world->threads[thread], some);
		events -= some;
		world_turn(world);
	}
}

void world_pass(struct world *world, uint64_t ns)
{
	uint64_t target = world_now(world) + ns;

	while (world_now(world) < target)
		world->fake.counter += TICK;
	world_turn(world);
}

void world_finish(struct world *world)
{
	world_wait(world);
	ada_drain_finish(&world->drain);
	ada_details_finish(world->details, world_now(world), ADA_SHORT_EXIT);
	world->finished = true;
}

size_t world_windows(const struct world *world)
{
	return ada_windows_count(ada_details_windows(world->details));
}

const struct ada_window *world_window(const struct world *world, size_t i)
{
	return ada_windows_at(ada_details_windows(world->details), i);
}

static void found(void *context, const char *check, bool ok, const char *message)
{
	if (!ok)
		print_error("%s: %s: %s\n", (const char *)context, check, message);
}

static void check_record(const struct world *world, const struct atf_detail *record, const struct ada_event *event, uint64_t index_seq)
{
	uint64_t number = event->function_id;
	bool call = event->event_kind == ADA_EVENT_CALL;
	uint64_t captured;

	assert_int_equal(record->function_id, number);
	assert_int_equal(record->timestamp_ns, event->timestamp_ns);
	assert_int_equal(record->index_seq, index_seq);
	assert_int_equal(record->detail_seq, event->detail_seq);
	assert_int_equal(record->event_type, call ? ATF_DETAIL_CALL : ATF_DETAIL_RETURN);
	assert_int_equal(record->thread_id, event->thread_id);
	assert_int_equal(record->sp, number * 8);
	assert_int_equal(record->flags, call ? ATF_DETAIL_VECTORS : 0);
	captured = number % (world->segment.detail_room + 1) & ~7u;
	assert_int_equal(record->stack_size, captured < world->segment.stack_bytes ? captured : world->segment.stack_bytes);
	for (uint16_t i = 0; i < record->stack_size; i++)
		assert_int_equal(record->stack[i], number & 0xff);
	for (uint64_t i = 0; i < 8; i++) {
		assert_int_equal(record->x[i], call || i < 4 ? number + i : 0);
		if (call)
			assert_int_equal(record->vectors[i], number * 3 + i);
	}
}

static void check_event(struct world *world, uint32_t thread, const struct ada_event *event, struct atf_detail_file *file,
			uint64_t index_seq, uint64_t position)
{
	const struct ada_window *window = ada_windows_of(ada_details_windows(world->details), event->timestamp_ns);
	struct atf_detail record;
	const struct fake_thread *fake = &world->threads[thread];
	bool without = event->event_kind == ADA_EVENT_LOST || (fake->skip_detail && event->function_id % fake->skip_detail == 0);
	int status;

	if (window && !without)
		assert_int_not_equal(event->detail_seq, ADA_NO_DETAIL); /* a hole inside a window */
	if (event->detail_seq == ADA_NO_DETAIL)
		return;
	assert_false(without);
	if (window && !file)
		fail_msg("thread %u has no detail file, its event %lu is in a window", thread, (unsigned long)position);
	status = file ? atf_detail_find(file, event->detail_seq, &record) : ATF_NOT_PERSISTED;
	if (status != (window ? 0 : ATF_NOT_PERSISTED))
		fail_msg("thread %u event %lu at %lu: %d, window %lu to %lu", thread, (unsigned long)position,
			 (unsigned long)event->timestamp_ns, status, window ? (unsigned long)window->start_ns : 0,
			 window ? (unsigned long)window->end_ns : 0);
	if (!window)
		return;
	check_record(world, &record, event, index_seq);
	world->persisted++;
	if (world->first_seq[thread] == UINT64_MAX)
		world->first_seq[thread] = position;
	world->last_seq[thread] = position;
}

static void check_thread(struct world *world, uint32_t number)
{
	char directory[96], path[128];
	struct atf_message message;
	struct atf_thread *thread;
	uint64_t position = 0;

	snprintf(directory, sizeof directory, "%s/thread_%u", world->directory, number);
	if (access(directory, F_OK))
		return;
	assert_int_equal(atf_thread_open(&thread, directory, &message), 0);
	for (uint32_t i = 0; i < atf_thread_segments(thread); i++) {
		const struct atf_index *index = atf_thread_segment(thread, i);
		struct atf_detail_file *file = NULL;
		bool has;
		uint64_t before;

		assert_int_equal(atf_detail_path(path, sizeof path, directory, i), 0);
		has = !access(path, F_OK);
		assert_int_equal(!!(atf_index_header(index)->flags & ATF_FLAG_HAS_DETAIL), has);
		if (has) {
			assert_int_equal(atf_detail_verify(path, index, found, path), 0);
			assert_int_equal(atf_detail_open(&file, path, &message), 0);
			assert_int_equal(atf_detail_completeness(file), ATF_COMPLETE);
		}
		before = world->persisted;
		for (uint64_t k = 0; k < atf_index_count(index); k++)
			check_event(world, number, &atf_index_events(index)[k], file, k, position++);
		if (file) {
			assert_int_equal(atf_detail_count(file), world->persisted - before);
			atf_detail_close(file);
		}
	}
	atf_thread_close(thread);
}

void world_check(struct world *world)
{
	uint64_t counted = 0, of_threads = 0;

	world->persisted = 0;
	for (uint32_t i = 0; i < world->thread_count; i++) {
		world->first_seq[i] = world->last_seq[i] = UINT64_MAX;
		check_thread(world, i);
		of_threads += ada_details_thread_events(world->details, i);
	}
	for (size_t i = 0; i < world_windows(world); i++) {
		assert_true(world_window(world, i)->settled);
		counted += world_window(world, i)->event_count;
	}
	assert_int_equal(counted, world->persisted);
	assert_int_equal(of_threads, world->persisted);
}

/* A thread's files: numbering, segments, gaps, and counts that hold when the disk does not. */
#include "../test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "recorder/index/lane.h"
#include "recorder/index/packed_lane.h"
#include "recorder/index/packers.h"

static char directory[64];
static struct ada_clock *clock_used;
static bool disk_full;
static const struct ada_lane_detail no_detail = { .chunk = ADA_NONE };

static int refusing_open(struct atf_sink *sink, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

/* The first page gets through, then the disk is full. */
static int refusing_write(struct atf_sink *sink, struct atf_block *block)
{
	ssize_t done = pwrite(block->fd, block->bytes, disk_full && block->length > 4096 ? 4096 : block->length, block->offset);

	atf_block_done(block, done == (ssize_t)block->length ? 0 : -ENOSPC);
	return 0;
}

static int refusing_close(struct atf_sink *sink, int fd, bool sync)
{
	return close(fd) ? -errno : 0;
}

static struct atf_sink refusing = { .open = refusing_open, .write = refusing_write, .close = refusing_close };

static int set_up(void **state)
{
	strcpy(directory, "/tmp/ada-lane-XXXXXX");
	disk_full = false;
	return mkdtemp(directory) && !ada_clock_begin(&clock_used) && !ada_clock_settle(clock_used) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[96];

	ada_clock_close(clock_used);
	snprintf(command, sizeof command, "rm -r %s", directory);
	return system(command);
}

static void append(struct ada_lane *lane, const struct ada_lane_options *options, uint64_t seq, size_t count)
{
	static struct ada_event events[4096];
	struct ada_error error = { "" };

	for (size_t i = 0; i < count; i++)
		events[i] = (struct ada_event){ .timestamp_ns = ada_clock_counter(),
						.function_id = seq + i,
						.thread_id = 5,
						.event_kind = ADA_EVENT_CALL,
						.detail_seq = (uint32_t)(seq + i) };
	assert_int_equal(ada_lane_append(lane, options, directory, seq, events, count, no_detail, &error), 0);
}

static void numbers_go_on_over_segments(void **state)
{
	struct ada_lane_options options = { .clock = clock_used, .segment_events = 1000 };
	struct ada_lane lane = { .id = 3, .thread_id = 5 };
	struct ada_error error = { "" };
	struct atf_message message;
	struct atf_thread *thread;
	char path[96];

	append(&lane, &options, 0, 700);
	append(&lane, &options, 700, 1800);
	assert_int_equal(ada_lane_close(&lane, &options, directory, &error), 0);
	assert_int_equal(lane.events, 2500);
	assert_int_equal(lane.segments.count, 3);
	assert_int_equal(lane.segments.items[2], 500);
	snprintf(path, sizeof path, "%s/thread_3", directory);
	assert_int_equal(atf_thread_open(&thread, path, &message), 0);
	assert_int_equal(atf_thread_count(thread), 2500);
	for (uint64_t i = 0; i < 2500; i++) {
		assert_int_equal(atf_thread_get(thread, i)->function_id, i);
		assert_int_equal(atf_thread_get(thread, i)->detail_seq, ADA_NO_DETAIL);
	}
	atf_thread_close(thread);
	ada_lane_free(&lane);
}

/* Packed from the first segment on, or from the second: the same events, tails, short blocks and long ones. */
static void packed_segments(enum ada_pack pack)
{
	struct ada_lane_options options = { .clock = clock_used, .segment_events = 100000, .pack = pack };
	struct ada_lane lane = { .id = 3, .thread_id = 5 };
	struct ada_error error = { "" };
	struct atf_message message;
	struct atf_thread *thread;
	uint64_t count = 0;
	char path[96];

	assert_int_equal(ada_packers_open(&options.packers, ada_packed_lane_work, 2), 0);
	for (uint64_t i = 0; i < 150; i++) {
		append(&lane, &options, count, 4096 - i);
		ada_lane_note(&lane, &options);
		if (i % 3 == 0)
			assert_int_equal(ada_lane_flush(&lane, directory, &error), 0);
		count += 4096 - i + (i % 40 == 0); /* now and then a gap */
		ada_packed_lane_reap(options.packers, NULL);
	}
	assert_int_equal(ada_lane_close(&lane, &options, directory, &error), 0);
	assert_int_equal(lane.packed_segments, lane.segments.count - (pack == ADA_PACK_AUTO));
	snprintf(path, sizeof path, "%s/thread_3", directory);
	assert_int_equal(atf_thread_open(&thread, path, &message), 0);
	assert_int_equal(atf_thread_count(thread), lane.events);
	for (uint64_t i = 0, seq = 0; i < lane.events; i++) {
		const struct ada_event *event = atf_thread_get(thread, i);

		if (event->event_kind == ADA_EVENT_LOST)
			seq += event->function_id;
		else
			assert_int_equal(event->function_id, seq++);
	}
	for (uint32_t i = 0; i < lane.segments.count; i++)
		assert_int_equal(atf_index_completeness(atf_thread_segment(thread, i)), ATF_COMPLETE);
	atf_thread_close(thread);
	ada_lane_free(&lane);
	ada_packers_close(options.packers);
}

static void packed_from_the_first_segment(void **state)
{
	packed_segments(ADA_PACK_ALWAYS);
}

static void packed_from_the_second_segment(void **state)
{
	packed_segments(ADA_PACK_AUTO);
}

/* Nothing is waited for, and nothing is left. */
static void packed_and_given_up(void **state)
{
	struct ada_lane_options options = { .clock = clock_used, .pack = ADA_PACK_ALWAYS };
	struct ada_lane lane = { .id = 3, .thread_id = 5 };

	assert_int_equal(ada_packers_open(&options.packers, ada_packed_lane_work, 1), 0);
	for (uint64_t i = 0; i < 100; i++)
		append(&lane, &options, 4096 * i, 4096);
	ada_lane_note(&lane, &options);
	append(&lane, &options, 409600, 4096);
	ada_lane_free(&lane);
	ada_packers_close(options.packers);
}

static void a_gap_is_a_record(void **state)
{
	struct ada_lane_options options = { .clock = clock_used, .circular = true };
	struct ada_lane lane = { .thread_id = 5 };
	struct ada_error error = { "" };

	append(&lane, &options, 40, 10);
	append(&lane, &options, 50, 10);
	append(&lane, &options, 63, 1);
	assert_int_equal(ada_lane_close(&lane, &options, directory, &error), 0);
	assert_int_equal(lane.events, 23);
	assert_int_equal(lane.gaps, 2);
	assert_int_equal(lane.lost, 43);
	assert_int_equal(lane.overwritten, 43);
	assert_int_equal(lane.told_lost, 0);
	ada_lane_free(&lane);
}

/* Among plain calls, which take a faster way: times that fall, losses, waits, kinds and depths that nobody knows, events without detail. */
static void what_isnt_plain_is_converted(void **state)
{
	struct ada_lane_options options = { .clock = clock_used, .numbers_detail = true };
	struct ada_lane lane = { .thread_id = 5 };
	struct ada_error error = { "" };
	struct ada_lane_detail detail = { .chunk = 0 };
	struct ada_event events[64];
	struct atf_message message;
	struct atf_thread *thread;
	uint64_t start = ada_clock_counter(), last_ns = 0;
	uint64_t waited_ns = ada_clock_ns(clock_used, start + 1000018) - ada_clock_ns(clock_used, start);
	uint32_t numbered = 0;
	char path[96];

	for (uint32_t i = 0; i < 64; i++)
		events[i] = (struct ada_event){ .timestamp_ns = start + (i % 8 == 5 ? 0 : 1000 * i),
						.function_id = 1000000 + i,
						.thread_id = 99,
						.event_kind = i == 9  ? ADA_EVENT_LOST :
							      i == 18 ? ADA_EVENT_RECORDER :
							      i == 27 ? 4711 :
							      i % 2   ? ADA_EVENT_RETURN :
									ADA_EVENT_CALL,
						.call_depth = i * ADA_EVENT_DEPTH_UNIT,
						.detail_seq = i % 3 ? 0 : ADA_NO_DETAIL };
	assert_int_equal(ada_lane_append(&lane, &options, directory, 0, events, 64, detail, &error), 0);
	assert_int_equal(lane.raised.count, 8);
	assert_int_equal(lane.gaps, 1);
	assert_int_equal(lane.lost, 1000009);
	assert_int_equal(lane.told_lost, 1000009);
	assert_int_equal(lane.captured, 42);
	assert_int_equal(ada_lane_close(&lane, &options, directory, &error), 0);
	snprintf(path, sizeof path, "%s/thread_0", directory);
	assert_int_equal(atf_thread_open(&thread, path, &message), 0);
	assert_int_equal(atf_thread_count(thread), 64);
	for (uint32_t i = 0; i < 64; i++) {
		const struct ada_event *event = atf_thread_get(thread, i);
		uint64_t ns = ada_clock_ns(clock_used, events[i].timestamp_ns);

		assert_int_equal(event->timestamp_ns, ns > last_ns ? ns : last_ns);
		assert_int_equal(event->thread_id, 5);
		assert_int_equal(event->event_kind, events[i].event_kind);
		assert_int_equal(event->call_depth, i);
		assert_int_equal(event->detail_seq, i % 3 ? numbered++ : ADA_NO_DETAIL);
		if (i == 18) /* ticks became ns, rounded elsewhere */
			assert_in_range(event->function_id, waited_ns - 1, waited_ns + 1);
		else
			assert_int_equal(event->function_id, 1000000 + i);
		last_ns = event->timestamp_ns;
	}
	atf_thread_close(thread);
	ada_lane_free(&lane);
}

/* 4096 bytes hold the header and 126 events: these count, and no more. */
static void a_full_disk_counts_what_is_there(void **state)
{
	struct ada_lane_options options = { .clock = clock_used, .sink = &refusing };
	struct ada_lane lane = { .thread_id = 5 };
	struct ada_error error = { "" };

	append(&lane, &options, 0, 1000);
	assert_int_equal(lane.events, 1000);
	disk_full = true;
	assert_int_equal(ada_lane_close(&lane, &options, directory, &error), -ENOSPC);
	assert_non_null(strstr(error.text, "No space left"));
	assert_int_equal(lane.events, 126);
	assert_int_equal(lane.lost, 874);
	assert_int_equal(lane.segments.items[0], 126);
	ada_lane_free(&lane);
}

/* The same where a segment is full, and the disk too: the next one can't begin. */
static void a_full_segment_on_a_full_disk(void **state)
{
	struct ada_lane_options options = { .clock = clock_used, .sink = &refusing, .segment_events = 1000 };
	struct ada_lane lane = { .thread_id = 5 };
	struct ada_event event = { .event_kind = ADA_EVENT_CALL };
	struct ada_error error = { "" };

	append(&lane, &options, 0, 3000);
	disk_full = true;
	assert_int_equal(ada_lane_append(&lane, &options, directory, 3000, &event, 1, no_detail, &error), -ENOSPC);
	assert_non_null(strstr(error.text, "No space left"));
	assert_int_equal(lane.segments.count, 3);
	assert_int_equal(lane.segments.items[2], 126);
	assert_int_equal(lane.events, 2126);
	assert_int_equal(lane.lost, 874);
	assert_int_equal(ada_lane_close(&lane, &options, directory, &error), 0); /* no file is open */
	assert_int_equal(lane.events, 2126);
	ada_lane_free(&lane);
}

static struct ada_lane crowd[40];

static bool rest_all(void *context)
{
	bool rested = false;

	++*(unsigned *)context;
	for (size_t i = 0; i < sizeof crowd / sizeof *crowd; i++)
		rested |= ada_lane_rest(&crowd[i]);
	return rested;
}

/* Forty threads take turns where there are descriptors for eight. */
static void lanes_share_descriptors(void **state)
{
	enum { LANES = sizeof crowd / sizeof *crowd, TURNS = 5, EVENTS = 100 };
	unsigned asked = 0;
	struct ada_lane_options options = { .clock = clock_used, .make_room = rest_all, .context = &asked };
	struct ada_error error = { "" };
	struct atf_message message;
	struct atf_thread *thread;
	struct rlimit files, few;
	char path[96];
	int next = dup(0);

	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	few = (struct rlimit){ (rlim_t)next + 8, files.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (uint64_t turn = 0; turn < TURNS; turn++)
		for (uint32_t i = 0; i < LANES; i++) {
			crowd[i].id = i;
			append(&crowd[i], &options, turn * EVENTS, EVENTS);
		}
	for (uint32_t i = 0; i < LANES; i++)
		assert_int_equal(ada_lane_close(&crowd[i], &options, directory, &error), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_true(asked > LANES / 8);
	for (uint32_t i = 0; i < LANES; i++) {
		snprintf(path, sizeof path, "%s/thread_%u", directory, i);
		assert_int_equal(atf_thread_open(&thread, path, &message), 0);
		assert_int_equal(atf_thread_count(thread), TURNS * EVENTS);
		for (uint64_t k = 0; k < TURNS * EVENTS; k++)
			assert_int_equal(atf_thread_get(thread, k)->function_id, k);
		atf_thread_close(thread);
		ada_lane_free(&crowd[i]);
	}
}

/* Of 700 events, 10 were missing from the start; 126 records are there, one of them a LOST. */
static void a_gap_behind_a_full_disks_cut_is_none(void **state)
{
	struct ada_lane_options options = { .clock = clock_used, .sink = &refusing };
	struct ada_lane lane = { .thread_id = 5 };
	struct ada_error error = { "" };

	append(&lane, &options, 0, 100);
	append(&lane, &options, 103, 500);
	append(&lane, &options, 610, 90);
	assert_int_equal(lane.gaps, 2);
	disk_full = true;
	assert_int_equal(ada_lane_close(&lane, &options, directory, &error), -ENOSPC);
	assert_int_equal(lane.events, 126);
	assert_int_equal(lane.gaps, 1);
	assert_int_equal(lane.lost, 700 - 125);
	ada_lane_free(&lane);
}

/* Not even the header has room: no file is left that nobody lists. */
static void a_segment_that_cant_begin_is_none(void **state)
{
	struct ada_lane_options options = { .clock = clock_used };
	struct ada_lane lane = { .thread_id = 5 };
	struct ada_event event = { .event_kind = ADA_EVENT_CALL };
	struct ada_error error = { "" };
	struct rlimit before, none;
	char path[96];
	int status;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = (struct rlimit){ 0, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	status = ada_lane_append(&lane, &options, directory, 0, &event, 1, no_detail, &error);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(status, -EFBIG);
	snprintf(path, sizeof path, "%s/thread_0/index.atf", directory);
	assert_int_equal(access(path, F_OK), -1);
	ada_lane_free(&lane);
}

static struct atf_block *on_its_way[2];

static int slow_write(struct atf_sink *sink, struct atf_block *block)
{
	assert_null(on_its_way[1]);
	on_its_way[on_its_way[0] ? 1 : 0] = block;
	return 0;
}

static void finish(struct atf_block **block)
{
	assert_int_equal(pwrite((*block)->fd, (*block)->bytes, (*block)->length, (*block)->offset), (*block)->length);
	atf_block_done(*block, 0);
	*block = NULL;
}

/* What was handed to the disk is no more in the file than what wasn't. */
static void what_is_on_its_way_isnt_written(void **state)
{
	static struct atf_sink slow = { .open = refusing_open, .write = slow_write, .close = refusing_close };
	struct ada_lane_options options = { .clock = clock_used, .sink = &slow };
	struct ada_lane lane = { .thread_id = 5 };
	struct ada_error error = { "" };

	for (uint64_t done = 0; done < 12288; done += 4096)
		append(&lane, &options, done, 4096);
	assert_int_equal(ada_lane_flush(&lane, directory, &error), 0);
	assert_non_null(on_its_way[1]);
	assert_false(ada_lane_is_written(&lane));
	finish(&on_its_way[1]);
	assert_false(ada_lane_is_written(&lane));
	finish(&on_its_way[0]);
	assert_true(ada_lane_is_written(&lane));
	append(&lane, &options, 12288, 100); /* since it was looked at */
	assert_true(ada_lane_is_written(&lane));
	assert_int_equal(ada_lane_flush(&lane, directory, &error), 0);
	assert_false(ada_lane_is_written(&lane));
	finish(&on_its_way[0]);
	assert_true(ada_lane_is_written(&lane));
	assert_int_equal(ada_lane_close(&lane, &options, directory, &error), 0);
	ada_lane_free(&lane);
}

/* What is on its way out stays so as what went before it is told. */
static void what_leaves_goes_on_leaving(void **state)
{
	const struct ada_lane_options options = {};
	struct ada_lane lane = { .leaving = 8 };

	ada_lane_aged(&lane, &options, 4, false, 100);
	assert_int_equal(lane.first_segment, 4);
	assert_int_equal(lane.leaving, 8);
	assert_int_equal(lane.aged, 100);
	ada_lane_aged(&lane, &options, 8, false, 200);
	assert_int_equal(lane.first_segment, 8);
	assert_int_equal(lane.leaving, 8);
	ada_lane_free(&lane);
}

/* --- a segment that is kept while its detail is named ---------------------------------------------------------------------- */

static char index_path[128], kept_path[128]; /* "": nobody keeps the segment */

/* libc's, but that the segment is kept just before somebody opens it. */
int open(const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	if (*index_path && !strcmp(path, index_path))
		assert_int_equal(rename(index_path, kept_path), 0);
	return openat(AT_FDCWD, path, flags, mode);
}

/* Bound's thread renames a segment at any moment: it names its detail, under whichever name it is found. */
static void a_segment_that_is_kept_names_its_detail(void **state)
{
	struct ada_lane_options options = { .clock = clock_used, .segment_events = 1000, .pack = ADA_PACK_ALWAYS };
	struct ada_lane lane = { .id = 3, .thread_id = 5 };
	struct ada_error error = { "" };
	AtfIndexHeader header;
	int fd;

	assert_int_equal(ada_packers_open(&options.packers, ada_packed_lane_work, 1), 0);
	append(&lane, &options, 0, 10);
	assert_int_equal(ada_lane_close(&lane, &options, directory, &error), 0);
	snprintf(kept_path, sizeof kept_path, "%s/thread_3/kept.atp", directory);
	snprintf(index_path, sizeof index_path, "%s/thread_3/index.atp", directory);
	ada_lane_has_detail(&lane, directory, 0);
	index_path[0] = '\0';
	fd = open(kept_path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, &header, sizeof header), sizeof header);
	close(fd);
	assert_true(header.flags & ATF_FLAG_HAS_DETAIL);
	ada_lane_free(&lane);
	ada_packers_close(options.packers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(numbers_go_on_over_segments, set_up, tear_down),
		cmocka_unit_test_setup_teardown(packed_from_the_first_segment, set_up, tear_down),
		cmocka_unit_test_setup_teardown(packed_from_the_second_segment, set_up, tear_down),
		cmocka_unit_test_setup_teardown(packed_and_given_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_gap_is_a_record, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_isnt_plain_is_converted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lanes_share_descriptors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_full_disk_counts_what_is_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_full_segment_on_a_full_disk, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_segment_that_cant_begin_is_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_gap_behind_a_full_disks_cut_is_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_on_its_way_isnt_written, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_leaves_goes_on_leaving, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_segment_that_is_kept_names_its_detail, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

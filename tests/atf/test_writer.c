/* The writer: what it leaves in the file, byte for byte, and how it deals with its sink. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct atf_index_options small_blocks = { .thread_id = THREAD_ID, .arch = ATF_ARCH_X86_64, .block_bytes = 4096 };

static struct atf_index_writer *writer_open(const char *path, const struct atf_index_options *options)
{
	struct atf_index_writer *writer;

	assert_int_equal(atf_index_writer_open(&writer, path, options), 0);
	return writer;
}

static void writer_append(struct atf_index_writer *writer, uint64_t first, size_t count)
{
	struct ada_event events[512];

	while (count) {
		size_t now = count < 512 ? count : 512;

		fixture_events(events, first, now);
		assert_int_equal(atf_index_writer_append(writer, events, now), 0);
		first += now;
		count -= now;
	}
}

/* The whole file, from the specification's tables. */
static void expect_file(const char *path, size_t count, bool has_detail)
{
	struct bytes file = bytes_read(path);
	struct ada_event *events = calloc(count + 1, sizeof *events);
	size_t events_bytes = count * 32;
	uint64_t first_ns = count ? 1000 : 0, last_ns = count ? 1000 + 10 * (count - 1) : 0;
	uint8_t header[64] = { 'A', 'T', 'I', '2', 1, 1, 1, 4 }, footer[64] = "2ITA";
	uint64_t footer_offset = 64 + events_bytes;
	uint32_t crc;

	fixture_events(events, 0, count);
	assert_int_equal(file.length, 128 + events_bytes);
	header[8] = has_detail;
	memcpy(header + 12, &(uint32_t){ THREAD_ID }, 4);
	header[16] = 3;
	header[24] = 32;
	memcpy(header + 28, &count, 4);
	header[32] = 64;
	memcpy(header + 40, &footer_offset, 8);
	memcpy(header + 48, &first_ns, 8);
	memcpy(header + 56, &last_ns, 8);
	assert_memory_equal(file.bytes, header, 64);
	assert_memory_equal(file.bytes + 64, events, events_bytes);
	crc = libdeflate_crc32(0, events, events_bytes);
	memcpy(footer + 4, &crc, 4);
	memcpy(footer + 8, &count, 8);
	memcpy(footer + 16, &first_ns, 8);
	memcpy(footer + 24, &last_ns, 8);
	memcpy(footer + 32, &events_bytes, 8);
	assert_memory_equal(file.bytes + 64 + events_bytes, footer, 64);
	free(events);
	free(file.bytes);
}

/* Counts round the ends of blocks of 4096 bytes: the first holds 126 events, the others 128. */
static void test_bytes_of_the_file(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 125, 126, 127, 253, 254, 255, 256, 1000, 5000 };
	struct fixture *fixture = *state;
	size_t i;

	for (i = 0; i < sizeof counts / sizeof *counts; i++) {
		struct atf_index_writer *writer = writer_open(fixture->path, &small_blocks);

		writer_append(writer, 0, counts[i]);
		assert_int_equal(atf_index_writer_count(writer), counts[i]);
		assert_int_equal(atf_index_writer_close(writer, i % 2), 0);
		expect_file(fixture->path, counts[i], i % 2);
		assert_int_equal(unlink(fixture->path), 0);
	}
}

static void test_default_block_size(void **state)
{
	struct atf_index_options options = { .thread_id = THREAD_ID, .arch = ATF_ARCH_X86_64 };
	struct fixture *fixture = *state;
	struct atf_index_writer *writer = writer_open(fixture->path, &options);

	writer_append(writer, 0, 20000);
	assert_int_equal(atf_index_writer_close(writer, false), 0);
	expect_file(fixture->path, 20000, false);
}

static void test_reserve_and_commit(void **state)
{
	struct fixture *fixture = *state;
	struct atf_index_writer *writer = writer_open(fixture->path, &small_blocks);
	struct ada_event *place;
	size_t room, done;

	assert_int_equal(atf_index_writer_reserve(writer, 1000, &place, &room), 0);
	assert_int_equal(room, 126);
	assert_int_equal(atf_index_writer_count(writer), 0);
	for (done = 0; done < 1000; done += room) {
		assert_int_equal(atf_index_writer_reserve(writer, 1000 - done, &place, &room), 0);
		if (done % 3 == 0 && room > 7)
			room = 7; /* less than there is room for */
		fixture_events(place, done, room);
		assert_int_equal(atf_index_writer_commit(writer, room), 0);
	}
	assert_int_equal(atf_index_writer_close(writer, false), 0);
	expect_file(fixture->path, 1000, false);
}

static void test_times_never_fall(void **state)
{
	static const uint64_t given[] = { 5, 9, 7, 8, 10, 3, 11 }, kept[] = { 5, 9, 9, 9, 10, 10, 11 };
	struct fixture *fixture = *state;
	struct atf_index_writer *writer = writer_open(fixture->path, &small_blocks);
	struct atf_index *index;
	size_t i;

	for (i = 0; i < 7; i++) {
		struct ada_event event = fixture_event(i);

		event.timestamp_ns = given[i];
		assert_int_equal(atf_index_writer_append(writer, &event, 1), 0);
	}
	assert_int_equal(atf_index_writer_close(writer, false), 0);
	assert_int_equal(atf_index_open(&index, fixture->path, NULL), 0);
	for (i = 0; i < 7; i++)
		assert_int_equal(atf_index_events(index)[i].timestamp_ns, kept[i]);
	assert_int_equal(atf_index_header(index)->time_end_ns, 11);
	atf_index_close(index);
}

/* Nor from one segment to the next. */
static void test_times_never_fall_between_segments(void **state)
{
	struct atf_index_options options = { .thread_id = THREAD_ID, .arch = ATF_ARCH_X86_64, .time_min_ns = 1015 };
	struct fixture *fixture = *state;
	struct atf_index_writer *writer = writer_open(fixture->path, &options);
	struct atf_index *index;

	assert_int_equal(atf_index_writer_time_max_ns(writer), 1015);
	writer_append(writer, 0, 3); /* 1000, 1010, 1020 */
	assert_int_equal(atf_index_writer_time_max_ns(writer), 1020);
	assert_int_equal(atf_index_writer_close(writer, false), 0);
	assert_int_equal(atf_index_open(&index, fixture->path, NULL), 0);
	assert_int_equal(atf_index_header(index)->time_start_ns, 1015);
	assert_int_equal(atf_index_events(index)[0].timestamp_ns, 1015);
	assert_int_equal(atf_index_events(index)[1].timestamp_ns, 1015);
	assert_int_equal(atf_index_events(index)[2].timestamp_ns, 1020);
	atf_index_close(index);
}

static void test_full_segment(void **state)
{
	struct atf_index_options options = { .thread_id = THREAD_ID, .arch = ATF_ARCH_X86_64, .max_events = 200 };
	struct fixture *fixture = *state;
	struct atf_index_writer *writer = writer_open(fixture->path, &options);
	struct ada_event events[201], *place;
	size_t room;

	fixture_events(events, 0, 201);
	assert_int_equal(atf_index_writer_append(writer, events, 201), -ATF_ERROR_FULL);
	assert_int_equal(atf_index_writer_count(writer), 0);
	assert_int_equal(atf_index_writer_append(writer, events, 198), 0);
	assert_int_equal(atf_index_writer_reserve(writer, 5, &place, &room), 0);
	assert_int_equal(room, 2);
	fixture_events(place, 198, 2);
	assert_int_equal(atf_index_writer_commit(writer, 2), 0);
	assert_int_equal(atf_index_writer_append(writer, events, 1), -ATF_ERROR_FULL);
	assert_int_equal(atf_index_writer_reserve(writer, 1, &place, &room), -ATF_ERROR_FULL);
	assert_int_equal(room, 0);
	assert_int_equal(atf_index_writer_close(writer, false), 0);
	expect_file(fixture->path, 200, false);
}

static void test_flush_shows_all_events(void **state)
{
	struct fixture *fixture = *state;
	struct atf_index_writer *writer = writer_open(fixture->path, &small_blocks);
	size_t count = 0, step;

	for (step = 1; count < 2000; count += step++) {
		struct atf_index *index;
		struct ada_event event;

		assert_int_equal(atf_index_open(&index, fixture->path, NULL), 0);
		assert_int_equal(atf_index_completeness(index), ATF_NO_FOOTER);
		assert_int_equal(atf_index_count(index), count);
		assert_int_equal(atf_index_header(index)->thread_id, THREAD_ID);
		if (count) {
			struct ada_event last = fixture_event(count - 1);

			assert_int_equal(atf_index_get(index, count - 1, &event), 0);
			assert_memory_equal(&event, &last, sizeof event);
		}
		atf_index_close(index);
		writer_append(writer, count, step);
		assert_int_equal(atf_index_writer_flush(writer), 0);
	}
	assert_int_equal(atf_index_writer_close(writer, false), 0);
	expect_file(fixture->path, count, false);
}

/* No room for a file of more than 10,000 bytes: what fits is there, whole, and can be recovered. */
static void test_no_room_on_the_device(void **state)
{
	struct fixture *fixture = *state;
	struct atf_index_writer *writer = writer_open(fixture->path, &small_blocks);
	struct rlimit unlimited, limit;
	struct ada_event events[400];
	int status, error;

	fixture_events(events, 0, 400);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
	limit = (struct rlimit){ 10000, unlimited.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	status = atf_index_writer_append(writer, events, 400);
	error = errno;
	assert_int_equal(atf_index_writer_close(writer, false), -ATF_ERROR_SYSTEM);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
	assert_int_equal(status, -ATF_ERROR_SYSTEM);
	assert_int_equal(error, EFBIG);
	assert_int_equal(atf_index_recover(fixture->path, NULL), 0);
	expect_file(fixture->path, (10000 - 64) / 32, false);
}

#define LIVE_FILES 60

/* Finishes some files, one after the other; the reader is told how many there are. */
static void *write_live(void *argument)
{
	const struct fixture *fixture = argument;
	uint32_t segment;

	for (segment = 0; segment < LIVE_FILES; segment++) {
		struct atf_index_writer *writer;
		char path[128];
		size_t i;

		atf_index_path(path, sizeof path, fixture->directory, segment);
		if (atf_index_writer_open(&writer, path, &small_blocks))
			return "open";
		for (i = 0; i < 125 + 7 * segment; i++) {
			struct ada_event event = fixture_event(i);

			if (atf_index_writer_append(writer, &event, 1))
				return "append";
			if (i % 5 == 0 && atf_index_writer_flush(writer))
				return "flush";
		}
		if (atf_index_writer_close(writer, false))
			return "close";
	}
	return NULL;
}

/* Whatever the moment, a file being written is a file without a footer or a complete one, and its events are right. */
static void test_reading_what_is_being_written(void **state)
{
	struct fixture *fixture = *state;
	uint32_t segment = 0;
	pthread_t thread;
	void *failed;

	assert_int_equal(pthread_create(&thread, NULL, write_live, fixture), 0);
	while (segment < LIVE_FILES) {
		enum atf_completeness completeness;
		struct atf_message message;
		struct atf_index *index;
		char path[128];
		uint64_t i;

		atf_index_path(path, sizeof path, fixture->directory, segment);
		if (atf_index_open(&index, path, &message))
			continue; /* not there yet, or not its header */
		completeness = atf_index_completeness(index);
		assert_int_not_equal(completeness, ATF_DAMAGED);
		for (i = 0; i < atf_index_count(index); i++)
			assert_int_equal(atf_index_events(index)[i].timestamp_ns, 1000 + 10 * i);
		if (completeness == ATF_COMPLETE)
			assert_int_equal(i, 125 + 7 * segment++);
		atf_index_close(index);
	}
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
}

static void test_abandon_leaves_events_without_footer(void **state)
{
	struct fixture *fixture = *state;
	struct atf_index_writer *writer = writer_open(fixture->path, &small_blocks);
	struct bytes file;

	writer_append(writer, 0, 300);
	atf_index_writer_abandon(writer);
	file = bytes_read(fixture->path);
	assert_int_equal(file.length, 64 + 300 * 32);
	assert_int_equal(file.bytes[28] | file.bytes[29], 0); /* event_count */
	free(file.bytes);
}

static void test_files_are_private_and_never_overwritten(void **state)
{
	struct fixture *fixture = *state;
	struct atf_index_writer *writer = writer_open(fixture->path, &small_blocks), *second;
	struct stat stat_now;

	assert_int_equal(stat(fixture->path, &stat_now), 0);
	assert_int_equal(stat_now.st_mode & 07777, 0600);
	assert_int_equal(atf_index_writer_open(&second, fixture->path, &small_blocks), -ATF_ERROR_SYSTEM);
	assert_int_equal(errno, EEXIST);
	assert_null(second);
	assert_int_equal(atf_index_writer_close(writer, false), 0);
	assert_int_equal(atf_index_writer_open(&writer, "/nonexistent/index.atf", &small_blocks), -ATF_ERROR_SYSTEM);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(atf_index_writer_open(&writer, fixture->path, &(struct atf_index_options){ .block_bytes = 5000 }),
			 -ATF_ERROR_RANGE);
}

static void test_segment_paths(void **state)
{
	char path[32];

	assert_int_equal(atf_index_path(path, sizeof path, "d", 0), 0);
	assert_string_equal(path, "d/index.atf");
	assert_int_equal(atf_index_path(path, sizeof path, "d", 12), 0);
	assert_string_equal(path, "d/index.12.atf");
	assert_int_equal(atf_index_path(path, 12, "d", 0), 0);
	assert_int_equal(atf_index_path(path, 11, "d", 0), -ATF_ERROR_RANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_bytes_of_the_file),
		FIXTURE_TEST(test_default_block_size),
		FIXTURE_TEST(test_reserve_and_commit),
		FIXTURE_TEST(test_times_never_fall),
		FIXTURE_TEST(test_times_never_fall_between_segments),
		FIXTURE_TEST(test_full_segment),
		FIXTURE_TEST(test_flush_shows_all_events),
		FIXTURE_TEST(test_no_room_on_the_device),
		FIXTURE_TEST(test_reading_what_is_being_written),
		FIXTURE_TEST(test_abandon_leaves_events_without_footer),
		FIXTURE_TEST(test_files_are_private_and_never_overwritten),
		cmocka_unit_test(test_segment_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

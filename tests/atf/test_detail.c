/* Detail files, written and read back: every record by place, by detail_seq and by index_seq. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "atf/index/index.h"

static const struct fixture_range three[] = { { 10, 39 }, { 41, 41 }, { 100, 149 } };
#define THREE_EVENTS 200 /* in the index that goes with them */

static bool in_windows(const struct fixture_range *windows, size_t count, uint64_t i)
{
	size_t w;

	for (w = 0; w < count; w++)
		if (i >= windows[w].first && i <= windows[w].last)
			return true;
	return false;
}

/* Every event there is, asked for in every way: found with all its values, or not persisted. */
static void expect_all(const struct atf_detail_file *file, const struct fixture_range *windows, size_t count, uint64_t events)
{
	struct atf_detail record;
	uint64_t i, ordinal = 0;

	for (i = 0; i < events; i++) {
		bool persisted = in_windows(windows, count, i) && fixture_has_detail(i);
		int expected = persisted ? 0 : ATF_NOT_PERSISTED;

		assert_int_equal(atf_detail_find(file, fixture_detail_seq(i), &record), expected);
		if (persisted)
			fixture_expect_detail(&record, i);
		assert_int_equal(atf_detail_find_index(file, (uint32_t)i, &record), expected);
		if (persisted)
			fixture_expect_detail(&record, i);
		if (!persisted)
			continue;
		assert_int_equal(atf_detail_get(file, ordinal++, &record), 0);
		fixture_expect_detail(&record, i);
	}
	assert_int_equal(atf_detail_count(file), ordinal);
	assert_int_equal(atf_detail_get(file, ordinal, &record), -ATF_ERROR_RANGE);
}

static struct atf_detail_file *open_file(const char *path, enum atf_completeness completeness, const char *message)
{
	struct atf_message said;
	struct atf_detail_file *file;
	char expected[256] = "";

	assert_int_equal(atf_detail_open(&file, path, &said), 0);
	if (*message)
		snprintf(expected, sizeof expected, "%s: %s", path, message);
	assert_string_equal(said.text, expected);
	assert_int_equal(atf_detail_completeness(file), completeness);
	return file;
}

static void test_windows_and_records(void **state)
{
	struct fixture *fixture = *state;
	struct atf_detail_file *file;
	AtfDetailWindow window;

	fixture_write_detail(fixture->detail, three, 3, ATF_ARCH_X86_64, true);
	file = open_file(fixture->detail, ATF_COMPLETE, "");
	expect_all(file, three, 3, THREE_EVENTS);
	assert_int_equal(atf_detail_header(file)->thread_id, THREAD_ID);
	assert_int_equal(atf_detail_header(file)->index_seq_start, 10);
	assert_int_equal(atf_detail_header(file)->index_seq_end, 148);
	assert_int_equal(atf_detail_window_count(file), 3);
	assert_int_equal(atf_detail_window(file, 2, &window), 0);
	assert_int_equal(window.start_ns, 1000 + 10 * 100);
	assert_int_equal(window.end_ns, 1000 + 10 * 149);
	assert_int_equal(window.first_detail_seq, 80);
	assert_int_equal(window.first_ordinal, 25);
	assert_int_equal(window.event_count, 40);
	assert_int_equal(window.window_id, 2);
	assert_int_equal(atf_detail_window(file, 3, &window), -ATF_ERROR_RANGE);
	atf_detail_close(file);
}

static void test_arm64(void **state)
{
	struct fixture *fixture = *state;
	struct atf_detail_file *file;

	fixture_write_detail(fixture->detail, three, 3, ATF_ARCH_ARM64, true);
	file = open_file(fixture->detail, ATF_COMPLETE, "");
	assert_int_equal(atf_detail_header(file)->arch, ATF_ARCH_ARM64);
	expect_all(file, three, 3, THREE_EVENTS);
	atf_detail_close(file);
}

/* More than several blocks: records lie across their borders. */
static void test_large(void **state)
{
	static const struct fixture_range large[] = { { 0, 4999 }, { 5000, 9999 } };
	struct fixture *fixture = *state;
	struct atf_detail_file *file;

	fixture_write_detail(fixture->detail, large, 2, ATF_ARCH_X86_64, true);
	file = open_file(fixture->detail, ATF_COMPLETE, "");
	assert_true(atf_detail_header(file)->bytes_length > 4 * (256 << 10));
	expect_all(file, large, 2, 10010);
	atf_detail_close(file);
}

static void test_empty(void **state)
{
	struct fixture *fixture = *state;
	struct atf_detail_file *file;
	struct atf_detail record;

	fixture_write_detail(fixture->detail, NULL, 0, ATF_ARCH_X86_64, true);
	file = open_file(fixture->detail, ATF_COMPLETE, "");
	assert_int_equal(atf_detail_window_count(file), 0);
	expect_all(file, NULL, 0, 10);
	assert_int_equal(atf_detail_find(file, 0, &record), ATF_NOT_PERSISTED);
	atf_detail_close(file);
}

/* A window's bounds and records may go on; one without records leaves no trace. */
static void test_windows_that_change(void **state)
{
	const struct atf_detail_options options = { .thread_id = THREAD_ID, .arch = ATF_ARCH_X86_64 };
	static const struct fixture_range expected[] = { { 3, 8 } };
	struct fixture *fixture = *state;
	AtfDetailWindow window = fixture_window(3, 5), empty = fixture_window(1, 2);
	struct atf_detail_writer *writer;
	struct atf_detail_file *file;
	uint64_t i;

	assert_int_equal(atf_detail_writer_open(&writer, fixture->detail, &options), 0);
	assert_int_equal(atf_detail_writer_window_update(writer, &empty), -ATF_ERROR_RANGE);
	assert_int_equal(atf_detail_writer_window(writer, &empty), 0);
	assert_int_equal(atf_detail_writer_window(writer, &window), 0);
	for (i = 3; i <= 8; i++) {
		struct atf_detail record = fixture_detail(i);

		if (fixture_has_detail(i))
			assert_int_equal(atf_detail_writer_append(writer, &record), 0);
		window.end_ns = record.timestamp_ns;
		window.marked_count = (uint32_t)i;
		window.window_id = 17;
		window.first_ordinal = window.event_count = window.first_detail_seq = 12345; /* the writer knows better */
		assert_int_equal(atf_detail_writer_window_update(writer, &window), 0);
	}
	assert_int_equal(atf_detail_writer_count(writer), 5);
	empty = fixture_window(50, 60);
	assert_int_equal(atf_detail_writer_window(writer, &empty), 0);
	assert_int_equal(atf_detail_writer_close(writer), 0);
	file = open_file(fixture->detail, ATF_COMPLETE, "");
	expect_all(file, expected, 1, 70);
	assert_int_equal(atf_detail_window_count(file), 1);
	assert_int_equal(atf_detail_window(file, 0, &window), 0);
	assert_int_equal(window.end_ns, fixture_event(8).timestamp_ns);
	assert_int_equal(window.marked_count, 8);
	assert_int_equal(window.window_id, 17);
	atf_detail_close(file);
}

static void expect_refused(struct atf_detail_writer *writer, struct atf_detail record)
{
	assert_int_equal(atf_detail_writer_append(writer, &record), -ATF_ERROR_RANGE);
}

static void test_what_the_writer_refuses(void **state)
{
	const struct atf_detail_options options = { .thread_id = THREAD_ID, .arch = ATF_ARCH_X86_64 };
	static const struct fixture_range expected[] = { { 5, 5 } };
	struct fixture *fixture = *state;
	AtfDetailWindow window = fixture_window(5, 8);
	struct atf_detail next = fixture_detail(6), record = fixture_detail(5), wrong; /* its stack is the last one made */
	struct atf_detail_writer *writer;
	struct atf_detail_file *file;

	assert_int_equal(atf_detail_writer_open(&writer, fixture->detail, &options), 0);
	expect_refused(writer, record); /* no window */
	assert_int_equal(atf_detail_writer_window(writer, &window), 0);
	expect_refused(writer, next); /* not the first */
	assert_int_equal(atf_detail_writer_append(writer, &record), 0);
	expect_refused(writer, record); /* again */
	wrong = next, wrong.index_seq = 5;
	expect_refused(writer, wrong);
	wrong = next, wrong.timestamp_ns = record.timestamp_ns - 1;
	expect_refused(writer, wrong);
	wrong = next, wrong.stack_size = 257;
	expect_refused(writer, wrong);
	wrong = next, wrong.detail_seq++;
	expect_refused(writer, wrong);
	window.first_detail_seq = record.detail_seq;
	assert_int_equal(atf_detail_writer_window(writer, &window), -ATF_ERROR_RANGE);
	assert_int_equal(atf_detail_writer_close(writer), 0);
	file = open_file(fixture->detail, ATF_COMPLETE, "");
	expect_all(file, expected, 1, 10);
	atf_detail_close(file);
	assert_int_equal(atf_detail_writer_open(&writer, fixture->detail, &options), -ATF_ERROR_SYSTEM); /* it exists */
}

/* Without a footer the records are found all the same, by index_seq. */
static void expect_without_tables(const struct atf_detail_file *file, uint64_t first, uint64_t last)
{
	struct atf_detail record;
	uint64_t i, ordinal = 0;

	assert_int_equal(atf_detail_window_count(file), 0);
	for (i = first; i <= last; i++) {
		if (!fixture_has_detail(i))
			continue;
		assert_int_equal(atf_detail_get(file, ordinal++, &record), 0);
		assert_int_equal(record.detail_seq, ADA_NO_DETAIL);
		record.detail_seq = fixture_detail_seq(i);
		fixture_expect_detail(&record, i);
		assert_int_equal(atf_detail_find_index(file, (uint32_t)i, &record), 0);
		assert_int_equal(record.index_seq, i);
		assert_int_equal(atf_detail_find(file, fixture_detail_seq(i), &record), -ATF_ERROR_RANGE);
	}
	assert_int_equal(atf_detail_count(file), ordinal);
	assert_int_equal(atf_detail_find_index(file, (uint32_t)last + 10, &record), ATF_NOT_PERSISTED);
}

static void test_while_it_is_written(void **state)
{
	const struct atf_detail_options options = { .thread_id = THREAD_ID, .arch = ATF_ARCH_X86_64 };
	struct fixture *fixture = *state;
	AtfDetailWindow window = fixture_window(0, 99);
	struct atf_detail_writer *writer;
	struct atf_detail_file *file;
	uint64_t i;

	assert_int_equal(atf_detail_writer_open(&writer, fixture->detail, &options), 0);
	file = open_file(fixture->detail, ATF_NO_FOOTER, "no footer (still being written, or left by a crash): 0 records");
	atf_detail_close(file);
	assert_int_equal(atf_detail_writer_window(writer, &window), 0);
	for (i = 0; i < 10; i++) {
		struct atf_detail record = fixture_detail(i);

		if (fixture_has_detail(i))
			assert_int_equal(atf_detail_writer_append(writer, &record), 0);
		assert_int_equal(atf_detail_writer_flush(writer), 0);
	}
	file = open_file(fixture->detail, ATF_NO_FOOTER, "no footer (still being written, or left by a crash): 8 records");
	expect_without_tables(file, 0, 9);
	atf_detail_close(file);
	atf_detail_writer_abandon(writer);
	file = open_file(fixture->detail, ATF_NO_FOOTER, "no footer (still being written, or left by a crash): 8 records");
	expect_without_tables(file, 0, 9);
	atf_detail_close(file);
}

/* --- through a thread --------------------------------------------------------------------------------------------- */

static void expect_thread(struct atf_thread *thread, uint64_t segment_events, bool with_detail)
{
	struct atf_detail record;
	uint64_t i;

	for (i = 0; i < atf_thread_count(thread); i++) {
		uint64_t seq = i % segment_events;
		bool persisted = with_detail && i < 2 * segment_events && in_windows(three, 3, seq) && fixture_has_detail(seq);

		assert_int_equal(atf_thread_detail(thread, i, &record), persisted ? 0 : ATF_NOT_PERSISTED);
		if (persisted)
			fixture_expect_detail(&record, seq);
	}
	assert_int_equal(atf_thread_detail(thread, i, &record), -ATF_ERROR_RANGE);
}

/* Three segments: one finished, one left by a crash, one without detail. */
static void test_thread_of_segments(void **state)
{
	struct fixture *fixture = *state;
	struct atf_thread *thread;
	char path[128];
	uint32_t i;

	for (i = 0; i < 3; i++) {
		assert_int_equal(atf_index_path(path, sizeof path, fixture->directory, i), 0);
		fixture_write_detail_index(path, 0, THREE_EVENTS);
		assert_int_equal(atf_detail_path(path, sizeof path, fixture->directory, i), 0);
		if (i < 2)
			fixture_write_detail(path, three, 3, ATF_ARCH_X86_64, !i);
	}
	assert_string_equal(strrchr(path, '/'), "/detail.2.atf");
	assert_int_equal(atf_detail_path(path, 10, fixture->directory, i), -ATF_ERROR_RANGE);
	assert_int_equal(atf_thread_open(&thread, fixture->directory, NULL), 0);
	expect_thread(thread, THREE_EVENTS, true);
	assert_non_null(atf_thread_detail_file(thread, 1));
	assert_null(atf_thread_detail_file(thread, 2));
	assert_null(atf_thread_detail_file(thread, 3));
	atf_thread_close(thread);
}

static void test_thread_whose_detail_is_broken(void **state)
{
	struct fixture *fixture = *state;
	struct atf_thread *thread;
	struct atf_detail record;

	fixture_write_detail_index(fixture->path, 0, THREE_EVENTS);
	bytes_write(fixture->detail, "oops", 4);
	assert_int_equal(atf_thread_open(&thread, fixture->directory, NULL), 0);
	assert_int_equal(atf_thread_detail(thread, 10, &record), -ATF_ERROR_NOT_ATF);
	assert_int_equal(atf_thread_detail(thread, 11, &record), -ATF_ERROR_NOT_ATF);
	assert_int_equal(atf_thread_detail(thread, 4, &record), ATF_NOT_PERSISTED);
	atf_thread_close(thread);
}

/* Files of another run: the record that the number leads to is not this event's. */
static void test_thread_whose_detail_is_another_one_s(void **state)
{
	static const struct fixture_range window = { 5, 8 };
	struct fixture *fixture = *state;
	struct atf_thread *thread;
	struct atf_detail record;

	fixture_write_detail_index(fixture->path, 5, 10); /* event i has the detail_seq of event i + 5 */
	fixture_write_detail(fixture->detail, &window, 1, ATF_ARCH_X86_64, true);
	assert_int_equal(atf_thread_open(&thread, fixture->directory, NULL), 0);
	assert_int_equal(atf_thread_detail(thread, 0, &record), -ATF_ERROR_CORRUPT);
	atf_thread_close(thread);
}

/* A file without tables is walked from its beginning to its end: its pages don't stay. */
static void test_a_walk_releases_its_pages(void **state)
{
	static const struct fixture_range all = { 0, 200000 };
	struct fixture *fixture = *state;
	struct atf_detail_file *file;
	struct rusage before, behind;
	char path[128];

	snprintf(path, sizeof path, "%s/detail.atf", fixture->directory);
	fixture_write_detail(path, &all, 1, ATF_ARCH_X86_64, false);
	assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
	assert_int_equal(atf_detail_open(&file, path, NULL), 0);
	assert_int_equal(getrusage(RUSAGE_SELF, &behind), 0);
	assert_int_equal(atf_detail_completeness(file), ATF_NO_FOOTER);
	assert_true(atf_detail_count(file) > 150000);
	assert_true(behind.ru_maxrss - before.ru_maxrss < 16 << 10); /* KiB, of some 50 MB */
	atf_detail_close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_windows_and_records),
		FIXTURE_TEST(test_arm64),
		FIXTURE_TEST(test_large),
		FIXTURE_TEST(test_empty),
		FIXTURE_TEST(test_windows_that_change),
		FIXTURE_TEST(test_what_the_writer_refuses),
		FIXTURE_TEST(test_while_it_is_written),
		FIXTURE_TEST(test_thread_of_segments),
		FIXTURE_TEST(test_thread_whose_detail_is_broken),
		FIXTURE_TEST(test_thread_whose_detail_is_another_one_s),
		FIXTURE_TEST(test_a_walk_releases_its_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

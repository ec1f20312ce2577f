/* Recovery of detail files: whole records stay, and get the windows that the index tells of. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVENTS 300
static const struct fixture_range two[] = { { 1, 3 }, { 100, 250 } };
#define RECORDS (3 + 121)

static void expect_recovery(const char *path, int status, const char *text)
{
	struct atf_message message;
	char expected[256];

	snprintf(expected, sizeof expected, "%s: %s", path, text);
	assert_int_equal(atf_detail_recover(path, &message), status);
	assert_string_equal(message.text, expected);
}

/* All records, with these windows; and verify finds nothing wrong. */
static void expect_whole(const struct fixture *fixture, uint64_t window_count)
{
	struct atf_detail_file *file;
	struct atf_detail record;
	struct findings findings;
	uint64_t i, w, ordinal = 0;

	assert_int_equal(atf_detail_open(&file, fixture->detail, NULL), 0);
	assert_int_equal(atf_detail_completeness(file), ATF_COMPLETE);
	assert_int_equal(atf_detail_count(file), RECORDS);
	assert_int_equal(atf_detail_window_count(file), window_count);
	for (w = 0; w < 2; w++)
		for (i = two[w].first; i <= two[w].last; i++) {
			if (!fixture_has_detail(i))
				continue;
			assert_int_equal(atf_detail_get(file, ordinal++, &record), 0);
			if (!window_count)
				record.detail_seq = fixture_detail_seq(i);
			fixture_expect_detail(&record, i);
		}
	atf_detail_close(file);
	assert_int_equal(findings_take_detail(&findings, fixture->detail, access(fixture->path, F_OK) ? NULL : fixture->path), 0);
}

static void test_windows_come_from_the_index(void **state)
{
	struct fixture *fixture = *state;
	struct atf_detail_file *file;
	AtfDetailWindow window;

	fixture_write_detail_index(fixture->path, 0, EVENTS);
	fixture_write_detail(fixture->detail, two, 2, ATF_ARCH_ARM64, false);
	expect_recovery(fixture->detail, 0, "recovered 124 records");
	assert_int_equal(atf_detail_open(&file, fixture->detail, NULL), 0);
	assert_int_equal(atf_detail_header(file)->arch, ATF_ARCH_ARM64);
	assert_int_equal(atf_detail_window(file, 1, &window), 0);
	assert_int_equal(window.start_ns, fixture_event(100).timestamp_ns);
	assert_int_equal(window.end_ns, fixture_event(250).timestamp_ns);
	assert_int_equal(window.first_detail_seq, 80);
	assert_int_equal(window.first_ordinal, 3);
	assert_int_equal(window.event_count, 121);
	assert_int_equal(window.window_id, UINT32_MAX);
	assert_int_equal(window.marked_count, 0);
	atf_detail_close(file);
	unlink(fixture->path);
	expect_whole(fixture, 2);
	expect_recovery(fixture->detail, 0, "complete, nothing to do");
}

static void test_without_an_index(void **state)
{
	struct fixture *fixture = *state;
	struct findings findings;

	fixture_write_detail(fixture->detail, two, 2, ATF_ARCH_X86_64, false);
	expect_recovery(fixture->detail, 0, "recovered 124 records; their windows are not known");
	expect_whole(fixture, 0);
	assert_int_equal(findings_take_detail(&findings, fixture->detail, NULL), 0);
	assert_string_equal(findings.all, "windows: none are known: records are found by index_seq only\n");
}

/* The index was finished without the last events: their records lead nowhere. */
static void test_records_whose_events_are_lost(void **state)
{
	struct fixture *fixture = *state;
	struct findings findings;

	fixture_write_detail_index(fixture->path, 0, 250);
	fixture_write_detail(fixture->detail, two, 2, ATF_ARCH_X86_64, false);
	expect_recovery(fixture->detail, 0, "recovered 123 records; 1 more whose events never reached the index were cut off");
	assert_int_equal(findings_take_detail(&findings, fixture->detail, fixture->path), 0);
	unlink(fixture->path);
	unlink(fixture->detail);
	fixture_write_detail_index(fixture->path, 0, 1);
	fixture_write_detail(fixture->detail, two, 2, ATF_ARCH_X86_64, false);
	expect_recovery(fixture->detail, 0, "recovered 0 records; 124 more whose events never reached the index were cut off");
	assert_int_equal(findings_take_detail(&findings, fixture->detail, fixture->path), 0);
}

/* An index that is not finished may yet get its last events; one of other events says nothing: no window is made up. */
static void test_an_index_that_cannot_tell(void **state)
{
	struct fixture *fixture = *state;
	struct bytes index;

	fixture_write_detail_index(fixture->path, 0, EVENTS);
	index = bytes_read(fixture->path);
	memset(index.bytes + 28, 0, 4);	 /* event_count */
	memset(index.bytes + 40, 0, 24); /* footer_offset, times */
	bytes_write(fixture->path, index.bytes, 64 + 250 * 32);
	free(index.bytes);
	fixture_write_detail(fixture->detail, two, 2, ATF_ARCH_X86_64, false);
	expect_recovery(fixture->detail, 0, "recovered 124 records; their windows are not known");
	unlink(fixture->path);
	unlink(fixture->detail);
	fixture_write_detail_index(fixture->path, 5, EVENTS);
	fixture_write_detail(fixture->detail, two, 2, ATF_ARCH_X86_64, false);
	expect_recovery(fixture->detail, 0, "recovered 124 records; their windows are not known");
	unlink(fixture->path);
	expect_whole(fixture, 0);
}

/* Wherever a crash cuts the file, the whole records before it stay, and what follows is as if never written. */
static void test_every_length(void **state)
{
	struct fixture *fixture = *state;
	static const struct fixture_range window = { 1, 3 };
	struct bytes file;
	size_t length, whole = 0;
	uint32_t next;

	fixture_write_detail_index(fixture->path, 0, EVENTS);
	fixture_write_detail(fixture->detail, &window, 1, ATF_ARCH_X86_64, false);
	file = bytes_read(fixture->detail);
	memcpy(&next, file.bytes + 64, sizeof next);
	next += 64;
	for (length = 64; length <= file.length; length++) {
		struct findings findings;
		struct atf_message message;
		struct atf_detail_file *opened;

		if (length == next) {
			whole++;
			if (length < file.length)
				memcpy(&next, file.bytes + length, sizeof next);
			next += (uint32_t)length;
		}
		bytes_write(fixture->detail, file.bytes, length);
		assert_int_equal(atf_detail_recover(fixture->detail, &message), 0);
		assert_int_equal(findings_take_detail(&findings, fixture->detail, fixture->path), 0);
		assert_int_equal(atf_detail_open(&opened, fixture->detail, NULL), 0);
		assert_int_equal(atf_detail_count(opened), whole);
		atf_detail_close(opened);
	}
	assert_int_equal(whole, 3);
	free(file.bytes);
}

static void test_what_is_cut_off_is_said(void **state)
{
	struct fixture *fixture = *state;
	struct bytes file;
	uint8_t *longer;

	fixture_write_detail_index(fixture->path, 0, EVENTS);
	fixture_write_detail(fixture->detail, two, 2, ATF_ARCH_X86_64, false);
	file = bytes_read(fixture->detail);
	longer = calloc(1, file.length + 5000);
	memcpy(longer, file.bytes, file.length);
	bytes_write(fixture->detail, longer, file.length + 5000); /* space that was allocated: no loss */
	expect_recovery(fixture->detail, 0, "recovered 124 records");
	expect_whole(fixture, 2);
	longer[file.length] = 200; /* the length of a record that isn't there */
	bytes_write(fixture->detail, longer, file.length + 10);
	expect_recovery(fixture->detail, 0, "recovered 124 records; 10 bytes behind them are no whole record and were cut off");
	expect_whole(fixture, 2);
	free(longer);
	free(file.bytes);
}

/* Either half of the end may be on disk without the other. */
static void test_half_finished(void **state)
{
	struct fixture *fixture = *state;
	struct bytes finished, half;

	fixture_write_detail_index(fixture->path, 0, EVENTS);
	fixture_write_detail(fixture->detail, two, 2, ATF_ARCH_X86_64, true);
	finished = bytes_read(fixture->detail);
	half = bytes_read(fixture->detail);
	memset(half.bytes + 32, 0, 32); /* footer and tables, header unfinished: windows stay */
	bytes_write(fixture->detail, half.bytes, half.length);
	expect_recovery(fixture->detail, 0, "recovered 124 records");
	free(half.bytes);
	half = bytes_read(fixture->detail);
	assert_int_equal(half.length, finished.length);
	assert_memory_equal(half.bytes, finished.bytes, finished.length);
	memset(half.bytes + half.length - 64, 0, 64); /* header finished, footer zero */
	bytes_write(fixture->detail, half.bytes, half.length);
	unlink(fixture->path);
	expect_recovery(fixture->detail, 0, "recovered 124 records; their windows are not known");
	expect_whole(fixture, 0);
	free(half.bytes);
	free(finished.bytes);
}

static void test_what_is_refused(void **state)
{
	const struct atf_detail_options options = { .thread_id = THREAD_ID, .arch = ATF_ARCH_X86_64 };
	struct fixture *fixture = *state;
	struct atf_detail_writer *writer;
	struct bytes file;

	assert_int_equal(atf_detail_writer_open(&writer, fixture->detail, &options), 0);
	expect_recovery(fixture->detail, -ATF_ERROR_SYSTEM, "still being written by another process");
	atf_detail_writer_abandon(writer);
	unlink(fixture->detail);
	fixture_write_detail(fixture->detail, two, 2, ATF_ARCH_X86_64, true);
	file = bytes_read(fixture->detail);
	bytes_write(fixture->detail, file.bytes, file.length - 1);
	expect_recovery(fixture->detail, -ATF_ERROR_CORRUPT, "damaged: no valid footer behind the header's 124 records; reading 124");
	memset(file.bytes + 32, 0, 32);
	file.bytes[64 + 40]++;
	bytes_write(fixture->detail, file.bytes, file.length);
	expect_recovery(fixture->detail, -ATF_ERROR_CORRUPT, "damaged: the records do not have the footer's CRC32");
	bytes_write(fixture->detail, "oops", 4);
	expect_recovery(fixture->detail, -ATF_ERROR_NOT_ATF, "not an ATF detail file: it does not begin with \"ATD2\"");
	unlink(fixture->detail);
	expect_recovery(fixture->detail, -ATF_ERROR_SYSTEM, "No such file or directory");
	free(file.bytes);
}

/* The index says that there is detail, also where only recovery could write that. */
static void check_index_names_detail(struct fixture *fixture, int (*end)(struct atf_index_writer *writer))
{
	const struct atf_index_options options = { .thread_id = THREAD_ID, .arch = ATF_ARCH_X86_64 };
	struct atf_index_writer *writer;
	struct atf_index *index;
	struct findings findings;

	assert_int_equal(atf_index_writer_open(&writer, fixture->path, &options), 0);
	assert_int_equal(end(writer), 0);
	fixture_write_detail(fixture->detail, two, 2, ATF_ARCH_X86_64, true);
	assert_int_equal(atf_index_recover(fixture->path, NULL), 0);
	assert_int_equal(atf_index_open(&index, fixture->path, NULL), 0);
	assert_int_equal(atf_index_header(index)->flags, ATF_FLAG_HAS_DETAIL);
	atf_index_close(index);
	assert_int_equal(findings_take(&findings, fixture->path), 0);
}

static int killed(struct atf_index_writer *writer)
{
	atf_index_writer_abandon(writer);
	return 0;
}

static int closed(struct atf_index_writer *writer)
{
	return atf_index_writer_close(writer, false);
}

static void test_the_index_names_the_detail_file(void **state)
{
	check_index_names_detail(*state, killed);
}

/* A window was written behind the index file's end, and its writer killed before it could say so. */
static void test_a_whole_index_names_the_detail_file(void **state)
{
	check_index_names_detail(*state, closed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_windows_come_from_the_index),
		FIXTURE_TEST(test_without_an_index),
		FIXTURE_TEST(test_records_whose_events_are_lost),
		FIXTURE_TEST(test_an_index_that_cannot_tell),
		FIXTURE_TEST(test_every_length),
		FIXTURE_TEST(test_what_is_cut_off_is_said),
		FIXTURE_TEST(test_half_finished),
		FIXTURE_TEST(test_what_is_refused),
		FIXTURE_TEST(test_the_index_names_the_detail_file),
		FIXTURE_TEST(test_a_whole_index_names_the_detail_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

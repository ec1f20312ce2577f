/* Recovery: what a crash leaves becomes the file that a writer would have finished. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "atf/index/index.h"

#define COUNT 300

/* A finished file of COUNT events, and the same as a crash leaves it: header unfinished, no footer. */
static struct bytes finished_and_crashed(const char *path, struct bytes *crashed)
{
	struct bytes finished;

	fixture_write(path, 0, COUNT);
	finished = bytes_read(path);
	*crashed = bytes_read(path);
	memset(crashed->bytes + 28, 0, 4);  /* event_count */
	memset(crashed->bytes + 40, 0, 24); /* footer_offset, times */
	crashed->length -= 64;
	return finished;
}

static void expect_recovery(const char *path, int status, const char *text)
{
	struct atf_message message;
	char expected[256];

	snprintf(expected, sizeof expected, "%s: %s", path, text);
	assert_int_equal(atf_index_recover(path, &message), status);
	assert_string_equal(message.text, expected);
}

static void expect_bytes(const char *path, const struct bytes *expected)
{
	struct bytes file = bytes_read(path);

	assert_int_equal(file.length, expected->length);
	assert_memory_equal(file.bytes, expected->bytes, expected->length);
	free(file.bytes);
}

static void test_without_footer(void **state)
{
	static const size_t more[] = { 0, 1, 31 }; /* of the next event */
	struct fixture *fixture = *state;
	struct bytes crashed, finished = finished_and_crashed(fixture->path, &crashed);
	size_t i;

	for (i = 0; i < sizeof more / sizeof *more; i++) {
		bytes_write(fixture->path, crashed.bytes, crashed.length + more[i]);
		expect_recovery(fixture->path, 0, "recovered 300 events");
		expect_bytes(fixture->path, &finished);
		expect_recovery(fixture->path, 0, "complete, nothing to do");
		expect_bytes(fixture->path, &finished);
	}
	free(crashed.bytes);
	free(finished.bytes);
}

static void test_space_never_written_at_the_end(void **state)
{
	struct fixture *fixture = *state;
	struct bytes crashed, finished = finished_and_crashed(fixture->path, &crashed);
	uint8_t *longer = calloc(1, crashed.length + 5000);

	memcpy(longer, crashed.bytes, crashed.length);
	bytes_write(fixture->path, longer, crashed.length + 5000);
	expect_recovery(fixture->path, 0, "recovered 300 events");
	expect_bytes(fixture->path, &finished);
	free(longer);
	free(crashed.bytes);
	free(finished.bytes);
}

/* Either half of the end may be on disk without the other. */
static void test_half_finished(void **state)
{
	struct fixture *fixture = *state;
	struct bytes crashed, finished = finished_and_crashed(fixture->path, &crashed);

	bytes_write(fixture->path, crashed.bytes, crashed.length + 64); /* footer, header unfinished */
	expect_recovery(fixture->path, 0, "recovered 300 events");
	expect_bytes(fixture->path, &finished);
	memcpy(crashed.bytes, finished.bytes, 64);
	memset(crashed.bytes + crashed.length, 0, 64); /* header finished, footer zero */
	bytes_write(fixture->path, crashed.bytes, crashed.length + 64);
	expect_recovery(fixture->path, 0, "recovered 300 events");
	expect_bytes(fixture->path, &finished);
	free(crashed.bytes);
	free(finished.bytes);
}

/* Events 0 to 9 and 126 to 253 (a block) never reached the file: 138 losses of one event, each in its place. */
static void test_holes_become_losses(void **state)
{
	struct fixture *fixture = *state;
	struct bytes crashed, finished = finished_and_crashed(fixture->path, &crashed);
	struct findings findings;
	struct atf_index *index;
	uint64_t i;

	memset(crashed.bytes + 64, 0, 10 * 32);
	memset(crashed.bytes + 4096, 0, 4096);
	bytes_write(fixture->path, crashed.bytes, crashed.length);
	assert_true(findings_take(&findings, fixture->path) > 0);
	expect_recovery(fixture->path, 0, "recovered 162 events; 138 more never reached the file");
	assert_int_equal(findings_take(&findings, fixture->path), 0);
	assert_non_null(strstr(findings.all, "losses: 138 events were lost, at 138 places"));
	assert_int_equal(atf_index_open(&index, fixture->path, NULL), 0);
	assert_int_equal(atf_index_count(index), COUNT);
	for (i = 0; i < COUNT; i++) {
		struct ada_event expected = fixture_event(i);

		if (i < 10 || (i >= 126 && i < 254)) {
			expected = (struct ada_event){
				fixture_event(i < 10 ? 10 : 125).timestamp_ns, 1, THREAD_ID, ADA_EVENT_LOST, 0, ADA_NO_DETAIL
			};
		}
		assert_memory_equal(&atf_index_events(index)[i], &expected, sizeof expected);
	}
	atf_index_close(index);
	free(crashed.bytes);
	free(finished.bytes);
}

/* Before recovery too a time is found whatever lies before it. */
static void test_times_are_found_beyond_holes(void **state)
{
	struct fixture *fixture = *state;
	struct bytes crashed, finished = finished_and_crashed(fixture->path, &crashed);
	struct random random = { 3 };
	struct atf_index *index;
	uint64_t i, expected;
	int round;

	for (round = 0; round < 50; round++) {
		size_t first = random_below(&random, COUNT), count = random_below(&random, COUNT - first);

		memcpy(crashed.bytes + 64, finished.bytes + 64, COUNT * 32);
		memset(crashed.bytes + 64 + 32 * first, 0, 32 * count);
		assert_int_equal(atf_index_open_bytes(&index, crashed.bytes, crashed.length, NULL), 0);
		for (i = 0; i < COUNT; i++) {
			expected = i > first && i <= first + count ? first : i;
			assert_int_equal(atf_index_lower_bound(index, fixture_event(i).timestamp_ns), expected);
		}
		atf_index_close(index);
	}
	free(crashed.bytes);
	free(finished.bytes);
}

static void test_header_alone(void **state)
{
	struct fixture *fixture = *state;
	struct bytes empty, header;

	fixture_write(fixture->path, 0, 0);
	empty = bytes_read(fixture->path);
	header = bytes_read(fixture->path);
	memset(header.bytes + 40, 0, 8);
	bytes_write(fixture->path, header.bytes, 64);
	expect_recovery(fixture->path, 0, "recovered 0 events");
	expect_bytes(fixture->path, &empty);
	free(header.bytes);
	free(empty.bytes);
}

/* What recovery can't mend it leaves byte for byte as it was. */
static void test_what_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct bytes crashed, finished = finished_and_crashed(fixture->path, &crashed);
	int device;

	finished.length -= 100;
	bytes_write(fixture->path, finished.bytes, finished.length);
	expect_recovery(fixture->path, -ATF_ERROR_CORRUPT, "cut: 298 of 300 events are left");
	expect_bytes(fixture->path, &finished);

	crashed.bytes[1000] ^= 1; /* the footer that is there contradicts the events */
	crashed.length += 64;
	bytes_write(fixture->path, crashed.bytes, crashed.length);
	expect_recovery(fixture->path, -ATF_ERROR_CORRUPT, "damaged: the events do not have the footer's CRC32");
	expect_bytes(fixture->path, &crashed);

	bytes_write(fixture->path, "#!/bin/sh", 9);
	expect_recovery(fixture->path, -ATF_ERROR_NOT_ATF, "not an ATF index file: it does not begin with \"ATI2\"");
	expect_recovery("/nonexistent/index.atf", -ATF_ERROR_SYSTEM, "No such file or directory");
	expect_recovery("/dev/null", -ATF_ERROR_NOT_ATF, "not a regular file");
	device = open("/dev/null", O_RDONLY | O_CLOEXEC); /* another process's lock of it, say */
	flock(device, LOCK_SH | LOCK_NB);
	expect_recovery("/dev/null", -ATF_ERROR_NOT_ATF, "not a regular file");
	close(device);
	free(crashed.bytes);
	free(finished.bytes);
}

static void test_a_file_being_written_is_left_alone(void **state)
{
	struct atf_index_options options = { .thread_id = THREAD_ID, .arch = ATF_ARCH_X86_64 };
	struct fixture *fixture = *state;
	struct atf_index_writer *writer;
	struct ada_event event = fixture_event(0);

	assert_int_equal(atf_index_writer_open(&writer, fixture->path, &options), 0);
	expect_recovery(fixture->path, -ATF_ERROR_SYSTEM, "still being written by another process");
	assert_int_equal(atf_index_writer_append(writer, &event, 1), 0);
	atf_index_writer_abandon(writer);
	expect_recovery(fixture->path, 0, "recovered 1 events");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_without_footer),
		FIXTURE_TEST(test_space_never_written_at_the_end),
		FIXTURE_TEST(test_half_finished),
		FIXTURE_TEST(test_holes_become_losses),
		FIXTURE_TEST(test_times_are_found_beyond_holes),
		FIXTURE_TEST(test_header_alone),
		FIXTURE_TEST(test_what_is_refused),
		FIXTURE_TEST(test_a_file_being_written_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

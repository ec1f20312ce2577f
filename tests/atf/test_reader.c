/* The reader on good files: what it answers, against a scan. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct atf_index *index_open(const char *path)
{
	struct atf_message message;
	struct atf_index *index;

	assert_int_equal(atf_index_open(&index, path, &message), 0);
	assert_string_equal(message.text, "");
	assert_int_equal(atf_index_completeness(index), ATF_COMPLETE);
	return index;
}

static void test_events_by_index_seq(void **state)
{
	struct fixture *fixture = *state;
	struct atf_index *index;
	struct ada_event event;
	uint64_t i;

	fixture_write(fixture->path, 0, 1000);
	index = index_open(fixture->path);
	assert_int_equal(atf_index_count(index), 1000);
	assert_int_equal(atf_index_header(index)->event_count, 1000);
	assert_int_equal(atf_index_header(index)->time_start_ns, 1000);
	assert_int_equal(atf_index_header(index)->time_end_ns, 10990);
	for (i = 0; i < 1000; i++) {
		struct ada_event expected = fixture_event(i);

		assert_int_equal(atf_index_get(index, i, &event), 0);
		assert_memory_equal(&event, &expected, sizeof event);
		assert_memory_equal(&atf_index_events(index)[i], &expected, sizeof event);
	}
	assert_int_equal(atf_index_get(index, 1000, &event), -ATF_ERROR_RANGE);
	assert_int_equal(atf_index_get(index, UINT64_MAX, &event), -ATF_ERROR_RANGE);
	atf_index_close(index);
}

/* A small file's bytes are read and not mapped: nothing that happens to it afterwards is seen. A page is where that ends. */
static void test_around_a_page(void **state)
{
	const size_t in_a_page = (4096 - sizeof(AtfIndexHeader) - sizeof(AtfIndexFooter)) / sizeof(struct ada_event);
	struct fixture *fixture = *state;

	for (size_t count = in_a_page - 2; count < in_a_page + 3; count++) {
		struct atf_index *index;

		unlink(fixture->path);
		fixture_write(fixture->path, count, count);
		index = index_open(fixture->path);
		assert_int_equal(atf_index_count(index), count);
		if (count <= in_a_page)
			assert_int_equal(truncate(fixture->path, 0), 0);
		for (uint64_t i = 0; i < count; i++) {
			struct ada_event expected = fixture_event(count + i);

			assert_memory_equal(&atf_index_events(index)[i], &expected, sizeof expected);
			assert_int_equal(atf_index_lower_bound(index, expected.timestamp_ns), i);
		}
		atf_index_close(index);
	}
}

static void test_empty_index(void **state)
{
	struct fixture *fixture = *state;
	struct atf_index *index;
	struct ada_event event;

	fixture_write(fixture->path, 0, 0);
	index = index_open(fixture->path);
	assert_int_equal(atf_index_count(index), 0);
	assert_int_equal(atf_index_lower_bound(index, 0), 0);
	assert_int_equal(atf_index_lower_bound(index, UINT64_MAX), 0);
	assert_int_equal(atf_index_get(index, 0, &event), -ATF_ERROR_RANGE);
	atf_index_close(index);
}

/* A sparse file of more events than a u32 counts: the header's count saturates, the footer's holds. */
static void test_more_events_than_the_header_can_count(void **state)
{
	const uint64_t count = UINT32_MAX + 10ull, footer_offset = 64 + 32 * count;
	struct fixture *fixture = *state;
	AtfIndexHeader header;
	AtfIndexFooter footer = { .event_count = count, .bytes_written = 32 * count };
	struct ada_event last = fixture_event(0);
	struct atf_index *index;
	struct bytes file;
	int fd;

	fixture_write(fixture->path, 0, 0);
	file = bytes_read(fixture->path);
	memcpy(&header, file.bytes, sizeof header);
	free(file.bytes);
	header.event_count = UINT32_MAX;
	header.footer_offset = footer_offset;
	memcpy(footer.magic, ATF_INDEX_FOOTER_MAGIC, sizeof footer.magic);
	fd = open(fixture->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_int_equal(pwrite(fd, &header, sizeof header, 0), sizeof header);
	if (pwrite(fd, &footer, sizeof footer, (off_t)footer_offset) != sizeof footer)
		test_skip("needs a file system for files of 128 GiB");
	assert_int_equal(pwrite(fd, &last, sizeof last, (off_t)footer_offset - 32), sizeof last);
	close(fd);
	index = index_open(fixture->path);
	assert_int_equal(atf_index_count(index), count);
	assert_int_equal(atf_index_events(index)[count - 1].timestamp_ns, last.timestamp_ns);
	assert_int_equal(atf_index_events(index)[count - 2].timestamp_ns, 0);
	assert_int_equal(atf_index_lower_bound(index, last.timestamp_ns + 1), count);
	atf_index_close(index);
}

static uint64_t lower_bound_by_scan(const struct atf_index *index, uint64_t ns)
{
	uint64_t i = 0;

	while (i < atf_index_count(index) && atf_index_events(index)[i].timestamp_ns < ns)
		i++;
	return i;
}

/* Random steps with many equal times; every time there is, those beside it, and the ends. */
static void test_lower_bound_against_a_scan(void **state)
{
	struct atf_index_options options = { .thread_id = THREAD_ID, .arch = ATF_ARCH_X86_64 };
	struct fixture *fixture = *state;
	struct random random = { 1 };
	int round;

	for (round = 0; round < 50; round++) {
		size_t count = random_below(&random, 200), i;
		uint64_t last_ns, now_ns = random_below(&random, 2) ? 0 : UINT64_MAX - 1000;
		struct atf_index_writer *writer;
		struct atf_index *index;

		assert_int_equal(atf_index_writer_open(&writer, fixture->path, &options), 0);
		for (i = 0; i < count; i++) {
			struct ada_event event = fixture_event(i);

			now_ns += random_below(&random, 3);
			event.timestamp_ns = now_ns;
			assert_int_equal(atf_index_writer_append(writer, &event, 1), 0);
		}
		assert_int_equal(atf_index_writer_close(writer, false), 0);
		index = index_open(fixture->path);
		last_ns = count ? atf_index_header(index)->time_end_ns : 0;
		for (now_ns = last_ns - 450; now_ns != last_ns + 3; now_ns++)
			assert_int_equal(atf_index_lower_bound(index, now_ns), lower_bound_by_scan(index, now_ns));
		assert_int_equal(atf_index_lower_bound(index, 0), 0);
		assert_int_equal(atf_index_lower_bound(index, UINT64_MAX), lower_bound_by_scan(index, UINT64_MAX));
		atf_index_close(index);
		assert_int_equal(unlink(fixture->path), 0);
	}
}

static void test_verify_finds_nothing_wrong(void **state)
{
	static const size_t counts[] = { 0, 1, 126, 5000 };
	struct fixture *fixture = *state;
	struct findings findings;
	size_t i;

	for (i = 0; i < sizeof counts / sizeof *counts; i++) {
		fixture_write(fixture->path, 0, counts[i]);
		assert_int_equal(findings_take(&findings, fixture->path), 0);
		assert_int_equal(findings.made, 9);
		assert_string_equal(findings.all, "");
		assert_int_equal(unlink(fixture->path), 0);
	}
}

/* Unknown kinds, losses and odd depths are told and are no failures. */
static void test_verify_tells_what_is_worth_knowing(void **state)
{
	struct atf_index_options options = { .thread_id = THREAD_ID, .arch = ATF_ARCH_X86_64 };
	struct ada_event events[] = {
		{ 1, 1, THREAD_ID, ADA_EVENT_CALL, 0, ADA_NO_DETAIL },
		{ 2, 2, THREAD_ID, ADA_EVENT_CALL, 1, ADA_NO_DETAIL },
		{ 2, 0x7ffe1000, THREAD_ID, ADA_EVENT_OBJECT, 1, ADA_NO_DETAIL },
		{ 3, 5000, THREAD_ID, ADA_EVENT_RECORDER, 2, ADA_NO_DETAIL },
		{ 3, 0, THREAD_ID, 77, 9, ADA_NO_DETAIL },
		{ 4, 2, THREAD_ID, ADA_EVENT_RETURN, 1, ADA_NO_DETAIL },
		{ 5, 6, THREAD_ID, ADA_EVENT_LOST, 0, ADA_NO_DETAIL },
		{ 6, 3, THREAD_ID, ADA_EVENT_EXCEPTION, 7, ADA_NO_DETAIL },
		{ 7, 3, THREAD_ID, ADA_EVENT_RETURN, 6, ADA_NO_DETAIL },
		{ 8, 4, THREAD_ID, ADA_EVENT_CALL, 7, ADA_NO_DETAIL },
		{ 9, 5, THREAD_ID, ADA_EVENT_LOST, 0, ADA_NO_DETAIL },
	};
	struct fixture *fixture = *state;
	struct atf_index_writer *writer;
	struct findings findings;

	assert_int_equal(atf_index_writer_open(&writer, fixture->path, &options), 0);
	assert_int_equal(atf_index_writer_append(writer, events, 11), 0);
	assert_int_equal(atf_index_writer_close(writer, false), 0);
	assert_int_equal(findings_take(&findings, fixture->path), 0);
	assert_string_equal(findings.all, "kinds: 1 events of unknown kinds, the first at event 4\n"
					  "losses: 11 events were lost, at 2 places\n"
					  "depths: 1 depths do not follow from the event before, the first at event 9"
					  " (rightly so where the program switches stacks)\n");
}

static void test_what_is_no_index(void **state)
{
	struct fixture *fixture = *state;
	char long_path[900], expected[400];
	struct atf_message message;
	struct atf_index *index;

	assert_int_equal(atf_index_open(&index, "/nonexistent/index.atf", &message), -ATF_ERROR_SYSTEM);
	assert_int_equal(errno, ENOENT);
	assert_null(index);
	assert_string_equal(message.text, "/nonexistent/index.atf: No such file or directory");
	assert_int_equal(atf_index_open(&index, "/tmp", &message), -ATF_ERROR_NOT_ATF);
	assert_string_equal(message.text, "/tmp: not a regular file");
	assert_int_equal(atf_index_open(&index, "/dev/zero", &message), -ATF_ERROR_NOT_ATF);
	assert_int_equal(atf_index_open(&index, fixture->path, NULL), -ATF_ERROR_SYSTEM);
	memset(long_path, 'x', sizeof long_path);
	long_path[sizeof long_path - 1] = '\0';
	assert_int_equal(atf_index_open(&index, long_path, &message), -ATF_ERROR_SYSTEM);
	assert_int_equal(errno, ENAMETOOLONG);
	assert_int_equal(strlen(message.text), sizeof message.text - 1);
	strcpy(expected, "x: File name too long");
	assert_string_equal(message.text + strlen(message.text) - strlen(expected), expected);
}

static void test_error_texts(void **state)
{
	int error;

	for (error = ATF_ERROR_NOT_ATF; error <= ATF_ERROR_MEMORY; error++) {
		assert_string_equal(atf_error_text(error), atf_error_text(-error));
		assert_string_not_equal(atf_error_text(error), "unknown error");
	}
	assert_string_equal(atf_error_text(-99), "unknown error");
	errno = ENOSPC;
	assert_string_equal(atf_error_text(-ATF_ERROR_SYSTEM), "No space left on device");
}

static void test_clock(void **state)
{
	uint64_t first_ns = ada_get_timestamp_ns();

	assert_true(first_ns > 0);
	assert_true(ada_get_timestamp_ns() >= first_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_events_by_index_seq),
		FIXTURE_TEST(test_around_a_page),
		FIXTURE_TEST(test_empty_index),
		FIXTURE_TEST(test_more_events_than_the_header_can_count),
		FIXTURE_TEST(test_lower_bound_against_a_scan),
		FIXTURE_TEST(test_verify_finds_nothing_wrong),
		FIXTURE_TEST(test_verify_tells_what_is_worth_knowing),
		FIXTURE_TEST(test_what_is_no_index),
		cmocka_unit_test(test_error_texts),
		cmocka_unit_test(test_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

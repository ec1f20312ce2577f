/* Threads as sequences of segments, and their merge, against plain arrays. */
#include "fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define THREADS_MAX 64

/* --- segments --------------------------------------------------------------------------------------------------- */

static void segments_write(const struct fixture *fixture, const size_t *counts, uint32_t segments)
{
	uint64_t first = 0;
	uint32_t i;

	for (i = 0; i < segments; i++) {
		char path[128];

		assert_int_equal(atf_index_path(path, sizeof path, fixture->directory, i), 0);
		fixture_write(path, first, counts[i]);
		first += counts[i];
	}
}

static void test_segments_are_one_sequence(void **state)
{
	static const size_t counts[] = { 3, 0, 1, 200, 0, 0, 50, 1, 1, 1, 0, 7 };
	const uint32_t segments = sizeof counts / sizeof *counts;
	struct fixture *fixture = *state;
	struct atf_message message;
	struct atf_thread *thread;
	uint64_t i;

	segments_write(fixture, counts, segments);
	assert_int_equal(atf_thread_open(&thread, fixture->directory, &message), 0);
	assert_string_equal(message.text, "");
	assert_int_equal(atf_thread_segments(thread), segments);
	assert_int_equal(atf_thread_count(thread), 264);
	for (i = 0; i < segments; i++)
		assert_int_equal(atf_index_count(atf_thread_segment(thread, (uint32_t)i)), counts[i]);
	assert_null(atf_thread_segment(thread, segments));
	for (i = 0; i < 264; i++) {
		struct ada_event expected = fixture_event(i);

		assert_memory_equal(atf_thread_get(thread, i), &expected, sizeof expected);
		assert_int_equal(atf_thread_lower_bound(thread, expected.timestamp_ns), i);
		assert_int_equal(atf_thread_lower_bound(thread, expected.timestamp_ns - 1), i);
		assert_int_equal(atf_thread_lower_bound(thread, expected.timestamp_ns + 1), i + 1);
	}
	assert_null(atf_thread_get(thread, 264));
	assert_null(atf_thread_get(thread, UINT64_MAX));
	atf_thread_close(thread);
}

/* Over segments: each kind in its place, and captured as the definition says. */
static void test_books(void **state)
{
	static const uint32_t kinds[] = {
		ADA_EVENT_CALL, ADA_EVENT_CALL, ADA_EVENT_RETURN, ADA_EVENT_LOST, ADA_EVENT_EXCEPTION, ADA_EVENT_OBJECT, 0
	};
	struct fixture *fixture = *state;
	struct atf_thread *thread;
	struct atf_books books;

	for (uint32_t segment = 0; segment < 2; segment++) {
		struct atf_index_options options = { .thread_id = 7, .arch = ATF_ARCH_X86_64 };
		struct atf_index_writer *writer;
		char path[128];

		assert_int_equal(atf_index_path(path, sizeof path, fixture->directory, segment), 0);
		assert_int_equal(atf_index_writer_open(&writer, path, &options), 0);
		for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
			struct ada_event event = {
				.timestamp_ns = 100 + i, .function_id = 30 + segment, .thread_id = 7, .event_kind = kinds[i]
			};

			assert_int_equal(atf_index_writer_append(writer, &event, 1), 0);
		}
		assert_int_equal(atf_index_writer_close(writer, false), 0);
	}
	assert_int_equal(atf_thread_open(&thread, fixture->directory, NULL), 0);
	atf_thread_books(thread, 1000, 100, &books);
	assert_int_equal(books.event_count, 14);
	assert_int_equal(books.calls, 4);
	assert_int_equal(books.ends, 4);
	assert_int_equal(books.others, 4);
	assert_int_equal(books.torn, 2);
	assert_int_equal(books.gaps, 2);
	assert_int_equal(books.told, 61);
	assert_int_equal(books.captured, 8 + 1000 + 100);
	atf_thread_books(thread, 0, ATF_BOOKS_UNKNOWN, &books);
	assert_int_equal(books.lost, 61);
	assert_int_equal(books.captured, 8 + 61);
	atf_thread_close(thread);
	atf_thread_books(NULL, 0, 5, &books);
	assert_int_equal(books.event_count, 0);
	assert_int_equal(books.captured, 5);
}

static void test_threads_that_do_not_open(void **state)
{
	static const size_t counts[] = { 3, 3, 3 };
	struct fixture *fixture = *state;
	struct atf_message message;
	struct atf_thread *thread;
	char expected[256], path[128];

	assert_int_equal(atf_thread_open(&thread, "/nonexistent", &message), -ATF_ERROR_SYSTEM);
	assert_string_equal(message.text, "/nonexistent: No such file or directory");
	assert_int_equal(atf_thread_open(&thread, fixture->directory, &message), -ATF_ERROR_NOT_ATF);
	snprintf(expected, sizeof expected, "%s: holds no index.atf", fixture->directory);
	assert_string_equal(message.text, expected);

	segments_write(fixture, counts, 3);
	snprintf(path, sizeof path, "%s/index.1.atf", fixture->directory);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(atf_thread_open(&thread, fixture->directory, &message), 0); /* what lies before the gap */
	assert_true(atf_thread_is_cut(thread));
	assert_int_equal(atf_thread_count(thread), 3);
	snprintf(expected, sizeof expected, "%s: No such file or directory", path);
	assert_string_equal(message.text, expected);
	atf_thread_close(thread);
	snprintf(path, sizeof path, "%s/index.atf", fixture->directory);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(atf_thread_open(&thread, fixture->directory, &message), -ATF_ERROR_SYSTEM);
}

/* Told or not, right or wrong: the same thread. */
static void test_the_number_of_segments_told(void **state)
{
	static const size_t counts[] = { 3, 4, 5 };
	struct fixture *fixture = *state;
	struct atf_message message;
	struct atf_thread *thread;
	char path[128];

	segments_write(fixture, counts, 3);
	for (uint32_t told = 0; told < 6; told++) {
		assert_int_equal(atf_thread_open_known(&thread, fixture->directory, told, &message), 0);
		assert_string_equal(message.text, "");
		assert_int_equal(atf_thread_segments(thread), 3);
		assert_int_equal(atf_thread_count(thread), 12);
		assert_false(atf_thread_is_cut(thread));
		atf_thread_close(thread);
	}
	snprintf(path, sizeof path, "%s/index.1.atf", fixture->directory);
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(atf_thread_open_known(&thread, fixture->directory, 3, &message), 0);
	assert_true(atf_thread_is_cut(thread));
	assert_int_equal(atf_thread_count(thread), 3);
	assert_non_null(strstr(message.text, "index.1.atf"));
	atf_thread_close(thread);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(atf_thread_open_known(&thread, fixture->directory, 3, &message), 0);
	assert_true(atf_thread_is_cut(thread));
	assert_int_equal(atf_thread_count(thread), 3);
	atf_thread_close(thread);
}

/* What a crash in the instant of a segment's creation leaves: nothing is missing. An empty one before others is damage. */
static void test_an_empty_last_segment_is_none(void **state)
{
	static const size_t counts[] = { 3, 4, 5 };
	struct fixture *fixture = *state;
	struct atf_message message;
	struct atf_thread *thread;
	char path[128];

	segments_write(fixture, counts, 3);
	for (uint32_t number = 2; number >= 1; number--) {
		snprintf(path, sizeof path, "%s/index.%u.atf", fixture->directory, number);
		assert_int_equal(truncate(path, 0), 0);
		assert_int_equal(atf_thread_open(&thread, fixture->directory, &message), 0);
		assert_int_equal(atf_thread_segments(thread), number);
		assert_int_equal(atf_thread_is_cut(thread), number == 1);
		assert_int_equal(message.text[0] != 0, number == 1);
		atf_thread_close(thread);
	}
}

/* What damage leaves: the segments before it count. */
static void test_an_unreadable_segment_cuts_the_thread(void **state)
{
	static const size_t counts[] = { 3, 4, 5 };
	static const struct {
		const char *bytes, *problem;
	} cases[] = {
		{ "oops", "not an ATF index file: it does not begin with \"ATI2\"" },
	};
	struct fixture *fixture = *state;
	struct atf_message message;
	struct atf_thread *thread;
	char expected[256], path[128];

	snprintf(path, sizeof path, "%s/index.2.atf", fixture->directory);
	segments_write(fixture, counts, 3);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		bytes_write(path, cases[i].bytes, strlen(cases[i].bytes));
		assert_int_equal(atf_thread_open(&thread, fixture->directory, &message), 0);
		assert_true(atf_thread_is_cut(thread));
		assert_int_equal(atf_thread_count(thread), 7);
		snprintf(expected, sizeof expected, "%s: %s", path, cases[i].problem);
		assert_string_equal(message.text, expected);
		atf_thread_close(thread);
	}
}

static void test_other_files_are_no_segments(void **state)
{
	static const char *const others[] = {
		"index.01.atf", "index.0.atf", "index.1.atf.tmp", "index.x.atf", "index.-1.atf", "detail.atf"
	};
	static const size_t counts[] = { 3 };
	struct fixture *fixture = *state;
	struct atf_thread *thread;
	size_t i;

	segments_write(fixture, counts, 1);
	for (i = 0; i < sizeof others / sizeof *others; i++) {
		char path[128];

		snprintf(path, sizeof path, "%s/%s", fixture->directory, others[i]);
		bytes_write(path, "", 0);
	}
	assert_int_equal(atf_thread_open(&thread, fixture->directory, NULL), 0);
	assert_int_equal(atf_thread_segments(thread), 1);
	atf_thread_close(thread);
}

static void test_the_message_names_the_incomplete_segment(void **state)
{
	static const size_t counts[] = { 3, 4 };
	struct fixture *fixture = *state;
	struct atf_message message;
	struct atf_thread *thread;
	char expected[256], path[128];

	segments_write(fixture, counts, 2);
	snprintf(path, sizeof path, "%s/index.1.atf", fixture->directory);
	assert_int_equal(truncate(path, 64 + 2 * 32), 0);
	assert_int_equal(atf_thread_open(&thread, fixture->directory, &message), 0);
	snprintf(expected, sizeof expected, "%s: cut: 2 of 4 events are left", path);
	assert_string_equal(message.text, expected);
	assert_int_equal(atf_thread_count(thread), 5);
	atf_thread_close(thread);
}

/* --- merge ------------------------------------------------------------------------------------------------------ */

/* An event of a merge, and where it comes from. function_id numbers the events of a thread. */
struct origin {
	uint64_t timestamp_ns, position;
	size_t thread;
};

struct crowd {
	struct atf_thread *threads[THREADS_MAX];
	struct origin *origins; /* of all events, thread after thread */
	size_t count;
};

static int origin_compare(const void *left, const void *right)
{
	const struct origin *a = left, *b = right;

	if (a->timestamp_ns != b->timestamp_ns)
		return a->timestamp_ns < b->timestamp_ns ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->position < b->position ? -1 : a->position > b->position;
}

/* One thread of random times in one to four segments. */
static void crowd_add(struct crowd *crowd, size_t number, const char *directory, struct random *random)
{
	uint32_t segments = 1 + (uint32_t)random_below(random, 4), segment;
	uint64_t now_ns = random_below(random, 50), step = 1 + random_below(random, 5), position = 0;

	for (segment = 0; segment < segments; segment++) {
		struct atf_index_options options = { .thread_id = (uint32_t)number, .arch = ATF_ARCH_X86_64 };
		size_t count = random_below(random, 40), i;
		struct atf_index_writer *writer;
		char path[128];

		assert_int_equal(atf_index_path(path, sizeof path, directory, segment), 0);
		assert_int_equal(atf_index_writer_open(&writer, path, &options), 0);
		for (i = 0; i < count; i++, position++) {
			struct ada_event event = { .timestamp_ns = now_ns += random_below(random, step),
						   .function_id = position,
						   .thread_id = (uint32_t)number,
						   .event_kind = ADA_EVENT_CALL };

			assert_int_equal(atf_index_writer_append(writer, &event, 1), 0);
			crowd->origins[crowd->count++] = (struct origin){ now_ns, position, number };
		}
		atf_index_writer_abandon(writer); /* no fsync: the test is the faster for it */
	}
	assert_int_equal(atf_thread_open(&crowd->threads[number], directory, NULL), 0);
	for (segment = 0; segment < segments; segment++) {
		char path[128];

		atf_index_path(path, sizeof path, directory, segment);
		unlink(path); /* it stays mapped */
	}
}

/* What a merge gives is what sorting gives. */
static void expect_merge(const struct crowd *crowd, size_t threads, uint64_t from_ns, uint64_t to_ns)
{
	const struct ada_event *event;
	struct atf_merge *merge;
	uint64_t position;
	size_t thread, i;

	assert_int_equal(atf_merge_open(&merge, crowd->threads, threads, from_ns, to_ns), 0);
	for (i = 0; i < crowd->count; i++) {
		const struct origin *origin = &crowd->origins[i];

		if (origin->timestamp_ns < from_ns || (to_ns != UINT64_MAX && origin->timestamp_ns >= to_ns))
			continue;
		assert_true(atf_merge_next(merge, &thread, &position, &event));
		assert_int_equal(event->timestamp_ns, origin->timestamp_ns);
		assert_int_equal(thread, origin->thread);
		assert_int_equal(position, origin->position);
		assert_int_equal(event->function_id, position);
		assert_int_equal(event->thread_id, thread);
	}
	assert_false(atf_merge_next(merge, &thread, &position, &event));
	assert_false(atf_merge_next(merge, &thread, &position, &event));
	atf_merge_close(merge);
}

static void test_merge_against_a_sort(void **state)
{
	struct fixture *fixture = *state;
	struct random random = { 2 };
	int round;

	for (round = 0; round < 200; round++) {
		size_t threads = random_below(&random, round % 10 ? 6 : THREADS_MAX), i;
		struct crowd crowd = { .origins = calloc(THREADS_MAX * 4 * 40, sizeof *crowd.origins) };

		for (i = 0; i < threads; i++)
			crowd_add(&crowd, i, fixture->directory, &random);
		qsort(crowd.origins, crowd.count, sizeof *crowd.origins, origin_compare);
		expect_merge(&crowd, threads, 0, UINT64_MAX);
		for (i = 0; i < 5; i++) {
			uint64_t from_ns = random_below(&random, 200), to_ns = random_below(&random, 300);

			expect_merge(&crowd, threads, from_ns, to_ns);
		}
		for (i = 0; i < threads; i++)
			atf_thread_close(crowd.threads[i]);
		free(crowd.origins);
	}
}

static void test_merge_of_nothing(void **state)
{
	const struct ada_event *event;
	struct atf_merge *merge;
	uint64_t position;
	size_t thread;

	assert_int_equal(atf_merge_open(&merge, NULL, 0, 0, UINT64_MAX), 0);
	assert_false(atf_merge_next(merge, &thread, &position, &event));
	atf_merge_close(merge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_segments_are_one_sequence),	FIXTURE_TEST(test_books),
		FIXTURE_TEST(test_threads_that_do_not_open),	FIXTURE_TEST(test_an_unreadable_segment_cuts_the_thread),
		FIXTURE_TEST(test_other_files_are_no_segments), FIXTURE_TEST(test_the_message_names_the_incomplete_segment),
		FIXTURE_TEST(test_merge_against_a_sort),	cmocka_unit_test(test_merge_of_nothing),
		FIXTURE_TEST(test_the_number_of_segments_told), FIXTURE_TEST(test_an_empty_last_segment_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

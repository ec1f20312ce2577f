/* Files written through the ring, with O_DIRECT and flushed remainders between, are what was written. */
#include "../test.h"

#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "recorder/index/sink.h"

static char directory[64];
static bool disturbed;
static unsigned requests; /* that were submitted */

int __real_io_uring_submit(struct io_uring *ring);
int __wrap_io_uring_submit(struct io_uring *ring);

int __wrap_io_uring_submit(struct io_uring *ring)
{
	static const int errors[] = { EAGAIN, EBUSY, ENOMEM, EINTR, 0 };
	static size_t calls;
	int error = disturbed ? errors[calls++ % 5] : 0;

	requests += error ? 0 : io_uring_sq_ready(ring);

	return error ? -error : __real_io_uring_submit(ring);
}

static uint64_t told_ns, step_ns; /* the time, where it isn't 0, and how much later it is each time */
uint64_t __real_ada_clock_boottime_ns(void);
uint64_t __wrap_ada_clock_boottime_ns(void);

uint64_t __wrap_ada_clock_boottime_ns(void)
{
	told_ns += told_ns ? step_ns : 0;
	return told_ns ? told_ns : __real_ada_clock_boottime_ns();
}

static int make_directory(void **state)
{
	strcpy(directory, "/var/tmp/ada-sink-XXXXXX"); /* a disk, where there is one */
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	return rmdir(directory);
}

static void fill(struct ada_event *events, size_t count, uint64_t from)
{
	for (size_t i = 0; i < count; i++)
		events[i] = (struct ada_event){
			.timestamp_ns = from + i, .function_id = from + i, .event_kind = ADA_EVENT_CALL, .thread_id = 1
		};
}

/* Appends in odd pieces with a flush now and then; several files at once. */
static void write_files(struct ada_sink *sink, char paths[][96], size_t files, size_t pieces)
{
	struct atf_index_writer *writers[4];
	struct ada_event events[777];

	for (size_t f = 0; f < files; f++) {
		struct atf_index_options options = { .thread_id = 1, .arch = ATF_ARCH_X86_64, .sink = ada_sink_atf(sink) };

		snprintf(paths[f], sizeof paths[f], "%s/%zu.atf", directory, f);
		assert_int_equal(atf_index_writer_open(&writers[f], paths[f], &options), 0);
	}
	for (size_t piece = 0; piece < pieces; piece++) {
		fill(events, 777, piece * 777);
		for (size_t f = 0; f < files; f++) {
			assert_int_equal(atf_index_writer_append(writers[f], events, 777), 0);
			if (piece % 37 == f)
				assert_int_equal(atf_index_writer_flush(writers[f]), 0);
		}
		ada_sink_poll(sink);
	}
	for (size_t f = 0; f < files; f++)
		assert_int_equal(atf_index_writer_close(writers[f], false), 0);
}

static void print_failure(void *context, const char *check, bool ok, const char *message)
{
	if (!ok)
		print_error("%s: %s\n", check, message);
}

static void check_file(const char *path, size_t count)
{
	struct atf_message message;
	struct atf_index *index;
	struct stat info;
	const struct ada_event *events;

	assert_int_equal(atf_index_open(&index, path, &message), 0);
	assert_int_equal(atf_index_completeness(index), ATF_COMPLETE);
	assert_int_equal(atf_index_count(index), count);
	events = atf_index_events(index);
	for (size_t i = 0; i < count; i++)
		if (events[i].function_id != i)
			fail_msg("event %zu is %llu", i, (unsigned long long)events[i].function_id);
	atf_index_close(index);
	assert_int_equal(atf_index_verify(path, print_failure, NULL), 0);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_size, 128 + 32 * count);
	assert_true(info.st_blocks * 512 < info.st_size + (1 << 20)); /* what was allocated ahead is given back */
	unlink(path);
}

static void round_trip(bool no_ring, size_t pieces)
{
	char paths[4][96];
	struct ada_sink *sink;

	assert_int_equal(ada_sink_open(&sink, no_ring), 0);
	write_files(sink, paths, 4, pieces);
	assert_int_equal(ada_sink_close(sink), 0);
	for (size_t f = 0; f < 4; f++)
		check_file(paths[f], pieces * 777);
}

static void small_files(void **state)
{
	round_trip(false, 1);
}
static void large_files(void **state)
{
	round_trip(false, 400);
}
/* The kernel has no memory, or no place for completions, now and then: what is written is all there. */
static void passing_errors_of_the_ring(void **state)
{
	struct ada_sink *sink;
	char paths[2][96];

	assert_int_equal(ada_sink_open(&sink, false), 0);
	disturbed = true;
	write_files(sink, paths, 2, 200);
	assert_int_equal(ada_sink_close(sink), 0);
	disturbed = false;
	for (size_t i = 0; i < 2; i++)
		check_file(paths[i], 200 * 777);
}

static void without_ring(void **state)
{
	round_trip(true, 100);
}

/* Between two submissions a file's blocks are one request, four at most: 7 MiB are 28 blocks, of which the first 4 go through the page cache. */
static void neighbours_are_one_request(void **state)
{
	const size_t count = (7 << 20) / sizeof(struct ada_event) - 2; /* with the header whole blocks */
	struct ada_event *events = malloc(count * sizeof *events);
	struct atf_index_options options = { .thread_id = 1, .arch = ATF_ARCH_X86_64 };
	struct atf_index_writer *writer;
	struct ada_sink *sink;
	char path[96];

	assert_non_null(events);
	fill(events, count, 0);
	assert_int_equal(ada_sink_open(&sink, false), 0);
	options.sink = ada_sink_atf(sink);
	snprintf(path, sizeof path, "%s/joined.atf", directory);
	assert_int_equal(atf_index_writer_open(&writer, path, &options), 0);
	requests = 0;
	assert_int_equal(atf_index_writer_append(writer, events, count), 0);
	ada_sink_poll(sink);
	assert_in_range(requests, 5, 10);
	assert_int_equal(atf_index_writer_close(writer, false), 0);
	assert_int_equal(ada_sink_close(sink), 0);
	check_file(path, count);
	free(events);
}

/* 40 MB in no time, and at 80 MB a second: 160 blocks, 3 ms each at least. */
static void more_than_disks_take_for_long(void **state)
{
	for (uint64_t step = 0; step < 2; step++) {
		struct ada_sink *sink;
		char paths[4][96];

		assert_int_equal(ada_sink_open(&sink, false), 0);
		told_ns = 1000000000;
		step_ns = step * 3000000;
		write_files(sink, paths, 4, 400);
		told_ns = 0;
		assert_int_equal(ada_sink_holds_up(sink), !step);
		assert_int_equal(ada_sink_close(sink), 0);
		for (size_t f = 0; f < 4; f++)
			check_file(paths[f], 400 * 777);
	}
}

static int lowest_free(void)
{
	int next = dup(0);

	close(next);
	return next;
}

static void closed_files_give_their_descriptors_back(void **state)
{
	struct ada_sink *sink;
	char paths[4][96];
	int before;

	assert_int_equal(ada_sink_open(&sink, false), 0);
	before = lowest_free();
	write_files(sink, paths, 4, 100);
	ada_sink_release(sink);
	assert_int_equal(lowest_free(), before);
	assert_false(ada_sink_release(sink));
	assert_int_equal(ada_sink_close(sink), 0);
	for (size_t i = 0; i < 4; i++)
		check_file(paths[i], 100 * 777);
}

static void existing_files_are_kept(void **state)
{
	char path[96];
	struct ada_sink *sink;
	struct atf_index_writer *writer;
	struct atf_index_options options;

	assert_int_equal(ada_sink_open(&sink, false), 0);
	options = (struct atf_index_options){ .arch = ATF_ARCH_X86_64, .sink = ada_sink_atf(sink) };
	snprintf(path, sizeof path, "%s/taken", directory);
	fclose(fopen(path, "w"));
	assert_int_equal(atf_index_writer_open(&writer, path, &options), -ATF_ERROR_SYSTEM);
	assert_int_equal(errno, EEXIST);
	assert_int_equal(ada_sink_close(sink), 0);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(small_files),
					    cmocka_unit_test(large_files),
					    cmocka_unit_test(neighbours_are_one_request),
					    cmocka_unit_test(more_than_disks_take_for_long),
					    cmocka_unit_test(without_ring),
					    cmocka_unit_test(passing_errors_of_the_ring),
					    cmocka_unit_test(closed_files_give_their_descriptors_back),
					    cmocka_unit_test(existing_files_are_kept) };

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}

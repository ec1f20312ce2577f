/* The writer over a sink that takes its time: blocks are done late and in any order, some fail, the sink breaks. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define HELD_MAX 64

/* A block on its way, with the bytes that it had when it was handed over. */
struct held {
	struct atf_block *block;
	uint8_t *bytes;
};

/* Holds every block until it is waited for; then finishes one at random, and now and then some more. */
struct slow_sink {
	struct atf_sink sink;
	struct random random;
	struct held held[HELD_MAX];
	size_t count, most;  /* blocks held, and the most there ever were */
	size_t written;	     /* blocks finished */
	size_t fail_at;	     /* this block and all after it fail with ENOSPC; 0: none */
	bool refuse, broken; /* write() says EAGAIN; wait() says EIO */
	bool busy;	     /* wait() says EAGAIN, and nothing else is written either */
	bool synced;
};

static int slow_open(struct atf_sink *sink, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

static int slow_write(struct atf_sink *sink, struct atf_block *block)
{
	struct slow_sink *slow = (struct slow_sink *)sink;
	struct held *held = &slow->held[slow->count];

	if (slow->refuse)
		return -EAGAIN;
	assert_true(slow->count < HELD_MAX);
	assert_int_equal((uintptr_t)block->bytes % 4096, 0);
	assert_int_equal(block->offset % 4096, 0);
	assert_true(block->length > 0);
	held->block = block;
	held->bytes = malloc(block->length);
	memcpy(held->bytes, block->bytes, block->length);
	if (++slow->count > slow->most)
		slow->most = slow->count;
	return 0;
}

static void slow_finish_one(struct slow_sink *slow)
{
	size_t number = random_below(&slow->random, slow->count);
	struct held held = slow->held[number];
	int error = 0;

	slow->held[number] = slow->held[--slow->count];
	assert_memory_equal(held.bytes, held.block->bytes, held.block->length);
	if (slow->fail_at && ++slow->written >= slow->fail_at)
		error = -ENOSPC;
	else
		assert_int_equal(pwrite(held.block->fd, held.bytes, held.block->length, held.block->offset), held.block->length);
	free(held.bytes);
	held.block->length = 0; /* a sink may use these */
	held.block->bytes = NULL;
	atf_block_done(held.block, error);
}

static int slow_wait(struct atf_sink *sink, int fd)
{
	struct slow_sink *slow = (struct slow_sink *)sink;

	if (slow->broken || slow->busy)
		return slow->busy ? -EAGAIN : -EIO;
	assert_true(slow->count > 0);
	do
		slow_finish_one(slow);
	while (slow->count && random_below(&slow->random, 3) == 0);
	return 0;
}

static int slow_close(struct atf_sink *sink, int fd, bool sync)
{
	struct slow_sink *slow = (struct slow_sink *)sink;

	assert_int_equal(slow->count, 0);
	slow->synced = sync;
	return close(fd) < 0 ? -errno : 0;
}

static bool slow_later(struct atf_sink *sink, int error)
{
	return error == -EFBIG;
}

static struct slow_sink slow_sink(uint64_t seed)
{
	return (struct slow_sink){ { .open = slow_open, .write = slow_write, .wait = slow_wait, .close = slow_close, .later = slow_later },
				   .random = { seed } };
}

static struct atf_index_writer *writer_open(struct slow_sink *slow, const char *path)
{
	struct atf_index_options options = { .thread_id = THREAD_ID, .arch = ATF_ARCH_X86_64, .sink = &slow->sink, .block_bytes = 8192 };
	struct atf_index_writer *writer;

	assert_int_equal(atf_index_writer_open(&writer, path, &options), 0);
	return writer;
}

static int append_some(struct atf_index_writer *writer, uint64_t *done, size_t count)
{
	struct ada_event events[700];
	int status;

	fixture_events(events, *done, count);
	status = atf_index_writer_append(writer, events, count);
	if (!status)
		*done += count;
	return status;
}

/* Random appends and flushes, then the file must be what a plain writer makes of the same events. */
static void test_blocks_done_in_any_order(void **state)
{
	struct fixture *fixture = *state;
	uint64_t seed;

	for (seed = 1; seed <= 40; seed++) {
		struct slow_sink slow = slow_sink(seed);
		struct atf_index_writer *writer = writer_open(&slow, fixture->path);
		struct bytes file, expected;
		uint64_t done = 0;

		while (done < 6000) {
			assert_int_equal(append_some(writer, &done, random_below(&slow.random, 700)), 0);
			if (random_below(&slow.random, 4) == 0)
				assert_int_equal(atf_index_writer_flush(writer), 0);
			if (slow.count && random_below(&slow.random, 5) == 0)
				slow_finish_one(&slow);
		}
		assert_int_equal(atf_index_writer_close(writer, false), 0);
		assert_true(slow.synced);
		assert_true(slow.most > 2 && slow.most <= 8);
		file = bytes_read(fixture->path);
		assert_int_equal(unlink(fixture->path), 0);
		fixture_write(fixture->path, 0, done);
		expected = bytes_read(fixture->path);
		assert_int_equal(unlink(fixture->path), 0);
		assert_int_equal(file.length, expected.length);
		assert_memory_equal(file.bytes, expected.bytes, file.length);
		free(file.bytes);
		free(expected.bytes);
	}
}

/* What whoever reads a file that is being written sees: the first events, all that the writer knows to be written, and none behind a block that
 * isn't. True: there was such a block. */
static bool expect_a_beginning(const struct fixture *fixture, const struct atf_index_writer *writer)
{
	struct ada_event expected[1024];
	uint64_t written = atf_index_writer_written(writer), count, all;
	struct atf_thread *thread;
	struct atf_index *index;

	assert_int_equal(atf_index_open(&index, fixture->path, NULL), 0);
	all = atf_index_count(index);
	atf_index_close(index);
	assert_int_equal(atf_thread_open(&thread, fixture->directory, NULL), 0);
	count = atf_thread_count(thread);
	assert_true(written <= count && count <= all);
	for (uint64_t i = 0; i < count; i++) {
		if (i % 1024 == 0)
			fixture_events(expected, i, 1024);
		assert_memory_equal(atf_thread_get(thread, i), &expected[i % 1024], sizeof *expected);
	}
	atf_thread_close(thread);
	return count < all;
}

static void test_readers_see_no_holes(void **state)
{
	struct fixture *fixture = *state;
	struct slow_sink slow = slow_sink(3);
	struct atf_index_writer *writer = writer_open(&slow, fixture->path);
	unsigned holes = 0;
	uint64_t done = 0;

	while (done < 20000) {
		assert_int_equal(append_some(writer, &done, random_below(&slow.random, 700)), 0);
		if (random_below(&slow.random, 4) == 0)
			assert_int_equal(atf_index_writer_flush(writer), 0);
		if (slow.count && random_below(&slow.random, 5) == 0)
			slow_finish_one(&slow);
		if (done > 10000) /* in smaller files nothing is in flight */
			holes += expect_a_beginning(fixture, writer);
	}
	assert_true(holes > 4);
	assert_int_equal(atf_index_writer_flush(writer), 0);
	while (slow.count) {
		assert_true(atf_index_writer_written(writer) < done);
		slow_finish_one(&slow);
	}
	assert_int_equal(atf_index_writer_written(writer), done);
	assert_false(expect_a_beginning(fixture, writer));
	assert_int_equal(atf_index_writer_close(writer, false), 0);
}

/* The disk is full: the writer says so from then on, and what it leaves has no footer. */
static void test_a_failed_block_is_told(void **state)
{
	struct fixture *fixture = *state;
	struct slow_sink slow = slow_sink(7);
	struct atf_index_writer *writer = writer_open(&slow, fixture->path);
	struct ada_event *place;
	struct atf_index *index;
	uint64_t done = 0;
	size_t room;

	slow.fail_at = 3;
	while (append_some(writer, &done, 500) == 0)
		assert_true(done < 10000);
	assert_int_equal(errno, ENOSPC);
	errno = 0;
	assert_int_equal(atf_index_writer_reserve(writer, 1, &place, &room), -ATF_ERROR_SYSTEM);
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(atf_index_writer_flush(writer), -ATF_ERROR_SYSTEM);
	errno = 0;
	assert_int_equal(atf_index_writer_close(writer, false), -ATF_ERROR_SYSTEM);
	assert_int_equal(errno, ENOSPC);
	assert_false(slow.synced);
	assert_int_equal(atf_index_open(&index, fixture->path, NULL), 0);
	assert_int_equal(atf_index_completeness(index), ATF_NO_FOOTER);
	atf_index_close(index);
}

static void test_a_refused_block_is_told(void **state)
{
	struct fixture *fixture = *state;
	struct slow_sink slow = slow_sink(7);
	struct atf_index_writer *writer = writer_open(&slow, fixture->path);
	uint64_t done = 0;

	slow.refuse = true;
	assert_int_equal(append_some(writer, &done, 10), 0);
	assert_int_equal(atf_index_writer_flush(writer), -ATF_ERROR_SYSTEM);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(atf_index_writer_close(writer, false), -ATF_ERROR_SYSTEM);
	assert_int_equal(errno, EAGAIN);
}

/* The sink can't say what it still reads: close fails and leaves that memory to it. */
static void test_a_broken_sink_keeps_its_blocks(void **state)
{
	static struct slow_sink slow; /* static: what it holds is no leak */
	struct fixture *fixture = *state;
	struct atf_index_writer *writer;
	uint64_t done = 0;

	slow = slow_sink(7);
	writer = writer_open(&slow, fixture->path);
	assert_int_equal(append_some(writer, &done, 300), 0);
	assert_int_equal(slow.count, 1);
	slow.broken = true;
	assert_int_equal(atf_index_writer_close(writer, false), -ATF_ERROR_SYSTEM);
	assert_int_equal(errno, EIO);
	assert_memory_equal(slow.held[0].bytes, slow.held[0].block->bytes, slow.held[0].block->length);
}

/* Where the sink takes nothing for a while each call says so, and may come again: nothing is lost or comes twice. */
static void test_a_busy_sink_is_asked_again(void **state)
{
	struct fixture *fixture = *state;
	struct slow_sink slow = slow_sink(7);
	struct atf_index_writer *writer = writer_open(&slow, fixture->path);
	struct bytes file, expected;
	uint64_t done = 0;
	int refused = 0;

	while (done < 6000) {
		slow.busy = refused % 3 != 2;
		if (!append_some(writer, &done, 100))
			continue;
		assert_int_equal(errno, EAGAIN);
		assert_true(atf_index_writer_count(writer) >= done);
		done = atf_index_writer_count(writer); /* an append over two blocks may have got half of its way */
		refused++;
	}
	slow.busy = true;
	assert_int_equal(atf_index_writer_close(writer, false), -ATF_ERROR_SYSTEM);
	assert_int_equal(errno, EAGAIN);
	assert_true(refused > 1);
	slow.busy = false;
	assert_int_equal(atf_index_writer_close(writer, false), 0);
	file = bytes_read(fixture->path);
	assert_int_equal(unlink(fixture->path), 0);
	fixture_write(fixture->path, 0, done);
	expected = bytes_read(fixture->path);
	assert_int_equal(file.length, expected.length);
	assert_memory_equal(file.bytes, expected.bytes, file.length);
	free(file.bytes);
	free(expected.bytes);
}

/* Neither does the end of a file that can't be written now spoil the file. */
static void test_a_footer_may_come_later(void **state)
{
	struct fixture *fixture = *state;
	struct slow_sink slow = slow_sink(7);
	struct atf_index_writer *writer = writer_open(&slow, fixture->path);
	struct rlimit before, small = { .rlim_cur = sizeof(AtfIndexHeader) };
	struct atf_index *index;
	uint64_t done = 0;

	assert_int_equal(append_some(writer, &done, 300), 0);
	assert_int_equal(atf_index_writer_flush(writer), 0);
	while (slow.count)
		slow_finish_one(&slow);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small.rlim_max = before.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(atf_index_writer_close(writer, false), -ATF_ERROR_SYSTEM);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(atf_index_writer_close(writer, false), 0);
	assert_int_equal(atf_index_open(&index, fixture->path, NULL), 0);
	assert_int_equal(atf_index_completeness(index), ATF_COMPLETE);
	assert_int_equal(atf_index_count(index), 300);
	atf_index_close(index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_a_busy_sink_is_asked_again),	   FIXTURE_TEST(test_a_footer_may_come_later),
		FIXTURE_TEST(test_blocks_done_in_any_order),	   FIXTURE_TEST(test_readers_see_no_holes),
		FIXTURE_TEST(test_a_failed_block_is_told),	   FIXTURE_TEST(test_a_refused_block_is_told),
		FIXTURE_TEST(test_a_broken_sink_keeps_its_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Segments that lie ready: each is taken once, is its process's from then on, and the others go with the stock. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "recorder/process/stock.h"
#include "../test.h"

#define PATIENCE_US 10000000 /* where memory is limited nothing ever lies ready */
#define STEP_US 1000

static const struct ada_trace_options asked = { .index_buffer_bytes = 1 << 20 };
static struct ada_recorder recorder;
static struct ada_stock *stock;

static int open_stock(void **state)
{
	recorder = (struct ada_recorder){ .options = &asked, .shared.directory = -1 };
	return ada_presence_open(&recorder.presence, NULL) || ada_shared_open(&recorder.shared, NULL) ||
	       ada_stock_open(&stock, &recorder, NULL);
}

static int close_stock(void **state)
{
	ada_stock_close(stock);
	ada_presence_close(&recorder.presence);
	ada_shared_remove(&recorder.shared);
	return 0;
}

static struct ada_segment_options wanted(uint32_t provider)
{
	struct ada_segment_options options = ada_stock_options(&recorder);

	options.pid = 70 + provider;
	options.provider = provider;
	options.named = true;
	return options;
}

static void take(const struct ada_segment_options *options, struct ada_segment *segment, int *agent_fd)
{
	int waited = 0, status;

	if (!recorder.shared.own)
		test_skip("needs the right to mount");
	while ((status = ada_stock_take(stock, options, segment, agent_fd)) == -ENOENT && waited < PATIENCE_US) {
		usleep(STEP_US);
		waited += STEP_US;
	}
	if (status == -ENOENT)
		test_skip("memory is limited here");
	assert_int_equal(status, 0);
}

static void each_is_taken_once(void **state)
{
	struct ada_segment segments[6];
	int agent_fds[6];

	for (uint32_t i = 0; i < 6; i++) {
		struct ada_segment_options options = wanted(i);
		char name[ADA_SHARED_NAME_BYTES];

		take(&options, &segments[i], &agent_fds[i]);
		ada_stock_refill(stock, i % 2);
		assert_int_equal(segments[i].shm->pid, 70 + i);
		assert_int_equal(segments[i].shm->provider, i);
		assert_true(ada_segment_in_use(&segments[i]));
		ada_shared_segment_name(name, i);
		assert_int_equal(faccessat(recorder.shared.directory, name, F_OK, 0), 0);
	}
	for (uint32_t i = 0; i < 6; i++) {
		close(agent_fds[i]);
		assert_false(ada_segment_in_use(&segments[i]));
		ada_segment_destroy(&segments[i]);
	}
}

/* Where segments of short processes come back, no other is made. */
static void a_spare_one_is_given_out_again(void **state)
{
	struct ada_segment_options options = wanted(0);
	struct ada_segment segments[4];
	struct stat first, file;
	int agent_fd;

	for (uint32_t i = 0; i < 3; i++) {
		options = wanted(i);
		take(&options, &segments[i], &agent_fd);
		close(agent_fd);
	}
	assert_int_equal(fstat(segments[1].fd, &first), 0);
	memset(ada_segment_chunk(&segments[1], 0), 7, ADA_CHUNK_BYTES);
	assert_true(ada_stock_wants(stock, &segments[1]));
	ada_stock_give(stock, &segments[1], 1);
	for (uint32_t i = 3, found = 0; !found; i++) { /* one may lie ready already */
		assert_true(i < 6);
		options = wanted(i);
		ada_stock_refill(stock, false);
		take(&options, &segments[3], &agent_fd);
		assert_int_equal(fstat(segments[3].fd, &file), 0);
		found = file.st_ino == first.st_ino;
		assert_int_equal(ada_segment_chunk(&segments[3], 0)->first_seq, 0);
		assert_int_equal(segments[3].shm->provider, i);
		close(agent_fd);
		ada_segment_destroy(&segments[3]);
	}
	ada_segment_destroy(&segments[0]);
	ada_segment_destroy(&segments[2]);
}

static blkcnt_t blocks(const struct ada_segment *segment)
{
	struct stat file;

	assert_int_equal(fstat(segment->fd, &file), 0);
	return file.st_blocks;
}

/* What children get, most of which are gone soon. */
static void all_but_the_first_are_small(void **state)
{
	struct ada_segment segments[3];
	int agent_fd;

	for (uint32_t i = 0; i < 3; i++) {
		struct ada_segment_options options = wanted(i);

		take(&options, &segments[i], &agent_fd);
		ada_stock_refill(stock, true);
		close(agent_fd);
	}
	assert_true(blocks(&segments[1]) < blocks(&segments[0]));
	assert_int_equal(blocks(&segments[1]), blocks(&segments[2]));
	for (uint32_t i = 0; i < 3; i++)
		ada_segment_destroy(&segments[i]);
}

static bool lies(uint32_t number)
{
	for (uint32_t i = 0; i < ADA_READY_PLACES; i++)
		if (__atomic_load_n(&recorder.presence.page->ready[i].number, __ATOMIC_ACQUIRE) == number)
			return true;
	return false;
}

static void await_lying(uint32_t number)
{
	for (int waited = 0; !lies(number); waited += STEP_US) {
		if (waited >= PATIENCE_US)
			test_skip(recorder.shared.own ? "memory is limited here" : "needs the right to mount");
		usleep(STEP_US);
	}
}

/* Where the program asked before it was made: what comes now are children. */
static void the_large_one_goes_where_the_program_has_another(void **state)
{
	await_lying(1);
	__atomic_store_n(&recorder.pool_count, 1, __ATOMIC_RELAXED);
	await_lying(2);
	assert_false(lies(1));
}

static void another_kind_is_not_there(void **state)
{
	struct ada_segment_options options = wanted(1);
	struct ada_segment segment;
	int agent_fd;

	options.scarce = true;
	assert_int_equal(ada_stock_take(stock, &options, &segment, &agent_fd), -ENOENT);
	options = wanted(1);
	options.index_buffer_bytes *= 2;
	assert_int_equal(ada_stock_take(stock, &options, &segment, &agent_fd), -ENOENT);
	options = wanted(1);
	assert_int_equal(ada_stock_take(NULL, &options, &segment, &agent_fd), -ENOENT);
}

static struct ada_shm *map_ready(const struct ada_ready *ready)
{
	char path[64];
	struct stat file;
	struct ada_shm *shm;
	int fd;

	snprintf(path, sizeof path, "/proc/%u/fd/%d", recorder.presence.page->recorder_pid, ready->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0 && !fstat(fd, &file) && file.st_dev == ready->device && file.st_ino == ready->inode);
	shm = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(shm != MAP_FAILED);
	close(fd);
	return shm;
}

/* Takes one as a fork's child does, by what the page says. */
static struct ada_shm *take_as_a_child(uint32_t *number)
{
	const struct ada_presence *page = recorder.presence.page;

	for (int waited = 0; waited < PATIENCE_US; waited += STEP_US) {
		for (uint32_t i = 0; i < ADA_READY_PLACES; i++) {
			uint32_t lies = ADA_READY_LIES;
			struct ada_shm *shm;

			*number = __atomic_load_n(&page->ready[i].number, __ATOMIC_ACQUIRE);
			if (!*number)
				continue;
			shm = map_ready(&page->ready[i]);
			assert_int_equal(shm->ready.number, *number);
			if (__atomic_compare_exchange_n(&shm->ready.state, &lies, ADA_READY_TAKEN, false, __ATOMIC_SEQ_CST,
							__ATOMIC_RELAXED))
				return shm;
			munmap(shm, shm->total_bytes);
		}
		usleep(STEP_US);
	}
	test_skip(recorder.shared.own ? "memory is limited here" : "needs the right to mount");
	return NULL;
}

static void a_child_takes_one_by_itself(void **state)
{
	struct ada_segment_options options = wanted(4);
	struct ada_segment segment, other;
	uint32_t number, second;
	struct ada_shm *shm, *more;
	int agent_fd;

	ada_stock_refill(stock, true);
	shm = take_as_a_child(&number);
	more = take_as_a_child(&second);
	assert_int_not_equal(number, second);
	take(&options, &other, &agent_fd); /* the recorder gets another one */
	assert_int_not_equal(other.shm->ready.number, number);
	assert_int_equal(ada_stock_adopt(stock, number + 1000, &segment), -ENOENT);
	ada_stock_done(stock, number); /* of somebody who adopted nothing */
	assert_int_equal(ada_stock_adopt(stock, number, &segment), 0);
	shm->crash.code = 1234;
	assert_int_equal(segment.shm->crash.code, 1234);
	assert_int_equal(ada_stock_adopt(stock, number, &other), -ENOENT); /* once */
	ada_stock_done(stock, number);
	ada_segment_destroy(&segment);
	ada_segment_destroy(&other);
	close(agent_fd);
	munmap(shm, shm->total_bytes);
	/* Who has one when the recording ends records no more, and is named. */
	more->threads_seen = 1;
	ada_stock_end(stock);
	assert_int_equal(more->stop, 1);
	assert_int_equal(recorder.unrecorded.count, 1);
	assert_int_equal(ada_stock_adopt(stock, second, &segment), -ESHUTDOWN);
	ada_array_free(&recorder.unrecorded);
	close_stock(state);
	munmap(more, more->total_bytes);
	open_stock(state);
}

static bool is_listed(uint32_t number)
{
	bool listed = false;

	for (uint32_t i = 0; i < ADA_READY_PLACES; i++)
		listed |= __atomic_load_n(&recorder.presence.page->ready[i].number, __ATOMIC_ACQUIRE) == number;
	return listed;
}

/* Its taker left it to ask, or died before it could say anything; but not while the taker lives. */
static void what_nobody_uses_is_given_up(void **state)
{
	uint32_t left, dead, kept;
	struct ada_shm *shm = take_as_a_child(&left), *still;
	int waited;

	__atomic_store_n(&shm->ready.state, ADA_READY_LEFT, __ATOMIC_RELEASE);
	munmap(shm, shm->total_bytes);
	ada_stock_refill(stock, true);
	shm = take_as_a_child(&dead);
	still = take_as_a_child(&kept);
	munmap(shm, shm->total_bytes);
	for (waited = 0; (is_listed(left) || is_listed(dead)) && waited < PATIENCE_US; waited += STEP_US)
		usleep(STEP_US);
	assert_true(waited < PATIENCE_US);
	assert_true(is_listed(kept));
	munmap(still, still->total_bytes);
}

static volatile bool entered;

static void *adopt_late(void *argument)
{
	uint32_t number = *(const uint32_t *)argument;
	struct ada_segment segment;

	usleep(20 * STEP_US);
	if (ada_stock_adopt(stock, number, &segment))
		return NULL;
	ada_segment_destroy(&segment);
	entered = true;
	ada_stock_entered(stock, number);
	return NULL;
}

/* Whoever comes out of one waits until it is known; whoever changes the rules waits for those that began before. */
static void those_on_their_way_are_waited_for(void **state)
{
	uint32_t number, another;
	struct ada_shm *shm;
	pthread_t thread;

	ada_stock_settle(stock);
	ada_stock_settle(NULL);
	shm = take_as_a_child(&number);
	assert_int_equal(pthread_create(&thread, NULL, adopt_late, &number), 0);
	ada_stock_await(stock, number);
	assert_true(entered);
	pthread_join(thread, NULL);
	ada_stock_done(stock, number);
	ada_stock_await(stock, number);
	ada_stock_settle(stock);
	munmap(shm, shm->total_bytes);
	shm = take_as_a_child(&another);
	ada_stock_settle(stock); /* nobody hears of this one: it waits for some time */
	assert_true(is_listed(another));
	munmap(shm, shm->total_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(a_child_takes_one_by_itself, open_stock, close_stock),
					    cmocka_unit_test_setup_teardown(what_nobody_uses_is_given_up, open_stock, close_stock),
					    cmocka_unit_test_setup_teardown(those_on_their_way_are_waited_for, open_stock, close_stock),
					    cmocka_unit_test_setup_teardown(each_is_taken_once, open_stock, close_stock),
					    cmocka_unit_test_setup_teardown(a_spare_one_is_given_out_again, open_stock, close_stock),
					    cmocka_unit_test_setup_teardown(all_but_the_first_are_small, open_stock, close_stock),
					    cmocka_unit_test_setup_teardown(the_large_one_goes_where_the_program_has_another, open_stock,
									    close_stock),
					    cmocka_unit_test_setup_teardown(another_kind_is_not_there, open_stock, close_stock) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

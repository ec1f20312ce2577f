/* What a process at rest gives back, and that nothing goes which an agent has: agents take and make chunks as agent/record/extend.c does. */
#include "../test.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "recorder/index/segment.h"
#include "shared_places.h"

#define MIB (1u << 20)
#define TAKERS 3u
#define MOST 40u /* chunks that a taker has at once, at most */
#define STEP 8u
#define RESTS 100u

static int agent_fd;
static uint32_t *moved; /* a front that an agent moves on while memory goes; NULL: none does */

/* In place of libc's. */
int fallocate64(int fd, int mode, off64_t offset, off64_t bytes)
{
	if (moved && mode & FALLOC_FL_PUNCH_HOLE)
		*moved += STEP;
	return (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
}

static struct ada_segment create(void)
{
	struct ada_segment_options options = { .shared = &shared,
					       .index_buffer_bytes = 64 * MIB,
					       .detail_buffer_bytes = 64 * MIB,
					       .detail_stack_bytes = 128,
					       .pid = 1,
					       .provider = 2 };
	struct ada_segment segment;
	struct ada_error error = { "" };

	moved = NULL;
	if (shared.directory < 0)
		test_skip("needs the right to mount");
	assert_int_equal(ada_segment_create(&segment, &options, &agent_fd, &error), 0);
	return segment;
}

static void destroy(struct ada_segment *segment)
{
	moved = NULL;
	close(agent_fd);
	ada_segment_destroy(segment);
}

static uint32_t count_free(const uint64_t *map, uint32_t chunks)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < chunks; i++)
		count += ada_map_has(map, i);
	return count;
}

static uint64_t memory_of(const struct ada_segment *segment)
{
	struct stat file;

	assert_int_equal(fstat(segment->fd, &file), 0);
	return (uint64_t)file.st_blocks * 512;
}

static void grow(struct ada_segment *segment)
{
	while (ada_segment_grow(segment))
		;
}

static bool is_all(const void *start, uint8_t value, uint64_t bytes)
{
	const uint8_t *at = start;

	return *at == value && !memcmp(at, at + 1, bytes - 1);
}

/* Looks twice: nothing was taken between. */
static void rest(struct ada_segment *segment)
{
	ada_segment_rest(segment, 1);
	ada_segment_rest(segment, 2);
}

static void idle_memory_comes_back(void **state)
{
	struct ada_segment segment = create();
	uint64_t before;
	uint32_t many;

	grow(&segment);
	many = segment.chunks_ready;
	before = memory_of(&segment);
	ada_segment_rest(&segment, 1); /* what grew just now isn't at rest */
	assert_int_equal(segment.chunks_ready, many);
	ada_segment_rest(&segment, 2);
	assert_int_equal(segment.chunks_ready, 64);
	assert_int_equal(segment.shm->index_front, 64);
	assert_int_equal(count_free(segment.free_map, segment.chunks), 64);
	assert_true(memory_of(&segment) + (many - 64) * ADA_CHUNK_BYTES <= before);
	before = memory_of(&segment);
	grow(&segment);
	rest(&segment);
	assert_int_equal(segment.chunks_ready, 64); /* it stays so */
	assert_int_equal(memory_of(&segment), before);
	segment.free_map[0] &= UINT64_MAX << 56; /* most are taken: it wakes */
	grow(&segment);
	assert_true(segment.chunks_ready > 128);
	assert_int_equal(segment.shm->index_front, segment.chunks_ready);
	assert_int_equal(count_free(segment.free_map, segment.chunks), segment.chunks_ready - 56);
	destroy(&segment);
}

static void detail_comes_back(void **state)
{
	struct ada_segment segment = create();
	uint32_t ready, first;

	for (int i = 0; i < 3; i++) {
		grow(&segment);
		memset(segment.detail_free_map, 0, segment.detail_chunks / 8); /* all are in use */
	}
	grow(&segment);
	ready = segment.detail_ready;
	for (uint32_t i = 20; i < ready; i++) /* but for the first 20 they come back */
		ada_map_give(segment.detail_free_map, i);
	memset(ada_segment_detail_chunk(&segment, 19), 7, segment.detail_chunk_bytes);
	rest(&segment);
	first = segment.detail_ready;
	assert_in_range(first, 24, ready - 1);
	assert_int_equal(segment.shm->detail_front, first);
	assert_int_equal(count_free(segment.detail_free_map, segment.detail_chunks), first - 20);
	assert_true(is_all(ada_segment_detail_chunk(&segment, 19), 7, segment.detail_chunk_bytes));
	for (uint32_t i = 0; i < first; i++) /* those that are free have memory */
		assert_true(ada_segment_detail_is_resident(&segment, i));
	assert_false(ada_segment_detail_reach(&segment, first));
	destroy(&segment);
}

/* What an agent has, or the recorder has yet to read, keeps all before it. */
static void nothing_goes_before_a_chunk_in_use(void **state)
{
	struct ada_segment segment = create();
	uint32_t many;

	grow(&segment);
	many = segment.chunks_ready;
	segment.free_map[(many - 1) / 64] &= ~(1ull << (many - 1) % 64);
	memset(ada_segment_chunk(&segment, many - 1), 9, ADA_CHUNK_BYTES);
	rest(&segment);
	assert_int_equal(segment.chunks_ready, many);
	assert_int_equal(segment.shm->index_front, many);
	assert_true(is_all(ada_segment_chunk(&segment, many - 1), 9, ADA_CHUNK_BYTES));
	assert_int_equal(count_free(segment.free_map, segment.chunks), many - 1);
	destroy(&segment);
}

/* An agent found nothing free at that moment, and took chunks behind: those that were to go are free again, and have memory. */
static void the_front_moves_on_meanwhile(void **state)
{
	struct ada_segment segment = create();
	uint32_t many;

	grow(&segment);
	many = segment.chunks_ready;
	ada_segment_rest(&segment, 1);
	moved = &segment.shm->index_front;
	ada_segment_rest(&segment, 2);
	moved = NULL;
	assert_int_equal(segment.shm->index_front, many + STEP);
	assert_int_equal(segment.chunks_ready, many);
	assert_int_equal(count_free(segment.free_map, segment.chunks), many);
	for (uint32_t i = 0; i < many; i++) {
		assert_true(ada_segment_chunk_is_there(&segment, i));
		assert_int_equal(ada_segment_chunk(&segment, i)->status, ADA_CHUNK_FREE);
	}
	destroy(&segment);
}

static void no_rest_where_memory_is_scarce(void **state)
{
	struct ada_segment segment = create();
	uint32_t many;

	grow(&segment);
	many = segment.chunks_ready;
	segment.exhausted = true;
	rest(&segment);
	assert_int_equal(segment.chunks_ready, many);
	destroy(&segment);
}

/* Nothing that a hostile agent says of the front makes us let go of anything. */
static void a_hostile_front_is_left_alone(void **state)
{
	struct ada_segment segment = create();
	uint32_t many;

	grow(&segment);
	many = segment.chunks_ready;
	for (uint32_t front = 0; front < 3; front++) {
		segment.shm->index_front = segment.shm->detail_front = (uint32_t[]){ 0, many + 1, UINT32_MAX }[front];
		rest(&segment);
		assert_int_equal(segment.chunks_ready, many);
	}
	destroy(&segment);
}

/* --- agents that are faster ------------------------------------------------------------------------------------------------ */

struct lane {
	uint64_t *map;
	uint32_t *front, count;
	uint8_t *pool;
	uint64_t bytes;
};

/* As an agent does. False: there is none. */
static bool take(const struct lane *lane, uint32_t *number)
{
	uint32_t first = __atomic_load_n(lane->front, __ATOMIC_RELAXED), end;

	if (ada_map_take(lane->map, 0, first < lane->count ? first : lane->count, number))
		return true;
	do {
		end = lane->count - first < STEP ? lane->count : first + STEP;
	} while (first < lane->count && !__atomic_compare_exchange_n(lane->front, &first, end, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	if (first >= lane->count || madvise(lane->pool + first * lane->bytes, (end - first) * lane->bytes, MADV_POPULATE_WRITE))
		return false;
	for (uint32_t chunk = first + 1; chunk < end; chunk++)
		ada_map_give(lane->map, chunk);
	*number = first;
	return true;
}

static uint64_t *word_of(const struct lane *lane, uint32_t number, uint64_t at)
{
	return (uint64_t *)(lane->pool + number * lane->bytes + at);
}

/* Its chunks have what it wrote there, each time that it looks. */
static bool holds(const struct lane *lane, uint32_t number, uint64_t mark)
{
	for (uint64_t at = 0; at < lane->bytes; at += 512)
		if (*(volatile uint64_t *)word_of(lane, number, at) != mark + at)
			return false;
	return true;
}

/* Takes some, few or many, looks at them all, and gives them back; again and again, until there is a byte to be read. */
static void taker(const struct lane *lane, uint32_t seed, int gate)
{
	uint32_t numbers[MOST], random = seed;
	char byte;

	while (read(gate, &byte, 1) < 0) {
		uint32_t count = 0, most = 1 + (random = random * 1664525 + 1013904223) / 65536 % MOST;

		for (; count < most && take(lane, &numbers[count]); count++)
			for (uint64_t at = 0; at < lane->bytes; at += 512)
				*word_of(lane, numbers[count], at) = ((uint64_t)seed << 40) + ((uint64_t)numbers[count] << 20) + at;
		for (uint32_t i = 0; i < count; i++)
			if (!holds(lane, numbers[i], ((uint64_t)seed << 40) + ((uint64_t)numbers[i] << 20)))
				_exit(1);
		for (uint32_t i = 0; i < count; i++)
			ada_map_give(lane->map, numbers[i]);
	}
	_exit(0);
}

/* Nobody else's chunk goes, and no chunk is lost. */
static void race(struct ada_segment *segment, const struct lane *lane, const uint32_t *ready)
{
	uint32_t gave_back = 0;
	pid_t takers[TAKERS];
	int gate[2], status;

	assert_int_equal(pipe2(gate, O_NONBLOCK), 0);
	for (uint32_t i = 0; i < TAKERS; i++) {
		takers[i] = fork();
		if (!takers[i]) {
			close(gate[1]);
			taker(lane, i + 1, gate[0]);
		}
	}
	for (uint32_t i = 0; i < RESTS; i++) {
		uint32_t before;

		ada_segment_grow(segment);
		before = *ready;
		segment->index_rests = segment->detail_rests = 0;
		rest(segment);
		gave_back += *ready < before;
		if (i % 8 == 0)
			usleep(1000); /* so that each has its turn: on one CPU, too */
	}
	close(gate[1]);
	for (uint32_t i = 0; i < TAKERS; i++) {
		assert_int_equal(waitpid(takers[i], &status, 0), takers[i]);
		assert_int_equal(status, 0);
	}
	close(gate[0]);
	assert_true(gave_back > 0);
	assert_int_equal(count_free(lane->map, lane->count), *lane->front);
}

static void agents_take_index_chunks_meanwhile(void **state)
{
	struct ada_segment segment = create();
	const struct lane lane = { segment.free_map, &segment.shm->index_front, segment.chunks, segment.pool, ADA_CHUNK_BYTES };

	race(&segment, &lane, &segment.chunks_ready);
	destroy(&segment);
}

static void agents_take_detail_chunks_meanwhile(void **state)
{
	struct ada_segment segment = create();
	const struct lane lane = { segment.detail_free_map, &segment.shm->detail_front, segment.detail_chunks, segment.detail_pool,
				   segment.detail_chunk_bytes };

	race(&segment, &lane, &segment.detail_ready);
	destroy(&segment);
}

int main(void)
{
	const struct CMUnitTest tests[] = { IN_BOTH(idle_memory_comes_back),
					    IN_BOTH(detail_comes_back),
					    IN_BOTH(nothing_goes_before_a_chunk_in_use),
					    IN_BOTH(the_front_moves_on_meanwhile),
					    IN_BOTH(no_rest_where_memory_is_scarce),
					    IN_BOTH(a_hostile_front_is_left_alone),
					    IN_BOTH(agents_take_index_chunks_meanwhile),
					    IN_BOTH(agents_take_detail_chunks_meanwhile) };

	if (geteuid())
		become_one_who_mounts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The segment: its layout, its parts handed out as they are allocated, and who still has it. In a tmpfs as the recorder makes one, and
 * in one as /dev/shm is, but of a size that is known: how full the machine's is has no say. */
#include "../test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "recorder/index/segment.h"
#include "shared_places.h"

#define HUGE_PAGE (2u << 20)

static int agent_fd;

static int open_small(void **state)
{
	open_tmpfs("24m");
	return 0;
}

static int open_filled(void **state)
{
	int fd = open_tmpfs("512m") < 0 ? -1 : openat(shared.directory, "filler", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0) {
		assert_int_equal(fallocate(fd, 0, 0, 300 << 20), 0);
		close(fd);
	}
	return 0;
}

static struct ada_segment create(uint64_t bytes)
{
	struct ada_segment_options options = { .shared = &shared,
					       .index_buffer_bytes = bytes,
					       .pid = 1,
					       .provider = 2,
					       .index_mode = ADA_INDEX_CIRCULAR,
					       .on_full = ADA_ON_FULL_BLOCK };
	struct ada_segment segment;
	struct ada_error error = { "" };

	if (shared.directory < 0)
		test_skip("needs the right to mount");
	assert_int_equal(ada_segment_create(&segment, &options, &agent_fd, &error), 0);
	return segment;
}

static uint32_t free_chunks(const struct ada_segment *segment)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < segment->chunks; i++)
		count += segment->free_map[i / 64] >> i % 64 & 1;
	return count;
}

static void layout(void **state)
{
	struct ada_segment segment = create(64 << 20);
	const struct ada_shm *shm = segment.shm;

	assert_memory_equal(shm->magic, ADA_SHM_MAGIC, 8);
	assert_int_equal(shm->index_chunks, 2048);
	assert_int_equal(shm->index_mode, ADA_INDEX_CIRCULAR);
	assert_int_equal(shm->on_full, ADA_ON_FULL_BLOCK);
	assert_int_equal(shm->recorder_pid, getpid());
	assert_true(shm->free_offset + 2048 / 8 <= shm->sealed_offset);
	assert_true(shm->sealed_offset + 2048 * 8 <= shm->modules_offset);
	assert_true(shm->modules_offset + ADA_MODULES_MAX * sizeof(struct ada_shm_module) <= shm->threads_offset);
	assert_true(shm->threads_offset + ADA_THREADS_BYTES <= shm->index_offset);
	assert_int_equal(shm->small_chunks, 8192); /* a quarter of it again */
	assert_true(shm->free_offset + (2048 + 8192) / 8 <= shm->sealed_offset);
	assert_true(shm->sealed_offset + (2048 + 8192) * 8 <= shm->heirs_offset);
	assert_int_equal(shm->index_offset + 2048ull * ADA_CHUNK_BYTES, shm->small_offset);
	assert_in_range(shm->total_bytes - shm->small_offset, 8192ull * ADA_SMALL_BYTES + ADA_SMALL_BEHIND,
			8192ull * ADA_SMALL_BYTES + ADA_CHUNK_BYTES);
	close(agent_fd);
	ada_segment_destroy(&segment);
}

/* Small ones are there once the agent has made them, and nothing that it says leads outside. */
static void small_chunks(void **state)
{
	struct ada_segment segment = create(1 << 20); /* 32, and small ones from 64 on */
	uint8_t *last = (uint8_t *)ada_segment_chunk(&segment, 64 + segment.small_chunks - 1);
	uint32_t walked = 0, ready;

	assert_int_equal(segment.small_chunks, 128);
	assert_int_equal(segment.numbers, 192);
	assert_in_range((uint8_t *)segment.shm + segment.total_bytes - (last + ADA_CHUNK_BYTES), 0, 4095);
	assert_int_equal(ada_segment_chunk_begin(&segment, 64) + 32 * ADA_SMALL_EVENTS, ADA_CHUNK_BYTES);
	assert_false(ada_segment_chunk_reach(&segment, 64));
	segment.shm->small_front = 3; /* the first two have one page for their headers, and two for their events */
	memset(ada_segment_chunk(&segment, 64), 1, ADA_SMALL_BYTES);
	memset((uint8_t *)ada_segment_chunk(&segment, 64) + ADA_SMALL_BEHIND, 1, ADA_SMALL_BYTES);
	assert_true(ada_segment_chunk_is_there(&segment, 64));
	assert_true(ada_segment_chunk_reach(&segment, 66));
	assert_false(ada_segment_chunk_reach(&segment, 67));
	assert_false(ada_segment_chunk_reach(&segment, 33)); /* between the classes */
	ada_segment_chunk(&segment, 66)->first_seq = 0ull - ADA_SMALL_BEHIND / 32;
	assert_int_equal(ada_segment_chunk_seq(&segment, 66), 0);
	ready = ada_segment_chunk_count(&segment);
	for (uint32_t i = 0; i < ada_segment_chunk_end(&segment); i = ada_segment_chunk_after(&segment, i))
		walked++;
	assert_int_equal(walked, ready + 3);
	ada_segment_chunk_return(&segment, 66);
	assert_true(ada_segment_chunk_is_free(&segment, 66));
	assert_int_equal(segment.free_map[1], 1 << 2);
	segment.shm->small_front = UINT32_MAX; /* a hostile one */
	assert_int_equal(ada_segment_chunk_end(&segment), 192);
	assert_false(ada_segment_chunk_reach(&segment, 192));
	close(agent_fd);
	ada_segment_destroy(&segment);
}

static void grows_ahead_of_use(void **state)
{
	struct ada_segment segment = create(64 << 20);
	uint32_t first = free_chunks(&segment), ahead;

	assert_in_range(first, 1, 2047);
	while (ada_segment_grow(&segment))
		;
	ahead = free_chunks(&segment);
	assert_in_range(ahead, first + 1, 2047);
	memset(segment.free_map, 0, 2048 / 8); /* all taken */
	while (ada_segment_grow(&segment))
		;
	assert_int_equal(segment.chunks_ready, ahead + free_chunks(&segment));
	for (int i = 0; i < 100 && segment.chunks_ready < 2048; i++) {
		memset(segment.free_map, 0, 2048 / 8);
		while (ada_segment_grow(&segment))
			;
	}
	assert_int_equal(segment.chunks_ready, 2048);
	assert_false(ada_segment_grow(&segment));
	close(agent_fd);
	ada_segment_destroy(&segment);
}

/* More than half of the memory is taken, by others: only who has begun to fill what it has gets more. */
static void grows_with_use_where_room_is_scarce(void **state)
{
	struct ada_segment segment = create(64 << 20);
	uint32_t first = free_chunks(&segment);

	while (ada_segment_grow(&segment))
		;
	assert_int_equal(free_chunks(&segment), first);
	segment.free_map[0] &= ~3ull;
	while (ada_segment_grow(&segment))
		;
	assert_true(free_chunks(&segment) > first);
	assert_int_equal(segment.chunks_ready, free_chunks(&segment) + 2);
	close(agent_fd);
	ada_segment_destroy(&segment);
}

/* A thread that begins fills small chunks, which are not the pool's: a crowd of such threads makes it no larger. */
static void small_chunks_bring_no_growth(void **state)
{
	struct ada_segment segment = create(64 << 20);
	uint32_t ready;

	while (ada_segment_grow(&segment))
		;
	ready = segment.chunks_ready;
	for (uint32_t i = 0; i < 2000; i++)
		ada_ring_put(&segment.ring, ada_small_first(segment.chunks) + i);
	while (ada_segment_grow(&segment))
		;
	assert_int_equal(segment.chunks_ready, ready);
	assert_int_equal(segment.sealed, 0);
	memset(segment.free_map, 0, 2048 / 8); /* all taken */
	ada_ring_put(&segment.ring, 1);
	ada_segment_grow(&segment);
	assert_true(segment.chunks_ready > ready);
	assert_int_equal(segment.sealed, 1);
	segment.shm->sealed_head = 5; /* a hostile one */
	ada_segment_grow(&segment);
	segment.shm->sealed_head = UINT64_MAX;
	ada_segment_grow(&segment);
	close(agent_fd);
	ada_segment_destroy(&segment);
}

/* A few chunks, threads and modules are what lies ready for them anyway; more of any is worth a look, which makes it known. */
static void stirs_once_it_fills_chunks(void **state)
{
	struct ada_segment segment = create(64 << 20);
	uint32_t *const counts[] = { &segment.shm->thread_count, &segment.shm->module_count };

	ada_segment_grow(&segment);
	assert_false(ada_segment_stirs(&segment));
	for (uint32_t i = 0; i < 8; i++) {
		ada_ring_put(&segment.ring, i);
		assert_false(ada_segment_stirs(&segment));
	}
	ada_ring_put(&segment.ring, 8);
	assert_true(ada_segment_stirs(&segment));
	ada_segment_grow(&segment);
	assert_false(ada_segment_stirs(&segment));
	for (size_t i = 0; i < 2; i++) {
		*counts[i] += 16;
		assert_false(ada_segment_stirs(&segment));
		*counts[i] += 49;
		assert_true(ada_segment_stirs(&segment));
		ada_segment_grow(&segment);
		assert_false(ada_segment_stirs(&segment));
	}
	close(agent_fd);
	ada_segment_destroy(&segment);
}

/* It has another name before it has a process, and what that one records is found by the process's. */
static void is_made_before_its_process_is_known(void **state)
{
	struct ada_segment_options options = { .shared = &shared, .index_buffer_bytes = 1 << 20, .ready = 9, .named = shared.named };
	struct ada_segment segment, found;
	struct ada_error error = { "" };

	if (shared.directory < 0)
		test_skip("needs the right to mount");
	assert_int_equal(ada_segment_create(&segment, &options, &agent_fd, &error), 0);
	close(agent_fd);
	options.pid = 77;
	options.provider = 3;
	options.allowed_bytes = 5 << 20;
	options.children = true;
	assert_int_equal(segment.shm->ready.number, 9);
	assert_int_equal(segment.shm->ready.children, 0);
	options.ready = 0;
	assert_int_equal(ada_segment_attach(&found, &options, &error), -ENOENT);
	options.ready = 9;
	assert_int_equal(ada_segment_assign(&segment, &options), 0);
	assert_int_equal(segment.shm->pid, 77);
	assert_int_equal(segment.shm->provider, 3);
	assert_int_equal(segment.shm->allowed_bytes, 5 << 20);
	assert_int_equal(segment.shm->ready.children, 1);
	ada_segment_chunk(&segment, 5)->first_seq = 55;
	if (shared.named) {
		assert_int_equal(ada_segment_attach(&found, &options, &error), -ENOENT);
		options.ready = 0;
		assert_int_equal(ada_segment_attach(&found, &options, &error), 0);
		assert_int_equal(ada_segment_chunk(&found, 5)->first_seq, 55);
		ada_segment_destroy(&found);
		options.ready = 9;
		assert_int_equal(ada_segment_assign(&segment, &options), -ENOENT); /* once */
		ada_shared_unlink(&shared, "segment.3");
	}
	ada_segment_destroy(&segment);
}

static blkcnt_t blocks(const struct ada_segment *segment)
{
	struct stat file;

	assert_int_equal(fstat(segment->fd, &file), 0);
	return file.st_blocks;
}

/* Then its process's functions find their room there. */
static void has_room_for_a_policy_ahead(void **state)
{
	struct ada_segment segment = create(1 << 20);
	blkcnt_t before = blocks(&segment), ahead;

	assert_int_equal(ada_segment_policy_ahead(&segment, 16384), 0);
	ahead = blocks(&segment);
	assert_true(ahead > before);
	for (uint64_t table = 0; table <= ADA_POLICY_TABLE_BYTES; table += ADA_POLICY_TABLE_BYTES) {
		assert_int_equal(ada_segment_policy_room(&segment, table + ADA_POLICY_CLASSES, 2 * 16384), 0);
		assert_int_equal(ada_segment_policy_room(&segment, table + ADA_POLICY_FLAGS, 16384), 0);
	}
	assert_int_equal(blocks(&segment), ahead);
	close(agent_fd);
	ada_segment_destroy(&segment);
}

/* What has only just been forked mostly ends or executes something: until then it has what it began with. */
static void a_young_one_gets_what_it_uses(void **state)
{
	struct ada_segment segment = create(64 << 20);
	uint32_t first = free_chunks(&segment);

	segment.young_until_ns = UINT64_MAX;
	while (ada_segment_grow(&segment))
		;
	assert_int_equal(free_chunks(&segment), first);
	segment.free_map[0] &= ~3ull;
	ada_segment_grow(&segment);
	assert_true(free_chunks(&segment) > first);
	close(agent_fd);
	ada_segment_destroy(&segment);
}

/* All of it is used up: what is free has its memory, and growth ends. */
static void grows_no_further_than_there_is_room(void **state)
{
	struct ada_segment segment = create(64 << 20);

	for (int i = 0; i < 100; i++) {
		for (uint32_t chunk = 0; chunk < segment.chunks_ready; chunk++)
			memset(ada_segment_chunk(&segment, chunk), 1, ADA_CHUNK_BYTES);
		memset(segment.free_map, 0, 2048 / 8); /* all taken */
		while (ada_segment_grow(&segment))
			;
	}
	assert_in_range(segment.chunks_ready, 64, 24 * 32);
	assert_true(segment.exhausted);
	close(agent_fd);
	ada_segment_destroy(&segment);
}

static uint64_t memory_of(int fd)
{
	struct stat file;

	assert_int_equal(fstat(fd, &file), 0);
	return (uint64_t)file.st_blocks * 512;
}

/* The first chunk from `from` on whose ends are in different huge pages. */
static uint32_t straddler(const struct ada_segment *segment, uint32_t from)
{
	uint64_t bytes = segment->detail_chunk_bytes;

	while (from * bytes / HUGE_PAGE == ((from + 1) * bytes - 1) / HUGE_PAGE)
		from++;
	return from;
}

/* The agent is faster: what it took of the front is there where it has made the pages, and never becomes free by growth. To look makes
 * no memory, but for a chunk that it says it has used. */
static void agent_outruns_growth(void **state)
{
	struct ada_segment_options options = { .shared = &shared,
					       .index_buffer_bytes = 1 << 20,
					       .detail_buffer_bytes = 64 << 20,
					       .detail_stack_bytes = 128,
					       .pid = 1,
					       .provider = 1 };
	struct ada_segment segment;
	struct ada_error error = { 0 };
	uint32_t apart, ready, whole, part, none, taken;
	uint64_t memory;

	if (shared.directory < 0)
		test_skip("needs the right to mount");
	assert_int_equal(ada_segment_create(&segment, &options, &agent_fd, &error), 0);
	/* In huge pages of their own, behind the one that the last one ready begins: whole, the second one's first part, none. */
	apart = 2 * HUGE_PAGE / segment.detail_chunk_bytes + 1;
	ready = segment.detail_ready;
	whole = ready + apart;
	part = straddler(&segment, whole + apart);
	none = part + apart;
	taken = none + 1;
	assert_int_equal(segment.shm->detail_front, ready);
	segment.shm->detail_front = taken;
	memset(ada_segment_detail_chunk(&segment, whole), 1, segment.detail_chunk_bytes);
	memset(ada_segment_detail_chunk(&segment, part), 1, 4096);
	memory = memory_of(agent_fd);
	assert_int_equal(ada_segment_detail_count(&segment), taken);
	assert_true(ada_segment_detail_is_there(&segment, whole));
	assert_true(ada_segment_detail_reach(&segment, whole));
	assert_false(ada_segment_detail_is_there(&segment, part));
	assert_false(ada_segment_detail_is_there(&segment, none));
	assert_false(ada_segment_detail_is_there(&segment, taken));
	assert_false(ada_segment_detail_reach(&segment, taken));
	assert_int_equal(memory_of(agent_fd), memory);
	assert_true(segment.detail_ready < whole);
	assert_true(ada_segment_detail_reach(&segment, none));
	assert_true(memory_of(agent_fd) > memory);
	assert_int_equal(segment.detail_ready, taken);
	while (ada_segment_grow(&segment))
		;
	memset(segment.detail_free_map, 0, (segment.detail_chunks + 63) / 64 * 8); /* all taken */
	assert_true(ada_segment_grow(&segment));
	assert_true(segment.detail_ready > taken);
	assert_int_equal(segment.shm->detail_front, segment.detail_ready);
	for (uint32_t i = 0; i < taken; i++)
		assert_false(ada_segment_detail_is_free(&segment, i));
	segment.shm->detail_front = UINT32_MAX; /* a hostile one */
	assert_int_equal(ada_segment_detail_count(&segment), segment.detail_chunks);
	assert_true(ada_segment_detail_reach(&segment, segment.detail_chunks - 1));
	assert_int_equal(segment.detail_ready, segment.detail_chunks);
	while (ada_segment_grow(&segment))
		;
	close(agent_fd);
	ada_segment_destroy(&segment);
}

/* The same of the index: what the agent took of the front is the recorder's to read, and growth goes on behind it. */
static void agent_makes_chunks(void **state)
{
	struct ada_segment segment = create(64 << 20);
	uint32_t ready = segment.chunks_ready, made = ready + HUGE_PAGE / ADA_CHUNK_BYTES, none = made + 2 * HUGE_PAGE / ADA_CHUNK_BYTES;
	uint64_t memory;
	uint32_t returned;

	assert_int_equal(segment.shm->index_front, ready);
	segment.shm->index_front = none + 1;
	memset(ada_segment_chunk(&segment, made), 1, ADA_CHUNK_BYTES);
	memory = memory_of(agent_fd);
	assert_int_equal(ada_segment_chunk_count(&segment), none + 1);
	assert_true(ada_segment_chunk_is_there(&segment, ready - 1));
	assert_true(ada_segment_chunk_is_there(&segment, made));
	assert_true(ada_segment_chunk_reach(&segment, made));
	assert_false(ada_segment_chunk_is_there(&segment, none));
	assert_false(ada_segment_chunk_is_there(&segment, none + 1));
	assert_false(ada_segment_chunk_reach(&segment, none + 1));
	assert_int_equal(memory_of(agent_fd), memory);
	assert_true(ada_segment_chunk_reach(&segment, none));
	assert_true(memory_of(agent_fd) > memory);
	memset(segment.free_map, 0, 2048 / 8); /* all taken */
	returned = segment.shm->returned;
	while (ada_segment_grow(&segment))
		;
	assert_true(segment.shm->returned > returned); /* who found none looks again */
	assert_true(segment.chunks_ready > none + 1);
	assert_int_equal(segment.shm->index_front, segment.chunks_ready);
	assert_int_equal(free_chunks(&segment), segment.chunks_ready - none - 1);
	assert_false(ada_segment_chunk_is_free(&segment, none));
	segment.shm->index_front = UINT32_MAX; /* a hostile one */
	assert_int_equal(ada_segment_chunk_count(&segment), 2048);
	assert_false(ada_segment_chunk_reach(&segment, UINT32_MAX));
	ada_segment_grow(&segment);
	assert_int_equal(segment.chunks_ready, 2048);
	close(agent_fd);
	ada_segment_destroy(&segment);
}

/* Of limits: nothing is made beyond, both sides are told, and growth goes on when there is more. */
static void grows_as_far_as_it_is_allowed(void **state)
{
	struct ada_segment segment = create(64 << 20);
	uint32_t ready = segment.chunks_ready, returned;

	ada_segment_allow(&segment, 5 << 20, 1000);
	assert_int_equal(segment.shm->allowed_bytes, 1000);
	assert_int_equal(segment.shm->memory_ends, 0);
	memset(segment.free_map, 0, 2048 / 8);
	while (ada_segment_grow(&segment))
		;
	assert_int_equal(segment.chunks_ready, ready + 128); /* 4 MiB */
	assert_int_equal(segment.shm->memory_ends, 1);
	returned = segment.shm->returned;
	segment.shm->taken_bytes = 500;
	ada_segment_allow(&segment, 10 << 20, 2000);
	assert_int_equal(segment.shm->allowed_bytes, 2500);
	assert_int_equal(segment.shm->returned, returned + 1);
	memset(segment.free_map, 0, 2048 / 8);
	while (ada_segment_grow(&segment))
		;
	assert_int_equal(segment.chunks_ready, ready + 3 * 128);
	ada_segment_allow(&segment, UINT64_MAX, UINT64_MAX);
	assert_int_equal(segment.shm->allowed_bytes, UINT64_MAX);
	memset(segment.free_map, 0, 2048 / 8);
	assert_true(ada_segment_grow(&segment));
	assert_int_equal(segment.shm->memory_ends, 0);
	close(agent_fd);
	ada_segment_destroy(&segment);
}

static void chunks_come_back(void **state)
{
	struct ada_segment segment = create(1 << 20);

	assert_int_equal(segment.chunks, 32);
	assert_int_equal(free_chunks(&segment), 32);
	segment.free_map[0] &= ~(1ull << 5);
	ada_segment_chunk(&segment, 5)->status = ADA_CHUNK_SEALED;
	ada_segment_chunk_return(&segment, 5);
	assert_int_equal(free_chunks(&segment), 32);
	assert_int_equal(ada_segment_chunk(&segment, 5)->status, ADA_CHUNK_FREE);
	assert_int_equal(segment.shm->returned, 1);
	close(agent_fd);
	ada_segment_destroy(&segment);
}

/* A mapping is enough: that is how a forked child that has not said HELLO is noticed. */
static void in_use_while_anyone_maps_it(void **state)
{
	struct ada_segment segment = create(1 << 20);
	int gate[2];
	void *memory;
	pid_t pid;

	assert_true(ada_segment_in_use(&segment));
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, agent_fd, 0);
	assert_true(memory != MAP_FAILED);
	close(agent_fd);
	assert_true(ada_segment_in_use(&segment));
	assert_int_equal(pipe(gate), 0);
	pid = fork();
	if (!pid) {
		char byte;

		close(gate[1]);
		_exit((int)read(gate[0], &byte, 1));
	}
	munmap(memory, 4096);
	assert_true(ada_segment_in_use(&segment)); /* the child's mapping */
	close(gate[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(ada_segment_in_use(&segment));
	close(gate[0]);
	ada_segment_destroy(&segment);
}

static void leaving_tells_the_agent(void **state)
{
	struct ada_segment segment = create(1 << 20);

	ada_segment_leave(&segment);
	assert_int_equal(segment.shm->stop, 1);
	assert_int_equal(segment.shm->recorder_pid, 0);
	assert_int_equal(segment.shm->returned, 1);
	close(agent_fd);
	ada_segment_destroy(&segment);
}

/* By its name, when its recorder is dead; whatever the program may have written into its header. */
static void another_recorder_finds_it(void **state)
{
	struct ada_segment_options options = { .shared = &shared,
					       .index_buffer_bytes = 8 << 20,
					       .detail_buffer_bytes = 8 << 20,
					       .detail_stack_bytes = 100,
					       .pid = 1,
					       .provider = 3,
					       .named = true };
	struct ada_segment segment, found;
	struct ada_error error = { "" };
	struct ada_shm layout;

	if (shared.directory < 0)
		skip();
	shared.named = true;
	assert_int_equal(ada_segment_create(&segment, &options, &agent_fd, &error), 0);
	close(agent_fd);
	layout = *segment.shm;
	memset(segment.shm, 0xff, offsetof(struct ada_shm, stop));
	ada_segment_chunk(&segment, 5)->first_seq = 55;
	segment.threads[2].thread_id = 22;
	assert_int_equal(ada_segment_attach(&found, &options, &error), 0);
	assert_int_equal(found.total_bytes, layout.total_bytes);
	assert_int_equal(found.numbers, segment.numbers);
	assert_int_equal(found.detail_numbers, segment.detail_numbers);
	assert_int_equal(found.detail_chunk_bytes, segment.detail_chunk_bytes);
	assert_int_equal(ada_segment_chunk(&found, 5)->first_seq, 55);
	assert_int_equal(found.threads[2].thread_id, 22);
	assert_true(ada_segment_chunk_is_there(&found, 5));
	assert_ptr_equal(found.detail_pool - (uint8_t *)found.shm, segment.detail_pool - (uint8_t *)segment.shm);
	ada_segment_destroy(&found);
	assert_int_equal(ftruncate(segment.fd, 1 << 20), 0);
	assert_int_equal(ada_segment_attach(&found, &options, &error), -EINVAL);
	ada_shared_unlink(&shared, "segment.3");
	assert_int_equal(ada_segment_attach(&found, &options, &error), -ENOENT);
	options.index_buffer_bytes = 1ull << 60;
	assert_int_equal(ada_segment_attach(&found, &options, &error), -EINVAL);
	ada_segment_destroy(&segment);
}

int main(void)
{
	const struct CMUnitTest tests[] = { IN_BOTH(layout),
					    IN_BOTH(small_chunks),
					    IN_BOTH(is_made_before_its_process_is_known),
					    IN_BOTH(a_young_one_gets_what_it_uses),
					    IN_BOTH(has_room_for_a_policy_ahead),
					    IN_BOTH(grows_ahead_of_use),
					    IN_BOTH(small_chunks_bring_no_growth),
					    IN_BOTH(stirs_once_it_fills_chunks),
					    IN_BOTH(agent_outruns_growth),
					    IN_BOTH(agent_makes_chunks),
					    IN_BOTH(grows_as_far_as_it_is_allowed),
					    IN_BOTH(chunks_come_back),
					    IN_BOTH(in_use_while_anyone_maps_it),
					    IN_BOTH(leaving_tells_the_agent),
					    IN_BOTH(another_recorder_finds_it),
					    IN(open_filled, grows_with_use_where_room_is_scarce),
					    IN(open_small, grows_no_further_than_there_is_room) };

	if (geteuid())
		become_one_who_mounts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

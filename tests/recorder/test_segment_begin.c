/* What a segment begins with, where memory is scarce or its process may be gone soon, and what becomes of that. */
#include "../test.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "recorder/host/huge.h"
#include "recorder/index/segment.h"
#include "shared_places.h"

#define HUGE_PAGE (2u << 20)

static int agent_fd;

/* What has only just begun mostly ends soon: the one detail chunk that its first event takes brings it no more. At the start it has what one
 * huge page holds. */
static void a_young_one_gets_no_more_detail(void **state)
{
	struct ada_segment_options options = { .shared = &shared,
					       .index_buffer_bytes = 64 << 20,
					       .detail_buffer_bytes = 64 << 20,
					       .detail_stack_bytes = 256,
					       .stack_at_return = true,
					       .allowed_bytes = UINT64_MAX };
	struct ada_segment segment;
	uint32_t first;

	assert_int_equal(ada_segment_create(&segment, &options, &agent_fd, NULL), 0);
	first = segment.detail_ready;
	assert_int_equal(first, (2u << 20) / segment.detail_chunk_bytes);
	segment.young_until_ns = UINT64_MAX;
	segment.detail_free_map[0] &= ~1ull;
	while (ada_segment_grow(&segment))
		;
	assert_int_equal(segment.detail_ready, first);
	segment.young_until_ns = 0;
	ada_segment_grow(&segment);
	assert_true(segment.detail_ready > first);
	close(agent_fd);
	ada_segment_destroy(&segment);
}

/* Where less history is enough a few chunks lie ready, however many are in use; where a window pins it, as many again as are in use. */
static void what_needs_less_history_gets_little_more_detail(void **state)
{
	struct ada_segment_options options = { .shared = &shared,
					       .index_buffer_bytes = 1 << 20,
					       .detail_buffer_bytes = 64 << 20,
					       .detail_stack_bytes = 128,
					       .allowed_bytes = UINT64_MAX,
					       .detail_mode = ADA_DETAIL_CIRCULAR,
					       .detail_history = 16 };
	struct ada_segment segment;
	uint32_t used = 0, chunk;

	assert_int_equal(ada_segment_create(&segment, &options, &agent_fd, NULL), 0);
	for (unsigned i = 0; i < 8; i++) {
		while (ada_map_take(segment.detail_free_map, segment.detail_chunks, &chunk))
			used++;
		assert_int_equal(used, segment.detail_ready);
		ada_segment_grow(&segment);
		assert_int_equal(segment.detail_ready, used + 8);
	}
	__atomic_store_n(&segment.shm->detail.pin.start, 1, __ATOMIC_RELAXED);
	while (ada_segment_grow(&segment))
		;
	assert_true(segment.detail_ready >= 2 * used);
	close(agent_fd);
	ada_segment_destroy(&segment);
}

/* A crowd of processes under one limit: none begins with more than it needs, and it gets more only where that is allowed. */
static void begins_small_where_memory_is_scarce(void **state)
{
	struct ada_segment_options options = { .shared = &shared,
					       .index_buffer_bytes = 64 << 20,
					       .detail_buffer_bytes = 64 << 20,
					       .detail_stack_bytes = 128,
					       .scarce = true };
	struct ada_segment segment;
	struct stat file;

	if (shared.directory < 0)
		test_skip("needs the right to mount");
	assert_int_equal(ada_segment_create(&segment, &options, &agent_fd, NULL), 0);
	assert_int_equal(fstat(segment.fd, &file), 0);
	assert_in_range(file.st_blocks * 512, 1, 5 << 18);
	assert_int_equal(segment.free_map[0], 0xff);
	assert_int_equal(segment.shm->index_front, 8);
	ada_segment_grow(&segment);
	assert_int_equal(segment.chunks_ready, 8);
	assert_int_equal(segment.detail_ready, 0);
	ada_segment_allow(&segment, 64 << 20, 0);
	ada_segment_grow(&segment);
	assert_true(segment.chunks_ready > 8 && segment.detail_ready);
	ada_segment_destroy(&segment);
	close(agent_fd);
}

/* A process that may be gone soon: it begins with what a few need, and once it stays, that becomes huge pages like all else. */
static void begins_small_where_its_process_may_be_gone_soon(void **state)
{
	struct ada_segment_options options = {
		.shared = &shared, .index_buffer_bytes = 64 << 20, .detail_buffer_bytes = 64 << 20, .detail_stack_bytes = 128, .brief = true
	};
	struct ada_segment segment;
	struct stat file;
	uint64_t huge;

	if (shared.directory < 0)
		test_skip("needs the right to mount");
	assert_int_equal(ada_segment_create(&segment, &options, &agent_fd, NULL), 0);
	assert_int_equal(fstat(segment.fd, &file), 0);
	assert_in_range(file.st_blocks * 512, 1, 7 << 18);
	assert_int_equal(segment.free_map[0], 0xff);
	assert_int_equal(segment.shm->index_front, 8);
	assert_int_equal(segment.detail_free_map[0], 3);
	assert_int_equal(segment.shm->detail_front, 2);
	memset(ada_segment_chunk(&segment, 7), 7, ADA_CHUNK_BYTES);
	memset(ada_segment_detail_chunk(&segment, 1), 9, segment.detail_chunk_bytes);
	segment.young_until_ns = UINT64_MAX;
	ada_segment_grow(&segment);
	assert_int_equal(segment.chunks_ready, 8);
	assert_int_equal(segment.detail_ready, 2);
	segment.young_until_ns = 0;
	while (ada_segment_grow(&segment))
		;
	assert_true(segment.chunks_ready > 64 && segment.detail_ready > 2);
	huge = ada_huge_bytes(segment.pool, HUGE_PAGE);
	if (ada_huge_bytes(segment.pool + HUGE_PAGE, HUGE_PAGE) == HUGE_PAGE) /* the kernel tells, and has some */
		assert_int_equal(huge, HUGE_PAGE);
	assert_int_equal(((uint8_t *)ada_segment_chunk(&segment, 7))[ADA_CHUNK_BYTES - 1], 7);
	assert_int_equal(((uint8_t *)ada_segment_detail_chunk(&segment, 1))[segment.detail_chunk_bytes - 1], 9);
	ada_segment_destroy(&segment);
	close(agent_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = { IN_BOTH(a_young_one_gets_no_more_detail),
					    IN_BOTH(what_needs_less_history_gets_little_more_detail),
					    IN_BOTH(begins_small_where_memory_is_scarce),
					    IN_BOTH(begins_small_where_its_process_may_be_gone_soon) };

	if (geteuid())
		become_one_who_mounts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

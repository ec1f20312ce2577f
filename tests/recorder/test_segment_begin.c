/* What a segment begins with, where memory is scarce or its process may be gone soon, and what becomes of that. */
#include "../test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "recorder/host/huge.h"
#include "recorder/index/segment_parts.h"
#include "recorder/process/spare.h"
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
		while (ada_map_take(segment.detail_free_map, 0, segment.detail_chunks, &chunk))
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

/* As an agent does that fills what it takes. */
static void take_chunks(struct ada_segment *segment, unsigned count)
{
	uint32_t chunk;

	while (count--)
		assert_true(ada_map_take(segment->free_map, 0, segment->chunks, &chunk));
}

static void take_detail(struct ada_segment *segment, unsigned count)
{
	uint32_t chunk;

	while (count--)
		assert_true(ada_map_take(segment->detail_free_map, 0, segment->detail_chunks, &chunk));
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
	take_chunks(&segment, 4);
	ada_segment_grow(&segment);
	assert_true(segment.chunks_ready > 8 && segment.detail_ready);
	ada_segment_destroy(&segment);
	close(agent_fd);
}

/* A process that may be gone soon: it begins with what a few need, gets as much again as it fills, and once that is much, all of it becomes
 * huge pages. */
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
	while (ada_segment_grow(&segment)) /* it stays, and does nothing */
		;
	assert_int_equal(segment.chunks_ready, 8);
	assert_int_equal(segment.detail_ready, 2);
	take_chunks(&segment, 2);
	take_detail(&segment, 2);
	while (ada_segment_grow(&segment))
		;
	assert_in_range(segment.chunks_ready, 12, 16);
	assert_in_range(segment.detail_ready, 4, 6);
	assert_int_equal(ada_huge_bytes(segment.pool, HUGE_PAGE), 0);
	assert_int_equal(ada_huge_bytes(segment.detail_pool, 2 * HUGE_PAGE), 0);
	for (unsigned i = 0; i < 5; i++) {
		take_chunks(&segment, segment.chunks_ready - ada_segment_bits(segment.free_map, segment.chunks));
		while (ada_segment_grow(&segment))
			;
	}
	assert_true(segment.chunks_ready > 256);
	huge = ada_huge_bytes(segment.pool, HUGE_PAGE);
	if (ada_huge_bytes(segment.pool + HUGE_PAGE, HUGE_PAGE) == HUGE_PAGE) /* the kernel tells, and has some */
		assert_int_equal(huge, HUGE_PAGE);
	assert_int_equal(((uint8_t *)ada_segment_chunk(&segment, 7))[ADA_CHUNK_BYTES - 1], 7);
	assert_int_equal(((uint8_t *)ada_segment_detail_chunk(&segment, 1))[segment.detail_chunk_bytes - 1], 9);
	ada_segment_destroy(&segment);
	close(agent_fd);
}

static const struct ada_segment_options brief = { .shared = &shared,
						  .index_buffer_bytes = 1 << 20,
						  .detail_buffer_bytes = 1 << 20,
						  .detail_stack_bytes = 128,
						  .brief = true,
						  .detail_mode = ADA_DETAIL_CIRCULAR };

/* As whoever opens the file reads it: a hole stays one. */
static uint8_t *content(const struct ada_segment *segment)
{
	uint8_t *bytes = malloc(segment->total_bytes);

	for (uint64_t at = 0; at < segment->total_bytes;) {
		ssize_t some = pread(segment->fd, bytes + at, segment->total_bytes - at, (off_t)at);

		assert_true(some > 0);
		at += (uint64_t)some;
	}
	return bytes;
}

static void soil(const struct ada_segment *segment)
{
	const struct ada_shm *shm = segment->shm;
	uint8_t *base = (uint8_t *)shm;
	const uint64_t places[] = { shm->free_offset,	       shm->sealed_offset,	   shm->heirs_offset,
				    shm->modules_offset,       shm->threads_offset,	   shm->marks_offset,
				    shm->policy_offset,	       shm->detail_free_offset,	   shm->detail_sealed_offset,
				    shm->index_offset,	       shm->detail_offset,	   shm->small_offset,
				    shm->total_bytes - 64,     shm->threads_offset - 4096, shm->policy_offset + ADA_POLICY_TABLE_BYTES,
				    shm->index_offset + 40000, shm->detail_offset + 40000, shm->detail_small_sealed_offset };

	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		memset(base + places[i], 0xa5, 64);
	memset(base, 0x5a, sizeof *shm);
}

/* What a process left is gone: to its last byte the next one's segment is a new one. */
static void a_renewed_one_is_as_a_new_one(void **state)
{
	struct ada_segment_options options = brief;
	struct ada_segment segment, fresh;
	uint8_t *is, *expected;

	if (!shared.named)
		test_skip("needs files with names");
	options.named = true;
	options.provider = 7;
	assert_int_equal(ada_segment_create(&segment, &options, &agent_fd, NULL), 0);
	assert_int_equal(ada_segment_policy_ahead(&segment, 1000), 0);
	soil(&segment);
	close(agent_fd);
	options.ready = 3;
	assert_int_equal(ada_segment_renew(&segment, &options, 7, &agent_fd), 0);
	assert_true(ada_segment_in_use(&segment)); /* by the other open file */
	close(agent_fd);
	assert_int_equal(faccessat(shared.directory, "segment.7", F_OK, 0), -1);
	assert_int_equal(faccessat(shared.directory, "ready.3", F_OK, 0), 0);
	options.named = false;
	assert_int_equal(ada_segment_create(&fresh, &options, &agent_fd, NULL), 0);
	close(agent_fd);
	is = content(&segment);
	expected = content(&fresh);
	assert_int_equal(segment.total_bytes, fresh.total_bytes);
	assert_memory_equal(is, expected, fresh.total_bytes);
	assert_int_equal(segment.chunks_ready, fresh.chunks_ready);
	assert_int_equal(segment.detail_ready, fresh.detail_ready);
	assert_int_equal(segment.threads_ready, fresh.threads_ready);
	free(is);
	free(expected);
	ada_segment_destroy(&segment);
	ada_segment_destroy(&fresh);
	ada_shared_unlink(&shared, "ready.3");
}

/* Of other sizes it would be another. */
static void one_that_does_not_fit_is_not_renewed(void **state)
{
	struct ada_segment_options options = brief;
	struct ada_segment segment;

	assert_int_equal(ada_segment_create(&segment, &options, &agent_fd, NULL), 0);
	close(agent_fd);
	options.detail_buffer_bytes *= 2;
	assert_int_equal(ada_segment_renew(&segment, &options, 0, &agent_fd), -EINVAL);
	options = brief;
	options.index_buffer_bytes *= 2;
	assert_int_equal(ada_segment_renew(&segment, &options, 0, &agent_fd), -EINVAL);
	ada_segment_destroy(&segment);
}

static struct ada_segment named_create(uint32_t provider)
{
	struct ada_segment_options options = brief;
	struct ada_segment segment;

	options.named = true;
	options.provider = provider;
	assert_int_equal(ada_segment_create(&segment, &options, &agent_fd, NULL), 0);
	close(agent_fd);
	return segment;
}

static bool has_name(const char *name)
{
	return !faccessat(shared.directory, name, F_OK, 0);
}

static void spares_are_short_processes_segments(void **state)
{
	struct ada_segment_options options = brief;
	struct ada_spares spares;
	struct ada_segment segment, grown;

	if (!shared.own)
		test_skip("needs the recorder's own tmpfs");
	options.named = true;
	options.ready = 12;
	ada_spares_open(&spares, &shared);
	assert_false(ada_spares_take(&spares, &options, &segment, &agent_fd));
	grown = named_create(1);
	assert_int_equal(ada_segment_room(&grown, grown.policy, 8 << 20), 0);
	assert_false(ada_spares_want(&spares, &grown));
	for (uint32_t provider = 2; provider < 2 + ADA_SPARES; provider++) {
		segment = named_create(provider);
		assert_true(ada_spares_want(&spares, &segment));
		assert_int_equal(spares.count, provider - 2); /* its process's manifest isn't on the disk yet */
		ada_spares_give(&spares, &segment, provider);
		assert_int_equal(segment.fd, -1);
	}
	segment = named_create(9);
	assert_false(ada_spares_want(&spares, &segment)); /* there are enough */
	ada_segment_destroy(&segment);
	assert_true(ada_spares_take(&spares, &options, &segment, &agent_fd));
	assert_int_equal(segment.shm->ready.number, 12);
	assert_true(has_name("ready.12") && !has_name("segment.5") && has_name("segment.4"));
	close(agent_fd);
	ada_segment_destroy(&segment);
	options.index_buffer_bytes *= 2; /* what suits nobody is given up */
	assert_false(ada_spares_take(&spares, &options, &segment, &agent_fd));
	assert_false(has_name("segment.4"));
	segment = named_create(10);
	assert_true(ada_spares_want(&spares, &segment));
	assert_true(ada_spares_want(&spares, &segment));
	assert_false(ada_spares_want(&spares, &segment)); /* two are promised */
	ada_segment_destroy(&segment);
	ada_spares_close(&spares);
	assert_false(has_name("segment.2") || has_name("segment.3"));
	ada_segment_destroy(&grown);
	ada_shared_unlink(&shared, "ready.12");
	ada_shared_unlink(&shared, "segment.1");
	ada_shared_unlink(&shared, "segment.9");
	ada_shared_unlink(&shared, "segment.10");
}

/* Dead processes' memory is kept only where others come one behind the other. */
static void spares_go_that_nobody_takes(void **state)
{
	struct ada_segment_options options = brief;
	struct ada_spares spares;
	struct ada_segment segment;

	if (!shared.own)
		test_skip("needs the recorder's own tmpfs");
	options.named = true;
	options.ready = 12;
	ada_spares_open(&spares, &shared);
	for (uint32_t provider = 1; provider <= 2; provider++) {
		segment = named_create(provider);
		assert_true(ada_spares_want(&spares, &segment));
		ada_spares_give(&spares, &segment, provider);
	}
	assert_true(ada_spares_take(&spares, &options, &segment, &agent_fd));
	ada_spares_tidy(&spares, true);
	assert_true(has_name("segment.1"));
	ada_spares_tidy(&spares, true);
	assert_false(has_name("segment.1"));
	assert_true(ada_spares_want(&spares, &segment));
	ada_spares_tidy(&spares, false); /* no segment may lie ready */
	assert_false(ada_spares_want(&spares, &segment));
	ada_spares_tidy(&spares, true);
	assert_true(ada_spares_want(&spares, &segment));
	close(agent_fd);
	ada_segment_destroy(&segment);
	ada_spares_close(&spares);
	ada_shared_unlink(&shared, "ready.12");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_BOTH(a_young_one_gets_no_more_detail),	   IN_BOTH(what_needs_less_history_gets_little_more_detail),
		IN_BOTH(begins_small_where_memory_is_scarce),	   IN_BOTH(begins_small_where_its_process_may_be_gone_soon),
		IN(open_own, a_renewed_one_is_as_a_new_one),	   IN_BOTH(one_that_does_not_fit_is_not_renewed),
		IN(open_own, spares_are_short_processes_segments), IN(open_own, spares_go_that_nobody_takes)
	};

	if (geteuid())
		become_one_who_mounts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A segment as it comes into this process: mapped, and looked through before anything believes its header. */
#include <sys/mman.h>
#include <sys/stat.h>
#include "abi/page.h"
#include "agent/ground/mem.h"
#include "agent/ground/space.h"
#include "agent/ground/sys.h"
#include "agent/talk/talk.h"

bool ada_file_holds(int fd, uint64_t bytes)
{
	struct stat file;

	return fd >= 0 && !ada_sys_failed(ada_sys4(SYS_fstat, fd, (long)&file, 0, 0)) && (uint64_t)file.st_size >= bytes;
}

/* At a multiple of a huge page's size, so that those of the pools (recorder/index/segment.c) are huge here too. */
static struct ada_shm *map_aligned(int fd, uint64_t bytes)
{
	const uint64_t room_bytes = ((bytes + ADA_PAGE_BYTES - 1) & ~(ADA_PAGE_BYTES - 1)) + ADA_HUGE_PAGE_BYTES;
	uint64_t room, start, end;

	if (!ada_file_holds(fd, bytes))
		return NULL;
	ada_space_expect(room_bytes);
	room = ada_sys6(SYS_mmap, 0, room_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ada_sys_failed(room)) {
		ada_space_note(0, room_bytes);
		return ada_sys_map_fd(fd, bytes, PROT_READ | PROT_WRITE, true);
	}
	start = (room + ADA_HUGE_PAGE_BYTES - 1) & ~(ADA_HUGE_PAGE_BYTES - 1);
	if (ada_sys_failed(ada_sys6(SYS_mmap, start, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0))) {
		ada_sys_unmap((void *)room, room_bytes);
		return NULL;
	}
	if (start > room)
		ada_sys_unmap((void *)room, start - room);
	end = start + room_bytes - ADA_HUGE_PAGE_BYTES;
	ada_sys_unmap((void *)end, room + room_bytes - end);
	ada_space_note(start, bytes);
	return (struct ada_shm *)start;
}

/* Whether a table lies behind the header, whole and aligned. */
static bool table_fits(uint64_t offset, uint64_t count, uint64_t size, uint64_t bytes)
{
	return offset >= sizeof(struct ada_shm) && offset % 8 == 0 && offset <= bytes && count <= (bytes - offset) / size;
}

static bool policy_makes_sense(const struct ada_shm *shm, uint64_t bytes)
{
	/* From the table's start to the flags that the word leads to: the policy lies behind the header. */
	uint64_t flags = offsetof(struct ada_shm, policy_flags) + shm->policy_flags;

	return table_fits(shm->marks_offset, ADA_MARKS, sizeof(struct ada_mark), bytes) &&
	       table_fits(shm->policy_offset, 1, ADA_POLICY_BYTES, bytes) &&
	       (flags == shm->policy_offset + ADA_POLICY_FLAGS || flags == shm->policy_offset + ADA_POLICY_TABLE_BYTES + ADA_POLICY_FLAGS);
}

/* A pool with its map of a bit a chunk, in words, and its ring of a word a chunk. */
static bool pool_fits(uint64_t map, uint64_t ring, uint64_t pool, uint64_t chunks, uint64_t chunk_bytes, uint64_t bytes)
{
	return table_fits(map, (chunks + 63) / 64, 8, bytes) && table_fits(ring, chunks, 8, bytes) && pool % 64 == 0 &&
	       table_fits(pool, chunks, chunk_bytes, bytes);
}

static bool detail_makes_sense(const struct ada_shm *shm, uint64_t bytes)
{
	uint64_t chunks = shm->detail_chunks;

	return !chunks ||
	       (shm->detail_stack_bytes <= ADA_DETAIL_STACK_MAX && shm->detail_stack_bytes % 16 == 0 &&
		(!shm->detail_capture_bytes || shm->detail_capture_bytes == ADA_DETAIL_CAPTURED_ROOM) &&
		(!shm->detail_return_stack_bytes || shm->detail_return_stack_bytes == shm->detail_stack_bytes) &&
		shm->detail_chunk_bytes == ADA_DETAIL_CHUNK_BYTES(shm->detail_stack_bytes, shm->detail_return_stack_bytes) &&
		chunks <= ADA_DETAIL_BUFFER_MAX / shm->detail_chunk_bytes &&
		pool_fits(shm->detail_free_offset, shm->detail_sealed_offset, shm->detail_offset, chunks, shm->detail_chunk_bytes, bytes));
}

/* Or there are none. */
static bool small_makes_sense(const struct ada_shm *shm, uint64_t bytes)
{
	uint64_t map = ada_small_first(shm->index_chunks) / 64 * 8, detail_map = ada_small_first(shm->detail_chunks) / 64 * 8;
	uint64_t chunks = shm->small_chunks, detail = shm->detail_small_chunks;

	return (!chunks ||
		(chunks <= ADA_SMALL_MAX && table_fits(shm->sealed_offset, ada_chunk_numbers(shm->index_chunks, chunks), 8, bytes) &&
		 pool_fits(shm->free_offset + map, shm->sealed_offset, shm->small_offset, chunks + ADA_SMALL_BEHIND / ADA_SMALL_BYTES,
			   ADA_SMALL_BYTES, bytes))) &&
	       (!detail || (detail <= ADA_SMALL_MAX && shm->detail_chunks &&
			    pool_fits(shm->detail_free_offset + detail_map, shm->detail_small_sealed_offset, shm->detail_small_offset,
				      detail, ADA_DETAIL_SMALL(shm->detail_chunk_bytes), bytes)));
}

static bool makes_sense(const struct ada_shm *shm, uint64_t bytes)
{
	return !memcmp(shm->magic, ADA_SHM_MAGIC, sizeof shm->magic) && shm->version == ADA_WIRE_VERSION &&
	       shm->header_bytes == sizeof *shm && shm->total_bytes == bytes && shm->chunk_bytes == ADA_CHUNK_BYTES && shm->index_chunks &&
	       (!shm->heirs_offset || table_fits(shm->heirs_offset, ADA_HEIRS, sizeof(struct ada_shm_heir), bytes)) &&
	       table_fits(shm->modules_offset, ADA_MODULES_MAX, sizeof(struct ada_shm_module), bytes) &&
	       table_fits(shm->threads_offset, 1, ADA_THREADS_BYTES, bytes) &&
	       pool_fits(shm->free_offset, shm->sealed_offset, shm->index_offset, shm->index_chunks, ADA_CHUNK_BYTES, bytes) &&
	       policy_makes_sense(shm, bytes) && detail_makes_sense(shm, bytes) && small_makes_sense(shm, bytes);
}

int ada_segment_map(int fd, uint64_t bytes, struct ada_shm **result)
{
	struct ada_shm *shm;

	if (bytes < sizeof *shm)
		return -EPROTO;
	shm = map_aligned(fd, bytes);
	if (!shm)
		return -ENOMEM;
	if (!makes_sense(shm, bytes)) {
		ada_sys_unmap(shm, bytes);
		return -EPROTO;
	}
	/* Before the pools, and where chunks are small, each touch would make a huge page. */
	ada_sys_advise(shm, shm->index_offset, MADV_NOHUGEPAGE);
	if (shm->small_chunks)
		ada_sys_advise((char *)shm + shm->small_offset, bytes - shm->small_offset, MADV_NOHUGEPAGE);
	*result = shm;
	return 0;
}

void ada_segment_own(struct ada_shm *shm)
{
	__atomic_store_n(&shm->at, (uint64_t)shm, __ATOMIC_RELEASE);
}

/* The arena as its readers find it: where its parts are, and how they are read. */
#include "recorder/index/arena_parts.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "recorder/index/segment.h"

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + ADA_PAGE_BYTES - 1) & ~(ADA_PAGE_BYTES - 1);
}

void ada_arena_lay_out(struct ada_arena *header)
{
	header->providers_offset = ADA_ARENA_HEADER_BYTES;
	header->lanes_offset = page_up(header->providers_offset + header->providers * sizeof(struct ada_arena_provider));
	header->anchors_offset = page_up(header->lanes_offset + header->lanes * sizeof(struct ada_arena_lane));
	header->blocks_offset = page_up(header->anchors_offset + header->anchors * sizeof(struct ada_arena_anchor));
	header->memory_offset = page_up(header->blocks_offset + header->blocks * sizeof(struct ada_arena_block));
	header->total_bytes = header->memory_offset + (uint64_t)header->blocks * ADA_ARENA_BLOCK_BYTES;
}

int ada_arena_map(struct ada_arena_map *map, const struct ada_arena *layout, int fd)
{
	uint8_t *base = mmap(NULL, layout->total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

	if (base == MAP_FAILED)
		return -errno;
	/* Small pages: the arena is used here and there, and each touch would make a huge page. And no core dump holds it, no child has
	 * it. */
	madvise(base, layout->total_bytes, MADV_NOHUGEPAGE);
	madvise(base, layout->total_bytes, MADV_DONTDUMP);
	madvise(base, layout->total_bytes, MADV_DONTFORK);
	*map = (struct ada_arena_map){ .header = (struct ada_arena *)base,
				       .providers = (struct ada_arena_provider *)(base + layout->providers_offset),
				       .lanes = (struct ada_arena_lane *)(base + layout->lanes_offset),
				       .anchors = (struct ada_arena_anchor *)(base + layout->anchors_offset),
				       .blocks = (struct ada_arena_block *)(base + layout->blocks_offset),
				       .memory = base + layout->memory_offset,
				       .bytes = layout->total_bytes };
	return 0;
}

static bool agrees(const struct ada_arena *header)
{
	struct ada_arena again = *header;

	if (memcmp(header->magic, ADA_ARENA_MAGIC, sizeof header->magic) || header->version != ADA_ARENA_VERSION ||
	    header->header_bytes != sizeof *header || header->providers > ADA_ARENA_PROVIDERS_MAX || header->lanes > ADA_ARENA_LANES_MAX ||
	    header->anchors > ADA_ARENA_ANCHORS_MAX || header->blocks > ADA_ARENA_BLOCKS_MAX)
		return false;
	ada_arena_lay_out(&again);
	return !memcmp(&again, header, sizeof again) && header->providers_used <= header->providers &&
	       header->lanes_used <= header->lanes && header->blocks_used <= header->blocks;
}

int ada_arena_attach(struct ada_arena_map *map, int fd, struct ada_error *error)
{
	static const char none[sizeof(((struct ada_arena *)0)->magic)];
	struct ada_arena header;
	struct stat info;
	ssize_t length;
	int status;

	*map = (struct ada_arena_map){ 0 };
	length = pread(fd, &header, sizeof header, 0);
	if (length < 0 || fstat(fd, &info))
		return ada_error_system(error, errno, "the recorder's memory can't be read");
	if (!length || (length == sizeof header && !memcmp(header.magic, none, sizeof none)))
		return ada_error_set(error, ENODATA, "the recorder's memory was never used");
	if (length != sizeof header || !agrees(&header) || (uint64_t)info.st_size < header.total_bytes)
		return ada_error_set(error, EINVAL, "the recorder's memory is damaged, or of another version of ada");
	status = ada_arena_map(map, &header, fd);
	return status ? ada_error_system(error, -status, "the recorder's memory can't be mapped") : 0;
}

void ada_arena_detach(struct ada_arena_map *map)
{
	if (map->header)
		munmap(map->header, map->bytes);
	*map = (struct ada_arena_map){ 0 };
}

void ada_arena_lane_state(const struct ada_arena_lane *lane, struct ada_arena_lane_state *state)
{
	*state = lane->slots[__atomic_load_n(&lane->current, __ATOMIC_ACQUIRE) & 1];
}

int ada_arena_clock(const struct ada_arena_map *map, struct ada_clock **clock)
{
	static_assert(sizeof(struct ada_clock_anchor) == sizeof(struct ada_arena_anchor) &&
			      offsetof(struct ada_clock_anchor, ns_per_tick) == offsetof(struct ada_arena_anchor, ns_per_tick),
		      "same fields");
	const struct ada_arena_clock *note = &map->header->clocks[__atomic_load_n(&map->header->clock_current, __ATOMIC_ACQUIRE) & 1];
	struct ada_clock_state state = {
		.fell = note->fell, .before = note->before, .young_until = note->young_until, .resolution_ns = note->resolution_ns
	};

	*clock = NULL;
	if (note->anchors > map->header->anchors)
		return -EINVAL;
	return ada_clock_rebuild(clock, (const struct ada_clock_anchor *)map->anchors, note->anchors, &state);
}

void ada_arena_geometry(const struct ada_arena_provider *provider, uint32_t number, struct ada_segment_options *options)
{
	*options = (struct ada_segment_options){ .index_buffer_bytes = provider->index_bytes,
						 .detail_buffer_bytes = provider->detail_bytes,
						 .detail_stack_bytes = provider->stack_bytes,
						 .stack_at_return = provider->stack_at_return,
						 .detail_mode = provider->detail_mode,
						 .no_small = provider->no_small,
						 .pid = provider->pid,
						 .provider = number,
						 .named = true };
}

void ada_arena_provider_of(const struct ada_segment_options *options, struct ada_arena_provider *provider)
{
	*provider = (struct ada_arena_provider){ .pid = options->pid,
						 .index_bytes = options->index_buffer_bytes,
						 .detail_bytes = options->detail_buffer_bytes,
						 .stack_bytes = options->detail_stack_bytes,
						 .stack_at_return = options->stack_at_return,
						 .detail_mode = options->detail_mode,
						 .no_small = options->no_small,
						 .ready = options->ready };
}

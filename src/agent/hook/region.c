/* Regions of trampolines and near stubs, within reach of a module's 5-byte jumps and calls.
 *
 *   +------------------+------------------+------------------+------------------+--
 *   | code of block 0  | hooks of block 0 | code of block 1  | hooks of block 1 |
 *   +------------------+------------------+------------------+------------------+--
 *   ADA_BLOCK_BYTES each, in cells of 64 bytes (of near stubs: 32); only what is used is ever touched
 *
 * Modules whose trampolines need no whole block share one with others, each from a page on: so the room within reach doesn't limit how
 * many come in the life of a process.
 */
#include <sys/mman.h>
#include "abi/page.h"
#include "abi/plan.h"
#include "agent/hook/parts.h"
#include "agent/hook/view.h"

#define CELLS_MAX 5u /* of one trampoline: its body has up to 255 bytes */
#define REACH_BYTES (1ull << 30)
#define STEP_BYTES (4ull << 20)
#define GAP_BYTES (16ull << 20) /* left free between a module and its region */
#define JUMP_REACH ((1ull << 31) - ADA_BLOCK_BYTES)

struct ada_region {
	uint8_t *memory;
	uint64_t bytes;
	uint32_t cell_bytes;
	uint32_t cells, cells_used;
	uint32_t cells_sealed; /* cells before it are in use, and code; in whole pages except the last */
	struct ada_region *next;
	struct ada_view views[ADA_VIEW_KINDS];
};

extern const char ada_region_frames_plain[] ADA_HIDDEN, ada_region_frames_plain_cie[] ADA_HIDDEN,
	ada_region_frames_plain_place[] ADA_HIDDEN, ada_region_frames_plain_end[] ADA_HIDDEN;
extern const char ada_near_frames[] ADA_HIDDEN, ada_near_frames_cie[] ADA_HIDDEN, ada_near_frames_place[] ADA_HIDDEN,
	ada_near_frames_end[] ADA_HIDDEN;

static const struct ada_frames region_frames = { ada_region_frames_plain, ada_region_frames_plain_cie, ada_region_frames_plain_place,
						 ada_region_frames_plain_end };
static const struct ada_frames near_frames = { ada_near_frames, ada_near_frames_cie, ada_near_frames_place, ada_near_frames_end };

static struct ada_region *regions; /* sealed once, for readers without lock: none is ever taken out */

static uint64_t pages(uint64_t bytes)
{
	return (bytes + ADA_PAGE_BYTES - 1) & ~(ADA_PAGE_BYTES - 1);
}

/* Where the kernel would put it: mappings are dense around libraries, not least by our own segment, and a search would ask for each step. */
static uint8_t *reserve_anywhere(uint64_t near_start, uint64_t near_end, uint64_t bytes)
{
	uint8_t *memory = ada_sys_map(bytes);
	uint64_t start = (uint64_t)memory, end = start + bytes;

	if (!memory || (near_start < REACH_BYTES + start && end < REACH_BYTES + near_end))
		return memory;
	ada_sys_unmap(memory, bytes);
	return NULL;
}

/* Tries below the module first. Above a program that isn't position-independent its heap grows, so there it tries from far to near. */
static uint8_t *reserve(uint64_t near_start, uint64_t near_end, uint64_t bytes)
{
	uint64_t distance = GAP_BYTES + pages(bytes);
	uint8_t *memory = NULL;

	near_start &= ~(ADA_PAGE_BYTES - 1);
	if (distance < near_start)
		memory = ada_sys_map_at((void *)(near_start - distance), bytes, PROT_READ | PROT_WRITE);
	if (!memory)
		memory = reserve_anywhere(near_start, near_end, bytes);
	for (; !memory && distance < REACH_BYTES && distance < near_start; distance += STEP_BYTES)
		memory = ada_sys_map_at((void *)(near_start - distance), bytes, PROT_READ | PROT_WRITE);
	for (distance = REACH_BYTES - pages(bytes); !memory && distance > GAP_BYTES; distance -= STEP_BYTES)
		memory = ada_sys_map_at((void *)(pages(near_end) + distance), bytes, PROT_READ | PROT_WRITE);
	return memory;
}

bool ada_region_reaches(const struct ada_region *region, uint64_t near_start, uint64_t near_end)
{
	uint64_t start = (uint64_t)region->memory, end = start + region->bytes;

	return (end > near_end ? end : near_end) - (start < near_start ? start : near_start) < JUMP_REACH;
}

static uint32_t cells_a_block(uint32_t cell_bytes)
{
	return ADA_BLOCK_BYTES / cell_bytes;
}

static bool holds_near(const struct ada_region *region)
{
	return region->cell_bytes == ADA_NEAR_STUB_BYTES;
}

/* Cells that were built there and not sealed have not come into use. */
static struct ada_region *region_with_room(uint64_t near_start, uint64_t near_end, uint32_t cell_bytes, uint32_t cells)
{
	uint32_t a_page = ADA_PAGE_BYTES / cell_bytes;

	for (struct ada_region *region = regions; region; region = region->next) {
		uint32_t first = (region->cells_sealed + a_page - 1) / a_page * a_page;

		if (region->cell_bytes != cell_bytes || region->cells != cells_a_block(cell_bytes) || first + cells > region->cells ||
		    !ada_region_reaches(region, near_start, near_end))
			continue;
		region->cells_sealed = region->cells_used = first;
		return region;
	}
	return NULL;
}

/* Bytes that a region of its own needs. 0: too many. */
static uint64_t bytes_of(uint32_t cell_bytes, uint32_t cells)
{
	uint32_t blocks = cells / cells_a_block(cell_bytes), rest = cells % cells_a_block(cell_bytes);
	uint64_t bytes = 2ull * blocks * ADA_BLOCK_BYTES + (rest ? ADA_BLOCK_BYTES + pages((uint64_t)rest * cell_bytes) : 0);

	return bytes > REACH_BYTES / 2 ? 0 : bytes;
}

static int cells_reserve(struct ada_region **result, uint64_t near_start, uint64_t near_end, uint32_t cell_bytes, uint32_t cells)
{
	uint32_t a_block = cells_a_block(cell_bytes);
	bool small = cells <= a_block;
	struct ada_region *region = small ? region_with_room(near_start, near_end, cell_bytes, cells) : NULL;

	if (!region) {
		if (!small)
			cells += cells / (a_block - CELLS_MAX) * CELLS_MAX; /* left over at the ends of blocks */
		if (!bytes_of(cell_bytes, cells))
			return -E2BIG;
		region = ada_sys_map(sizeof *region);
		if (!region)
			return -ENOMEM;
		region->cell_bytes = cell_bytes;
		region->cells = small ? a_block : cells;
		region->bytes = bytes_of(cell_bytes, region->cells);
		region->memory = reserve(near_start, near_end, region->bytes);
		if (!region->memory && small) { /* then no other region is near, either */
			region->cells = cells;
			region->bytes = bytes_of(cell_bytes, cells);
			region->memory = reserve(near_start, near_end, region->bytes);
		}
		if (!region->memory) {
			ada_sys_unmap(region, sizeof *region);
			return -ENOMEM;
		}
		ada_sys_advise(region->memory, region->bytes, MADV_NOHUGEPAGE);
	}
	*result = region;
	return 0;
}

int ada_region_reserve(struct ada_region **region, uint64_t near_start, uint64_t near_end, uint32_t cells)
{
	return cells_reserve(region, near_start, near_end, ADA_TRAMPOLINE_BYTES, cells);
}

int ada_region_reserve_near(struct ada_region **region, uint64_t near_start, uint64_t near_end, uint32_t stubs)
{
	return cells_reserve(region, near_start, near_end, ADA_NEAR_STUB_BYTES, stubs);
}

static uint8_t *cell_at(const struct ada_region *region, uint32_t number)
{
	uint32_t a_block = cells_a_block(region->cell_bytes);

	return region->memory + 2ull * (number / a_block) * ADA_BLOCK_BYTES + number % a_block * region->cell_bytes;
}

/* The first of that many cells in one block, or NULL. */
uint8_t *ada_region_take(struct ada_region *region, uint32_t count)
{
	uint32_t a_block = cells_a_block(region->cell_bytes), number = region->cells_used, left = a_block - number % a_block;

	if (left < count)
		number += left;
	if (number + count > region->cells)
		return NULL;
	region->cells_used = number + count;
	return cell_at(region, number);
}

static bool is_known(const struct ada_region *region)
{
	const struct ada_region *known = regions;

	while (known && known != region)
		known = known->next;
	return known;
}

static void region_publish(struct ada_region *region)
{
	const struct ada_frames *frames = holds_near(region) ? &near_frames : &region_frames;

	for (uint32_t kind = 0; kind < ADA_VIEW_KINDS; kind++)
		ada_view_fill(&region->views[kind], (uint64_t)region->memory, region->bytes,
			      kind == ADA_VIEW_PLAIN || holds_near(region) ? frames->table : ada_region_frames);
	ada_debugger_tell((uint64_t)region->memory, region->bytes, frames);
	region->next = regions; /* one writer at a time: the loader's lock is held, or there is one thread */
	__atomic_store_n(&regions, region, __ATOMIC_RELEASE);
}

int ada_region_seal(struct ada_region *region)
{
	const uint32_t a_block = cells_a_block(region->cell_bytes);
	long result = 0;

	for (uint32_t from = region->cells_sealed, end; from < region->cells_used && !ada_sys_failed(result); from = end) {
		end = (from / a_block + 1) * a_block;
		end = end < region->cells_used ? end : region->cells_used;
		result = ada_sys_protect(cell_at(region, from), pages((uint64_t)(end - from) * region->cell_bytes), PROT_READ | PROT_EXEC);
	}
	__atomic_store_n(&region->cells_sealed, region->cells_used, __ATOMIC_RELEASE);
	if (!is_known(region))
		region_publish(region);
	return ada_sys_failed(result) ? (int)result : 0;
}

static const struct ada_region *region_of(uint64_t address)
{
	const struct ada_region *region = __atomic_load_n(&regions, __ATOMIC_ACQUIRE);

	for (; region; region = region->next) {
		uint64_t offset = address - (uint64_t)region->memory, block = offset / ADA_BLOCK_BYTES;

		if (offset < region->bytes && block % 2 == 0 &&
		    block / 2 * cells_a_block(region->cell_bytes) + offset % ADA_BLOCK_BYTES / region->cell_bytes <
			    __atomic_load_n(&region->cells_sealed, __ATOMIC_ACQUIRE))
			return region;
	}
	return NULL;
}

bool ada_region_holds(uint64_t address)
{
	return region_of(address);
}

/* As region.S tells it to unwinders. */
uint64_t ada_region_original(uint64_t address)
{
	const struct ada_region *region = region_of(address);
	const struct ada_plan_origin *origin;
	const struct ada_hook *hook;
	uint64_t start, offset;

	if (!region || holds_near(region))
		return 0;
	start = ada_hook_of((uint8_t *)(address / ADA_TRAMPOLINE_BYTES * ADA_TRAMPOLINE_BYTES))->start;
	hook = ada_hook_of((uint8_t *)(start / ADA_TRAMPOLINE_BYTES * ADA_TRAMPOLINE_BYTES));
	if (address < start + ADA_TRAMPOLINE_BODY)
		return hook->original;
	offset = address - start - ADA_TRAMPOLINE_BODY;
	if (offset >= ADA_ORIGIN_END)
		return 0;
	for (origin = (const void *)hook->origins; origin[1].body <= offset; origin++)
		continue;
	return hook->original + origin->original + (offset - origin->body);
}

const char *ada_region_frames_of(uint64_t address)
{
	const struct ada_region *region = region_of(address);

	return !region ? NULL : holds_near(region) ? ada_near_frames : ada_region_frames;
}

const struct ada_view *ada_region_view(const void **at, enum ada_view_kind kind, uint64_t *start)
{
	const struct ada_region *region = *at ? ((const struct ada_region *)*at)->next : __atomic_load_n(&regions, __ATOMIC_ACQUIRE);

	*at = region;
	if (!region)
		return NULL;
	*start = (uint64_t)region->memory;
	return &region->views[kind];
}

static void hook_pass(struct ada_hook *hook)
{
	if (ada_variant_is_entry(ADA_WAY_ABOVE, hook->entry))
		__atomic_store_n(&hook->entry, (uint64_t)ada_pass, __ATOMIC_RELAXED);
	else if (ada_variant_is_entry(ADA_WAY_BELOW, hook->entry))
		__atomic_store_n(&hook->entry, (uint64_t)ada_pass_below, __ATOMIC_RELAXED);
}

/* A call that some thread is just recording may get no return stub; its return would come behind the end. */
static void near_pass(uint8_t *stub)
{
	struct ada_hook *near = ada_hook_of(stub);

	__atomic_store_n(&near->stub, (uint64_t)stub + ADA_NEAR_STUB_PASS, __ATOMIC_RELEASE);
	__atomic_store_n(&near->entry, (uint64_t)ada_pass_near, __ATOMIC_RELEASE);
}

void ada_region_pass_calls(void)
{
	const struct ada_region *region = __atomic_load_n(&regions, __ATOMIC_ACQUIRE);

	for (; region; region = region->next)
		for (uint32_t i = 0; i < region->cells_sealed; i++)
			if (holds_near(region))
				near_pass(cell_at(region, i));
			else
				hook_pass(ada_hook_of(cell_at(region, i)));
}

bool ada_region_pass(void)
{
	ada_region_pass_calls();
	return ada_variant_pass_exits();
}

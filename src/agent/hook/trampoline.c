/* Regions of trampolines, within reach of a module's 5-byte jumps.
 *
 *   +------------------+------------------+------------------+------------------+--
 *   | code of block 0  | hooks of block 0 | code of block 1  | hooks of block 1 |
 *   +------------------+------------------+------------------+------------------+--
 *   ADA_BLOCK_BYTES each, in cells of 64 bytes; only what is used is ever touched
 *
 * Modules whose trampolines need no whole block share one with others, each from a page on: so the room within reach doesn't limit how
 * many come in the life of a process.
 *
 * A trampoline (one cell, or as many as its body needs; its hook lies ADA_BLOCK_BYTES behind it, so that no cache line
 * holds code and data):
 *
 *   0   call *hook.entry(%rip)      ada_entry            or   jmp *hook.entry(%rip)    an intercept's replacement
 *   6   lea 8(%rsp),%rsp            over the slot: the stub's call makes it anew, without touching the flags
 *   14  jmp *-24(%rsp)              what ada_entry left there: a stub, or
 *   21  lea -8(%rsp),%rsp           ... the body without a stub
 *   26  the body: relocated prologue ending in its jump back
 *
 * A trampoline that leaves a red zone alone has a lead before that (hook.start is behind the lead). ada_entry_below can't leave its
 * target for the jump below the slot: there is the red zone, and a signal handler overwrites what is still lower. So the slot itself
 * takes the target, since the stub's call makes the slot anew; without a stub, ada_entry_below comes back to 18.
 *
 *       lea -128(%rsp),%rsp
 *   0   call *hook.entry(%rip)      ada_entry_below
 *   6   lea 136(%rsp),%rsp
 *   14  jmp *-8(%rsp)
 *   18  lea 128(%rsp),%rsp
 *   26  the body
 *
 * How an unwinder gets through a trampoline: region.S.
 */
#include <sys/mman.h>
#include "abi/plan.h"
#include "agent/hook/parts.h"
#include "agent/hook/view.h"

#define PAGE_BYTES 4096ull
#define CELLS_A_BLOCK (ADA_BLOCK_BYTES / ADA_TRAMPOLINE_BYTES)
#define CELLS_MAX 5u /* of one trampoline: its body has up to 255 bytes */
#define REACH_BYTES (1ull << 30)
#define STEP_BYTES (4ull << 20)
#define GAP_BYTES (16ull << 20) /* left free between a module and its region */
#define JUMP_REACH ((1ull << 31) - ADA_BLOCK_BYTES)
#define CELLS_A_PAGE (PAGE_BYTES / ADA_TRAMPOLINE_BYTES)

static_assert(offsetof(struct ada_hook, entry) < 128 && offsetof(struct ada_hook, target) < 128, "within the hook");

struct ada_region {
	uint8_t *memory;
	uint64_t bytes;
	uint32_t cells, cells_used;
	uint32_t cells_sealed; /* cells before it are in use, and code; in whole pages except the last */
	struct ada_region *next;
	struct ada_view views[ADA_VIEW_KINDS];
};

extern char ada_region_frames[] __attribute__((visibility("hidden")));
extern char ada_region_frames_plain[] __attribute__((visibility("hidden")));

static struct ada_region *regions; /* sealed once, for readers without lock: none is ever taken out */
static const struct ada_plan_origin plain_origins[] = { { 0, 0, 0, 0 }, { .body = ADA_ORIGIN_END } };

static uint64_t pages(uint64_t bytes)
{
	return (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

/* Tries below the module first. Above a program that isn't position-independent its heap grows, so there it tries from far to near. */
static uint8_t *reserve(uint64_t near_start, uint64_t near_end, uint64_t bytes)
{
	uint8_t *memory = NULL;
	uint64_t distance;

	near_start &= ~(PAGE_BYTES - 1);
	for (distance = GAP_BYTES + pages(bytes); !memory && distance < REACH_BYTES && distance < near_start; distance += STEP_BYTES)
		memory = ada_sys_map_at((void *)(near_start - distance), bytes, PROT_READ | PROT_WRITE);
	for (distance = REACH_BYTES - pages(bytes); !memory && distance > GAP_BYTES; distance -= STEP_BYTES)
		memory = ada_sys_map_at((void *)(pages(near_end) + distance), bytes, PROT_READ | PROT_WRITE);
	return memory;
}

static bool is_within_reach(const struct ada_region *region, uint64_t near_start, uint64_t near_end)
{
	uint64_t start = (uint64_t)region->memory, end = start + region->bytes;

	return (end > near_end ? end : near_end) - (start < near_start ? start : near_start) < JUMP_REACH;
}

/* Cells that were built there and not sealed have not come into use. */
static struct ada_region *region_with_room(uint64_t near_start, uint64_t near_end, uint32_t cells)
{
	for (struct ada_region *region = regions; region; region = region->next) {
		uint32_t first = (region->cells_sealed + CELLS_A_PAGE - 1) / CELLS_A_PAGE * CELLS_A_PAGE;

		if (region->cells != CELLS_A_BLOCK || first + cells > region->cells || !is_within_reach(region, near_start, near_end))
			continue;
		region->cells_sealed = region->cells_used = first;
		return region;
	}
	return NULL;
}

/* Bytes that a region of its own needs. 0: too many. */
static uint64_t bytes_of(uint32_t cells)
{
	uint32_t blocks = cells / CELLS_A_BLOCK, rest = cells % CELLS_A_BLOCK;
	uint64_t bytes = 2ull * blocks * ADA_BLOCK_BYTES + (rest ? ADA_BLOCK_BYTES + pages(rest * ADA_TRAMPOLINE_BYTES) : 0);

	return bytes > REACH_BYTES / 2 ? 0 : bytes;
}

int ada_region_reserve(struct ada_region **result, uint64_t near_start, uint64_t near_end, uint32_t cells)
{
	bool small = cells <= CELLS_A_BLOCK;
	struct ada_region *region = small ? region_with_room(near_start, near_end, cells) : NULL;

	if (!region) {
		if (!small)
			cells += cells / (CELLS_A_BLOCK - CELLS_MAX) * CELLS_MAX; /* left over at the ends of blocks */
		if (!bytes_of(cells))
			return -E2BIG;
		region = ada_sys_map(sizeof *region);
		if (!region)
			return -ENOMEM;
		region->cells = small ? CELLS_A_BLOCK : cells;
		region->bytes = bytes_of(region->cells);
		region->memory = reserve(near_start, near_end, region->bytes);
		if (!region->memory && small) { /* then no other region is near, either */
			region->cells = cells;
			region->bytes = bytes_of(cells);
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

/* opcode (one or two bytes), then the distance from the instruction's end to the target. Returns the end. */
static uint8_t *put_jump(uint8_t *at, const char *opcode, uint32_t opcode_bytes, const void *target)
{
	int32_t distance;

	memcpy(at, opcode, opcode_bytes);
	at += opcode_bytes;
	distance = (const uint8_t *)target - (at + sizeof distance);
	memcpy(at, &distance, sizeof distance);
	return at + sizeof distance;
}

static struct ada_hook *hook_of(uint8_t *cell)
{
	return (struct ada_hook *)(cell + ADA_BLOCK_BYTES);
}

/* The first of that many cells in one block, or NULL. */
static uint8_t *cells_take(struct ada_region *region, uint32_t count)
{
	uint32_t number = region->cells_used, left = CELLS_A_BLOCK - number % CELLS_A_BLOCK;

	if (left < count)
		number += left;
	if (number + count > region->cells)
		return NULL;
	region->cells_used = number + count;
	return region->memory + 2ull * (number / CELLS_A_BLOCK) * ADA_BLOCK_BYTES + number % CELLS_A_BLOCK * ADA_TRAMPOLINE_BYTES;
}

uint32_t ada_region_cells(uint32_t body_bytes, bool red_zone)
{
	uint32_t bytes = (red_zone ? ADA_TRAMPOLINE_LEAD : 0) + ADA_TRAMPOLINE_BODY + body_bytes;

	return (bytes + ADA_TRAMPOLINE_BYTES - 1) / ADA_TRAMPOLINE_BYTES;
}

/* lea distance(%rsp),%rsp with four bytes of distance */
static uint8_t *put_lea(uint8_t *at, int32_t distance)
{
	memcpy(at, "\x48\x8d\xa4\x24", 4);
	memcpy(at + 4, &distance, sizeof distance);
	return at + 8;
}

/* Writes what lies before the body, in either form. Returns hook.start. */
static uint8_t *put_head(uint8_t *cell, const struct ada_hook_spec *spec, const struct ada_hook *hook)
{
	uint8_t *at = put_jump(cell, spec->replacement ? "\xff\x25" : "\xff\x15", 2, &hook->entry);

	at = put_lea(at, 8);
	memcpy(at,
	       "\xff\xa4\x24\xe8\xff\xff\xff" /* jmp *-24(%rsp) */
	       "\x48\x8d\x64\x24\xf8",
	       12); /* lea -8(%rsp),%rsp */
	return cell;
}

static uint8_t *put_head_below(uint8_t *cell, const struct ada_hook *hook)
{
	uint8_t *start = put_lea(cell, -ADA_RED_ZONE_BYTES), *at = put_jump(start, "\xff\x15", 2, &hook->entry);

	at = put_lea(at, ADA_RED_ZONE_BYTES + 8);
	memcpy(at, "\xff\x64\x24\xf8", 4); /* jmp *-8(%rsp) */
	put_lea(start + ADA_TRAMPOLINE_BELOW_NO_STUB, ADA_RED_ZONE_BYTES);
	return start;
}

int ada_region_hook(struct ada_region *region, const struct ada_hook_spec *spec, uint64_t *entry, uint8_t **body)
{
	uint32_t cells = ada_region_cells(spec->body_bytes, spec->red_zone);
	uint8_t *trampoline = cells_take(region, cells);
	struct ada_hook *hook;

	if (!trampoline)
		return -ENOSPC;
	hook = hook_of(trampoline);
	*hook = (struct ada_hook){ .function_id = spec->function_id,
				   .cache = &ada_no_site,
				   .target = spec->target,
				   .original = spec->body ? spec->original : spec->target,
				   .origins = spec->origins ? spec->origins : (const uint8_t *)plain_origins,
				   .number = spec->number < ADA_FUNCTIONS_MAX ? spec->number : 0,
				   .free_at_entry = spec->free_at_entry,
				   .free_at_exit = spec->free_at_exit,
				   .stub_class = ada_variant_stub_class(spec->free_at_exit) };
	hook->entry = spec->replacement ? spec->replacement :
		      spec->red_zone	? (uint64_t)ada_entry_below :
					  ada_variant_entry(spec->free_at_entry);
	hook->start = (uint64_t)(spec->red_zone ? put_head_below(trampoline, hook) : put_head(trampoline, spec, hook));
	for (uint32_t i = 1; i < cells; i++)
		hook_of(trampoline + i * ADA_TRAMPOLINE_BYTES)->start = hook->start;
	*body = (uint8_t *)hook->start + ADA_TRAMPOLINE_BODY;
	if (spec->body)
		memcpy(*body, spec->body, spec->body_bytes);
	else
		put_jump(*body, "\xff\x25", 2, &hook->target); /* jmp *target */
	*entry = (uint64_t)trampoline;
	return 0;
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
	for (uint32_t kind = 0; kind < ADA_VIEW_KINDS; kind++)
		ada_view_fill(&region->views[kind], (uint64_t)region->memory, region->bytes,
			      kind == ADA_VIEW_PLAIN ? ada_region_frames_plain : ada_region_frames);
	ada_debugger_tell((uint64_t)region->memory, region->bytes);
	region->next = regions; /* one writer at a time: the loader's lock is held, or there is one thread */
	__atomic_store_n(&regions, region, __ATOMIC_RELEASE);
}

int ada_region_seal(struct ada_region *region)
{
	const int code = PROT_READ | PROT_EXEC;
	long result = 0;

	for (uint32_t from = region->cells_sealed, end; from < region->cells_used && !ada_sys_failed(result); from = end) {
		uint8_t *block = region->memory + 2ull * (from / CELLS_A_BLOCK) * ADA_BLOCK_BYTES;

		end = (from / CELLS_A_BLOCK + 1) * CELLS_A_BLOCK;
		end = end < region->cells_used ? end : region->cells_used;
		result = ada_sys_protect(block + from % CELLS_A_BLOCK * ADA_TRAMPOLINE_BYTES,
					 pages((uint64_t)(end - from) * ADA_TRAMPOLINE_BYTES), code);
	}
	__atomic_store_n(&region->cells_sealed, region->cells_used, __ATOMIC_RELEASE);
	if (!is_known(region))
		region_publish(region);
	return ada_sys_failed(result) ? (int)result : 0;
}

uint64_t ada_region_body(uint64_t entry)
{
	return hook_of((uint8_t *)entry)->start + ADA_TRAMPOLINE_BODY;
}

uint64_t *ada_region_target(uint64_t entry, uint64_t *function_id)
{
	struct ada_hook *hook = hook_of((uint8_t *)entry);

	if (entry % ADA_TRAMPOLINE_BYTES || !ada_region_holds(entry) || hook->start != entry || !hook->target)
		return NULL;
	*function_id = hook->function_id;
	return &hook->target;
}

bool ada_region_holds(uint64_t address)
{
	const struct ada_region *region = __atomic_load_n(&regions, __ATOMIC_ACQUIRE);

	for (; region; region = region->next) {
		uint64_t offset = address - (uint64_t)region->memory, block = offset / ADA_BLOCK_BYTES;

		if (offset < region->bytes && block % 2 == 0 &&
		    block / 2 * CELLS_A_BLOCK + offset % ADA_BLOCK_BYTES / ADA_TRAMPOLINE_BYTES <
			    __atomic_load_n(&region->cells_sealed, __ATOMIC_ACQUIRE))
			return true;
	}
	return false;
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
	if (ada_variant_is_entry(hook->entry))
		__atomic_store_n(&hook->entry, (uint64_t)ada_pass, __ATOMIC_RELAXED);
	else if (hook->entry == (uint64_t)ada_entry_below)
		__atomic_store_n(&hook->entry, (uint64_t)ada_pass_below, __ATOMIC_RELAXED);
}

void ada_region_pass_calls(void)
{
	const struct ada_region *region = __atomic_load_n(&regions, __ATOMIC_ACQUIRE);

	for (; region; region = region->next)
		for (uint32_t i = 0; i < region->cells_sealed; i++)
			hook_pass(hook_of(region->memory + 2ull * (i / CELLS_A_BLOCK) * ADA_BLOCK_BYTES +
					  i % CELLS_A_BLOCK * ADA_TRAMPOLINE_BYTES));
}

bool ada_region_pass(void)
{
	ada_region_pass_calls();
	return ada_variant_pass_exits();
}

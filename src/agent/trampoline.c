/* Regions of trampolines, within reach of a module's 5-byte jumps.
 *
 *   +------------------+------------------+------------------+------------------+-- --+----------+
 *   | code of block 0  | hooks of block 0 | code of block 1  | hooks of block 1 |     | overflow |
 *   +------------------+------------------+------------------+------------------+-- --+----------+
 *   ADA_BLOCK_BYTES each; only what is used is ever touched
 *
 * A trampoline (64 bytes; its hook lies ADA_BLOCK_BYTES behind it, so that no cache line holds code and data):
 *
 *   0   call *hook.entry(%rip)      ada_entry            or   jmp *hook.entry(%rip)    an intercept's replacement
 *   6   lea 8(%rsp),%rsp            over the slot: the stub's call makes it anew, without touching the flags
 *   11  jmp *-24(%rsp)              what ada_entry left there: a stub, or
 *   16  lea -8(%rsp),%rsp           ... the body without a stub
 *   21  the body: relocated prologue ending in its jump back; a jump to the overflow part where it is too long
 *
 * Nothing describes trampolines and bodies to an unwinder: a backtrace from a signal that hits one ends there.
 */
#include <sys/mman.h>
#include "agent/core.h"

#define PAGE_BYTES 4096ull
#define HOOKS_A_BLOCK (ADA_BLOCK_BYTES / ADA_TRAMPOLINE_BYTES)
#define REACH_BYTES (1ull << 30)
#define STEP_BYTES (4ull << 20)
#define GAP_BYTES (16ull << 20)			/* left free between a module and its region */

static_assert(ADA_BODY_INLINE_BYTES == ADA_TRAMPOLINE_BYTES - ADA_TRAMPOLINE_BODY, "agent.h");
static_assert(offsetof(struct ada_hook, entry) < 128 && offsetof(struct ada_hook, target) < 128, "within the hook");

struct ada_region {
	uint8_t *memory;
	uint64_t bytes;
	uint32_t hooks, hooks_used;
	uint8_t *overflow, *overflow_end;	/* what is left of it */
	uint64_t overflow_bytes;		/* all of it, in pages at the region's end */
};

static struct ada_site no_site;			/* caches point here until they know better: no return address is 0 */

static uint64_t pages(uint64_t bytes)
{
	return (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

/* Below the module first: above a program that isn't position-independent its heap grows, so there from far to near. */
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

int ada_region_reserve(struct ada_region **result, uint64_t near_start, uint64_t near_end, uint32_t hooks, uint32_t overflow_bytes)
{
	uint32_t blocks = hooks / HOOKS_A_BLOCK, rest = hooks % HOOKS_A_BLOCK;
	uint64_t hooks_bytes = 2ull * blocks * ADA_BLOCK_BYTES;
	struct ada_region *region;

	if (rest)
		hooks_bytes += ADA_BLOCK_BYTES + pages(rest * ADA_TRAMPOLINE_BYTES);
	if (hooks_bytes + overflow_bytes > REACH_BYTES / 2)
		return -E2BIG;
	region = ada_sys_map(sizeof *region);
	if (!region)
		return -ENOMEM;
	region->bytes = hooks_bytes + pages(overflow_bytes);
	region->memory = reserve(near_start, near_end, region->bytes);
	if (!region->memory) {
		ada_sys_unmap(region, sizeof *region);
		return -ENOMEM;
	}
	region->hooks = hooks;
	region->overflow = region->memory + hooks_bytes;
	region->overflow_end = region->overflow + overflow_bytes;
	region->overflow_bytes = pages(overflow_bytes);
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

static int body_put(struct ada_region *region, const struct ada_hook_spec *spec, uint8_t *at, const struct ada_hook *hook,
		    uint8_t **body)
{
	if (!spec->body) {
		put_jump(at, "\xff\x25", 2, &hook->target);	/* jmp *target */
	} else if (spec->body_bytes > ADA_BODY_INLINE_BYTES) {
		if (spec->body_bytes > (uint64_t)(region->overflow_end - region->overflow))
			return -ENOSPC;
		put_jump(at, "\xe9", 1, region->overflow);
		at = region->overflow;
		region->overflow += spec->body_bytes;
	}
	if (spec->body)
		memcpy(at, spec->body, spec->body_bytes);
	if (body)
		*body = at;
	return 0;
}

int ada_region_hook(struct ada_region *region, const struct ada_hook_spec *spec, uint64_t *entry, uint8_t **body)
{
	uint32_t number = region->hooks_used;
	uint8_t *trampoline = region->memory + 2ull * (number / HOOKS_A_BLOCK) * ADA_BLOCK_BYTES +
			      number % HOOKS_A_BLOCK * ADA_TRAMPOLINE_BYTES;
	struct ada_hook *hook = (struct ada_hook *)(trampoline + ADA_BLOCK_BYTES);
	int result;

	if (number == region->hooks)
		return -ENOSPC;
	result = body_put(region, spec, trampoline + ADA_TRAMPOLINE_BODY, hook, body);
	if (result)
		return result;
	region->hooks_used++;
	*hook = (struct ada_hook){ .function_id = spec->function_id, .cache = &no_site, .target = spec->target,
				   .entry = spec->replacement ? spec->replacement : (uint64_t)ada_entry };
	put_jump(trampoline, spec->replacement ? "\xff\x25" : "\xff\x15", 2, &hook->entry);
	memcpy(trampoline + ADA_TRAMPOLINE_RETURN,
	       "\x48\x8d\x64\x24\x08"		/* lea 8(%rsp),%rsp */
	       "\xff\x64\x24\xe8\x90"		/* jmp *-24(%rsp); nop */
	       "\x48\x8d\x64\x24\xf8", 15);	/* lea -8(%rsp),%rsp */
	*entry = (uint64_t)trampoline;
	return 0;
}

int ada_region_seal(struct ada_region *region)
{
	const int code = PROT_READ | PROT_EXEC;
	uint8_t *block = region->memory, *end = region->memory + region->bytes;
	uint32_t left = region->hooks_used;
	long result = 0;

	for (; left && !ada_sys_failed(result); block += 2 * ADA_BLOCK_BYTES) {
		uint32_t here = left < HOOKS_A_BLOCK ? left : HOOKS_A_BLOCK;

		result = ada_sys_protect(block, pages(here * ADA_TRAMPOLINE_BYTES), code);
		left -= here;
	}
	if (region->overflow_bytes && !ada_sys_failed(result))
		result = ada_sys_protect(end - region->overflow_bytes, region->overflow_bytes, code);
	return ada_sys_failed(result) ? (int)result : 0;
}

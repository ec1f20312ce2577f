/* Trampolines and near stubs: what lies in the cells of a region (region.c).
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
 * A trampoline that leaves a red zone alone has a lead before that (hook.start is behind the lead). Its hook can't leave the target for the
 * jump below the slot: there is the red zone, and a signal handler overwrites what is still lower. So the slot itself takes the target, since
 * the stub's call makes the slot anew; without a stub, the hook comes back to 18.
 *
 *       lea -128(%rsp),%rsp
 *   0   call *hook.entry(%rip)      as ada_entry_below
 *   6   lea 136(%rsp),%rsp
 *   14  jmp *-8(%rsp)
 *   18  lea 128(%rsp),%rsp
 *   26  the body
 *
 * A near stub is for a single caller, whose call leads to it (patch/bind.c), so it has no body, and its hook has the return stub itself. A
 * call comes with no red zone, whatever the function's trampoline leaves alone.
 *
 *   0   call *hook.entry(%rip)      ada_entry_near; once hook.stub is filled, a hook that knows its caller
 *   6   lea 8(%rsp),%rsp            as above
 *   11  jmp *hook.stub(%rip)
 *   17  lea -8(%rsp),%rsp           where hook.stub leads when hooks only pass
 *   22  jmp rel32                   to the body; where ada_entry_near comes back without a return stub
 *
 * How an unwinder gets through all these: region.S.
 */
#include "abi/plan.h"
#include "agent/hook/parts.h"

static_assert(offsetof(struct ada_hook, entry) < 128 && offsetof(struct ada_hook, target) < 128, "within the hook");
static_assert(ADA_TRAMPOLINE_LEAD + ADA_TRAMPOLINE_BODY < ADA_TRAMPOLINE_BYTES, "a near stub finds the hook by the body's beginning");

static const struct ada_plan_origin plain_origins[] = { { 0, 0, 0, 0 }, { .body = ADA_ORIGIN_END } };

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

/* lea distance(%rsp),%rsp with one byte of distance */
static uint8_t *put_short_lea(uint8_t *at, int8_t distance)
{
	memcpy(at, "\x48\x8d\x64\x24", 4);
	at[4] = (uint8_t)distance;
	return at + 5;
}

/* Writes what lies before the body, in either form. Returns hook.start. */
static uint8_t *put_head_above(uint8_t *cell, const struct ada_hook_spec *spec, const struct ada_hook *hook)
{
	uint8_t *at = put_lea(put_jump(cell, spec->replacement ? "\xff\x25" : "\xff\x15", 2, &hook->entry), 8);

	memcpy(at, "\xff\xa4\x24\xe8\xff\xff\xff", 7); /* jmp *-24(%rsp) */
	put_short_lea(at + 7, -8);
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
	uint8_t *trampoline = ada_region_take(region, cells);
	struct ada_hook *hook;

	if (!trampoline)
		return -ENOSPC;
	hook = ada_hook_of(trampoline);
	*hook = (struct ada_hook){ .function_id = spec->function_id,
				   .cache = &ada_no_site,
				   .target = spec->target,
				   .original = spec->body ? spec->original : spec->target,
				   .origins = spec->origins ? spec->origins : (const uint8_t *)plain_origins,
				   .number = spec->number < ADA_FUNCTIONS_MAX ? spec->number : 0,
				   .free_at_entry = spec->free_at_entry,
				   .free_at_exit = spec->free_at_exit,
				   .reads_vectors = spec->reads_vectors,
				   .stub_class = ada_variant_stub_class(spec->free_at_exit) };
	hook->entry = spec->replacement;
	if (!hook->entry)
		hook->entry = ada_variant_entry(spec->red_zone ? ADA_WAY_BELOW : ADA_WAY_ABOVE, spec->free_at_entry, spec->reads_vectors);
	hook->start = (uint64_t)(spec->red_zone ? put_head_below(trampoline, hook) : put_head_above(trampoline, spec, hook));
	for (uint32_t i = 1; i < cells; i++)
		ada_hook_of(trampoline + i * ADA_TRAMPOLINE_BYTES)->start = hook->start;
	*body = (uint8_t *)hook->start + ADA_TRAMPOLINE_BODY;
	if (spec->body)
		memcpy(*body, spec->body, spec->body_bytes);
	else
		put_jump(*body, "\xff\x25", 2, &hook->target); /* jmp *target */
	*entry = (uint64_t)trampoline;
	return 0;
}

uint64_t ada_region_near(struct ada_region *region, uint64_t entry, uint64_t return_address)
{
	const struct ada_hook *hook = ada_hook_of((uint8_t *)entry);
	uint8_t *stub = ada_region_take(region, 1), *at;
	struct ada_hook *near = stub ? ada_hook_of(stub) : NULL;
	const struct ada_site *site;

	if (!stub || !ada_region_reaches(region, entry, entry + ADA_TRAMPOLINE_BYTES))
		return 0;
	memcpy(near, hook, ADA_NEAR_STUB_BYTES);
	near->stub = 0;
	near->entry = (uint64_t)ada_entry_near;
	near->is_near = true;
	at = put_short_lea(put_jump(stub, "\xff\x15", 2, &near->entry), 8);
	at = put_short_lea(put_jump(at, "\xff\x25", 2, &near->stub), -8);
	put_jump(at, "\xe9", 1, (const uint8_t *)hook->start + ADA_TRAMPOLINE_BODY);
	site = ada_site_find(return_address, hook->function_id);
	if (site)
		ada_region_near_known(near, site->entry);
	return (uint64_t)stub;
}

/* The stub first: who sees the hook sees the stub, too. What has come to pass stays so. */
void ada_region_near_known(struct ada_hook *near, uint64_t stub)
{
	uint64_t none = 0, unknown = (uint64_t)ada_entry_near;

	if (__atomic_compare_exchange_n(&near->stub, &none, stub, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		__atomic_compare_exchange_n(&near->entry, &unknown,
					    ada_variant_entry(ADA_WAY_NEAR, near->free_at_entry, near->reads_vectors), false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

uint64_t ada_region_body(uint64_t entry)
{
	return ada_hook_of((uint8_t *)entry)->start + ADA_TRAMPOLINE_BODY;
}

uint64_t *ada_region_target(uint64_t entry, uint64_t *function_id)
{
	struct ada_hook *hook = ada_hook_of((uint8_t *)entry);

	if (entry % ADA_TRAMPOLINE_BYTES || !ada_region_holds(entry) || hook->start != entry || !hook->target ||
	    hook->origins != (const uint8_t *)plain_origins) /* of a function's own hook: its filter */
		return NULL;
	*function_id = hook->function_id;
	return &hook->target;
}

bool ada_region_own_call(uint64_t entry, uint64_t return_address)
{
	return ada_site_own(ada_hook_of((uint8_t *)entry), return_address);
}

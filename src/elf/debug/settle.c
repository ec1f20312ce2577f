/* Where parameters lie when a function is entered: by the convention, which callers follow, or, where the compiler knew all callers, as
 * the entries say. "Not known" wherever a doubt is left.
 *
 * Entries can't be taken at their word. An entry tells where a variable is, and where the code assigns to it before anything else
 * happens, that is the place of the new value: f(a, b) { a = b; } has both in b's register. So where callers go by the convention, an
 * entry may only agree with it. A compiler that did as it liked may have removed parameters, or handed over in registers what was behind
 * a pointer, but has kept the order of the rest. There a place counts if it comes after those of all parameters before, not after the
 * parameter's own by the convention, and if no other parameter claims it.
 *
 * LLVM doesn't fill a register with a value that the function never uses, not even for functions that others call; then no entry names
 * that register.
 */
#include "elf/debug/internal.h"

struct order {
	int general, vector;
}; /* the last registers that entries have claimed */

static bool same_place(const struct ada_debug_where *a, const struct ada_debug_where *b)
{
	return a->place == b->place && a->indirect == b->indirect && a->count == b->count && a->stack == b->stack &&
	       a->registers[0] == b->registers[0] &&
	       (a->count < 2 || (a->registers[1] == b->registers[1] && a->offsets[1] == b->offsets[1])) &&
	       (!a->count || a->offsets[0] == b->offsets[0]);
}

/* Whether the registers come after all that were claimed before. They are claimed in any case. */
static bool claim(struct order *order, const struct ada_debug_where *where)
{
	bool ordered = true;

	for (unsigned i = 0; i < where->count; i++) {
		int number = where->registers[i], *last = number >= 0 ? &order->general : &order->vector;

		number = number >= 0 ? number : ~number;
		ordered &= number > *last;
		if (number > *last)
			*last = number;
	}
	return ordered;
}

/* Whether it lies no later than the convention has it. */
static bool is_earlier(const struct ada_debug_where *where, const struct ada_debug_where *convention)
{
	int8_t here = where->registers[0], there = convention->registers[0];

	if (convention->place != ADA_DEBUG_REGISTERS || (here >= 0) != (there >= 0))
		return true;
	return here >= 0 ? here <= there : ~here <= ~there;
}

static bool is_shared(const struct ada_debug_at_entry *at_entry, size_t number, size_t count)
{
	const struct ada_debug_where *one = &at_entry[number].where;

	for (size_t i = 0; i < count; i++)
		for (unsigned j = 0; j < at_entry[i].where.count && i != number; j++)
			if (at_entry[i].found >= ADA_DEBUG_BEHIND && memchr(one->registers, at_entry[i].where.registers[j], one->count))
				return true;
	return false;
}

/* As the entry says. False: it says nothing that can be believed. */
static bool by_entry(const struct ada_debug_parameter *parameter, const struct ada_debug_at_entry *at_entry, bool shared,
		     struct order *order, struct ada_debug_where *where)
{
	bool ordered;

	if (at_entry->found != ADA_DEBUG_LOCATED && at_entry->found != ADA_DEBUG_BEHIND)
		return false;
	ordered = claim(order, &at_entry->where);
	*where = at_entry->where;
	if (at_entry->found == ADA_DEBUG_LOCATED)
		where->indirect = parameter->convention.indirect;
	if (shared)
		return false;
	if (same_place(where, &parameter->convention))
		return true;
	/* A pointer to it, or a part. */
	if (!where->indirect && where->count * 8u < parameter->type.bytes)
		return false;
	return ordered && is_earlier(where, &parameter->convention);
}

/* Callers go by the convention, if the function uses it. */
static bool is_used(const struct ada_debug_parameter *parameter, const struct ada_debug_at_entry *at_entry,
		    enum ada_debug_language language)
{
	const struct ada_debug_where *where = &parameter->convention;
	uint32_t wanted = 0;

	switch (at_entry->found) {
	case ADA_DEBUG_LOCATED:
		return where->place == ADA_DEBUG_REGISTERS && where->count == at_entry->where.count &&
		       !memcmp(where->registers, at_entry->where.registers, where->count);
	case ADA_DEBUG_BEHIND: return where->indirect && where->registers[0] == at_entry->where.registers[0];
	case ADA_DEBUG_IN_MEMORY: return true;
	default: break;
	}
	for (unsigned i = 0; i < where->count; i++)
		wanted |= 1u << (where->registers[i] >= 0 ? where->registers[i] : 8 + ~where->registers[i]);
	return language != ADA_DEBUG_RUST && where->place == ADA_DEBUG_REGISTERS && !where->indirect && (at_entry->used & wanted) == wanted;
}

void ada_debug_settle_places(struct ada_debug_function *function, const struct ada_debug_at_entry *at_entry, enum ada_debug_trust trust,
			     enum ada_debug_language language)
{
	struct order order = { -1, -1 };
	bool intact = true; /* every parameter so far is where the convention has it: so none was removed */

	for (size_t i = 0; i < function->parameters.count; i++) {
		struct ada_debug_parameter *parameter = &function->parameters.items[i];
		struct ada_debug_where where;
		bool has_convention = parameter->convention.place != ADA_DEBUG_NOWHERE;
		bool found = by_entry(parameter, &at_entry[i], is_shared(at_entry, i, function->parameters.count), &order, &where);

		parameter->where = (struct ada_debug_where){ .indirect = parameter->convention.indirect };
		if (trust != ADA_DEBUG_FREE && has_convention) {
			if (trust == ADA_DEBUG_SURE || is_used(parameter, &at_entry[i], language))
				parameter->where = parameter->convention;
		} else if (found) {
			parameter->where = where;
		} else if (intact && has_convention && at_entry[i].found == ADA_DEBUG_IN_MEMORY) {
			parameter->where = parameter->convention;
		}
		intact &= has_convention && same_place(&parameter->where, &parameter->convention);
	}
}

/* The sum of a block's events, by which a reader knows that it decodes what was recorded: docs/format.md.
 *
 * A CRC32 of the events, of 32 bytes each, took a sixth of the recorder's time, though what is stored of them, a byte each, has one of its own.
 * The events' words are added, and the sums after each event are added: another bit in one event, and two events in each other's place, make another sum.
 */
#include "atf/pack/pack.h"

#define FOLD 0x9E3779B97F4A7C15u

/* Two of an event's words: what each x86-64 adds at once. */
typedef uint64_t words __attribute__((vector_size(16), aligned(8), may_alias));
static_assert(2 * sizeof(words) == sizeof(struct ada_event), "an event's words");

/* The shift brings the top bits down, which a product alone leaves where two changes of them can cancel each other out. */
static uint64_t fold(uint64_t folded, uint64_t number)
{
	folded = (folded ^ number) * FOLD;
	return folded ^ folded >> 32;
}

static uint64_t fold_lanes(uint64_t folded, words sums, words sums_of_sums)
{
	folded = fold(fold(folded, sums[0]), sums_of_sums[0]);
	return fold(fold(folded, sums[1]), sums_of_sums[1]);
}

uint64_t atf_pack_sum(const struct ada_event *events, uint32_t count)
{
	const words *event = (const words *)events;
	words first = { 0 }, firsts = { 0 }, last = { 0 }, lasts = { 0 };

	for (uint32_t i = 0; i < count; i++, event += 2) {
		first += event[0];
		firsts += first;
		last += event[1];
		lasts += last;
	}
	return fold_lanes(fold_lanes(0, first, firsts), last, lasts);
}

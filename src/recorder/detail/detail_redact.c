/* --redact: what of a record no file gets.
 *
 * Of the call: the argument's register. Of the call and of all that the thread
 * records behind it, where the value is no small number: registers and words of the stack that are equal to the value, and where it points
 * to one of the stack's bytes, all from there on; and what such registers pointed at. What the argument itself points at is never copied
 * (recorder/policy/policy_capture.c). Of the return rdx, where the third argument may still be, though the call was in no window.
 *
 * Copies of what the argument points at are equal to nothing that is known here: a compiler moves strings through xmm0, and puts them on the
 * stack. So records of the function itself have no bytes of the stack, and these and all that the thread records behind it no vectors. */
#include <string.h>
#include "recorder/detail/detail_state.h"

#define SMALL 4096u /* so small a number is found in many registers by chance */
#define ARGUMENTS 6
#define IN_RDX 3 /* the argument; as a result it is the second word */

static void value_note(struct detail_redacted *known, uint64_t value)
{
	for (uint32_t i = 0; i < sizeof known->values / sizeof *known->values; i++)
		if (known->values[i] == value)
			return;
	known->values[known->next++ % (sizeof known->values / sizeof *known->values)] = value;
}

static void drop_register(struct atf_detail *record, unsigned number)
{
	record->x[number] = 0;
	record->flags |= number < ARGUMENTS ? ATF_DETAIL_REDACTED(number + 1) : 0;
}

static void drop_words(const struct atf_detail *record, uint8_t *stack, uint64_t value)
{
	uint64_t word;
	uint32_t half, low = (uint32_t)value;

	for (uint32_t i = 0; i + sizeof half <= record->stack_size; i += sizeof half) {
		memcpy(&half, stack + i, sizeof half);
		if (half == low && (value == low || value == (uint64_t)(int32_t)low))
			memset(stack + i, 0, sizeof half);
		if (i % sizeof word || i + sizeof word > record->stack_size)
			continue;
		memcpy(&word, stack + i, sizeof word);
		if (word == value)
			memset(stack + i, 0, sizeof word);
	}
}

static void drop_known(struct atf_detail *record, uint8_t *stack, uint64_t value)
{
	uint64_t at = value - (record->sp + sizeof value);

	for (unsigned i = 0; i < sizeof record->x / sizeof *record->x; i++)
		if (record->x[i] == value)
			drop_register(record, i);
	drop_words(record, stack, value);
	if (at < record->stack_size)
		memset(stack + at, 0, record->stack_size - at);
}

/* Of a return xmm0 and xmm1 lie in x. */
static void drop_vectors(struct atf_detail *record)
{
	record->flags &= (uint16_t)~ATF_DETAIL_VECTORS;
	for (unsigned i = 2; record->event_type != ATF_DETAIL_CALL && i < 4; i++)
		drop_register(record, i);
}

/* The entries of arguments that are dropped. */
static void drop_captured(struct atf_detail *record, uint8_t *captured)
{
	struct atf_captured entry;
	uint32_t at = 0, begin = 0, kept = 0;

	while (atf_detail_captured(record, &at, &entry)) {
		if (!(record->flags & ATF_DETAIL_REDACTED(entry.argument))) {
			memmove(captured + kept, captured + begin, at - begin);
			kept += at - begin;
		}
		begin = at;
	}
	record->captured_size = (uint16_t)kept;
	if (!kept)
		record->flags &= (uint16_t)~ATF_DETAIL_CAPTURED;
}

void ada_detail_redact(struct atf_detail *record, uint8_t *stack, uint8_t *captured, uint32_t arguments, struct detail_redacted *known)
{
	bool call = record->event_type == ATF_DETAIL_CALL;

	known->began |= arguments != 0;
	if (known->began)
		drop_vectors(record);
	if (arguments) {
		record->stack_size = 0;
		for (unsigned i = ARGUMENTS; call && i < sizeof record->x / sizeof *record->x; i++)
			drop_register(record, i); /* rax and r10 */
	}
	for (unsigned n = 1; call && n <= ARGUMENTS; n++) {
		uint64_t value = record->x[n - 1];

		if (!(arguments >> n & 1))
			continue;
		if (value >= SMALL)
			value_note(known, value);
		drop_register(record, n - 1);
	}
	if (!call && arguments >> IN_RDX & 1)
		drop_register(record, 1);
	for (uint32_t i = 0; i < sizeof known->values / sizeof *known->values; i++)
		if (known->values[i])
			drop_known(record, stack, known->values[i]);
	if (record->flags & ATF_DETAIL_CAPTURED)
		drop_captured(record, captured);
}

/* What both sides of the codec guess with: names of functions in a block, and which of them is called next.
 *
 * A name is the number of a function in a block, from 1 on, in the order in which the block meets them: first those of the innermost
 * ATF_PACK_NAMED_OPEN open calls, outermost first, then those called. 0 is none: a function met when all names were given. A guess is a
 * set of four names, found by the name of the event before and that of the innermost open call. A name that was guessed at place k > 0
 * changes places with the one before it; one that wasn't guessed takes the last place.
 */
#ifndef ADA_ATF_PACK_MODEL_H
#define ADA_ATF_PACK_MODEL_H
#include "atf/pack/pack.h"

#define ATF_PACK_NAMED_OPEN 256u
#define ATF_PACK_NAMES_MAX 8191u
#define ATF_PACK_WAYS 4u
#define ATF_PACK_SET_BITS 11
#define ATF_PACK_SLOTS 16384u /* of the hash of functions: twice the names */

enum { ATF_PACK_RANK_KNOWN = 4, ATF_PACK_RANK_NEW = 5 }; /* in RANKS, behind the ways */
/* In TIMES; below: the ns themselves. */
enum { ATF_PACK_LONG_2 = 252, ATF_PACK_LONG_4 = 253, ATF_PACK_LONG_8 = 254 };

/* What a mark is, in MARKS. */
enum {
	ATF_PACK_MARK_VERBATIM = 0,
	ATF_PACK_MARK_CALL = 1, /* of another depth */
	ATF_PACK_MARK_RETURN = 2,
	ATF_PACK_MARK_EXCEPTION = 3, /* from here on the mark is the event's kind */
	ATF_PACK_MARK_KIND_MAX = 255,
};
/* Of an event of a kind above 3: how its value (function_id) stands in MARKS, 0 to 15 being a place among those of late; and 32 times how
 * its depth does. */
enum { ATF_PACK_RECENT = 16, ATF_PACK_VALUE_NEW = 16, ATF_PACK_VALUE_BITS = 5 };
enum { ATF_PACK_DEPTH_OF_CALL, ATF_PACK_DEPTH_BELOW, ATF_PACK_DEPTH_GIVEN };
#define ATF_PACK_RECENT_KINDS 4u /* tables of values of late: by the kind, modulo this */

typedef uint16_t atf_pack_guesses[ATF_PACK_WAYS];

struct atf_pack_model {
	atf_pack_guesses guesses[1u << ATF_PACK_SET_BITS];
	uint64_t functions[ATF_PACK_NAMES_MAX + 1]; /* by name; of name 0: 0 */
	uint32_t names;				    /* the last one given */
	uint32_t generation;
	uint64_t new_function; /* the last one that NAMES gave in full */
	uint64_t recent[ATF_PACK_RECENT_KINDS][ATF_PACK_RECENT];
	struct atf_pack_slot {
		uint64_t function;
		uint32_t generation, name;
	} slots[ATF_PACK_SLOTS];
};

static inline void atf_pack_model_begin(struct atf_pack_model *model)
{
	memset(model->guesses, 0, sizeof model->guesses);
	memset(model->recent, 0, sizeof model->recent);
	model->names = 0;
	model->new_function = 0;
	if (!++model->generation) {
		memset(model->slots, 0, sizeof model->slots);
		model->generation = 1;
	}
}

static inline struct atf_pack_slot *atf_pack_model_slot(struct atf_pack_model *model, uint64_t function)
{
	uint32_t at = (uint32_t)(function * 0x9E3779B97F4A7C15u >> 50);

	while (model->slots[at].generation == model->generation && model->slots[at].function != function)
		at = (at + 1) % ATF_PACK_SLOTS;
	return &model->slots[at];
}

/* The function's name, or 0: it has none. */
static inline uint32_t atf_pack_model_find(struct atf_pack_model *model, uint64_t function)
{
	const struct atf_pack_slot *slot = atf_pack_model_slot(model, function);

	return slot->generation == model->generation ? slot->name : 0;
}

/* The name it has, or a new one, or 0: there is none left. */
static inline uint32_t atf_pack_model_name(struct atf_pack_model *model, uint64_t function)
{
	struct atf_pack_slot *slot = atf_pack_model_slot(model, function);

	if (slot->generation == model->generation)
		return slot->name;
	if (model->names == ATF_PACK_NAMES_MAX)
		return 0;
	*slot = (struct atf_pack_slot){ function, model->generation, ++model->names };
	model->functions[model->names] = function;
	return model->names;
}

/* `before`: name of the event before, twice, plus one where that was no call. */
static inline uint16_t *atf_pack_model_guess(struct atf_pack_model *model, uint32_t before, uint32_t caller)
{
	return model->guesses[(before << 13 ^ caller) * 0x9E3779B1u >> (32 - ATF_PACK_SET_BITS)];
}

/* --- integers of any length --------------------------------------------------------------------------------------------- */

static inline uint64_t atf_pack_fold(uint64_t difference) /* zigzag */
{
	return difference << 1 ^ -(difference >> 63);
}

static inline uint64_t atf_pack_unfold(uint64_t folded)
{
	return folded >> 1 ^ -(folded & 1);
}

#define ATF_PACK_VARINT_BYTES 10

static inline uint8_t *atf_pack_put(uint8_t *at, uint64_t value)
{
	for (; value >= 128; value >>= 7)
		*at++ = (uint8_t)value | 128;
	*at++ = (uint8_t)value;
	return at;
}

/* Bytes that are read; `bad` once they ended too early, or a number had more than 64 bits. */
struct atf_pack_reader {
	const uint8_t *at, *end;
	bool bad;
};

static inline uint64_t atf_pack_get(struct atf_pack_reader *reader)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
		uint8_t byte = *reader->at++;

		value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128 && (shift < 63 || byte < 2))
			return value;
		if (byte < 128)
			break;
	}
	reader->bad = true;
	return 0;
}

static inline uint8_t atf_pack_get_byte(struct atf_pack_reader *reader)
{
	if (reader->at < reader->end)
		return *reader->at++;
	reader->bad = true;
	return 0;
}

/* Moves the value at `place` to the front of those of late, or puts a new one there (place ATF_PACK_RECENT - 1 drops out). */
static inline void atf_pack_recent_front(uint64_t *recent, unsigned int place, uint64_t value)
{
	memmove(recent + 1, recent, place * sizeof *recent);
	recent[0] = value;
}
#endif

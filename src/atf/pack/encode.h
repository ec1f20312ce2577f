/* The encoding of a block, between the files that do it: encode.c what is plain, encode_odd.c all else. */
#ifndef ADA_ATF_PACK_ENCODE_H
#define ADA_ATF_PACK_ENCODE_H
#include "atf/pack/packer.h"

#pragma GCC visibility push(hidden)

struct atf_pack_encoding {
	struct atf_packer *packer;
	struct atf_pack_lane *lane;
	const struct ada_event *events;
	uint32_t at;	  /* of the event at hand */
	uint64_t bits;	  /* of KINDS, of the last 64 events */
	uint32_t mark_at; /* behind the last mark */
	uint32_t before;  /* as atf_pack_model_guess has it */
	uint32_t floor;	  /* calls below that the block began with have no name */
	/* detail_seq */
	uint64_t detail;  /* what the next event has if nothing changes, times 2^32 */
	uint64_t step;	  /* 2^32, or 0 */
	uint32_t counted; /* calls and ends so far that aren't verbatim */
	uint32_t run_at, run_end, run_first, expected;
	/* for the header */
	uint64_t busy_ns, busy_from_ns;
	uint32_t deepest, others;
	AtfPackLongest longest[ATF_PACK_LONGEST];
	struct atf_pack_frame ended; /* by the event at hand, which is none of the plain ones */
	uint32_t ended_around;	     /* calls around it; UINT32_MAX: none ended */
	uint8_t *longs, *ranks, *names;
};

/* Room for so many bytes behind a column's last; NULL: out of memory. */
uint8_t *atf_pack_room(struct atf_packer *packer, enum atf_pack_column column, size_t bytes);
void atf_pack_filled(struct atf_packer *packer, enum atf_pack_column column, const uint8_t *end);
/* A function that no guess names. */
uint32_t atf_pack_put_name(struct atf_pack_encoding *encoding, uint16_t *guess, uint64_t function);
/* The next event, of whatever kind, but for its time. 0 or -ENOMEM. */
int atf_pack_encode_odd(struct atf_pack_encoding *encoding, const struct ada_event *event);
/* The lane has `count` calls, fewer than it ever had in this block. 0 or -ENOMEM. */
int atf_pack_encode_lower(struct atf_pack_encoding *encoding, size_t count);
/* What detail_seq said up to here, into its column. */
int atf_pack_details_end(struct atf_pack_encoding *encoding);

static inline uint32_t atf_pack_put_function(struct atf_pack_encoding *encoding, uint32_t before, uint32_t caller, uint64_t function)
{
	struct atf_pack_model *model = &encoding->packer->model;
	uint16_t *guess = atf_pack_model_guess(model, before, caller);

	if (model->functions[guess[0]] == function) {
		*encoding->ranks++ = 0;
		return guess[0];
	}
	for (unsigned int i = 1; i < ATF_PACK_WAYS; i++)
		if (model->functions[guess[i]] == function) {
			uint16_t name = guess[i];

			guess[i] = guess[i - 1];
			guess[i - 1] = name;
			*encoding->ranks++ = (uint8_t)i;
			return name;
		}
	return atf_pack_put_name(encoding, guess, function);
}

/* Calls from undo.low on are the block's own. */
static inline uint32_t atf_pack_name_of(const struct atf_pack_encoding *encoding, size_t number)
{
	const struct atf_pack_lane *lane = encoding->lane;

	return number >= encoding->floor || number >= lane->undo.low ? lane->frames.items[number].name : 0;
}

static inline uint32_t atf_pack_caller_of(const struct atf_pack_encoding *encoding, size_t count)
{
	return count ? atf_pack_name_of(encoding, count - 1) : 0;
}

/* A call ended with so many calls around it that aren't kept during the whole block. */
static inline void atf_pack_count_end(struct atf_pack_encoding *encoding, uint32_t above, const struct atf_pack_frame *frame,
				      uint64_t duration_ns)
{
	if (above < ATF_PACK_LONGEST && duration_ns > encoding->longest[above].duration_ns)
		encoding->longest[above] = (AtfPackLongest){ frame->function_id, frame->start_ns, duration_ns };
}

#pragma GCC visibility pop
#endif

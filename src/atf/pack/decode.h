/* The decoding of a block, between the files that do it: decode.c what is plain, decode_odd.c marks, columns.c the columns. */
#ifndef ADA_ATF_PACK_DECODE_H
#define ADA_ATF_PACK_DECODE_H
#include <zstd.h>
#include "atf/pack/packer.h"

#pragma GCC visibility push(hidden)

struct atf_pack_open {
	uint64_t function;
	uint32_t depth, name;
};

struct atf_unpacker {
	struct atf_pack_model model;
	atf_pack_bytes_array columns[ATF_PACK_COLUMNS];
	ADA_ARRAY(struct atf_pack_open) frames;
	ZSTD_DCtx *zstd;
};

/* The decoding of a block, as far as it is. The open calls: those of the lane below `outer`, then frames. */
struct atf_pack_decoding {
	struct atf_unpacker *unpacker;
	const struct atf_pack_lane *lane;
	const uint8_t *times;
	const uint64_t *kinds;
	struct atf_pack_reader longs, ranks, names, marks, verbatim, details;
	uint64_t ns, first_ns, last_ns; /* the last two as the head has them */
	size_t outer;			/* frames of the lane that weren't taken */
	uint32_t floor;			/* of the lane's, those below have no name */
	uint32_t at, count;
	uint32_t mark_at; /* of the next mark; count: there is none */
	uint32_t before;
	uint32_t stretch;  /* calls and ends until detail begins or ends */
	uint32_t expected; /* as in encode.c */
	uint32_t detail, step;
	uint32_t run; /* length of the run that follows the stretch without detail */
	uint32_t run_first;
	bool after_loss;
};

/* A block that is gone through. Begins with it; the lane and the unpacker stay the caller's. 0, or -ATF_ERROR_CORRUPT, -ATF_ERROR_MEMORY, as all
 * below: then nothing that the block has said counts. */
int atf_pack_decode_begin(struct atf_pack_decoding *decoding, struct atf_unpacker *unpacker, const struct atf_pack_lane *lane,
			  const uint8_t *block);
int atf_pack_decode_one(struct atf_pack_decoding *decoding, struct ada_event *event); /* the next event, which there is */
/* All events are done, of which these were the first's and the last's times: whether the block is as its head says. */
bool atf_pack_decode_fits(const struct atf_pack_decoding *decoding, uint64_t first_ns, uint64_t last_ns);

/* What follows is for the files that decode, and for who does it in a loop of its own. */
int atf_pack_columns_load(struct atf_pack_decoding *decoding, const uint8_t *block, const AtfPackBlock *head);
/* Puts the innermost of the lane's frames that are left below the others, where those are used up. */
int atf_pack_take_outer(struct atf_pack_decoding *decoding);
int atf_pack_get_long(struct atf_pack_decoding *decoding, uint8_t code, uint64_t *delta);     /* ns that are no byte */
uint32_t atf_pack_get_new(struct atf_pack_decoding *decoding, uint16_t *guess, uint8_t rank); /* as atf_pack_get_called */
/* Goes on to the next stretch of detail_seq, when the last is used up. */
int atf_pack_next_stretch(struct atf_pack_decoding *decoding);
int atf_pack_next_mark(struct atf_pack_decoding *decoding);
/* The event at mark_at; its time is decoding->ns. */
int atf_pack_get_marked(struct atf_pack_decoding *decoding, struct ada_event *event);

static inline const struct atf_pack_open *atf_pack_top_of(const struct atf_pack_decoding *decoding)
{
	size_t count = decoding->unpacker->frames.count;

	return count ? &decoding->unpacker->frames.items[count - 1] : NULL;
}

/* The least depth of a call right now. */
static inline uint64_t atf_pack_depth_below(const struct atf_pack_decoding *decoding)
{
	const struct atf_pack_open *top = atf_pack_top_of(decoding);

	return top ? top->depth + 1ull : 0;
}

/* Plain events up to `at`, all in one stretch of detail_seq, are done, and the frames as they leave them. */
static inline void atf_pack_decode_pass(struct atf_pack_decoding *decoding, uint32_t at, uint32_t before, uint64_t ns, const uint8_t *ranks)
{
	uint32_t count = at - decoding->at;

	decoding->after_loss &= !count;
	decoding->stretch -= count;
	decoding->detail += count * decoding->step;
	decoding->at = at;
	decoding->before = before;
	decoding->ns = ns;
	decoding->ranks.at = ranks;
}

#define ATF_PACK_NO_NAME UINT32_MAX

/* The name of the function of a CALL with this rank; ATF_PACK_NO_NAME: there is no such. */
static inline uint32_t atf_pack_get_called(struct atf_pack_decoding *decoding, struct atf_pack_model *model, uint32_t before,
					   uint32_t caller, uint8_t rank)
{
	uint16_t *guess = atf_pack_model_guess(model, before, caller), name;

	if (rank > ATF_PACK_RANK_KNOWN)
		return atf_pack_get_new(decoding, guess, rank);
	if (rank == ATF_PACK_RANK_KNOWN) {
		if (decoding->names.end - decoding->names.at < (ptrdiff_t)sizeof name)
			return ATF_PACK_NO_NAME;
		memcpy(&name, decoding->names.at, sizeof name);
		decoding->names.at += sizeof name;
		guess[ATF_PACK_WAYS - 1] = name;
		return name <= model->names ? name : ATF_PACK_NO_NAME;
	}
	name = guess[rank];
	if (rank) {
		guess[rank] = guess[rank - 1];
		guess[rank - 1] = name;
	}
	return name;
}

/* And the function itself: not all have a name. */
static inline uint64_t atf_pack_called(const struct atf_pack_model *model, uint8_t rank, uint32_t name)
{
	return rank == ATF_PACK_RANK_NEW ? model->new_function : model->functions[name];
}

#pragma GCC visibility pop
#endif

/* Decoders of a packed file's blocks. Each knows which block's open calls its lane holds: the next block, or one behind it, is then near.
 *
 * A walk is a block that its reader goes through with a decoder of its own, where no events are wanted but what they add up to. */
#include "atf/pack/cache.h"

#include <stdlib.h>

/* --- unpackers: large, and of no file --------------------------------------------------------------------------------------- */

#define SPARES 16u

static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static struct atf_unpacker *spares[SPARES];
static unsigned int spare_count;

static struct atf_unpacker *unpacker_take(void)
{
	struct atf_unpacker *unpacker;

	pthread_mutex_lock(&spare_lock);
	unpacker = spare_count ? spares[--spare_count] : NULL;
	pthread_mutex_unlock(&spare_lock);
	return unpacker ? unpacker : atf_unpacker_new();
}

static void unpacker_give(struct atf_unpacker *unpacker)
{
	pthread_mutex_lock(&spare_lock);
	if (spare_count < SPARES) {
		spares[spare_count++] = unpacker;
		unpacker = NULL;
	}
	pthread_mutex_unlock(&spare_lock);
	atf_unpacker_free(unpacker);
}

/* --- decoders --------------------------------------------------------------------------------------------------------------- */

static struct atf_packed_decoder *decoder_new(void)
{
	struct atf_packed_decoder *decoder = calloc(1, sizeof *decoder);

	if (!decoder)
		return NULL;
	decoder->block = ATF_PACKED_NO_BLOCK;
	atf_pack_lane_open(&decoder->lane, 0);
	return decoder;
}

/* One that nobody uses, the nearest; NULL: there is none. */
static struct atf_packed_decoder *decoder_find(struct atf_packed *packed, uint32_t number)
{
	struct atf_packed_decoder **best = &packed->decoders, **at, *decoder = *best;

	if (!decoder)
		return NULL;
	for (at = best; *at; at = &(*at)->next)
		if ((uint32_t)(number - (*at)->block) < (uint32_t)(number - (*best)->block))
			best = at;
	decoder = *best;
	*best = decoder->next;
	return decoder;
}

struct atf_packed_decoder *atf_packed_decoder_take(struct atf_packed *packed, uint32_t number)
{
	struct atf_packed_decoder *decoder = decoder_find(packed, number);

	if (!decoder)
		decoder = decoder_new();
	if (!decoder)
		return NULL;
	decoder->unpacker = unpacker_take();
	if (decoder->unpacker)
		return decoder;
	atf_packed_decoder_give(packed, decoder);
	return NULL;
}

void atf_packed_decoder_give(struct atf_packed *packed, struct atf_packed_decoder *decoder)
{
	if (!decoder)
		return;
	if (decoder->unpacker)
		unpacker_give(decoder->unpacker);
	decoder->unpacker = NULL;
	decoder->next = packed->decoders;
	packed->decoders = decoder;
}

void atf_packed_decoders_free(struct atf_packed *packed)
{
	struct atf_packed_decoder *decoder;

	while ((decoder = packed->decoders)) {
		packed->decoders = decoder->next;
		atf_pack_lane_close(&decoder->lane);
		free(decoder);
	}
}

/* The block, where its head is sound and it is the one that the directory has; NULL: it isn't. */
static const uint8_t *block_of(const struct atf_packed *packed, uint32_t number)
{
	const struct atf_packed_entry *entry = &packed->layout.entries.items[number];
	bool is_tail = packed->tail && number == packed->layout.entries.count - 1;
	const uint8_t *bytes = is_tail ? packed->tail : packed->bytes + entry->offset;
	AtfPackBlock head;

	if (!entry->offset || !atf_pack_block_length(bytes, entry->length))
		return NULL;
	memcpy(&head, bytes, sizeof head);
	if (head.offset != entry->offset || head.first_seq != entry->first_seq || head.event_count != entry->count ||
	    head.first_ns != entry->first_ns)
		return NULL;
	return bytes;
}

bool atf_packed_sum(const struct atf_packed *packed, uint64_t index_seq, uint64_t *sum)
{
	const uint8_t *block = block_of(packed, atf_packed_number(packed, index_seq));
	AtfPackBlock head;

	if (!block)
		return false;
	memcpy(&head, block, sizeof head);
	*sum = head.events_sum;
	return head.flags & ATF_PACK_SUMMED;
}

int atf_packed_lane_read(const struct atf_packed *packed, struct atf_pack_lane *lane, uint32_t number)
{
	const uint8_t *block = block_of(packed, number);

	return block ? atf_pack_lane_read(lane, block) : -ATF_ERROR_CORRUPT;
}

/* Takes the decoder's lane to where the block begins: from where it is, or from the last block whose calls stand whole. */
static int lane_to(const struct atf_packed *packed, struct atf_packed_decoder *decoder, uint32_t number)
{
	const struct atf_packed_entry *entries = packed->layout.entries.items;
	uint32_t from = number;
	int status = 0;

	if (decoder->block == number)
		return 0;
	while (from && !entries[from].whole && from != decoder->block + 1)
		from--;
	decoder->lane.thread_id = packed->layout.header.thread_id;
	for (; from <= number && !status; from++)
		status = atf_packed_lane_read(packed, &decoder->lane, from);
	decoder->block = status ? ATF_PACKED_NO_BLOCK : number;
	return status;
}

const uint8_t *atf_packed_decoder_at(const struct atf_packed *packed, struct atf_packed_decoder *decoder, uint32_t number)
{
	const uint8_t *block = lane_to(packed, decoder, number) ? NULL : block_of(packed, number);

	return block && atf_pack_body_is_sound(block) ? block : NULL;
}

/* --- a block at a time ---------------------------------------------------------------------------------------------------- */

static struct atf_packed_decoder *lend(struct atf_packed *packed, uint32_t number)
{
	struct atf_packed_decoder *decoder;

	pthread_mutex_lock(&packed->lock);
	decoder = atf_packed_decoder_take(packed, number);
	pthread_mutex_unlock(&packed->lock);
	return decoder;
}

static void take_back(struct atf_packed *packed, struct atf_packed_decoder *decoder)
{
	pthread_mutex_lock(&packed->lock);
	atf_packed_decoder_give(packed, decoder);
	pthread_mutex_unlock(&packed->lock);
}

bool atf_packed_walk_open(struct atf_packed_walk *walk, struct atf_packed *packed, uint64_t index_seq, uint64_t most)
{
	uint32_t number = atf_packed_number(packed, index_seq);
	const struct atf_packed_entry *entry = &packed->layout.entries.items[number];
	const uint8_t *block;

	if (entry->first_seq != index_seq || entry->count > most)
		return false;
	*walk = (struct atf_packed_walk){ .packed = packed, .decoder = lend(packed, number) };
	if (!walk->decoder)
		return false;
	block = atf_packed_decoder_at(packed, walk->decoder, number);
	if (block && !atf_pack_decode_begin(&walk->decoding, walk->decoder->unpacker, &walk->decoder->lane, block))
		return true;
	take_back(packed, walk->decoder);
	return false;
}

void atf_packed_walk_close(struct atf_packed_walk *walk)
{
	take_back(walk->packed, walk->decoder);
}

int atf_packed_open_calls(struct atf_packed *packed, uint64_t index_seq, struct atf_packed_open_calls *open)
{
	uint32_t number = atf_packed_number(packed, index_seq);
	struct atf_packed_decoder *decoder = lend(packed, number);
	const struct atf_pack_lane *lane;
	int status = -ATF_ERROR_MEMORY;

	*open = (struct atf_packed_open_calls){ .first_seq = packed->layout.entries.items[number].first_seq };
	if (!decoder)
		return status;
	lane = &decoder->lane;
	status = atf_packed_decoder_at(packed, decoder, number) ? 0 : -ATF_ERROR_CORRUPT;
	if (!status && lane->frames.count)
		status = ada_array_reserve(&open->frames, lane->frames.count) ? -ATF_ERROR_MEMORY : 0;
	if (!status && lane->frames.count)
		memcpy(open->frames.items, lane->frames.items, lane->frames.count * sizeof *lane->frames.items);
	open->frames.count = status ? 0 : lane->frames.count;
	open->after_loss = lane->after_loss;
	take_back(packed, decoder);
	return status;
}

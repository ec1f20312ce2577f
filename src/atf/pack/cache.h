/* An open packed file, between the files that read it: pack_cache.c, whose readers share decoded blocks, and pack_decoders.c. */
#ifndef ADA_ATF_PACK_CACHE_H
#define ADA_ATF_PACK_CACHE_H
#include "atf/pack/decode.h"
#include "atf/pack/packed.h"

#pragma GCC visibility push(hidden)

#define ATF_PACKED_READERS 60u
#define ATF_PACKED_NO_BLOCK UINT32_MAX

struct atf_packed_slot {
	_Atomic uint64_t word;
	struct ada_event *events; /* of a block that is READY */
};

struct atf_packed_decoder {
	struct atf_packed_decoder *next;
	struct atf_unpacker *unpacker; /* NULL while nobody uses the decoder */
	struct atf_pack_lane lane;
	uint32_t block; /* that the lane's calls are of; ATF_PACKED_NO_BLOCK: none */
};

struct atf_packed_buffer { /* as long as nobody uses it */
	struct atf_packed_buffer *next;
};

struct atf_packed {
	struct atf_packed_layout layout;
	const uint8_t *bytes;
	uint64_t size;
	uint8_t *tail; /* the last block of an unfinished file, as it was when the file was opened: the writer may put another there */
	pthread_mutex_t lock;
	pthread_cond_t ready;
	struct atf_packed_decoder *decoders; /* that nobody uses right now */
	struct atf_packed_buffer *buffers;
	uint32_t buffer_events; /* the largest block */
	_Atomic uint64_t damaged;
	struct ada_event *all;
	struct atf_packed_kept { /* the blocks that a reader used last */
		uint32_t blocks[ATF_PACKED_KEPT], next;
	} * kept[ATF_PACKED_READERS];
	struct atf_packed_slot slots[];
};

uint32_t atf_packed_number(const struct atf_packed *packed, uint64_t index_seq); /* of the block that holds the event */

/* Decoders are lent to readers: the one that comes from nearest before the block, where there are several. Under the lock; NULL: no
 * memory. */
struct atf_packed_decoder *atf_packed_decoder_take(struct atf_packed *packed, uint32_t number);
void atf_packed_decoder_give(struct atf_packed *packed, struct atf_packed_decoder *decoder); /* NULL: nothing */
void atf_packed_decoders_free(struct atf_packed *packed);
/* Takes the decoder's lane to where the block begins: from where it is, or from the last block whose calls stand whole. NULL: that can't
 * be told, or the block isn't the one that the directory has, or it is damaged. */
const uint8_t *atf_packed_decoder_at(const struct atf_packed *packed, struct atf_packed_decoder *decoder, uint32_t number);

#pragma GCC visibility pop
#endif

/* Blocks of packed events (abi/pack.h): from events to bytes and back. No files here: pack_file.h.
 *
 *   lane      a thread's open calls where its next block begins: one a thread, small
 *   packer    columns, tables, zstd: one a worker, some 2 MiB; encodes blocks of any lane, one at a time
 *   unpacker  likewise, for decoding
 *
 * Writing: atf_pack_encode as often as the next events are wanted in a file, with more events each time where they still make no whole
 * block; atf_pack_accept once these events won't be encoded again. Reading: atf_pack_lane_read for each block from one with ATF_PACK_WHOLE
 * on, up to the block wanted; then atf_unpack_events.
 */
#ifndef ADA_ATF_PACK_H
#define ADA_ATF_PACK_H
#include "abi/pack.h"
#include "atf/ground/ground.h"
#include "base/array.h"

#pragma GCC visibility push(hidden)

#define ATF_PACK_EVENTS 32768u /* of a block, where nothing speaks for fewer */

struct atf_pack_frame {
	uint64_t function_id, start_ns;
	uint64_t children_ns; /* as in struct ada_call: of the calls directly below, and of gaps */
	uint64_t position; /* of its CALL, counted as the lane's; in a lane that was read: its index_seq, or negative, in segments before */
	uint32_t depth;
	uint16_t name;	     /* the model's, while a block is encoded */
	uint8_t across_loss; /* events were lost while it was open */
};

struct atf_pack_lane {
	ADA_ARRAY(struct atf_pack_frame) frames; /* outermost first; depths rise */
	uint64_t position;			 /* of the next event */
	uint64_t last_ns, before_loss_ns;	 /* as in struct ada_calls */
	uint32_t thread_id;
	uint32_t first_seq;  /* of the next block */
	uint32_t blocks;     /* since the last one whose open calls stand whole; 0: the next one's do */
	uint32_t kept_count; /* the frames up to here are those of the block before */
	bool after_loss;
	/* What the last atf_pack_encode made of it, and what it was before: packer.h. */
	struct atf_pack_undo {
		ADA_ARRAY(struct atf_pack_frame) frames;
		uint64_t last_ns, before_loss_ns;
		size_t count;
		uint32_t low, event_count;
		bool after_loss;
	} undo;
};
void atf_pack_lane_open(struct atf_pack_lane *lane, uint32_t thread_id);
void atf_pack_lane_close(struct atf_pack_lane *lane);
/* The next block is the first of another file: its index_seq begins at 0, and its open calls stand whole. */
void atf_pack_lane_segment(struct atf_pack_lane *lane);

struct atf_packer;
struct atf_packer *atf_packer_new(void); /* NULL: out of memory */
void atf_packer_free(struct atf_packer *packer);

enum atf_pack_how {
	ATF_PACK_ZSTD,
	ATF_PACK_RAW, /* under pressure: some 1.5 bytes an event; `ada pack` makes up for it (atf_index_squeeze) */
};
struct atf_pack_bytes {
	uint8_t *bytes; /* the packer's, until its next call */
	size_t length;	/* a multiple of 8 */
};
/* Encodes the lane's next `count` events, 1 to ATF_PACK_EVENTS_MAX. The block's offset is 0 until atf_pack_place. The lane stays where it
 * is until atf_pack_accept: the same events, and more, may be encoded once more. 0 or -ATF_ERROR_MEMORY. */
int atf_pack_encode(struct atf_packer *packer, struct atf_pack_lane *lane, const struct ada_event *events, uint32_t count,
		    enum atf_pack_how how, struct atf_pack_bytes *block);
/* The events of the last atf_pack_encode with this lane are done. */
void atf_pack_accept(struct atf_pack_lane *lane);
/* A block as zstd would have it. Needs no lane: for blocks that were written raw. */
int atf_pack_squeeze(struct atf_packer *packer, const uint8_t *bytes, size_t length, struct atf_pack_bytes *block);
/* Of a block's events: AtfPackBlock.events_sum. */
uint64_t atf_pack_sum(const struct ada_event *events, uint32_t count);
/* Puts its place in the file into a block, and with it the checksum of its head. */
void atf_pack_place(uint8_t *block, uint64_t offset);

/* --- reading ------------------------------------------------------------------------------------------------------------ */

/* The whole length of the block at `bytes`, of which `room` are there; 0: that is no block, is cut, or its head is damaged. Its offset is
 * the caller's to check. */
size_t atf_pack_block_length(const uint8_t *bytes, size_t room);
bool atf_pack_body_is_sound(const uint8_t *block); /* by the columns' checksum */

/* Takes the lane from where the block before began to where this one begins, or from nowhere where the block's calls stand whole.
 * -ATF_ERROR_CORRUPT, and the lane has no calls: what follows needs a block with ATF_PACK_WHOLE. */
int atf_pack_lane_read(struct atf_pack_lane *lane, const uint8_t *block);

struct atf_unpacker;
struct atf_unpacker *atf_unpacker_new(void);
void atf_unpacker_free(struct atf_unpacker *unpacker);
/* The events of a sound block that begins where the lane is, into `events`, which has room for all of them. 0 or -ATF_ERROR_CORRUPT,
 * -ATF_ERROR_MEMORY. The lane stays. */
int atf_unpack_events(struct atf_unpacker *unpacker, const struct atf_pack_lane *lane, const uint8_t *block, struct ada_event *events);
/* Takes the lane behind these events, which are the block's: where a writer goes on behind the last block of a file. */
int atf_pack_lane_skip(struct atf_pack_lane *lane, const struct ada_event *events, uint32_t count);

#pragma GCC visibility pop
#endif

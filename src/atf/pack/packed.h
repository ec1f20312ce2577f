/* Files of packed blocks, index.N.atp (abi/pack.h): opened, read block by block, written. */
#ifndef ADA_ATF_PACKED_H
#define ADA_ATF_PACKED_H
#include <pthread.h>
#include <stdatomic.h>
#include "atf/pack/decode.h"

#pragma GCC visibility push(hidden)

/* --- reading ------------------------------------------------------------------------------------------------------------ */

struct atf_packed_entry {
	uint64_t offset; /* 0: the block is missing, and its events were lost */
	uint64_t first_ns;
	uint32_t first_seq, count;
	uint32_t length; /* at most: up to the next block, or the end */
	bool whole;	 /* ATF_PACK_WHOLE */
	bool calls;	 /* no event is of another kind than CALL, RETURN and EXCEPTION */
};

struct atf_packed_layout {
	AtfIndexHeader header; /* as index.atf would have it */
	AtfIndexFooter footer; /* likewise; zero where there is none */
	ADA_ARRAY(struct atf_packed_entry) entries;
	enum atf_completeness completeness;
	bool unchecked; /* the footer lacks the events' CRC32 */
	uint64_t count;
	uint64_t end; /* behind the last block that counts */
};
bool atf_packed_is(const uint8_t *bytes, uint64_t size);
int atf_packed_layout_read(struct atf_packed_layout *layout, const uint8_t *bytes, uint64_t size, struct atf_message *message);
void atf_packed_layout_free(struct atf_packed_layout *layout);

/* An open file. Any thread may read; each decodes what it asks for, in buffers that are used again. Events stay where they are until the
 * thread that asked for them has asked for ATF_PACKED_KEPT other blocks of the file, or releases them, and nobody else uses them. */
#define ATF_PACKED_KEPT 4u
struct atf_packed;
/* `bytes` must stay; they aren't the packed file's to free. */
int atf_packed_open(struct atf_packed **packed, const uint8_t *bytes, uint64_t size, struct atf_message *message);
void atf_packed_close(struct atf_packed *packed);
const struct atf_packed_layout *atf_packed_layout(const struct atf_packed *packed);
/* The events from index_seq (which there is) to the end of its block. Events that can't be decoded are LOST ones, of one event each. NULL:
 * out of memory. */
const struct ada_event *atf_packed_run(struct atf_packed *packed, uint64_t index_seq, uint64_t *count);
const struct ada_event *atf_packed_all(struct atf_packed *packed); /* of the whole file, in memory of their own; NULL: as above */
/* atf_pack_lane_read of that block, if it is sound. */
int atf_packed_lane_read(const struct atf_packed *packed, struct atf_pack_lane *lane, uint32_t number);
/* The blocks that lie in [from, to) whole. */
void atf_packed_release(struct atf_packed *packed, uint64_t from, uint64_t to);
/* How many events were given as LOST ones, because their blocks are damaged or missing: each time that they were decoded. */
uint64_t atf_packed_damaged(const struct atf_packed *packed);

/* The sum of all events of the block that holds this one, as its head has it. False: it has none, or is missing. */
bool atf_packed_sum(const struct atf_packed *packed, uint64_t index_seq, uint64_t *sum);

/* A block that the caller goes through for itself (decode.h), event by event or however it likes, because it wants no events. */
struct atf_packed_decoder;
struct atf_packed_walk {
	struct atf_packed *packed;
	struct atf_packed_decoder *decoder;
	struct atf_pack_decoding decoding;
};
/* False: no block of at most `most` events begins with this event, or the block is damaged: its events are what atf_packed_run says. */
bool atf_packed_walk_open(struct atf_packed_walk *walk, struct atf_packed *packed, uint64_t index_seq, uint64_t most);
void atf_packed_walk_close(struct atf_packed_walk *walk);

uint64_t atf_packed_block(const struct atf_packed *packed, uint64_t index_seq); /* the index_seq with which the event's block begins */
/* The bytes of the blocks that hold the events [from, to), all of which there are. *end is *begin where these blocks don't lie side by side. */
void atf_packed_place(const struct atf_packed *packed, uint64_t from, uint64_t to, const uint8_t **begin, const uint8_t **end);
/* The index_seq from which on all events before this one are known, by their blocks' heads, to be CALL, RETURN or EXCEPTION; itself: none is. */
uint64_t atf_packed_calls_from(const struct atf_packed *packed, uint64_t index_seq);

/* The calls that are open where the event's block begins. */
struct atf_packed_open_calls {
	ADA_ARRAY(struct atf_pack_frame) frames; /* outermost first; the caller's to free */
	uint64_t first_seq;			 /* of the block */
	bool after_loss;
};
int atf_packed_open_calls(struct atf_packed *packed, uint64_t index_seq, struct atf_packed_open_calls *open);

/* --- writing ------------------------------------------------------------------------------------------------------------ */

struct atf_pack_writer;
/* A new file, 0600, which must not be there. */
int atf_pack_writer_open(struct atf_pack_writer **writer, const char *path, uint32_t thread_id, uint8_t arch);
/* The same of a file that the caller has opened, empty, and closes: it may be closed between two calls of these functions, and opened
 * again, which goes_on tells. */
int atf_pack_writer_begin(struct atf_pack_writer **writer, int fd, uint32_t thread_id, uint8_t arch);
void atf_pack_writer_goes_on(struct atf_pack_writer *writer, int fd);
/* Before the first block: the events' CRC32 isn't computed, and the footer says so. Whoever unpacks the file computes it. */
void atf_pack_writer_unchecked(struct atf_pack_writer *writer);
/* Appends a block, whose `count` events these are. Where the block before was a tail, this one takes its place: it holds the same
 * events and more. A tail is in the file beside the one before, so that one of both is whole whatever happens. The block gets its place. */
int atf_pack_writer_add(struct atf_pack_writer *writer, const struct atf_pack_bytes *block, const struct ada_event *events, uint32_t count,
			bool is_tail);
uint64_t atf_pack_writer_bytes(const struct atf_pack_writer *writer); /* on disk, as far as blocks go */
/* Directory, footer, header. 0 or -ATF_ERROR_SYSTEM, and may be called again then. */
int atf_pack_writer_finish(struct atf_pack_writer *writer, uint32_t flags);
/* The same, fsync; and frees, also where that fails. 0 or -ATF_ERROR_SYSTEM. */
int atf_pack_writer_close(struct atf_pack_writer *writer, uint32_t flags);
void atf_pack_writer_abandon(struct atf_pack_writer *writer); /* frees, and leaves the file as it is */

/* Directory, footer and header behind these blocks; `bytes` as the file is. For writer and recovery. 0 or -errno. */
int atf_pack_finish(int fd, AtfIndexHeader *header, const struct atf_summary *summary, const AtfPackBlock *blocks, size_t count,
		    uint64_t end);
/* The header of a finished file names its detail file: the footer first, which has the header's checksum. 0 or -errno. */
int atf_pack_name_detail(int fd);

#pragma GCC visibility pop
#endif

/* Packed index segments, index.N.atp: the events of an index.N.atf in some 0.7 bytes each. docs/format.md explains the columns.
 *
 *   [header 64][block][block]...[directory: the header of each block once more][footer 64]
 *
 *   block   [header 256][open calls][columns, each as it is or in a frame of zstd][zeros up to a multiple of 8]
 *
 * Integers are little-endian. A varint has 7 bits a byte, the lowest first, the top bit set in all bytes but its last; "signed" varints
 * are zigzag. The file's header is AtfIndexHeader with another magic; events_offset is where the blocks begin, event_size that of an
 * event when it is unpacked. Written by src/atf/ only; a change of a field or of the model needs a new version number.
 *
 *   version 1   the footer has the events' CRC32, blocks have no sum of theirs
 *   version 2   blocks have their events' sum, but those taken over from version 1, and the footer may lack the CRC32
 */
#ifndef ADA_ABI_PACK_H
#define ADA_ABI_PACK_H
#include "abi/file.h"

#define ATF_PACK_VERSION 2
#define ATF_PACK_MAGIC "ATP2"
#define ATF_PACK_FOOTER_MAGIC "2PTA"
#define ATF_PACK_BLOCK_MAGIC "ATB2"
#define ATF_PACK_EVENTS_MAX 65536u /* of a block */
#define ATF_PACK_LONGEST 4
#define ATF_PACK_WHOLE_EVERY 64u /* blocks: the open calls of at least one of them stand whole */

/* AtfPackBlock.flags */
#define ATF_PACK_WHOLE 1u      /* the open calls stand whole, not as what differs from the block before */
#define ATF_PACK_AFTER_LOSS 2u /* the event before the block's first, of the kinds that a reader knows, is LOST */
#define ATF_PACK_SUMMED 4u     /* events_sum stands */
#define ATF_PACK_FLAGS (ATF_PACK_WHOLE | ATF_PACK_AFTER_LOSS | ATF_PACK_SUMMED)
#define ATF_PACK_UNCHECKED 1u /* AtfPackFooter.flags: the events' CRC32 was not computed; the blocks' sums stand for it */

enum atf_pack_column {
	ATF_PACK_KINDS,	   /* a bit an event: 1 is a CALL right below the innermost open call; 0 the RETURN of that call, or in MARKS */
	ATF_PACK_TIMES,	   /* a byte an event: ns since the event before; from 252 on, in how many bytes of LONGS they stand */
	ATF_PACK_LONGS,	   /* of 2, 4 and 8 bytes */
	ATF_PACK_RANKS,	   /* a byte a CALL: which of the guesses; 4 and 5: a name that NAMES gives */
	ATF_PACK_NAMES,	   /* functions that were not guessed */
	ATF_PACK_MARKS,	   /* what is no plain call or return: where, what */
	ATF_PACK_VERBATIM, /* events that nothing else expresses: 32 bytes each */
	ATF_PACK_DETAILS,  /* stretches of events whose detail_seq counts on */
	ATF_PACK_COLUMNS,
};

typedef struct __attribute__((packed)) {
	uint64_t function_id, start_ns, duration_ns; /* 0: there was no call at this depth */
} AtfPackLongest;

typedef struct __attribute__((packed)) {
	uint8_t magic[4];
	uint32_t head_checksum; /* CRC32 of this header, with this field 0, and of the open calls */
	uint64_t offset;	/* of the block in the file */
	uint32_t body_checksum; /* CRC32 of the columns as they are stored */
	uint32_t event_count;	/* 1 to ATF_PACK_EVENTS_MAX */
	uint32_t first_seq;	/* index_seq of the first event */
	uint32_t flags;
	uint64_t first_ns, last_ns; /* of the first and the last event */
	uint64_t busy_ns;	    /* while at least one call was open */
	uint32_t open_count;	    /* calls that are open where the block begins */
	uint32_t open_bytes;
	uint32_t kept_count; /* of these: calls that stay open during the whole block */
	uint32_t deepest;    /* calls that are open at most at a time */
	uint32_t others;     /* events that are no CALL, RETURN or EXCEPTION */
	uint32_t reserved;
	uint32_t stored[ATF_PACK_COLUMNS]; /* bytes of each column in the file; as many as in `raw`: not compressed */
	uint32_t raw[ATF_PACK_COLUMNS];
	AtfPackLongest
		longest[ATF_PACK_LONGEST]; /* of the calls that ended in the block: the longest with kept_count + n calls around it */
	uint64_t events_sum;		   /* of the events, unpacked: docs/format.md */
	uint8_t reserved2[8];
} AtfPackBlock;
static_assert(sizeof(AtfPackBlock) == 256, "pack block");
static_assert(offsetof(AtfPackBlock, first_ns) == 32, "first_ns");
static_assert(offsetof(AtfPackBlock, stored) == 80, "stored");
static_assert(offsetof(AtfPackBlock, longest) == 144, "longest");
static_assert(offsetof(AtfPackBlock, events_sum) == 240, "events_sum");

typedef struct __attribute__((packed)) {
	uint8_t magic[4];
	uint32_t checksum; /* CRC32 of the events, unpacked: that of index.atf's footer; 0 with ATF_PACK_UNCHECKED */
	uint64_t event_count;
	uint64_t time_start_ns, time_end_ns;
	uint64_t bytes_written; /* of the blocks: the directory begins behind them */
	uint32_t block_count;
	uint32_t directory_checksum; /* CRC32 of the directory */
	uint32_t header_checksum;    /* CRC32 of the file's header */
	uint32_t footer_checksum;    /* CRC32 of this footer with this field 0 */
	uint32_t flags;
	uint8_t reserved[4];
} AtfPackFooter;
static_assert(sizeof(AtfPackFooter) == 64, "pack footer");
#endif

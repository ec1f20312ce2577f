/* What the files of this room share: a packer's columns, and a lane's operations while it is encoded. */
#ifndef ADA_ATF_PACKER_H
#define ADA_ATF_PACKER_H
#include <zstd.h>
#include "atf/pack/model.h"

#pragma GCC visibility push(hidden)

typedef ADA_ARRAY(uint8_t) atf_pack_bytes_array;

struct atf_packer {
	struct atf_pack_model model;
	atf_pack_bytes_array columns[ATF_PACK_COLUMNS]; /* as they are */
	atf_pack_bytes_array open, block;
	AtfPackBlock head;
	ZSTD_CCtx *coder, *coder_of_kinds, *coder_of_times;
};

/* The open calls of the block at hand: into packer->open. */
int atf_pack_open_write(struct atf_packer *packer, const struct atf_pack_lane *lane);
/* packer->block from head, open calls and columns. */
int atf_pack_assemble(struct atf_packer *packer, enum atf_pack_how how, struct atf_pack_bytes *block);

/* --- a lane that goes forward, and back --------------------------------------------------------------------------------- */

int atf_pack_undo_begin(struct atf_pack_lane *lane);
void atf_pack_undo(struct atf_pack_lane *lane);
/* The lane has `count` calls, fewer than undo.low: saves what changes from here on. 0 or -ENOMEM. */
int atf_pack_undo_lower(struct atf_pack_lane *lane, size_t count);
/* How many calls are less deep. */
size_t atf_pack_lane_below(const struct atf_pack_lane *lane, uint32_t depth);
/* How many frames are left below the one that `event`, an end, ends. False: it ends none, and *left are less deep. */
bool atf_pack_lane_finds(const struct atf_pack_lane *lane, const struct ada_event *event, size_t *left);
/* One event, of whatever kind, at lane->position + `at`. */
int atf_pack_lane_feed(struct atf_pack_lane *lane, const struct ada_event *event, uint64_t at);

#pragma GCC visibility pop
#endif

/* Neighbours in a file that one request to the ring writes: each request costs an inode lock, a worker of the kernel's and a call of the
 * disk. A batch grows until its request is submitted, and lives until that is complete. */
#ifndef ADA_RECORDER_BATCH_H
#define ADA_RECORDER_BATCH_H
#include <liburing.h>
#include <stdbool.h>
#include "atf.h"

#define ADA_BATCH_BLOCKS 4 /* of 256 KiB: the disk takes a request of a megabyte whole */

struct ada_batch {
	struct io_uring_sqe *entry; /* until it is submitted */
	off_t end;		    /* of the newest block in the file */
	unsigned count;
	struct atf_block *blocks[ADA_BATCH_BLOCKS];
	struct iovec parts[ADA_BATCH_BLOCKS];
};

/* Whether the block may be added: it lies right behind the others. */
static inline bool ada_batch_goes_on(const struct ada_batch *batch, const struct atf_block *block)
{
	return batch->count < ADA_BATCH_BLOCKS && batch->end == block->offset;
}

static inline void ada_batch_add(struct ada_batch *batch, struct atf_block *block)
{
	batch->parts[batch->count] = (struct iovec){ block->bytes, block->length };
	batch->blocks[batch->count++] = block;
	batch->end = block->offset + (off_t)block->length;
	batch->entry->len = batch->count;
}

/* A request that writes this block, and those that are added; its tag is the batch. */
static inline void ada_batch_begin(struct ada_batch *batch, struct io_uring_sqe *entry, int fd, struct atf_block *block)
{
	batch->entry = entry;
	batch->count = 0;
	io_uring_prep_writev(entry, fd, batch->parts, 0, (uint64_t)block->offset);
	io_uring_sqe_set_data64(entry, (uintptr_t)batch);
	ada_batch_add(batch, block);
}

/* What the next block, number `i`, has of a request's result: bytes, or -errno, which all have. *result: what is left for the others. */
static inline int ada_batch_share(const struct ada_batch *batch, unsigned i, int *result)
{
	int most = (int)batch->blocks[i]->length, share = *result < most ? *result : most;

	if (share > 0)
		*result -= share;
	return share;
}
#endif

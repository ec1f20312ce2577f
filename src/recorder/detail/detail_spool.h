/* Keeps chunks of windows in a file until the end: with a circular index only the end tells an event's place. The file has no name. Main
 * thread only. */
#ifndef ADA_RECORDER_DETAIL_SPOOL_H
#define ADA_RECORDER_DETAIL_SPOOL_H
#include <stdint.h>
#include "abi/detail.h"

struct detail_spool;
int ada_spool_open(struct detail_spool **spool, const char *directory, uint32_t chunk_bytes); /* 0 or -errno */
/* Keeps a copy of a chunk of so many bytes, at most chunk_bytes. 0, or -errno: not kept. */
int ada_spool_put(struct detail_spool *spool, const struct ada_detail_chunk *chunk, uint32_t bytes);
/* The copy, or NULL. Holds until the next put. */
const uint8_t *ada_spool_chunk(struct detail_spool *spool, uint32_t thread, uint64_t first_seq);
void ada_spool_close(struct detail_spool *spool);
#endif

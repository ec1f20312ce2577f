/* Between the files of the segment's recorder side: segment.c lays out and makes, segment_grow.c gives it memory, segment_rest.c
 * takes some back. */
#ifndef ADA_RECORDER_SEGMENT_PARTS_H
#define ADA_RECORDER_SEGMENT_PARTS_H
#include "abi/page.h"
#include "recorder/index/segment.h"

static inline uint64_t ada_huge_up(uint64_t bytes)
{
	return (bytes + ADA_HUGE_PAGE_BYTES - 1) & ~(ADA_HUGE_PAGE_BYTES - 1);
}

void ada_segment_tell(struct ada_segment *segment); /* wakes the agent's threads that wait for a chunk */

/* All give memory ahead of use; 0 or -errno. */
int ada_segment_room(struct ada_segment *segment, const void *from, uint64_t bytes); /* before the pools: small pages */
int ada_segment_grow_tables(struct ada_segment *segment);			     /* of threads and modules, where they want it */
int ada_segment_grow_chunks(struct ada_segment *segment, uint32_t count);	     /* of `count` more, or those left; sets their bits */
int ada_segment_begin_small(struct ada_segment *segment);			     /* the first time, instead: a few, in small pages */
void ada_segment_grow_detail(struct ada_segment *segment, uint32_t count);	     /* the same; where memory runs out it ends for good */
void ada_segment_begin_small_detail(struct ada_segment *segment);		     /* the first time, instead */

/* How many of the chunks are free, as far as that can be told while agents take them. */
uint32_t ada_segment_bits(const uint64_t *map, uint32_t bits);
/* Memory for a piece of a pool: allocated, zeroed, and in the recorder's page tables. */
int ada_segment_pool_room(struct ada_segment *segment, uint8_t *from, uint64_t bytes);

/* New detail replaces old; otherwise a chunk without memory is a hole when it is wanted. */
bool ada_segment_recycles_detail(const struct ada_segment *segment);
#endif

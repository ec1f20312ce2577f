/* Durations counted in buckets whose width grows with the value (log-linear), for percentiles over any number of calls.
 *
 * Values below 64 ns have a bucket each. Above, every power of two [2^k, 2^(k+1)) is split into 64 buckets of 2^(k-6): a
 * value lies within 1/64 of its bucket's lowest. A percentile is answered with its bucket's middle, kept within the
 * smallest and largest value seen, and so is off by at most 1/128 = 0.8 % of the exact one.
 * Percentile p of n values is the nearest rank: the ceil(p/100 * n)-th smallest.
 */
#ifndef ADA_QUERY_HISTOGRAM_H
#define ADA_QUERY_HISTOGRAM_H
#include <stdint.h>

#define ADA_HISTOGRAM_BUCKETS 64	/* of each power of two */
#define ADA_HISTOGRAM_OCTAVES 59	/* [0, 64), [64, 128), ... up to 2^64 */

struct ada_histogram {			/* all zero = empty */
	uint64_t *octaves[ADA_HISTOGRAM_OCTAVES];	/* made when first needed: 512 bytes each */
	uint64_t count, sum, min, max;			/* min, max: of count > 0 */
};

int ada_histogram_add(struct ada_histogram *histogram, uint64_t value);		/* 0 or -ENOMEM */
int ada_histogram_merge(struct ada_histogram *into, const struct ada_histogram *from);
uint64_t ada_histogram_percentile(const struct ada_histogram *histogram, unsigned int permille);	/* count > 0 */
void ada_histogram_free(struct ada_histogram *histogram);
#endif

/* Durations counted in buckets whose width grows with the value (log-linear), for percentiles over any number of calls.
 *
 * Values below 64 ns have a bucket each. Above, every power of two [2^k, 2^(k+1)) is split into 64 buckets of 2^(k-6): a
 * value lies within 1/64 of its bucket's lowest. A percentile is answered with its bucket's middle, kept within the
 * smallest and largest value seen, and so is off by at most 1/128 = 0.8 % of the exact one.
 * Percentile p of n values is the nearest rank: the ceil(p/100 * n)-th smallest.
 */
#ifndef ADA_QUERY_HISTOGRAM_H
#define ADA_QUERY_HISTOGRAM_H
#include <errno.h>
#include <stdint.h>

#define ADA_HISTOGRAM_BUCKETS 64	/* of each power of two */
#define ADA_HISTOGRAM_BITS 6		/* log2 of it */
#define ADA_HISTOGRAM_OCTAVES 59	/* [0, 64), [64, 128), ... up to 2^64 */

/* Counts are kept small, so that those of many functions fit into a CPU's cache: where one has gone round, it is 65,536 more. */
struct ada_octave {
	uint16_t counts[ADA_HISTOGRAM_BUCKETS];
	uint64_t *more;			/* NULL: none */
} __attribute__((aligned(64)));

struct ada_histogram {			/* all zero = empty */
	uint64_t count, sum, min, max;			/* min, max: of count > 0 */
	struct ada_octave *octaves[ADA_HISTOGRAM_OCTAVES];	/* made when first needed */
};

/* For ada_histogram_add: made where it is NULL (NULL: no memory); 65,536 more (0 or -ENOMEM). */
struct ada_octave *ada_histogram_octave(struct ada_histogram *histogram, unsigned int number);
int ada_histogram_more(struct ada_octave *octave, unsigned int bucket, uint64_t count);

static inline int ada_histogram_add(struct ada_histogram *histogram, uint64_t value)	/* 0 or -ENOMEM */
{
	/* Octave 0 is [0, 64), octave 1 begins at 64 with buckets of 1, octave 2 at 128 with buckets of 2, ... Without a branch, for
	 * no CPU could guess it. */
	unsigned int number = 64 - ADA_HISTOGRAM_BITS - __builtin_clzll(value | ADA_HISTOGRAM_BUCKETS / 2);
	unsigned int bucket = (value >> (number - !!number)) % ADA_HISTOGRAM_BUCKETS;
	struct ada_octave *octave = histogram->octaves[number];

	if (__builtin_expect(!octave, 0))
		octave = ada_histogram_octave(histogram, number);
	if (__builtin_expect(!octave, 0))
		return -ENOMEM;
	if (!histogram->count || value < histogram->min)
		histogram->min = value;
	if (value > histogram->max)
		histogram->max = value;
	histogram->count++;
	histogram->sum += value;
	if (__builtin_expect(!++octave->counts[bucket], 0))
		return ada_histogram_more(octave, bucket, 1 << 16);
	return 0;
}

static inline uint64_t ada_histogram_bucket(const struct ada_histogram *histogram, unsigned int octave, unsigned int bucket)
{
	const struct ada_octave *counts = histogram->octaves[octave];

	return !counts ? 0 : counts->counts[bucket] + (counts->more ? counts->more[bucket] : 0);
}

int ada_histogram_merge(struct ada_histogram *into, const struct ada_histogram *from);
uint64_t ada_histogram_percentile(const struct ada_histogram *histogram, unsigned int permille);	/* count > 0 */
void ada_histogram_free(struct ada_histogram *histogram);
#endif

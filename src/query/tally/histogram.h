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

#define ADA_HISTOGRAM_BITS 6
#define ADA_HISTOGRAM_BUCKETS 64							/* of each power of two */
#define ADA_HISTOGRAM_OCTAVES 59							/* [0, 64), [64, 128), ... up to 2^64 */
#define ADA_HISTOGRAM_FEW (16 * ADA_HISTOGRAM_BUCKETS)					/* buckets of less than 2 ms */
#define ADA_HISTOGRAM_REAL_BASE ((1023 + ADA_HISTOGRAM_BITS - 1) << ADA_HISTOGRAM_BITS) /* 1023: a double's bias */

struct ada_histogram {		       /* all zero = empty */
	uint64_t count, sum, min, max; /* min, max: of count > 0 */
	/* A bucket's count is the sum of its entries in `many`, which is made when first needed, and in `few`, which is so small that
	 * those of many functions fit into a CPU's cache. */
	uint8_t few[ADA_HISTOGRAM_FEW];
	uint64_t *many[ADA_HISTOGRAM_OCTAVES];
};

int ada_histogram_more(struct ada_histogram *histogram, unsigned int index, uint64_t count); /* to `many`; 0 or -ENOMEM */
/* adds to the bucket of `many`; 0 or -ENOMEM */
int ada_histogram_add_large(struct ada_histogram *histogram, uint64_t value);

void ada_histogram_widen(struct ada_histogram *histogram, uint64_t value); /* its min and max */

/* Number of the bucket among those of all octaves, where it is one of the few; else a number above them. A double holds a value as the
 * buckets split it: the power of two, and below that the bits that say which of the 64. Values below 64 get the form that [64, 128) has.
 * From 2^53 on a double is rounded, but those buckets are not among the few. So there is no branch, which no CPU could guess, and no
 * search for the highest bit, which on AMD costs as much as the rest. */
static inline unsigned int ada_histogram_few_index(uint64_t value)
{
	uint64_t small = (uint64_t)(value < ADA_HISTOGRAM_BUCKETS) * ADA_HISTOGRAM_BUCKETS;
	double real = (double)(int64_t)(value + small); /* from 2^63 on negative, and its bits more than all others */
	uint64_t bits;

	__builtin_memcpy(&bits, &real, sizeof bits);
	return (unsigned int)((bits >> (52 - ADA_HISTOGRAM_BITS)) - ADA_HISTOGRAM_REAL_BASE - small);
}

/* The same of a value below 256. */
static inline unsigned int ada_histogram_short_index(uint64_t value)
{
	uint64_t halved = ADA_HISTOGRAM_BUCKETS + value / 2;

	return (unsigned int)(value < halved ? value : halved);
}

/* `index` is that of the value. 0 or -ENOMEM, as below. */
static inline int ada_histogram_add_at(struct ada_histogram *histogram, uint64_t value, unsigned int index)
{
	/* Outside of [min, max]. Both are 0 before the first value: if that value is 0, they are right already. */
	if (__builtin_expect(value - histogram->min > histogram->max - histogram->min, 0))
		ada_histogram_widen(histogram, value);
	histogram->count++;
	histogram->sum += value;
	if (__builtin_expect(index >= ADA_HISTOGRAM_FEW, 0))
		return ada_histogram_add_large(histogram, value);
	if (__builtin_expect(!++histogram->few[index], 0))
		return ada_histogram_more(histogram, index, UINT8_MAX + 1);
	return 0;
}

static inline int ada_histogram_add(struct ada_histogram *histogram, uint64_t value)
{
	return ada_histogram_add_at(histogram, value, ada_histogram_few_index(value));
}

static inline uint64_t ada_histogram_bucket(const struct ada_histogram *histogram, unsigned int index)
{
	const uint64_t *many = histogram->many[index / ADA_HISTOGRAM_BUCKETS];

	return (many ? many[index % ADA_HISTOGRAM_BUCKETS] : 0) + (index < ADA_HISTOGRAM_FEW ? histogram->few[index] : 0);
}

int ada_histogram_merge(struct ada_histogram *into, const struct ada_histogram *from);
uint64_t ada_histogram_percentile(const struct ada_histogram *histogram, unsigned int permille); /* count > 0 */
unsigned int ada_histogram_rank(const struct ada_histogram *histogram, uint64_t value); /* permille that are no larger; count > 0 */
void ada_histogram_free(struct ada_histogram *histogram);
#endif

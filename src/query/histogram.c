/* Log-linear histogram: see histogram.h for its formula. */
#include "query/histogram.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define BITS 6	/* log2 of ADA_HISTOGRAM_BUCKETS */
static_assert(1 << BITS == ADA_HISTOGRAM_BUCKETS, "buckets");
static_assert(ADA_HISTOGRAM_OCTAVES == 64 - BITS + 1, "octaves");

static unsigned int octave_of(uint64_t value)
{
	return value < ADA_HISTOGRAM_BUCKETS ? 0 : 64 - BITS - __builtin_clzll(value);
}

static uint64_t *octave(struct ada_histogram *histogram, unsigned int number)
{
	if (!histogram->octaves[number])
		histogram->octaves[number] = calloc(ADA_HISTOGRAM_BUCKETS, sizeof(uint64_t));
	return histogram->octaves[number];
}

int ada_histogram_add(struct ada_histogram *histogram, uint64_t value)
{
	unsigned int number = octave_of(value);
	uint64_t *buckets = octave(histogram, number);

	if (!buckets)
		return -ENOMEM;
	/* Octave 1 begins at 64 with buckets of 1, octave 2 at 128 with buckets of 2, ... */
	buckets[number ? (value >> (number - 1)) - ADA_HISTOGRAM_BUCKETS : value]++;
	if (!histogram->count || value < histogram->min)
		histogram->min = value;
	if (value > histogram->max)
		histogram->max = value;
	histogram->count++;
	histogram->sum += value;
	return 0;
}

int ada_histogram_merge(struct ada_histogram *into, const struct ada_histogram *from)
{
	if (!from->count)
		return 0;
	for (unsigned int number = 0; number < ADA_HISTOGRAM_OCTAVES; number++) {
		uint64_t *buckets = from->octaves[number] ? octave(into, number) : NULL;

		if (!from->octaves[number])
			continue;
		if (!buckets)
			return -ENOMEM;
		for (unsigned int i = 0; i < ADA_HISTOGRAM_BUCKETS; i++)
			buckets[i] += from->octaves[number][i];
	}
	if (!into->count || from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	into->count += from->count;
	into->sum += from->sum;
	return 0;
}

static uint64_t middle(unsigned int number, unsigned int bucket)
{
	uint64_t width = number ? 1ull << (number - 1) : 1;
	uint64_t low = number ? (uint64_t)(ADA_HISTOGRAM_BUCKETS + bucket) << (number - 1) : bucket;

	return low + (width - 1) / 2;
}

uint64_t ada_histogram_percentile(const struct ada_histogram *histogram, unsigned int permille)
{
	uint64_t rank = ((unsigned __int128)histogram->count * permille + 999) / 1000, seen = 0;

	if (!rank)
		rank = 1;
	for (unsigned int number = 0; number < ADA_HISTOGRAM_OCTAVES; number++)
		for (unsigned int i = 0; histogram->octaves[number] && i < ADA_HISTOGRAM_BUCKETS; i++) {
			uint64_t value;

			seen += histogram->octaves[number][i];
			if (seen < rank)
				continue;
			value = middle(number, i);
			if (value < histogram->min)
				return histogram->min;
			return value > histogram->max ? histogram->max : value;
		}
	return histogram->max;
}

void ada_histogram_free(struct ada_histogram *histogram)
{
	for (unsigned int number = 0; number < ADA_HISTOGRAM_OCTAVES; number++)
		free(histogram->octaves[number]);
	*histogram = (struct ada_histogram){};
}

/* Log-linear histogram: see histogram.h for its formula. */
#include "query/tally/histogram.h"
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"

static_assert(1 << ADA_HISTOGRAM_BITS == ADA_HISTOGRAM_BUCKETS, "buckets");
static_assert(ADA_HISTOGRAM_OCTAVES == 64 - ADA_HISTOGRAM_BITS + 1, "octaves");

int ada_histogram_more(struct ada_histogram *histogram, unsigned int index, uint64_t count)
{
	uint64_t **octave = &histogram->many[index / ADA_HISTOGRAM_BUCKETS];

	if (!*octave)
		*octave = calloc(ADA_HISTOGRAM_BUCKETS, sizeof **octave);
	if (!*octave)
		return -ENOMEM;
	(*octave)[index % ADA_HISTOGRAM_BUCKETS] += count;
	return 0;
}

int ada_histogram_add_large(struct ada_histogram *histogram, uint64_t value)
{
	unsigned int shift = 63 - ADA_HISTOGRAM_BITS - __builtin_clzll(value | ADA_HISTOGRAM_BUCKETS);

	return ada_histogram_more(histogram, shift * ADA_HISTOGRAM_BUCKETS + (unsigned int)(value >> shift), 1);
}

void ada_histogram_widen(struct ada_histogram *histogram, uint64_t value)
{
	if (!histogram->count || value < histogram->min)
		histogram->min = value;
	if (value > histogram->max)
		histogram->max = value;
}

static int merge_octave(struct ada_histogram *into, const struct ada_histogram *from, unsigned int octave)
{
	int result = 0;

	for (unsigned int i = 0; i < ADA_HISTOGRAM_BUCKETS && !result; i++) {
		unsigned int index = octave * ADA_HISTOGRAM_BUCKETS + i;
		uint64_t count = ada_histogram_bucket(from, index);

		if (index < ADA_HISTOGRAM_FEW) {
			count += into->few[index];
			into->few[index] = (uint8_t)count;
			count &= ~(uint64_t)UINT8_MAX;
		}
		if (count)
			result = ada_histogram_more(into, index, count);
	}
	return result;
}

/* Whether an octave is empty: most octaves of most functions are. */
static bool is_empty(const struct ada_histogram *histogram, unsigned int octave)
{
	static const uint8_t none[ADA_HISTOGRAM_BUCKETS];

	return !histogram->many[octave] && (octave >= ADA_HISTOGRAM_FEW / ADA_HISTOGRAM_BUCKETS ||
					    !memcmp(histogram->few + octave * ADA_HISTOGRAM_BUCKETS, none, sizeof none));
}

int ada_histogram_merge(struct ada_histogram *into, const struct ada_histogram *from)
{
	int result = 0;

	if (!from->count)
		return 0;
	for (unsigned int octave = 0; octave < ADA_HISTOGRAM_OCTAVES; octave++)
		if (!is_empty(from, octave) && !result)
			result = merge_octave(into, from, octave);
	if (!into->count || from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	into->count += from->count;
	into->sum += from->sum;
	return result;
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
		for (unsigned int i = 0; i < ADA_HISTOGRAM_BUCKETS; i++) {
			uint64_t value;

			seen += ada_histogram_bucket(histogram, number * ADA_HISTOGRAM_BUCKETS + i);
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
		free(histogram->many[number]);
	*histogram = (struct ada_histogram){};
}

unsigned int ada_histogram_rank(const struct ada_histogram *histogram, uint64_t value)
{
	return (unsigned int)ada_first_not(permille, 0, 1000,
					   permille == 0 || ada_histogram_percentile(histogram, (unsigned int)permille) <= value);
}

/* Log-linear histogram: see histogram.h for its formula. */
#include "query/histogram.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static_assert(1 << ADA_HISTOGRAM_BITS == ADA_HISTOGRAM_BUCKETS, "buckets");
static_assert(ADA_HISTOGRAM_OCTAVES == 64 - ADA_HISTOGRAM_BITS + 1, "octaves");

uint64_t *ada_histogram_octave(struct ada_histogram *histogram, unsigned int number)
{
	if (!histogram->octaves[number])
		histogram->octaves[number] = calloc(ADA_HISTOGRAM_BUCKETS, sizeof(uint64_t));
	return histogram->octaves[number];
}

int ada_histogram_merge(struct ada_histogram *into, const struct ada_histogram *from)
{
	if (!from->count)
		return 0;
	for (unsigned int number = 0; number < ADA_HISTOGRAM_OCTAVES; number++) {
		uint64_t *buckets = from->octaves[number] ? ada_histogram_octave(into, number) : NULL;

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

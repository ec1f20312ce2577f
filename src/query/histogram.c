/* Log-linear histogram: see histogram.h for its formula. */
#include "query/histogram.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static_assert(1 << ADA_HISTOGRAM_BITS == ADA_HISTOGRAM_BUCKETS, "buckets");
static_assert(ADA_HISTOGRAM_OCTAVES == 64 - ADA_HISTOGRAM_BITS + 1, "octaves");

struct ada_octave *ada_histogram_octave(struct ada_histogram *histogram, unsigned int number)
{
	struct ada_octave **octave = &histogram->octaves[number];

	if (*octave)
		return *octave;
	*octave = aligned_alloc(_Alignof(struct ada_octave), sizeof **octave);
	if (*octave)
		**octave = (struct ada_octave){};
	return *octave;
}

int ada_histogram_more(struct ada_octave *octave, unsigned int bucket, uint64_t count)
{
	if (!octave->more)
		octave->more = calloc(ADA_HISTOGRAM_BUCKETS, sizeof *octave->more);
	if (!octave->more)
		return -ENOMEM;
	octave->more[bucket] += count;
	return 0;
}

static int merge_octave(struct ada_octave *into, const struct ada_octave *from)
{
	int result = 0;

	for (unsigned int i = 0; i < ADA_HISTOGRAM_BUCKETS && !result; i++) {
		uint64_t sum = into->counts[i] + (uint64_t)from->counts[i] + (from->more ? from->more[i] : 0);

		into->counts[i] = (uint16_t)sum;
		if (sum > UINT16_MAX)
			result = ada_histogram_more(into, i, sum & ~(uint64_t)UINT16_MAX);
	}
	return result;
}

int ada_histogram_merge(struct ada_histogram *into, const struct ada_histogram *from)
{
	int result = 0;

	if (!from->count)
		return 0;
	for (unsigned int number = 0; number < ADA_HISTOGRAM_OCTAVES && !result; number++) {
		struct ada_octave *octave = from->octaves[number] ? ada_histogram_octave(into, number) : NULL;

		if (from->octaves[number])
			result = octave ? merge_octave(octave, from->octaves[number]) : -ENOMEM;
	}
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
		for (unsigned int i = 0; histogram->octaves[number] && i < ADA_HISTOGRAM_BUCKETS; i++) {
			uint64_t value;

			seen += ada_histogram_bucket(histogram, number, i);
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
	for (unsigned int number = 0; number < ADA_HISTOGRAM_OCTAVES; number++) {
		if (histogram->octaves[number])
			free(histogram->octaves[number]->more);
		free(histogram->octaves[number]);
	}
	*histogram = (struct ada_histogram){};
}

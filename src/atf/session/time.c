/* The genlock: the clock that all recordings share, and the lines on which other clocks run beside it. */
#include "atf/session/anchor.h"

#include <string.h>
#include <time.h>

#define READINGS 32
#define READING_ENOUGH_NS 100 /* no reading is much better */

uint64_t ada_get_timestamp_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void ada_timing_init(void)
{
	ada_get_timestamp_ns();
}

int ada_timing_anchor(struct ada_timing_anchor *anchor, const char *clock, uint64_t (*media_time_ns)(void *context), void *context)
{
	uint64_t shortest = UINT64_MAX;

	if (!atf_clock_name_is_sound(clock))
		return -ATF_ERROR_INVALID;
	*anchor = (struct ada_timing_anchor){ 0 };
	memcpy(anchor->clock, clock, strlen(clock));
	for (int i = 0; i < READINGS && shortest > READING_ENOUGH_NS; i++) {
		uint64_t before = ada_get_timestamp_ns(), media = media_time_ns(context), took = ada_get_timestamp_ns() - before;

		if (took >= shortest)
			continue;
		shortest = took;
		anchor->hostTimeNs = before + took / 2;
		anchor->mediaTimeNs = media;
	}
	return anchor->mediaTimeNs > INT64_MAX ? -ATF_ERROR_INVALID : 0;
}

/* The line of anchors i and i + 1, or of the only one with its rate 1. */
struct line {
	uint64_t host, media;
	uint64_t host_span, media_span;
};

static int line_of(const struct ada_timing_anchor *anchors, size_t count, size_t i, struct line *line)
{
	*line = (struct line){ anchors[i].hostTimeNs, anchors[i].mediaTimeNs, 1, 1 };
	if (line->media > INT64_MAX)
		return -ATF_ERROR_INVALID;
	if (count < 2)
		return 0;
	if (anchors[i + 1].hostTimeNs <= line->host || anchors[i + 1].mediaTimeNs <= line->media)
		return -ATF_ERROR_INVALID;
	line->host_span = anchors[i + 1].hostTimeNs - line->host;
	line->media_span = anchors[i + 1].mediaTimeNs - line->media;
	return 0;
}

/* The last anchor (never the very last of all) that isn't behind the time, on the host's clock or on the media's. */
static size_t place(const struct ada_timing_anchor *anchors, size_t count, bool of_media, uint64_t ns)
{
	return ada_first_not(i, 1, count - 1, (of_media ? anchors[i].mediaTimeNs : anchors[i].hostTimeNs) <= ns) - 1;
}

int atf_media_time(const struct ada_timing_anchor *anchors, size_t count, uint64_t host_ns, int64_t *media_ns)
{
	struct line line;
	__int128 ticks, media;
	int error = count ? line_of(anchors, count, place(anchors, count, false, host_ns), &line) : -ATF_ERROR_INVALID;

	if (error)
		return error;
	/* 65 bits by 63 bits */
	ticks = ((__int128)host_ns - line.host) * line.media_span;
	media = line.media + ticks / line.host_span - (ticks % line.host_span < 0);
	if (media < INT64_MIN || media > INT64_MAX)
		return -ATF_ERROR_RANGE;
	*media_ns = (int64_t)media;
	return 0;
}

int atf_host_time(const struct ada_timing_anchor *anchors, size_t count, int64_t media_ns, uint64_t *host_ns)
{
	struct line line;
	bool before;
	uint64_t distance;
	unsigned __int128 product;
	int error = count ? line_of(anchors, count, place(anchors, count, true, media_ns < 0 ? 0 : (uint64_t)media_ns), &line) :
			    -ATF_ERROR_INVALID;

	if (error)
		return error;
	before = media_ns < (int64_t)line.media;
	distance = before ? line.media - (uint64_t)media_ns : (uint64_t)media_ns - line.media;
	product = (unsigned __int128)distance * line.host_span;
	if (before) {
		product /= line.media_span;
		*host_ns = product < line.host ? line.host - (uint64_t)product : 0;
		return 0;
	}
	product = product / line.media_span + (product % line.media_span > 0);
	if (product > UINT64_MAX - line.host)
		return -ATF_ERROR_RANGE;
	*host_ns = line.host + (uint64_t)product;
	return 0;
}

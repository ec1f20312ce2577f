/* Aligns a session of ada with two other clocks, and shows how well: the CPU's own (CLOCK_MONOTONIC_RAW, which nobody
 * corrects, as that of a sound card), and one of a film that runs 0.1 % too fast.
 *
 *   cc anchors.c $(pkg-config --cflags --libs libatf) -o anchors
 *   ada trace ./program &
 *   ./anchors ada_traces/latest
 *
 * An anchor at the beginning and one at the end are stored; moments between them are told by these, and compared with
 * what the clocks showed.
 */
#include <atf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOMENTS = 20 };

static uint64_t sound(void *context)
{
	struct timespec now;

	(void)context;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t film(void *context)
{
	const uint64_t *began = context;
	uint64_t past = ada_get_timestamp_ns() - *began;

	return past + past / 1000;
}

static int store(const char *session, const char *clock, uint64_t (*read)(void *), void *context)
{
	struct ada_timing_anchor anchor;
	struct atf_message message;

	if (ada_timing_anchor(&anchor, clock, read, context)) {
		fprintf(stderr, "clock %s can't be read\n", clock);
		return 1;
	}
	if (atf_session_anchor(session, &anchor, &message)) {
		fprintf(stderr, "%s\n", message.text);
		return 1;
	}
	return 0;
}

/* Off by 1 us or more: 1. */
static int compare(const char *session, const char *clock, const struct ada_timing_anchor *moments)
{
	struct ada_timing_anchor *anchors;
	struct atf_message message;
	size_t count, first, end;
	int64_t told, off, most = 0;

	if (atf_session_anchors(session, &anchors, &count, &message)) {
		fprintf(stderr, "%s\n", message.text);
		return 1;
	}
	for (first = 0; first < count && strcmp(anchors[first].clock, clock); first++)
		;
	for (end = first; end < count && !strcmp(anchors[end].clock, clock); end++)
		;
	for (int i = 0; i < MOMENTS; i++) {
		if (atf_media_time(anchors + first, end - first, moments[i].hostTimeNs, &told)) {
			fprintf(stderr, "clock %s has no anchors\n", clock);
			return 1;
		}
		off = llabs(told - (int64_t)moments[i].mediaTimeNs);
		most = off > most ? off : most;
	}
	printf("%s: %zu anchors, %d moments between them are off by %" PRId64 " ns at most\n", clock, end - first, MOMENTS, most);
	free(anchors);
	return most >= 1000;
}

int main(int count, char **arguments)
{
	const char *session = count > 1 ? arguments[1] : NULL;
	struct ada_timing_anchor sounds[MOMENTS], films[MOMENTS];
	uint64_t began;

	ada_timing_init();
	began = ada_get_timestamp_ns();
	if (store(session, "sound", sound, NULL) || store(session, "film", film, &began))
		return 1;
	for (int i = 0; i < MOMENTS; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL); /* what is recorded happens here */
		if (ada_timing_anchor(&sounds[i], "sound", sound, NULL) || ada_timing_anchor(&films[i], "film", film, &began))
			return 1;
	}
	if (store(session, "sound", sound, NULL) || store(session, "film", film, &began))
		return 1;
	return compare(session, "sound", sounds) | compare(session, "film", films);
}

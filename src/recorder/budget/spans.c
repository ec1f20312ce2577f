#include "recorder/budget/spans.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/hash.h"

#define READ_MOST 64
#define FOLLOW 0.125	  /* how fast a pace falls */
#define CODE (1ull << 63) /* of a page of code, as a key: a slot's is its address */

/* The word becomes part of its page's span, which grows by it; a slot has a span of its own. */
static int take_word(struct ada_spans *spans, struct ada_table *by_key, const struct ada_word *word)
{
	uint64_t key = ada_word_is_code(word) ? word->at / ADA_PAGE_BYTES | CODE : word->at, position;
	struct ada_span *span;

	if (!ada_table_get(by_key, key, &position)) {
		position = spans->items.count;
		if (ada_array_push(&spans->items, (struct ada_span){ .at = word->at, .bytes = word->bytes, .status = -EAGAIN }) ||
		    ada_table_put(by_key, key, position))
			return -ENOMEM;
	}
	span = &spans->items.items[position];
	if (word->at < span->at) {
		span->bytes += span->at - word->at;
		span->at = word->at;
	}
	if (word->at + word->bytes > span->at + span->bytes)
		span->bytes = word->at + word->bytes - span->at;
	return ada_array_push(&spans->of, position);
}

int ada_spans_open(struct ada_spans *spans, pid_t pid, int memory, const struct ada_flip *flips, size_t count)
{
	struct ada_table by_key = { 0 };
	size_t bytes = 0;
	int status = 0;

	*spans = (struct ada_spans){ .pid = pid, .memory = memory };
	for (size_t i = 0; i < count; i++)
		for (size_t k = flips[i].first; k < flips[i].words->items.count && !status; k++)
			status = take_word(spans, &by_key, &flips[i].words->items.items[k]);
	ada_table_free(&by_key);
	for (size_t i = 0; i < spans->items.count; i++) {
		spans->items.items[i].offset = bytes;
		bytes += spans->items.items[i].bytes;
	}
	spans->now = malloc(2 * bytes + 1);
	if (status || !spans->now)
		return -ENOMEM;
	memset(spans->now, 0, 2 * bytes + 1); /* no page of ours is to be made while the process waits */
	spans->kept = spans->now + bytes;
	return 0;
}

static uint8_t *bytes_of(const struct ada_spans *spans, size_t number, const struct ada_word *word)
{
	const struct ada_span *span = &spans->items.items[spans->of.items[number]];

	return spans->now + span->offset + (word->at - span->at);
}

static bool has_form(const uint8_t *bytes, const struct ada_word *word, bool out)
{
	return !memcmp(bytes, out ? word->out : word->in, word->bytes);
}

/* How many words the flip has among those of `spans`. */
static size_t words_left(const struct ada_flip *flip)
{
	return flip->words->items.count - flip->first;
}

/* Of the words of which the first is number `number`. */
static void note_read(const struct ada_spans *spans, size_t number, struct ada_flip *flip)
{
	for (size_t i = 0; i < words_left(flip) && !flip->status; i++) {
		const struct ada_word *word = &flip->words->items.items[flip->first + i];
		const uint8_t *bytes = bytes_of(spans, number + i, word);

		flip->status = spans->items.items[spans->of.items[number + i]].status;
		if (!flip->status && !has_form(bytes, word, false) && !has_form(bytes, word, true))
			flip->status = -ESTALE;
		if (!flip->status)
			flip->done = flip->first + i + 1;
	}
	if (flip->status && flip->status != -EAGAIN)
		flip->done = flip->first;
}

/* As many as one system call may, which stops before one that isn't there. Returns how many are known now. */
static size_t read_some(struct ada_spans *spans, size_t first)
{
	struct iovec mine[READ_MOST], its[READ_MOST];
	size_t count = 0, i = 0;
	ssize_t got;

	for (; count < READ_MOST && first + count < spans->items.count; count++) {
		const struct ada_span *span = &spans->items.items[first + count];

		mine[count] = (struct iovec){ spans->now + span->offset, span->bytes };
		its[count] = (struct iovec){ (void *)span->at, span->bytes };
	}
	got = process_vm_readv(spans->pid, mine, count, its, count, 0);
	for (; i < count && got >= (ssize_t)its[i].iov_len; got -= (ssize_t)its[i++].iov_len)
		spans->items.items[first + i].status = 0;
	if (i < count)
		spans->items.items[first + i++].status = -ESTALE;
	return i;
}

void ada_spans_read(struct ada_spans *spans, struct ada_flip *flips, size_t count, uint64_t until_ns)
{
	size_t number = 0, done = 0;

	while (done < spans->items.count && ada_clock_boottime_ns() < until_ns)
		done += read_some(spans, done);
	for (size_t i = 0; i < count; number += words_left(&flips[i++]))
		if (!flips[i].status)
			note_read(spans, number, &flips[i]);
}

static int put(const struct ada_spans *spans, const struct ada_span *span, const uint8_t *bytes)
{
	ssize_t put = pwrite(spans->memory, bytes + span->offset, span->bytes, (off_t)span->at);

	return put == (ssize_t)span->bytes ? 0 : put < 0 ? -errno : -EIO;
}

static void change(struct ada_spans *spans, const struct ada_flip *flip, size_t number)
{
	for (size_t i = 0; i < flip->done - flip->first; i++) {
		const struct ada_word *word = &flip->words->items.items[flip->first + i];

		memcpy(bytes_of(spans, number + i, word), flip->out ? word->out : word->in, word->bytes);
		spans->items.items[spans->of.items[number + i]].changed = true;
	}
}

/* What has the form already, from an earlier stop, isn't written again. */
static bool is_to_be_written(const struct ada_spans *spans, const struct ada_span *span)
{
	return span->changed && memcmp(spans->now + span->offset, spans->kept + span->offset, span->bytes);
}

/* The spans from `end` on were not written. */
static void note_written(const struct ada_spans *spans, size_t number, size_t end, struct ada_flip *flip)
{
	for (size_t i = 0; i < flip->done - flip->first; i++)
		if (spans->of.items[number + i] >= end) {
			flip->done = flip->first + i;
			flip->status = -EAGAIN;
		}
}

static void restore(const struct ada_spans *spans, size_t end)
{
	for (; end; end--)
		if (is_to_be_written(spans, &spans->items.items[end - 1]))
			put(spans, &spans->items.items[end - 1], spans->kept);
}

void ada_spans_write(struct ada_spans *spans, struct ada_flip *flips, size_t count, uint64_t until_ns)
{
	size_t number = 0, end;
	int status = 0;

	memcpy(spans->kept, spans->now, (size_t)(spans->kept - spans->now));
	for (size_t i = 0; i < count; number += words_left(&flips[i++]))
		change(spans, &flips[i], number);
	for (end = 0; end < spans->items.count && !status; end++)
		if (is_to_be_written(spans, &spans->items.items[end])) {
			if (ada_clock_boottime_ns() >= until_ns)
				break;
			status = put(spans, &spans->items.items[end], spans->now);
		}
	if (status)
		restore(spans, end);
	for (size_t i = number = 0; i < count; number += words_left(&flips[i++])) {
		if (status && flips[i].done > flips[i].first) {
			flips[i].status = status;
			flips[i].done = flips[i].first;
		}
		note_written(spans, number, end, &flips[i]);
	}
}

void ada_spans_close(struct ada_spans *spans)
{
	ada_array_free(&spans->items);
	ada_array_free(&spans->of);
	free(spans->now);
	spans->now = spans->kept = NULL;
}

uint64_t ada_pace_writes_until(const struct ada_pace *pace, size_t threads, uint64_t deadline_ns)
{
	double release_ns = pace->thread_ns * (double)threads;

	return (double)deadline_ns > release_ns ? deadline_ns - (uint64_t)release_ns : 0;
}

uint64_t ada_pace_reads_until(const struct ada_pace *pace, size_t threads, uint64_t now_ns, uint64_t deadline_ns)
{
	double left_ns = (double)ada_pace_writes_until(pace, threads, deadline_ns) - (double)now_ns;

	return left_ns > 0 ? now_ns + (uint64_t)(left_ns / (1 + pace->writing)) : 0;
}

static double follow(double known, double seen)
{
	if (seen < known)
		return known + (seen - known) * FOLLOW;
	return seen < 2 * known ? seen : 2 * known;
}

void ada_pace_note(struct ada_pace *pace, size_t threads, uint64_t read_ns, uint64_t written_ns, uint64_t released_ns)
{
	if (threads)
		pace->thread_ns = follow(pace->thread_ns, (double)released_ns / (double)threads);
	if (read_ns && written_ns)
		pace->writing = follow(pace->writing, (double)written_ns / (double)read_ns);
}

/* Counting the calls of a packed block as they come out of the decoder: no events are made of what is plain.
 *
 * A plain event begins a call right below the innermost open one, or ends that one, and the decoder knows both: so nothing is compared, and
 * which of the two an event is is asked once. A call and its end that are neighbours are counted at once. Open calls that began in the
 * stretch at hand are frames here; they join the decoder's open calls, and the thread's stack, where the stretch ends. Everything else
 * becomes an event, and goes the way of events: marks, ends of calls from before the stretch, and what the stack doesn't fit.
 *
 * A function's statistics are found by its name in the block.
 */
#include <stdlib.h>
#include "atf/session/thread.h"
#include "query/tally/tally_internal.h"

#define FRAMES 4096 /* 160 KiB of stack, used as deep as calls go */

struct frame { /* that at the bottom is no call's, but for its children_ns and name; depths rise by one */
	uint64_t start_ns;
	uint64_t children_ns; /* of the innermost one: in a variable */
	uintptr_t remembered; /* as of ada_tally_remember */
	uint64_t function;
	uint32_t name;
};

static bool is_call(const uint64_t *kinds, uint32_t at)
{
	return kinds[at / 64] >> at % 64 & 1;
}

/* Whether a call right below the decoder's innermost one lies below the thread's, with depths that fit. */
static bool calls_fit(const struct ada_tally_way *way, const struct atf_pack_decoding *decoding)
{
	const struct ada_calls *calls = &way->tally->calls;
	uint64_t depth = atf_pack_depth_below(decoding);
	int64_t floor = calls->stack.count ? calls->stack.items[calls->stack.count - 1].depth : way->floor;

	return (int64_t)depth > floor && depth < UINT32_MAX - FRAMES;
}

static __attribute__((noinline)) struct ada_function_stats *meet(struct ada_tally *tally, uint32_t name, uint64_t function_id)
{
	struct ada_function_stats *function = ada_tally_find(tally, function_id);

	if (name) /* 0 is that of all functions without one */
		tally->names[name] = function;
	return function;
}

/* The ns that a byte of TIMES stands for. `delta` stays out of memory where they are in the byte. */
static inline int get_delta(struct atf_pack_decoding *decoding, uint8_t byte, uint64_t *delta)
{
	uint64_t longer;
	int status;

	if (byte < ATF_PACK_LONG_2) {
		*delta = byte;
		return 0;
	}
	status = atf_pack_get_long(decoding, byte, &longer);
	*delta = status ? 0 : longer;
	return status;
}

/* A call that lasted as many ns as a byte of TIMES says, and made none. */
static inline void count_short(struct ada_tally *tally, struct ada_function_stats *function, uint64_t ns)
{
	function->total_ns += function->active ? 0 : ns;
	function->self_ns += ns;
	if (ada_histogram_add_at(&function->durations, ns, ada_histogram_short_index(ns)))
		tally->result = -ENOMEM;
}

/* The plain events up to `end` that begin calls, or end those begun here. Leaves `decoding` at the first that is neither, or finds no frame
 * left. 0, or a negative atf_error. What the loop needs at each event is in variables of its own: the compiler can't know that the
 * histograms don't lie over it. */
static int count_frames(struct ada_tally *tally, struct frame *frames, struct frame **top, struct atf_pack_decoding *decoding, uint32_t end)
{
	struct atf_pack_model *model = &decoding->unpacker->model;
	struct ada_function_stats **names = tally->names;
	const uint64_t *kinds = decoding->kinds;
	const uint8_t *times = decoding->times, *ranks = decoding->ranks.at, *const ranks_end = decoding->ranks.end;
	uint32_t before = decoding->before, at = decoding->at, caller = frames->name;
	uint64_t ns = decoding->ns, children_ns = 0, delta;
	struct frame *frame = frames;
	int status = 0;

	for (; at < end; at++) {
		if (is_call(kinds, at)) {
			struct ada_function_stats *function;
			uint32_t name;
			uint8_t rank;

			if (frame == frames + FRAMES - 1)
				break;
			if ((status = get_delta(decoding, times[at], &delta)))
				break;
			ns += delta;
			rank = ranks < ranks_end ? *ranks++ : UINT8_MAX;
			name = atf_pack_get_called(decoding, model, before, caller, rank);
			if (name == ATF_PACK_NO_NAME) {
				status = -ATF_ERROR_CORRUPT;
				break;
			}
			function = names[name];
			if (!function && !(function = meet(tally, name, atf_pack_called(model, rank, name))))
				break;
			if (at + 1 < end && !is_call(kinds, at + 1)) { /* its end: it never becomes a frame */
				if ((status = get_delta(decoding, times[++at], &delta)))
					break;
				if (times[at] < ATF_PACK_LONG_2)
					count_short(tally, function, delta);
				else
					ada_tally_count(tally, (uintptr_t)function | !function->active, delta, 0, false);
				ns += delta;
				children_ns += delta;
				before = name << 1 | 1;
				continue;
			}
			frame->children_ns = children_ns;
			children_ns = 0;
			*++frame = (struct frame){ ns, 0, ada_tally_remember(function), atf_pack_called(model, rank, name), caller = name };
			before = name << 1;
		} else {
			uint64_t duration_ns;

			if (frame == frames)
				break;
			if ((status = get_delta(decoding, times[at], &delta)))
				break;
			ns += delta;
			duration_ns = ns - frame->start_ns;
			ada_tally_function(frame->remembered)->active--;
			ada_tally_count(tally, frame->remembered, duration_ns, children_ns, false);
			before = caller << 1 | 1;
			frame--;
			children_ns = frame->children_ns + duration_ns;
			caller = frame->name;
		}
	}
	frame->children_ns = children_ns;
	atf_pack_decode_pass(decoding, at, before, ns, ranks);
	*top = frame;
	return status;
}

/* The calls of frames that are left are the decoder's and the thread's now. */
static int join_frames(struct ada_tally_way *way, struct atf_pack_decoding *decoding, const struct frame *frames, const struct frame *top)
{
	struct ada_calls *calls = &way->tally->calls;
	uint32_t depth = (uint32_t)atf_pack_depth_below(decoding);
	size_t count = (size_t)(top - frames);

	if (calls->stack.count)
		calls->stack.items[calls->stack.count - 1].children_ns += frames->children_ns;
	else
		way->children_ns += frames->children_ns;
	if (ada_array_reserve(&calls->stack, count) || ada_array_reserve(&decoding->unpacker->frames, count))
		return -ATF_ERROR_MEMORY;
	for (const struct frame *frame = frames + 1; frame <= top; frame++, depth++) {
		decoding->unpacker->frames.items[decoding->unpacker->frames.count++] = (struct atf_pack_open){ frame->function, depth,
													       frame->name };
		calls->stack.items[calls->stack.count++] = (struct ada_call){ .function_id = frame->function,
									      .start_ns = frame->start_ns,
									      .children_ns = frame->children_ns,
									      .losses = calls->losses,
									      .depth = depth,
									      .user = (void *)frame->remembered };
	}
	return 0;
}

static int count_calls(struct ada_tally_way *way, struct atf_pack_decoding *decoding, uint32_t end)
{
	const struct atf_pack_open *open = atf_pack_top_of(decoding);
	struct frame frames[FRAMES], *top;
	int status;

	frames[0].children_ns = 0;
	frames[0].name = open ? open->name : 0;
	status = count_frames(way->tally, frames, &top, decoding, end);
	return status ? status : join_frames(way, decoding, frames, top);
}

/* The ends of calls from before: the innermost ones of decoder and thread, as long as these are the same. */
static int count_older(struct ada_tally_way *way, struct atf_pack_decoding *decoding, uint32_t end)
{
	struct atf_unpacker *unpacker = decoding->unpacker;
	int status = 0;

	while (decoding->at < end && !is_call(decoding->kinds, decoding->at) && unpacker->frames.count && !status) {
		const struct atf_pack_open open = unpacker->frames.items[unpacker->frames.count - 1];
		uint64_t delta = decoding->times[decoding->at];

		if (!ada_tally_is_innermost(way->tally, open.depth, open.function))
			break;
		if (delta >= ATF_PACK_LONG_2)
			status = atf_pack_get_long(decoding, (uint8_t)delta, &delta);
		atf_pack_decode_pass(decoding, decoding->at + 1, open.name << 1 | 1, decoding->ns + delta, decoding->ranks.at);
		ada_tally_end_innermost(way->tally, decoding->ns, &way->children_ns);
		unpacker->frames.count--;
		if (!unpacker->frames.count && !status)
			status = atf_pack_take_outer(decoding);
	}
	return status;
}

/* Those of [from, to), all of them plain. */
static void count_plain_kinds(struct ada_kinds *kinds, const uint64_t *plain, uint32_t from, uint32_t to)
{
	uint64_t calls = 0;
	uint32_t run;

	for (uint32_t at = from; at < to; at += run) {
		uint32_t left = 64 - at % 64;

		run = to - at < left ? to - at : left;
		calls += (uint64_t)__builtin_popcountll(plain[at / 64] >> at % 64 << (64 - run));
	}
	kinds->calls += calls;
	kinds->ends += to - from - calls;
}

/* As many of the next plain events as fit: maybe none. */
static int count_plain(struct ada_tally_way *way, struct atf_pack_decoding *decoding)
{
	uint32_t at, from = decoding->at;
	int status = 0;

	do {
		uint32_t end = decoding->mark_at;

		at = decoding->at;
		if (at == end || way->tally->calls.after_loss)
			break;
		status = atf_pack_next_stretch(decoding);
		if (status)
			break;
		if (decoding->stretch < end - at)
			end = at + decoding->stretch;
		if (!is_call(decoding->kinds, at))
			status = count_older(way, decoding, end);
		else if (calls_fit(way, decoding))
			status = count_calls(way, decoding, end);
	} while (!status && decoding->at > at && !way->tally->result);
	if (decoding->at > from) {
		way->tally->calls.last_ns = decoding->ns;
		if (way->tally->kinds)
			count_plain_kinds(way->tally->kinds, decoding->kinds, from, decoding->at);
	}
	return status;
}

/* Whether a kind means anything to those who count. */
static bool counts(uint32_t kind)
{
	return kind - ADA_EVENT_CALL <= ADA_EVENT_LOST - ADA_EVENT_CALL || kind == ADA_EVENT_RECORDER;
}

/* Returns how many events the way took, all of them unless it refused one. *status as of the decoder. */
static uint32_t count_block(struct ada_tally_way *way, struct atf_pack_decoding *decoding, uint64_t position, int *status)
{
	uint64_t first_ns = 0, last_ns = 0;
	struct ada_event event;

	*status = 0;
	while (decoding->at < decoding->count && !way->tally->result) {
		uint32_t at = decoding->at;

		if (at) /* the first one's time is to be known */
			*status = count_plain(way, decoding);
		if (*status)
			return at;
		if (decoding->at > at) {
			last_ns = decoding->ns;
			continue;
		}
		*status = atf_pack_decode_one(decoding, &event);
		if (*status)
			return at;
		first_ns = at ? first_ns : event.timestamp_ns;
		last_ns = event.timestamp_ns;
		if (counts(event.event_kind) && !way->take(way, &event, position + at))
			return at;
	}
	if (!way->tally->result && !atf_pack_decode_fits(decoding, first_ns, last_ns))
		*status = -ATF_ERROR_CORRUPT;
	return decoding->at;
}

static bool names_ready(struct ada_tally *tally)
{
	if (!tally->names)
		tally->names = calloc(ATF_PACK_NAMES_MAX + 1, sizeof *tally->names);
	return tally->names;
}

bool ada_tally_packed(struct ada_tally_way *way, uint64_t position, uint64_t to, uint64_t *count, uint64_t *done)
{
	struct ada_tally *tally = way->tally;
	struct atf_packed_walk walk;
	int status;

	if (tally->work->by_events || to > tally->to || !atf_thread_walk(tally->thread->events, &walk, position, to - position))
		return false;
	if (!names_ready(tally)) {
		atf_packed_walk_close(&walk);
		return false;
	}
	*count = walk.decoding.count;
	*done = count_block(way, &walk.decoding, position, &status);
	memset(tally->names, 0, (walk.decoding.unpacker->model.names + 1ul) * sizeof *tally->names);
	atf_packed_walk_close(&walk);
	if (status && !tally->result)
		tally->result = status == -ATF_ERROR_MEMORY ? -ENOMEM : -EBADMSG;
	return true;
}

void ada_tally_packed_close(struct ada_tally *tally)
{
	free(tally->names);
	tally->names = NULL;
}

/* Encodes what is no plain call or return: marks, events verbatim, where detail_seq begins and ends, functions that weren't guessed. */
#include "atf/pack/encode.h"

#include <errno.h>

uint8_t *atf_pack_room(struct atf_packer *packer, enum atf_pack_column column, size_t bytes)
{
	if (ada_array_reserve(&packer->columns[column], bytes))
		return NULL;
	return packer->columns[column].items + packer->columns[column].count;
}

void atf_pack_filled(struct atf_packer *packer, enum atf_pack_column column, const uint8_t *end)
{
	packer->columns[column].count = (size_t)(end - packer->columns[column].items);
}

uint32_t atf_pack_put_name(struct atf_pack_encoding *encoding, uint16_t *guess, uint64_t function)
{
	struct atf_pack_model *model = &encoding->packer->model;
	uint32_t name = atf_pack_model_find(model, function);

	if (name) {
		*encoding->ranks++ = ATF_PACK_RANK_KNOWN;
		*encoding->names++ = (uint8_t)name;
		*encoding->names++ = (uint8_t)(name >> 8);
	} else {
		*encoding->ranks++ = ATF_PACK_RANK_NEW;
		encoding->names = atf_pack_put(encoding->names, atf_pack_fold(function - model->new_function));
		model->new_function = function;
		name = atf_pack_model_name(model, function);
	}
	guess[ATF_PACK_WAYS - 1] = (uint16_t)name;
	return name;
}

/* --- detail_seq --- */

int atf_pack_details_end(struct atf_pack_encoding *encoding)
{
	uint8_t *at;

	if (!encoding->step)
		return 0;
	at = atf_pack_room(encoding->packer, ATF_PACK_DETAILS, 3 * ATF_PACK_VARINT_BYTES);
	if (!at)
		return -ENOMEM;
	at = atf_pack_put(at, encoding->run_at - encoding->run_end);
	at = atf_pack_put(at, atf_pack_fold((uint64_t)encoding->run_first - encoding->expected));
	at = atf_pack_put(at, encoding->counted - encoding->run_at);
	atf_pack_filled(encoding->packer, ATF_PACK_DETAILS, at);
	encoding->run_end = encoding->counted;
	encoding->expected = (uint32_t)(encoding->detail >> 32);
	encoding->step = 0;
	return 0;
}

/* The next call or end has this detail_seq. */
static int detail_change(struct atf_pack_encoding *encoding, uint32_t detail_seq)
{
	int status;

	if (detail_seq == (uint32_t)(encoding->detail >> 32))
		return 0;
	status = atf_pack_details_end(encoding);
	encoding->detail = (uint64_t)detail_seq << 32;
	if (detail_seq != ADA_NO_DETAIL) {
		encoding->step = 1ull << 32;
		encoding->run_first = detail_seq;
		encoding->run_at = encoding->counted;
	}
	return status;
}

/* --- marks --- */

/* Begins a mark; room for three numbers more. */
static uint8_t *mark(struct atf_pack_encoding *encoding, unsigned int code)
{
	uint8_t *at = atf_pack_room(encoding->packer, ATF_PACK_MARKS, 5 * ATF_PACK_VARINT_BYTES);

	if (!at)
		return NULL;
	at = atf_pack_put(at, encoding->at - encoding->mark_at);
	encoding->mark_at = encoding->at + 1;
	*at++ = (uint8_t)code;
	return at;
}

static int put_verbatim(struct atf_pack_encoding *encoding, const struct ada_event *event)
{
	uint8_t *at = mark(encoding, ATF_PACK_MARK_VERBATIM);

	if (!at)
		return -ENOMEM;
	atf_pack_filled(encoding->packer, ATF_PACK_MARKS, at);
	at = atf_pack_room(encoding->packer, ATF_PACK_VERBATIM, sizeof *event);
	if (!at)
		return -ENOMEM;
	memcpy(at, event, sizeof *event);
	atf_pack_filled(encoding->packer, ATF_PACK_VERBATIM, at + sizeof *event);
	return 0;
}

static int put_call(struct atf_pack_encoding *encoding, const struct ada_event *event)
{
	struct atf_pack_lane *lane = encoding->lane;
	size_t left = atf_pack_lane_below(lane, event->call_depth);
	uint32_t gap = event->call_depth - (left ? lane->frames.items[left - 1].depth + 1 : 0), name;
	uint8_t *at;

	if (left == lane->frames.count && !gap) {
		encoding->bits |= 1ull << encoding->at % 64;
	} else {
		at = mark(encoding, ATF_PACK_MARK_CALL);
		if (!at)
			return -ENOMEM;
		at = atf_pack_put(at, lane->frames.count - left);
		atf_pack_filled(encoding->packer, ATF_PACK_MARKS, atf_pack_put(at, gap));
	}
	name = atf_pack_put_function(encoding, encoding->before, atf_pack_caller_of(encoding, left), event->function_id);
	encoding->before = name << 1;
	if (atf_pack_lane_feed(lane, event, encoding->at))
		return -ENOMEM;
	lane->frames.items[lane->frames.count - 1].name = (uint16_t)name;
	return 0;
}

/* The end of a call: of the innermost one, or of one around it. False: of none. */
static int put_end(struct atf_pack_encoding *encoding, const struct ada_event *event, size_t left)
{
	struct atf_pack_lane *lane = encoding->lane;

	if (left + 1 < lane->frames.count || event->event_kind != ADA_EVENT_RETURN) {
		uint8_t *at = mark(encoding, event->event_kind);

		if (!at)
			return -ENOMEM;
		atf_pack_filled(encoding->packer, ATF_PACK_MARKS, atf_pack_put(at, lane->frames.count - 1 - left));
	}
	encoding->before = atf_pack_name_of(encoding, left) << 1 | 1;
	encoding->ended = lane->frames.items[left];
	encoding->ended_around = (uint32_t)left;
	return atf_pack_lane_feed(lane, event, encoding->at);
}

static uint8_t *put_value(uint8_t *at, uint64_t *recent, uint64_t value, unsigned int depth_mode)
{
	unsigned int place = 0;

	while (place < ATF_PACK_RECENT && recent[place] != value)
		place++;
	*at++ = (uint8_t)(place | depth_mode << ATF_PACK_VALUE_BITS);
	if (place == ATF_PACK_VALUE_NEW)
		at = atf_pack_put(at, atf_pack_fold(value - recent[0]));
	atf_pack_recent_front(recent, place < ATF_PACK_RECENT ? place : ATF_PACK_RECENT - 1, value);
	return at;
}

/* An event that is neither call nor end, without detail. */
static int put_other(struct atf_pack_encoding *encoding, const struct ada_event *event)
{
	const struct atf_pack_lane *lane = encoding->lane;
	uint32_t below = lane->frames.count ? lane->frames.items[lane->frames.count - 1].depth + 1 : 0;
	unsigned int mode = ATF_PACK_DEPTH_GIVEN;
	uint8_t *at = mark(encoding, event->event_kind);

	if (!at)
		return -ENOMEM;
	if (below && event->call_depth == below - 1)
		mode = ATF_PACK_DEPTH_OF_CALL;
	else if (event->call_depth == below)
		mode = ATF_PACK_DEPTH_BELOW;
	at = put_value(at, encoding->packer->model.recent[event->event_kind % ATF_PACK_RECENT_KINDS], event->function_id, mode);
	if (mode == ATF_PACK_DEPTH_GIVEN)
		at = atf_pack_put(at, event->call_depth);
	atf_pack_filled(encoding->packer, ATF_PACK_MARKS, at);
	return atf_pack_lane_feed(encoding->lane, event, encoding->at);
}

static bool is_call_or_end(const struct ada_event *event)
{
	return event->event_kind >= ADA_EVENT_CALL && event->event_kind <= ADA_EVENT_EXCEPTION;
}

static int put_event(struct atf_pack_encoding *encoding, const struct ada_event *event)
{
	bool counts = is_call_or_end(event);
	size_t left = 0;
	int status;

	if (event->thread_id != encoding->lane->thread_id || (counts && event->call_depth == UINT32_MAX) ||
	    (counts && event->event_kind != ADA_EVENT_CALL && !atf_pack_lane_finds(encoding->lane, event, &left)) ||
	    (!counts && (!event->event_kind || event->event_kind > ATF_PACK_MARK_KIND_MAX || event->detail_seq != ADA_NO_DETAIL))) {
		status = put_verbatim(encoding, event);
		if (!status)
			status = atf_pack_lane_feed(encoding->lane, event, encoding->at);
		/* A call that a strange event begins has no name. */
		encoding->before = 0;
		encoding->others += !counts;
		return status;
	}
	if (!counts) {
		encoding->others++;
		return put_other(encoding, event);
	}
	status = detail_change(encoding, event->detail_seq);
	if (!status)
		status = event->event_kind == ADA_EVENT_CALL ? put_call(encoding, event) : put_end(encoding, event, left);
	encoding->detail += encoding->step;
	encoding->counted++;
	return status;
}

/* Of the calls with the fewest around them: fewer than before by `steps`. */
static void longest_lower(struct atf_pack_encoding *encoding, uint32_t steps)
{
	steps = steps < ATF_PACK_LONGEST ? steps : ATF_PACK_LONGEST;
	memmove(encoding->longest + steps, encoding->longest, (ATF_PACK_LONGEST - steps) * sizeof *encoding->longest);
	memset(encoding->longest, 0, steps * sizeof *encoding->longest);
}

/* undo.low fell to `low`. Calls from there up to `end` that are open, and the innermost around them, were open when the block began: they have
 * names only if they were among the innermost then, and what their names were in earlier blocks is nothing here. */
static void lowered(struct atf_pack_encoding *encoding, uint32_t before, uint32_t low, uint32_t end)
{
	longest_lower(encoding, before - low);
	for (uint32_t i = low ? low - 1 : 0; i < end && i < encoding->floor; i++)
		encoding->lane->frames.items[i].name = 0;
}

int atf_pack_encode_lower(struct atf_pack_encoding *encoding, size_t count)
{
	struct atf_pack_lane *lane = encoding->lane;

	lowered(encoding, lane->undo.low, (uint32_t)count, (uint32_t)count);
	return atf_pack_undo_lower(lane, count);
}

/* Keeps the header's sums right where events are anything but plain. */
int atf_pack_encode_odd(struct atf_pack_encoding *encoding, const struct ada_event *event)
{
	struct atf_pack_lane *lane = encoding->lane;
	bool busy = lane->frames.count;
	uint32_t low = lane->undo.low;
	int status;

	encoding->ended_around = UINT32_MAX;
	status = put_event(encoding, event);
	if (lane->frames.count > encoding->deepest)
		encoding->deepest = (uint32_t)lane->frames.count;
	if (!busy && lane->frames.count)
		encoding->busy_from_ns = event->timestamp_ns;
	if (busy && !lane->frames.count)
		encoding->busy_ns += event->timestamp_ns - encoding->busy_from_ns;
	if (lane->undo.low < low)
		lowered(encoding, low, lane->undo.low, event->event_kind == ADA_EVENT_LOST ? low : lane->undo.low);
	if (encoding->ended_around != UINT32_MAX)
		atf_pack_count_end(encoding, encoding->ended_around - lane->undo.low, &encoding->ended,
				   event->timestamp_ns - encoding->ended.start_ns);
	return status;
}

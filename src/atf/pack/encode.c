/* Encodes a block: one pass over its events.
 *
 * Hot: 7 ns an event. A plain call or return of the innermost open call is what two comparisons of 8 bytes say; whatever else takes
 * atf_pack_encode_odd, which may find that an event is plain nevertheless (behind a loss, where detail begins or ends).
 */
#include "atf/pack/encode.h"

#include <errno.h>

#define NO_DETAIL ((uint64_t)ADA_NO_DETAIL << 32)

/* --- what is plain --- */

static inline uint8_t atf_pack_put_long(struct atf_pack_encoding *encoding, uint64_t delta)
{
	unsigned int code = delta <= UINT16_MAX ? 0 : delta <= UINT32_MAX ? 1 : 2;

	memcpy(encoding->longs, &delta, sizeof delta);
	encoding->longs += 2u << code;
	return (uint8_t)(ATF_PACK_LONG_2 + code);
}

static inline uint64_t load64(const void *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof value);
	return value;
}

static __attribute__((noinline)) int more_frames(struct atf_pack_lane *lane, size_t count)
{
	lane->frames.count = count;
	return ada_array_reserve(&lane->frames, 1);
}

/* Encodes plain events from encoding->at on, up to the first that isn't, or `count`. `last_ns`: time of the event before. 0 or -ENOMEM. */
static int encode_plain(struct atf_pack_encoding *encoding, uint32_t count, uint64_t last_ns)
{
	struct atf_pack_lane *lane = encoding->lane;
	const uint64_t call = lane->thread_id | (uint64_t)ADA_EVENT_CALL << 32, end = lane->thread_id | (uint64_t)ADA_EVENT_RETURN << 32;
	uint64_t *kinds = (uint64_t *)encoding->packer->columns[ATF_PACK_KINDS].items, bits = encoding->bits;
	const uint64_t step = encoding->step;
	uint8_t *times = encoding->packer->columns[ATF_PACK_TIMES].items;
	size_t open = lane->frames.count;
	uint32_t before = encoding->before, caller = atf_pack_caller_of(encoding, open), i = encoding->at, from = i;
	/* Depth and detail_seq of a call that is plain. */
	uint64_t where = encoding->detail + (open ? lane->frames.items[open - 1].depth + 1 : 0);
	int status = 0;

	for (; i < count; i++) {
		const struct ada_event *event = &encoding->events[i];
		uint64_t who = load64(&event->thread_id), ns = event->timestamp_ns;

		if (who == call && load64(&event->call_depth) == where) {
			if (open == lane->frames.capacity && (status = more_frames(lane, open)))
				break;
			caller = atf_pack_put_function(encoding, before, caller, event->function_id);
			before = caller << 1;
			lane->frames.items[open] = (struct atf_pack_frame){ .function_id = event->function_id,
									    .start_ns = ns,
									    .position = lane->position + i,
									    .depth = (uint32_t)where,
									    .name = (uint16_t)caller };
			if (!open)
				encoding->busy_from_ns = ns;
			if (++open > encoding->deepest)
				encoding->deepest = (uint32_t)open;
			bits |= 1ull << i % 64;
			where++;
		} else if (who == end && open && load64(&event->call_depth) == where - 1 &&
			   lane->frames.items[open - 1].function_id == event->function_id) {
			const struct atf_pack_frame *frame = &lane->frames.items[--open];

			if (open < lane->undo.low && (status = atf_pack_encode_lower(encoding, open)))
				break;
			before = caller << 1 | 1;
			atf_pack_count_end(encoding, (uint32_t)open - lane->undo.low, frame, ns - frame->start_ns);
			where -= (uint32_t)where;
			caller = 0;
			if (open) {
				lane->frames.items[open - 1].children_ns += ns - frame->start_ns;
				caller = lane->frames.items[open - 1].name;
				where += lane->frames.items[open - 1].depth + 1;
			} else {
				encoding->busy_ns += ns - encoding->busy_from_ns;
			}
		} else {
			break;
		}
		where += step;
		times[i] = ns - last_ns < ATF_PACK_LONG_2 ? (uint8_t)(ns - last_ns) : atf_pack_put_long(encoding, ns - last_ns);
		last_ns = ns;
		if (i % 64 == 63) {
			kinds[i / 64] = bits;
			bits = 0;
		}
	}
	lane->frames.count = open;
	lane->last_ns = i > from ? last_ns : lane->last_ns;
	encoding->before = before;
	encoding->bits = bits;
	encoding->detail = where >> 32 << 32;
	encoding->counted += i - from;
	encoding->at = i;
	return status;
}

static int encode_events(struct atf_pack_encoding *encoding, uint32_t count)
{
	uint64_t *kinds = (uint64_t *)encoding->packer->columns[ATF_PACK_KINDS].items, last_ns = encoding->events[0].timestamp_ns;
	uint8_t *times = encoding->packer->columns[ATF_PACK_TIMES].items;
	int status = 0;

	while (encoding->at < count && !status) {
		const struct ada_event *event = &encoding->events[encoding->at];

		if (!encoding->lane->after_loss) {
			status = encode_plain(encoding, count, last_ns);
			if (status || encoding->at == count)
				break;
			event = &encoding->events[encoding->at];
			if (encoding->at)
				last_ns = event[-1].timestamp_ns;
		}
		times[encoding->at] = event->timestamp_ns - last_ns < ATF_PACK_LONG_2 ?
					      (uint8_t)(event->timestamp_ns - last_ns) :
					      atf_pack_put_long(encoding, event->timestamp_ns - last_ns);
		last_ns = event->timestamp_ns;
		status = atf_pack_encode_odd(encoding, event);
		if (encoding->at % 64 == 63) {
			kinds[encoding->at / 64] = encoding->bits;
			encoding->bits = 0;
		}
		encoding->at++;
	}
	if (count % 64)
		kinds[count / 64] = encoding->bits;
	return status ? status : atf_pack_details_end(encoding);
}

/* --- a block ------------------------------------------------------------------------------------------------------------ */

/* Room for all that `count` events can fill; marks, verbatim events and details grow as they come. */
static int begin(struct atf_pack_encoding *encoding, uint32_t count)
{
	struct atf_packer *packer = encoding->packer;
	struct atf_pack_lane *lane = encoding->lane;
	size_t open = lane->frames.count;

	for (unsigned int i = 0; i < ATF_PACK_COLUMNS; i++)
		packer->columns[i].count = 0;
	if (!atf_pack_room(packer, ATF_PACK_KINDS, ((size_t)count + 63) / 64 * 8) || !atf_pack_room(packer, ATF_PACK_TIMES, count) ||
	    !(encoding->longs = atf_pack_room(packer, ATF_PACK_LONGS, 8 * (size_t)count)) ||
	    !(encoding->ranks = atf_pack_room(packer, ATF_PACK_RANKS, count)) ||
	    !(encoding->names = atf_pack_room(packer, ATF_PACK_NAMES, ATF_PACK_VARINT_BYTES * (size_t)count)))
		return -ENOMEM;
	atf_pack_model_begin(&packer->model);
	encoding->floor = open > ATF_PACK_NAMED_OPEN ? (uint32_t)(open - ATF_PACK_NAMED_OPEN) : 0;
	for (size_t i = encoding->floor; i < open; i++)
		lane->frames.items[i].name = (uint16_t)atf_pack_model_name(&packer->model, lane->frames.items[i].function_id);
	encoding->detail = NO_DETAIL;
	encoding->deepest = (uint32_t)open;
	encoding->busy_from_ns = encoding->events[0].timestamp_ns;
	return 0;
}

static void fill_head(const struct atf_pack_encoding *encoding, uint32_t count)
{
	const struct atf_pack_lane *lane = encoding->lane;
	AtfPackBlock *head = &encoding->packer->head;
	uint64_t last_ns = encoding->events[count - 1].timestamp_ns;

	head->event_count = count;
	head->first_seq = lane->first_seq;
	head->last_ns = last_ns;
	head->busy_ns = encoding->busy_ns + (lane->frames.count ? last_ns - encoding->busy_from_ns : 0);
	head->kept_count = lane->undo.low;
	head->deepest = encoding->deepest;
	head->others = encoding->others;
	memcpy(head->longest, encoding->longest, sizeof head->longest);
	head->flags |= ATF_PACK_SUMMED;
	head->events_sum = atf_pack_sum(encoding->events, count);
}

int atf_pack_encode(struct atf_packer *packer, struct atf_pack_lane *lane, const struct ada_event *events, uint32_t count,
		    enum atf_pack_how how, struct atf_pack_bytes *block)
{
	struct atf_pack_encoding encoding = { .packer = packer, .lane = lane, .events = events };

	if (lane->undo.event_count)
		atf_pack_undo(lane);
	lane->undo.event_count = 0;
	packer->head = (AtfPackBlock){ .first_ns = events->timestamp_ns };
	if (atf_pack_open_write(packer, lane) || begin(&encoding, count) || atf_pack_undo_begin(lane))
		return -ATF_ERROR_MEMORY;
	lane->undo.event_count = count;
	if (encode_events(&encoding, count))
		return -ATF_ERROR_MEMORY;
	packer->columns[ATF_PACK_KINDS].count = ((size_t)count + 63) / 64 * 8;
	packer->columns[ATF_PACK_TIMES].count = count;
	atf_pack_filled(packer, ATF_PACK_LONGS, encoding.longs);
	atf_pack_filled(packer, ATF_PACK_RANKS, encoding.ranks);
	atf_pack_filled(packer, ATF_PACK_NAMES, encoding.names);
	fill_head(&encoding, count);
	return atf_pack_assemble(packer, how, block);
}

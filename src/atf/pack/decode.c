/* Decodes a block into events: what encode.c did, undone.
 *
 * Whatever the bytes say, nothing is read or written outside of the columns and the events, and nothing is reserved that the columns don't
 * bear out: a call is a byte at least, and open calls are the lane's.
 */
#include "atf/pack/decode.h"

static int get_time(struct atf_pack_decoding *decoding, uint32_t at)
{
	uint64_t delta = decoding->times[at];
	int status = delta < ATF_PACK_LONG_2 ? 0 : atf_pack_get_long(decoding, (uint8_t)delta, &delta);

	decoding->ns += delta;
	return status;
}

/* --- what is plain -------------------------------------------------------------------------------------------------------- */

static inline void put_event(struct ada_event *event, uint64_t ns, uint64_t function, uint64_t who, uint64_t where)
{
	const uint64_t words[] = { ns, function, who, where };

	memcpy(event, words, sizeof words);
}

/* All frames are in use: a place behind them, or NULL. */
static __attribute__((noinline)) struct atf_pack_open *more_frames(struct atf_unpacker *unpacker)
{
	unpacker->frames.count = unpacker->frames.capacity;
	return ada_array_reserve(&unpacker->frames, 1) ? NULL : unpacker->frames.items + unpacker->frames.count;
}

/* The plain events up to `end`, all in one stretch of detail_seq. What the loop needs at each event is in variables of its own: the compiler
 * can't know that the events don't lie over the columns. */
static int get_plain(struct atf_pack_decoding *decoding, struct ada_event *event, uint32_t end)
{
	struct atf_unpacker *unpacker = decoding->unpacker;
	struct atf_pack_model *model = &unpacker->model;
	const uint64_t thread_id = decoding->lane->thread_id, step = (uint64_t)decoding->step << 32, *kinds = decoding->kinds;
	const uint8_t *times = decoding->times, *ranks = decoding->ranks.at, *const ranks_end = decoding->ranks.end;
	const struct atf_pack_open *top = atf_pack_top_of(decoding);
	uint32_t caller = top ? top->name : 0, before = decoding->before, at = decoding->at;
	uint64_t where = (uint64_t)decoding->detail << 32, depth = atf_pack_depth_below(decoding), ns = decoding->ns;
	struct atf_pack_open *frame = unpacker->frames.items + unpacker->frames.count; /* behind the innermost */
	int status = 0;

	for (; at < end; at++, event++) {
		uint64_t delta = times[at];

		if (delta >= ATF_PACK_LONG_2 && (status = atf_pack_get_long(decoding, (uint8_t)delta, &delta)))
			break;
		ns += delta;
		if (kinds[at / 64] >> at % 64 & 1) {
			uint8_t rank;

			if (ranks == ranks_end || depth >= UINT32_MAX) {
				status = -ATF_ERROR_CORRUPT;
				break;
			}
			rank = *ranks++;
			caller = atf_pack_get_called(decoding, model, before, caller, rank);
			if (caller == ATF_PACK_NO_NAME ||
			    (frame == unpacker->frames.items + unpacker->frames.capacity && !(frame = more_frames(unpacker)))) {
				status = caller == ATF_PACK_NO_NAME ? -ATF_ERROR_CORRUPT : -ATF_ERROR_MEMORY;
				break;
			}
			*frame = (struct atf_pack_open){ atf_pack_called(model, rank, caller), (uint32_t)depth, caller };
			put_event(event, ns, frame++->function, thread_id | (uint64_t)ADA_EVENT_CALL << 32, where | depth++);
			before = caller << 1;
		} else {
			if (frame == unpacker->frames.items) {
				status = -ATF_ERROR_CORRUPT;
				break;
			}
			frame--;
			put_event(event, ns, frame->function, thread_id | (uint64_t)ADA_EVENT_RETURN << 32, where | frame->depth);
			before = caller << 1 | 1;
			if (frame == unpacker->frames.items) {
				unpacker->frames.count = 0;
				if ((status = atf_pack_take_outer(decoding)))
					break;
				frame = unpacker->frames.items + unpacker->frames.count;
			}
			depth = frame == unpacker->frames.items ? 0 : frame[-1].depth + 1ull;
			caller = frame == unpacker->frames.items ? 0 : frame[-1].name;
		}
		where += step;
	}
	unpacker->frames.count = frame ? (size_t)(frame - unpacker->frames.items) : 0;
	atf_pack_decode_pass(decoding, at, before, ns, ranks);
	return status;
}

/* The next events, plain ones as many as lie together, the first of them at `event`. */
static int get_some(struct atf_pack_decoding *decoding, struct ada_event *event, uint32_t most)
{
	uint32_t plain = decoding->mark_at - decoding->at;
	int status;

	if (plain) {
		status = atf_pack_next_stretch(decoding);
		plain = plain < most ? plain : most;
		return status ? status : get_plain(decoding, event, decoding->at + (plain < decoding->stretch ? plain : decoding->stretch));
	}
	status = get_time(decoding, decoding->at);
	if (!status)
		status = atf_pack_get_marked(decoding, event);
	decoding->at++;
	return status ? status : atf_pack_next_mark(decoding);
}

int atf_pack_decode_begin(struct atf_pack_decoding *decoding, struct atf_unpacker *unpacker, const struct atf_pack_lane *lane,
			  const uint8_t *block)
{
	AtfPackBlock head;
	int status;

	memcpy(&head, block, sizeof head);
	*decoding = (struct atf_pack_decoding){ .unpacker = unpacker,
						.lane = lane,
						.count = head.event_count,
						.ns = head.first_ns,
						.first_ns = head.first_ns,
						.last_ns = head.last_ns,
						.after_loss = lane->after_loss,
						.outer = lane->frames.count };
	decoding->floor = lane->frames.count > ATF_PACK_NAMED_OPEN ? (uint32_t)(lane->frames.count - ATF_PACK_NAMED_OPEN) : 0;
	unpacker->frames.count = 0;
	if (ada_array_reserve(&unpacker->frames, 1))
		return -ATF_ERROR_MEMORY;
	atf_pack_model_begin(&unpacker->model);
	status = atf_pack_columns_load(decoding, block, &head);
	if (!status)
		status = atf_pack_take_outer(decoding);
	return status ? status : atf_pack_next_mark(decoding);
}

int atf_pack_decode_one(struct atf_pack_decoding *decoding, struct ada_event *event)
{
	return get_some(decoding, event, 1);
}

/* The columns held just these events. */
bool atf_pack_decode_fits(const struct atf_pack_decoding *decoding, uint64_t first_ns, uint64_t last_ns)
{
	const struct atf_pack_reader *readers[] = { &decoding->longs, &decoding->ranks,	   &decoding->names,
						    &decoding->marks, &decoding->verbatim, &decoding->details };

	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
		if (readers[i]->at != readers[i]->end || readers[i]->bad)
			return false;
	return first_ns == decoding->first_ns && last_ns == decoding->last_ns;
}

int atf_unpack_events(struct atf_unpacker *unpacker, const struct atf_pack_lane *lane, const uint8_t *block, struct ada_event *events)
{
	struct atf_pack_decoding decoding;
	int status = atf_pack_decode_begin(&decoding, unpacker, lane, block);

	while (!status && decoding.at < decoding.count)
		status = get_some(&decoding, events + decoding.at, decoding.count);
	if (!status && !atf_pack_decode_fits(&decoding, events[0].timestamp_ns, events[decoding.count - 1].timestamp_ns))
		status = -ATF_ERROR_CORRUPT;
	return status;
}

/* Decodes what is no plain call or return: marks. And keeps the open calls that the block's own lie on. */
#include "atf/pack/decode.h"

#define TAKEN 1024 /* frames taken from the lane at a time */

/* --- open calls --------------------------------------------------------------------------------------------------------- */

int atf_pack_take_outer(struct atf_pack_decoding *decoding)
{
	size_t count = decoding->outer < TAKEN ? decoding->outer : TAKEN;
	struct atf_unpacker *unpacker = decoding->unpacker;

	if (unpacker->frames.count || !count)
		return 0;
	if (ada_array_reserve(&unpacker->frames, count))
		return -ATF_ERROR_MEMORY;
	decoding->outer -= count;
	for (size_t i = decoding->outer; i < decoding->outer + count; i++) {
		const struct atf_pack_frame *frame = &decoding->lane->frames.items[i];
		uint32_t name = i >= decoding->floor ? atf_pack_model_name(&unpacker->model, frame->function_id) : 0;

		unpacker->frames.items[unpacker->frames.count++] = (struct atf_pack_open){ frame->function_id, frame->depth, name };
	}
	return 0;
}

static int pop(struct atf_pack_decoding *decoding)
{
	if (!decoding->unpacker->frames.count)
		return -ATF_ERROR_CORRUPT;
	decoding->unpacker->frames.count--;
	return atf_pack_take_outer(decoding);
}

static int push(struct atf_pack_decoding *decoding, uint64_t function, uint64_t depth, uint32_t name)
{
	if (depth >= UINT32_MAX)
		return -ATF_ERROR_CORRUPT;
	return ada_array_push(&decoding->unpacker->frames, ((struct atf_pack_open){ function, (uint32_t)depth, name })) ?
		       -ATF_ERROR_MEMORY :
		       0;
}

/* --- marks -------------------------------------------------------------------------------------------------------------- */

static int pop_many(struct atf_pack_decoding *decoding, uint64_t count)
{
	int status = 0;

	while (count-- && !status)
		status = pop(decoding);
	return status;
}

/* Whether `event` ends the innermost of the calls that are as deep. *above: calls that are deeper or, where it ends none, as deep. */
static bool finds(struct atf_pack_decoding *decoding, const struct ada_event *event, uint64_t *above)
{
	const struct atf_pack_open *frames = decoding->unpacker->frames.items;
	const struct atf_pack_frame *outer = decoding->lane->frames.items;
	size_t count = decoding->unpacker->frames.count, all = count;

	while (count && frames[count - 1].depth >= event->call_depth)
		count--;
	*above = all - count;
	if (count || !decoding->outer || outer[decoding->outer - 1].depth < event->call_depth)
		return *above && frames[count].depth == event->call_depth && frames[count].function == event->function_id;
	for (count = decoding->outer; count && outer[count - 1].depth >= event->call_depth;)
		count--;
	*above += decoding->outer - count;
	return outer[count].depth == event->call_depth && outer[count].function_id == event->function_id;
}

/* What a strange event does to the open calls: as atf_pack_lane_feed. */
static int apply_verbatim(struct atf_pack_decoding *decoding, const struct ada_event *event)
{
	uint64_t above;
	bool found;
	int status = 0;

	if (event->event_kind < ADA_EVENT_CALL || event->event_kind > ADA_EVENT_LOST)
		return 0;
	found = finds(decoding, event, &above);
	if (event->event_kind == ADA_EVENT_CALL) {
		status = pop_many(decoding, above);
		if (!status && event->call_depth < UINT32_MAX)
			status = push(decoding, event->function_id, event->call_depth, 0);
	} else if (event->event_kind != ADA_EVENT_LOST && (found || decoding->after_loss)) {
		status = pop_many(decoding, above);
	}
	decoding->after_loss = event->event_kind == ADA_EVENT_LOST;
	return status;
}

static int get_verbatim(struct atf_pack_decoding *decoding, struct ada_event *event)
{
	if ((size_t)(decoding->verbatim.end - decoding->verbatim.at) < sizeof *event)
		return -ATF_ERROR_CORRUPT;
	memcpy(event, decoding->verbatim.at, sizeof *event);
	decoding->verbatim.at += sizeof *event;
	decoding->before = 0;
	return apply_verbatim(decoding, event);
}

static int get_other(struct atf_pack_decoding *decoding, struct ada_event *event)
{
	uint64_t *recent = decoding->unpacker->model.recent[event->event_kind % ATF_PACK_RECENT_KINDS];
	uint8_t how = atf_pack_get_byte(&decoding->marks);
	unsigned int place = how % (1u << ATF_PACK_VALUE_BITS);
	uint64_t depth = atf_pack_depth_below(decoding);

	if (place < ATF_PACK_RECENT)
		event->function_id = recent[place];
	else if (place == ATF_PACK_VALUE_NEW)
		event->function_id = recent[0] + atf_pack_unfold(atf_pack_get(&decoding->marks));
	else
		return -ATF_ERROR_CORRUPT;
	atf_pack_recent_front(recent, place < ATF_PACK_RECENT ? place : ATF_PACK_RECENT - 1, event->function_id);
	switch (how >> ATF_PACK_VALUE_BITS) {
	case ATF_PACK_DEPTH_OF_CALL: depth--; break;
	case ATF_PACK_DEPTH_BELOW: break;
	case ATF_PACK_DEPTH_GIVEN: depth = atf_pack_get(&decoding->marks); break;
	default: return -ATF_ERROR_CORRUPT;
	}
	if (depth > UINT32_MAX)
		return -ATF_ERROR_CORRUPT;
	event->call_depth = (uint32_t)depth;
	event->detail_seq = ADA_NO_DETAIL;
	if (event->event_kind == ADA_EVENT_LOST)
		decoding->after_loss = true;
	return 0;
}

static int get_call(struct atf_pack_decoding *decoding, struct ada_event *event)
{
	uint64_t levels = atf_pack_get(&decoding->marks), depth = atf_pack_get(&decoding->marks);
	struct atf_pack_model *model = &decoding->unpacker->model;
	const struct atf_pack_open *top;
	int status = pop_many(decoding, decoding->marks.bad ? 0 : levels);
	uint32_t name;
	uint8_t rank;

	if (status)
		return status;
	top = atf_pack_top_of(decoding);
	if (decoding->ranks.at == decoding->ranks.end)
		return -ATF_ERROR_CORRUPT;
	rank = *decoding->ranks.at++;
	name = atf_pack_get_called(decoding, model, decoding->before, top ? top->name : 0, rank);
	if (name == ATF_PACK_NO_NAME || depth > UINT32_MAX)
		return -ATF_ERROR_CORRUPT;
	event->function_id = atf_pack_called(model, rank, name);
	depth += atf_pack_depth_below(decoding);
	status = push(decoding, event->function_id, depth, name);
	event->call_depth = (uint32_t)depth;
	decoding->before = name << 1;
	return status;
}

static int get_end(struct atf_pack_decoding *decoding, struct ada_event *event)
{
	uint64_t levels = atf_pack_get(&decoding->marks);
	const struct atf_pack_open *frame;
	int status = pop_many(decoding, decoding->marks.bad ? 0 : levels);

	frame = atf_pack_top_of(decoding);
	if (status || !frame)
		return -ATF_ERROR_CORRUPT;
	event->function_id = frame->function;
	event->call_depth = frame->depth;
	decoding->before = frame->name << 1 | 1;
	return pop(decoding);
}

int atf_pack_get_marked(struct atf_pack_decoding *decoding, struct ada_event *event)
{
	uint8_t code = atf_pack_get_byte(&decoding->marks);
	int status = decoding->marks.bad ? -ATF_ERROR_CORRUPT : 0;

	if (status || code == ATF_PACK_MARK_VERBATIM)
		return status ? status : get_verbatim(decoding, event);
	*event = (struct ada_event){ .timestamp_ns = decoding->ns, .thread_id = decoding->lane->thread_id, .event_kind = code };
	if (code > ATF_PACK_MARK_EXCEPTION)
		return get_other(decoding, event);
	status = atf_pack_next_stretch(decoding);
	if (!status)
		status = code == ATF_PACK_MARK_CALL ? get_call(decoding, event) : get_end(decoding, event);
	event->detail_seq = decoding->detail;
	decoding->detail += decoding->step;
	decoding->stretch--;
	decoding->after_loss = false;
	return decoding->marks.bad ? -ATF_ERROR_CORRUPT : status;
}

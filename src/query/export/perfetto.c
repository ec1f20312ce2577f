/* Perfetto's protobuf: a sequence of packets a thread, whose slices begin and end as its calls do. A sequence tells each name, category
 * and source line once and then refers to it by number. Written packet by packet.
 *
 * A call without a known end, or one that continues on another stack of its thread (calls.h: aside), ends where it was seen last, with
 * the outcome "left"; if its real end comes after all, an instant has its whole duration. */
#include "query/export/perfetto.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "query/export/walk.h"
#include "query/session/source.h"

static int take_thread(void *context, const struct ada_export_thread *thread)
{
	struct ada_perfetto *perfetto = context;
	int result = 0;

	if (thread->thread->process != perfetto->process) {
		result = ada_perfetto_end_process(perfetto);
		if (!result)
			result = ada_perfetto_begin_process(perfetto, thread->thread->process);
	}
	perfetto->thread = thread->thread;
	perfetto->sequence = PROCESS_SEQUENCE + 1 + (uint32_t)thread->number;
	perfetto->now_ns = thread->from_ns;
	perfetto->window = perfetto->process->first_window;
	if (!result)
		result = ada_perfetto_begin_thread(perfetto);
	return result ? result : ada_perfetto_cpu(perfetto);
}

static int take_event(void *context, const struct ada_event *event)
{
	struct ada_perfetto *perfetto = context;

	ada_export_rates_count(&perfetto->rates, event);
	return 0;
}

/* --- names ------------------------------------------------------------------------------------------------------------ */

struct named { /* the function of the event that is being written */
	const struct ada_name *name;
	const struct ada_export_text *text;
	struct ada_perfetto_function *function;
	uint64_t name_iid, category_iid;
	bool located;
};

static int find_function(struct ada_perfetto *perfetto, uint64_t function_id, struct named *named)
{
	uint32_t number;

	named->text = ada_export_text(&perfetto->texts, perfetto->export, perfetto->process, function_id, &number);
	while (named->text && perfetto->functions.count <= number)
		if (ada_array_push(&perfetto->functions, (struct ada_perfetto_function){}))
			return -ENOMEM;
	if (!named->text)
		return -ENOMEM;
	named->name = perfetto->export->names.items.items[number];
	named->function = &perfetto->functions.items[number];
	named->name_iid = number + 1;
	named->category_iid = named->name->of ? named->name->of->number + 2 : 1;
	return 0;
}

/* File and line are looked up for functions whose events have detail: otherwise debug information need not be read. */
static bool locate(struct named *named)
{
	struct ada_perfetto_function *function = named->function;

	if (!function->looked_up && named->name->symbol &&
	    !ada_module_source(named->name->of, ada_export_symbol_index(named->name), &function->file, &function->line))
		function->file = NULL;
	function->looked_up = true;
	return function->file;
}

static void put_entry(struct ada_proto *packet, uint32_t field, uint64_t iid, const char *name)
{
	size_t entry = ada_proto_begin(packet, field);

	ada_proto_varint(packet, ENTRY_IID, iid);
	ada_proto_string(packet, ENTRY_NAME, name);
	ada_proto_end(packet, entry);
}

static int put_location(struct ada_proto *packet, const struct named *named)
{
	char *file = ada_output_utf8_copy(named->function->file);
	size_t entry = ada_proto_begin(packet, INTERNED_LOCATIONS);

	if (!file)
		return -ENOMEM;
	ada_proto_varint(packet, LOCATION_IID, named->name_iid);
	ada_proto_string(packet, LOCATION_FILE, file);
	ada_proto_string(packet, LOCATION_FUNCTION, named->text->function);
	ada_proto_varint(packet, LOCATION_LINE, named->function->line);
	ada_proto_end(packet, entry);
	free(file);
	return 0;
}

/* Puts the entries that this sequence has not had yet. */
static int put_interned(struct ada_perfetto *perfetto, const struct named *named)
{
	struct ada_proto *packet = &perfetto->packet;
	bool name = named->function->name_sequence != perfetto->sequence;
	bool category = perfetto->category_sequence[named->category_iid - 1] != perfetto->sequence;
	bool location = named->located && named->function->location_sequence != perfetto->sequence;
	size_t data;
	int result = 0;

	if (!name && !category && !location)
		return 0;
	data = ada_proto_begin(packet, PACKET_INTERNED_DATA);
	if (category)
		put_entry(packet, INTERNED_CATEGORIES, named->category_iid, named->name->of ? named->text->module : "unknown");
	if (name)
		put_entry(packet, INTERNED_NAMES, named->name_iid, named->text->function);
	if (location)
		result = put_location(packet, named);
	ada_proto_end(packet, data);
	perfetto->category_sequence[named->category_iid - 1] = perfetto->sequence;
	named->function->name_sequence = perfetto->sequence;
	if (location)
		named->function->location_sequence = perfetto->sequence;
	return result;
}

/* --- calls ------------------------------------------------------------------------------------------------------------ */

/* Packet and event of a slice on the thread's track; ends with ada_perfetto_packet_done. */
static void begin_event(struct ada_perfetto *perfetto, uint64_t ns)
{
	if (ns > perfetto->now_ns)
		perfetto->now_ns = ns;
	if (perfetto->now_ns > perfetto->last_ns)
		perfetto->last_ns = perfetto->now_ns;
	ada_perfetto_packet(perfetto, perfetto->sequence, perfetto->now_ns);
}

static void put_function(struct ada_proto *packet, const struct named *named)
{
	ada_proto_varint(packet, EVENT_CATEGORY_IIDS, named->category_iid);
	ada_proto_varint(packet, EVENT_NAME_IID, named->name_iid);
	if (named->located)
		ada_proto_varint(packet, EVENT_LOCATION_IID, named->name_iid);
}

static int take_begun(void *context, struct ada_call *call)
{
	struct ada_perfetto *perfetto = context;
	bool before = call->start_ns < perfetto->export->selection->from_ns;
	bool in_window = !before && ada_perfetto_in_window(perfetto, call->start_ns);
	struct ada_proto *packet = &perfetto->packet;
	struct named named = {};
	size_t event;
	int result = find_function(perfetto, call->function_id, &named);

	if (result)
		return result;
	named.located = in_window && locate(&named);
	begin_event(perfetto, call->start_ns);
	result = put_interned(perfetto, &named);
	event = ada_proto_begin(packet, PACKET_TRACK_EVENT);
	ada_proto_varint(packet, EVENT_TYPE, TYPE_SLICE_BEGIN);
	put_function(packet, &named);
	if (before)
		ada_perfetto_note_u64(packet, "began_ns", call->start_ns);
	if (in_window)
		ada_perfetto_note_u64(packet, "index_seq", call->position);
	if (in_window && !result)
		result = ada_perfetto_detail(perfetto, call->position);
	ada_proto_end(packet, event);
	return result ? result : ada_perfetto_packet_done(perfetto);
}

static int put_end(struct ada_perfetto *perfetto, uint64_t ns, const char *outcome, const struct ada_call *call)
{
	struct ada_proto *packet = &perfetto->packet;
	int result = 0;
	size_t event;

	begin_event(perfetto, ns);
	event = ada_proto_begin(packet, PACKET_TRACK_EVENT);
	ada_proto_varint(packet, EVENT_TYPE, TYPE_SLICE_END);
	if (outcome)
		ada_perfetto_note_text(packet, "outcome", outcome);
	if (call->across_loss)
		ada_perfetto_note_text(packet, "duration", "a guess: events were lost in it");
	if (call->end_position && ada_perfetto_in_window(perfetto, ns))
		result = ada_perfetto_detail(perfetto, call->end_position);
	ada_proto_end(packet, event);
	return result ? result : ada_perfetto_packet_done(perfetto);
}

static int take_left(void *context, struct ada_call *call, uint64_t last_ns)
{
	return put_end(context, last_ns, "left", call);
}

/* The end of a call whose slice has ended before. */
static int put_late_end(struct ada_perfetto *perfetto, const struct ada_call *call)
{
	struct ada_proto *packet = &perfetto->packet;
	struct named named = {};
	size_t event;
	int result = find_function(perfetto, call->function_id, &named);

	if (result)
		return result;
	begin_event(perfetto, call->end_ns);
	result = put_interned(perfetto, &named);
	event = ada_proto_begin(packet, PACKET_TRACK_EVENT);
	ada_proto_varint(packet, EVENT_TYPE, TYPE_INSTANT);
	put_function(packet, &named);
	ada_perfetto_note_text(packet, "outcome", ada_export_outcome(call->outcome));
	ada_perfetto_note_u64(packet, "began_ns", call->start_ns);
	ada_perfetto_note_u64(packet, "duration_ns", ada_call_duration(call));
	ada_perfetto_note_u64(packet, "index_seq", call->position);
	ada_proto_end(packet, event);
	return result ? result : ada_perfetto_packet_done(perfetto);
}

static int take_ended(void *context, const struct ada_call *call, bool cut)
{
	struct ada_perfetto *perfetto = context;

	if (call->aside)
		return call->outcome == ADA_OUTCOME_UNKNOWN ? 0 : put_late_end(perfetto, call);
	return put_end(perfetto, call->end_ns,
		       cut				   ? "cut" :
		       call->outcome == ADA_OUTCOME_RETURN ? NULL :
							     ada_export_outcome(call->outcome),
		       call);
}

static int take_lost(void *context, const struct ada_event *event, uint64_t position)
{
	struct ada_perfetto *perfetto = context;
	struct ada_proto *packet = &perfetto->packet;
	size_t begun;

	ada_perfetto_packet(perfetto, perfetto->sequence, event->timestamp_ns);
	begun = ada_proto_begin(packet, PACKET_TRACK_EVENT);
	ada_proto_varint(packet, EVENT_TYPE, TYPE_INSTANT);
	ada_proto_string(packet, EVENT_CATEGORIES, "lost");
	ada_proto_string(packet, EVENT_NAME, "events lost");
	ada_perfetto_note_u64(packet, "lost", event->function_id);
	ada_perfetto_note_u64(packet, "index_seq", position);
	ada_proto_end(packet, begun);
	return ada_perfetto_packet_done(perfetto);
}

int ada_export_perfetto(struct ada_export *export, struct ada_error *error)
{
	struct ada_perfetto perfetto = { .export = export, .texts.quoting = ADA_EXPORT_UTF8 };
	int result;

	perfetto.category_sequence = calloc(export->selection->session->modules.count + 2, sizeof *perfetto.category_sequence);
	result = perfetto.category_sequence ? ada_perfetto_begin(&perfetto) : -ENOMEM;
	if (result)
		ada_error_system(error, -result, "%s", export->selection->session->path);
	else
		result = ada_export_walk(export,
					 &(struct ada_export_receiver){ .context = &perfetto,
									.thread = take_thread,
									.begun = take_begun,
									.left = take_left,
									.ended = take_ended,
									.lost = take_lost,
									.event = take_event },
					 error);
	if (!result) {
		result = ada_perfetto_end(&perfetto);
		if (result)
			ada_error_system(error, -result, "%s", export->selection->session->path);
	}
	ada_export_rates_close(&perfetto.rates);
	ada_export_texts_close(&perfetto.texts);
	ada_proto_free(&perfetto.packet);
	ada_array_free(&perfetto.functions);
	free(perfetto.category_sequence);
	return result;
}

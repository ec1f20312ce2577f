/* What a Perfetto trace holds beside the calls: clocks, tracks of processes and threads, windows, marks, counters, detail. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "query/export/perfetto.h"
#include "query/session/windows.h"
#include "query/values/arguments.h"

/* --- clocks ----------------------------------------------------------------------------------------------------------- */

static void put_clock(struct ada_proto *packet, uint32_t id, uint64_t ns)
{
	size_t clock = ada_proto_begin(packet, SNAPSHOT_CLOCKS);

	ada_proto_varint(packet, CLOCK_ID, id);
	ada_proto_varint(packet, CLOCK_TIMESTAMP, ns);
	ada_proto_end(packet, clock);
}

static uint32_t clock_id_of(const struct ada_session *session, const struct ada_timing_anchor *anchor)
{
	uint32_t id = CLOCK_OF_ANCHORS;

	for (const struct ada_timing_anchor *other = session->anchors; other < anchor; other++)
		id += strcmp(other->clock, other[1].clock) != 0;
	return id;
}

/* Puts one moment on two clocks: an anchor's, or (NULL) the session's start, with the wall clock where that is known. */
static int put_snapshot(struct ada_perfetto *perfetto, const struct ada_timing_anchor *anchor, bool first)
{
	const struct ada_session *session = perfetto->export->selection->session;
	uint64_t host_ns = anchor ? anchor->hostTimeNs : session->start_ns;
	struct ada_proto *packet = &perfetto->packet;
	int64_t wall_offset;
	size_t snapshot;

	ada_perfetto_packet(perfetto, PROCESS_SEQUENCE, host_ns);
	if (first) {
		ada_proto_varint(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED);
		ada_proto_varint(packet, PACKET_FIRST_ON_SEQUENCE, 1);
	}
	snapshot = ada_proto_begin(packet, PACKET_CLOCK_SNAPSHOT);
	put_clock(packet, CLOCK_IS_BOOTTIME, host_ns);
	if (anchor)
		put_clock(packet, clock_id_of(session, anchor), anchor->mediaTimeNs);
	else if (ada_session_wall_offset(session, &wall_offset))
		put_clock(packet, CLOCK_IS_REALTIME, session->start_ns + (uint64_t)wall_offset);
	ada_proto_varint(packet, SNAPSHOT_PRIMARY, CLOCK_IS_BOOTTIME);
	ada_proto_end(packet, snapshot);
	return ada_perfetto_packet_done(perfetto);
}

static int compare_host(const void *left, const void *right)
{
	const struct ada_timing_anchor *a = *(const struct ada_timing_anchor *const *)left,
				       *b = *(const struct ada_timing_anchor *const *)right;

	if (a->hostTimeNs != b->hostTimeNs)
		return a->hostTimeNs < b->hostTimeNs ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* In the order of the host's time: readers drop a snapshot that is earlier than one before it. */
int ada_perfetto_begin(struct ada_perfetto *perfetto)
{
	const struct ada_session *session = perfetto->export->selection->session;
	const struct ada_timing_anchor **order = calloc(session->anchor_count + 1, sizeof *order);
	bool told = false;
	int result = order ? 0 : -ENOMEM;

	for (size_t i = 0; i < session->anchor_count && order; i++)
		order[i] = &session->anchors[i];
	if (order)
		qsort(order, session->anchor_count, sizeof *order, compare_host);
	for (size_t i = 0; i < session->anchor_count && !result; i++) {
		if (!told && order[i]->hostTimeNs >= session->start_ns) {
			told = true;
			result = put_snapshot(perfetto, NULL, !i);
		}
		if (!result)
			result = put_snapshot(perfetto, order[i], !i && !told);
	}
	if (!told && !result)
		result = put_snapshot(perfetto, NULL, !session->anchor_count);
	free(order);
	return result;
}

/* --- tracks ----------------------------------------------------------------------------------------------------------- */

static int put_process(struct ada_perfetto *perfetto, const struct ada_process *process)
{
	const json_object *command = ada_json_get(process->manifest, "command");
	struct ada_proto *packet = &perfetto->packet;
	uint64_t start_ns = ada_json_u64(process->manifest, "startNs", 0);
	size_t track = ada_perfetto_track_begin(perfetto, perfetto->process_uuid, 0, NULL);
	size_t described = ada_proto_begin(packet, TRACK_PROCESS);

	ada_proto_varint(packet, PROCESS_PID, process->pid);
	for (size_t i = 0; i < ada_json_length(command); i++)
		ada_perfetto_put_clean(packet, PROCESS_COMMAND, json_object_get_string(json_object_array_get_idx(command, i)));
	ada_perfetto_put_clean(packet, PROCESS_NAME, ada_export_process_name(process));
	if (start_ns)
		ada_proto_varint(packet, PROCESS_START_NS, start_ns);
	ada_proto_end(packet, described);
	return ada_perfetto_track_end(perfetto, track);
}

static int put_counter_track(struct ada_perfetto *perfetto, uint64_t uuid, const char *what)
{
	struct ada_proto *packet = &perfetto->packet;
	size_t track, counter;
	char name[96];

	snprintf(name, sizeof name, "%s per %" PRIu64 " ms", what, perfetto->rates.bucket_ns / 1000000);
	track = ada_perfetto_track_begin(perfetto, uuid, perfetto->process_uuid, name);
	counter = ada_proto_begin(packet, TRACK_COUNTER);
	ada_proto_varint(packet, COUNTER_UNIT, UNIT_COUNT);
	ada_proto_end(packet, counter);
	return ada_perfetto_track_end(perfetto, track);
}

/* Begins the thread's sequence: with what its packets share. */
int ada_perfetto_begin_thread(struct ada_perfetto *perfetto)
{
	const struct ada_thread *thread = perfetto->thread;
	struct ada_proto *packet = &perfetto->packet;
	size_t track, described, defaults, event;

	perfetto->thread_uuid = ada_perfetto_uuid(perfetto, thread->process, "thread", thread->number);
	packet->bytes.count = 0;
	packet->failed = false;
	ada_proto_varint(packet, PACKET_SEQUENCE_ID, perfetto->sequence);
	ada_proto_varint(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED);
	ada_proto_varint(packet, PACKET_FIRST_ON_SEQUENCE, 1);
	defaults = ada_proto_begin(packet, PACKET_DEFAULTS);
	ada_proto_varint(packet, DEFAULTS_CLOCK_ID, CLOCK_IS_BOOTTIME);
	event = ada_proto_begin(packet, DEFAULTS_TRACK_EVENT);
	ada_proto_varint(packet, DEFAULTS_TRACK_UUID, perfetto->thread_uuid);
	ada_proto_end(packet, event);
	ada_proto_end(packet, defaults);
	track = ada_proto_begin(packet, PACKET_TRACK_DESCRIPTOR);
	ada_proto_varint(packet, TRACK_UUID, perfetto->thread_uuid);
	ada_proto_varint(packet, TRACK_PARENT, perfetto->process_uuid);
	described = ada_proto_begin(packet, TRACK_THREAD);
	ada_proto_varint(packet, THREAD_PID, thread->process->pid);
	ada_proto_varint(packet, THREAD_TID, thread->tid);
	if (*thread->name)
		ada_perfetto_put_clean(packet, THREAD_NAME, thread->name);
	ada_proto_end(packet, described);
	return ada_perfetto_track_end(perfetto, track);
}

/* --- windows and marks ------------------------------------------------------------------------------------------------ */

static int put_window(void *context, const struct ada_export_window *window)
{
	struct ada_perfetto *perfetto = context;
	struct ada_proto *packet = &perfetto->packet;
	size_t event;
	char name[64];
	int result;

	snprintf(name, sizeof name, "window %" PRIu64, window->number);
	event = ada_perfetto_event_begin(perfetto, window->from_ns, TYPE_SLICE_BEGIN, perfetto->windows_uuid);
	ada_proto_string(packet, EVENT_CATEGORIES, "window");
	ada_proto_string(packet, EVENT_NAME, name);
	ada_perfetto_note_text(packet, "kind", window->kind);
	ada_perfetto_note_u64(packet, "marks", window->recorded->marked_count);
	ada_perfetto_note_u64(packet, "events", window->recorded->event_count);
	result = ada_perfetto_event_end(perfetto, event);
	if (result)
		return result;
	return ada_perfetto_event_end(perfetto, ada_perfetto_event_begin(perfetto, window->to_ns, TYPE_SLICE_END, perfetto->windows_uuid));
}

/* What the rule compared: a number, as the manifest has it. */
static void note_value(struct ada_proto *packet, const json_object *value)
{
	size_t note = ada_proto_begin(packet, EVENT_ANNOTATIONS);

	ada_proto_string(packet, ANNOTATION_NAME, "value");
	if (json_object_is_type(value, json_type_int))
		ada_proto_varint(packet, ANNOTATION_INT, (uint64_t)json_object_get_int64(value));
	else
		ada_proto_double(packet, ANNOTATION_DOUBLE, json_object_get_double(value));
	ada_proto_end(packet, note);
}

static int put_mark(void *context, const struct ada_export_mark *mark)
{
	struct ada_perfetto *perfetto = context;
	struct ada_proto *packet = &perfetto->packet;
	uint64_t uuid = mark->thread ? ada_perfetto_uuid(perfetto, mark->process, "thread", mark->thread->number) : perfetto->windows_uuid;
	size_t event = ada_perfetto_event_begin(perfetto, mark->ns, TYPE_INSTANT, uuid);

	ada_proto_string(packet, EVENT_CATEGORIES, "mark");
	ada_perfetto_put_clean(packet, EVENT_NAME, mark->label ? mark->label : mark->kind ? mark->kind : "mark");
	ada_perfetto_note_u64(packet, "window", mark->window);
	if (mark->kind)
		ada_perfetto_note_text(packet, "kind", mark->kind);
	if (mark->rule)
		ada_perfetto_note_text(packet, "rule", mark->rule);
	if (mark->has_position)
		ada_perfetto_note_u64(packet, "index_seq", mark->position);
	if (mark->value)
		note_value(packet, mark->value);
	if (mark->more)
		ada_perfetto_note_u64(packet, "more", mark->more);
	return ada_perfetto_event_end(perfetto, event);
}

/* --- processes -------------------------------------------------------------------------------------------------------- */

int ada_perfetto_begin_process(struct ada_perfetto *perfetto, const struct ada_process *process)
{
	const struct ada_selection *selection = perfetto->export->selection;
	int result;

	perfetto->process = process;
	perfetto->process_uuid = ada_perfetto_uuid(perfetto, process, "process", 0);
	perfetto->windows_uuid = ada_perfetto_uuid(perfetto, process, "windows", 0);
	result = put_process(perfetto, process);
	if (!result && process->window_count)
		result = ada_perfetto_track_end(
			perfetto, ada_perfetto_track_begin(perfetto, perfetto->windows_uuid, perfetto->process_uuid, "windows"));
	return result ? result : ada_export_rates_begin(&perfetto->rates, selection, process);
}

static int put_point(void *context, uint64_t ns, uint64_t value)
{
	struct ada_perfetto *perfetto = context;
	size_t event = ada_perfetto_event_begin(perfetto, ns, TYPE_COUNTER, perfetto->counter_uuid);

	ada_proto_varint(&perfetto->packet, EVENT_COUNTER_VALUE, value);
	return ada_perfetto_event_end(perfetto, event);
}

static int put_counter(struct ada_perfetto *perfetto, const char *what, const uint64_t *values)
{
	int result;

	perfetto->counter_uuid = ada_perfetto_uuid(perfetto, perfetto->process, what, 0);
	result = put_counter_track(perfetto, perfetto->counter_uuid, what);
	return result ? result : ada_export_rates_tell(&perfetto->rates, values, perfetto, put_point);
}

/* Marks come here, after the tracks of all their threads. */
int ada_perfetto_end_process(struct ada_perfetto *perfetto)
{
	int result;

	if (!perfetto->process)
		return 0;
	result = ada_export_marks(perfetto->export->selection, perfetto->process,
				  &(struct ada_export_marks_receiver){ .context = perfetto, .window = put_window, .mark = put_mark });
	if (!result && perfetto->rates.buckets)
		result = put_counter(perfetto, "events", perfetto->rates.events);
	if (!result && perfetto->rates.any_lost)
		result = put_counter(perfetto, "lost events", perfetto->rates.lost);
	return result;
}

/* Shows the moments of the anchors, and gives the clocks' numbers their names. */
static int put_anchors(struct ada_perfetto *perfetto)
{
	const struct ada_session *session = perfetto->export->selection->session;
	uint64_t uuid = ada_perfetto_uuid(perfetto, NULL, "clocks", 0), last_ns = perfetto->last_ns;
	struct ada_proto *packet = &perfetto->packet;
	int result = session->anchor_count ? ada_perfetto_track_end(perfetto, ada_perfetto_track_begin(perfetto, uuid, 0, "clocks")) : 0;

	for (size_t i = 0; i < session->anchor_count && !result; i++) {
		const struct ada_timing_anchor *anchor = &session->anchors[i];
		size_t event = ada_perfetto_event_begin(perfetto, anchor->hostTimeNs, TYPE_INSTANT, uuid);

		ada_proto_string(packet, EVENT_CATEGORIES, "anchor");
		ada_proto_string(packet, EVENT_NAME, anchor->clock);
		ada_perfetto_note_u64(packet, "media_ns", anchor->mediaTimeNs);
		ada_perfetto_note_u64(packet, "clock_id", clock_id_of(session, anchor));
		result = ada_perfetto_event_end(perfetto, event);
	}
	perfetto->last_ns = last_ns; /* of what was recorded */
	return result;
}

/* What is missing gets a track of its own: the file has no other place for it. */
int ada_perfetto_end(struct ada_perfetto *perfetto)
{
	const struct ada_completeness *completeness = &perfetto->export->completeness;
	uint64_t uuid = ada_perfetto_uuid(perfetto, NULL, "ada", 0);
	struct ada_proto *packet = &perfetto->packet;
	int result = ada_perfetto_end_process(perfetto) ?: put_anchors(perfetto);
	size_t event, note;

	if (!result)
		result = ada_perfetto_track_end(perfetto, ada_perfetto_track_begin(perfetto, uuid, 0, "ada"));
	if (result)
		return result;
	event = ada_perfetto_event_begin(perfetto, perfetto->last_ns, TYPE_INSTANT, uuid);
	ada_proto_string(packet, EVENT_CATEGORIES, "ada");
	ada_proto_string(packet, EVENT_NAME, "completeness");
	ada_perfetto_note_u64(packet, "events", completeness->events);
	ada_perfetto_note_u64(packet, "lost", completeness->lost);
	note = ada_proto_begin(packet, EVENT_ANNOTATIONS);
	ada_proto_string(packet, ANNOTATION_NAME, "detailCoverage");
	ada_proto_double(packet, ANNOTATION_DOUBLE, completeness->detail_coverage);
	ada_proto_end(packet, note);
	note = ada_proto_begin(packet, EVENT_ANNOTATIONS);
	ada_proto_string(packet, ANNOTATION_NAME, "complete");
	ada_proto_varint(packet, ANNOTATION_BOOL, completeness->complete);
	ada_proto_end(packet, note);
	return ada_perfetto_event_end(perfetto, event);
}

/* --- detail ----------------------------------------------------------------------------------------------------------- */

bool ada_perfetto_in_window(struct ada_perfetto *perfetto, uint64_t ns)
{
	const struct ada_session *session = perfetto->export->selection->session;
	size_t end = perfetto->process->first_window + perfetto->process->window_count;

	while (perfetto->window < end && session->windows.items[perfetto->window].end_ns < ns)
		perfetto->window++;
	return perfetto->window < end && session->windows.items[perfetto->window].start_ns <= ns;
}

static void note_argument(struct ada_proto *packet, const struct ada_argument *argument, size_t number)
{
	size_t note = ada_proto_begin(packet, EVENT_ANNOTATIONS);
	char name[32];

	snprintf(name, sizeof name, "argument %zu", number);
	ada_perfetto_put_clean(packet, ANNOTATION_NAME, *argument->name ? argument->name : name);
	/* Numbers that people write as such; an enumeration's text says more. */
	if (argument->kind == ADA_ARGUMENT_NUMBER && !argument->text[strspn(argument->text, "-0123456789")])
		ada_proto_varint(packet, argument->is_unsigned ? ANNOTATION_UINT : ANNOTATION_INT, (uint64_t)argument->number);
	else if (argument->kind == ADA_ARGUMENT_REAL)
		ada_proto_double(packet, ANNOTATION_DOUBLE, argument->real);
	else if (argument->kind == ADA_ARGUMENT_POINTER)
		ada_proto_varint(packet, ANNOTATION_POINTER, (uint64_t)argument->number);
	else if (argument->kind == ADA_ARGUMENT_STRING && argument->string && !argument->cut)
		ada_perfetto_put_clean(packet, ANNOTATION_STRING, argument->string);
	else
		ada_perfetto_put_clean(packet, ANNOTATION_STRING, argument->text);
	ada_proto_end(packet, note);
}

int ada_perfetto_detail(struct ada_perfetto *perfetto, uint64_t position)
{
	const struct ada_event *event = atf_thread_get(perfetto->thread->events, position);
	struct ada_arguments arguments = {};
	struct atf_detail record;
	int result;

	if (!event || event->detail_seq == ADA_NO_DETAIL || ada_thread_detail(perfetto->thread, position, &record))
		return 0;
	result = ada_arguments_decode(&arguments, perfetto->thread, &record);
	for (size_t i = 0; i < arguments.items.count && !result; i++)
		note_argument(&perfetto->packet, &arguments.items.items[i], i);
	ada_arguments_free(&arguments);
	return result;
}

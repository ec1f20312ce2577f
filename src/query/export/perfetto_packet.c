/* One packet of a Perfetto trace at a time: tracks and events as they are described, and what is noted beside them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "query/export/perfetto.h"

void ada_perfetto_packet(struct ada_perfetto *perfetto, uint32_t sequence, uint64_t ns)
{
	struct ada_proto *packet = &perfetto->packet;

	packet->bytes.count = 0;
	packet->failed = false;
	ada_proto_varint(packet, PACKET_TIMESTAMP, ns);
	ada_proto_varint(packet, PACKET_SEQUENCE_ID, sequence);
	if (sequence == PROCESS_SEQUENCE)
		ada_proto_varint(packet, PACKET_CLOCK_ID, CLOCK_IS_BOOTTIME);
	else
		ada_proto_varint(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
}

int ada_perfetto_packet_done(struct ada_perfetto *perfetto)
{
	struct ada_proto *packet = &perfetto->packet;
	uint8_t head[16] = { TRACE_PACKET << 3 | 2 };
	size_t count = 1;

	if (packet->failed)
		return -ENOMEM;
	for (size_t length = packet->bytes.count;; length >>= 7) {
		head[count++] = (uint8_t)(length & 0x7F) | (length >= 0x80 ? 0x80 : 0);
		if (length < 0x80)
			break;
	}
	ada_output_bytes(perfetto->export->output, (const char *)head, count);
	ada_output_bytes(perfetto->export->output, (const char *)packet->bytes.items, packet->bytes.count);
	return 0;
}

void ada_perfetto_note_u64(struct ada_proto *packet, const char *name, uint64_t value)
{
	size_t note = ada_proto_begin(packet, EVENT_ANNOTATIONS);

	ada_proto_string(packet, ANNOTATION_NAME, name);
	ada_proto_varint(packet, ANNOTATION_UINT, value);
	ada_proto_end(packet, note);
}

void ada_perfetto_put_clean(struct ada_proto *packet, uint32_t field, const char *text)
{
	char *clean = ada_output_utf8_copy(text);

	if (clean)
		ada_proto_string(packet, field, clean);
	else
		packet->failed = true;
	free(clean);
}

void ada_perfetto_note_text(struct ada_proto *packet, const char *name, const char *text)
{
	size_t note = ada_proto_begin(packet, EVENT_ANNOTATIONS);

	ada_perfetto_put_clean(packet, ANNOTATION_NAME, name);
	ada_perfetto_put_clean(packet, ANNOTATION_STRING, text);
	ada_proto_end(packet, note);
}

uint64_t ada_perfetto_uuid(const struct ada_perfetto *perfetto, const struct ada_process *process, const char *what, uint64_t number)
{
	const struct ada_session *session = perfetto->export->selection->session;
	char text[512];
	int length = snprintf(text, sizeof text, "%s %" PRIu64 " %s %s %" PRIu64, ada_json_text(session->document, "name", ""),
			      session->start_ns, process ? process->directory : "", what, number);

	/* 0 is Perfetto's own. */
	return ada_hash_bytes(text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1) | 1;
}

size_t ada_perfetto_track_begin(struct ada_perfetto *perfetto, uint64_t uuid, uint64_t parent, const char *name)
{
	const struct ada_session *session = perfetto->export->selection->session;
	struct ada_proto *packet = &perfetto->packet;
	size_t track;

	ada_perfetto_packet(perfetto, PROCESS_SEQUENCE, session->start_ns);
	track = ada_proto_begin(packet, PACKET_TRACK_DESCRIPTOR);
	ada_proto_varint(packet, TRACK_UUID, uuid);
	if (parent)
		ada_proto_varint(packet, TRACK_PARENT, parent);
	if (name)
		ada_perfetto_put_clean(packet, TRACK_NAME, name);
	return track;
}

int ada_perfetto_track_end(struct ada_perfetto *perfetto, size_t track)
{
	ada_proto_end(&perfetto->packet, track);
	return ada_perfetto_packet_done(perfetto);
}

size_t ada_perfetto_event_begin(struct ada_perfetto *perfetto, uint64_t ns, uint32_t type, uint64_t track_uuid)
{
	size_t event;

	if (ns > perfetto->last_ns)
		perfetto->last_ns = ns;
	ada_perfetto_packet(perfetto, PROCESS_SEQUENCE, ns);
	event = ada_proto_begin(&perfetto->packet, PACKET_TRACK_EVENT);
	ada_proto_varint(&perfetto->packet, EVENT_TYPE, type);
	ada_proto_varint(&perfetto->packet, EVENT_TRACK_UUID, track_uuid);
	return event;
}

int ada_perfetto_event_end(struct ada_perfetto *perfetto, size_t event)
{
	ada_proto_end(&perfetto->packet, event);
	return ada_perfetto_packet_done(perfetto);
}

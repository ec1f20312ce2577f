/* Field numbers of a Perfetto trace, as published in google/perfetto's protos/perfetto/trace (trace.proto, trace_packet.proto,
 * clock_snapshot.proto, trace_packet_defaults.proto, interned_data/, track_event/); tests/query/perfetto_trace.proto has the same with
 * its types. Below them: the parts of the writer that share a packet. */
#ifndef ADA_QUERY_EXPORT_PERFETTO_H
#define ADA_QUERY_EXPORT_PERFETTO_H
#include "query/calls/calls.h"
#include "query/export/parts.h"
#include "query/export/protobuf.h"

enum {
	TRACE_PACKET = 1,
	/* TracePacket */
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_CLOCK_ID = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_FIRST_ON_SEQUENCE = 87,
	SEQUENCE_CLEARED = 1,
	SEQUENCE_NEEDS_STATE = 2,
	/* ClockSnapshot */
	SNAPSHOT_CLOCKS = 1,
	SNAPSHOT_PRIMARY = 2,
	CLOCK_ID = 1,
	CLOCK_TIMESTAMP = 2,
	CLOCK_IS_REALTIME = 1,
	CLOCK_IS_BOOTTIME = 6,
	CLOCK_OF_ANCHORS = 128, /* the first that is the trace's own, for all sequences */
	/* TracePacketDefaults, TrackEventDefaults */
	DEFAULTS_TRACK_EVENT = 11,
	DEFAULTS_CLOCK_ID = 58,
	DEFAULTS_TRACK_UUID = 11,
	/* InternedData and its entries */
	INTERNED_CATEGORIES = 1,
	INTERNED_NAMES = 2,
	INTERNED_LOCATIONS = 4,
	ENTRY_IID = 1,
	ENTRY_NAME = 2,
	LOCATION_IID = 1,
	LOCATION_FILE = 2,
	LOCATION_FUNCTION = 3,
	LOCATION_LINE = 4,
	/* TrackDescriptor, ProcessDescriptor, ThreadDescriptor, CounterDescriptor */
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	PROCESS_PID = 1,
	PROCESS_COMMAND = 2,
	PROCESS_NAME = 6,
	PROCESS_START_NS = 7,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_UNIT = 3,
	UNIT_COUNT = 2,
	/* TrackEvent */
	EVENT_CATEGORY_IIDS = 3,
	EVENT_ANNOTATIONS = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK_UUID = 11,
	EVENT_CATEGORIES = 22,
	EVENT_NAME = 23,
	EVENT_COUNTER_VALUE = 30,
	EVENT_LOCATION_IID = 34,
	TYPE_SLICE_BEGIN = 1,
	TYPE_SLICE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,
	/* DebugAnnotation */
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_STRING = 6,
	ANNOTATION_POINTER = 7,
	ANNOTATION_NAME = 10
};

#define PROCESS_SEQUENCE 1u /* of all that belongs to no thread; thread I of the selection has 2 + I */

/* A function's source, and on which sequence its entry was written. */
struct ada_perfetto_function {
	uint32_t name_sequence, location_sequence;
	const char *file;
	uint32_t line;
	bool looked_up;
};

struct ada_perfetto {
	struct ada_export *export;
	struct ada_export_texts texts;
	struct ada_proto packet;
	struct ada_export_rates rates;
	ADA_ARRAY(struct ada_perfetto_function) functions; /* by number of their names */
	uint32_t *category_sequence;			   /* by number of the module + 1; 0: not known */
	const struct ada_thread *thread;
	const struct ada_process *process;
	uint32_t sequence;
	uint64_t thread_uuid, process_uuid, windows_uuid, events_uuid, lost_uuid, counter_uuid;
	uint64_t now_ns;  /* of the thread's last begin or end of a slice: no later one may be earlier */
	uint64_t last_ns; /* latest time in the trace */
	size_t window;	  /* of the session: the first that doesn't end before now */
};

/* Of one packet at a time (perfetto_packet.c). */
void ada_perfetto_packet(struct ada_perfetto *perfetto, uint32_t sequence, uint64_t ns);
int ada_perfetto_packet_done(struct ada_perfetto *perfetto);				 /* writes it: 0 or -ENOMEM */
void ada_perfetto_put_clean(struct ada_proto *packet, uint32_t field, const char *text); /* any bytes; likewise _note_text */
void ada_perfetto_note_u64(struct ada_proto *packet, const char *name, uint64_t value);
void ada_perfetto_note_text(struct ada_proto *packet, const char *name, const char *text);
/* Number of the track of that kind, of a process or of the trace (NULL). */
uint64_t ada_perfetto_uuid(const struct ada_perfetto *perfetto, const struct ada_process *process, const char *what, uint64_t number);
/* A track's description and an event on a track that is no thread's: what _begin returned goes to _end. */
size_t ada_perfetto_track_begin(struct ada_perfetto *perfetto, uint64_t uuid, uint64_t parent, const char *name);
int ada_perfetto_track_end(struct ada_perfetto *perfetto, size_t track);
size_t ada_perfetto_event_begin(struct ada_perfetto *perfetto, uint64_t ns, uint32_t type, uint64_t track_uuid);
int ada_perfetto_event_end(struct ada_perfetto *perfetto, size_t event);

/* The trace's frame: clocks, processes with their windows, marks and counters, threads, and what is missing. */
int ada_perfetto_begin(struct ada_perfetto *perfetto);
int ada_perfetto_begin_process(struct ada_perfetto *perfetto, const struct ada_process *process);
int ada_perfetto_end_process(struct ada_perfetto *perfetto);
int ada_perfetto_begin_thread(struct ada_perfetto *perfetto);
int ada_perfetto_cpu(struct ada_perfetto *perfetto); /* when that thread had a CPU */
int ada_perfetto_end(struct ada_perfetto *perfetto);

/* For an event inside a window: its arguments or result, as annotations of the event that is being written. */
int ada_perfetto_detail(struct ada_perfetto *perfetto, uint64_t position);
/* Whether this time on the thread at hand lies in a window of its process; times must not fall. */
bool ada_perfetto_in_window(struct ada_perfetto *perfetto, uint64_t ns);
#endif

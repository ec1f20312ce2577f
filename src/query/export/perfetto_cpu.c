/* When a thread had a CPU: a track below the thread's, a slice a stretch of time. */
#include "query/export/perfetto.h"

struct cpu_track {
	struct ada_perfetto *perfetto;
	uint64_t uuid;
	bool begun;
};

static int take_stretch(void *context, const struct ada_export_cpu *stretch)
{
	struct cpu_track *track = context;
	struct ada_perfetto *perfetto = track->perfetto;
	struct ada_proto *packet = &perfetto->packet;
	int result = 0;
	size_t event;

	if (!track->begun)
		result = ada_perfetto_track_end(perfetto, ada_perfetto_track_begin(perfetto, track->uuid, perfetto->thread_uuid, "CPU"));
	track->begun = true;
	if (result)
		return result;
	event = ada_perfetto_event_begin(perfetto, stretch->from_ns, TYPE_SLICE_BEGIN, track->uuid);
	ada_proto_string(packet, EVENT_CATEGORIES, "cpu");
	ada_proto_string(packet, EVENT_NAME, ada_export_cpu_name(stretch->state));
	if (stretch->other_tid)
		ada_perfetto_note_u64(packet, "by_tid", stretch->other_tid);
	result = ada_perfetto_event_end(perfetto, event);
	return result ? result :
			ada_perfetto_event_end(perfetto, ada_perfetto_event_begin(perfetto, stretch->to_ns, TYPE_SLICE_END, track->uuid));
}

int ada_perfetto_cpu(struct ada_perfetto *perfetto)
{
	struct cpu_track track = { .perfetto = perfetto,
				   .uuid = ada_perfetto_uuid(perfetto, perfetto->process, "cpu", perfetto->thread->number) };

	return ada_export_cpu(perfetto->export->selection, perfetto->thread, &track, take_stretch);
}

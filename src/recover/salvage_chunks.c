#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "recorder/recorder.h"
#include "recover/salvage.h"

/* Nothing tells which events of its chunks the thread's files have: takes none. */
static void leave_alone(struct ada_lane *lane)
{
	lane->next_seq = lane->told_lost = UINT64_MAX;
}

static bool has_file(const struct ada_salvage_process *process, uint32_t id, uint32_t segment)
{
	char thread[PATH_MAX], path[PATH_MAX];

	return !ada_path(thread, "%s/thread_%u", process->path, id) && !atf_index_find(path, sizeof path, thread, segment) &&
	       !access(path, F_OK);
}

/* Restores the lane as it stood when the note was written. What comes next goes into a new file. */
static int restore_lane(const struct ada_salvage_process *process, struct ada_lane *lane, const struct ada_arena_lane *note)
{
	struct ada_arena_lane_state state;
	char thread[PATH_MAX];

	ada_arena_lane_state(note, &state);
	if (state.segment != ADA_NONE && !ada_path(thread, "%s/thread_%u", process->path, lane->id)) {
		uint32_t first = ada_recover_first_segment(thread);

		/* The last one that the note knows has gone: the one behind it is empty. */
		if (first > state.segment) {
			state.segment = first;
			state.segment_events = 0;
		}
	}
	if (state.segment != ADA_NONE && !has_file(process, lane->id, state.segment)) {
		leave_alone(lane);
		return 0;
	}
	lane->thread_id = state.thread_id;
	lane->given_back = state.flags & ADA_ARENA_LANE_GIVEN_BACK;
	lane->last = note->last;
	lane->next_seq = state.next_seq;
	lane->events = state.events;
	lane->lost = state.lost;
	lane->overwritten = state.overwritten;
	lane->gaps = state.gaps;
	lane->told_lost = state.told_lost;
	lane->last_ns = lane->time_max_ns = state.last_ns;
	for (uint32_t i = 0; state.segment != ADA_NONE && i <= state.segment; i++)
		if (ada_array_push(&lane->segments, i == state.segment ? state.segment_events : 0))
			return -ENOMEM;
	return 0;
}

static int restore_lanes(const struct ada_salvage_process *process, struct ada_drain *drain)
{
	const struct ada_salvage *salvage = process->salvage;
	int result = 0;

	for (size_t i = 0; i < process->note_count && !result; i++) {
		while (drain->lanes.count <= process->notes[i].id && !result) {
			struct ada_lane lane = { .id = (uint32_t)drain->lanes.count, .entry = ADA_NONE };

			result = ada_array_push(&drain->lanes, lane);
		}
		if (!result)
			result = restore_lane(process, &drain->lanes.items[process->notes[i].id],
					      &salvage->map.lanes[process->notes[i].lane]);
	}
	return result;
}

/* Restores entries of threads that have none any more, from their notes. */
static void restore_entries(struct ada_drain *drain)
{
	ada_drain_meet(drain);
	for (size_t i = 0; i < drain->lanes.count; i++) {
		struct ada_lane *lane = &drain->lanes.items[i];

		if (lane->entry == ADA_NONE && lane->last.thread_id)
			lane->given_back = true;
	}
}

/* Bars threads without a note, where not all have got one. */
static void bar_unnoted(const struct ada_salvage_process *process, struct ada_drain *drain)
{
	size_t note = 0;
	char path[PATH_MAX];

	if (!__atomic_load_n(&process->salvage->map.header->lanes_refused, __ATOMIC_ACQUIRE))
		return;
	for (size_t i = 0; i < drain->lanes.count; i++) {
		while (note < process->note_count && process->notes[note].id < i)
			note++;
		if ((note == process->note_count || process->notes[note].id != i) && !ada_path(path, "%s/thread_%zu", process->path, i) &&
		    !access(path, F_OK))
			leave_alone(&drain->lanes.items[i]);
	}
}

/* How much of the chunk is in the file already, because it was copied, noted and not given back. */
static uint32_t consumed_of(const struct ada_drain *drain, uint32_t number)
{
	const struct ada_chunk *chunk = ada_segment_chunk(drain->segment, number);
	uint32_t end = ada_chunk_end(chunk), id = chunk->thread;
	uint32_t begin = ada_segment_chunk_begin(drain->segment, number);
	uint64_t seq = ada_segment_chunk_seq(drain->segment, number), next_seq;

	if (id >= drain->lanes.count || end < begin || end > ADA_CHUNK_BYTES)
		return 0;
	next_seq = drain->lanes.items[id].next_seq;
	if (seq >= next_seq)
		return 0;
	return next_seq - seq < (end - begin) / sizeof(struct ada_event) ?
		       begin + (uint32_t)(next_seq - seq) * (uint32_t)sizeof(struct ada_event) :
		       end;
}

static void skip_consumed(struct ada_drain *drain)
{
	struct ada_segment *segment = drain->segment;

	for (uint32_t number = 0; number < ada_segment_chunk_end(segment); number = ada_segment_chunk_after(segment, number))
		if (!ada_segment_chunk_is_free(segment, number) && ada_segment_chunk_reach(segment, number))
			drain->consumed[number] = consumed_of(drain, number);
}

static bool make_room(void *context)
{
	const struct ada_salvage *salvage = context;

	return ada_drain_rest(salvage->drain) || ada_sink_release(salvage->sink);
}

static int tell_threads(const struct ada_drain *drain, struct ada_salvaged *result, bool problems)
{
	for (uint32_t id = 0; id < drain->lanes.count; id++) {
		const struct ada_shm_thread *thread = ada_drain_thread(drain, id);
		const struct ada_lane *lane = &drain->lanes.items[id];
		struct ada_salvaged_thread salvaged = {
			.id = id, .tid = lane->thread_id, .lost = lane->lost, .overwritten = lane->overwritten, .gaps = lane->gaps
		};

		if (thread) {
			salvaged.entry = *thread;
			salvaged.tid = thread->thread_id;
			salvaged.start_ns = thread->start_counter ? ada_clock_ns(drain->options.clock, thread->start_counter) : 0;
			salvaged.end_ns = thread->end_counter ? ada_clock_ns(drain->options.clock, thread->end_counter) : 0;
		}
		if (ada_array_push(&result->threads, salvaged))
			return -ENOMEM;
	}
	result->header = *drain->segment->shm;
	result->crash_ns = result->header.crash.present ? ada_clock_ns(drain->options.clock, result->header.crash.counter) : 0;
	result->known = true;
	result->exact = !problems;
	return 0;
}

static int drain_all(struct ada_salvage_process *process, struct ada_drain *drain, struct ada_error *error)
{
	int result = restore_lanes(process, drain);

	if (result)
		return ada_error_system(error, -result, "%s", process->path);
	restore_entries(drain);
	bar_unnoted(process, drain);
	skip_consumed(drain);
	drain->tail = UINT64_MAX; /* the ring's order is of no use any more: chunks are taken by their events' numbers */
	process->salvage->drain = drain;
	ada_drain_finish(drain);
	process->salvage->drain = NULL;
	if (drain->failed)
		return ada_error_set(error, EIO, "%s", drain->error.text);
	if (drain->bad_chunks)
		ada_recover_problem(process->salvage->recovery, "%s: %llu chunks of its shared memory make no sense", process->path,
				    (unsigned long long)drain->bad_chunks);
	for (size_t i = 0; i < drain->lanes.count && !process->has_events; i++)
		process->has_events = drain->lanes.items[i].events;
	result = tell_threads(drain, process->result,
			      process->salvage->recovery->result->problems.count || process->salvage->map.header->blocks_refused);
	return result ? ada_error_system(error, -result, "%s", process->path) : 0;
}

/* No arena of ours says less; a lower number would make files without end. */
static uint64_t segment_events(const struct ada_salvage *salvage)
{
	uint64_t least = (ADA_SEGMENT_MIN - sizeof(AtfIndexHeader) - sizeof(AtfIndexFooter)) / sizeof(struct ada_event);
	uint64_t asked = salvage->map.header->segment_events;

	return asked && asked < least ? least : asked;
}

int ada_salvage_attach(const struct ada_salvage_process *process, struct ada_segment *segment, struct ada_error *error)
{
	struct ada_segment_options layout;
	int status = -ENOENT;

	ada_arena_geometry(process->note, process->number, &layout);
	layout.shared = &process->salvage->shared;
	layout.ready = process->ready;
	status = ada_segment_attach(segment, &layout, error);
	if (status != -ENOENT || process->ready || !process->note->ready)
		return status;
	layout.ready = process->note->ready; /* the recorder had noted it, and had not come to give the name */
	return ada_segment_attach(segment, &layout, error);
}

int ada_salvage_chunks(struct ada_salvage_process *process, struct ada_error *error)
{
	struct ada_salvage *salvage = process->salvage;
	struct ada_lane_options options = { .sink = ada_sink_atf(salvage->sink),
					    .clock = salvage->clock,
					    .segment_events = segment_events(salvage),
					    .numbers_detail = true,
					    .circular = salvage->map.header->index_mode == ADA_INDEX_CIRCULAR,
					    .make_room = make_room,
					    .context = salvage };
	struct ada_segment segment;
	struct ada_error why = { "" };
	struct ada_drain drain;
	int result;

	if (ada_salvage_attach(process, &segment, &why)) {
		ada_recover_problem(salvage->recovery, "%s: its shared memory is gone: %s", process->path, why.text);
		return 0;
	}
	ada_salvage_names(process, &segment);
	result = ada_drain_open(&drain, &segment, process->path, (pid_t)process->note->pid, &options);
	if (result)
		ada_error_system(error, -result, "%s", process->path);
	else
		result = drain_all(process, &drain, error);
	if (!result && process->has_events)
		result = ada_salvage_first_manifest(process, &segment, error);
	ada_drain_close(&drain);
	ada_segment_destroy(&segment);
	return result;
}

/* A packed segment that was being written: behind the blocks of its file, the events that its recorder had in the arena. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "atf/index/index.h"
#include "base/file.h"
#include "recover/salvage.h"

#define EVENT_BYTES sizeof(struct ada_event)

/* The events from `first` on up to what the note counts, *count of them. Zeros where the arena hasn't got them. NULL: out of memory. */
static struct ada_event *collect(const struct ada_salvage *salvage, uint32_t lane, const struct ada_arena_lane_state *state, uint64_t first,
				 uint64_t *count)
{
	uint64_t begin = first * EVENT_BYTES, end = (uint64_t)state->segment_events * EVENT_BYTES;
	uint8_t *bytes;

	*count = state->segment_events - first;
	bytes = calloc(*count + 1, EVENT_BYTES);
	for (size_t i = ada_array_below(&salvage->blocks, lane, lane);
	     bytes && i < salvage->blocks.count && salvage->blocks.items[i].lane == lane; i++) {
		uint32_t number = salvage->blocks.items[i].block;
		struct ada_arena_block block = salvage->map.blocks[number];
		uint64_t from = block.offset > begin ? block.offset : begin, to;

		if (block.kind != ADA_ARENA_EVENTS || block.segment != state->segment || block.offset >= end)
			continue;
		to = end - block.offset < block.bytes ? end : block.offset + block.bytes;
		if (from < to)
			memcpy(bytes + (from - begin), ada_arena_bytes(&salvage->map, number) + (from - block.offset), to - from);
	}
	return (struct ada_event *)bytes;
}

/* Where nothing comes before what is missing: the time of the first event that there is. */
static uint64_t first_time(const struct ada_event *events, uint64_t count, const struct ada_arena_lane_state *state)
{
	for (uint64_t i = 0; i < count; i++)
		if (events[i].event_kind)
			return events[i].timestamp_ns;
	return state->last_ns;
}

/* What lay in the recorder's own memory is gone with the recorder. LOST events stand for it. */
static uint64_t mark_missing(struct ada_event *events, uint64_t count, const struct ada_arena_lane_state *state, uint64_t last_ns)
{
	uint64_t missing = 0;

	last_ns = last_ns ? last_ns : first_time(events, count, state);
	for (uint64_t i = 0; i < count; i++) {
		if (!events[i].event_kind) {
			events[i] = (struct ada_event){ last_ns, 1, state->thread_id, ADA_EVENT_LOST, 0, ADA_NO_DETAIL };
			missing++;
		}
		last_ns = events[i].timestamp_ns;
	}
	return missing;
}

static uint64_t last_time(const struct atf_index *index)
{
	struct ada_event last = { 0 };

	if (atf_index_count(index))
		atf_index_get(index, atf_index_count(index) - 1, &last);
	return last.timestamp_ns;
}

/* Of the events before: where the segment has no block yet, those of earlier segments. */
static uint64_t time_before(const struct atf_index *index, const char *thread, uint32_t segment)
{
	uint64_t time_ns = last_time(index);
	char path[PATH_MAX];

	for (uint32_t i = segment; i-- && !time_ns;) {
		struct atf_index *earlier;

		if (atf_index_find(path, sizeof path, thread, i) || atf_index_open(&earlier, path, NULL))
			continue;
		time_ns = last_time(earlier);
		atf_index_close(earlier);
	}
	return time_ns;
}

/* Which calls are open where a segment begins that has no block yet. */
static int pass_earlier(struct atf_index_packer *packer, const char *thread, uint32_t segment)
{
	char path[PATH_MAX];
	int status = 0;

	for (uint32_t i = 0; i < segment && !status; i++) {
		struct atf_index *index;

		if (atf_index_find(path, sizeof path, thread, i) || atf_index_open(&index, path, NULL))
			continue; /* lossless all the same */
		status = atf_index_pass(packer, index);
		atf_index_close(index);
	}
	return status;
}

static int append_rest(const char *thread, const struct ada_arena_lane_state *state, int fd, const struct atf_index *index,
		       const struct ada_event *events, uint64_t count)
{
	struct atf_index_packer packer;
	int status = atf_index_packer_open(&packer);

	if (status)
		return -ENOMEM;
	if (!atf_index_count(index))
		status = pass_earlier(&packer, thread, state->segment);
	if (!status)
		status = atf_index_append_packed(&packer, fd, index, events, count);
	atf_index_packer_close(&packer);
	return status == -ATF_ERROR_SYSTEM ? -errno : status == -ATF_ERROR_MEMORY ? -ENOMEM : status ? -EBADMSG : 0;
}

int ada_salvage_packed(const struct ada_salvage_process *process, const struct ada_salvage_note *note,
		       const struct ada_arena_lane_state *state, int fd, const char *thread, struct ada_error *error)
{
	struct atf_message message = { "" };
	struct ada_event *events = NULL;
	struct atf_index *index;
	uint64_t count = 0, missing;
	int result = 0;

	if (atf_index_open_fd(&index, fd, &message)) {
		ada_recover_problem(process->salvage->recovery, "%s: %s", thread, message.text);
		return 0;
	}
	if (index->packed && atf_index_count(index) < state->segment_events) {
		events = collect(process->salvage, note->lane, state, atf_index_count(index), &count);
		missing = events ? mark_missing(events, count, state, time_before(index, thread, state->segment)) : 0;
		if (missing)
			ada_recover_problem(process->salvage->recovery, "%s: %llu events were in its recorder's own memory", thread,
					    (unsigned long long)missing);
		result = events ? append_rest(thread, state, fd, index, events, count) : -ENOMEM;
	}
	atf_index_close(index);
	free(events);
	return result ? ada_error_system(error, -result, "%s", thread) : 0;
}

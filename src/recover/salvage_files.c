#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "abi/file.h"
#include "abi/record.h"
#include "base/file.h"
#include "recover/salvage.h"

#define EVENT_BYTES sizeof(struct ada_event)

/* --- files that count for nothing -------------------------------------------------------------------------------------- */

static bool file_path(char path[PATH_MAX], const char *thread, uint32_t segment, bool detail)
{
	return !(detail ? atf_detail_path(path, PATH_MAX, thread, segment) : atf_index_find(path, PATH_MAX, thread, segment));
}

/* Removes segments from `first` on, the last one first, so that an interruption leaves no gap. */
static int remove_segments(const char *thread, uint32_t first, struct ada_error *error)
{
	char path[PATH_MAX];
	uint32_t end = first;

	while (file_path(path, thread, end, false) && !access(path, F_OK))
		end++;
	while (end-- > first) {
		if (file_path(path, thread, end, true))
			unlink(path);
		if (!file_path(path, thread, end, false) || unlink(path))
			return ada_error_system(error, errno, "%s", path);
	}
	return 0;
}

static const struct ada_salvage_note *find_note(const struct ada_salvage_process *process, uint32_t id)
{
	size_t i = ada_first_not(n, 0, process->note_count, process->notes[n].id < id);

	return i < process->note_count && process->notes[i].id == id ? &process->notes[i] : NULL;
}

/* Removes files of threads that were met, but whose first events were not noted yet: those events are in chunks. */
static int remove_unnoted(const struct ada_salvage_process *process, struct ada_error *error)
{
	DIR *directory = opendir(process->path);
	const struct dirent *entry;
	char thread[PATH_MAX];
	int result = 0;

	if (!directory)
		return ada_error_system(error, errno, "%s", process->path);
	while (!result && (entry = readdir(directory))) {
		uint32_t id;

		if (!ada_directory_number(entry->d_name, "thread_", &id) || find_note(process, id))
			continue;
		result = ada_path(thread, "%s/%s", process->path, entry->d_name) ?
				 ada_error_system(error, ENAMETOOLONG, "%s", process->path) :
				 remove_segments(thread, 0, error);
	}
	closedir(directory);
	return result;
}

/* --- files that count --------------------------------------------------------------------------------------------------- */

/* Whether the file was closed, with so many events. */
static bool is_whole(int fd, uint64_t size, uint32_t events)
{
	uint64_t end = sizeof(AtfIndexHeader) + (uint64_t)events * EVENT_BYTES;
	AtfIndexHeader header;
	AtfIndexFooter footer;

	return size == end + sizeof footer && pread(fd, &footer, sizeof footer, (off_t)end) == sizeof footer &&
	       !memcmp(footer.magic, ATF_INDEX_FOOTER_MAGIC, sizeof footer.magic) && footer.event_count == events &&
	       pread(fd, &header, sizeof header, 0) == sizeof header && header.footer_offset == end;
}

/* Makes the header what it was while the file was being written. */
static int open_header(int fd)
{
	AtfIndexHeader header;

	if (pread(fd, &header, sizeof header, 0) != sizeof header)
		return -EIO;
	header.event_count = 0;
	header.footer_offset = header.time_start_ns = header.time_end_ns = 0;
	return ada_file_write_at(fd, &header, sizeof header, 0);
}

/* Lays the blocks that belong to the file over it, as far as `end`. */
static int lay_blocks(const struct ada_salvage *salvage, uint32_t lane, uint32_t segment, int fd, uint64_t end)
{
	int result = 0;

	for (size_t i = ada_array_below(&salvage->blocks, lane, lane);
	     i < salvage->blocks.count && salvage->blocks.items[i].lane == lane && !result; i++) {
		uint32_t number = salvage->blocks.items[i].block;
		struct ada_arena_block block = salvage->map.blocks[number];

		if (block.kind == ADA_ARENA_PLAIN && block.segment == segment && block.offset < end)
			result = ada_file_write_at(fd, ada_arena_bytes(&salvage->map, number),
						   end - block.offset < block.bytes ? end - block.offset : block.bytes, block.offset);
	}
	return result;
}

/* Blocks in the recorder's own memory are gone with the recorder. A LOST event stands for what they held. */
static int mark_missing(const struct ada_salvage_process *process, const struct ada_salvage_note *note,
			const struct ada_arena_lane_state *state, int fd, uint64_t end)
{
	struct ada_event event = {
		.timestamp_ns = state->last_ns, .thread_id = state->thread_id, .event_kind = ADA_EVENT_LOST, .detail_seq = ADA_NO_DETAIL
	};
	struct stat status;
	uint64_t at;

	if (fstat(fd, &status))
		return -errno;
	if ((uint64_t)status.st_size >= end)
		return 0;
	at = sizeof(AtfIndexHeader) + ((uint64_t)status.st_size - sizeof(AtfIndexHeader)) / EVENT_BYTES * EVENT_BYTES;
	event.function_id = (end - at) / EVENT_BYTES;
	ada_recover_problem(process->salvage->recovery, "%s/thread_%u: %llu events were in its recorder's own memory", process->path,
			    note->id, (unsigned long long)event.function_id);
	return ada_file_write_at(fd, &event, sizeof event, at);
}

static int finish_file(const struct ada_salvage_process *process, const struct ada_salvage_note *note,
		       const struct ada_arena_lane_state *state, int fd)
{
	uint64_t end = sizeof(AtfIndexHeader) + (uint64_t)state->segment_events * EVENT_BYTES;
	struct stat status;
	int result;

	if (fstat(fd, &status))
		return -errno;
	if (is_whole(fd, (uint64_t)status.st_size, state->segment_events))
		return 0;
	/* First: this waits for what the disk was still writing when the recorder died. */
	if (ftruncate(fd, status.st_size < (off_t)end ? status.st_size : (off_t)end))
		return -errno;
	result = lay_blocks(process->salvage, note->lane, state->segment, fd, end);
	if (!result)
		result = open_header(fd);
	return result ? result : mark_missing(process, note, state, fd, end);
}

static int take_lane(const struct ada_salvage_process *process, const struct ada_salvage_note *note, struct ada_error *error)
{
	struct ada_arena_lane_state state;
	char thread[PATH_MAX], path[PATH_MAX];
	uint32_t first, last;
	int fd, result;

	ada_arena_lane_state(&process->salvage->map.lanes[note->lane], &state);
	if (ada_path(thread, "%s/thread_%u", process->path, note->id))
		return ada_error_system(error, ENAMETOOLONG, "%s", process->path);
	first = ada_recover_first_segment(thread);
	last = state.segment == ADA_NONE ? 0 : state.segment + 1;
	result = remove_segments(thread, first < last ? last : first + (first > 0), error);
	/* With the last one gone there is an empty one, which needs no end. */
	if (result || state.segment == ADA_NONE || first > state.segment)
		return result;
	if (!file_path(path, thread, state.segment, false))
		return ada_error_system(error, ENAMETOOLONG, "%s", thread);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT) {
		ada_recover_problem(process->salvage->recovery, "%s is gone", path);
		return 0;
	}
	if (fd < 0)
		return ada_error_system(error, errno, "%s", path);
	if (state.flags & ADA_ARENA_LANE_PACKED) {
		result = ada_salvage_packed(process, note, &state, fd, thread, error);
	} else {
		result = finish_file(process, note, &state, fd);
		if (result)
			ada_error_system(error, -result, "%s", path);
	}
	close(fd);
	return result;
}

int ada_salvage_files(const struct ada_salvage_process *process, struct ada_error *error)
{
	/* Unless all threads have notes, nothing tells what of a file counts. */
	int result = __atomic_load_n(&process->salvage->map.header->lanes_refused, __ATOMIC_ACQUIRE) ? 0 : remove_unnoted(process, error);

	for (size_t i = 0; i < process->note_count && !result; i++)
		result = take_lane(process, &process->notes[i], error);
	return result;
}

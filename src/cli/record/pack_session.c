/* Segments of a session, packed or unpacked in place: see pack_session.h.
 *
 *   index.atf              packed into index.atp.tmp, fsync, compared event by event
 *   index.atf index.atp    renamed, fsync of the directory: both are there and say the same
 *             index.atp    the plain one goes; the manifest names the new file once all segments of its process are done
 *
 * Of a packed one some blocks may be raw, written while the recorder was pressed: index.atp.tmp has the same blocks compressed, and takes
 * its place.
 */
#include "cli/record/pack_session.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "atf/session/thread.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "recorder/files/json.h"

struct segment {
	char plain[PATH_MAX], packed[PATH_MAX], anew[PATH_MAX];
	const char *from, *to; /* what is read; whose place the new file takes, which may be the same */
};

static bool tell_progress(void *context, uint64_t events)
{
	struct ada_packing *packing = context;

	packing->done += events;
	ada_progress_at(&packing->progress, packing->done);
	return ada_interrupted();
}

static uint64_t bytes_of(const char *path)
{
	struct stat status;

	return stat(path, &status)					   ? 0 :
	       (uint64_t)status.st_blocks * 512 < (uint64_t)status.st_size ? (uint64_t)status.st_blocks * 512 :
									     (uint64_t)status.st_size;
}

static int fail(struct ada_error *error, const char *path, int status, const struct atf_message *message)
{
	if (ada_interrupted())
		return ada_error_set(error, EINTR,
				     "interrupted: packed and unpacked segments read alike; the same command goes on with it");
	return ada_error_set(error, status == -ATF_ERROR_SYSTEM ? EIO : EBADMSG, "%s: %s", path,
			     message->text[0] ? message->text : atf_error_text(status));
}

/* Makes a new name durable. */
static int sync_directory(const char *directory, struct ada_error *error)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), status = fd < 0 || fsync(fd) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return status ? ada_error_system(error, -status, "%s", directory) : 0;
}

/* Whether the new file says the same as the old one, read back. */
static int compare(const struct atf_index *index, const char *anew, struct atf_message *message)
{
	struct atf_index *made;
	int status = atf_index_open(&made, anew, message);

	if (status)
		return status;
	if (atf_index_completeness(made) != ATF_COMPLETE || !atf_index_same(index, made)) {
		snprintf(message->text, sizeof message->text, "what was written reads differently: nothing was changed");
		status = -ATF_ERROR_CORRUPT;
	}
	atf_index_close(made);
	return status;
}

/* The new file takes the old one's place. */
static int take_place(struct ada_packing *packing, const struct segment *segment, const char *directory, struct ada_error *error)
{
	int status;

	packing->bytes_before += bytes_of(segment->from);
	packing->bytes_after += bytes_of(segment->anew);
	if (rename(segment->anew, segment->to))
		return ada_error_system(error, errno, "%s", segment->to);
	status = sync_directory(directory, error);
	if (status)
		return status;
	if (segment->from != segment->to && unlink(segment->from))
		return ada_error_system(error, errno, "%s", segment->from);
	packing->segments++;
	return 0;
}

static int convert(struct ada_packing *packing, struct atf_index_packer *packer, const struct segment *segment,
		   const struct atf_index *index, const char *directory, struct ada_error *error)
{
	struct atf_message message = { "" };
	int status;

	unlink(segment->anew); /* of a run that was killed */
	if (packing->unpack)
		status = atf_index_unpack(index, segment->anew, tell_progress, packing, &message);
	else if (segment->from == segment->to)
		status = atf_index_squeeze(packer, index, segment->anew, tell_progress, packing, &message);
	else
		status = atf_index_pack(packer, index, segment->anew, tell_progress, packing, &message);
	if (!status)
		status = compare(index, segment->anew, &message);
	if (status) {
		unlink(segment->anew);
		return fail(error, segment->from, status, &message);
	}
	packing->events += atf_index_count(index);
	return take_place(packing, segment, directory, error);
}

/* Of a segment that is as it should be; or nearly. Where both files are there, an earlier run ended before the old one was gone. */
static int pass(struct ada_packing *packing, struct atf_index_packer *packer, const struct segment *segment, const struct atf_index *index,
		const char *directory, struct ada_error *error)
{
	int status = packing->unpack ? 0 : atf_index_pass(packer, index);

	if (status)
		return fail(error, segment->from, status, &(struct atf_message){ "" });
	if (!packing->unpack && atf_index_is_raw(index))
		return convert(packing, packer, segment, index, directory, error);
	tell_progress(packing, atf_index_count(index));
	return 0;
}

static int convert_segment(struct ada_packing *packing, struct atf_index_packer *packer, const char *directory, uint32_t number,
			   struct ada_error *error)
{
	struct atf_message message = { "" };
	struct segment segment;
	struct atf_index *index;
	bool is_done;
	int status;

	if (atf_index_path(segment.plain, sizeof segment.plain, directory, number) ||
	    atf_packed_path(segment.packed, sizeof segment.packed, directory, number))
		return ada_error_system(error, ENAMETOOLONG, "%s", directory);
	is_done = packing->unpack == !access(segment.plain, F_OK); /* the plain one counts where both are there */
	segment.to = packing->unpack ? segment.plain : segment.packed;
	segment.from = is_done ? segment.to : packing->unpack ? segment.packed : segment.plain;
	if (ada_path(segment.anew, "%s.tmp", segment.to))
		return ada_error_system(error, ENAMETOOLONG, "%s", directory);
	if (is_done && packing->unpack && unlink(segment.packed) && errno != ENOENT)
		return ada_error_system(error, errno, "%s", segment.packed);
	status = atf_index_open(&index, segment.from, &message);
	if (status)
		return fail(error, segment.from, status, &message);
	if (is_done)
		status = pass(packing, packer, &segment, index, directory, error);
	else
		status = convert(packing, packer, &segment, index, directory, error);
	atf_index_close(index);
	return status;
}

static int convert_thread(struct ada_packing *packing, const struct ada_thread *thread, struct ada_error *error)
{
	struct atf_index_packer packer;
	char directory[PATH_MAX];
	int status = 0;

	if (!thread->events)
		return 0;
	if (ada_path(directory, "%s/thread_%u", thread->process->path, thread->number))
		return ada_error_system(error, ENAMETOOLONG, "%s", thread->process->path);
	if (atf_index_packer_open(&packer))
		return ada_error_system(error, ENOMEM, "%s", directory);
	for (uint32_t i = atf_thread_first_segment(thread->events); i < atf_thread_segments(thread->events) && !status; i++)
		status = convert_segment(packing, &packer, directory, i, error);
	atf_index_packer_close(&packer);
	return status;
}

/* The manifest names the files that are there. */
static int name_segments(const struct ada_process *process, struct ada_error *error)
{
	const json_object *threads = ada_json_get(process->manifest, "threads");
	char path[PATH_MAX], directory[PATH_MAX];

	for (size_t i = 0; i < ada_json_length(threads); i++) {
		const json_object *thread = json_object_array_get_idx(threads, i), *segments = ada_json_get(thread, "segments");
		uint32_t first = (uint32_t)ada_json_u64(thread, "firstSegment", 0);

		if (ada_path(directory, "%s/%s", process->path, ada_json_text(thread, "directory", "")))
			return ada_error_system(error, ENAMETOOLONG, "%s", process->path);
		for (size_t j = 0; j < ada_json_length(segments); j++) {
			json_object *segment = json_object_array_get_idx(segments, j);
			const char *name;

			if (!segment || atf_index_find(path, sizeof path, directory, first + (uint32_t)j))
				continue;
			name = strrchr(path, '/') + 1;
			json_object_object_add(segment, "file", json_object_new_string(name));
			json_object_object_del(segment, "packed");
			if (name[strlen(name) - 1] == 'p')
				json_object_object_add(segment, "packed", json_object_new_boolean(true));
		}
	}
	if (ada_path(path, "%s/manifest.json", process->path))
		return ada_error_system(error, ENAMETOOLONG, "%s", process->path);
	return ada_json_replace(path, json_object_get(process->manifest), error);
}

int ada_pack_session(struct ada_packing *packing, const struct ada_session *session, struct ada_error *error)
{
	uint64_t total = 0;
	int status = 0;

	for (size_t i = 0; i < session->threads.count; i++)
		total += session->threads.items[i].count;
	ada_progress_open(&packing->progress, packing->unpack ? "unpacking" : "packing", total);
	for (size_t i = 0; i < session->processes.count && !status; i++) {
		const struct ada_process *process = session->processes.items[i];

		if (!process->manifest || !process->finalized) {
			status = ada_error_set(error, EBADMSG, "%s: it isn't finished: `ada recover` finishes it", process->path);
			break;
		}
		for (size_t j = 0; j < process->thread_count && !status; j++)
			status = convert_thread(packing, &session->threads.items[process->first_thread + j], error);
		/* Also where that failed: it names what is there. */
		if (packing->segments && name_segments(process, status ? &(struct ada_error){ "" } : error) && !status)
			status = -EIO;
	}
	ada_progress_close(&packing->progress);
	return status;
}

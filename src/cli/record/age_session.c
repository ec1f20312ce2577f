/* The oldest segments of a session, folded into totals: see age_session.h.
 *
 *   index.atf index.1.atf index.2.atf           chosen: index.atf and index.1.atf
 *   totals    index.atf ...                     totals is renamed into its place, on the disk: from here on both count there alone
 *   totals    index.2.atf                       they go; then the manifest says so
 */
#include "cli/record/age_session.h"
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "atf/session/thread.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "cli/record/fold.h"
#include "recorder/files/json.h"

struct track { /* of a thread */
	const struct ada_thread *thread;
	char directory[PATH_MAX];
	uint32_t first, border; /* the first segment that is there, and the first that stays */
};

static int fail_memory(struct ada_error *error, const char *path)
{
	return ada_error_system(error, ENOMEM, "%s", path);
}

/* --- which go ------------------------------------------------------------------------------------------------------------- */

static uint64_t walked;

static int add_size(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	walked += type == FTW_F ? (uint64_t)status->st_size : 0;
	return 0;
}

static uint64_t session_bytes(const struct ada_session *session)
{
	walked = 0;
	nftw(session->path, add_size, 16, FTW_PHYS);
	return walked;
}

static uint64_t segment_bytes(const struct track *track, uint32_t number)
{
	struct stat status;
	char path[PATH_MAX];

	return atf_index_find(path, sizeof path, track->directory, number) || stat(path, &status) ? 0 : (uint64_t)status.st_size;
}

/* The time of the last event of the segment that would go next; UINT64_MAX: it stays. */
static uint64_t next_end(const struct track *track)
{
	const struct atf_thread *events = track->thread->events;
	const struct atf_index *index;
	char detail[PATH_MAX];
	uint64_t count, run;

	if (track->border + 1 >= atf_thread_segments(events) || atf_detail_path(detail, sizeof detail, track->directory, track->border) ||
	    !access(detail, F_OK))
		return UINT64_MAX;
	index = atf_thread_segment(events, track->border);
	count = atf_index_count(index);
	return count ? atf_index_run(index, count - 1, &run)->timestamp_ns : 0;
}

static uint64_t last_ns(const struct ada_session *session)
{
	return ada_session_last_ns(session, 0, session->threads.count);
}

/* Moves borders, the oldest segment first, until what is left is small and young enough. */
static void move_borders(struct ada_aging *aging, const struct ada_session *session, struct track *tracks, size_t count)
{
	uint64_t bytes = session_bytes(session), end = last_ns(session);
	uint64_t oldest_ns = end > aging->max_age_ns ? end - aging->max_age_ns : 0;

	for (;;) {
		uint64_t best_ns = UINT64_MAX;
		size_t best = 0;

		for (size_t i = 0; i < count; i++) {
			uint64_t ns = tracks[i].thread->events ? next_end(&tracks[i]) : UINT64_MAX;

			best = ns < best_ns ? i : best;
			best_ns = ns < best_ns ? ns : best_ns;
		}
		if (best_ns == UINT64_MAX || (bytes <= aging->disk_limit && best_ns >= oldest_ns))
			return;
		bytes -= segment_bytes(&tracks[best], tracks[best].border);
		tracks[best].border++;
	}
}

/* --- a thread ------------------------------------------------------------------------------------------------------------- */

/* Segments before `border` have gone into totals: their files go, also those that an earlier run left. */
static int remove_segments(struct ada_aging *aging, const struct track *track, uint32_t border, struct ada_error *error)
{
	char path[PATH_MAX];

	for (uint32_t i = 0; i < border; i++) {
		aging->bytes += segment_bytes(track, i);
		for (int packed = 0; packed < 2; packed++) {
			if ((packed ? atf_packed_path : atf_index_path)(path, sizeof path, track->directory, i))
				return ada_error_system(error, ENAMETOOLONG, "%s", track->directory);
			if (unlink(path) && errno != ENOENT)
				return ada_error_system(error, errno, "%s", path);
		}
		aging->segments += i >= track->first;
	}
	return 0;
}

static int age_thread(struct ada_aging *aging, const struct track *track, struct ada_error *error)
{
	uint64_t to = 0;
	int status;

	for (uint32_t i = track->first; i < track->border; i++)
		to += atf_index_count(atf_thread_segment(track->thread->events, i));
	status = ada_fold_thread(track->thread, track->directory, track->border, NULL, error);
	if (status)
		return status;
	aging->events += to;
	return remove_segments(aging, track, track->border, error);
}

/* The manifest says what is there now. */
static int tell_manifest(const struct track *track)
{
	json_object *entry = (json_object *)track->thread->entry, *segments = NULL;
	uint32_t listed = (uint32_t)ada_json_u64(entry, "firstSegment", 0);
	AtfTotalsHeader *totals;

	if (!entry || !json_object_object_get_ex(entry, "segments", &segments) || atf_totals_read(&totals, track->directory) || !totals)
		return 0;
	if (totals->first_segment > listed)
		json_object_array_del_idx(segments, 0, totals->first_segment - listed);
	ada_json_count(entry, "firstSegment", totals->first_segment);
	ada_json_count(entry, "aged", totals->calls + totals->ends);
	free(totals);
	return 1;
}

/* The sum of its threads'. */
static void tell_lane(const struct ada_process *process)
{
	const json_object *threads = ada_json_get(process->manifest, "threads");
	json_object *lane = (json_object *)ada_json_get(process->manifest, "index_lane");
	uint64_t aged = 0;

	for (size_t i = 0; i < ada_json_length(threads); i++)
		aged += ada_json_u64(json_object_array_get_idx(threads, i), "aged", 0);
	if (lane)
		ada_json_count(lane, "aged", aged);
}

static int tell_manifests(const struct ada_session *session, const struct track *tracks, struct ada_error *error)
{
	char path[PATH_MAX];
	int status = 0;

	for (size_t i = 0; i < session->processes.count && !status; i++) {
		const struct ada_process *process = session->processes.items[i];
		int changed = 0;

		for (size_t j = 0; j < process->thread_count; j++)
			changed |= tell_manifest(&tracks[process->first_thread + j]);
		if (!changed)
			continue;
		tell_lane(process);
		if (ada_path(path, "%s/manifest.json", process->path))
			return ada_error_system(error, ENAMETOOLONG, "%s", process->path);
		status = ada_json_replace(path, json_object_get(process->manifest), error);
	}
	return status;
}

static int open_tracks(struct track *tracks, const struct ada_session *session, struct ada_error *error)
{
	for (size_t i = 0; i < session->threads.count; i++) {
		const struct ada_thread *thread = &session->threads.items[i];

		tracks[i].thread = thread;
		if (!thread->process->manifest || !thread->process->finalized)
			return ada_error_set(error, EBADMSG, "%s: it isn't finished: `ada recover` finishes it", thread->process->path);
		if (ada_path(tracks[i].directory, "%s/thread_%u", thread->process->path, thread->number))
			return ada_error_system(error, ENAMETOOLONG, "%s", thread->process->path);
		if (thread->events)
			tracks[i].first = tracks[i].border = atf_thread_first_segment(thread->events);
	}
	return 0;
}

int ada_age_session(struct ada_aging *aging, struct ada_session *session, struct ada_error *error)
{
	struct track *tracks = calloc(session->threads.count + 1, sizeof *tracks);
	int status = tracks ? open_tracks(tracks, session, error) : fail_memory(error, session->path);

	if (!status && session->problems.count)
		status = ada_error_set(error, EBADMSG, "%s", session->problems.items[0]);
	if (!status)
		move_borders(aging, session, tracks, session->threads.count);
	for (size_t i = 0; i < session->threads.count && !status; i++) {
		if (tracks[i].border > tracks[i].first)
			status = age_thread(aging, &tracks[i], error);
		else if (tracks[i].thread->events && tracks[i].first)
			status = remove_segments(aging, &tracks[i], tracks[i].first, error);
		if (!status && ada_interrupted())
			status = ada_error_set(error, EINTR, "interrupted: the same command goes on");
	}
	if (tracks && tracks[0].thread) {
		struct ada_error other = { "" };
		int told = tell_manifests(session, tracks, status ? &other : error);

		status = status ? status : told;
	}
	aging->left = session_bytes(session);
	free(tracks);
	return status;
}

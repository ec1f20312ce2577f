#include "query/tally/sums.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>
#include "atf/session/thread.h"
#include "base/file.h"
#include "query/session/selection.h"
#include "query/tally/parts.h"
#include "query/tally/totals.h"

static int path_of(char *path, const struct ada_thread *thread, struct ada_error *error)
{
	char directory[PATH_MAX];

	if (ada_path(directory, "%s/thread_%u", thread->process->path, thread->number) || atf_sums_path(path, PATH_MAX, directory))
		return ada_error_system(error, ENAMETOOLONG, "%s", thread->process->path);
	return 0;
}

/* --- made ---------------------------------------------------------------------------------------------------------------- */

/* Of what is plain a page holds so few events that the disk is what takes the time, and its reports are not worth more files. */
static bool is_wanted(const struct ada_thread *thread, uint64_t least)
{
	const struct atf_thread *events = thread->events;
	uint32_t segments = events ? atf_thread_segments(events) : 0;

	return segments && thread->count - atf_thread_live(events) >= least && atf_thread_segment(events, segments - 1)->packed;
}

/* So many events are joined: all those before *to. */
static bool is_ahead(const struct ada_track *track, uint64_t *to)
{
	if (!track->joined || track->tally.result)
		return false;
	*to = track->parts[track->joined - 1].piece.to;
	return *to > track->from;
}

static int write_track(const struct ada_track *track, uint64_t to, struct ada_error *error)
{
	const struct atf_thread *events = track->thread->events;
	const AtfTotalsHeader *totals = atf_thread_totals(events);
	uint64_t live = atf_thread_live(events);
	AtfTotalsHeader header = { .thread_id = track->thread->tid,
				   .event_count = to - live + (totals ? totals->event_count : 0),
				   .told = track->tally.lost,
				   .time_start_ns = totals ? totals->time_start_ns : atf_thread_get(events, live)->timestamp_ns };
	char path[PATH_MAX];
	uint8_t *bytes;
	size_t size;
	int status = path_of(path, track->thread, error);

	if (status)
		return status;
	status = ada_totals_make(&track->tally, &header, &bytes, &size);
	if (status)
		return ada_error_system(error, -status, "%s", path);
	status = ada_file_replace(path, bytes, size, error);
	free(bytes);
	return status;
}

static int write_tracks(const struct ada_job *job, struct ada_error *error)
{
	uint64_t to;
	int status = 0;

	for (size_t i = 0; i < job->track_count && !status; i++)
		if (is_ahead(&job->tracks[i], &to))
			status = write_track(&job->tracks[i], to, error);
	return status;
}

static int select_threads(struct ada_selection *selection, uint64_t least)
{
	const struct ada_session *session = selection->session;
	int status = 0;

	for (size_t i = 0; i < session->threads.count && !status; i++)
		if (is_wanted(&session->threads.items[i], least))
			status = ada_array_push(&selection->threads, &session->threads.items[i]);
	return status;
}

int ada_sums_write(const struct ada_session *session, const struct ada_sums_how *how, struct ada_error *error)
{
	struct ada_selection selection = { .session = session, .to_ns = UINT64_MAX };
	struct ada_job job = { .piece_events = how->piece_events ? how->piece_events : ADA_PARTS_PIECE,
			       .stays = true,
			       .until_ns = how->until_ns,
			       .work.progress = how->progress };
	struct ada_counter none = {};
	int status = select_threads(&selection, how->least);

	if (!status)
		status = ada_job_open(&job, &selection);
	if (!status)
		status = ada_job_run(&job, &none);
	if (status == -EINTR)
		status = ada_error_set(error, EINTR, "interrupted");
	else if (status && status != -EBADMSG) /* of a block that contradicts itself whoever reads it will hear */
		status = ada_error_system(error, -status, "%s", session->path);
	else if (!status)
		status = write_tracks(&job, error);
	ada_counter_close(&none);
	ada_job_close(&job);
	ada_array_free(&selection.threads);
	return status == -EBADMSG ? 0 : status;
}

/* --- gone ---------------------------------------------------------------------------------------------------------------- */

int ada_sums_remove(const struct ada_session *session, struct ada_error *error)
{
	char path[PATH_MAX];
	int status = 0;

	for (size_t i = 0; i < session->threads.count && !status; i++) {
		status = path_of(path, &session->threads.items[i], error);
		if (!status && unlink(path) && errno != ENOENT)
			status = ada_error_system(error, errno, "%s", path);
	}
	return status;
}

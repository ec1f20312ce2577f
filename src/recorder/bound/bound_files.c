/* Measures the session, and lets segments go, with their detail: what the bound's own thread does. */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "atf/pack/packed.h"
#include "atf/session/thread.h"
#include "base/file.h"
#include "recorder/bound/bound.h"

#define FILE_MIN 4096u

static struct ada_bound_size walked; /* nftw hands nothing through; one thread measures */

static bool may_go(const char *name)
{
	static const char *const kinds[] = { "index", "kept", "detail", "sched", "samples" };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strncmp(name, kinds[i], strlen(kinds[i])))
			return true;
	return false;
}

static int add_size(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	uint64_t bytes = type == FTW_F ? (uint64_t)status->st_blocks * 512 : 0;

	walked.bytes += bytes;
	walked.lasting += bytes > FILE_MIN && may_go(path + walk->base) ? 0 : bytes;
	return 0;
}

struct ada_bound_size ada_bound_measure(const char *session)
{
	walked = (struct ada_bound_size){};
	nftw(session, add_size, 16, FTW_PHYS);
	return walked;
}

static uint64_t size_of(const char *path)
{
	struct stat status;

	return stat(path, &status) ? 0 : (uint64_t)status.st_blocks * 512;
}

static void remove_file(struct ada_bound_job *job, const char *path)
{
	uint64_t bytes = size_of(path);

	job->freed += unlink(path) ? 0 : bytes;
}

/* A thread has a segment always: one without events, where all of its have gone. */
static int make_empty(const struct ada_bound_job *job)
{
	struct atf_pack_writer *writer;
	char path[PATH_MAX];
	int status;

	if (atf_packed_path(path, sizeof path, job->directory, job->border))
		return -ENAMETOOLONG;
	unlink(path); /* of a try that failed */
	status = atf_pack_writer_open(&writer, path, job->tid, ATF_ARCH_X86_64);
	status = status ? status : atf_pack_writer_close(writer, 0);
	return status == -ATF_ERROR_SYSTEM ? -errno : status ? -ENOMEM : 0;
}

/* In the place of a detail file that goes while its segment stays, whose header names it. */
static bool empty_detail(const struct ada_bound_job *job, const char *path)
{
	struct atf_detail_options options = { .thread_id = job->tid, .arch = ATF_ARCH_X86_64 };
	struct atf_detail_writer *writer;
	char made[PATH_MAX];

	if (ada_path(made, "%s.tmp", path))
		return false;
	unlink(made); /* of a try that failed */
	return !atf_detail_writer_open(&writer, made, &options) && !atf_detail_writer_close(writer) && !rename(made, path);
}

/* How many records of each window go with the file. */
static void remove_detail(struct ada_bound_job *job, uint32_t segment)
{
	struct atf_detail_file *file;
	AtfDetailWindow window;
	char path[PATH_MAX];

	if (atf_detail_path(path, sizeof path, job->directory, segment) || access(path, F_OK))
		return;
	if (!atf_detail_open(&file, path, NULL)) {
		for (uint64_t i = 0; !atf_detail_window(file, i, &window); i++)
			ada_array_push(&job->records, ((struct ada_bound_records){ window.window_id, window.event_count }));
		atf_detail_close(file);
	}
	if (job->what != ADA_BOUND_DETAIL || !empty_detail(job, path))
		remove_file(job, path);
}

/* Its detail stays where it is. False: it can't be kept. */
static bool segment_keep(const struct ada_bound_job *job, struct ada_bound_segment *segment)
{
	char path[PATH_MAX], kept[PATH_MAX], detail[PATH_MAX];

	if (atf_packed_path(path, sizeof path, job->directory, segment->segment) ||
	    atf_kept_path(kept, sizeof kept, job->directory, segment->segment) ||
	    atf_detail_path(detail, sizeof detail, job->directory, segment->segment) || rename(path, kept))
		return false;
	segment->bytes = size_of(kept) + size_of(detail);
	return true;
}

/* Detail first: a segment that has some is kept where a crash leaves it (recover/aged.c). */
static void remove_segment(struct ada_bound_job *job, uint32_t i)
{
	char path[PATH_MAX];

	if (job->keeps[i] && segment_keep(job, &job->segments[i]))
		return;
	job->keeps[i] = false;
	remove_detail(job, job->segments[i].segment);
	if (!atf_index_find(path, sizeof path, job->directory, job->segments[i].segment))
		remove_file(job, path);
}

void ada_bound_job_do(ada_fold *fold, struct ada_bound_job *job)
{
	char path[PATH_MAX];

	if (job->what != ADA_BOUND_AGE) {
		remove_detail(job, job->segments[0].segment);
		if (job->what == ADA_BOUND_DROP && !atf_kept_path(path, sizeof path, job->directory, job->segments[0].segment))
			remove_file(job, path);
		return;
	}
	job->status = job->last ? make_empty(job) : 0;
	if (job->status)
		ada_error_system(&job->error, -job->status, "%s", job->directory);
	else
		job->status = fold(job->directory, job->border, &job->folded, &job->error);
	for (uint32_t i = 0; i < job->count && !job->status; i++)
		remove_segment(job, i);
}

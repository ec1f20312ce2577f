/* ada pack, ada unpack [SESSION]: a finished recording in some half a byte an event, and back. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "cli/ground/answer.h"
#include "cli/ground/live.h"
#include "cli/record/age_session.h"
#include "cli/record/commands.h"
#include "cli/record/pack_session.h"
#include "query/tally/sums.h"

static const struct ada_usage pack_usage = {
	"[SESSION]",
	"Packs the events of a finished session: the same in about a fiftieth of the bytes. Every command reads it as before."
	"\vEach file is compared with what it was before it takes its place. What ends this half-way loses nothing: the same command goes on.",
};
static const struct ada_usage unpack_usage = {
	"[SESSION]",
	"Unpacks the events of a session, byte for byte as they were before `ada pack`."
	"\vEach file is compared with what it was before it takes its place. What ends this half-way loses nothing: the same command goes on.",
};

static int lock_session(const struct ada_live *live, struct ada_error *error)
{
	pid_t recorder = ada_live_recorder(live);
	int fd;

	if (recorder)
		return ada_error_set(error, EBUSY, "session %s is still being recorded, by process %d: `ada stop` ends that", live->session,
				     (int)recorder);
	fd = open(live->session, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return ada_error_system(error, errno, "%s", live->session);
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return ada_error_set(error, EBUSY, "session %s: another process has it, which records, recovers or packs it",
				     live->session);
	}
	return fd;
}

static int finish(const struct ada_packing *packing, const struct ada_session *session)
{
	char before[ADA_UNITS_TEXT], after[ADA_UNITS_TEXT], count[ADA_UNITS_TEXT];

	if (!packing->segments) {
		printf("%s: nothing to %s\n", session->path, packing->unpack ? "unpack" : "pack");
		return 0;
	}
	printf("%s: %llu segment%s, %s events: %s, were %s", session->path, (unsigned long long)packing->segments,
	       packing->segments == 1 ? "" : "s", ada_format_count(packing->events, count), ada_format_size(packing->bytes_after, after),
	       ada_format_size(packing->bytes_before, before));
	if (packing->events)
		printf("; %.3g bytes an event", (double)packing->bytes_after / (double)packing->events);
	printf("\n");
	return 0;
}

static void tell_aging(const struct ada_aging *aging, const struct ada_session *session)
{
	char events[ADA_UNITS_TEXT], bytes[ADA_UNITS_TEXT], left[ADA_UNITS_TEXT];

	printf("%s: %llu segment%s, %s events, went into totals: %s; %s left", session->path, (unsigned long long)aging->segments,
	       aging->segments == 1 ? "" : "s", ada_format_count(aging->events, events), ada_format_size(aging->bytes, bytes),
	       ada_format_size(aging->left, left));
	printf("%s\n",
	       aging->left > aging->disk_limit ? ", more than asked: a thread's last segment stays, and what is behind detail" : "");
}

/* Its files are others now. *session is NULL where that fails. */
static int reopen(struct ada_session **session, const char *path, struct ada_error *error)
{
	ada_session_close(*session);
	*session = NULL;
	return ada_session_open(session, path, error);
}

/* What the threads add up to is written beside them, for reports; where bytes are asked for, they are for events. */
static int sum_up(const struct ada_options *options, const char *path, struct ada_session **session, struct ada_error *error)
{
	struct ada_progress progress;
	int status;

	if (options->disk_limit || options->max_age_ns)
		return 0;
	status = reopen(session, path, error);
	if (status)
		return status;
	ada_progress_open(&progress, "adding up", 0);
	status = ada_sums_write(*session, &(struct ada_sums_how){ .least = ADA_SUMS_LEAST, .progress = &progress }, error);
	ada_progress_close(&progress);
	return status;
}

/* Lets segments go as asked, and tells. */
static int age(const struct ada_options *options, const char *path, struct ada_session **session, struct ada_error *error)
{
	struct ada_aging aging = { .disk_limit = options->disk_limit ? options->disk_limit : UINT64_MAX,
				   .max_age_ns = options->max_age_ns ? options->max_age_ns : UINT64_MAX };
	uint64_t went;
	int status;

	if (!options->disk_limit && !options->max_age_ns)
		return 0;
	do {
		went = aging.segments;
		status = ada_age_session(&aging, *session, error);
		if (status || aging.left <= aging.disk_limit || went == aging.segments)
			break;
		/* Totals have grown by more than was to spare. */
		status = reopen(session, path, error);
	} while (!status);
	if (!status)
		tell_aging(&aging, *session);
	return status;
}

static int run(const struct ada_usage *usage, bool unpack, int argc, char **argv)
{
	struct ada_packing packing = { .unpack = unpack };
	struct ada_session *session = NULL;
	struct ada_options options = {};
	struct ada_error error = { "" };
	struct ada_live live;
	int status, lock = -1;

	ada_options_take(&options, usage, argc, argv);
	ada_fault_catch();
	status = ada_live_locate(&live, options.session, &error);
	if (!status)
		status = lock = lock_session(&live, &error);
	if (status >= 0)
		status = ada_session_open(&session, live.session, &error);
	if (!status) {
		ada_interrupt_catch();
		status = ada_pack_session(&packing, session, &error);
	}
	if (!status)
		status = unpack ? ada_sums_remove(session, &error) : sum_up(&options, live.session, &session, &error);
	if (!status)
		status = finish(&packing, session);
	if (!status)
		status = age(&options, live.session, &session, &error);
	if (status)
		ada_answer_fail(argv[0], &error);
	if (status)
		status = ada_interrupted() ? ada_interrupt_status() : ADA_EXIT_FAILED;
	if (!status && session)
		status = ada_answer_fault(argv[0], session);
	ada_session_close(session);
	if (lock >= 0)
		close(lock);
	return status;
}

int ada_cmd_pack(int argc, char **argv)
{
	return run(&pack_usage, false, argc, argv);
}

int ada_cmd_unpack(int argc, char **argv)
{
	return run(&unpack_usage, true, argc, argv);
}

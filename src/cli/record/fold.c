#include "cli/record/fold.h"
#include <errno.h>
#include <stdlib.h>
#include "atf/session/thread.h"
#include "base/file.h"
#include "query/tally/totals.h"

/* What was read goes on top of what went before. */
static void make_header(AtfTotalsHeader *header, const struct ada_thread *thread, uint64_t to, const struct ada_kinds *kinds)
{
	const AtfTotalsHeader *before = atf_thread_totals(thread->events);
	uint64_t live = atf_thread_live(thread->events);
	const struct ada_event *first = before ? NULL : atf_thread_get(thread->events, live);

	*header = before ? *before : (AtfTotalsHeader){ .time_start_ns = first ? first->timestamp_ns : 0 };
	header->calls += kinds->calls;
	header->ends += kinds->ends;
	header->gaps += kinds->gaps;
	header->told += kinds->told;
	header->event_count += to - live;
}

/* All that the thread did before `to`, where the segment `border` begins. */
static int make_totals(const struct ada_thread *thread, uint32_t border, uint64_t to, AtfTotalsHeader *header, uint8_t **bytes,
		       size_t *size)
{
	struct ada_work work = {};
	struct ada_kinds kinds = {};
	struct ada_counter counter;
	struct ada_tally tally;
	int result = ada_counter_open(&counter);

	if (result)
		return result;
	ada_counter_process(&counter, thread->process);
	ada_tally_open(&tally, &counter, thread, &work);
	tally.kinds = &kinds;
	result = ada_totals_take(&tally, true);
	if (!result)
		ada_tally_read(&tally, atf_thread_live(thread->events), to);
	result = result ? result : tally.result;
	make_header(header, thread, to, &kinds);
	header->thread_id = thread->tid;
	header->first_segment = border;
	if (!result)
		result = ada_totals_make(&tally, header, bytes, size);
	ada_tally_close(&tally);
	ada_counter_close(&counter);
	return result;
}

static struct ada_folded folded_of(const AtfTotalsHeader *header)
{
	return (struct ada_folded){ .aged = header->calls + header->ends, .until_ns = header->time_end_ns };
}

int ada_fold_thread(const struct ada_thread *thread, const char *directory, uint32_t border, struct ada_folded *folded,
		    struct ada_error *error)
{
	AtfTotalsHeader header;
	char path[PATH_MAX];
	uint64_t to = atf_thread_live(thread->events);
	uint8_t *bytes;
	size_t size;
	int status;

	for (uint32_t i = atf_thread_first_segment(thread->events); i < border; i++)
		to += atf_index_count(atf_thread_segment(thread->events, i));
	if (atf_totals_path(path, sizeof path, directory))
		return ada_error_system(error, ENAMETOOLONG, "%s", directory);
	status = make_totals(thread, border, to, &header, &bytes, &size);
	if (status)
		return ada_error_system(error, -status, "%s", path);
	status = ada_file_replace(path, bytes, size, error);
	free(bytes);
	if (!status && folded)
		*folded = folded_of(&header);
	return status;
}

int ada_fold_closed(const char *directory, uint32_t border, struct ada_folded *folded, struct ada_error *error)
{
	/* No sum asks for names: functions count by their ids. */
	struct ada_session session = {};
	struct ada_process process = { .session = &session };
	struct ada_thread thread = { .process = &process };
	struct atf_message message;
	int status = atf_thread_open_closed(&thread.events, directory, border, &message);

	if (status)
		return ada_error_set(error, status == -ATF_ERROR_MEMORY ? ENOMEM : EBADMSG, "%s", message.text);
	if (atf_thread_first_segment(thread.events) >= border) { /* an earlier try came so far */
		*folded = folded_of(atf_thread_totals(thread.events));
	} else {
		thread.count = atf_thread_count(thread.events);
		thread.tid = atf_index_header(atf_thread_segment(thread.events, border - 1))->thread_id;
		status = ada_fold_thread(&thread, directory, border, folded, error);
	}
	atf_thread_close(thread.events);
	return status;
}

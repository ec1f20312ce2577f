/* Selections: from what the user wrote to threads and times. */
#include "query/session/selection.h"
#include "query/session/stretch.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "atf/session/thread.h"
#include "query/session/windows.h"

enum { BY_NUMBER, BY_TID, BY_NAME, WAYS };

static bool thread_is(const struct ada_thread *thread, const char *text, int way)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (way == BY_NAME)
		return !strcmp(thread->name, text);
	if (end == text || *end)
		return false;
	return number == (way == BY_NUMBER ? thread->number : thread->tid);
}

/* Threads stand in the session's order, but where the user named several. */
bool ada_selection_has(const struct ada_selection *selection, const struct ada_thread *thread)
{
	size_t at;

	if (selection->threads.count == selection->session->threads.count)
		return true;
	at = ada_first_not(i, 0, selection->threads.count, selection->threads.items[i] < thread);
	if (at < selection->threads.count && selection->threads.items[at] == thread)
		return true;
	for (size_t i = 0; i < selection->threads.count; i++)
		if (selection->threads.items[i] == thread)
			return true;
	return false;
}

/* Adds the threads that `text` means, by the first reading of it that finds something: thread numbers are few and small, OS thread ids
 * rarely are. False in *found: none. */
static int add_threads(struct ada_selection *selection, const char *text, bool *found)
{
	const struct ada_session *session = selection->session;
	int result = 0;

	*found = false;
	for (int way = 0; way < WAYS && !*found; way++)
		for (size_t i = 0; i < session->threads.count && !result; i++) {
			struct ada_thread *thread = &session->threads.items[i];

			if (!thread_is(thread, text, way))
				continue;
			*found = true;
			if (!ada_selection_has(selection, thread))
				result = ada_array_push(&selection->threads, thread);
		}
	return result;
}

/* `text`: names with commas between them. */
static int add_several(struct ada_selection *selection, const char *text, struct ada_error *error)
{
	char one[128];
	bool found;

	for (;;) {
		size_t length = strcspn(text, ",");

		snprintf(one, sizeof one, "%.*s", (int)(length < sizeof one ? length : sizeof one - 1), text);
		if (add_threads(selection, one, &found))
			return ada_error_system(error, ENOMEM, "%s", selection->session->path);
		if (!found)
			return ada_error_set(error, EINVAL, "no thread '%s' in %s: `ada info` lists them", one, selection->session->path);
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

static int select_threads(struct ada_selection *selection, const char *text, struct ada_error *error)
{
	const struct ada_session *session = selection->session;
	bool found = false;
	int result = 0;

	for (size_t i = 0; !text && i < session->threads.count && !result; i++)
		result = ada_array_push(&selection->threads, &session->threads.items[i]);
	if (text)
		result = add_threads(selection, text, &found); /* a name may hold a comma */
	if (result)
		return ada_error_system(error, ENOMEM, "%s", session->path);
	return text && !found ? add_several(selection, text, error) : 0;
}

int ada_selection_open(struct ada_selection *selection, const struct ada_session *session, const char *thread, const char *from,
		       const char *to, struct ada_error *error)
{
	int result = 0;

	*selection = (struct ada_selection){ .session = session, .to_ns = UINT64_MAX };
	if (from)
		result = ada_clock_view_parse(&session->view, session, from, &selection->from_ns, error);
	if (!result && to)
		result = ada_clock_view_parse(&session->view, session, to, &selection->to_ns, error);
	if (!result && selection->from_ns >= selection->to_ns)
		result = ada_error_set(error, EINVAL, "--from=%s is not before --to=%s", from ? from : "0", to);
	if (!result)
		result = select_threads(selection, thread, error);
	if (result)
		ada_selection_close(selection);
	return result;
}

int ada_selection_narrow(struct ada_selection *selection, uint64_t number, struct ada_error *error)
{
	const struct ada_session *session = selection->session;
	const struct ada_recorded_window *window;
	size_t kept = 0;

	if (!session->windows.count)
		return ada_error_set(error, EINVAL, "no window %llu in %s: it has none", (unsigned long long)number, session->path);
	if (number >= session->windows.count)
		return ada_error_set(error, EINVAL, "no window %llu in %s: they are 0 to %zu, `ada windows` lists them",
				     (unsigned long long)number, session->path, session->windows.count - 1);
	window = &session->windows.items[number];
	if (window->start_ns > selection->from_ns)
		selection->from_ns = window->start_ns;
	/* Its end belongs to it. */
	if (window->end_ns < selection->to_ns)
		selection->to_ns = window->end_ns + 1;
	if (selection->from_ns >= selection->to_ns)
		return ada_error_set(error, EINVAL, "window %llu lies outside of --from and --to", (unsigned long long)number);
	for (size_t i = 0; i < selection->threads.count; i++)
		if (selection->threads.items[i]->process == window->process)
			selection->threads.items[kept++] = selection->threads.items[i];
	selection->threads.count = kept;
	return 0;
}

void ada_selection_close(struct ada_selection *selection)
{
	ada_array_free(&selection->threads);
}

void ada_selection_range(const struct ada_selection *selection, const struct ada_thread *thread, uint64_t *first, uint64_t *end)
{
	*first = *end = 0;
	if (!thread->events)
		return;
	*first = selection->from_ns ? atf_thread_lower_bound(thread->events, selection->from_ns) : 0;
	*end = selection->to_ns == UINT64_MAX ? thread->count : atf_thread_lower_bound(thread->events, selection->to_ns);
	if (*first > *end) /* the file changed in between */
		*first = *end;
}

/* Share of the selection's events that have detail. */
static double detail_coverage(const struct ada_selection *selection)
{
	uint64_t events = 0, records = 0, first, end;

	for (size_t i = 0; i < selection->threads.count; i++)
		records += ada_thread_details(selection->threads.items[i], selection->from_ns, selection->to_ns);
	for (size_t i = 0; i < selection->threads.count && records; i++) {
		ada_selection_range(selection, selection->threads.items[i], &first, &end);
		events += end - first;
	}
	return events ? (double)records / events : 0;
}

double ada_selection_coverage(const struct ada_selection *selection, uint64_t first, uint64_t end)
{
	uint64_t events = 0, records = 0, from, to;

	for (size_t i = 0; i < selection->threads.count; i++) {
		const struct ada_thread *thread = selection->threads.items[i];

		ada_selection_range(selection, thread, &from, &to);
		from = from > first ? from : first;
		to = to < end ? to : end;
		if (from >= to)
			continue;
		events += to - from;
		records += ada_thread_details_at(thread, from, to);
	}
	return events ? (double)records / events : 0;
}

uint64_t ada_process_details(const struct ada_process *process)
{
	const json_object *lane = ada_json_get(process->manifest, "detail_lane");
	uint64_t records = 0;

	if (process->finalized && ada_json_get(lane, "event_count"))
		return ada_json_u64(lane, "event_count", 0);
	for (size_t i = 0; i < process->thread_count; i++)
		records += ada_thread_details(&process->session->threads.items[process->first_thread + i], 0, UINT64_MAX);
	return records;
}

/* Of all threads and times. */
static double whole_coverage(const struct ada_session *session)
{
	uint64_t events = 0, records = 0;

	for (size_t i = 0; i < session->threads.count; i++)
		events += session->threads.items[i].count;
	for (size_t i = 0; i < session->processes.count; i++)
		records += ada_process_details(session->processes.items[i]);
	return events ? (double)records / events : 0;
}

/* Programs of which there is nothing. */
static size_t not_recorded(const struct ada_session *session)
{
	return ada_json_length(ada_json_get(session->document, "notRecorded"));
}

static void set_muted(struct ada_completeness *answer, const struct ada_muted_sum *sum)
{
	double all = sum->calls + (double)answer->events / 2;

	answer->muted = sum->functions;
	answer->filtered = sum->filtered;
	answer->muted_share = all > 0 ? sum->calls / all : 0;
}

/* Threads of a process stand one behind the other. */
static void count_muted(const struct ada_selection *selection, struct ada_completeness *answer)
{
	const struct ada_process *last = NULL;
	struct ada_muted_sum sum = { 0 };

	for (size_t i = 0; i < selection->threads.count; i++) {
		if (selection->threads.items[i]->process != last)
			ada_process_count_muted(selection->threads.items[i]->process, selection->from_ns, selection->to_ns, &sum);
		last = selection->threads.items[i]->process;
	}
	set_muted(answer, &sum);
}

bool ada_selection_has_aged(const struct ada_selection *selection, const struct ada_thread *thread)
{
	const AtfTotalsHeader *totals = thread->events ? atf_thread_totals(thread->events) : NULL;

	return totals && selection->from_ns <= totals->time_start_ns && selection->to_ns > totals->time_end_ns;
}

/* What was found out of a process last: its threads stand one behind the other. */
struct kept {
	const struct ada_process *process; /* NULL: none was asked about */
	bool all;
};

/* Whether a window has kept all of this time. */
static bool is_kept(const struct ada_process *process, uint64_t from_ns, uint64_t to_ns)
{
	bool keeps = false;

	for (size_t i = 0; i < process->thread_count && !keeps; i++)
		keeps = ada_json_length(ada_json_get(process->session->threads.items[process->first_thread + i].entry, "kept"));
	for (size_t i = 0; i < process->window_count && keeps; i++) {
		const struct ada_recorded_window *window = &process->session->windows.items[process->first_window + i];

		if (!window->aged && window->marked_count && window->start_ns <= from_ns && to_ns - 1 <= window->end_ns)
			return true;
	}
	return false;
}

/* Calls and ends of a thread that have gone, and some of which are of this time. */
static uint64_t aged_of(const struct ada_thread *thread, uint64_t from_ns, uint64_t to_ns, struct kept *kept)
{
	const AtfTotalsHeader *totals = thread->events ? atf_thread_totals(thread->events) : NULL;

	if (!totals || from_ns > totals->time_end_ns || to_ns <= totals->time_start_ns)
		return 0;
	if (from_ns && kept->process != thread->process)
		*kept = (struct kept){ thread->process, is_kept(thread->process, from_ns, to_ns) };
	return from_ns && kept->all ? 0 : totals->calls + totals->ends;
}

/* Of the events that are missing in an answer. */
static uint64_t overwritten_of(const struct ada_thread *thread, uint64_t missing)
{
	return thread->overwritten < missing ? thread->overwritten : missing;
}

/* Recorded to its end, and all of its windows were written. */
static bool is_whole(const struct ada_process *process, struct ada_completeness *answer)
{
	answer->detail_lost += process->detail_lost;
	return process->complete && !process->detail_lost;
}

struct ada_completeness ada_selection_completeness(const struct ada_selection *selection, bool all, uint64_t events, const uint64_t *lost)
{
	const struct ada_session *session = selection->session;
	struct ada_completeness answer = { .events = events, .complete = !session->problems.count };
	bool whole_time = all && !selection->from_ns && selection->to_ns == UINT64_MAX;
	struct kept kept = {};

	for (size_t i = 0; i < selection->threads.count; i++) {
		const struct ada_thread *thread = selection->threads.items[i];

		/* Drops that no record stands for have no time: they count only in answers about all of the time. */
		uint64_t missing = whole_time && thread->lost > lost[i] ? thread->lost : lost[i];

		answer.lost += missing;
		answer.overwritten += overwritten_of(thread, missing);
		answer.aged += aged_of(thread, selection->from_ns, selection->to_ns, &kept);
		if (!thread->process->complete || thread->skipped)
			answer.complete = false;
	}
	for (size_t i = 0; i < session->processes.count && selection->threads.count == session->threads.count; i++)
		answer.complete &= is_whole(session->processes.items[i], &answer);
	if (selection->threads.count == session->threads.count)
		answer.complete &= !not_recorded(session);
	answer.complete &= !answer.lost && !answer.aged;
	count_muted(selection, &answer);
	if (selection->threads.count == session->threads.count && !selection->from_ns && selection->to_ns == UINT64_MAX)
		answer.detail_coverage = whole_coverage(session);
	else
		answer.detail_coverage = detail_coverage(selection);
	return answer;
}

static uint64_t count_lost(const struct ada_thread *thread)
{
	struct ada_stretch stretch = { .thread = thread, .to = thread->count };
	uint64_t lost = 0;

	while (ada_stretch_next(&stretch))
		for (uint64_t i = 0; i < stretch.count; i++)
			lost += stretch.events[i].event_kind == ADA_EVENT_LOST ? stretch.events[i].function_id : 0;
	return lost;
}

uint64_t ada_thread_lost(const struct ada_thread *thread)
{
	struct ada_session *session = thread->process->session;
	struct ada_thread *own = &session->threads.items[thread - session->threads.items];

	if (!thread->process->finalized && !thread->counted && thread->events) {
		uint64_t lost = count_lost(thread);

		own->lost = lost > own->lost ? lost : own->lost;
		own->counted = true; /* once: it reads all of it */
	}
	return own->lost;
}

struct ada_completeness ada_session_completeness(const struct ada_session *session)
{
	struct ada_completeness answer = { .complete = !session->problems.count };
	struct ada_muted_sum muted = { 0 };
	struct kept kept = {};

	for (size_t i = 0; i < session->threads.count; i++) {
		const struct ada_thread *thread = &session->threads.items[i];

		answer.events += thread->count;
		answer.lost += ada_thread_lost(thread);
		answer.overwritten += overwritten_of(thread, ada_thread_lost(thread));
		answer.aged += aged_of(&session->threads.items[i], 0, UINT64_MAX, &kept);
		answer.complete &= !session->threads.items[i].skipped;
	}
	for (size_t i = 0; i < session->processes.count; i++) {
		answer.complete &= is_whole(session->processes.items[i], &answer);
		ada_process_count_muted(session->processes.items[i], 0, UINT64_MAX, &muted);
	}
	set_muted(&answer, &muted);
	answer.complete &= !not_recorded(session) && !answer.lost && !answer.aged;
	answer.detail_coverage = whole_coverage(session);
	return answer;
}

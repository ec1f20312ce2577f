/* Reading sched.atf, once, into spells and faults by thread. */
#include "query/session/sched.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "atf/sched/sched_list.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/units.h"
#include "query/session/json.h"

struct ada_sched_view {
	struct atf_sched_list *list; /* NULL: there is none */
	uint64_t since_ns;	     /* what was known from the beginning on is known since then; 0: by its own first record */
	struct ada_table numbers;    /* by tid: positions in `threads` */
	ADA_ARRAY(struct ada_sched_thread *) threads;
};

static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER; /* one at a time: it is done once a session */

static struct ada_sched_thread *thread_of(struct ada_sched_view *view, const AtfSchedEvent *event)
{
	struct ada_sched_thread *thread;
	uint64_t number;

	if (ada_table_get(&view->numbers, event->thread_id, &number))
		return view->threads.items[number];
	thread = calloc(1, sizeof *thread);
	if (!thread)
		return NULL;
	/* Who leaves a CPU has been on it. Who comes to one waited, and nobody knows how. */
	thread->first_ns = event->kind != ATF_SCHED_ON && view->since_ns ? view->since_ns : event->timestamp_ns;
	if (!ada_table_put(&view->numbers, event->thread_id, view->threads.count) && !ada_array_push(&view->threads, thread))
		return thread;
	free(thread);
	return NULL;
}

static struct ada_off_cpu *last_spell(struct ada_sched_thread *thread)
{
	return thread->spells.count ? &thread->spells.items[thread->spells.count - 1] : NULL;
}

static int begin_spell(struct ada_sched_thread *thread, const struct ada_off_cpu *spell)
{
	const struct ada_off_cpu *last = last_spell(thread);
	struct ada_off_cpu next = *spell;

	next.to_ns = UINT64_MAX;
	next.before_ns = last ? last->before_ns + last->to_ns - last->from_ns : 0;
	return ada_array_push(&thread->spells, next);
}

static int take_faults(struct ada_sched_thread *thread, const AtfSchedEvent *event)
{
	const struct ada_faults *last = thread->faults.count ? &thread->faults.items[thread->faults.count - 1] : NULL;
	struct ada_faults next = { event->timestamp_ns, event->count, last ? last->before + last->count : 0 };

	return ada_array_push(&thread->faults, next);
}

static int take_event(struct ada_sched_view *view, struct ada_sched_thread *thread, const AtfSchedEvent *event)
{
	struct ada_off_cpu *last = last_spell(thread);
	bool off = last && last->to_ns == UINT64_MAX;

	if (off && last->gap && view->since_ns && event->kind != ATF_SCHED_ON) {
		last->to_ns = view->since_ns;
		off = false;
	}
	switch (event->kind) {
	case ATF_SCHED_OFF:
	case ATF_SCHED_PREEMPTED:
		if (off) /* it came on and nobody wrote so: records are missing */
			return last->unknown = true, 0;
		return begin_spell(thread, &(struct ada_off_cpu){ .from_ns = event->timestamp_ns,
								  .other_tid = event->other_id,
								  .preempted = event->kind == ATF_SCHED_PREEMPTED });
	case ATF_SCHED_ON:
		if (off)
			last->to_ns = event->timestamp_ns;
		return 0;
	case ATF_SCHED_FAULT: return take_faults(thread, event);
	default: return 0;
	}
}

/* Any thread may have come onto that CPU and left it behind the CPU's last record before: nobody knows what any did up to its next one. */
static int take_loss(struct ada_sched_view *view, uint64_t since_ns)
{
	int result = 0;

	view->since_ns = 0;
	for (size_t i = 0; i < view->threads.count && !result; i++) {
		struct ada_sched_thread *thread = view->threads.items[i];
		const struct ada_off_cpu *last = last_spell(thread);
		uint64_t from_ns = last && last->to_ns > since_ns ? last->to_ns : since_ns;

		for (size_t k = ada_sched_spell(thread, since_ns); k < thread->spells.count; k++)
			thread->spells.items[k].unknown = true;
		if (!last || last->to_ns != UINT64_MAX)
			result = begin_spell(thread, &(struct ada_off_cpu){ .from_ns = from_ns, .unknown = true });
	}
	return result;
}

/* Of a thread that is off its CPU nobody knows how long it is so. */
static int take_gap(struct ada_sched_view *view, uint64_t before_ns, uint64_t behind_ns)
{
	int result = 0;

	view->since_ns = behind_ns;
	for (size_t i = 0; i < view->threads.count && !result; i++) {
		struct ada_off_cpu *last = last_spell(view->threads.items[i]);

		if (last && last->to_ns == UINT64_MAX) {
			if (last->from_ns == before_ns) /* a spell has some length */
				last->unknown = true;
			if (last->unknown) {
				last->gap = true;
				continue;
			}
			last->to_ns = before_ns;
		}
		result = begin_spell(view->threads.items[i], &(struct ada_off_cpu){ .from_ns = before_ns, .unknown = true, .gap = true });
	}
	return result;
}

/* A loss makes earlier spells unknown, too: so this comes last. */
static void number_unknown(struct ada_sched_view *view)
{
	for (size_t i = 0; i < view->threads.count; i++) {
		struct ada_sched_thread *thread = view->threads.items[i];
		uint64_t next = thread->spells.count;

		for (size_t k = thread->spells.count; k-- > 0;) {
			next = thread->spells.items[k].unknown ? k : next;
			thread->spells.items[k].next_unknown = next;
		}
	}
}

static int read_events(struct ada_sched_view *view)
{
	uint64_t *cpus = calloc(UINT16_MAX + 1, sizeof *cpus); /* time of each CPU's last record */
	uint64_t count = atf_sched_list_count(view->list), gap = atf_sched_list_gap(view->list, 1), before_ns = 0, behind_ns = 0;
	int result = cpus ? 0 : -ENOMEM;

	if (count && atf_sched_list_has_aged(view->list))
		view->since_ns = atf_sched_list_at(view->list, 0)->timestamp_ns;
	for (uint64_t i = 0; i < count && !result; i++) {
		const AtfSchedEvent *event = atf_sched_list_at(view->list, i);
		struct ada_sched_thread *thread;

		if (event->timestamp_ns < before_ns) /* the file is damaged: what lies behind is not read */
			break;
		if (i == gap) {
			result = take_gap(view, before_ns, event->timestamp_ns);
			gap = atf_sched_list_gap(view->list, i + 1);
			behind_ns = event->timestamp_ns;
		}
		before_ns = event->timestamp_ns;
		if (event->kind == ATF_SCHED_LOST) {
			result = result ?: take_loss(view, cpus[event->cpu] > behind_ns ? cpus[event->cpu] : behind_ns);
		} else if (event->kind == ATF_SCHED_PAUSED) {
			result = result ?: take_loss(view, event->timestamp_ns);
		} else {
			thread = thread_of(view, event);
			result = result ?: thread ? take_event(view, thread, event) : -ENOMEM;
		}
		cpus[event->cpu] = event->timestamp_ns;
	}
	number_unknown(view);
	free(cpus);
	return result;
}

int ada_sched_lane(struct atf_sched_list **list, const struct ada_session *session, const char *name, struct atf_message *message)
{
	int status = atf_sched_list_open(list, session->path, name, message);
	char above[PATH_MAX];

	/* A process's directory alone has the files beside it. */
	return status || *list || ada_path(above, "%s/..", session->path) ? status : atf_sched_list_open(list, above, name, message);
}

static struct ada_sched_view *view_open(struct ada_session *session)
{
	struct ada_sched_view *view = calloc(1, sizeof *view);
	struct atf_message message;

	if (view && (ada_sched_lane(&view->list, session, "sched", &message) ||
		     (view->list && (atf_sched_list_damaged(view->list) || read_events(view)))))
		ada_session_problem(session, "%s", message.text);
	return view;
}

static const struct ada_sched_view *view_of(const struct ada_session *session)
{
	struct ada_session *own = (struct ada_session *)session;

	pthread_mutex_lock(&reading);
	if (!own->sched)
		own->sched = view_open(own);
	pthread_mutex_unlock(&reading);
	return own->sched;
}

void ada_sched_view_close(struct ada_sched_view *view)
{
	if (!view)
		return;
	for (size_t i = 0; i < view->threads.count; i++) {
		ada_array_free(&view->threads.items[i]->spells);
		ada_array_free(&view->threads.items[i]->faults);
		free(view->threads.items[i]);
	}
	ada_array_free(&view->threads);
	ada_table_free(&view->numbers);
	atf_sched_list_close(view->list);
	free(view);
}

const struct ada_sched_thread *ada_sched_of(const struct ada_thread *thread)
{
	const struct ada_sched_view *view = view_of(thread->process->session);
	uint64_t number;

	return view && ada_table_get(&view->numbers, thread->tid, &number) ? view->threads.items[number] : NULL;
}

const struct atf_sched_list *ada_sched_records(const struct ada_session *session)
{
	const struct ada_sched_view *view = view_of(session);

	return view ? view->list : NULL;
}

/* False: it is known from the beginning on. */
static bool tell_since(const struct ada_session *session, char *text, size_t size)
{
	const struct atf_sched_list *list = ada_sched_records(session);
	uint64_t count = atf_sched_list_count(list), first = atf_sched_list_since(list);
	uint64_t since_ns = first < count ? atf_sched_list_at(list, first)->timestamp_ns : 0;
	char units[ADA_UNITS_TEXT];

	if (!atf_sched_list_has_aged(list))
		return false;
	if (first < count)
		snprintf(text, size, "when threads ran is known from +%s on%s: what came before went with the oldest segments",
			 ada_format_duration(since_ns > session->start_ns ? since_ns - session->start_ns : 0, units),
			 first ? ", and around windows that are older" : "");
	else if (first)
		snprintf(text, size, "when threads ran is known around windows alone: all else went with the oldest segments");
	else
		snprintf(text, size, "when threads ran is not known: it went with the oldest segments");
	return true;
}

bool ada_sched_missing(const struct ada_session *session, int which, char *text, size_t size)
{
	const json_object *said = ada_json_get(session->document, "sched");
	uint64_t missing = ada_json_u64(said, which ? "lost" : "pausedNs", 0);
	char units[ADA_UNITS_TEXT];

	if (which == 2)
		return tell_since(session, text, size);
	if (which)
		snprintf(text, size, "%s records of when threads ran were lost", ada_format_grouped(missing, units));
	else
		snprintf(text, size, "when threads ran is not known for %s: to record it took more than half of --budget",
			 ada_format_duration(missing, units));
	return missing;
}

/* --- questions ------------------------------------------------------------------------------------------------------------ */

size_t ada_sched_spell(const struct ada_sched_thread *sched, uint64_t ns)
{
	return ada_first_not(i, 0, sched->spells.count, sched->spells.items[i].to_ns <= ns);
}

/* Number of the record with which the spell began; that of all of them: it isn't there. */
static uint64_t first_record(const struct atf_sched_list *list, const struct ada_off_cpu *spell, uint32_t tid)
{
	uint64_t count = atf_sched_list_count(list), i;

	i = ada_first_not(k, 0, count, atf_sched_list_at(list, k)->timestamp_ns < spell->from_ns);
	while (i < count && atf_sched_list_at(list, i)->timestamp_ns == spell->from_ns &&
	       (atf_sched_list_at(list, i)->thread_id != tid || atf_sched_list_at(list, i)->kind != ATF_SCHED_PREEMPTED))
		i++;
	return i < count && atf_sched_list_at(list, i)->timestamp_ns == spell->from_ns ? i : count;
}

void ada_sched_rivals(const struct ada_session *session, const struct ada_off_cpu *spell, uint32_t tid, uint64_t from_ns, uint64_t to_ns,
		      void (*had)(void *context, uint32_t tid, uint64_t ns), void *context)
{
	const struct atf_sched_list *list = ada_sched_records(session);
	uint64_t count = atf_sched_list_count(list), first = first_record(list, spell, tid), since_ns = 0;
	uint32_t on = 0, cpu = first < count ? atf_sched_list_at(list, first)->cpu : 0;

	for (uint64_t i = first; i < count; i++) {
		const AtfSchedEvent *event = atf_sched_list_at(list, i);
		uint64_t ns = event->timestamp_ns < to_ns ? event->timestamp_ns : to_ns;
		bool switches = event->cpu == cpu && event->kind <= ATF_SCHED_ON;

		if (on && (switches || ns == to_ns) && ns > from_ns)
			had(context, on, ns - (since_ns > from_ns ? since_ns : from_ns));
		if (event->timestamp_ns >= to_ns)
			return;
		if (switches) {
			on = event->kind == ATF_SCHED_ON ? event->thread_id : 0;
			since_ns = event->timestamp_ns;
		}
	}
}

/* All time off the CPU up to `ns`. */
static uint64_t off_until(const struct ada_sched_thread *sched, uint64_t ns)
{
	size_t number = ada_sched_spell(sched, ns);
	const struct ada_off_cpu *spell = &sched->spells.items[number];

	if (number == sched->spells.count)
		return number ? spell[-1].before_ns + spell[-1].to_ns - spell[-1].from_ns : 0;
	return spell->before_ns + (ns > spell->from_ns ? ns - spell->from_ns : 0);
}

bool ada_sched_off_ns(const struct ada_sched_thread *sched, uint64_t from_ns, uint64_t to_ns, uint64_t *off_ns)
{
	const struct ada_off_cpu *spells;
	size_t first;

	if (!sched || from_ns < sched->first_ns || to_ns < from_ns)
		return false;
	spells = sched->spells.items;
	first = ada_sched_spell(sched, from_ns);
	*off_ns = 0;
	if (first == sched->spells.count || spells[first].from_ns >= to_ns) /* as most calls: they lie between two */
		return true;
	if (spells[first].next_unknown < sched->spells.count && spells[spells[first].next_unknown].from_ns < to_ns)
		return false;
	*off_ns = off_until(sched, to_ns) - off_until(sched, from_ns);
	return true;
}

bool ada_sched_known(const struct ada_sched_thread *sched, uint64_t from_ns, uint64_t *until_ns)
{
	size_t first = sched ? ada_sched_spell(sched, from_ns) : 0;

	if (!sched || from_ns < sched->first_ns)
		return false;
	if (first < sched->spells.count)
		first = sched->spells.items[first].next_unknown;
	*until_ns = first < sched->spells.count ? sched->spells.items[first].from_ns : UINT64_MAX;
	return *until_ns > from_ns;
}

static uint64_t faults_until(const struct ada_sched_thread *sched, uint64_t ns)
{
	size_t number = ada_first_not(i, 0, sched->faults.count, sched->faults.items[i].ns <= ns);
	const struct ada_faults *behind = &sched->faults.items[number];

	return number ? behind[-1].before + behind[-1].count : 0;
}

uint64_t ada_sched_faults(const struct ada_sched_thread *sched, uint64_t from_ns, uint64_t to_ns)
{
	return faults_until(sched, to_ns) - faults_until(sched, from_ns);
}

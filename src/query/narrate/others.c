/* Call paths: what led to a mark, and what the other threads were doing then. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "query/cause/cause.h"
#include "query/headline/headline.h"
#include "query/narrate/parts.h"

#define OTHERS_TOLD 8

/* Library calls whose purpose is to wait. */
static bool waits(const char *name)
{
	static const char *const names[] = { "__poll_chk",
					     "accept",
					     "accept4",
					     "clock_nanosleep",
					     "cnd_timedwait",
					     "cnd_wait",
					     "epoll_pwait",
					     "epoll_wait",
					     "flock",
					     "msgrcv",
					     "mtx_lock",
					     "nanosleep",
					     "pause",
					     "poll",
					     "ppoll",
					     "pselect",
					     "pthread_barrier_wait",
					     "pthread_clockjoin_np",
					     "pthread_cond_clockwait",
					     "pthread_cond_timedwait",
					     "pthread_cond_wait",
					     "pthread_join",
					     "pthread_mutex_lock",
					     "pthread_rwlock_rdlock",
					     "pthread_rwlock_wrlock",
					     "pthread_timedjoin_np",
					     "select",
					     "sem_clockwait",
					     "sem_timedwait",
					     "sem_wait",
					     "sigsuspend",
					     "sigtimedwait",
					     "sigwait",
					     "sigwaitinfo",
					     "sleep",
					     "thrd_join",
					     "thrd_sleep",
					     "usleep",
					     "wait",
					     "wait3",
					     "wait4",
					     "waitid",
					     "waitpid" };
	size_t length = strcspn(name, "@");

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == length && !strncmp(name, names[i], length))
			return true;
	return false;
}

static void tell_idle(struct ada_story *story, const char *kind, const struct ada_thread *thread, uint64_t position, uint64_t ns)
{
	static const char *const kinds[] = { "", "the call of", "the return of", "the exception or jump that left", "" };
	const struct ada_event *event = atf_thread_get(thread->events, position - 1);
	char name[ADA_WORDS_NAME], duration[ADA_UNITS_TEXT];

	if (event->event_kind < ADA_EVENT_CALL || event->event_kind > ADA_EVENT_EXCEPTION)
		ada_narrate_say(story, kind, "Thread %u had no open call.", thread->number);
	else
		ada_narrate_say(story, kind, "Thread %u had no open call; its last event was %s %s, %s before.", thread->number,
				kinds[event->event_kind], ada_words_function(story, thread->process, event->function_id, name),
				ada_format_duration(ns - event->timestamp_ns, duration));
	ada_narrate_cite(story, thread, position - 1, position - 1);
}

void ada_narrate_put_awaited(FILE *stream, const struct ada_thread *thread, const struct ada_frame *frame, uint64_t ns)
{
	const struct ada_thread *awaited = ada_cause_awaited(thread, frame->position, ns);
	char name[ADA_WORDS];

	if (awaited)
		fprintf(stream, ", until %s ends", ada_words_thread(thread, awaited, name));
}

/* A citation up to position - 1 may be long, but it shows that no event ended the call in between. */
static void tell_busy(struct ada_story *story, struct ada_cause_reader *reader, const char *kind, const struct ada_thread *thread,
		      const struct ada_stack *stack, uint64_t position, uint64_t ns)
{
	const struct ada_frame *frame = &stack->frames.items[stack->frames.count - 1];
	const struct ada_name *known = ada_name_list_get(&story->names, thread->process, frame->function_id);
	bool library = known && thread->process->manifest && !ada_process_traces(thread->process, frame->function_id);
	char name[ADA_WORDS_NAME], caller[ADA_WORDS_NAME], duration[ADA_UNITS_TEXT];
	const struct ada_frame *below = stack->frames.count > 1 ? frame - 1 : NULL;
	struct ada_telling telling;

	if (!ada_telling_open(story, &telling))
		return;
	ada_words_source(story, thread->process, frame->function_id, name);
	fprintf(telling.stream, "Thread %u ", thread->number);
	if (library)
		fprintf(telling.stream, "was %s %s of %s", waits(known->mangled) ? "waiting in" : "in the library call", name,
			*known->module ? known->module : "an unknown module");
	else
		fprintf(telling.stream, "was in %s", name);
	if (below)
		fprintf(telling.stream, ", called by %s", ada_words_source(story, thread->process, below->function_id, caller));
	fprintf(telling.stream, ", for %s so far", ada_format_duration(ns - frame->start_ns, duration));
	if (library)
		ada_headline_put_waits_on(story, telling.stream, reader, thread, frame->position, ns);
	ada_narrate_put_awaited(telling.stream, thread, frame, ns);
	ada_words_doubt(story, thread, below ? below->position : frame->position, position, telling.stream);
	fputs(".", telling.stream);
	ada_telling_say(story, kind, &telling);
	if (below)
		ada_narrate_cite(story, thread, below->position, below->position);
	ada_narrate_cite(story, thread, frame->position, position - 1);
}

struct other {
	const struct ada_thread *thread;
	uint64_t position;
	bool busy;
};

/* Those in the middle of something come first. */
static int compare_others(const void *left, const void *right)
{
	const struct other *a = left, *b = right;

	if (a->busy != b->busy)
		return a->busy ? -1 : 1;
	return a->thread->number < b->thread->number ? -1 : a->thread->number > b->thread->number;
}

static void tell_other(struct ada_story *story, struct ada_cause_reader *reader, const char *kind, const struct other *other, uint64_t ns)
{
	struct ada_stack stack;

	if (ada_narrate_stack(story, &stack, other->thread, other->position))
		return;
	if (stack.frames.count)
		tell_busy(story, reader, kind, other->thread, &stack, other->position, ns);
	else
		tell_idle(story, kind, other->thread, other->position, ns);
	ada_stack_close(&stack);
}

void ada_narrate_others(struct ada_story *story, const struct ada_process *process, const struct ada_thread *but, uint64_t ns, bool first)
{
	struct ada_cause_reader *reader = ada_cause_reader_open(story->session);
	ADA_ARRAY(struct other) others = {};

	if (!reader)
		story->result = -ENOMEM;

	for (size_t i = 0; i < process->thread_count && !story->result; i++) {
		const struct ada_thread *thread = &story->session->threads.items[process->first_thread + i];
		struct other other = { .thread = thread };
		struct ada_stack stack;

		if (thread == but || !thread->events || !ada_narrate_selects_thread(story, thread))
			continue;
		/* A mark that is no event, mostly a process's end, has the time of the last event. */
		other.position = atf_thread_lower_bound(thread->events, but ? ns : ns + 1);
		if (!other.position || ada_narrate_stack(story, &stack, thread, other.position))
			continue;
		other.busy = stack.frames.count;
		ada_stack_close(&stack);
		if (ada_array_push(&others, other))
			story->result = -ENOMEM;
	}
	if (others.count)
		qsort(others.items, others.count, sizeof *others.items, compare_others);
	for (size_t i = 0; i < others.count && i < OTHERS_TOLD && reader; i++)
		tell_other(story, reader, first ? "other-thread" : "crash-other-thread", &others.items[i], ns);
	if (others.count > OTHERS_TOLD) {
		ada_narrate_say(story, first ? "other-threads" : "crash-other-threads", "%zu more thread%s had begun by then.",
				others.count - OTHERS_TOLD, ada_words_s(others.count - OTHERS_TOLD));
		for (size_t i = OTHERS_TOLD; i < others.count; i++)
			ada_narrate_cite(story, others.items[i].thread, 0, 0);
	}
	ada_array_free(&others);
	ada_cause_reader_close(reader);
}

void ada_narrate_path(struct ada_story *story, const struct ada_mark_place *place)
{
	const struct ada_event *event;
	struct ada_telling telling;
	struct ada_stack stack;
	uint64_t position;

	if (!place->thread)
		return;
	event = atf_thread_get(place->thread->events, place->position);
	position = place->position + (!place->has_function || event->event_kind == ADA_EVENT_CALL);
	if (ada_narrate_stack(story, &stack, place->thread, position))
		return;
	if (stack.frames.count && ada_telling_open(story, &telling)) {
		fprintf(telling.stream, "The call path on thread %u: ", place->thread->number);
		ada_words_stack(story, place->thread, &stack, NULL, telling.stream);
		ada_words_doubt(story, place->thread, stack.frames.items[0].position, position, telling.stream);
		fputs(".", telling.stream);
		ada_telling_say(story, "path", &telling);
		ada_narrate_cite_stack(story, place->thread, &stack);
	}
	ada_stack_close(&stack);
}

/* When the threads of a process have events. A question is about a short time, and a process may have had thousands of threads: those that
 * have no event then need not be looked at. */
#include <stdlib.h>
#include "query/cause/internal.h"

struct ada_life {
	uint64_t first_ns, last_ns; /* of its events: inclusive. A thread without any: last_ns 0. */
	uint32_t tid;
};

/* An event that a crash left unwritten has no time: then nothing is known of that side. */
static struct ada_life life_of(const struct ada_thread *thread)
{
	struct ada_life life = { .first_ns = UINT64_MAX, .tid = thread->tid };
	const struct ada_event *first = thread->events && thread->count ? atf_thread_get(thread->events, 0) : NULL, *last;

	if (!first)
		return life;
	life.first_ns = first->event_kind ? first->timestamp_ns : 0;
	last = atf_thread_get(thread->events, thread->count - 1);
	life.last_ns = last->event_kind ? last->timestamp_ns : UINT64_MAX;
	return life;
}

/* NULL: no memory. */
static const struct ada_life *lives_of(struct ada_cause_reader *reader, const struct ada_process *process)
{
	if (reader->lives_of == process)
		return reader->lives;
	free(reader->lives);
	reader->lives_of = process;
	reader->lives = calloc(process->thread_count + 1, sizeof *reader->lives);
	for (size_t i = 0; reader->lives && i < process->thread_count; i++)
		reader->lives[i] = life_of(&reader->session->threads.items[process->first_thread + i]);
	return reader->lives;
}

bool ada_cause_lived(struct ada_cause_reader *reader, const struct ada_thread *thread, uint64_t from_ns, uint64_t to_ns)
{
	const struct ada_life *lives = lives_of(reader, thread->process);
	size_t i = (size_t)(thread - reader->session->threads.items) - thread->process->first_thread;

	return !lives || (lives[i].first_ns <= to_ns && lives[i].last_ns >= from_ns);
}

const struct ada_thread *ada_cause_thread_of(struct ada_cause_reader *reader, const struct ada_process *process, uint32_t tid, uint64_t ns)
{
	const struct ada_life *lives = lives_of(reader, process);
	const struct ada_thread *found = NULL;

	for (size_t i = 0; lives && i < process->thread_count; i++)
		if (lives[i].tid == tid && lives[i].last_ns && (!found || lives[i].first_ns <= ns))
			found = &reader->session->threads.items[process->first_thread + i];
	return found;
}

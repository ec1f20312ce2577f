/* The reader of causes: what functions do, looked up once each, the objects of their calls, and when threads have events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include "atf/sched/sched_list.h"
#include "query/cause/internal.h"
#include "query/rust/rust.h"
#include "query/session/windows.h"

struct ada_cause_reader *ada_cause_reader_open(const struct ada_session *session)
{
	struct ada_cause_reader *reader = calloc(1, sizeof *reader);

	if (!reader)
		return NULL;
	*reader = (struct ada_cause_reader){ .session = session,
					     .does = calloc(session->modules.count + 1, sizeof *reader->does),
					     .counts = calloc(session->modules.count + 1, sizeof *reader->counts),
					     .budget = ADA_CAUSE_BUDGET };
	if (reader->does && reader->counts)
		return reader;
	ada_cause_reader_close(reader);
	return NULL;
}

void ada_cause_reader_close(struct ada_cause_reader *reader)
{
	if (!reader)
		return;
	for (size_t i = 0; reader->does && i < reader->session->modules.count; i++)
		free(reader->does[i]);
	atf_sched_list_close(reader->samples);
	ada_noted_close(reader->noted);
	free(reader->lives);
	free(reader->does);
	free(reader->counts);
	free(reader);
}

const struct ada_noted *ada_cause_noted(struct ada_cause_reader *reader, const struct ada_process *process)
{
	if (reader->noted_of != process) {
		ada_noted_close(reader->noted);
		reader->noted = ada_noted_open(process);
		reader->noted_of = process;
	}
	return reader->noted;
}

bool ada_cause_pay(struct ada_cause_reader *reader, uint64_t events)
{
	if (reader->budget < events) {
		reader->budget = 0;
		return false;
	}
	reader->budget -= events;
	return true;
}

enum ada_does ada_cause_does(struct ada_cause_reader *reader, const struct ada_process *process, uint64_t function_id)
{
	struct ada_module *module = ada_process_module(process, function_id);
	uint32_t symbol = ADA_FUNCTION_SYMBOL(function_id);
	uint8_t **does;

	if (!module)
		return ADA_DOES_NOTHING;
	does = &reader->does[module->number];
	if (!*does) {
		ada_module_load(module);
		reader->counts[module->number] = module->symbol_count;
		*does = calloc(module->symbol_count + 1, sizeof **does);
	}
	if (!*does || symbol >= reader->counts[module->number])
		return ADA_DOES_NOTHING;
	if (!(*does)[symbol])
		(*does)[symbol] = ada_does_of_name(module->symbols[symbol].mangled);
	return (*does)[symbol];
}

/* The next event from `position` on that says more of the call; NULL: there is none. Between may lie those of a signal handler. */
static const struct ada_event *next_saying(const struct ada_thread *thread, uint32_t depth, uint64_t *position)
{
	const struct ada_event *event;

	while ((event = atf_thread_get(thread->events, (*position)++)) && event->call_depth >= depth)
		if (event->call_depth > depth)
			continue;
		else if (event->event_kind == ADA_EVENT_OBJECT)
			return event;
		else if (event->event_kind != ADA_EVENT_RECORDER)
			break;
	return NULL;
}

bool ada_cause_has_object(const struct ada_thread *thread, uint64_t position)
{
	uint64_t next = position + 1;

	return next_saying(thread, atf_thread_get(thread->events, position)->call_depth, &next);
}

bool ada_cause_told_holder(const struct ada_thread *thread, uint64_t position, uint32_t *tid)
{
	uint32_t depth = atf_thread_get(thread->events, position)->call_depth;
	const struct ada_event *event;

	while ((event = atf_thread_get(thread->events, ++position)) && event->call_depth >= depth) {
		if (event->call_depth > depth || event->event_kind == ADA_EVENT_OBJECT || event->event_kind == ADA_EVENT_RECORDER)
			continue;
		*tid = (uint32_t)event->function_id;
		return event->event_kind == ADA_EVENT_HOLDER;
	}
	return false;
}

/* Of a poll for one descriptor, whose struct pollfd lies on the caller's stack or was captured. */
static bool polled(const struct atf_detail *record, uint64_t *descriptor)
{
	uint64_t first = record->sp + 8, offset = record->x[0] - first;
	struct atf_captured captured;
	const uint8_t *bytes = NULL;
	uint32_t at = 0;
	int number;

	if (record->x[1] != 1)
		return false;
	while (!bytes && atf_detail_captured(record, &at, &captured))
		if (captured.argument == 1 && captured.length >= sizeof number)
			bytes = captured.bytes;
	if (!bytes && record->x[0] >= first && offset + sizeof number <= record->stack_size)
		bytes = record->stack + offset;
	if (!bytes)
		return false;
	memcpy(&number, bytes, sizeof number);
	*descriptor = (uint32_t)number;
	return number >= 0;
}

bool ada_cause_object(const struct ada_thread *thread, uint64_t position, enum ada_does does, unsigned int which, uint64_t *object)
{
	const struct ada_event call = *atf_thread_get(thread->events, position), *event;
	unsigned int objects = 0;
	uint64_t next = position + 1;
	struct atf_detail record;

	while ((event = next_saying(thread, call.call_depth, &next)))
		if (objects++ == which) {
			*object = event->function_id;
			return true;
		}
	if (objects || call.detail_seq == ADA_NO_DETAIL || ada_thread_detail(thread, position, &record) ||
	    record.flags & ATF_DETAIL_REDACTED_ANY)
		return false;
	switch (does) {
	case ADA_DOES_LOCK:
	case ADA_DOES_TRY:
	case ADA_DOES_TRY_LOCK:
	case ADA_DOES_UNLOCK:
	case ADA_DOES_COND_WAIT:
	case ADA_DOES_SIGNAL:
	case ADA_DOES_SEM_WAIT:
	case ADA_DOES_SEM_POST:
	case ADA_DOES_BARRIER:
	case ADA_DOES_ONCE:
	case ADA_DOES_JOIN: *object = record.x[which]; return !which || does == ADA_DOES_COND_WAIT;
	case ADA_DOES_IO:
	case ADA_DOES_WRITE:
	case ADA_DOES_COUNTER_WAIT:
	case ADA_DOES_COUNTER_WRITE:
	case ADA_DOES_CONNECT:
	case ADA_DOES_ACCEPT:
	case ADA_DOES_MESSAGE: *object = (uint32_t)record.x[0]; return !which;
	case ADA_DOES_STREAM_1:
	case ADA_DOES_STREAM_2:
	case ADA_DOES_STREAM_3:
	case ADA_DOES_STREAM_4: *object = record.x[does - ADA_DOES_STREAM_1]; return !which;
	case ADA_DOES_POLL: return !which && polled(&record, object);
	case ADA_DOES_FUTEX: *object = record.x[1]; return !which && record.x[0] == 202; /* SYS_futex */
	default: return false;
	}
}

uint64_t ada_cause_end(const struct ada_thread *thread, uint64_t position, uint64_t limit)
{
	const struct ada_event call = *atf_thread_get(thread->events, position), *event;

	for (uint64_t i = position + 1; i < limit && (event = atf_thread_get(thread->events, i)); i++) {
		if (event->event_kind > ADA_EVENT_LOST || event->call_depth > call.call_depth)
			continue;
		return event->event_kind != ADA_EVENT_CALL && event->event_kind != ADA_EVENT_LOST && event->call_depth == call.call_depth &&
				       event->function_id == call.function_id ?
			       i :
			       UINT64_MAX;
	}
	return UINT64_MAX;
}

uint32_t ada_cause_result(const struct ada_thread *thread, uint64_t position)
{
	uint64_t end = ada_cause_end(thread, position, thread->count);
	struct atf_detail record;

	return end != UINT64_MAX && atf_thread_get(thread->events, end)->detail_seq != ADA_NO_DETAIL &&
			       !ada_thread_detail(thread, end, &record) ?
		       (uint32_t)record.x[0] :
		       0;
}

bool ada_cause_gave_up(const struct ada_thread *thread, uint64_t position, enum ada_does does)
{
	uint32_t result = does == ADA_DOES_COND_WAIT || does == ADA_DOES_TRY_LOCK ? ada_cause_result(thread, position) : 0;

	return result == ETIMEDOUT || (does == ADA_DOES_COND_WAIT && result == thrd_timedout);
}

bool ada_futex_is_condition(const struct ada_process *process, const struct ada_stack *path)
{
	/* libstdc++'s atomic waits, futures and their kin; Rust's conditions and parked threads. */
	static const char *const words[] = { "futex_wait_until", "platform_wait", "ondvar", "thread4park", "thread::park", "Parker" };
	char name[ADA_NAME_BUFFER];

	for (size_t i = path->frames.count; i-- > 0 && path->frames.count - i <= 4;)
		for (size_t k = 0; k < sizeof words / sizeof *words; k++)
			if (strstr(ada_module_function(ada_process_module(process, path->frames.items[i].function_id),
						       path->frames.items[i].function_id, name),
				   words[k]))
				return true;
	return false;
}

uint64_t ada_cause_own_function(struct ada_cause_reader *reader, const struct ada_process *process, const struct ada_stack *path)
{
	uint64_t of_rust = ADA_NO_FUNCTION; /* where there is no other */

	for (size_t i = path->frames.count; i-- > 0;) {
		uint64_t id = path->frames.items[i].function_id;

		if (!ada_process_traces(process, id) || ada_cause_does(reader, process, id) != ADA_DOES_NOTHING)
			continue;
		if (!ada_rust_is_library(ada_process_module(process, id), id))
			return id;
		of_rust = of_rust == ADA_NO_FUNCTION ? id : of_rust;
	}
	return of_rust;
}

/* --- when the threads of a process have events ---------------------------------------------------------------------------- */

/* A question is about a short time, and a process may have had thousands of threads: those that have no event then need not be looked at. */
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

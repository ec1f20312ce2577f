/* A pointer to a block that was freed before: an argument of an open call, whose block was given back before that call began, or meanwhile by
 * another thread, and not given out anew since. Where the call's own thread freed it within the call, that counts only if the address that
 * crashed lies in the block. And a block given to free that was freed before, which made libc abort. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "query/crash/internal.h"
#include "query/session/source.h"
#include "query/session/windows.h"

#define FRAMES_ASKED 8		 /* from the innermost one outwards */
#define EVENTS_READ (1ull << 18) /* of each thread, before the crash */

enum does { DOES_NOTHING, DOES_FREE, DOES_ALLOCATE };

struct block_event { /* what happened to a block last */
	const struct ada_thread *thread;
	uint64_t position, ns;
	bool freed;
};

static enum does does_of(const char *symbol)
{
	if (!strcmp(symbol, "free") || !strcmp(symbol, "cfree") || !strcmp(symbol, "munmap") || !strncmp(symbol, "_ZdlPv", 6) ||
	    !strncmp(symbol, "_ZdaPv", 6))
		return DOES_FREE;
	if (!strcmp(symbol, "malloc") || !strcmp(symbol, "calloc") || !strcmp(symbol, "realloc") || !strcmp(symbol, "reallocarray") ||
	    !strcmp(symbol, "aligned_alloc") || !strcmp(symbol, "memalign") || !strcmp(symbol, "mmap") || !strncmp(symbol, "_Znw", 4) ||
	    !strncmp(symbol, "_Zna", 4) || !strcmp(symbol, "strdup") || !strcmp(symbol, "strndup") || !strcmp(symbol, "realpath") ||
	    !strcmp(symbol, "getcwd") || !strcmp(symbol, "fopen"))
		return DOES_ALLOCATE;
	return DOES_NOTHING;
}

/* Whether the event gave back or gave out the block that begins there. realloc gives back what it was called with. */
static bool is_about(const struct ada_thread *thread, uint64_t position, const struct ada_event *event, uint64_t block, bool *freed)
{
	const char *symbol = ada_crash_symbol(thread->process, event->function_id);
	enum does does = does_of(symbol);
	struct atf_detail record;

	*freed = event->event_kind == ADA_EVENT_CALL;
	if (does == DOES_NOTHING || (*freed ? does == DOES_ALLOCATE && strncmp(symbol, "realloc", 7) : does == DOES_FREE) ||
	    (event->event_kind != ADA_EVENT_CALL && event->event_kind != ADA_EVENT_RETURN))
		return false;
	return !ada_thread_detail(thread, position, &record) && record.x[0] == block;
}

/* The last such event of all threads before the crash, of its own before `before`. False: there is none. */
static bool last_of(const struct ada_crash_cause *cause, uint64_t block, uint64_t before, struct block_event *last)
{
	const struct ada_process *process = cause->process;

	*last = (struct block_event){};
	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &process->session->threads.items[process->first_thread + i];
		uint64_t end = thread->events ? atf_thread_lower_bound(thread->events, cause->ns + 1) : 0;
		uint64_t first;

		end = thread == cause->thread && before < end ? before : end;
		first = end > EVENTS_READ ? end - EVENTS_READ : 0;
		for (uint64_t at = end; at-- > first;) {
			const struct ada_event *event = atf_thread_get(thread->events, at);
			bool freed;

			if (event->timestamp_ns < last->ns)
				break;
			if (!is_about(thread, at, event, block, &freed))
				continue;
			*last = (struct block_event){ thread, at, event->timestamp_ns, freed };
			break;
		}
	}
	return last->thread;
}

/* Whether the frame was given the block after it was freed, or while another thread freed it. */
static bool is_mistake(const struct ada_crash_cause *cause, const struct ada_frame *frame, uint64_t block, const struct block_event *last)
{
	uint64_t address = ada_crash_number(cause, "faultAddress");

	if (!last->freed)
		return false;
	return last->thread != cause->thread || last->position < frame->position || (address >= block && address - block < 4096);
}

static void blame_event(struct ada_crash_cause *cause, enum ada_crash_kind kind, const struct ada_thread *thread, uint64_t position)
{
	const struct ada_event *event = atf_thread_get(thread->events, position);

	cause->kind = kind;
	cause->has_object = true;
	cause->culprit = thread;
	cause->culprit_position = position;
	cause->culprit_ns = event->timestamp_ns;
	cause->culprit_function_id = event->function_id;
}

static int blame(struct ada_crash_cause *cause, enum ada_crash_kind kind, size_t frame, const struct ada_argument *argument,
		 const struct block_event *last)
{
	blame_event(cause, kind, last->thread, last->position);
	cause->frame = frame;
	cause->object = (uint64_t)argument->number;
	cause->argument = strdup(argument->name);
	return cause->argument ? ada_stack_at(&cause->culprit_path, last->thread, last->position + 1) : -12;
}

/* Without types nobody knows which registers are arguments. One is where the innermost call's code accesses memory by what was in it when the
 * call began, or by what it loaded from there, whichever way it came to the instruction that crashed. Its block has to be freed by then. */
static int ask_registers(struct ada_crash_cause *cause, const struct atf_detail *record)
{
	static const uint32_t bits[] = { 1u << 7, 1u << 6, 1u << 2, 1u << 1, 1u << 8, 1u << 9 }; /* rdi rsi rdx rcx r8 r9 */
	size_t frame = cause->path.frames.count - 1;
	const struct ada_frame *of = &cause->path.frames.items[frame];
	struct ada_crash_flow flow = { .to = ada_crash_number(cause, "rip"), .points = true };

	if (!ada_process_code(cause->process, of->function_id, flow.to, &flow.start, &flow.bytes))
		return 0;
	flow.from = flow.start;
	for (unsigned int i = 0; i < sizeof bits / sizeof *bits; i++) {
		struct ada_argument argument = { .name = (char[]){ (char)('1' + i), 0 }, .number = (int64_t)record->x[i] };
		struct block_event last;

		flow.has = bits[i];
		if (record->x[i] && !ada_captured_redacted(record, (int)i) && ada_crash_flows(cause, &flow) &&
		    last_of(cause, record->x[i], UINT64_MAX, &last) && last.freed && last.ns < of->start_ns)
			return blame(cause, ADA_CRASH_FREED, frame, &argument, &last);
	}
	return 0;
}

/* The last munmap of all threads that covers the address, where nothing is mapped now. */
static int blame_unmapped(struct ada_crash_cause *cause)
{
	const struct ada_process *process = cause->process;
	uint64_t address = ada_crash_number(cause, "faultAddress");

	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &process->session->threads.items[process->first_thread + i];
		uint64_t end = thread->events ? atf_thread_lower_bound(thread->events, cause->ns + 1) : 0;
		uint64_t first = end > EVENTS_READ ? end - EVENTS_READ : 0;

		for (uint64_t at = end; at-- > first && atf_thread_get(thread->events, at)->timestamp_ns >= cause->culprit_ns;) {
			const struct ada_event *event = atf_thread_get(thread->events, at);
			struct atf_detail record;

			if (event->event_kind != ADA_EVENT_CALL || strcmp(ada_crash_symbol(process, event->function_id), "munmap") ||
			    ada_thread_detail(thread, at, &record) || address - record.x[0] >= ((record.x[1] + 4095) & ~4095ull))
				continue;
			blame_event(cause, ADA_CRASH_FREED, thread, at);
			break;
		}
	}
	cause->object = address;
	return cause->culprit ? ada_stack_at(&cause->culprit_path, cause->culprit, cause->culprit_position + 1) : 0;
}

int ada_crash_freed(struct ada_crash_cause *cause)
{
	size_t count = cause->path.frames.count;
	int result = 0;

	if ((cause->signal != SIGSEGV && cause->signal != SIGBUS) || !cause->recorded || !cause->thread)
		return 0;
	for (size_t i = count; i-- > 0 && count - i <= FRAMES_ASKED && !result && cause->kind == ADA_CRASH_UNKNOWN;) {
		const struct ada_frame *frame = &cause->path.frames.items[i];
		struct ada_arguments arguments;
		struct block_event last;
		struct atf_detail record;

		result = ada_crash_arguments(cause->thread, frame->position, &arguments, &record);
		for (size_t j = 0; j < arguments.items.count && !result && cause->kind == ADA_CRASH_UNKNOWN; j++) {
			const struct ada_argument *argument = &arguments.items.items[j];
			uint64_t block = (uint64_t)argument->number;

			if (ada_crash_is_pointer(argument) && block && last_of(cause, block, UINT64_MAX, &last) &&
			    is_mistake(cause, frame, block, &last))
				result = blame(cause, ADA_CRASH_FREED, i, argument, &last);
		}
		if (!result && i + 1 == count && !arguments.known && record.lr && cause->kind == ADA_CRASH_UNKNOWN)
			result = ask_registers(cause, &record);
		ada_arguments_free(&arguments);
	}
	if (!result && cause->kind == ADA_CRASH_UNKNOWN && ada_crash_code(cause) == SEGV_MAPERR)
		result = blame_unmapped(cause);
	return result;
}

static bool frees(const struct ada_crash_cause *cause, size_t frame)
{
	return does_of(ada_crash_symbol(cause->process, cause->path.frames.items[frame].function_id)) == DOES_FREE;
}

/* delete frees by free: the outermost of them is what the program called. */
int ada_crash_freed_twice(struct ada_crash_cause *cause)
{
	size_t frame = cause->path.frames.count;
	struct ada_arguments arguments;
	struct block_event last;
	struct atf_detail record;
	int result;

	if (cause->signal != SIGABRT || !cause->recorded || !cause->thread)
		return 0;
	while (frame && !frees(cause, frame - 1))
		frame--;
	while (frame > 1 && frees(cause, frame - 2))
		frame--;
	if (!frame--)
		return 0;
	result = ada_crash_arguments(cause->thread, cause->path.frames.items[frame].position, &arguments, &record);
	if (!result && arguments.items.count && arguments.items.items[0].number &&
	    last_of(cause, (uint64_t)arguments.items.items[0].number, cause->path.frames.items[frame].position, &last) && last.freed)
		result = blame(cause, ADA_CRASH_TWICE, frame ? frame - 1 : 0, &arguments.items.items[0], &last);
	ada_arguments_free(&arguments);
	return result;
}

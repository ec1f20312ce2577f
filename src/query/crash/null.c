/* A null pointer that a call returned: SIGSEGV at an address below FIRST_PAGES.
 *
 * The frame's own calls that returned 0 are asked, from the last one backwards, whether that value reaches the instruction that crashed
 * (flow.c). Where none does, an argument of the frame may have brought it: then the frame around it is asked for its call, and so on. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "query/crash/internal.h"
#include "query/session/source.h"
#include "query/session/windows.h"

#define FIRST_PAGES 65536	 /* a pointer to a structure is null, and a member was accessed */
#define EVENTS_READ (1ull << 20) /* of a frame */
#define CALLS_ASKED 64
#define RAX 1u
#define VECTOR_BYTES 64	   /* that libc's functions on strings read at once */
#define MEMBERS_BYTES 4096 /* of what other functions are given, a stream for one */

/* The registers of the first six arguments, as bits: rdi rsi rdx rcx r8 r9. */
static const uint32_t argument_bits[] = { 1u << 7, 1u << 6, 1u << 2, 1u << 1, 1u << 8, 1u << 9 };

static uint32_t null_arguments(const struct atf_detail *record)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < sizeof argument_bits / sizeof *argument_bits; i++)
		if (!record->x[i] && !ada_captured_redacted(record, (int)i))
			bits |= argument_bits[i];
	return bits;
}

static int blame(struct ada_crash_cause *cause, uint64_t position)
{
	const struct ada_event *event = atf_thread_get(cause->thread->events, position);

	cause->kind = ADA_CRASH_NULL;
	cause->has_object = true;
	cause->culprit = cause->thread;
	cause->culprit_position = position;
	cause->culprit_ns = event->timestamp_ns;
	cause->culprit_function_id = event->function_id;
	return ada_stack_at(&cause->culprit_path, cause->thread, position);
}

/* Of the frame's own calls before `end` the last whose null comes to where `flow` asks. */
static int ask_calls(struct ada_crash_cause *cause, size_t frame, uint64_t end, struct ada_crash_flow flow)
{
	const struct ada_frame *of = &cause->path.frames.items[frame];
	uint64_t first = end > of->position + EVENTS_READ ? end - EVENTS_READ : of->position + 1;
	unsigned asked = 0;

	flow.has = RAX;
	for (uint64_t at = end; at-- > first && asked < CALLS_ASKED;) {
		const struct ada_event *event = atf_thread_get(cause->thread->events, at);
		struct atf_detail record;

		if (event->event_kind != ADA_EVENT_RETURN || event->call_depth != of->depth + 1 ||
		    ada_thread_detail(cause->thread, at, &record) || record.x[0])
			continue;
		asked++;
		flow.from = record.lr;
		if (ada_crash_flows(cause, &flow))
			return blame(cause, at);
	}
	return 0;
}

/* Whether a null argument of the frame comes to where `flow` asks; then *arguments says which may. */
static bool ask_arguments(const struct ada_crash_cause *cause, size_t frame, struct ada_crash_flow flow, struct atf_detail *record)
{
	if (ada_thread_detail(cause->thread, cause->path.frames.items[frame].position, record))
		return false;
	flow.has = null_arguments(record);
	flow.from = flow.start;
	return flow.has && ada_crash_flows(cause, &flow);
}

/* The name of the frame's null pointer, where it has just one. */
static int name_argument(struct ada_crash_cause *cause, size_t frame)
{
	struct ada_arguments arguments;
	struct atf_detail record;
	const char *name = NULL;
	int result = ada_crash_arguments(cause->thread, cause->path.frames.items[frame].position, &arguments, &record);
	size_t count = 0;

	for (size_t i = 0; i < arguments.items.count; i++)
		if (ada_crash_is_pointer(&arguments.items.items[i]) && !arguments.items.items[i].number) {
			name = arguments.items.items[i].name;
			count++;
		}
	if (count == 1 && !result) {
		cause->argument = strdup(name);
		result = cause->argument ? 0 : -12;
	}
	ada_arguments_free(&arguments);
	return result;
}

static bool is_of_strings(const char *symbol)
{
	return !strncmp(symbol, "str", 3) || !strncmp(symbol, "mem", 3) || !strncmp(symbol, "wcs", 3) || !strncmp(symbol, "wmem", 4);
}

/* The register of the only null pointer that a library's function was given which has several implementations, as strlen: another
 * symbol's code crashed, reading there. 0: there is none. */
static uint32_t implemented_elsewhere(const struct ada_crash_cause *cause, size_t frame, struct atf_detail *record)
{
	const char *symbol = ada_crash_symbol(cause->process, cause->path.frames.items[frame].function_id);
	bool first_alone = !strncmp(symbol, "strto", 5) || !strncmp(symbol, "wcsto", 5); /* the second may be null */
	struct ada_arguments arguments;
	uint32_t bits = 0;
	size_t count = 0;

	if (ada_crash_number(cause, "faultAddress") >= (is_of_strings(symbol) ? VECTOR_BYTES : MEMBERS_BYTES))
		return 0;
	if (ada_crash_arguments(cause->thread, cause->path.frames.items[frame].position, &arguments, record))
		count = 2; /* no memory: nobody is named */
	for (size_t i = 0; i < arguments.items.count && (!first_alone || !i); i++)
		if (ada_crash_is_pointer(&arguments.items.items[i]) && !arguments.items.items[i].number) {
			bits = i < sizeof argument_bits / sizeof *argument_bits ? argument_bits[i] : 0;
			count++;
		}
	ada_arguments_free(&arguments);
	return count == 1 ? bits & null_arguments(record) : 0;
}

/* Whether the frame jumped to the one within it, as its last deed: that one has its return address and its stack. Then *flow asks for the
 * jump; `callee` is where that one's code begins. */
static bool is_left_by_jump(const struct ada_crash_cause *cause, size_t frame, const struct atf_detail *inner, uint64_t callee,
			    struct ada_crash_flow *flow)
{
	const struct ada_frame *of = &cause->path.frames.items[frame];
	struct atf_detail record;

	if (!callee || ada_thread_detail(cause->thread, of->position, &record) || !record.sp || record.sp != inner->sp ||
	    record.lr != inner->lr)
		return false;
	flow->bytes = 0;
	ada_process_code(cause->process, of->function_id, callee, &flow->start, &flow->bytes);
	flow->jumped = true;
	flow->to = callee;
	return flow->bytes;
}

int ada_crash_null(struct ada_crash_cause *cause)
{
	size_t count = cause->path.frames.count;
	uint64_t end = cause->end;
	uint32_t asked = 0; /* registers of the frame's call */
	struct ada_crash_flow flow = { .to = ada_crash_number(cause, "rip") };
	struct atf_detail record;
	int result = 0;

	if (cause->signal != SIGSEGV || !cause->recorded || ada_crash_number(cause, "faultAddress") >= FIRST_PAGES ||
	    (ada_crash_code(cause) != SEGV_MAPERR && ada_crash_code(cause) != SEGV_ACCERR))
		return 0;
	if (flow.to == ada_crash_number(cause, "faultAddress")) {
		if (flow.to || !ada_crash_called(cause, &flow.to))
			return 0;
		flow.called = true;
	}
	cause->is_called = flow.called;
	for (size_t frame = count; frame-- > 0 && !result && cause->kind == ADA_CRASH_UNKNOWN;) {
		/* Behind a call that never returns another function may begin. */
		bool behind = flow.called || asked;
		uint64_t callee = asked ? flow.start : 0;
		bool inside = ada_process_code(cause->process, cause->path.frames.items[frame].function_id, flow.to - behind, &flow.start,
					       &flow.bytes);

		flow.registers = asked;
		if (!inside && asked)
			inside = is_left_by_jump(cause, frame, &record, callee, &flow);
		if (inside) {
			result = ask_calls(cause, frame, end, flow);
			if (result || cause->kind != ADA_CRASH_UNKNOWN || !ask_arguments(cause, frame, flow, &record))
				break;
		}
		if (frame + 1 == count)
			result = name_argument(cause, frame);
		asked = inside ? null_arguments(&record) : frame + 1 == count ? implemented_elsewhere(cause, frame, &record) : 0;
		if (!asked)
			break;
		flow.to = record.lr;
		flow.called = flow.jumped = false;
		end = cause->path.frames.items[frame].position;
	}
	if (cause->kind == ADA_CRASH_UNKNOWN) {
		free(cause->argument);
		cause->argument = NULL;
	}
	return result;
}

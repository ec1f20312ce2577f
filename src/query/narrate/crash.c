/* A crash: the signal, the address, the open calls and the last ones before it. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "elf/debug/functions.h"
#include "query/calls/calls.h"
#include "query/narrate/parts.h"

#define CALLS_TOLD 5
#define MUTED_TOLD 20
#define EVENTS_READ 256 /* before the crash, for its last calls */

static uint64_t address_of(const json_object *object, const char *field)
{
	return strtoull(ada_json_text(object, field, "0x0"), NULL, 16);
}

/* By tgkill(pid, tid, signal), whose arguments the registers still hold behind it. */
static bool sent_by_itself(const json_object *crash)
{
	const json_object *registers = ada_json_get(crash, "registers");

	return json_object_get_int64(ada_json_get(crash, "code")) == SI_TKILL &&
	       address_of(registers, "rsi") == ada_json_u64(crash, "tid", 0) &&
	       address_of(registers, "rdx") == ada_json_u64(crash, "signal", 0);
}

static const char *code_text(const json_object *crash, int number)
{
	int64_t code = json_object_get_int64(ada_json_get(crash, "code"));

	if (sent_by_itself(crash))
		return number == SIGABRT ? ", which it sent itself, as abort does" : ", which it sent itself";
	if (code == SI_USER || code == SI_TKILL || code == SI_QUEUE)
		return ", sent by a process";
	if (number == SIGSEGV && code == SEGV_MAPERR)
		return ", where nothing is mapped";
	if (number == SIGSEGV && code == SEGV_ACCERR)
		return ", which this access is not allowed to";
	return "";
}

/* --- where an address lies ---------------------------------------------------------------------------------------------- */

/* Puts module+offset and function of an address that a function of a module holds. False: none does. */
static bool put_place(struct ada_story *story, FILE *stream, const struct ada_process *process, uint64_t address)
{
	uint64_t function_id, offset;
	char name[ADA_WORDS_NAME];

	if (!ada_process_function_at(process, address, &function_id, &offset))
		return false;
	fprintf(stream, "%s+0x%llx in %s", ada_module_name(ada_process_module(process, function_id)), (unsigned long long)offset,
		ada_words_source(story, process, function_id, name));
	return true;
}

/* --- the sentences ------------------------------------------------------------------------------------------------------ */

static void tell_signal(struct ada_story *story, const struct ada_process *process, const struct ada_thread *thread, uint64_t end)
{
	const json_object *crash = ada_json_get(process->manifest, "crash");
	int number = (int)ada_json_u64(crash, "signal", 0);
	char name[ADA_WORDS], time[ADA_WORDS];
	struct ada_telling telling;

	if (!crash) {
		ada_narrate_say(story, "crash", "SIGSEGV ended the process, and no handler could run for it, as where no stack is left.");
		ada_narrate_cite_file(story, process, "manifest.json", "exit");
		return;
	}
	if (!ada_telling_open(story, &telling))
		return;
	if (thread)
		fprintf(telling.stream, "Thread %u (tid %u)", thread->number, thread->tid);
	else
		fprintf(telling.stream, "The thread with tid %u", (unsigned)ada_json_u64(crash, "tid", 0));
	fprintf(telling.stream, " crashed at %s with %s", ada_words_time(story, ada_json_u64(crash, "timestampNs", 0), time),
		ada_words_signal(number, name));
	ada_crash_put_address(telling.stream, process);
	fprintf(telling.stream, "%s.", code_text(crash, number));
	ada_telling_say(story, "crash", &telling);
	ada_narrate_cite_file(story, process, "manifest.json", "crash");
	if (thread && end)
		ada_narrate_cite(story, thread, end - 1, end - 1);
}

static void tell_place(struct ada_story *story, const struct ada_process *process, const struct ada_thread *thread, uint64_t end)
{
	const json_object *crash = ada_json_get(process->manifest, "crash"), *registers = ada_json_get(crash, "registers");
	const char *counter = ada_json_get(registers, "rip") ? "rip" : "pc";
	uint64_t address = address_of(registers, counter);
	struct ada_telling telling;

	if (!ada_json_get(registers, counter) || !ada_telling_open(story, &telling))
		return;
	fprintf(telling.stream, "The instruction pointer was 0x%llx, ", (unsigned long long)address);
	if (json_object_get_int64(ada_json_get(crash, "code")) == SEGV_MAPERR && ada_json_u64(crash, "signal", 0) == SIGSEGV &&
	    address == address_of(crash, "faultAddress"))
		fputs("where nothing is mapped: a call or a jump led there", telling.stream);
	else if (!put_place(story, telling.stream, process, address))
		fputs("in no function of the recorded modules", telling.stream);
	fputs(".", telling.stream);
	ada_telling_say(story, "crash-address", &telling);
	ada_narrate_cite_file(story, process, "manifest.json", "crash.registers.%s", counter);
	if (thread && end)
		ada_narrate_cite(story, thread, end - 1, end - 1);
}

static void tell_frames(struct ada_story *story, const struct ada_crash_cause *cause)
{
	const struct ada_thread *thread = cause->thread;
	uint64_t end = cause->end;
	struct ada_debug_line last;
	struct ada_telling telling;
	struct ada_stack stack;
	bool known;

	if (ada_narrate_stack(story, &stack, thread, end))
		return;
	if (stack.frames.count && ada_telling_open(story, &telling)) {
		fprintf(telling.stream, "%zu call%s open on thread %u: ", stack.frames.count, stack.frames.count == 1 ? " was" : "s were",
			thread->number);
		known = cause->path.frames.count == stack.frames.count && ada_crash_line(cause, stack.frames.count - 1, &last);
		ada_words_stack(story, thread, &stack, known ? &last : NULL, telling.stream);
		ada_words_doubt(story, thread, stack.frames.items[0].position, end, telling.stream);
		fputs(".", telling.stream);
		ada_telling_say(story, "open-frames", &telling);
		ada_narrate_cite_stack(story, thread, &stack);
	} else if (end) {
		ada_narrate_say(story, "open-frames", "No recorded call was open on thread %u.", thread->number);
		ada_narrate_cite(story, thread, end - 1, end - 1);
	}
	ada_stack_close(&stack);
}

/* Which functions' frames the path above may lack. */
static void tell_muted(struct ada_story *story, const struct ada_process *process, uint64_t ns)
{
	char name[ADA_WORDS_NAME];
	struct ada_telling telling;
	struct ada_muted muted;
	size_t count = 0;

	for (size_t i = 0; ada_process_muted(process, i, &muted); i++)
		count += ada_muted_within(&muted, ns, ns + 1);
	if (!count || !ada_telling_open(story, &telling))
		return;
	fprintf(telling.stream, "%zu function%s muted at that time, whose calls would be missing among these: ", count,
		count == 1 ? " was" : "s were");
	for (size_t i = 0, told = 0; ada_process_muted(process, i, &muted) && told < MUTED_TOLD; i++)
		if (ada_muted_within(&muted, ns, ns + 1))
			fprintf(telling.stream, "%s%s", told++ ? ", " : "", ada_words_function(story, process, muted.function_id, name));
	if (count > MUTED_TOLD)
		fprintf(telling.stream, " and %zu more", count - MUTED_TOLD);
	fputs(".", telling.stream);
	ada_telling_say(story, "crash-muted", &telling);
	ada_narrate_cite_file(story, process, "manifest.json", "muted");
}

struct last_calls {
	struct ada_story *story;
	const struct ada_thread *thread;
	uint64_t first;
	struct ada_call calls[CALLS_TOLD];
	size_t count;
};

static void call_take(void *context, const struct ada_call *call)
{
	struct last_calls *last = context;

	if (call->across_loss || (call->outcome != ADA_OUTCOME_RETURN && call->outcome != ADA_OUTCOME_EXCEPTION))
		return;
	if (call->position < last->first && ada_narrate_lost_between(last->story, last->thread, call->position, last->first))
		return;
	if (last->count == CALLS_TOLD)
		memmove(last->calls, last->calls + 1, --last->count * sizeof *last->calls);
	last->calls[last->count++] = *call;
}

/* The calls that ended last, in the order of their ends. */
static void tell_last_calls(struct ada_story *story, const struct ada_thread *thread, uint64_t end)
{
	uint64_t first = end > EVENTS_READ ? end - EVENTS_READ : 0, lowest = UINT64_MAX;
	char name[ADA_WORDS_NAME], duration[ADA_UNITS_TEXT];
	struct last_calls last = { .story = story, .thread = thread, .first = first };
	struct ada_telling telling;
	struct ada_calls calls;

	ada_calls_open(&calls, &(struct ada_calls_receiver){ .context = &last, .ended = call_take });
	if (ada_narrate_feed_open(story, &calls, thread, first))
		story->result = -ENOMEM;
	for (uint64_t position = first; position < end; position++)
		if (ada_calls_feed(&calls, atf_thread_get(thread->events, position), position))
			story->result = -ENOMEM;
	ada_calls_close(&calls);
	if (!last.count || !ada_telling_open(story, &telling))
		return;
	fprintf(telling.stream, "The last call%s that ended on thread %u before the crash: ", ada_words_s(last.count), thread->number);
	for (size_t i = 0; i < last.count; i++) {
		fprintf(telling.stream, "%s%s (%s%s)", i ? ", " : "",
			ada_words_function(story, thread->process, last.calls[i].function_id, name),
			ada_format_duration(last.calls[i].end_ns - last.calls[i].start_ns, duration),
			last.calls[i].outcome == ADA_OUTCOME_EXCEPTION ? ", left by an exception or jump" : "");
		lowest = last.calls[i].position < lowest ? last.calls[i].position : lowest;
	}
	fputs(".", telling.stream);
	ada_telling_say(story, "last-calls", &telling);
	ada_narrate_cite(story, thread, lowest, last.calls[last.count - 1].end_position);
}

void ada_narrate_crash(struct ada_story *story, const struct ada_crash_cause *cause, uint64_t told_ns)
{
	const struct ada_process *process = cause->process;
	const struct ada_thread *thread = cause->thread;

	tell_signal(story, process, thread, cause->end);
	tell_place(story, process, thread, cause->end);
	if (thread) {
		tell_frames(story, cause);
		tell_muted(story, process, cause->ns);
		ada_narrate_crash_frames(story, cause);
		ada_narrate_crash_registers(story, process);
		tell_last_calls(story, thread, cause->end);
	}
	if (!ada_narrate_leaves_out(story) && cause->ns != UINT64_MAX && cause->ns != told_ns)
		ada_narrate_others(story, process, thread, cause->ns, false);
}

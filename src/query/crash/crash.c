/* See crash.h: which thread crashed, in which calls; then one kind of mistake after another is asked for. */
#include "query/crash/internal.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "elf/debug/functions.h"
#include "query/session/mutes.h"
#include "query/session/source.h"
#include "query/session/windows.h"

static const char *const names[] = {
	[ADA_CRASH_UNKNOWN] = "unknown",    [ADA_CRASH_FREED] = "freed",	 [ADA_CRASH_TWICE] = "double-free",
	[ADA_CRASH_NULL] = "null",	    [ADA_CRASH_OVERFLOW] = "overflow",	 [ADA_CRASH_EXCEPTION] = "exception",
	[ADA_CRASH_NOEXCEPT] = "noexcept",  [ADA_CRASH_ASSERTION] = "assertion", [ADA_CRASH_DIVISION] = "division",
	[ADA_CRASH_CONSTANT] = "read-only", [ADA_CRASH_JUMP] = "jump",		 [ADA_CRASH_SMASHED] = "smashed-stack",
	[ADA_CRASH_PANIC] = "panic",
};

const char *ada_crash_kind_name(enum ada_crash_kind kind)
{
	return names[kind];
}

const char *ada_crash_symbol(const struct ada_process *process, uint64_t function_id)
{
	const struct ada_symbol *symbol = ada_module_symbol(ada_process_module(process, function_id), ADA_FUNCTION_SYMBOL(function_id));

	return symbol ? symbol->mangled : "";
}

int ada_crash_arguments(const struct ada_thread *thread, uint64_t position, struct ada_arguments *arguments, struct atf_detail *record)
{
	*arguments = (struct ada_arguments){};
	*record = (struct atf_detail){};
	return ada_thread_detail(thread, position, record) ? 0 : ada_arguments_decode(arguments, thread, record);
}

uint64_t ada_crash_number(const struct ada_crash_cause *cause, const char *field)
{
	const json_object *crash = ada_json_get(cause->process->manifest, "crash");
	const char *text = ada_json_text(crash, field, NULL);

	return strtoull(text ? text : ada_json_text(ada_json_get(crash, "registers"), field, "0"), NULL, 16);
}

int64_t ada_crash_code(const struct ada_crash_cause *cause)
{
	return json_object_get_int64(ada_json_get(ada_json_get(cause->process->manifest, "crash"), "code"));
}

bool ada_crash_is_pointer(const struct ada_argument *argument)
{
	return argument->kind == ADA_ARGUMENT_POINTER || argument->kind == ADA_ARGUMENT_STRING;
}

/* A thread id may have been used before: the newest thread of it. */
static void find_thread(struct ada_crash_cause *cause)
{
	const struct ada_process *process = cause->process;
	uint64_t tid = ada_json_u64(ada_json_get(process->manifest, "crash"), "tid", 0);

	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *one = &process->session->threads.items[process->first_thread + i];

		if (one->tid == tid && one->events && one->count && atf_thread_get(one->events, 0)->timestamp_ns <= cause->ns)
			cause->thread = one;
	}
	if (cause->thread)
		cause->end = cause->ns == UINT64_MAX ? cause->thread->count : atf_thread_lower_bound(cause->thread->events, cause->ns + 1);
}

static int find_mistake(struct ada_crash_cause *cause)
{
	static int (*const all[])(struct ada_crash_cause *) = { ada_crash_overflowed, ada_crash_thrown,	     ada_crash_panicked,
								ada_crash_stopped,    ada_crash_freed_twice, ada_crash_freed,
								ada_crash_null,	      ada_crash_jumped,	     ada_crash_smashed,
								ada_crash_constant,   ada_crash_divided };
	int result = 0;

	for (size_t i = 0; i < sizeof all / sizeof *all && !result && cause->kind == ADA_CRASH_UNKNOWN; i++)
		result = all[i](cause);
	return result;
}

/* Of a signal that an instruction raised. */
static void find_muted(struct ada_crash_cause *cause)
{
	const json_object *crash = ada_json_get(cause->process->manifest, "crash");
	struct ada_muted muted;
	uint64_t offset;

	if (!ada_process_muted(cause->process, 0, &muted) || !cause->path.frames.count ||
	    json_object_get_int64(ada_json_get(crash, "code")) <= 0 ||
	    !ada_process_function_at(cause->process, ada_crash_number(cause, "rip"), &cause->muted_id, &offset) ||
	    cause->path.frames.items[cause->path.frames.count - 1].function_id == cause->muted_id)
		return;
	for (size_t i = 0; ada_process_muted(cause->process, i, &muted) && !cause->in_muted; i++)
		cause->in_muted = muted.function_id == cause->muted_id && ada_muted_within(&muted, cause->ns, cause->ns + 1);
}

int ada_crash_find(const struct ada_process *process, struct ada_crash_cause *cause, bool *found)
{
	const json_object *crash = ada_json_get(process->manifest, "crash"), *exit = ada_json_get(process->manifest, "exit");
	int result = 0;

	*cause = (struct ada_crash_cause){ .process = process, .recorded = crash };
	cause->signal = (int)ada_json_u64(crash ? crash : exit, "signal", 0);
	cause->ended_by = ada_json_get(exit, "status") ? 0 : (int)ada_json_u64(exit, "signal", (uint64_t)cause->signal);
	cause->ns = ada_json_u64(crash, "timestampNs", UINT64_MAX);
	*found = crash || cause->signal == SIGSEGV;
	if (!*found)
		return 0;
	if (crash)
		find_thread(cause);
	if (cause->thread)
		result = ada_stack_at(&cause->path, cause->thread, cause->end);
	cause->frame = cause->path.frames.count ? cause->path.frames.count - 1 : 0;
	if (!result)
		result = find_mistake(cause);
	find_muted(cause);
	*found = crash || cause->kind != ADA_CRASH_UNKNOWN;
	return result;
}

void ada_crash_free(struct ada_crash_cause *cause)
{
	ada_stack_close(&cause->path);
	ada_stack_close(&cause->culprit_path);
	free(cause->argument);
	free(cause->type);
	free(cause->base);
	free(cause->text);
	free(cause->nested_type);
	free(cause->nested_text);
	free(cause->file);
	*cause = (struct ada_crash_cause){};
}

bool ada_crash_line(const struct ada_crash_cause *cause, size_t frame, struct ada_debug_line *line)
{
	uint64_t address;

	if (frame + 1 < cause->path.frames.count)
		return ada_stack_line(&cause->path, cause->thread, frame, line);
	if (ada_crash_called(cause, &address))
		address--;
	else
		address = ada_crash_number(cause, "rip");
	return ada_process_line(cause->process, cause->path.frames.items[frame].function_id, address, line);
}

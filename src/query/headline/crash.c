/* Why a process crashed, in a sentence. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "query/headline/internal.h"
#include "query/session/windows.h"

static void put_path(struct ada_story *story, FILE *stream, const struct ada_crash_cause *cause)
{
	char *text = ada_cause_path_text(cause->process, &cause->culprit_path, story->options.full_names);

	if (!text)
		story->result = -12;
	fputs(text ? text : "", stream);
	free(text);
}

void ada_crash_put_address(FILE *stream, const struct ada_process *process)
{
	const json_object *crash = ada_json_get(process->manifest, "crash");
	uint64_t number = ada_json_u64(crash, "signal", 0);

	if (json_object_get_int64(ada_json_get(crash, "code")) <= 0) /* it was sent */
		return;
	if ((number == SIGSEGV || number == SIGBUS) && json_object_get_int64(ada_json_get(crash, "code")) == SI_KERNEL)
		fputs("; the kernel does not say at which address, as where a pointer holds a value that is no address", stream);
	else if (number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE)
		fprintf(stream, " at address %s", ada_json_text(crash, "faultAddress", "0x0"));
}

/* The function that the crash is told of. */
static const char *blamed(struct ada_story *story, const struct ada_crash_cause *cause, char name[ADA_WORDS_NAME])
{
	return ada_words_function(story, cause->process, cause->path.frames.items[cause->frame].function_id, name);
}

/* "handle crashed with SIGSEGV at address 0x8" */
static void put_crash(struct ada_story *story, FILE *stream, const struct ada_crash_cause *cause)
{
	char name[ADA_WORDS_NAME], text[ADA_WORDS];

	if (cause->path.frames.count)
		fputs(blamed(story, cause, name), stream);
	else if (cause->thread)
		fprintf(stream, "Thread %u", cause->thread->number);
	else
		fputs("A thread that is not recorded", stream);
	fputs(" crashed", stream);
	if (cause->in_muted)
		fprintf(stream, " in %s, which was muted,", ada_words_function(story, cause->process, cause->muted_id, name));
	fprintf(stream, " with %s", ada_words_signal(cause->signal, text));
	ada_crash_put_address(stream, cause->process);
}

static const char *ender(const struct ada_crash_cause *cause, char text[ADA_WORDS])
{
	return cause->ended_by ? ada_words_signal(cause->ended_by, text) : "a signal handler";
}

/* A library's function says little alone: "main > release called free, which crashed with SIGABRT" */
static void put_unknown(struct ada_story *story, FILE *stream, const struct ada_crash_cause *cause)
{
	const struct ada_frame *frames = cause->path.frames.items;
	bool sent = json_object_get_int64(ada_json_get(ada_json_get(cause->process->manifest, "crash"), "code")) <= 0;
	char name[ADA_WORDS_NAME], text[ADA_WORDS];
	const char *called;

	if (!cause->frame || ada_process_traces(cause->process, frames[cause->frame].function_id) ||
	    !ada_process_traces(cause->process, frames[cause->frame - 1].function_id)) {
		put_crash(story, stream, cause);
		return;
	}
	if (cause->frame > 1)
		fprintf(stream, "%s > ", ada_words_function(story, cause->process, frames[cause->frame - 2].function_id, name));
	fputs(ada_words_function(story, cause->process, frames[cause->frame - 1].function_id, name), stream);
	called = blamed(story, cause, name);
	sent = sent && (!strcmp(called, "abort") || !strcmp(called, "raise") || !strcmp(called, "kill"));
	fprintf(stream, " called %s, %s crashed with %s", called, sent ? "and" : "which", ada_words_signal(cause->signal, text));
	ada_crash_put_address(stream, cause->process);
}

static void put_pointer(struct ada_story *story, FILE *stream, const struct ada_crash_cause *cause)
{
	bool freed = cause->kind == ADA_CRASH_FREED;
	char name[ADA_WORDS_NAME], text[ADA_UNITS_TEXT];

	put_crash(story, stream, cause);
	if (freed && !cause->argument)
		fprintf(stream, ": thread %u had unmapped what was there ", cause->culprit->number);
	else if (freed)
		fprintf(stream, ": its argument %s, 0x%" PRIx64 ", points to a block that thread %u had freed ",
			*cause->argument ? cause->argument : "without name", cause->object, cause->culprit->number);
	else if (cause->argument)
		fprintf(stream, ": its argument %s is null, as %s had returned it ", *cause->argument ? cause->argument : "without name",
			ada_words_function(story, cause->process, cause->culprit_function_id, name));
	else
		fprintf(stream, ": %sa null pointer that %s had returned ", cause->is_called ? "it called " : "",
			ada_words_function(story, cause->process, cause->culprit_function_id, name));
	fprintf(stream, "%s before, in ", ada_format_duration(cause->ns - cause->culprit_ns, text));
	put_path(story, stream, cause);
}

static void put_strayed(struct ada_story *story, FILE *stream, const struct ada_crash_cause *cause)
{
	char name[ADA_WORDS_NAME], text[ADA_WORDS];

	if (cause->kind == ADA_CRASH_SMASHED && !cause->has_object) {
		fprintf(stream, "The stack frame of %s was written over: its guard had changed when it was to return; %s ended the process",
			blamed(story, cause, name), ender(cause, text));
		return;
	}
	put_unknown(story, stream, cause);
	if (cause->kind == ADA_CRASH_SMASHED)
		fprintf(stream, ": its return address was overwritten, with 0x%" PRIx64, cause->object);
	else if (cause->kind == ADA_CRASH_JUMP && cause->object)
		fprintf(stream, ": it called a function through a pointer that holds 0x%" PRIx64 ", where no code is", cause->object);
	else if (cause->kind == ADA_CRASH_JUMP)
		fputs(": it called a function through a null pointer", stream);
	else
		fprintf(stream, ": it wrote to read-only data of %s%s%s%s", ada_words_file(cause->file), cause->text ? " (" : "",
			cause->text ? cause->text : "", cause->text ? ")" : "");
}

static void put_twice(struct ada_story *story, FILE *stream, const struct ada_crash_cause *cause)
{
	char name[ADA_WORDS_NAME], text[ADA_UNITS_TEXT], number[ADA_WORDS];

	fprintf(stream, "%s freed 0x%" PRIx64 " twice: thread %u had freed it %s before, in ", blamed(story, cause, name), cause->object,
		cause->culprit->number, ada_format_duration(cause->ns - cause->culprit_ns, text));
	put_path(story, stream, cause);
	fprintf(stream, "; %s ended the process", ender(cause, number));
}

static void put_overflow(struct ada_story *story, FILE *stream, const struct ada_crash_cause *cause)
{
	char name[ADA_WORDS_NAME], count[ADA_WORDS], bytes[ADA_UNITS_TEXT], text[ADA_WORDS];

	fprintf(stream, "%s used up the stack of thread %u: it was in itself %s times", blamed(story, cause, name), cause->thread->number,
		ada_format_grouped(cause->depth, count));
	if (cause->bytes)
		fprintf(stream, ", with %s of stack", ada_format_size(cause->bytes, bytes));
	fprintf(stream, ", when %s ended the process", ender(cause, text));
}

static void put_exception(struct ada_story *story, FILE *stream, const struct ada_crash_cause *cause)
{
	char name[ADA_WORDS_NAME], text[ADA_UNITS_TEXT];

	if (cause->kind == ADA_CRASH_NOEXCEPT) {
		fprintf(stream, "%s threw an exception that could not leave a noexcept function",
			ada_words_function(story, cause->process, cause->culprit_function_id, name));
		fprintf(stream, ", %s or one without events within it", blamed(story, cause, name));
	} else {
		fprintf(stream, "%s %s an exception that nobody caught", blamed(story, cause, name),
			cause->is_rethrown ? "rethrew" : "threw");
	}
	if (cause->is_rethrown && cause->culprit) {
		fprintf(stream, ", which thread %u %s %s before, in ", cause->culprit->number, cause->is_made ? "made" : "threw",
			ada_format_duration(cause->ns - cause->culprit_ns, text));
		put_path(story, stream, cause);
	}
	if (cause->type)
		fprintf(stream, ": %s", cause->type);
	else
		fputs("; its type is not recorded", stream);
	if (cause->base)
		fprintf(stream, ", derived from %s", cause->base);
	if (cause->text && cause->is_what)
		fprintf(stream, ", what(): %s", cause->text);
	else if (cause->text && cause->base)
		fprintf(stream, ", which was made with \"%s\"; what its what() says is not known", cause->text);
	else if (cause->text)
		fprintf(stream, ", with a pointer to \"%s\"", cause->text);
	if (cause->nested_type)
		fprintf(stream, "; nested in it: %s", cause->nested_type);
	if (cause->nested_text)
		fprintf(stream, ", what(): %s", cause->nested_text);
}

static void put_assertion(struct ada_story *story, FILE *stream, const struct ada_crash_cause *cause)
{
	char name[ADA_WORDS_NAME];

	fprintf(stream, "An assertion failed in %s", blamed(story, cause, name));
	if (cause->text)
		fprintf(stream, ": %s", cause->text);
	else
		fputs("; its text is not recorded", stream);
	if (cause->file)
		fprintf(stream, " (%s:%" PRIu64 ")", ada_words_file(cause->file), cause->line);
}

static void put_panicked(struct ada_story *story, FILE *stream, const struct ada_crash_cause *cause)
{
	char name[ADA_WORDS_NAME], text[ADA_WORDS];

	fputs(blamed(story, cause, name), stream);
	ada_headline_put_panic(stream, cause->thread->number, cause->file, cause->line, cause->column, cause->text);
	fprintf(stream, "; %s ended the process", ender(cause, text));
}

static void cite_record(struct ada_story *story, const struct ada_crash_cause *cause)
{
	ada_narrate_cite_file(story, cause->process, "manifest.json", cause->recorded ? "crash" : "exit");
}

void ada_narrate_crash_cause(struct ada_story *story, const struct ada_crash_cause *cause, bool first)
{
	struct ada_telling telling;

	if (!ada_telling_open(story, &telling))
		return;
	switch (cause->kind) {
	case ADA_CRASH_FREED:
	case ADA_CRASH_NULL: put_pointer(story, telling.stream, cause); break;
	case ADA_CRASH_TWICE: put_twice(story, telling.stream, cause); break;
	case ADA_CRASH_OVERFLOW: put_overflow(story, telling.stream, cause); break;
	case ADA_CRASH_NOEXCEPT:
	case ADA_CRASH_EXCEPTION: put_exception(story, telling.stream, cause); break;
	case ADA_CRASH_ASSERTION: put_assertion(story, telling.stream, cause); break;
	case ADA_CRASH_PANIC: put_panicked(story, telling.stream, cause); break;
	case ADA_CRASH_SMASHED:
	case ADA_CRASH_JUMP:
	case ADA_CRASH_CONSTANT: put_strayed(story, telling.stream, cause); break;
	case ADA_CRASH_DIVISION:
		put_crash(story, telling.stream, cause);
		fputs(": an integer division by zero", telling.stream);
		break;
	default: put_unknown(story, telling.stream, cause); break;
	}
	fputs(".", telling.stream);
	ada_telling_say(story, first ? "headline" : "crash-cause", &telling);
	cite_record(story, cause);
	if (cause->path.frames.count)
		ada_narrate_cite(story, cause->thread, cause->path.frames.items[cause->frame].position,
				 cause->path.frames.items[cause->frame].position);
	if (cause->culprit)
		ada_narrate_cite(story, cause->culprit, cause->culprit_position, cause->culprit_position);
	ada_narrate_attach_crash(story, ada_crash_json(cause));
	if (cause->kind == ADA_CRASH_UNKNOWN && cause->path.frames.count)
		ada_narrate_library(story, cause->process, cause->path.frames.items[cause->frame].function_id);
}

/* A pointer to a block that was freed before: an argument of an open call, whose block was given back before that call began, or meanwhile by
 * another thread, and not given out anew since. Where the call's own thread freed it within the call, that counts only if the address that
 * crashed lies in the block. Where the address came from static data no argument is to blame. And a block given to free that was freed
 * before, which made libc abort. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "query/crash/internal.h"
#include "query/session/source.h"
#include "query/session/windows.h"

#define FRAMES_ASKED 8 /* from the innermost one outwards */

enum does { DOES_NOTHING, DOES_FREE = 1, DOES_ALLOCATE = 2, DOES_BOTH = 3 };

struct block_event { /* what happened to a block last */
	const struct ada_thread *thread;
	uint64_t position, ns;
	bool freed;
};

struct asked { /* for a block that an argument points to */
	uint64_t block;
	size_t frame;
	char *argument;	  /* its name */
	bool is_register; /* without a type */
	struct block_event last;
};

struct hunt {
	ADA_ARRAY(struct asked) asked; /* what is found out about the first of them that is a mistake counts */
	bool is_twice;		       /* libc's own word says that the block is free: nobody was given it since */
	bool asks_unmapped;
	uint64_t address; /* that is not mapped */
	struct block_event unmapped;
};

/* realloc gives back what it was called with, and gives out what it returns. */
static enum does does_of(const char *symbol)
{
	if (!strcmp(symbol, "free") || !strcmp(symbol, "cfree") || !strcmp(symbol, "munmap") || !strncmp(symbol, "_ZdlPv", 6) ||
	    !strncmp(symbol, "_ZdaPv", 6))
		return DOES_FREE;
	if (!strncmp(symbol, "realloc", 7) && (!symbol[7] || !strcmp(symbol + 7, "array")))
		return DOES_BOTH;
	if (!strcmp(symbol, "malloc") || !strcmp(symbol, "calloc") || !strcmp(symbol, "aligned_alloc") || !strcmp(symbol, "memalign") ||
	    !strcmp(symbol, "mmap") || !strncmp(symbol, "_Znw", 4) || !strncmp(symbol, "_Zna", 4) || !strcmp(symbol, "strdup") ||
	    !strcmp(symbol, "strndup") || !strcmp(symbol, "realpath") || !strcmp(symbol, "getcwd") || !strcmp(symbol, "fopen"))
		return DOES_ALLOCATE;
	return DOES_NOTHING;
}

/* munmap is of another sort for whoever asks what covers an address. What gives out a block by another way than its result may have given out
 * any. */
#define UNMAPS 4u
#define MAY_GIVE 8u

static unsigned int sort_of(const char *symbol)
{
	static const char *const may_give[] = { "posix_memalign", "getline", "getdelim",       "__getdelim",	 "asprintf",
						"vasprintf",	  "scandir", "__asprintf_chk", "open_memstream", "__vasprintf_chk" };
	unsigned int sort = does_of(symbol) | (strcmp(symbol, "munmap") ? 0 : UNMAPS);

	for (size_t i = 0; i < sizeof may_give / sizeof *may_give; i++)
		sort |= strcmp(symbol, may_give[i]) ? 0 : MAY_GIVE;
	return sort;
}

/* Threads are read side by side: the last of them in time is it; of the same time, that of the later thread, and the later of one thread. */
static void keep_last(struct block_event *last, const struct ada_thread *thread, uint64_t position, bool freed)
{
	uint64_t ns = atf_thread_get(thread->events, position)->timestamp_ns;

	if (!last->thread || (last->thread != thread && ns >= last->ns))
		*last = (struct block_event){ thread, position, ns, freed };
}

/* Whether the event gave back or gave out one of the blocks that are asked for. */
static void see(void *context, const struct ada_thread *thread, uint64_t position, unsigned int sort)
{
	bool freed = atf_thread_get(thread->events, position)->event_kind == ADA_EVENT_CALL;
	struct hunt *hunt = context;
	struct atf_detail record;

	for (size_t i = 0; !freed && !hunt->is_twice && sort & MAY_GIVE && i < hunt->asked.count; i++)
		keep_last(&hunt->asked.items[i].last, thread, position, false);
	if (!(sort & (freed ? DOES_FREE : DOES_ALLOCATE)) || ada_thread_detail(thread, position, &record))
		return;
	for (size_t i = 0; i < hunt->asked.count; i++)
		if (hunt->asked.items[i].block == record.x[0])
			keep_last(&hunt->asked.items[i].last, thread, position, freed);
	if (sort & UNMAPS && hunt->asks_unmapped && hunt->address - record.x[0] < ((record.x[1] + 4095) & ~4095ull))
		keep_last(&hunt->unmapped, thread, position, true);
}

static bool is_answered(const void *context)
{
	const struct hunt *hunt = context;

	for (size_t i = 0; i < hunt->asked.count; i++)
		if (!hunt->asked.items[i].last.thread)
			return false;
	return !hunt->asks_unmapped || hunt->unmapped.thread;
}

static void drop_older(struct block_event *last, uint64_t read_ns)
{
	if (last->ns < read_ns)
		*last = (struct block_event){};
}

/* Finds the last such events of all threads before the crash, of its own before `before`, in one go for all that is asked. Where not all
 * could be read, an event that is older than what was read of another thread is none: that thread may have been given the block since. */
static int read_back(const struct ada_crash_cause *cause, struct hunt *hunt, uint64_t before)
{
	uint64_t end = atf_thread_lower_bound(cause->thread->events, cause->ns + 1), read_ns;
	struct ada_crash_back back = { .process = cause->process,
				       .until_ns = cause->ns + 1,
				       .own = cause->thread,
				       .own_end = before < end ? before : end,
				       .sort = sort_of,
				       .see = see,
				       .is_answered = is_answered,
				       .context = hunt };
	int result = ada_crash_read_back(&back, &read_ns);

	for (size_t i = 0; i < hunt->asked.count; i++)
		drop_older(&hunt->asked.items[i].last, read_ns);
	drop_older(&hunt->unmapped, read_ns);
	return result;
}

static void hunt_free(struct hunt *hunt)
{
	for (size_t i = 0; i < hunt->asked.count; i++)
		free(hunt->asked.items[i].argument);
	ada_array_free(&hunt->asked);
}

static int ask_block(struct hunt *hunt, uint64_t block, size_t frame, const char *argument, bool is_register)
{
	struct asked asked = { .block = block, .frame = frame, .argument = strdup(argument), .is_register = is_register };

	if (asked.argument && !ada_array_push(&hunt->asked, asked))
		return 0;
	free(asked.argument);
	return -ENOMEM;
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

/* Takes the name of the argument. */
static int blame(struct ada_crash_cause *cause, enum ada_crash_kind kind, size_t frame, struct asked *asked)
{
	blame_event(cause, kind, asked->last.thread, asked->last.position);
	cause->frame = frame;
	cause->object = asked->block;
	cause->argument = asked->argument;
	asked->argument = NULL;
	return ada_stack_at(&cause->culprit_path, asked->last.thread, asked->last.position + 1);
}

/* Without types nobody knows which registers are arguments. One is where the innermost call's code accesses memory by what was in it when the
 * call began, or by what it loaded from there, whichever way it came to the instruction that crashed. Its block has to be freed by then. */
static int ask_registers(const struct ada_crash_cause *cause, struct hunt *hunt, const struct atf_detail *record)
{
	static const uint32_t bits[] = { 1u << 7, 1u << 6, 1u << 2, 1u << 1, 1u << 8, 1u << 9 }; /* rdi rsi rdx rcx r8 r9 */
	size_t frame = cause->path.frames.count - 1;
	const struct ada_frame *of = &cause->path.frames.items[frame];
	struct ada_crash_flow flow = { .to = ada_crash_number(cause, "rip"), .points = true };
	int result = 0;

	if (!ada_process_code(cause->process, of->function_id, flow.to, &flow.start, &flow.bytes))
		return 0;
	flow.from = flow.start;
	for (unsigned int i = 0; i < sizeof bits / sizeof *bits && !result; i++) {
		flow.has = bits[i];
		if (record->x[i] && !ada_captured_redacted(record, (int)i) && ada_crash_flows(cause, &flow))
			result = ask_block(hunt, record->x[i], frame, (char[]){ (char)('1' + i), 0 }, true);
	}
	return result;
}

/* Asks for what the frame's pointers lead to. */
static int ask_frame(const struct ada_crash_cause *cause, struct hunt *hunt, size_t frame)
{
	struct ada_arguments arguments;
	struct atf_detail record;
	int result = ada_crash_arguments(cause->thread, cause->path.frames.items[frame].position, &arguments, &record);

	for (size_t i = 0; i < arguments.items.count && !result; i++) {
		const struct ada_argument *argument = &arguments.items.items[i];

		if (ada_crash_is_pointer(argument) && argument->number)
			result = ask_block(hunt, (uint64_t)argument->number, frame, argument->name, false);
	}
	if (!result && frame + 1 == cause->path.frames.count && !arguments.known && record.lr)
		result = ask_registers(cause, hunt, &record);
	ada_arguments_free(&arguments);
	return result;
}

static bool is_culprit(const struct ada_crash_cause *cause, const struct asked *asked)
{
	const struct ada_frame *frame = &cause->path.frames.items[asked->frame];

	if (!asked->last.thread)
		return false;
	return asked->is_register ? asked->last.freed && asked->last.ns < frame->start_ns :
				    is_mistake(cause, frame, asked->block, &asked->last);
}

/* The last munmap of all threads that covers the address, where nothing is mapped now, if no argument leads to a block. */
static int judge(struct ada_crash_cause *cause, struct hunt *hunt)
{
	for (size_t i = 0; i < hunt->asked.count; i++)
		if (is_culprit(cause, &hunt->asked.items[i]))
			return blame(cause, ADA_CRASH_FREED, hunt->asked.items[i].frame, &hunt->asked.items[i]);
	if (!hunt->asks_unmapped)
		return 0;
	cause->object = hunt->address;
	if (!hunt->unmapped.thread)
		return 0;
	blame_event(cause, ADA_CRASH_FREED, hunt->unmapped.thread, hunt->unmapped.position);
	return ada_stack_at(&cause->culprit_path, cause->culprit, cause->culprit_position + 1);
}

int ada_crash_freed(struct ada_crash_cause *cause)
{
	size_t count = cause->path.frames.count;
	struct hunt hunt = {};
	int result = 0;

	if ((cause->signal != SIGSEGV && cause->signal != SIGBUS) || !cause->recorded || !cause->thread)
		return 0;
	for (size_t i = ada_crash_is_of_global(cause) ? 0 : count; i-- > 0 && count - i <= FRAMES_ASKED && !result;)
		result = ask_frame(cause, &hunt, i);
	hunt.asks_unmapped = ada_crash_code(cause) == SEGV_MAPERR;
	hunt.address = ada_crash_number(cause, "faultAddress");
	if (!result)
		result = read_back(cause, &hunt, UINT64_MAX);
	if (!result)
		result = judge(cause, &hunt);
	hunt_free(&hunt);
	return result;
}

static bool frees(const struct ada_crash_cause *cause, size_t frame)
{
	return does_of(ada_crash_symbol(cause->process, cause->path.frames.items[frame].function_id)) & DOES_FREE;
}

/* delete frees by free: the outermost of them is what the program called. */
int ada_crash_freed_twice(struct ada_crash_cause *cause)
{
	size_t frame = cause->path.frames.count;
	struct hunt hunt = { .is_twice = true };
	struct ada_arguments arguments;
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
	if (!result && arguments.items.count && arguments.items.items[0].number)
		result = ask_block(&hunt, (uint64_t)arguments.items.items[0].number, frame, arguments.items.items[0].name, false);
	else if (!result && !arguments.known && record.lr && record.x[0] && !ada_captured_redacted(&record, 0))
		result = ask_block(&hunt, record.x[0], frame, "1", true); /* operator delete has no types */
	if (!result && hunt.asked.count)
		result = read_back(cause, &hunt, cause->path.frames.items[frame].position);
	if (!result && hunt.asked.count && hunt.asked.items[0].last.freed)
		result = blame(cause, ADA_CRASH_TWICE, frame ? frame - 1 : 0, &hunt.asked.items[0]);
	hunt_free(&hunt);
	ada_arguments_free(&arguments);
	return result;
}

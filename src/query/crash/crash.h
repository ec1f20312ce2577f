/* Why a process crashed, as far as the recording shows: a pointer to a block that was freed before, a null pointer that a call returned, a
 * recursion that used up the stack, an exception that nobody caught, a failed assertion. docs/inside/crash.md says by which rules.
 *
 * Everything rests on the detail around the crash; where that doesn't show a mistake the kind is ADA_CRASH_UNKNOWN, and nobody is named. */
#ifndef ADA_QUERY_CRASH_H
#define ADA_QUERY_CRASH_H
#include "query/calls/calls.h"
#include "query/calls/stack.h"
#include "query/session/session.h"

enum ada_crash_kind {
	ADA_CRASH_UNKNOWN,
	ADA_CRASH_FREED,     /* an argument's block was freed before */
	ADA_CRASH_TWICE,     /* free was given what was freed before */
	ADA_CRASH_NULL,	     /* a call returned null */
	ADA_CRASH_OVERFLOW,  /* a recursion used up the stack */
	ADA_CRASH_EXCEPTION, /* nobody caught it */
	ADA_CRASH_NOEXCEPT,  /* it couldn't leave a noexcept function */
	ADA_CRASH_ASSERTION,
	ADA_CRASH_PANIC,    /* Rust's */
	ADA_CRASH_DIVISION, /* an integer, by zero */
	ADA_CRASH_CONSTANT, /* it wrote to what can't be changed */
	ADA_CRASH_JUMP,	    /* a call through a pointer that leads to no code */
	ADA_CRASH_SMASHED,  /* the function's stack frame was written over */
};
const char *ada_crash_kind_name(enum ada_crash_kind kind);

struct ada_crash_cause {
	const struct ada_process *process;
	const struct ada_thread *thread; /* that crashed; NULL: not known */
	uint64_t end;			 /* of its events, those before the crash */
	uint64_t ns;
	int signal;
	int ended_by;	       /* the signal that ended the process: another one where the handler of `signal` raised that; 0: it exited */
	bool recorded;	       /* the manifest has the crash's record: address, registers */
	struct ada_stack path; /* the calls open then, outermost first */
	size_t frame;	       /* in `path`: the call that is to be named; who threw, asserted, or freed twice */
	bool in_muted;	       /* it was in a function that was muted then, whose call the path lacks: */
	uint64_t muted_id;

	enum ada_crash_kind kind;
	bool has_object;
	uint64_t object; /* the pointer; EXCEPTION, NOEXCEPT: the thrown object; SMASHED: the return address */
	bool is_called;	 /* NULL: the pointer was called */
	char *argument;	 /* FREED, TWICE, NULL: the frame's argument that has it; NULL: none; FREED: the address was unmapped */
	char *type;	 /* EXCEPTION: its type's name; NULL: not known */
	char *text; /* EXCEPTION: what it says; ASSERTION: the assertion; PANIC: its message; CONSTANT: the data's symbol, or text in quotation marks; NULL: not known */
	char *base; /* EXCEPTION: the class of the standard library that it is derived from, and `text` is of; NULL: none, or not known */
	bool is_what;			 /* EXCEPTION: `text` is what() */
	bool is_rethrown;		 /* EXCEPTION: `frame` is who threw it once more */
	bool is_made;			 /* EXCEPTION: the culprit made it without throwing it */
	char *nested_type, *nested_text; /* EXCEPTION: what is nested in it, and its what(); NULL: nothing, or not known */
	char *file;			 /* ASSERTION, PANIC; CONSTANT: the module's */
	uint64_t line, column;		 /* column: of a PANIC */
	uint64_t depth, bytes;		 /* OVERFLOW: how many calls of the function, and how much stack they took: 0: not known */

	/* FREED, TWICE: who freed it; NOEXCEPT, EXCEPTION that was rethrown: who threw; NULL: who returned it. */
	const struct ada_thread *culprit;
	uint64_t culprit_position, culprit_ns; /* of the CALL that freed it, or of the end that returned it */
	uint64_t culprit_function_id;
	struct ada_stack culprit_path; /* outermost first, with that call */
};

/* Of a process that a signal ended. False in *found: it didn't crash. 0, -ENOMEM, or -EINTR once ada_interrupted(); the caller frees the cause,
 * also after an error. */
int ada_crash_find(const struct ada_process *process, struct ada_crash_cause *cause, bool *found);
void ada_crash_free(struct ada_crash_cause *cause);
/* What --format=json has of it; malloc'ed, NULL: no memory. */
char *ada_crash_json(const struct ada_crash_cause *cause);
/* Where the code of the frame stood at the crash: its line, by the debug information. False: not known. */
struct ada_debug_line;
bool ada_crash_line(const struct ada_crash_cause *cause, size_t frame, struct ada_debug_line *line);
#endif

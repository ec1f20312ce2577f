/* Parts of crash.c. Each leaves the kind as it is where it finds nothing. 0, -ENOMEM, or -EINTR once ada_interrupted(). */
#ifndef ADA_QUERY_CRASH_INTERNAL_H
#define ADA_QUERY_CRASH_INTERNAL_H
#include <Zydis/Zydis.h>
#include "query/crash/crash.h"
#include "query/values/arguments.h"

int ada_crash_freed(struct ada_crash_cause *cause);	  /* freed.c */
int ada_crash_freed_twice(struct ada_crash_cause *cause); /* freed.c */
int ada_crash_null(struct ada_crash_cause *cause);	  /* null.c */
int ada_crash_divided(struct ada_crash_cause *cause);	  /* divided.c */
int ada_crash_constant(struct ada_crash_cause *cause);	  /* constant.c */
int ada_crash_jumped(struct ada_crash_cause *cause);	  /* jumped.c */
int ada_crash_smashed(struct ada_crash_cause *cause);	  /* jumped.c */
int ada_crash_overflowed(struct ada_crash_cause *cause);  /* overflow.c: finds the thread, too, where nothing names it */
int ada_crash_thrown(struct ada_crash_cause *cause);	  /* thrown.c: exceptions and assertions */
int ada_crash_panicked(struct ada_crash_cause *cause);	  /* thrown.c: Rust's panics */
int ada_crash_stopped(struct ada_crash_cause *cause);	  /* stopped.c: exceptions that a noexcept function stopped */

/* Whether the function throws, and nothing else; and what it threw there (or asserted). */
bool ada_crash_throws(const char *symbol);
int ada_crash_read_throw(struct ada_crash_cause *cause, const struct ada_thread *thread, uint64_t position);
/* rethrown.c: whether the function throws what was thrown before; what that was, and what the exception has nested in it. */
bool ada_crash_rethrows(const char *symbol);
int ada_crash_read_rethrown(struct ada_crash_cause *cause, const struct ada_thread *thread, uint64_t position);
int ada_crash_read_nested(struct ada_crash_cause *cause, const struct ada_thread *thread, uint64_t position);

bool ada_crash_library_throws(const char *symbol); /* library.c: std::__throw_... */
/* operator new of so many bytes as no process can have */
bool ada_crash_asks_too_much(const char *symbol, const struct atf_detail *record);
void ada_crash_leave_library(const struct ada_process *process, struct ada_stack *path); /* drops these from its end */
void ada_crash_library_read(struct ada_crash_cause *cause, const char *symbol, const struct atf_detail *record);

/* A value, null unless it `points`, on its way through a function's code. */
struct ada_crash_flow {
	uint64_t start, bytes; /* the function's code */
	uint64_t from;	       /* where it is in the registers `has`, a bit each as the processor numbers them */
	uint32_t has;
	uint64_t to; /* the instruction that accesses memory; with `registers` the end of the call that has the value in one of them */
	uint32_t registers;
	bool points; /* it is an address: the instruction may also access by what was loaded from there */
	bool called; /* the call asked for goes where the value says */
	/* `to` is another function's beginning, and each jump to there, or to another module, has the value in one of `registers` */
	bool jumped;
};
bool ada_crash_flows(const struct ada_crash_cause *cause, const struct ada_crash_flow *flow); /* flow.c */

/* Whether the innermost open call called through a pointer to where no code is: *address lies behind that call. */
bool ada_crash_called(const struct ada_crash_cause *cause, uint64_t *address); /* jumped.c */

/* back.c: what the threads of a process did before a time. Calls and their returns are read backwards, of each thread and in all only so many,
 * all threads' last ones first. */
struct ada_crash_back {
	const struct ada_process *process;
	uint64_t until_ns; /* events before this time, but of `own`, which has events, those in front of own_end */
	const struct ada_thread *own;
	uint64_t own_end;
	uint64_t budget;			  /* events that are read of all threads; 0: as many as an answer is worth */
	unsigned int (*sort)(const char *symbol); /* what a function's events are for who asks, 0: nothing; asked once a function */
	void (*see)(void *context, const struct ada_thread *thread, uint64_t position,
		    unsigned int sort);		  /* each thread's last event first */
	bool (*is_answered)(const void *context); /* by what was seen: then nothing older matters */
	void *context;
};
/* *read_ns: from this time on the events of all threads were seen; of older ones, only some. 0, -ENOMEM, or -EINTR once ada_interrupted(). */
int ada_crash_read_back(const struct ada_crash_back *back, uint64_t *read_ns);

/* --- instruction.c --------------------------------------------------------------------------------------------------------- */

struct ada_crash_instruction {
	uint64_t address;
	ZydisDecodedInstruction instruction;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};
/* False: no code that the file tells. */
bool ada_crash_decode(const struct ada_crash_cause *cause, uint64_t address, struct ada_crash_instruction *of);
/* All 64 bits of a general register at the crash; false: it is none. */
bool ada_crash_register(const struct ada_crash_cause *cause, ZydisRegister name, uint64_t *value);
/* The address of an operand in memory; false: it is none, or not known. */
bool ada_crash_accesses(const struct ada_crash_cause *cause, const struct ada_crash_instruction *of, const ZydisDecodedOperand *operand,
			uint64_t *address);

/* global.c: whether the address that crashed was surely read from static data. */
bool ada_crash_is_of_global(const struct ada_crash_cause *cause);

/* --- crash.c --------------------------------------------------------------------------------------------------------------- */

/* The symbol's name as the file has it, without a version; "" where it has none. */
const char *ada_crash_symbol(const struct ada_process *process, uint64_t function_id);
/* The arguments of the thread's event, none where it has no detail; the caller frees them. 0 or -ENOMEM. */
int ada_crash_arguments(const struct ada_thread *thread, uint64_t position, struct ada_arguments *arguments, struct atf_detail *record);
/* Of the crash's record in the manifest; 0: there is none. */
uint64_t ada_crash_number(const struct ada_crash_cause *cause, const char *field);
int64_t ada_crash_code(const struct ada_crash_cause *cause); /* si_code */
bool ada_crash_is_pointer(const struct ada_argument *argument);
#endif

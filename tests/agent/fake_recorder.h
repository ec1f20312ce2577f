/* The other end of the agent's socket, with hand-made answers: good ones, and every kind of bad one. */
#ifndef ADA_TESTS_FAKE_RECORDER_H
#define ADA_TESTS_FAKE_RECORDER_H
#include <stdbool.h>
#include <sys/types.h>
#include "abi/wire.h"

enum fault {
	FAULT_NONE,
	FAULT_NO_SOCKET, /* nobody listens */
	FAULT_SILENT,	 /* accepts, and never answers */
	FAULT_CLOSE_AT_HELLO,
	FAULT_CLOSE_AT_MODULE,
	FAULT_VERSION,
	FAULT_TYPE,	     /* a PLAN where WELCOME is due */
	FAULT_SEGMENT_SHORT, /* the file is shorter than was said */
	FAULT_SEGMENT_GARBAGE,
	FAULT_SEGMENT_RING, /* that of sealed chunks is cut by the segment's end */
	FAULT_PLAN_SHORT,
	FAULT_PLAN_GARBAGE,
	FAULT_PLAN_OTHER_MODULE,
};

struct run { /* what to run, and what came of it */
	enum fault fault;
	uint32_t welcome;	  /* enum ada_welcome_flag */
	const char *preload_also; /* a second entry of LD_PRELOAD, before the agent's */
	/* makes the plan of a module; NULL: none has one. Returns a memfd, or -1 */
	int (*plan)(const struct ada_shm_module *module, uint32_t *reply_flags, uint64_t *bytes);
	/* Of the plan just made: the filter that goes with it, and where the module's functions begin in the policy's tables */
	uint8_t filter[8192];
	uint32_t filter_bytes, function_base;
	uint64_t signals;			     /* named by a rule of slot 1, bit n - 1; slot 0 is of crashes */
	void (*ready)(struct run *run, pid_t child); /* called once, when the program has printed "ready" */
	/* result */
	int status; /* of waitpid */
	char output[4096];
	struct ada_shm *shm[8]; /* segments in the order of HELLO */
	struct ada_hello hello[16];
	uint32_t hellos, segments, modules, applied, unloads, done;
	uint32_t ahead; /* modules asked about and not applied yet: the most at a time */
	bool late;	/* the module just asked about is known: ADA_MODULE_LATE */
};

void run_program(struct run *run, char *const *arguments);
void run_free(struct run *run);
struct ada_mark *run_marks(struct ada_shm *shm);
struct ada_shm_module *run_module(struct ada_shm *shm, uint32_t id);
#endif

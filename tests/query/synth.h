/* Builds sessions whose answers are known, as a recording would leave them: through libatf's writer and in the layout of
 * docs/manifest.schema.json. Whatever fails ends the program. */
#ifndef ADA_TESTS_SYNTH_H
#define ADA_TESTS_SYNTH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "abi/record.h"

#define SYNTH_START_NS 1000000000000ull		   /* of the session, and of each thread */
#define SYNTH_PAGE_FAULT_NS 30000ull		   /* of a host whose faults take long */
#define SYNTH_END_NS (SYNTH_START_NS + 1000000000) /* of a finished session, and of its processes */
#define SYNTH_THREADS_MAX 4096

struct synth;
struct synth_thread;

struct synth *synth_open(const char *directory);
/* What follows belongs to this process image; an exec'd one has a pid that was there before. */
void synth_process(struct synth *synth, uint32_t pid);
/* Names its functions 0, 1, ...; returns the module's id. */
uint32_t synth_module(struct synth *synth, const char *path, const char *const *names, uint32_t count);
struct synth_thread *synth_thread(struct synth *synth, uint32_t tid, const char *name);

/* Joins name it by that, and from its time now on; and, by its manifest, it ends now. */
void synth_pointer(struct synth_thread *thread, uint64_t pointer);
void synth_end(struct synth_thread *thread);

/* Events at the thread's own time, which only synth_pass moves. Calls nest as in a program. */
void synth_call(struct synth_thread *thread, uint64_t function_id);
void synth_return(struct synth_thread *thread);
void synth_exception(struct synth_thread *thread);
void synth_pass(struct synth_thread *thread, uint64_t ns);
void synth_leaf(struct synth_thread *thread, uint64_t function_id, uint64_t ns); /* a call of that duration with none below */
/* `count` events were lost here, after which `depth` calls are open. */
void synth_lost(struct synth_thread *thread, uint64_t count, uint32_t depth);
/* An event as given but for its time and thread; does not change what is open. */
void synth_event(struct synth_thread *thread, uint32_t kind, uint64_t function_id, uint32_t depth);
/* The thread's next events go to another segment. */
void synth_roll(struct synth_thread *thread);

/* From here on the thread's events have detail, as synth_detail has it; or no more. */
void synth_capture(struct synth_thread *thread, bool capture);
/* A window of the thread's process: from its time now to its time then. Its records are kept; other threads must have none in
 * it. */
void synth_window(struct synth_thread *thread);
void synth_window_end(struct synth_thread *thread);

/* Writes footers, manifests and session.json; or, not finished, leaves them as while recording. */
void synth_close(struct synth *synth, bool finished);
#endif

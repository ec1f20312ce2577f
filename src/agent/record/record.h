/* Events: threads, the shadow stack, chunks of both lanes. This is what the rooms above call; lane.h has the inside. */
#ifndef ADA_AGENT_RECORD_H
#define ADA_AGENT_RECORD_H
#include "agent/core/core.h"

/* From now on events go to `shm`. At the start, and in a fork's child (whose threads all attach anew). */
void ada_core_attach(struct ada_shm *shm);
/* Called in a fork's child before anything else is hooked or recorded: forget locks, threads and the parent's segment. */
void ada_core_forked(void);
void ada_core_thread_begin(void); /* gives the calling thread an entry, if it has none */
/* The calling thread gives its chunk back and is marked as ended (it attaches anew if it records again). */
void ada_core_thread_end(void);
void ada_core_thread_start_hook(void); /* registers what calls ada_core_thread_end at a thread's end */
/* A longjmp on this thread is about to set the stack pointer to `sp`: closes the frames that it leaves. */
void ada_core_longjmp(uint64_t sp);
/* Where the calling thread is: its number in the shared table and its last event's number. ADA_NONE, UINT64_MAX: nowhere. */
void ada_core_here(uint32_t *thread, uint64_t *seq);
/* The calling thread's innermost open call; of a thread that isn't recorded none, which lasts. */
struct ada_open_call {
	uint64_t counter; /* at its beginning: so two of the same place differ */
	uint32_t frames;  /* that were open with it */
};
struct ada_open_call ada_core_open_call(void);
bool ada_core_call_lasts(struct ada_open_call call);
#endif

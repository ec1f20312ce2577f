/* What stands between a hook and all that it calls: the process's state, the sites; a thread's room, its own stack, its rseq area; the
 * beginning and end of a slow path. state.h has the inside, for the rooms that record.
 */
#ifndef ADA_AGENT_CORE_H
#define ADA_AGENT_CORE_H
#include <stdbool.h>
#include <stddef.h>
#include "abi/wire.h"
#include "agent/ground/agent.h"

struct dl_phdr_info;
struct ada_hook;

/* What the core calls in rooms above. start.c fills this in before there is a segment or a hook. */
struct ada_above {
	const char *stubs;	  /* where the stubs' text begins: hook/stubs.S */
	void (*pass_calls)(void); /* the recorder is gone: ada_region_pass_calls */
	/* The call that a near stub is for has its return stub from now on: ada_region_near_known. */
	void (*near_known)(struct ada_hook *near, uint64_t stub);
	/* False for text of no module (JIT) or inside a run-time that keys on return addresses. Any thread: patch/text.c. */
	bool (*text_is_hookable)(uint64_t return_address);
	/* The child of a fork that no one told us of finds its threads zeroed (MADV_WIPEONFORK), and its first hook calls this: the child
	 * becomes a provider of its own, or disables itself. life/fork.c. */
	void (*forked_slow)(void);
	/* dl_iterate_phdr; NULL: there is none. */
	int (*visit_modules)(int (*visit)(struct dl_phdr_info *info, size_t bytes, void *argument), void *argument);
};
extern struct ada_above ada_above;

/* --- core.c ---------------------------------------------------------------------------------------------------------------- */
/* The first reason stays. Every thread stops recording at its next event; from then on hooks only pass through. */
void ada_core_disable(enum ada_disable reason);
bool ada_core_is_silent(void);	    /* disabled because no system call of ours is safe any more, or no read of the TSC */
bool ada_core_is_forked(void);	    /* in a fork's child that no one has told us of */
struct ada_shm *ada_core_shm(void); /* NULL: not attached */
bool ada_core_recording(void);	    /* neither stopped nor disabled */

/* --- aside.c ---------------------------------------------------------------------------------------------------------------- */
/* Calls work(argument) on a stack of ours, with signals blocked, so that the program's own stack need not have room. */
void ada_aside(void (*work)(void *), void *argument);
void ada_aside_start(void); /* before there is more than one thread */
/* In a vfork child: hide makes its hooks only pass through. Once the child is gone the thread that it ran on is its parent's again. */
void ada_core_hide(void);
void ada_core_show(void);   /* it was refused */
void ada_core_leave(void);  /* this thread's hooks never read the TSC again, once all is disabled */
void ada_slow_settle(void); /* called after the calling thread has gained or lost restartable sequences */

/* --- room.c ---------------------------------------------------------------------------------------------------------------- */
/* This thread's memory for `count` words, until they are returned; images that vfork's children execute never return them. NULL: the
 * thread has none, or it is in use. */
uint64_t *ada_room_words(size_t count);
void ada_room_words_return(const uint64_t *words);
/* This thread's memory for one judgement; NULL: the thread has none, or handlers have come in between the judgements of handlers. */
#define ADA_JUDGE_ROOM 1536
void *ada_judge_room(void);
void ada_judge_room_return(void *room);

/* --- rseq.c. The program registers restartable sequences of its own on the calling thread; ada_slow_settle then ------------- */
void ada_rseq_registered(uint64_t address, uint32_t signature); /* behind the call */
uint64_t ada_rseq_unregister(void);				/* before the call; what to restore where it fails */
void ada_rseq_restore(uint64_t before);

/* --- site.c ---------------------------------------------------------------------------------------------------------------- */
bool ada_stub_is_return(uint64_t address);	/* inside the stubs' text */
uint64_t ada_site_of_slot(uint64_t slot_value); /* address of the return address that a stub stands for; 0: the slot holds no stub */
void ada_site_forget_refused(void);		/* asks text_is_hookable again about what it refused */
#endif

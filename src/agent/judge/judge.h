/* Whether an event that the policy's flags point at is a mark, and what then (abi/policy.h, abi/detail.h). judge.c.
 *
 * hook.S and the slow paths call the judge after the event's commit, with the program's signals as they are. A handler's hooks may come
 * in between: so the judge changes shared things by atomic operations, and tries locks a bounded number of times. It makes no system call
 * but for rules of CPU time, and never blocks; a mark that can't be entered is counted.
 */
#ifndef ADA_AGENT_JUDGE_H
#define ADA_AGENT_JUDGE_H
#include <stdbool.h>
#include <stdint.h>
#include "abi/wire.h"

struct ada_registers { /* the program's, as SAVE and SLOW_BEGIN of hook.S left them; hook.S fills xmm */
	uint64_t rbp, r9, r8, rdi;
	uint64_t flags, rsi, r11, r10, rdx, rcx, rax;
};

struct ada_judged {
	uint64_t counter; /* of the event */
	uint64_t function_id;
	uint64_t seq;		 /* as the index ring counts */
	uint64_t start_counter;	 /* RETURN: of its call */
	uint64_t return_address; /* CALL */
	uint64_t slot;		 /* address of the return slot: names the frame */
	uint32_t number;	 /* dense, of the function (abi/policy.h) */
	uint32_t thread;	 /* number in the shared thread table */
	uint32_t depth;
	uint32_t kind;			       /* enum ada_event_kind */
	const struct ada_registers *registers; /* NULL: not known (a frame that C code closed) */
	uint64_t xmm0;			       /* low half; valid with registers */
};
void ada_judge(const struct ada_judged *event);
/* Called once in the handler of a signal that a rule names, or that is about to end the process (`fatal`): marks under `signal` rules
 * and, where fatal, `crash` rules. thread ADA_NONE: not recorded. seq: of the thread's last event; UINT64_MAX: none. */
void ada_judge_signal(int number, bool fatal, uint64_t counter, uint32_t thread, uint64_t seq);
uint64_t ada_judge_signals(void); /* signals that the policy in force names: bit n - 1 */
/* The calling thread opens a chunk (chunk.c), with signals blocked: remembers its beginning for pre-rolls counted in events. */
void ada_judge_chunk(uint64_t first_seq, uint64_t first_counter);
/* Whether an unsettled mark wants what lies between the two counters. Asked for a CLAIMED chunk that the pin holds. */
bool ada_judge_wants(const struct ada_shm *shm, uint64_t first_counter, uint64_t last_counter);
void ada_judge_forked(void); /* in a fork's child: its parent's marks aren't its own */
#endif

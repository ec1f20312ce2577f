/* Segments that lie ready, so that a fork's child starts at once: it takes one without asking, says so in its HELLO, and waits for
 * nothing.
 *
 *   recorder: made, listed          child: compare-and-swap         recorder: the HELLO that names it
 *   NONE ------------------> LIES ----------------------> TAKEN ------------------------------------> NONE: a process's segment
 *                             |                             |
 *                             | recorder, for a process     | the child can't use it, and asks
 *                             v that asks                   v
 *                            NONE                          LEFT: the recorder gives it up
 *
 * The state is in the segment's own header, so that whoever takes it has it, whatever the recorder is doing. The page of struct
 * ada_presence, which every child has from its parent, lists where to find them: descriptors of the recorder's, which a child opens anew
 * by /proc. Descriptors are used again: device and inode tell whether it is a segment still; and segments are, too: the number in its header
 * tells whether it is that one.
 *
 * A process has no number (of a provider) before its HELLO is read. Until then ADA_READY_BIT and the segment's own number stand for it,
 * in the HELLOs of its children and in what it announces.
 *
 * Should the recorder die before it has read the HELLO, the file (ready.N, recorder/index/shared.h) tells who took it.
 */
#ifndef ADA_ABI_READY_H
#define ADA_ABI_READY_H
#include <assert.h>
#include <stdint.h>

#define ADA_READY_PLACES 16u	     /* on the page */
#define ADA_READY_BIT 0x80000000u    /* beside a segment's number: of a process that has no number yet */
#define ADA_READY_NUMBER 0x7fffffffu /* the numbers: from 1 on, each once a session */

/* A place on the page; written by the recorder. */
struct ada_ready {
	uint32_t number; /* of the segment; 0: the place is free (atomic, set last, cleared first) */
	int32_t fd;	 /* the recorder's */
	uint64_t device, inode;
};
static_assert(sizeof(struct ada_ready) == 24, "a place of the page");

enum ada_ready_state { ADA_READY_NONE = 0, ADA_READY_LIES = 1, ADA_READY_TAKEN = 2, ADA_READY_LEFT = 3 };

/* In the segment's header. */
struct ada_ready_part {
	uint32_t state;	    /* enum ada_ready_state (atomic) */
	uint32_t number;    /* recorder: as on the page; 0: it never lay ready */
	uint32_t functions; /* recorder: table 0 of the policy has memory for functions of so many numbers */
	/* Recorder (atomic). 1: this process's children may take segments: theirs would be of the same size, and no limit is near */
	uint32_t children;
	uint64_t taken_ns;	     /* child: CLOCK_BOOTTIME when it took the segment; before its first event */
	uint32_t parent_pid, parent; /* child: its parent's pid and number, as the parent's segment has them */
};
static_assert(sizeof(struct ada_ready_part) == 32, "ready part");
#endif

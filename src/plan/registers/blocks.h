/* The blocks that all code consists of, and what becomes of registers in them, as this room's files hand them on. */
#ifndef ADA_PLAN_BLOCKS_H
#define ADA_PLAN_BLOCKS_H
#include "plan/registers/effect.h"

enum ada_block_end { /* where a block's last instruction leads, besides the block behind */
		     ADA_END_NONE,
		     ADA_END_LOCAL,    /* a block */
		     ADA_END_FUNCTION, /* the entry of a function */
		     ADA_END_OUT,      /* any other code of this file; until blocks are joined */
		     ADA_END_IMPORT,   /* through the GOT */
		     ADA_END_BEHIND,   /* whatever code follows the run: this one ends here; until blocks are joined */
		     ADA_END_RETURN,
		     ADA_END_STOP,    /* nowhere: it faults */
		     ADA_END_POINTER, /* anywhere, through a register or memory */
		     ADA_END_UNKNOWN, /* nobody knows, and nobody can tell what it does */
};

struct ada_block {
	uint32_t start; /* from text_start, as are all places here */
	ada_parts reads, writes;
	ada_parts restores; /* of what it writes: the last write may restore */
	uint32_t target; /* number of the block (LOCAL) or function (FUNCTION; once joined, of its first block); a place (OUT); low half of
			     * an address (IMPORT) */
	uint32_t next;	 /* the block behind; */
	bool goes_on;	 /* it may follow, after a call when the call returns */
	bool calls;	 /* the end is a call */
	uint8_t end;	 /* enum ada_block_end */
};

struct ada_run {
	uint32_t start, end;
	uint32_t first, count; /* of its blocks */
	uint32_t function;     /* that begins here, or ADA_PLAN_NONE */
};

struct ada_note { /* an instruction of the run that is being read */
	uint32_t start;
	ada_parts reads, writes, restores;
	uint32_t block;
	uint64_t target; /* an address; LOCAL: number of the note */
	uint8_t end;
	bool calls, goes_on, entered;
};

/* Of what the registers hold at some place, most often a function's entry. All may be too much, never too little. */
struct ada_fate {
	ada_parts read;	    /* somebody may look at it; other modules, and what pointers lead to, as far as conventions allow */
	ada_parts seen;	    /* some instruction of this module looks at it */
	ada_parts own;	    /* some instruction does before anything is called */
	ada_parts kept;	    /* it may still be there at the return: some way there doesn't write it, no call of another module included */
	ada_parts alone;    /* as `kept`, if calls of other modules wrote nothing */
	ada_parts restored; /* what is written last on some way may be it: only so if somebody looked at it */
};

struct ada_registers {
	struct ada_effects *effects;
	ADA_ARRAY(struct ada_note) notes;
	uint32_t *note_at; /* by distance from the run's start: number of the note; may be of an earlier run */
	size_t note_places;
	uint32_t *starts_before;	    /* how many functions begin before each 512 bytes of the text */
	ADA_ARRAY(struct ada_block) blocks; /* by start; then those that begin in the midst of others */
	ADA_ARRAY(struct ada_run) runs;	    /* by start */
	ADA_ARRAY(uint32_t) endless;	    /* imports that never return */
	ADA_ARRAY(uint32_t) run_of_block;
	uint32_t *order;	/* of runs: what is called before what calls it, as far as that can be; once settled */
	struct ada_fate *fates; /* at the start of each block, once settled; NULL: that took too long */
	uint32_t *run_of;	/* of each function that is known; else ADA_PLAN_NONE */
	bool imports_keep;	/* other modules may leave more registers alone than the convention asks for */
};

/* What the instructions from `start` up to `end` do together. */
struct ada_effect ada_effect_of_stretch(const struct ada_planner *planner, uint32_t start, uint32_t end);
/* Leads what leaves a run to blocks, and fills run_of. 0 or -ENOMEM. */
int ada_blocks_join(struct ada_planner *planner);
/* Fills the fates. 0 or -ENOMEM. */
int ada_fates_settle(struct ada_registers *registers);
#endif

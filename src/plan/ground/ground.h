/* What all rooms of the planner stand on: the tables that they fill while one plan is made, and questions about code and single
 * instructions. */
#ifndef ADA_PLAN_GROUND_H
#define ADA_PLAN_GROUND_H
#include <Zydis/Zydis.h>
#include <stdlib.h>
#include "abi/plan.h"
#include "elf/file/frames.h"
#include "elf/file/relocs.h"
#include "elf/file/symbols.h"
#include "plan/ground/options.h"
#include "plan/ground/refusal.h"

#define ADA_JUMP_BYTES 5       /* jmp rel32 */
#define ADA_SHORT_JUMP_BYTES 2 /* jmp rel8 */
#define ADA_ENDBR_BYTES 4
#define ADA_INSTRUCTION_BYTES_MAX 15
/* A patch begins at an entry or behind its endbr64, and a neighbour's island right behind the patch. Only targets this
 * near to an entry matter, and names of instructions that are moved. */
#define ADA_ENTRY_REACH (ADA_ENDBR_BYTES + 2 * ADA_JUMP_BYTES + ADA_INSTRUCTION_BYTES_MAX)

/* qsort, but not for an empty array: qsort must not get the NULL of one. */
#define ada_array_sort(array, order) ((array)->count ? qsort((array)->items, (array)->count, sizeof *(array)->items, order) : (void)0)

struct ada_code { /* executable bytes, by address */
	uint64_t start, end;
	const uint8_t *data;
	bool no_functions; /* .plt*, .bolt.org.text */
	bool plt;	   /* leads to other modules */
};

struct ada_function {
	uint64_t address, end;
	const char *name; /* may end in "@VERSION" */
	uint32_t size;	  /* as symbol or frame say; 0 unknown */
	uint32_t hook;
	uint16_t flags, refusal; /* as in the plan */
	uint32_t host;		 /* the function whose dead bytes hold its island, or ADA_PLAN_NONE */
	bool is_host;
	bool undecodable;		      /* somewhere in it: branches are then looked for at every byte */
	bool by_frame;			      /* only .eh_frame says that it is a function: it may be another one's cold part */
	bool red_zone;			      /* reached by jumps that need not be tail calls */
	bool reads_vectors;		      /* or may */
	uint16_t free_at_entry, free_at_exit; /* as in the plan */
};

struct ada_piece { /* of code that is decoded in one go; pieces don't overlap */
	uint64_t start, end;
	uint32_t function; /* the one that begins here, or ADA_PLAN_NONE */
};

struct ada_target { /* something that may continue at `address` without coming from the byte before */
	uint64_t address;
	uint64_t source; /* address of the branch; 0: a pointer, a table, a landing pad */
	bool call;
};

struct ada_call {	 /* by a plain call rel32, to the entry of a function */
	uint64_t behind; /* its return address */
	uint64_t target; /* 0: it may be none */
};

struct ada_pad {	     /* bytes that nothing executes: NOPs and int3 behind the end of a function */
	uint64_t start, end; /* start moves up as bytes are taken */
};

struct ada_table_use { /* a function that jumps through a register, and data that it takes the address of */
	uint64_t table, base;
	uint32_t piece;
};

struct ada_label { /* a symbol that names an instruction, and no function */
	uint64_t address;
	bool alone; /* at its address: the name of the function that begins there, if any */
};

struct ada_slot_use {
	uint64_t address;
	uint32_t symbol;
	bool jump_slot, called, read;
};

struct ada_registers; /* what the code does to registers: plan/registers */

struct ada_planner {
	const struct ada_elf *elf;
	struct ada_elf *debug;
	const struct ada_plan_options *options;
	ZydisDecoder decoder;
	struct ada_elf_symbols symbols;
	struct ada_elf_frames frames;
	struct ada_elf_relocs relocs;
	uint64_t text_start, text_end;	/* span of the code */
	uint8_t *near_entry, *is_start; /* a bit a byte of that span */
	ADA_ARRAY(struct ada_code) codes;
	ADA_ARRAY(struct ada_function) functions; /* by address */
	ADA_ARRAY(struct ada_piece) pieces;	  /* by address */
	ADA_ARRAY(struct ada_target) targets;	  /* by address, once sorted */
	ADA_ARRAY(struct ada_call) calls;	  /* by address */
	ADA_ARRAY(struct ada_pad) pads;		  /* by address */
	ADA_ARRAY(struct ada_table_use) tables;
	ADA_ARRAY(struct ada_slot_use) slots;		    /* by address */
	ADA_ARRAY(struct ada_label) labels;		    /* by address */
	bool moves_base;				    /* some instruction sets the FS base */
	bool runtime_imports;				    /* what this file imports belongs to a run-time: no call */
	uint16_t import_free_at_entry, import_free_at_exit; /* of all that this file calls through its GOT, as in the plan */
	struct ada_registers *registers;		    /* NULL: none is free */
	ADA_ARRAY(struct ada_plan_hook) hooks;
	ADA_ARRAY(struct ada_plan_reloc) plan_relocs;
	ADA_ARRAY(struct ada_plan_origin) origins; /* those of plain copies first */
	ADA_ARRAY(uint8_t) bodies;
};

/* The function that begins at or last before `address`; ADA_PLAN_NONE: none. */
uint32_t ada_functions_before(const struct ada_planner *planner, uint64_t address);
uint64_t ada_piece_behind(const struct ada_planner *planner, uint64_t address); /* where the next one starts; UINT64_MAX: none */
/* The first target at or behind `address`; targets.count: none. */
size_t ada_targets_from(const struct ada_planner *planner, uint64_t address);

const struct ada_code *ada_code_of(const struct ada_planner *planner, uint64_t address);
const uint8_t *ada_code_at(const struct ada_planner *planner, uint64_t address, uint64_t *rest);
bool ada_code_holds(const struct ada_planner *planner, uint64_t address);
/* Decodes the instruction at `address`, not past `end`; false where it can't be decoded. */
bool ada_decode(const struct ada_planner *planner, uint64_t address, uint64_t end, ZydisDecodedInstruction *instruction);
/* The place that a relative branch goes to. */
bool ada_branch_target(const ZydisDecodedInstruction *instruction, uint64_t address, uint64_t *target);
bool ada_is_rip_relative(const ZydisDecodedInstruction *instruction);
bool ada_is_call(const ZydisDecodedInstruction *instruction);
bool ada_ends_flow(const ZydisDecodedInstruction *instruction);	 /* never goes on to the next instruction */
bool ada_is_endbr(const ZydisDecodedInstruction *instruction);	 /* endbr64, which some take for a NOP */
bool ada_is_padding(const ZydisDecodedInstruction *instruction); /* a NOP of any length, or int3 */
#endif

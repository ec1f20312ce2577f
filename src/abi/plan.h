/* A plan: how one ELF file is hooked. Made out of process by src/plan, cached by build-id, applied by the agent.
 *
 *   +--------+-----------+-------+--------+---------+---------+-------+--------+---------+
 *   | header | functions | hooks | relocs | imports | origins | calls | bodies | strings |
 *   +--------+-----------+-------+--------+---------+---------+-------+--------+---------+
 *
 * Every address is the ELF file's own (st_value); at run time the module's load bias is added. The plan holds nothing
 * that depends on a process, so one file serves all. The recorder checks magic, version, sizes and checksum before it
 * hands a plan out; the agent maps it read-only and checks again only that offsets lie inside.
 *
 * functions  sorted by address; position = symbolIndex. Everything that counts as a function, hooked or refused, plus
 *            ifunc symbols (flag ADA_FUNCTION_IFUNC), which only lend their name to calls through the GOT.
 * hooks      one an entry that is patched, sorted by patch address.
 * imports    GOT slots through which this module calls others.
 * origins    what the bytes of bodies were copied from, for unwinders.
 * calls      direct calls of hooked functions, which may be led elsewhere; sorted by hook, then by address.
 */
#ifndef ADA_ABI_PLAN_H
#define ADA_ABI_PLAN_H
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define ADA_PLAN_MAGIC "ADAPLAN1"
#define ADA_PLAN_VERSION 15 /* raised by any change here; the cache tells planners apart by itself */
#define ADA_PLAN_NONE UINT32_MAX
#define ADA_BUILD_ID_MAX 32

enum ada_plan_flag {
	ADA_PLAN_DECODED = 1,	 /* full: hooks and imports are there. Else functions, and hooks of intercepts only */
	ADA_PLAN_MOVES_BASE = 2, /* it has code that sets the FS base (wrfsbase): thread-local data may be gone at any time */
};

struct ada_plan_header {
	char magic[8];
	uint32_t version;
	uint32_t flags; /* enum ada_plan_flag */
	uint64_t total_bytes;
	uint32_t checksum; /* CRC32 of all that follows the header */
	uint32_t build_id_bytes;
	uint8_t build_id[ADA_BUILD_ID_MAX];
	uint64_t address_start, address_end; /* span of the PT_LOAD segments */
	uint32_t function_count, hook_count, reloc_count, import_count;
	uint64_t functions_offset, hooks_offset, relocs_offset, imports_offset, bodies_offset, strings_offset;
	uint64_t bodies_bytes, strings_bytes;
	uint64_t origins_offset;
	uint32_t origin_count, call_count;
	uint64_t calls_offset;
	uint8_t reserved[8];
};
static_assert(sizeof(struct ada_plan_header) == 192, "plan header");
static_assert(offsetof(struct ada_plan_header, address_start) == 64, "address_start");
static_assert(offsetof(struct ada_plan_header, functions_offset) == 96, "functions_offset");
static_assert(offsetof(struct ada_plan_header, origins_offset) == 160, "origins_offset");
static_assert(offsetof(struct ada_plan_header, calls_offset) == 176, "calls_offset");

enum ada_function_flag {
	ADA_FUNCTION_IFUNC = 1,	    /* an ifunc symbol: no function, but what its callers call it */
	ADA_FUNCTION_NAMELESS = 2,  /* found through .eh_frame only; name is "" */
	ADA_FUNCTION_EXPORTED = 4,  /* in .dynsym */
	ADA_FUNCTION_INTERCEPT = 8, /* named in abi/intercept.h: its hook serves the agent, and never records */
	ADA_FUNCTION_RUNTIME = 16,  /* of a language run-time that keys on return addresses: those inside get no stub */
	ADA_FUNCTION_CALLER = 32,   /* looks at its return address, or returns twice: calls of it get no stub */
	/* Named in abi/object.h. What their calls work on is */
	ADA_FUNCTION_OBJECT = 64,	/* the first argument */
	ADA_FUNCTION_OBJECT_PAIR = 128, /* the first argument, and then the second */
	ADA_FUNCTION_FUTEX = 256,	/* the second argument, where the first is SYS_futex */
	ADA_FUNCTION_OBJECTS = 64 + 128 + 256,
	/* Of a mutex: a call that has nobody to wait for may be left out (agent/hook/filter.c) */
	ADA_FUNCTION_LOCK = 512,
	ADA_FUNCTION_TRY_LOCK = 1024,
	ADA_FUNCTION_UNLOCK = 2048,
	ADA_FUNCTION_LOCK_UNTIL = 4096, /* with a time limit */
	ADA_FUNCTION_MUTEX = 512 + 1024 + 2048 + 4096,
};

struct ada_plan_function {
	uint64_t address;
	uint32_t size;	  /* bytes, 0 unknown */
	uint32_t name;	  /* offset into strings: mangled name */
	uint32_t hook;	  /* number of its hook, or ADA_PLAN_NONE */
	uint16_t flags;	  /* enum ada_function_flag */
	uint16_t refusal; /* enum ada_refusal (plan/ground/refusal.h); 0 where hooked */
};
static_assert(sizeof(struct ada_plan_function) == 24, "plan function");

enum ada_patch_form {
	ADA_PATCH_JUMP = 1,    /* jmp rel32 over the first instructions */
	ADA_PATCH_PADDING = 2, /* the same, reaching into the padding behind a short function */
	ADA_PATCH_ISLAND = 3,  /* jmp rel8 to dead bytes nearby, which hold the jmp rel32 */
	ADA_PATCH_NOP = 4,     /* jmp rel32 over NOPs laid there for the purpose */
	ADA_PATCH_INT3 = 5,    /* only if asked */
};

enum ada_hook_flag {
	ADA_HOOK_RED_ZONE = 1,	    /* jumps reach it from code that may keep data below the stack pointer */
	ADA_HOOK_READS_VECTORS = 2, /* it may read xmm0 to xmm7 as its caller left them; else it reads none of them first */
};

enum ada_register { /* what a hook may have for itself */
		    ADA_REGISTER_RAX,
		    ADA_REGISTER_RCX,
		    ADA_REGISTER_RDX,
		    ADA_REGISTER_RSI,
		    ADA_REGISTER_RDI,
		    ADA_REGISTER_R8,
		    ADA_REGISTER_R9,
		    ADA_REGISTER_R10,
		    ADA_REGISTER_R11,
		    ADA_REGISTER_FLAGS, /* those of arithmetic */
		    ADA_REGISTER_COUNT
};

struct ada_plan_hook {
	uint64_t patch_address;	 /* behind endbr64 where there is one */
	uint64_t island_address; /* ADA_PATCH_ISLAND: where the 5-byte jmp goes; else 0 */
	uint32_t function;	 /* symbolIndex */
	uint32_t body_offset;	 /* into bodies */
	uint32_t reloc_first;
	uint8_t reloc_count;
	uint8_t body_bytes;  /* relocated prologue, ending in its jump back */
	uint8_t form;	     /* enum ada_patch_form */
	uint8_t patch_bytes; /* bytes at patch_address that are compared; only the jmp itself is overwritten */
	uint8_t expected[15];
	uint8_t island_expected[5];
	uint16_t flags;		/* enum ada_hook_flag */
	int16_t host;		/* not 0: the island lies in bytes that hook number (this one's + host) leaves dead, */
				/* so this one may be applied only if that one is */
	uint32_t origin_first;	/* origins of its body: up to the first that ends them */
	uint16_t free_at_entry; /* a bit an enum ada_register, as are those at the exit: nobody needs what these registers hold when */
	uint16_t free_at_exit;	/* the function is entered, and behind its return. The rest a hook has to put back */
};
static_assert(sizeof(struct ada_plan_hook) == 64, "plan hook");
static_assert(offsetof(struct ada_plan_hook, form) == 30, "form");
static_assert(offsetof(struct ada_plan_hook, origin_first) == 56, "origin_first");
static_assert(offsetof(struct ada_plan_hook, free_at_entry) == 60, "free_at_entry");

#define ADA_ORIGIN_END UINT8_MAX

/* From `body` on, up to the next origin, the body is the copy of what stood `original` bytes behind patch_address. A hook's first origin
 * has body 0. An instruction that became several has an origin for each. */
struct ada_plan_origin {
	uint8_t body; /* offset in the body; ADA_ORIGIN_END: there are no more */
	uint8_t original;
	uint8_t pushed; /* bytes: the stack pointer is this much lower than in the original */
	uint8_t zero;
};
static_assert(sizeof(struct ada_plan_origin) == 4, "plan origin");

enum ada_reloc_kind {
	ADA_RELOC_REL32 = 1,  /* field = target + addend - address of the field */
	ADA_RELOC_LOW32 = 2,  /* field = low half of target + addend (push imm32 of an original return address) */
	ADA_RELOC_HIGH32 = 3, /* field = high half */
	ADA_RELOC_ABS64 = 4,
};

struct ada_plan_reloc {
	uint64_t target; /* address in this module */
	int32_t addend;
	uint16_t offset; /* of the field, from the body's start */
	uint16_t kind;	 /* enum ada_reloc_kind */
};
static_assert(sizeof(struct ada_plan_reloc) == 16, "plan reloc");

#define ADA_CALL_BYTES 5 /* e8, and 4 bytes that say how far its target lies from the return address */

/* A call by the 5-byte instruction, to the very address of a hooked function. No patch compares or overwrites its bytes, no branch is
 * known to lead into them, and the function that it is in decodes from its beginning to its end. */
struct ada_plan_call {
	uint32_t behind; /* its return address, less address_start */
	uint32_t hook;	 /* of what it calls */
};
static_assert(sizeof(struct ada_plan_call) == 8, "plan call");

#define ADA_REGISTERS_RESULT (1u << ADA_REGISTER_RAX | 1u << ADA_REGISTER_RDX) /* never free at an exit */

enum ada_import_flag {
	ADA_IMPORT_JUMP_SLOT = 1, /* R_X86_64_JUMP_SLOT; else a GLOB_DAT slot that this module only calls through */
	ADA_IMPORT_REFUSED = 2,	  /* looks at its caller, returns twice, ...: never hooked (reason in refusal) */
};

struct ada_plan_import {
	uint64_t slot;	  /* address of the GOT entry */
	uint32_t name;	  /* offset into strings */
	uint32_t version; /* symbol version ("GLIBC_2.14"), offset into strings; 0: none */
	uint16_t flags;	  /* enum ada_import_flag */
	uint16_t refusal;
	uint16_t free_at_entry, free_at_exit; /* as a hook's */
};
static_assert(sizeof(struct ada_plan_import) == 24, "plan import");
static_assert(offsetof(struct ada_plan_import, free_at_entry) == 20, "free_at_entry");
#endif

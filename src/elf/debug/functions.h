/* What debug information (DWARF, through libdw) says of functions: where they are written, what they take and return, and in which
 * registers or stack words these values lie at entry and exit (System V convention of x86-64; Rust's own). */
#ifndef ADA_ELF_DEBUG_FUNCTIONS_H
#define ADA_ELF_DEBUG_FUNCTIONS_H
#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"
#include "elf/file/elf.h"

enum ada_debug_class {
	ADA_DEBUG_VOID,
	ADA_DEBUG_SIGNED,
	ADA_DEBUG_UNSIGNED,
	ADA_DEBUG_BOOL,
	ADA_DEBUG_CHAR,
	ADA_DEBUG_REAL, /* float (4 bytes), double (8), x87's long double (16) */
	ADA_DEBUG_ENUM,
	ADA_DEBUG_POINTER,    /* and references */
	ADA_DEBUG_C_STRING,   /* pointer to char */
	ADA_DEBUG_ADDRESS,    /* pointer to a struct sockaddr */
	ADA_DEBUG_STD_STRING, /* std::string (libstdc++'s: pointer, length, inline buffer) */
	ADA_DEBUG_SLICE,      /* Rust's &str, std::string_view: pointer and length of text */
	ADA_DEBUG_STRUCT,     /* with `members`, in the order of the source; also a union, a short array */
	ADA_DEBUG_TEXT,	      /* array of char */
	ADA_DEBUG_OTHER	      /* its value isn't decoded */
};

struct ada_debug_enumerator {
	const char *name;
	int64_t value;
}; /* names are the file's */

struct ada_debug_type {
	enum ada_debug_class class;
	uint32_t bytes;
	bool is_unsigned;	     /* CHAR, ENUM */
	bool is_array;		     /* STRUCT: members are without names */
	bool is_pointer;	     /* STD_STRING: a pointer or reference to it */
	uint32_t text_at, length_at; /* SLICE: offsets of pointer and length */
	char *name;		     /* as in the source: "const char *", "enum colour" */
	ADA_ARRAY(struct ada_debug_enumerator) enumerators;
	ADA_ARRAY(struct ada_debug_member) members;
};

struct ada_debug_member {
	const char *name;
	uint32_t offset;
	uint8_t bits, shift; /* of a bit-field: how many bits, from which bit of the byte at `offset`; 0: none */
	struct ada_debug_type type;
};

enum ada_debug_place {
	ADA_DEBUG_NOWHERE, /* not known */
	ADA_DEBUG_REGISTERS,
	ADA_DEBUG_STACK,
	ADA_DEBUG_X87, /* which isn't recorded */
};

struct ada_debug_where {
	enum ada_debug_place place;
	bool indirect; /* a pointer to the value lies there */
	uint8_t count; /* of registers */
	/* >= 0: general, of a parameter 0 = rdi rsi rdx rcx r8 r9, of a result 0 = rax rdx; else ~number of the vector register. */
	int8_t registers[2];
	uint8_t offsets[2]; /* where in the value each register's eight bytes, or fewer, belong */
	uint32_t stack;	    /* offset from the word above the return address */
};

struct ada_debug_parameter {
	const char *name; /* "" where it has none */
	struct ada_debug_type type;
	struct ada_debug_where where;
	struct ada_debug_where convention; /* where callers put the value that don't know the function's code */
};

struct ada_debug_function {
	const char *file; /* as the compiler was told, with directory; NULL: not known */
	uint32_t line;	  /* 0: not known */
	bool has_types;	  /* parameters are known */
	bool has_result;  /* and result */
	bool variadic;
	ADA_ARRAY(struct ada_debug_parameter) parameters;
	struct ada_debug_type result;
	struct ada_debug_where result_where;
};

struct ada_debug_line { /* texts are the file's */
	const char *file;
	uint32_t line;
	const char *inlined; /* NULL: nothing is inlined there; else the innermost function that is */
	const char *inlined_file;
	uint32_t inlined_line;
};

/* The debug information of one ELF file, in it or in the separate file of its build-id. Not for several threads at once. */
struct ada_debug;
/* NULL: there is no such file, or another one than was recorded (build_id, hexadecimal, "" for not known). A file without debug
 * information opens, and knows no function. */
struct ada_debug *ada_debug_open(const char *path, const char *build_id);
/* The function whose code begins at `address` (the file's own); NULL: nothing is known. The answer is kept until close. `mangled` tells
 * what optimisation made of the function, as in f.isra.0; NULL: not known. */
const struct ada_debug_function *ada_debug_function(struct ada_debug *debug, uint64_t address, const char *mangled);
/* Which line of the function, whose symbol is at `function` and has `bytes`, the code at `address` belongs to, also in a piece of it that
 * the symbol doesn't cover. False: not known, or not its code. */
bool ada_debug_line(struct ada_debug *debug, uint64_t function, uint64_t bytes, uint64_t address, struct ada_debug_line *line);
/* The file itself: the recorded one's bytes. */
const struct ada_elf *ada_debug_elf(const struct ada_debug *debug);
void ada_debug_close(struct ada_debug *debug);
#endif

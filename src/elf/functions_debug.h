/* What debug information (DWARF, through libdw) says of functions: where they are written, and what they take and return. */
#ifndef ADA_ELF_FUNCTIONS_DEBUG_H
#define ADA_ELF_FUNCTIONS_DEBUG_H
#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"

enum ada_debug_class {
	ADA_DEBUG_VOID,
	ADA_DEBUG_SIGNED, ADA_DEBUG_UNSIGNED, ADA_DEBUG_BOOL, ADA_DEBUG_CHAR,
	ADA_DEBUG_REAL,			/* float (4 bytes), double (8) in a vector register */
	ADA_DEBUG_ENUM,
	ADA_DEBUG_POINTER,		/* and references */
	ADA_DEBUG_C_STRING,		/* pointer to char */
	ADA_DEBUG_STD_STRING,		/* pointer or reference to std::string (libstdc++'s: pointer, length, inline buffer) */
	ADA_DEBUG_OTHER,		/* in memory, or in several registers: its class of passing isn't decided here */
};

struct ada_debug_enumerator { const char *name; int64_t value; };

struct ada_debug_type {
	enum ada_debug_class class;
	uint32_t bytes;
	char *name;			/* as in the source: "const char *", "enum colour" */
	ADA_ARRAY(struct ada_debug_enumerator) enumerators;	/* of ADA_DEBUG_ENUM; names are the file's */
};

struct ada_debug_parameter {
	const char *name;		/* "" where it has none */
	struct ada_debug_type type;
	int general;			/* number of the general register that it comes in, 0 = rdi; -1: none */
	int vector;			/* number of the vector register; -1: none */
};

struct ada_debug_function {
	const char *file;		/* as the compiler was told, with its directory; NULL: not known */
	uint32_t line;
	bool has_types;			/* parameters and result are known */
	bool variadic;
	ADA_ARRAY(struct ada_debug_parameter) parameters;
	struct ada_debug_type result;
};

/* The debug information of one ELF file, in it or in the separate file of its build-id. */
struct ada_debug;
/* NULL: there is none, or the file is another one than was recorded (build_id, hexadecimal, "" for not known). */
struct ada_debug *ada_debug_open(const char *path, const char *build_id);
/* Of the function whose code begins at `address` (the file's own). NULL: nothing is known. Kept until close. */
const struct ada_debug_function *ada_debug_function(struct ada_debug *debug, uint64_t address);
void ada_debug_close(struct ada_debug *debug);
#endif

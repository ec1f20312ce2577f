/* Types of results and arguments, as debug information (DWARF, through libdw) tells them. */
#ifndef ADA_ELF_ARGUMENT_TYPE_H
#define ADA_ELF_ARGUMENT_TYPE_H
#include <stdint.h>

enum ada_elf_class {
	ADA_ELF_SIGNED = 1,
	ADA_ELF_UNSIGNED, /* in a general register; also pointers, bool, enumerations */
	ADA_ELF_REAL,	  /* float, double: in a vector register */
	ADA_ELF_OTHER	  /* void, a structure, long double, ... */
};
struct ada_elf_type {
	enum ada_elf_class class;
	uint32_t bytes;
};

/* The type of a result or argument of the function that the symbol `mangled` names in the file at `path`: argument 0 is the result, N the
 * argument in the Nth general register, as the x86-64 convention fills them. Debug information lies in the file, or in the separate one
 * of its build-id. 0; -ENOENT: nothing is known. */
int ada_elf_type_of(const char *path, const char *mangled, int argument, struct ada_elf_type *type);
#endif

/* C++ and Rust names as people write them. */
#ifndef ADA_ELF_DEMANGLE_H
#define ADA_ELF_DEMANGLE_H

/* The name isn't ada_demangle: libiberty has such a function, for the language Ada. malloc'ed, or NULL where `name` is not mangled. A
 * "@VERSION" or GCC's ".part.0" and the like at the end are kept. */
char *ada_elf_demangle(const char *name);
/* The same without parameters and the type of the result: "ns::f". */
char *ada_elf_demangle_bare(const char *name);
#endif

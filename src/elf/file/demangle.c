/* C++ and Rust names as people write them, by libiberty. */
#include "elf/file/demangle.h"
#include <stddef.h>
#include <libiberty/demangle.h>

char *ada_elf_demangle(const char *name)
{
	if (name[0] != '_')
		return NULL;
	return cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
}

char *ada_elf_demangle_bare(const char *name)
{
	if (name[0] != '_')
		return NULL;
	return cplus_demangle(name, DMGL_ANSI | DMGL_AUTO);
}

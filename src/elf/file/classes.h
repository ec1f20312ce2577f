/* What C++'s run-time type information says of a class, read from the file: its base classes, and whose functions it has. */
#ifndef ADA_ELF_CLASSES_H
#define ADA_ELF_CLASSES_H
#include "elf/file/elf.h"

struct ada_elf_target {	    /* of a pointer in the file's data */
	const char *symbol; /* its dynamic symbol, without a version; "": it has none */
	uint64_t address;   /* in the file; 0: elsewhere */
};

/* Where a word of the file's data leads. False: to nothing that the file tells. */
bool ada_elf_pointer(const struct ada_elf *elf, uint64_t word, struct ada_elf_target *target);

/* From the std::type_info at an address to that of the base class that an object of the class begins with. False: it has none, or nobody
 * knows. */
bool ada_elf_first_base(const struct ada_elf *elf, uint64_t type_info, struct ada_elf_target *base);
/* The mangled name of the class whose type_info that is, "St13runtime_error"; NULL: not known. */
const char *ada_elf_class_name(const struct ada_elf *elf, const struct ada_elf_target *type_info);
/* The dynamic symbol of the class's virtual function `number`; NULL: not known. */
const char *ada_elf_virtual(const struct ada_elf *elf, const char *class_name, uint32_t number);
#endif

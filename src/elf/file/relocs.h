/* Dynamic relocations: which words of the data hold addresses of this file's code, and the slots of the GOT. */
#ifndef ADA_ELF_RELOCS_H
#define ADA_ELF_RELOCS_H
#include "elf/file/elf.h"

struct ada_elf_slot {
	uint64_t address;
	uint32_t symbol; /* in .dynsym */
	bool jump_slot;	 /* R_X86_64_JUMP_SLOT, else R_X86_64_GLOB_DAT */
};

struct ada_elf_relocs {
	ADA_ARRAY(uint64_t) pointers;  /* into code, as relocations or (fixed addresses) as words say; unsorted */
	ADA_ARRAY(uint64_t) resolvers; /* of R_X86_64_IRELATIVE */
	ADA_ARRAY(struct ada_elf_slot) slots;
};

/* 0 or -ENOMEM. Nonsense in the tables is left out. */
int ada_elf_relocs_read(const struct ada_elf *elf, struct ada_elf_relocs *relocs);
void ada_elf_relocs_free(struct ada_elf_relocs *relocs);
#endif

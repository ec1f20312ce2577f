/* .eh_frame: where code begins and ends as the unwinder sees it. Stripped files have it, too. */
#ifndef ADA_ELF_FRAMES_H
#define ADA_ELF_FRAMES_H
#include "elf/file/elf.h"

struct ada_elf_frame {
	uint64_t start, size;
	uint64_t lsda;	 /* address of its exception table; 0: none */
	uint64_t record; /* address of its entry in .eh_frame */
	bool entry;	 /* begins like a called function: CFA = rsp + 8, return address at CFA - 8 */
	bool signal;	 /* a signal handler's return code */
};

struct ada_elf_frames { /* by start; one a start, the longest */
	struct ada_elf_frame *items;
	size_t count, capacity;
};

/* 0 or -ENOMEM. Reading stops where the section makes no sense. */
int ada_elf_frames_read(const struct ada_elf *elf, struct ada_elf_frames *frames);
/* The frame that begins at `start`, or NULL. */
const struct ada_elf_frame *ada_elf_frames_find(const struct ada_elf_frames *frames, uint64_t start);

/* Whether the unwind rules at `address` are those of a called function's entry; true where no frame holds it. */
bool ada_elf_frames_entry_at(const struct ada_elf *elf, const struct ada_elf_frames *frames, uint64_t address);

struct ada_elf_addresses {
	uint64_t *items;
	size_t count, capacity;
};
/* Appends the addresses at which the unwinder enters `frame` on an exception. 0 or -ENOMEM. */
int ada_elf_landing_pads(const struct ada_elf *elf, const struct ada_elf_frame *frame, struct ada_elf_addresses *pads);
#endif

/* Tells gdb of trampolines and bodies: by the tables that unwinders of the process get (region.S), through gdb's interface for code made
 * at run time. gdb reads the list whenever it attaches, so that nothing has to happen then.
 *
 * The names are gdb's, but hidden: a program's own compiler has another list, and its calls must not come here. gdb (12 and newer) reads
 * the list of each module.
 */
#include <elf.h>
#include "agent/hook/parts.h"

struct jit_code_entry { /* the layouts are gdb's */
	struct jit_code_entry *next, *previous;
	const void *file;
	uint64_t bytes;
};

struct jit_descriptor {
	uint32_t version, action;
	struct jit_code_entry *relevant, *first;
};

enum { JIT_VERSION = 1, JIT_REGISTER = 1 };
enum { TEXT = 1, FRAMES, STRINGS, SECTIONS };

/* An ELF file in memory: where the code is, and its .eh_frame. */
struct described {
	struct jit_code_entry entry;
	Elf64_Ehdr header;
	Elf64_Shdr sections[SECTIONS];
	char strings[sizeof "\0.text\0.eh_frame\0.shstrtab"];
	_Alignas(8) char frames[];
};

ADA_HIDDEN struct jit_descriptor __jit_debug_descriptor __attribute__((used)) = { .version = JIT_VERSION };
ADA_HIDDEN void __jit_debug_register_code(void);

__attribute__((noinline, used)) void __jit_debug_register_code(void)
{
	__asm__ volatile("" ::: "memory"); /* gdb, where it is there already, stops here */
}

void ada_debugger_tell(uint64_t start, uint64_t bytes, const struct ada_frames *frames)
{
	uint64_t frames_bytes = frames->end - frames->cie;
	struct described *described = ada_sys_map(sizeof *described + frames_bytes);
	struct jit_code_entry *first = __jit_debug_descriptor.first;
	uint64_t *place;

	if (!described)
		return;
	memcpy(described->strings, "\0.text\0.eh_frame\0.shstrtab", sizeof described->strings);
	memcpy(described->frames, frames->cie, frames_bytes);
	place = (uint64_t *)(described->frames + (frames->place - frames->cie));
	place[0] = start;
	place[1] = bytes;
	described->header = (Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
					  .e_type = ET_EXEC,
					  .e_machine = EM_X86_64,
					  .e_version = EV_CURRENT,
					  .e_ehsize = sizeof(Elf64_Ehdr),
					  .e_shoff = offsetof(struct described, sections) - offsetof(struct described, header),
					  .e_shentsize = sizeof(Elf64_Shdr),
					  .e_shnum = SECTIONS,
					  .e_shstrndx = STRINGS };
	described->sections[TEXT] = (Elf64_Shdr){ .sh_name = 1,
						  .sh_type = SHT_NOBITS,
						  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
						  .sh_addr = start,
						  .sh_size = bytes,
						  .sh_addralign = 16 };
	described->sections[FRAMES] = (Elf64_Shdr){ .sh_name = 7,
						    .sh_type = SHT_PROGBITS,
						    .sh_flags = SHF_ALLOC,
						    .sh_addr = (uint64_t)described->frames,
						    .sh_offset = offsetof(struct described, frames) - offsetof(struct described, header),
						    .sh_size = frames_bytes,
						    .sh_addralign = 8 };
	described->sections[STRINGS] = (Elf64_Shdr){ .sh_name = 17,
						     .sh_type = SHT_STRTAB,
						     .sh_addralign = 1,
						     .sh_size = sizeof described->strings,
						     .sh_offset = offsetof(struct described, strings) -
								  offsetof(struct described, header) };
	described->entry = (struct jit_code_entry){ .next = first,
						    .file = &described->header,
						    .bytes = sizeof *described + frames_bytes - offsetof(struct described, header) };
	if (first)
		first->previous = &described->entry;
	__jit_debug_descriptor.relevant = __jit_debug_descriptor.first = &described->entry;
	__jit_debug_descriptor.action = JIT_REGISTER;
	__jit_debug_register_code();
}

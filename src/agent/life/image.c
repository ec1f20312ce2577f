/* Whether an image that is about to be executed can take the agent, and if not, why. The loader would print an error for a library of the
 * wrong class, musl's would take the agent in and crash, and a static program would find two strange variables in its environment: none
 * of them may see anything of ours.
 *
 * When in doubt, yes: a file that can't be read can still be executed. Runs in vfork children and signal handlers.
 */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include "agent/life/life.h"

#define SCRIPTS_MAX 4 /* the kernel's own limit on interpreters of interpreters */

/* Whether the loader, whose path lies at `offset`, is glibc's. */
static bool loader_is_ours(int fd, uint64_t offset, uint64_t bytes)
{
	char path[PATH_MAX];
	const char *name = path;

	if (bytes > sizeof path || ada_sys_read(fd, path, bytes, offset) != (long)bytes || !bytes || path[bytes - 1])
		return false;
	for (const char *at = path; *at; at++)
		if (*at == '/')
			name = at + 1;
	return ada_string_equal(name, "ld-linux-x86-64.so.2");
}

/* Whether it is a dynamically linked program of this machine: such a program names a loader. */
static enum ada_heir_kind elf_kind(int fd, const Elf64_Ehdr *header)
{
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64 || header->e_phentsize != sizeof(Elf64_Phdr))
		return ADA_HEIR_MACHINE;
	for (uint32_t i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr segment;

		if (ada_sys_read(fd, &segment, sizeof segment, header->e_phoff + i * sizeof segment) != sizeof segment)
			break;
		if (segment.p_type == PT_INTERP)
			return loader_is_ours(fd, segment.p_offset, segment.p_filesz) ? ADA_HEIR_EXEC : ADA_HEIR_LIBC;
	}
	return ADA_HEIR_STATIC;
}

/* The interpreter of "#! interpreter argument", cut out in place; NULL: no script. */
static char *script_interpreter(char *text)
{
	char *start = text + 2, *end;

	if (text[0] != '#' || text[1] != '!')
		return NULL;
	while (*start == ' ' || *start == '\t')
		start++;
	for (end = start; *end && *end != ' ' && *end != '\t' && *end != '\n'; end++)
		;
	*end = 0;
	return *start ? start : NULL;
}

/* Whether real and effective user differ: then the loader takes no path from LD_PRELOAD. */
static bool user_changes(void)
{
	return ada_sys4(SYS_getuid, 0, 0, 0, 0) != ada_sys4(SYS_geteuid, 0, 0, 0, 0) ||
	       ada_sys4(SYS_getgid, 0, 0, 0, 0) != ada_sys4(SYS_getegid, 0, 0, 0, 0);
}

enum ada_heir_kind ada_image_kind(int directory, const char *path, int flags)
{
	union {
		Elf64_Ehdr elf;
		char text[257];
	} head;
	enum ada_heir_kind kind = ADA_HEIR_EXEC;

	for (int i = 0; path && i <= SCRIPTS_MAX; i++) {
		bool self = !*path && (flags & AT_EMPTY_PATH);
		long fd = self ? directory : ada_sys4(SYS_openat, directory, (long)path, O_RDONLY | O_CLOEXEC, 0), bytes;
		struct stat file = { 0 };

		if (ada_sys_failed(fd))
			return ADA_HEIR_EXEC;
		bytes = ada_sys_read(fd, head.text, sizeof head.text - 1, 0);
		ada_sys4(SYS_fstat, fd, (long)&file, 0, 0);
		head.text[bytes > 0 ? bytes : 0] = 0;
		path = NULL;
		if (file.st_mode & (S_ISUID | S_ISGID))
			kind = ADA_HEIR_SETID;
		else if (bytes >= (long)sizeof head.elf && !memcmp(head.text, ELFMAG, SELFMAG))
			kind = elf_kind(fd, &head.elf);
		else if (bytes > 2)
			path = script_interpreter(head.text);
		if (!self)
			ada_sys_close(fd);
	}
	return kind == ADA_HEIR_EXEC && user_changes() ? ADA_HEIR_SETID : kind;
}

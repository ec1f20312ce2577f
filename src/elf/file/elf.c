/* Opens, checks and classifies an ELF file: see elf.h. */
#include "elf/file/elf.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint8_t *file_range(const struct ada_elf *elf, uint64_t offset, uint64_t bytes)
{
	return offset <= elf->length && bytes <= elf->length - offset ? elf->bytes + offset : NULL;
}

const char *ada_elf_string(const uint8_t *table, uint64_t table_bytes, uint64_t offset)
{
	if (!table || offset >= table_bytes || !memchr(table + offset, 0, table_bytes - offset))
		return "";
	return (const char *)table + offset;
}

const struct ada_elf_segment *ada_elf_segment_of(const struct ada_elf *elf, uint64_t address)
{
	for (size_t i = 0; i < elf->segments.count; i++)
		if (address - elf->segments.items[i].address < elf->segments.items[i].bytes)
			return &elf->segments.items[i];
	return NULL;
}

const uint8_t *ada_elf_rest(const struct ada_elf *elf, uint64_t address, uint64_t *bytes)
{
	const struct ada_elf_segment *segment = ada_elf_segment_of(elf, address);

	*bytes = 0;
	if (!segment || address - segment->address >= segment->data_bytes)
		return NULL;
	*bytes = segment->data_bytes - (address - segment->address);
	return segment->data + (address - segment->address);
}

const uint8_t *ada_elf_at(const struct ada_elf *elf, uint64_t address, uint64_t bytes)
{
	uint64_t rest;
	const uint8_t *data = ada_elf_rest(elf, address, &rest);

	return data && bytes <= rest ? data : NULL;
}

const struct ada_elf_section *ada_elf_section_named(const struct ada_elf *elf, const char *name)
{
	for (size_t i = 0; i < elf->sections.count; i++)
		if (!strcmp(elf->sections.items[i].name, name))
			return &elf->sections.items[i];
	return NULL;
}

static void read_build_id(struct ada_elf *elf, const uint8_t *notes, uint64_t bytes)
{
	while (notes && bytes >= sizeof(Elf64_Nhdr)) {
		uint64_t name_bytes = ((uint64_t)ada_read32(notes) + 3) & ~3ull;
		uint64_t value_bytes = ada_read32(notes + 4), type = ada_read32(notes + 8);
		uint64_t whole = sizeof(Elf64_Nhdr) + name_bytes + ((value_bytes + 3) & ~3ull);

		if (whole > bytes)
			return;
		if (type == NT_GNU_BUILD_ID && name_bytes == 4 && !memcmp(notes + sizeof(Elf64_Nhdr), "GNU", 4) && value_bytes > 0 &&
		    value_bytes <= ADA_ELF_BUILD_ID_MAX) {
			memcpy(elf->build_id, notes + sizeof(Elf64_Nhdr) + 4, value_bytes);
			elf->build_id_bytes = (uint32_t)value_bytes;
			return;
		}
		notes += whole;
		bytes -= whole;
	}
}

static int read_load(struct ada_elf *elf, const Elf64_Phdr *header, struct ada_error *error)
{
	struct ada_elf_segment segment = { .address = header->p_vaddr,
					   .bytes = header->p_memsz,
					   .data_bytes = header->p_filesz,
					   .executable = header->p_flags & PF_X,
					   .writable = header->p_flags & PF_W };
	const struct ada_elf_segment *last = elf->segments.count ? &elf->segments.items[elf->segments.count - 1] : NULL;

	if (!header->p_memsz)
		return 0;
	segment.data = file_range(elf, header->p_offset, header->p_filesz);
	if (header->p_filesz > header->p_memsz || header->p_vaddr + header->p_memsz < header->p_vaddr ||
	    header->p_vaddr + header->p_memsz > 1ull << 47 || (last && segment.address < last->address + last->bytes))
		return ada_error_set(error, ENOEXEC, "%s: corrupt ELF file: impossible segment", elf->path);
	if (!segment.data && elf->kind != ADA_ELF_DEBUG)
		return ada_error_set(error, ENOEXEC, "%s: corrupt ELF file: a segment lies outside the file (truncated?)", elf->path);
	if (!segment.data)
		segment.data_bytes = 0;
	if (!last)
		elf->address_start = segment.address;
	elf->address_end = segment.address + segment.bytes;
	return ada_array_push(&elf->segments, segment);
}

static void put_dynamic(struct ada_elf_dynamic *dynamic, int64_t tag, uint64_t value)
{
	switch (tag) {
	case DT_RELA: dynamic->rela = value; break;
	case DT_RELASZ: dynamic->rela_bytes = value; break;
	case DT_JMPREL: dynamic->plt_rela = value; break;
	case DT_PLTRELSZ: dynamic->plt_rela_bytes = value; break;
	case 36 /* DT_RELR */: dynamic->relr = value; break;
	case 35 /* DT_RELRSZ */: dynamic->relr_bytes = value; break;
	case DT_SYMTAB: dynamic->symbols = value; break;
	case DT_STRTAB: dynamic->strings = value; break;
	case DT_STRSZ: dynamic->strings_bytes = value; break;
	case DT_VERSYM: dynamic->versions = value; break;
	case DT_VERNEED: dynamic->version_needs = value; break;
	case DT_VERNEEDNUM: dynamic->version_need_count = value; break;
	case DT_INIT: dynamic->init = value; break;
	case DT_FINI: dynamic->fini = value; break;
	}
}

/* Second pass over the entries resolves names, once the string table is known. *pie: DF_1_PIE. */
static int read_dynamic(struct ada_elf *elf, const uint8_t *entries, uint64_t bytes, bool *pie)
{
	const uint8_t *strings;
	size_t count = entries ? bytes / sizeof(Elf64_Dyn) : 0;

	for (size_t i = 0; i < count && ada_read64(entries + i * 16) != DT_NULL; i++)
		put_dynamic(&elf->dynamic, (int64_t)ada_read64(entries + i * 16), ada_read64(entries + i * 16 + 8));
	strings = ada_elf_at(elf, elf->dynamic.strings, elf->dynamic.strings_bytes);
	for (size_t i = 0; i < count && ada_read64(entries + i * 16) != DT_NULL; i++) {
		uint64_t tag = ada_read64(entries + i * 16), value = ada_read64(entries + i * 16 + 8);

		if (tag == DT_FLAGS_1 && value & DF_1_PIE)
			*pie = true;
		if (tag == DT_SONAME)
			elf->soname = ada_elf_string(strings, elf->dynamic.strings_bytes, value);
		if (tag == DT_NEEDED && ada_array_push(&elf->needed, ada_elf_string(strings, elf->dynamic.strings_bytes, value)))
			return -ENOMEM;
	}
	return 0;
}

static int read_segments(struct ada_elf *elf, const Elf64_Ehdr *header, struct ada_error *error)
{
	const uint8_t *table = file_range(elf, header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr));
	bool pie = false, dynamic = false;
	Elf64_Phdr p;
	int result = 0;

	if (!header->e_phnum || header->e_phentsize != sizeof p || !table)
		return ada_error_set(error, ENOEXEC, "%s: corrupt ELF file: no program headers", elf->path);
	for (unsigned i = 0; i < header->e_phnum && !result; i++) {
		memcpy(&p, table + i * sizeof p, sizeof p);
		if (p.p_type == PT_LOAD)
			result = read_load(elf, &p, error);
	}
	for (unsigned i = 0; i < header->e_phnum && !result; i++) {
		memcpy(&p, table + i * sizeof p, sizeof p);
		if (p.p_type == PT_INTERP)
			elf->interp = ada_elf_string(file_range(elf, p.p_offset, p.p_filesz), p.p_filesz, 0);
		if (p.p_type == PT_NOTE && !elf->build_id_bytes)
			read_build_id(elf, file_range(elf, p.p_offset, p.p_filesz), p.p_filesz);
		if (p.p_type == PT_GNU_EH_FRAME)
			elf->eh_frame_hdr = p.p_vaddr;
		if (p.p_type == PT_DYNAMIC && elf->kind != ADA_ELF_DEBUG) {
			dynamic = true;
			result = read_dynamic(elf, file_range(elf, p.p_offset, p.p_filesz), p.p_filesz, &pie);
		}
	}
	if (result || elf->kind == ADA_ELF_DEBUG)
		return result;
	if (!elf->segments.count)
		return ada_error_set(error, ENOEXEC, "%s: corrupt ELF file: nothing to load", elf->path);
	if (header->e_type == ET_EXEC)
		elf->kind = elf->interp ? ADA_ELF_EXEC : ADA_ELF_STATIC;
	else if (pie || (elf->interp && !elf->soname))
		elf->kind = elf->interp ? ADA_ELF_PIE : ADA_ELF_STATIC_PIE;
	else
		elf->kind = dynamic ? ADA_ELF_SHARED : ADA_ELF_STATIC_PIE;
	return 0;
}

/* Sections help, but aren't needed: a file without them, or with nonsense, is planned from its segments. */
static int read_sections(struct ada_elf *elf, const Elf64_Ehdr *header)
{
	const uint8_t *table = file_range(elf, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr));
	const uint8_t *names = NULL;
	uint64_t names_bytes = 0;
	Elf64_Shdr s;

	if (!header->e_shoff || !table || header->e_shentsize != sizeof s)
		return 0;
	if (header->e_shstrndx < header->e_shnum) {
		memcpy(&s, table + header->e_shstrndx * sizeof s, sizeof s);
		names = file_range(elf, s.sh_offset, s.sh_size);
		names_bytes = names ? s.sh_size : 0;
	}
	for (unsigned i = 0; i < header->e_shnum; i++) {
		struct ada_elf_section section;

		memcpy(&s, table + i * sizeof s, sizeof s);
		section = (struct ada_elf_section){ .name = ada_elf_string(names, names_bytes, s.sh_name),
						    .address = s.sh_addr,
						    .bytes = s.sh_size,
						    .data = s.sh_type == SHT_NOBITS ? NULL : file_range(elf, s.sh_offset, s.sh_size),
						    .type = s.sh_type,
						    .link = s.sh_link,
						    .loaded = s.sh_flags & SHF_ALLOC && !(s.sh_flags & SHF_TLS),
						    .executable = s.sh_flags & SHF_EXECINSTR,
						    .writable = s.sh_flags & SHF_WRITE };
		if (s.sh_flags & SHF_COMPRESSED)
			section.data = NULL;
		/* A loaded section must agree with the segments, which the loader reads. */
		if (section.data && section.loaded && ada_elf_at(elf, section.address, section.bytes) != section.data)
			section.data = NULL;
		if (ada_array_push(&elf->sections, section))
			return -ENOMEM;
	}
	return 0;
}

static int check_header(const struct ada_elf *elf, Elf64_Ehdr *header, struct ada_error *error)
{
	if (elf->length >= 2 && !memcmp(elf->bytes, "#!", 2))
		return ada_error_set(error, ENOEXEC, "%s: a script: trace its interpreter instead", elf->path);
	if (elf->length < EI_NIDENT || memcmp(elf->bytes, ELFMAG, SELFMAG))
		return ada_error_set(error, ENOEXEC, "%s: not an ELF file", elf->path);
	if (elf->bytes[EI_CLASS] == ELFCLASS32)
		return ada_error_set(error, ENOEXEC, "%s: a 32-bit ELF file; only x86-64 is supported: build it for that", elf->path);
	if (elf->length < sizeof *header || elf->bytes[EI_CLASS] != ELFCLASS64)
		return ada_error_set(error, ENOEXEC, "%s: corrupt ELF file: bad header", elf->path);
	memcpy(header, elf->bytes, sizeof *header);
	if (elf->bytes[EI_DATA] != ELFDATA2LSB || header->e_machine != EM_X86_64)
		return ada_error_set(error, ENOEXEC, "%s: an ELF file for another machine (%u); only x86-64 is supported", elf->path,
				     header->e_machine);
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return ada_error_set(error, ENOEXEC, "%s: neither a program nor a shared library%s", elf->path,
				     header->e_type == ET_REL ? " (an object file: link it first)" : "");
	return 0;
}

/* A separate debug file keeps the program headers, but its code sections are NOBITS. */
static bool is_debug_file(const struct ada_elf *elf, const Elf64_Ehdr *header)
{
	const uint8_t *table = file_range(elf, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr));
	bool nobits = false;
	Elf64_Shdr s;

	for (unsigned i = 0; header->e_shoff && table && i < header->e_shnum && header->e_shentsize == sizeof s; i++) {
		memcpy(&s, table + i * sizeof s, sizeof s);
		if (s.sh_flags & SHF_EXECINSTR) {
			if (s.sh_type != SHT_NOBITS)
				return false;
			nobits = true;
		}
	}
	return nobits;
}

int ada_elf_open_memory(struct ada_elf **elf, const void *bytes, size_t length, const char *path, struct ada_error *error)
{
	struct ada_elf *opened = calloc(1, sizeof *opened);
	Elf64_Ehdr header;
	int result = -ENOMEM;

	*elf = NULL;
	if (!opened || !(opened->path = strdup(path)))
		goto out;
	opened->bytes = bytes;
	opened->length = length;
	result = check_header(opened, &header, error);
	if (result)
		goto out;
	opened->entry = header.e_entry;
	if (is_debug_file(opened, &header))
		opened->kind = ADA_ELF_DEBUG;
	result = read_segments(opened, &header, error);
	if (!result)
		result = read_sections(opened, &header);
out:
	if (result) {
		ada_elf_close(opened);
		return result == -ENOMEM ? ada_error_set(error, ENOMEM, "%s: out of memory", path) : result;
	}
	*elf = opened;
	return 0;
}

int ada_elf_open(struct ada_elf **elf, const char *path, struct ada_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), result;
	struct stat status;
	void *bytes = NULL;

	*elf = NULL;
	if (fd < 0)
		return ada_error_system(error, errno, "%s", path);
	if (fstat(fd, &status) < 0)
		result = ada_error_system(error, errno, "%s", path);
	else if (!S_ISREG(status.st_mode))
		result = ada_error_set(error, S_ISDIR(status.st_mode) ? EISDIR : ENOEXEC, "%s: %s", path,
				       S_ISDIR(status.st_mode) ? "is a directory" : "not a regular file");
	else if (!status.st_size)
		result = ada_error_set(error, ENOEXEC, "%s: not an ELF file (empty)", path);
	else if ((bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED)
		result = ada_error_system(error, errno, "%s", path);
	else {
		result = ada_elf_open_memory(elf, bytes, (size_t)status.st_size, path, error);
		if (result)
			munmap(bytes, (size_t)status.st_size);
		else
			(*elf)->mapped = true;
	}
	close(fd);
	return result;
}

void ada_elf_close(struct ada_elf *elf)
{
	if (!elf)
		return;
	if (elf->mapped)
		munmap((void *)elf->bytes, elf->length);
	ada_array_free(&elf->segments);
	ada_array_free(&elf->sections);
	ada_array_free(&elf->needed);
	free(elf->path);
	free(elf);
}

int ada_elf_check_program(const struct ada_elf *elf, struct ada_error *error)
{
	switch (elf->kind) {
	case ADA_ELF_STATIC:
	case ADA_ELF_STATIC_PIE:
		return ada_error_set(error, ENOEXEC, "%s: statically linked: no agent can be loaded into it; link it dynamically",
				     elf->path);
	case ADA_ELF_DEBUG: return ada_error_set(error, ENOEXEC, "%s: debug information only, no program", elf->path);
	case ADA_ELF_SHARED:
	case ADA_ELF_EXEC:
	case ADA_ELF_PIE: break;
	}
	if (elf->interp && !strstr(elf->interp, "ld-linux-x86-64"))
		return ada_error_set(error, ENOEXEC, "%s: its loader is %s; only glibc's is supported", elf->path, elf->interp);
	return 0;
}

bool ada_elf_script(const char *path, char *interpreter, size_t bytes)
{
	char line[256] = "", *start, *end;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got = fd < 0 ? -1 : read(fd, line, sizeof line - 1);

	if (fd >= 0)
		close(fd);
	if (got < 3 || line[0] != '#' || line[1] != '!')
		return false;
	start = line + 2 + strspn(line + 2, " \t");
	end = start + strcspn(start, " \t\r\n");
	if (end == start || (size_t)(end - start) >= bytes)
		return false;
	memcpy(interpreter, start, (size_t)(end - start));
	interpreter[end - start] = 0;
	return true;
}

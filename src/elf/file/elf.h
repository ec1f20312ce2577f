/* An ELF file of this machine, mapped and checked once; everything else reads through bounds that were checked here.
 *
 * We walk the headers ourselves rather than through libelf: users may hand us any file, a corrupt one must end in a message, and 100,000
 * symbols have to be read in milliseconds. The files are 64-bit little-endian, so the structures of <elf.h> lie in them as they are
 * (unaligned: copy, don't cast).
 *
 * Addresses are the file's own (p_vaddr). A segment's or section's `data` is NULL where the file holds no bytes for it.
 */
#ifndef ADA_ELF_ELF_H
#define ADA_ELF_ELF_H
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"

#define ADA_ELF_BUILD_ID_MAX 32

enum ada_elf_kind {
	ADA_ELF_EXEC = 1, /* dynamic, at a fixed address */
	ADA_ELF_PIE,
	ADA_ELF_SHARED,
	ADA_ELF_STATIC, /* no interpreter: nothing can be preloaded */
	ADA_ELF_STATIC_PIE,
	ADA_ELF_DEBUG, /* separate debug information: no code of its own */
};

struct ada_elf_segment {
	uint64_t address, bytes; /* as in memory */
	const uint8_t *data;
	uint64_t data_bytes; /* what the file holds of it */
	bool executable, writable;
};

struct ada_elf_section {
	const char *name;
	uint64_t address, bytes; /* address 0: not loaded */
	const uint8_t *data;
	uint32_t type, link;
	bool loaded, executable, writable;
};

struct ada_elf_dynamic { /* what the loader reads; 0: not there */
	uint64_t rela, rela_bytes, plt_rela, plt_rela_bytes, relr, relr_bytes;
	uint64_t symbols, strings, strings_bytes, versions, version_needs, version_need_count;
	uint64_t init, fini;
};

struct ada_elf {
	char *path;
	const uint8_t *bytes;
	size_t length;
	bool mapped;
	enum ada_elf_kind kind;
	uint64_t entry;
	const char *interp; /* NULL: none */
	const char *soname;
	uint8_t build_id[ADA_ELF_BUILD_ID_MAX];
	uint32_t build_id_bytes;	     /* 0: none */
	uint64_t address_start, address_end; /* span of the PT_LOAD segments */
	uint64_t eh_frame_hdr;		     /* address of .eh_frame_hdr; 0: none */
	struct ada_elf_dynamic dynamic;
	ADA_ARRAY(struct ada_elf_segment) segments; /* PT_LOAD, by address */
	ADA_ARRAY(struct ada_elf_section) sections;
	ADA_ARRAY(const char *) needed; /* DT_NEEDED */
};

/* 0; -ENOENT and the like as open(2) says; -ENOEXEC with a message that says what the file is instead: a script, no ELF
 * file, 32-bit, another machine, corrupt. */
int ada_elf_open(struct ada_elf **elf, const char *path, struct ada_error *error);
/* The same over bytes that the caller keeps; `path` only names them in messages. */
int ada_elf_open_memory(struct ada_elf **elf, const void *bytes, size_t length, const char *path, struct ada_error *error);
void ada_elf_close(struct ada_elf *elf);

/* 0 if a program of this kind can be traced, else -ENOEXEC: a library, static, not glibc's loader. */
int ada_elf_check_program(const struct ada_elf *elf, struct ada_error *error);
/* The interpreter in the first line of a script into `interpreter`; false: no script. */
bool ada_elf_script(const char *path, char *interpreter, size_t bytes);

/* `bytes` bytes of the file at `address`, or NULL where they are not all there. */
const uint8_t *ada_elf_at(const struct ada_elf *elf, uint64_t address, uint64_t bytes);
/* The bytes from `address` to the end of what the file holds of that segment: *bytes of them. NULL: no such address. */
const uint8_t *ada_elf_rest(const struct ada_elf *elf, uint64_t address, uint64_t *bytes);
const struct ada_elf_segment *ada_elf_segment_of(const struct ada_elf *elf, uint64_t address);
const struct ada_elf_section *ada_elf_section_named(const struct ada_elf *elf, const char *name);
/* A string at `offset` of a table; "" where it is out of range or has no end. */
const char *ada_elf_string(const uint8_t *table, uint64_t table_bytes, uint64_t offset);

/* Reads of any alignment, the caller having checked the bounds. */
static inline uint16_t ada_read16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof value);
	return value;
}

static inline uint32_t ada_read32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof value);
	return value;
}

static inline uint64_t ada_read64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof value);
	return value;
}
#endif

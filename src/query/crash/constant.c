/* A write to what a module's file holds and nobody may change: the address that crashed lies there, and the instruction writes to it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "elf/file/demangle.h"
#include "elf/file/symbols.h"
#include "query/crash/internal.h"
#include "query/session/source.h"

#define TEXT_MAX 60

static bool writes_to(const struct ada_crash_cause *cause, uint64_t address)
{
	struct ada_crash_instruction of;
	uint64_t at;

	if (!ada_crash_decode(cause, ada_crash_number(cause, "rip"), &of))
		return false;
	for (unsigned i = 0; i < of.instruction.operand_count; i++)
		if (of.operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE && ada_crash_accesses(cause, &of, &of.operands[i], &at) &&
		    address - at < of.operands[i].size / 8)
			return true;
	return false;
}

/* Whether the loader made it read-only, too, when it had put addresses there. */
static bool is_constant(const struct ada_elf *elf, uint64_t in_file)
{
	const struct ada_elf_section *section = ada_elf_section_named(elf, ".data.rel.ro");

	return !ada_elf_segment_of(elf, in_file)->writable || (section && in_file - section->address < section->bytes);
}

/* The symbol of the data there; NULL: it has none. 0 or -ENOMEM. */
static int find_symbol(const struct ada_elf *elf, uint64_t in_file, char **name)
{
	struct ada_elf_symbols symbols = {};
	int result = ada_elf_symbols_read(elf, &symbols);

	for (size_t i = 0; i < symbols.count && !result && !*name; i++) {
		const struct ada_elf_symbol *symbol = &symbols.items[i];

		if (symbol->kind != ADA_SYMBOL_DATA || in_file - symbol->address >= symbol->size)
			continue;
		*name = ada_elf_demangle(symbol->name);
		if (!*name)
			*name = strndup(symbol->name, strcspn(symbol->name, "@"));
		result = *name ? 0 : -12;
	}
	free(symbols.items);
	return result;
}

/* The text that lies there, in quotation marks. */
static char *find_text(const struct ada_elf *elf, uint64_t in_file)
{
	uint64_t bytes, length = 0;
	const char *text = (const char *)ada_elf_rest(elf, in_file, &bytes);
	char *quoted = NULL;

	while (text && length < bytes && length < TEXT_MAX && text[length] >= ' ' && text[length] <= '~')
		length++;
	if (!length || length == bytes || (text[length] && length < TEXT_MAX) ||
	    asprintf(&quoted, "\"%.*s\"%s", (int)length, text, text[length] ? "..." : "") < 0)
		return NULL;
	return quoted;
}

int ada_crash_constant(struct ada_crash_cause *cause)
{
	uint64_t address = ada_crash_number(cause, "faultAddress"), in_file;
	const struct ada_elf *elf;

	if (cause->signal != SIGSEGV || !cause->recorded || ada_crash_code(cause) != SEGV_ACCERR)
		return 0;
	elf = ada_process_file(cause->process, address, cause->ns, &in_file);
	if (!elf || !is_constant(elf, in_file) || !writes_to(cause, address))
		return 0;
	cause->kind = ADA_CRASH_CONSTANT;
	cause->has_object = true;
	cause->object = address;
	cause->file = strdup(elf->path);
	if (!cause->file || find_symbol(elf, in_file, &cause->text))
		return -12;
	if (!cause->text)
		cause->text = find_text(elf, in_file);
	return 0;
}

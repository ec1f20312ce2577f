/* Lines of code inside functions. A function's code may lie in several pieces (what GCC takes for rare is kept elsewhere), and hold that of
 * others, inlined: the line table knows only theirs, and each one's entry the line that called it. */
#include <dwarf.h>
#include "elf/debug/internal.h"

/* Not dwarf_decl_file: it ends the program where the table of files can't be read. */
const char *ada_debug_file(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Files *files;
	Dwarf_Die unit;
	size_t count;

	if (dwarf_formudata(dwarf_attr_integrate(die, name, &attribute), &number) ||
	    !dwarf_cu_die(attribute.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) || dwarf_getsrcfiles(&unit, &files, &count) ||
	    number >= count)
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

static bool read_table(struct ada_debug_index *index, uint64_t address, const char **file, uint32_t *line)
{
	const struct ada_debug_unit *unit = ada_debug_index_unit(index, address);
	Dwarf_Line *found;
	Dwarf_Die top;
	int number = 0;

	if (!unit)
		return false;
	top = unit->lines;
	found = dwarf_getsrc_die(&top, address);
	*file = found ? dwarf_linesrc(found, NULL, NULL) : NULL;
	if (!*file || dwarf_lineno(found, &number) || number <= 0)
		return false;
	*line = (uint32_t)number;
	return true;
}

/* The entry below `die`, through blocks, of what is inlined at that address. False: nothing is. */
static bool inlined_below(struct ada_debug_index *index, Dwarf_Die *die, uint64_t address, Dwarf_Die *inlined)
{
	unsigned nesting = 0;
	Dwarf_Die child;

	if (dwarf_child(die, &child))
		return false;
	while (index->budget && index->budget--) {
		int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) && dwarf_haspc(&child, address) == 1) {
			*inlined = child;
			if (tag == DW_TAG_inlined_subroutine)
				return true;
			if (nesting++ == ADA_DEBUG_NESTING_MAX || dwarf_child(inlined, &child))
				return false;
		} else if (dwarf_siblingof(&child, &child)) {
			return false;
		}
	}
	return false;
}

static bool read_call(Dwarf_Die *inlined, const char **file, uint32_t *line)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;

	*file = ada_debug_file(inlined, DW_AT_call_file);
	if (!*file || dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &number) || !number || number > UINT32_MAX)
		return false;
	*line = (uint32_t)number;
	return true;
}

bool ada_debug_index_line(struct ada_debug_index *index, uint64_t function, uint64_t bytes, uint64_t address, struct ada_debug_line *line)
{
	const struct ada_debug_entry *entry = ada_debug_index_find(index, function);
	Dwarf_Die die, inlined;
	const char *file;
	uint32_t number;

	*line = (struct ada_debug_line){};
	if (entry)
		die = entry->die;
	if (!entry || dwarf_haspc(&die, address) != 1)
		return address - function < bytes && read_table(index, address, &line->file, &line->line);
	if (!inlined_below(index, &die, address, &inlined) || !read_call(&inlined, &line->file, &line->line))
		return read_table(index, address, &line->file, &line->line);
	for (unsigned nesting = 0; nesting < ADA_DEBUG_NESTING_MAX && inlined_below(index, &inlined, address, &die); nesting++)
		inlined = die;
	if (read_table(index, address, &file, &number)) {
		line->inlined = dwarf_diename(&inlined);
		line->inlined_file = file;
		line->inlined_line = number;
	}
	return true;
}

/* See source.h. */
#include "query/session/source.h"
#include <stdlib.h>
#include <sys/stat.h>
#include "elf/debug/functions.h"

/* A file without build-id counts as the recorded one if it is older than the recording's table of its functions, unless someone has
 * turned back the file's time. */
static bool is_newer(const struct ada_module *module)
{
	struct stat file, table;

	if (*module->build_id)
		return false;
	return !module->table_path || stat(module->path, &file) || stat(module->table_path, &table) ||
	       file.st_mtim.tv_sec > table.st_mtim.tv_sec ||
	       (file.st_mtim.tv_sec == table.st_mtim.tv_sec && file.st_mtim.tv_nsec > table.st_mtim.tv_nsec);
}

static struct ada_debug *debug_of(struct ada_module *module)
{
	if (!module->debug_tried) {
		module->debug_tried = true;
		if (!is_newer(module))
			module->debug = ada_debug_open(module->path, module->build_id);
	}
	return module->debug;
}

const struct ada_debug_function *ada_module_debug(struct ada_module *module, uint32_t symbol_index)
{
	struct ada_symbol *symbol = ada_module_symbol(module, symbol_index);
	struct ada_debug *debug = symbol ? debug_of(module) : NULL;

	return debug ? ada_debug_function(debug, symbol->address, symbol->mangled) : NULL;
}

bool ada_module_source(struct ada_module *module, uint32_t symbol_index, const char **file, uint32_t *line)
{
	const struct ada_debug_function *function = ada_module_debug(module, symbol_index);

	if (!function || !function->file || !function->line)
		return false;
	*file = function->file;
	*line = function->line;
	return true;
}

/* The function's symbol, and what has to be added to an address in its file. NULL: not known. */
static const struct ada_symbol *place_of(const struct ada_process *process, uint64_t function_id, uint64_t *base)
{
	const json_object *modules = ada_json_get(process->manifest, "modules");
	struct ada_symbol *symbol = ada_module_symbol(ada_process_module(process, function_id), ADA_FUNCTION_SYMBOL(function_id));

	for (size_t i = 0; symbol && i < ada_json_length(modules); i++) {
		const json_object *entry = json_object_array_get_idx(modules, i);

		if (ada_json_u64(entry, "id", i) != ADA_FUNCTION_MODULE(function_id))
			continue;
		*base = strtoull(ada_json_text(entry, "base", "0"), NULL, 16);
		return symbol;
	}
	return NULL;
}

bool ada_process_code(const struct ada_process *process, uint64_t function_id, uint64_t address, uint64_t *start, uint64_t *bytes)
{
	uint64_t base;
	const struct ada_symbol *symbol = place_of(process, function_id, &base);

	if (!symbol)
		return false;
	*start = base + symbol->address;
	*bytes = symbol->size;
	return address - *start < *bytes;
}

bool ada_process_line(const struct ada_process *process, uint64_t function_id, uint64_t address, struct ada_debug_line *line)
{
	struct ada_module *module = ada_process_module(process, function_id);
	uint64_t base;
	const struct ada_symbol *symbol = place_of(process, function_id, &base);

	return symbol && debug_of(module) && ada_debug_line(module->debug, symbol->address, symbol->size, address - base, line);
}

const struct ada_elf *ada_process_file(const struct ada_process *process, uint64_t address, uint64_t time_ns, uint64_t *in_file)
{
	const json_object *modules = ada_json_get(process->manifest, "modules");

	for (size_t i = 0; i < ada_json_length(modules); i++) {
		const json_object *entry = json_object_array_get_idx(modules, i);
		uint64_t id = ada_json_u64(entry, "id", i), base = strtoull(ada_json_text(entry, "base", "0"), NULL, 16);
		struct ada_module *module = id < process->modules.count ? process->modules.items[id] : NULL;
		const struct ada_elf *elf;

		/* Nothing of a module lies below its base: most files needn't be opened. */
		if (!module || address < base || time_ns < ada_json_u64(entry, "loadNs", 0) ||
		    time_ns > ada_json_u64(entry, "unloadNs", UINT64_MAX) || !debug_of(module))
			continue;
		elf = ada_debug_elf(module->debug);
		*in_file = address - base;
		if (ada_elf_segment_of(elf, *in_file))
			return elf;
	}
	return NULL;
}

const uint8_t *ada_process_constant(const struct ada_process *process, uint64_t address, uint64_t time_ns, uint64_t *bytes)
{
	uint64_t in_file;
	const struct ada_elf *elf = ada_process_file(process, address, time_ns, &in_file);

	return elf && !ada_elf_segment_of(elf, in_file)->writable ? ada_elf_rest(elf, in_file, bytes) : NULL;
}

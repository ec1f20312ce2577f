/* Modules and the names of their functions. Layout of the tables: docs/manifest.schema.json. */
#include "query/session/module.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "abi/record.h"
#include "base/array.h"
#include "base/file.h"
#include "elf/file/demangle.h"
#include "elf/debug/functions.h"

struct ada_module *ada_module_new(const char *path, const char *build_id, const char *table_path)
{
	struct ada_module *module = calloc(1, sizeof *module);

	if (!module)
		return NULL;
	module->path = strdup(path);
	module->build_id = strdup(build_id);
	module->table_path = table_path ? strdup(table_path) : NULL;
	if (module->path && module->build_id && (module->table_path || !table_path))
		return module;
	ada_module_free(module);
	return NULL;
}

void ada_module_free(struct ada_module *module)
{
	if (!module)
		return;
	for (uint32_t i = 0; i < module->symbol_count; i++)
		free(module->symbols[i].name);
	ada_debug_close(module->debug);
	free(module->symbols);
	free(module->text);
	free(module->table_path);
	free(module->build_id);
	free(module->path);
	free(module);
}

/* Undoes \\, \t and \n in place. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (*from == '\\' && from[1]) {
			from++;
			*to++ = *from == 't' ? '\t' : *from == 'n' ? '\n' : *from;
		} else {
			*to++ = *from;
		}
	}
	*to = 0;
}

/* Cuts `*line` at its first tab (or end) and moves it behind. */
static char *next_field(char **line)
{
	return *line ? strsep(line, "\t") : NULL;
}

static bool parse_number(const char *text, uint64_t *number)
{
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, &end, 0);
	return !*end && !errno;
}

static int parse_head(char *line, char **path, char **build_id)
{
	char *mark = next_field(&line);

	*path = next_field(&line);
	*build_id = next_field(&line);
	if (!mark || strcmp(mark, "#") || !*path || !*build_id)
		return -EBADMSG;
	unescape(*path);
	if (!strcmp(*build_id, "-"))
		**build_id = 0;
	return 0;
}

/* symbolIndex, address, size, name; the index counts from 0 without holes. */
static int parse_symbol(char *line, uint64_t index, struct ada_symbol *symbol)
{
	uint64_t number;
	char *name;

	*symbol = (struct ada_symbol){};
	if (!parse_number(next_field(&line), &number) || number != index || !parse_number(next_field(&line), &symbol->address) ||
	    !parse_number(next_field(&line), &symbol->size))
		return -EBADMSG;
	name = next_field(&line);
	if (!name)
		return -EBADMSG;
	unescape(name);
	symbol->mangled = name;
	return 0;
}

static int parse_table(struct ada_module *module, char *text)
{
	ADA_ARRAY(struct ada_symbol) symbols = {};
	char *rest = text, *line = strsep(&rest, "\n"), *path, *build_id;
	int result = parse_head(line, &path, &build_id);

	if (result)
		return ada_error_set(&module->problem, EBADMSG, "%s:1: not '#', path, build-id, load bias", module->table_path);
	while (rest && *rest) {
		struct ada_symbol symbol;

		line = strsep(&rest, "\n");
		result = parse_symbol(line, symbols.count, &symbol);
		if (result) {
			ada_error_set(&module->problem, EBADMSG, "%s:%zu: not index, address, size, name", module->table_path,
				      symbols.count + 2);
			break;
		}
		result = ada_array_push(&symbols, symbol);
		if (result) {
			ada_error_system(&module->problem, ENOMEM, "%s", module->table_path);
			break;
		}
	}
	/* The lines before a damaged one are good. */
	module->symbols = symbols.items;
	module->symbol_count = symbols.count;
	return result;
}

int ada_module_load(struct ada_module *module)
{
	size_t length;

	if (module->tried)
		return *module->problem.text ? -EBADMSG : 0;
	module->tried = true;
	if (!module->table_path)
		return ada_error_set(&module->problem, ENOENT, "%s: the recording has no table of its functions", module->path);
	if (ada_file_read_regular(module->table_path, &module->text, &length, &module->problem))
		return -EBADMSG;
	return parse_table(module, module->text);
}

void ada_module_adopt(struct ada_module *module, struct ada_module *from)
{
	if (module->tried || !from->tried || *from->problem.text || !module->table_path || !from->table_path)
		return;
	if (strcmp(module->path, from->path) || strcmp(module->build_id, from->build_id) || strcmp(module->table_path, from->table_path))
		return;
	module->tried = true;
	module->text = from->text;
	module->symbols = from->symbols;
	module->symbol_count = from->symbol_count;
	from->tried = false;
	from->text = NULL;
	from->symbols = NULL;
	from->symbol_count = 0;
}

int ada_module_head(const char *table_path, char **path, char **build_id, struct ada_error *error)
{
	char *head_path, *head_build_id, *line = NULL;
	int fd = ada_file_open_regular(table_path, error), result = -EBADMSG;
	size_t size = 0;
	FILE *file;

	*path = *build_id = NULL;
	if (fd < 0)
		return fd;
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return ada_error_system(error, ENOMEM, "%s", table_path);
	}
	if (getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = 0;
		result = parse_head(line, &head_path, &head_build_id);
	}
	if (result) {
		ada_error_set(error, EBADMSG, "%s:1: not '#', path, build-id, load bias", table_path);
	} else {
		*path = strdup(head_path);
		*build_id = strdup(head_build_id);
		if (!*path || !*build_id)
			result = ada_error_system(error, ENOMEM, "%s", table_path);
	}
	free(line);
	fclose(file);
	return result;
}

const char *ada_module_name(const struct ada_module *module)
{
	const char *slash;

	if (!module)
		return "";
	slash = strrchr(module->path, '/');
	return slash ? slash + 1 : module->path;
}

struct ada_symbol *ada_module_symbol(struct ada_module *module, uint32_t index)
{
	if (!module)
		return NULL;
	ada_module_load(module);
	return index < module->symbol_count ? &module->symbols[index] : NULL;
}

const char *ada_module_function(struct ada_module *module, uint64_t function_id, char buffer[ADA_NAME_BUFFER])
{
	struct ada_symbol *symbol = ada_module_symbol(module, ADA_FUNCTION_SYMBOL(function_id));

	if (!symbol) {
		if (module)
			snprintf(buffer, ADA_NAME_BUFFER, "%.255s#%u", ada_module_name(module), ADA_FUNCTION_SYMBOL(function_id));
		else
			snprintf(buffer, ADA_NAME_BUFFER, "module %u#%u", ADA_FUNCTION_MODULE(function_id),
				 ADA_FUNCTION_SYMBOL(function_id));
		return buffer;
	}
	if (!*symbol->mangled) {
		snprintf(buffer, ADA_NAME_BUFFER, "%.255s+0x%llx", ada_module_name(module), (unsigned long long)symbol->address);
		return buffer;
	}
	if (!symbol->name)
		symbol->name = ada_elf_demangle(symbol->mangled);
	if (!symbol->name)
		symbol->name = strdup(symbol->mangled);
	return symbol->name ? symbol->name : symbol->mangled;
}

void ada_module_names(struct ada_names *names, struct ada_module *module, uint64_t function_id, char place[ADA_PLACE_TEXT])
{
	const struct ada_symbol *symbol = ada_module_symbol(module, ADA_FUNCTION_SYMBOL(function_id));
	char buffer[ADA_NAME_BUFFER];

	if (symbol)
		ada_place_text(place, module->path, symbol->address);
	else
		snprintf(place, ADA_PLACE_TEXT, "%.279s", ada_module_function(module, function_id, buffer));
	ada_names_open(names, symbol ? symbol->mangled : "", place);
}

bool ada_module_is_meant(struct ada_module *module, uint64_t function_id, const struct ada_pattern_list *patterns)
{
	char place[ADA_PLACE_TEXT], buffer[ADA_NAME_BUFFER];
	struct ada_names names;
	bool meant;

	ada_module_names(&names, module, function_id, place);
	meant = ada_pattern_list_matches(patterns, &names);
	/* What is shown keeps the version of a symbol behind the readable name. */
	for (size_t i = 0; i < patterns->items.count && !meant && *names.mangled; i++)
		meant = ada_pattern_fits(&patterns->items.items[i], ada_module_function(module, function_id, buffer));
	ada_names_close(&names);
	return meant;
}

/* Those that all programs have, and whose functions a reader knows by their names. */
static bool is_everywhere(const char *name)
{
	static const char *const names[] = { "libc.so",	 "libm.so",    "libpthread.so", "libdl.so",    "librt.so",
					     "ld-linux", "linux-vdso", "libstdc++.so",	"libgcc_s.so", "[vdso]" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

bool ada_module_is_library(const struct ada_module *module, char glob[ADA_LIBRARY_GLOB])
{
	const char *name = ada_module_name(module), *suffix = strstr(name, ".so");
	int length = suffix ? (int)(suffix - name) : 0;

	return suffix && !is_everywhere(name) && snprintf(glob, ADA_LIBRARY_GLOB, "%.*s.so*", length, name) < ADA_LIBRARY_GLOB;
}

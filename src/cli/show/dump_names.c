#include "cli/show/dump_names.h"
#include <errno.h>
#include <stdlib.h>
#include "query/session/source.h"

static void free_name(struct ada_dump_name *name)
{
	free(name->function);
	free(name->module);
	free(name->file);
}

static bool module_fits(const struct ada_pattern_list *patterns, const struct ada_module *module)
{
	bool fits = !patterns->items.count;

	for (size_t i = 0; i < patterns->items.count && module && !fits; i++)
		fits = ada_pattern_fits(&patterns->items.items[i], ada_module_name(module)) ||
		       ada_pattern_fits(&patterns->items.items[i], module->path);
	return fits;
}

static int make_name(const struct ada_options *options, struct ada_module *module, uint64_t id, struct ada_dump_name *name)
{
	char buffer[ADA_NAME_BUFFER];
	const char *function = ada_module_function(module, id, buffer), *file;

	*name = (struct ada_dump_name){};
	if (options->source && module && ada_module_source(module, ADA_FUNCTION_SYMBOL(id), &file, &name->line))
		name->file = ada_output_prepare(options->format, file);
	name->function = ada_output_prepare(options->format, function);
	name->module = ada_output_prepare(options->format, ada_module_name(module));
	name->wanted = (!options->functions.items.count || ada_module_is_meant(module, id, &options->functions)) &&
		       !ada_module_is_meant(module, id, &options->exclude) && module_fits(&options->modules, module);
	if (name->function && name->module)
		return 0;
	free_name(name);
	return -ENOMEM;
}

const struct ada_dump_name *ada_dump_name(struct ada_dump_names *names, const struct ada_process *process, uint64_t function_id)
{
	uint64_t key = ada_process_function_key(process, function_id), number;
	struct ada_dump_name name;

	if (ada_table_get(&names->numbers, key, &number))
		return &names->items.items[number];
	number = names->items.count;
	if (make_name(names->options, ada_process_module(process, function_id), function_id, &name))
		return NULL;
	if (ada_array_push(&names->items, name)) {
		free_name(&name);
		return NULL;
	}
	return ada_table_put(&names->numbers, key, number) ? NULL : &names->items.items[number];
}

void ada_dump_names_close(struct ada_dump_names *names)
{
	for (size_t i = 0; i < names->items.count; i++)
		free_name(&names->items.items[i]);
	ada_array_free(&names->items);
	ada_table_free(&names->numbers);
}

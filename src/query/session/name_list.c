/* The list of names. */
#include "query/session/name_list.h"
#include <stdlib.h>
#include <string.h>

static struct ada_name *name_make(const struct ada_process *process, uint64_t function_id)
{
	struct ada_module *module = ada_process_module(process, function_id);
	struct ada_name *name = calloc(1, sizeof *name);
	char buffer[ADA_NAME_BUFFER];

	if (!name)
		return NULL;
	name->of = module;
	name->symbol = ada_module_symbol(module, ADA_FUNCTION_SYMBOL(function_id));
	name->mangled = name->symbol ? name->symbol->mangled : "";
	name->module = ada_module_name(module);
	name->function = strdup(ada_module_function(module, function_id, buffer));
	if (name->function)
		return name;
	free(name);
	return NULL;
}

const struct ada_name *ada_name_list_get(struct ada_name_list *names, const struct ada_process *process, uint64_t function_id)
{
	uint64_t key = ada_process_function_key(process, function_id), number;
	struct ada_name *name;

	if (ada_table_get(&names->numbers, key, &number))
		return names->items.items[number];
	name = name_make(process, function_id);
	if (!name)
		return NULL;
	name->key = key;
	name->number = names->items.count;
	if (ada_array_push(&names->items, name)) {
		free(name->function);
		free(name);
		return NULL;
	}
	return ada_table_put(&names->numbers, key, name->number) ? NULL : name;
}

void ada_name_list_close(struct ada_name_list *names)
{
	for (size_t i = 0; i < names->items.count; i++) {
		free(names->items.items[i]->function);
		free(names->items.items[i]);
	}
	ada_array_free(&names->items);
	ada_table_free(&names->numbers);
}

/* See names.h. */
#include "cli/view/names.h"

uint64_t ada_view_name(struct ada_view_names *names, const struct ada_process *process, uint64_t function_id)
{
	uint64_t key = ada_process_function_key(process, function_id), number;

	if (ada_table_get(&names->numbers, key, &number))
		return number;
	number = names->items.count;
	if (ada_array_push(&names->items, (struct ada_view_function){ process, function_id }))
		return 0;
	ada_table_put(&names->numbers, key, number);
	return number;
}

void ada_view_put_function(struct ada_output *output, const struct ada_process *process, uint64_t function_id)
{
	struct ada_module *module = ada_process_module(process, function_id);
	char buffer[ADA_NAME_BUFFER];

	ada_output_string(output, "[");
	ada_output_json(output, ada_module_function(module, function_id, buffer));
	ada_output_string(output, ", ");
	ada_output_json(output, ada_module_name(module));
	ada_output_string(output, "]");
}

void ada_view_names_put(struct ada_output *output, const struct ada_view_names *names)
{
	ada_output_string(output, ", \"functions\": [");
	for (size_t i = 0; i < names->items.count; i++) {
		ada_output_string(output, i ? ",\n" : "\n");
		ada_view_put_function(output, names->items.items[i].process, names->items.items[i].function_id);
	}
	ada_output_string(output, "]");
}

void ada_view_names_free(struct ada_view_names *names)
{
	ada_array_free(&names->items);
	ada_table_free(&names->numbers);
}

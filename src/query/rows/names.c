/* Functions by their key, each made when it is first seen: a row costs a look-up in an array. */
#include <stdlib.h>
#include <string.h>
#include "base/output.h"
#include "query/rows/rows.h"

#define SYMBOLS_MAX (1u << 24) /* of a module's table, that are found by their number alone */

/* Names of functions as SQL has them: text must be valid UTF-8. *made is what is to be freed. */
static const char *valid(const char *text, char **made)
{
	*made = NULL;
	if (ada_output_is_utf8(text))
		return text;
	*made = ada_output_utf8_copy(text);
	return *made ? *made : "";
}

static struct ada_sql_function *function_make(struct ada_sql *sql, uint64_t key)
{
	const struct ada_session *session = sql->session;
	struct ada_sql_function *function = calloc(1, sizeof *function);
	uint64_t module = key >> 32;
	char buffer[ADA_NAME_BUFFER];
	const char *name;

	if (!function)
		return NULL;
	function->key = key;
	function->number = sql->functions.count;
	function->module = module < session->modules.count ? session->modules.items[module] : NULL;
	function->symbol = ada_module_symbol(function->module, ADA_FUNCTION_SYMBOL(key));
	name = ada_module_function(function->module, ADA_FUNCTION_ID(function->module ? 0 : module - session->modules.count, (uint32_t)key),
				   buffer);
	function->name = valid(name, &function->texts[0]);
	if (name == buffer && !function->texts[0])
		function->name = function->texts[0] = strdup(buffer);
	function->mangled = valid(function->symbol ? function->symbol->mangled : "", &function->texts[1]);
	function->module_name = valid(ada_module_name(function->module), &function->texts[2]);
	if (!function->name || ada_array_push(&sql->functions, function)) {
		free(function->texts[0]);
		free(function);
		return NULL;
	}
	function->name_length = (int)strlen(function->name);
	return function;
}

/* Where the function's pointer is kept; NULL: its symbol is in no table. */
static struct ada_sql_function **place_of(struct ada_sql *sql, uint64_t key)
{
	uint64_t number = key >> 32;
	struct ada_module *module;

	if (number >= sql->session->modules.count)
		return NULL;
	if (!sql->by_symbol[number]) {
		module = sql->session->modules.items[number];
		ada_module_load(module);
		if (!module->symbol_count || module->symbol_count > SYMBOLS_MAX)
			return NULL;
		sql->by_symbol[number] = calloc(module->symbol_count, sizeof **sql->by_symbol);
		if (!sql->by_symbol[number])
			return NULL;
		sql->symbol_counts[number] = module->symbol_count;
	}
	return (uint32_t)key < sql->symbol_counts[number] ? &sql->by_symbol[number][(uint32_t)key] : NULL;
}

const struct ada_sql_function *ada_sql_function_by_key(struct ada_sql *sql, uint64_t key)
{
	struct ada_sql_function **place = place_of(sql, key), *function;
	uint64_t number;

	if (place) {
		if (!*place)
			*place = function_make(sql, key);
		return *place;
	}
	if (ada_table_get(&sql->others, key, &number))
		return sql->functions.items[number];
	function = function_make(sql, key);
	if (function && ada_table_put(&sql->others, key, function->number))
		return NULL;
	return function;
}

const struct ada_sql_function *ada_sql_function_of(struct ada_sql *sql, const struct ada_process *process, uint64_t function_id)
{
	return ada_sql_function_by_key(sql, ada_process_function_key(process, function_id));
}

uint64_t ada_sql_module_key(const struct ada_module *module, uint64_t function_id, const struct ada_session *session)
{
	uint64_t number = module ? module->number : session->modules.count + ADA_FUNCTION_MODULE(function_id);

	return number << 32 | ADA_FUNCTION_SYMBOL(function_id);
}

void ada_sql_names_close(struct ada_sql *sql)
{
	for (size_t i = 0; i < sql->functions.count; i++) {
		for (size_t j = 0; j < 3; j++)
			free(sql->functions.items[i]->texts[j]);
		free(sql->functions.items[i]);
	}
	for (size_t i = 0; sql->by_symbol && i < sql->session->modules.count; i++)
		free(sql->by_symbol[i]);
	free(sql->by_symbol);
	free(sql->symbol_counts);
	ada_array_free(&sql->functions);
	ada_table_free(&sql->others);
}

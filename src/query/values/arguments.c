/* See arguments.h. Types come from elf/debug/functions.h or from the prototypes, values from the record (captured.c); value.c makes text of
 * the two. */
#include "query/values/arguments.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi/record.h"
#include "query/session/source.h"
#include "query/values/internal.h"
#include "trigger/prototypes.h"

static void free_argument(struct ada_argument *argument)
{
	free(argument->name);
	free(argument->type);
	free(argument->text);
	free(argument->string);
}

static int argument_add(struct ada_arguments *arguments, const struct ada_captured *captured, const char *name,
			const struct ada_debug_type *type, const struct ada_debug_where *where)
{
	struct ada_argument argument = { .name = strdup(name), .type = strdup(type->name ? type->name : "") };
	int result = argument.name && argument.type ? ada_argument_format(&argument, captured, type, where) : -ENOMEM;

	if (!result)
		result = ada_array_push(&arguments->items, argument);
	if (result)
		free_argument(&argument);
	return result;
}

/* --- by debug information ---------------------------------------------------------------------------------------------------- */

static int by_debug(struct ada_arguments *arguments, const struct ada_captured *captured, const struct ada_debug_function *function)
{
	int result = 0;

	if (captured->is_return) {
		arguments->known = function->has_result;
		if (!function->has_result || function->result.class == ADA_DEBUG_VOID)
			return 0;
		return argument_add(arguments, captured, "result", &function->result, &function->result_where);
	}
	arguments->known = function->has_types;
	arguments->variadic = function->variadic;
	for (size_t i = 0; i < function->parameters.count && !result; i++)
		result = argument_add(arguments, captured, function->parameters.items[i].name, &function->parameters.items[i].type,
				      &function->parameters.items[i].where);
	return result;
}

/* --- by prototype ------------------------------------------------------------------------------------------------------------ */

static const struct {
	char letter;
	enum ada_debug_class class;
	uint8_t bytes;
	char *name;
} letters[] = { { 'v', ADA_DEBUG_VOID, 0, "void" },
		{ 'c', ADA_DEBUG_CHAR, 1, "char" },
		{ 'b', ADA_DEBUG_BOOL, 1, "bool" },
		{ 'h', ADA_DEBUG_SIGNED, 2, "short" },
		{ 'H', ADA_DEBUG_UNSIGNED, 2, "unsigned short" },
		{ 'i', ADA_DEBUG_SIGNED, 4, "int" },
		{ 'u', ADA_DEBUG_UNSIGNED, 4, "unsigned int" },
		{ 'l', ADA_DEBUG_SIGNED, 8, "long" },
		{ 'z', ADA_DEBUG_UNSIGNED, 8, "size_t" },
		{ 'p', ADA_DEBUG_POINTER, 8, "void *" },
		{ 's', ADA_DEBUG_C_STRING, 8, "const char *" },
		{ 'a', ADA_DEBUG_ADDRESS, 8, "const struct sockaddr *" },
		{ 'f', ADA_DEBUG_REAL, 4, "float" },
		{ 'd', ADA_DEBUG_REAL, 8, "double" } };

static bool type_of_letter(char letter, struct ada_debug_type *type)
{
	for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
		if (letters[i].letter == letter) {
			*type = (struct ada_debug_type){ .class = letters[i].class, .bytes = letters[i].bytes, .name = letters[i].name };
			return true;
		}
	return false;
}

/* Only in libraries that are known to have the function: any program may have one of that name. */
static bool has_prototypes(const struct ada_module *module)
{
	static const char *const libraries[] = { "libc.so",  "libc-",	 "libm.so",	"libpthread",  "librt.so",
						 "libdl.so", "ld-linux", "libjemalloc", "libtcmalloc", "libmimalloc" };
	const char *name = ada_module_name(module);

	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
		if (strncmp(name, libraries[i], strlen(libraries[i])) == 0)
			return true;
	return false;
}

static int add_by_letter(struct ada_arguments *arguments, const struct ada_captured *captured, const char *name, size_t length, char letter,
			 unsigned *general, unsigned *vector)
{
	struct ada_debug_where where = { .place = ADA_DEBUG_REGISTERS, .count = 1 };
	struct ada_debug_type type;
	char copy[32];

	if (!type_of_letter(letter, &type) || type.class == ADA_DEBUG_VOID)
		return 0;
	snprintf(copy, sizeof copy, "%.*s", (int)length, name);
	if (type.class == ADA_DEBUG_REAL)
		where.registers[0] = (int8_t) ~(*vector)++;
	else if (*general < 6)
		where.registers[0] = (int8_t)(*general)++;
	else
		where = (struct ada_debug_where){ .place = ADA_DEBUG_STACK, .stack = 8 * ((*general)++ - 6) };
	return argument_add(arguments, captured, copy, &type, &where);
}

static int by_prototype(struct ada_arguments *arguments, const struct ada_captured *captured, const struct ada_prototype *prototype)
{
	const char *name = prototype->names;
	unsigned general = 0, vector = 0;
	int result = 0;

	arguments->known = true;
	if (captured->is_return)
		return add_by_letter(arguments, captured, "result", 6, prototype->types[0], &general, &vector);
	for (const char *at = prototype->types + 1; *at && !result; at++) {
		size_t length = strcspn(name, " ");

		if (*at == '.') {
			arguments->variadic = true;
			break;
		}
		result = add_by_letter(arguments, captured, name, length, *at, &general, &vector);
		name += length + (name[length] == ' ');
	}
	return result;
}

/* --- a record ---------------------------------------------------------------------------------------------------------------- */

static char *bare_name(struct ada_module *module, uint64_t function_id)
{
	char buffer[ADA_NAME_BUFFER];
	const char *name = ada_module_function(module, function_id, buffer), *bare;
	size_t length = ada_name_length(name), version = strcspn(name, "@");
	char *copy = strndup(name, length && name[length] ? length : version ? version : strlen(name));

	/* The demangled names of templates begin with what they return. */
	if (copy && !strstr(copy, "operator") && (bare = ada_name_without_type(copy)) != copy)
		memmove(copy, bare, strlen(bare) + 1);
	return copy;
}

/* "-1 ENOENT", "NULL ENOENT" */
static int add_errno(struct ada_arguments *arguments, const struct atf_detail *record)
{
	const char *name = ada_captured_errno(record);
	struct ada_argument *result = arguments->items.items;
	char *text;

	if (!name || arguments->items.count != 1)
		return 0;
	if (asprintf(&text, "%s %s", result->text, name) < 0)
		return -ENOMEM;
	free(result->text);
	result->text = text;
	return 0;
}

int ada_arguments_decode(struct ada_arguments *arguments, const struct ada_thread *thread, const struct atf_detail *record)
{
	struct ada_captured captured = { thread->process, record, record->event_type == ATF_DETAIL_RETURN };
	uint32_t index = ADA_FUNCTION_SYMBOL(record->function_id);
	struct ada_module *module = ada_process_module(thread->process, record->function_id);
	struct ada_symbol *symbol = ada_module_symbol(module, index);
	const struct ada_debug_function *function;
	const struct ada_prototype *prototype;
	int result = 0;

	*arguments = (struct ada_arguments){ .is_return = captured.is_return };
	if (!symbol || (record->event_type != ATF_DETAIL_CALL && record->event_type != ATF_DETAIL_RETURN))
		return 0;
	function = ada_module_debug(module, index);
	prototype = has_prototypes(module) ? ada_prototype_find(symbol->mangled) : NULL;
	if (function && (captured.is_return ? function->has_result : function->has_types))
		result = by_debug(arguments, &captured, function);
	else if (prototype)
		result = by_prototype(arguments, &captured, prototype);
	if (!result && captured.is_return)
		result = add_errno(arguments, record);
	if (!result && arguments->known) {
		arguments->function = bare_name(module, record->function_id);
		if (!arguments->function)
			result = -ENOMEM;
	}
	if (result)
		ada_arguments_free(arguments);
	return result;
}

void ada_arguments_free(struct ada_arguments *arguments)
{
	for (size_t i = 0; i < arguments->items.count; i++)
		free_argument(&arguments->items.items[i]);
	ada_array_free(&arguments->items);
	free(arguments->function);
	*arguments = (struct ada_arguments){};
}

/* --- printed ------------------------------------------------------------------------------------------------------------------ */

static void put_list(FILE *file, const struct ada_arguments *arguments)
{
	for (size_t i = 0; i < arguments->items.count; i++) {
		const struct ada_argument *argument = &arguments->items.items[i];

		fprintf(file, "%s%s%s%s", i ? ", " : "", argument->name, *argument->name ? "=" : "", argument->text);
	}
	if (arguments->variadic)
		fputs(arguments->items.count ? ", ..." : "...", file);
}

static char *close_text(FILE *file, char **text)
{
	if (fclose(file) == 0)
		return *text;
	free(*text);
	return NULL;
}

char *ada_arguments_list(const struct ada_arguments *arguments)
{
	size_t length;
	char *text;
	FILE *file = arguments->known && !arguments->is_return ? open_memstream(&text, &length) : NULL;

	if (!file)
		return NULL;
	put_list(file, arguments);
	return close_text(file, &text);
}

char *ada_arguments_text(const struct ada_arguments *arguments)
{
	size_t length;
	char *text;
	FILE *file;

	if (!arguments->known || (arguments->is_return && !arguments->items.count))
		return NULL;
	file = open_memstream(&text, &length);
	if (!file)
		return NULL;
	if (arguments->is_return) {
		fprintf(file, "= %s", arguments->items.items[0].text);
	} else {
		fprintf(file, "%s(", arguments->function);
		put_list(file, arguments);
		fputc(')', file);
	}
	return close_text(file, &text);
}

static void put_json_value(struct ada_output *output, const struct ada_argument *argument)
{
	char number[64] = "null";

	switch (argument->kind) {
	case ADA_ARGUMENT_NUMBER:
		snprintf(number, sizeof number, argument->is_unsigned ? "%llu" : "%lld", (long long)argument->number);
		break;
	case ADA_ARGUMENT_REAL:
		if (__builtin_isfinite(argument->real))
			snprintf(number, sizeof number, "%.17g", argument->real);
		break;
	case ADA_ARGUMENT_POINTER: snprintf(number, sizeof number, "\"0x%llx\"", (unsigned long long)argument->number); break;
	case ADA_ARGUMENT_STRING: ada_output_json(output, argument->string); return;
	case ADA_ARGUMENT_OPAQUE: break;
	}
	ada_output_string(output, number);
}

void ada_argument_json(struct ada_output *output, const struct ada_argument *argument)
{
	ada_output_string(output, "{\"name\": ");
	ada_output_json(output, argument->name);
	ada_output_string(output, ", \"type\": ");
	ada_output_json(output, argument->type);
	ada_output_string(output, ", \"value\": ");
	put_json_value(output, argument);
	ada_output_string(output, ", \"text\": ");
	ada_output_json(output, argument->text);
	ada_output_string(output, argument->captured ? ", \"captured\": true}" : ", \"captured\": false}");
}

void ada_arguments_json(struct ada_output *output, const struct ada_arguments *arguments)
{
	ada_output_string(output, "[");
	for (size_t i = 0; i < arguments->items.count; i++) {
		if (i)
			ada_output_string(output, ", ");
		ada_argument_json(output, &arguments->items.items[i]);
	}
	ada_output_string(output, "]");
}

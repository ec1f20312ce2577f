/* ada functions PROGRAM: what would be hooked, and what not and why. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/ground/options.h"
#include "cli/record/commands.h"
#include "elf/file/demangle.h"
#include "elf/file/elf.h"
#include "plan/ground/refusal.h"
#include "plan/plan.h"

struct counts {
	uint64_t functions, hooked, imports, imports_hooked, calls;
	uint64_t refused[ADA_REFUSAL_COUNT];
};

static const struct ada_usage usage = {
	"PROGRAM", "Says which functions of PROGRAM (or of a shared library) `ada trace` would hook, and lists each that it would "
		   "not with the reason."
};

/* Looks up a program named without a slash as a shell would; a shared library of that name may lie in this directory. */
static const char *find_program(const char *program, char *path, size_t bytes)
{
	const char *directory = getenv("PATH");

	if (strchr(program, '/') || !access(program, F_OK) || !directory)
		return program;
	while (*directory) {
		size_t length = strcspn(directory, ":");

		if (length && (size_t)snprintf(path, bytes, "%.*s/%s", (int)length, directory, program) < bytes && !access(path, X_OK))
			return path;
		directory += length + (directory[length] == ':');
	}
	return program;
}

static int open_plan(struct ada_plan **plan, const char *path, bool int3, struct ada_error *error)
{
	struct ada_plan_options plan_options = { .decode = true, .int3 = int3 };
	char interpreter[256];
	struct ada_elf *elf = NULL;
	int result;

	if (ada_elf_script(path, interpreter, sizeof interpreter))
		return ada_error_set(error, ENOEXEC, "%s: a script: try its interpreter, %s", path, interpreter);
	result = ada_elf_open(&elf, path, error);
	if (!result)
		result = ada_elf_check_program(elf, error);
	ada_elf_close(elf);
	return result ? result : ada_plan_open(plan, path, &plan_options, error);
}

static bool is_counted(const struct ada_plan_function *function)
{
	return !(function->flags & ADA_FUNCTION_IFUNC);
}

static void count(const struct ada_plan *plan, struct counts *counts)
{
	const struct ada_plan_header *header = ada_plan_header(plan);
	const struct ada_plan_function *function = ada_plan_functions(plan);
	const struct ada_plan_import *import = ada_plan_imports(plan);

	for (; function < ada_plan_functions(plan) + header->function_count; function++) {
		if (!is_counted(function))
			continue;
		counts->functions++;
		if (function->hook != ADA_PLAN_NONE)
			counts->hooked++;
		else
			counts->refused[function->refusal]++;
	}
	counts->imports = header->import_count;
	counts->calls = header->call_count;
	for (; import < ada_plan_imports(plan) + header->import_count; import++)
		counts->imports_hooked += !(import->flags & ADA_IMPORT_REFUSED);
}

static double percent(const struct counts *counts)
{
	return counts->functions ? 100.0 * (double)counts->hooked / (double)counts->functions : 0;
}

static void put_name(struct ada_output *output, const struct ada_plan *plan, const struct ada_plan_function *function, bool json)
{
	const char *mangled = ada_plan_string(plan, function->name);
	char address[32], *demangled = ada_elf_demangle(mangled);

	snprintf(address, sizeof address, "0x%llx", (unsigned long long)function->address);
	(json ? ada_output_json : ada_output_text)(output, demangled ? demangled : *mangled ? mangled : address);
	free(demangled);
}

static void put_function_json(struct ada_output *output, const struct ada_plan *plan, const struct ada_plan_function *function)
{
	ada_output_string(output, "{\"name\": ");
	put_name(output, plan, function, true);
	ada_output_string(output, ", \"address\": ");
	ada_output_u64(output, function->address);
	ada_output_string(output, ", \"size\": ");
	ada_output_u64(output, function->size);
	if (function->hook == ADA_PLAN_NONE) {
		ada_output_string(output, ", \"reason\": ");
		ada_output_json(output, ada_refusal_key(function->refusal));
	}
	ada_output_string(output, "}");
}

static void put_list_json(struct ada_output *output, const struct ada_plan *plan, bool hooked)
{
	const struct ada_plan_function *function = ada_plan_functions(plan), *end = function + ada_plan_header(plan)->function_count;
	const char *separator = "\n  ";

	ada_output_string(output, hooked ? ",\n \"hookedFunctions\": [" : ",\n \"skipped\": [");
	for (; function < end; function++) {
		if (!is_counted(function) || (function->hook != ADA_PLAN_NONE) != hooked)
			continue;
		ada_output_string(output, separator);
		put_function_json(output, plan, function);
		separator = ",\n  ";
	}
	ada_output_string(output, "]");
}

static void put_number(struct ada_output *output, const char *before, uint64_t number)
{
	ada_output_string(output, before);
	ada_output_u64(output, number);
}

static void print_json(struct ada_output *output, const struct ada_plan *plan, const char *path, const struct counts *counts, bool all)
{
	const char *separator = "";
	char text[32];

	ada_output_string(output, "{\"program\": ");
	ada_output_json(output, path);
	put_number(output, ",\n \"functions\": ", counts->functions);
	put_number(output, ",\n \"hooked\": ", counts->hooked);
	snprintf(text, sizeof text, "%.2f", percent(counts));
	ada_output_string(output, ",\n \"percent\": ");
	ada_output_string(output, text);
	put_number(output, ",\n \"imports\": ", counts->imports);
	put_number(output, ",\n \"importsHooked\": ", counts->imports_hooked);
	put_number(output, ",\n \"directCalls\": ", counts->calls);
	ada_output_string(output, ",\n \"reasons\": {");
	for (unsigned i = 1; i < ADA_REFUSAL_COUNT; i++) {
		if (!counts->refused[i])
			continue;
		ada_output_string(output, separator);
		ada_output_json(output, ada_refusal_key(i));
		put_number(output, ": ", counts->refused[i]);
		separator = ", ";
	}
	ada_output_string(output, "}");
	put_list_json(output, plan, false);
	if (all)
		put_list_json(output, plan, true);
	ada_output_string(output, "}\n");
}

static void print_text(struct ada_output *output, const struct ada_plan *plan, const char *path, const struct counts *counts, bool all)
{
	const struct ada_plan_function *function = ada_plan_functions(plan), *end = function + ada_plan_header(plan)->function_count;
	char text[128];

	ada_output_text(output, path);
	snprintf(text, sizeof text, ": %llu of %llu functions hooked (%.2f %%)", (unsigned long long)counts->hooked,
		 (unsigned long long)counts->functions, percent(counts));
	ada_output_string(output, text);
	snprintf(text, sizeof text, ", calls through %llu of %llu imports, %llu direct calls\n", (unsigned long long)counts->imports_hooked,
		 (unsigned long long)counts->imports, (unsigned long long)counts->calls);
	ada_output_string(output, text);
	for (unsigned i = 1; i < ADA_REFUSAL_COUNT; i++)
		if (counts->refused[i]) {
			snprintf(text, sizeof text, "  %-15s %6llu  %s\n", ada_refusal_key(i), (unsigned long long)counts->refused[i],
				 ada_refusal_text(i));
			ada_output_string(output, text);
		}
	if (counts->functions > counts->hooked || all)
		ada_output_string(output, "\n");
	for (; function < end; function++) {
		bool hooked = function->hook != ADA_PLAN_NONE;

		if (!is_counted(function) || (hooked && !all))
			continue;
		snprintf(text, sizeof text, "%-15s %12llx  ", hooked ? "hooked" : ada_refusal_key(function->refusal),
			 (unsigned long long)function->address);
		ada_output_string(output, text);
		put_name(output, plan, function, false);
		ada_output_string(output, "\n");
	}
}

int ada_cmd_functions(int argc, char **argv)
{
	static struct ada_output output;
	struct ada_options options = {};
	struct ada_error error = { 0 };
	struct counts counts = { 0 };
	struct ada_plan *plan;
	char found[4096];
	const char *path;
	int result;

	ada_options_take(&options, &usage, argc, argv);
	path = ada_options_word(&options);
	ada_options_end(&options);
	if (!path)
		ada_options_fail(argv[0], "which PROGRAM? Such as `ada functions /bin/ls`");
	path = find_program(path, found, sizeof found);
	result = open_plan(&plan, path, options.int3, &error);
	if (result) {
		fprintf(stderr, "%s: %s\n", argv[0], error.text);
		return ADA_EXIT_FAILED;
	}
	count(plan, &counts);
	ada_output_open(&output, STDOUT_FILENO);
	(options.json ? print_json : print_text)(&output, plan, path, &counts, options.all);
	ada_plan_close(plan);
	return ada_output_finish(&output, argv[0]);
}

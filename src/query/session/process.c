/* One process of a session: its manifest, and the modules that it loaded. */
#include "query/session/process.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "abi/record.h"
#include "base/file.h"
#include "query/session/ahead.h"
#include "query/session/threads.h"
#include "query/session/windows.h"

/* --- modules ---------------------------------------------------------------------------------------------------------- */

static struct ada_module *find_module(const struct ada_session *session, const char *path, const char *build_id)
{
	for (size_t i = 0; i < session->modules.count; i++)
		if (!strcmp(session->modules.items[i]->path, path) && !strcmp(session->modules.items[i]->build_id, build_id))
			return session->modules.items[i];
	return NULL;
}

static int add_module(struct ada_process *process, uint64_t id, const char *path, const char *build_id, const char *table)
{
	struct ada_session *session = process->session;
	struct ada_module *module = find_module(session, path, build_id);
	int result = 0;

	if (id >= 1u << 20) {
		ada_session_problem(session, "%s: module number %llu is out of range", process->directory, (unsigned long long)id);
		return 0;
	}
	if (!module) {
		module = ada_module_new(path, build_id, table);
		if (!module)
			return -ENOMEM;
		module->number = session->modules.count;
		result = ada_array_push(&session->modules, module);
		if (result) {
			ada_module_free(module);
			return result;
		}
	} else if (!module->table_path && table) {
		module->table_path = strdup(table);
	}
	while (!result && process->modules.count <= id)
		result = ada_array_push(&process->modules, NULL);
	if (!result)
		process->modules.items[id] = module;
	return result;
}

static int add_manifest_modules(struct ada_process *process)
{
	const json_object *modules = ada_json_get(process->manifest, "modules");
	char table[PATH_MAX];
	int result = 0;

	for (size_t i = 0; i < ada_json_length(modules) && !result; i++) {
		const json_object *module = json_object_array_get_idx(modules, i);
		const char *symbols = ada_json_text(module, "symbols", NULL), *path = ada_json_text(module, "path", NULL);

		if (!path)
			continue;
		/* Only what lies below the process's own directory is read, whatever a manifest says. */
		if (symbols && (strstr(symbols, "..") || ada_path(table, "%s/%s", process->path, symbols)))
			symbols = NULL;
		result = add_module(process, ada_json_u64(module, "id", i), path, ada_json_text(module, "buildId", ""),
				    symbols ? table : NULL);
	}
	return result;
}

/* Adds tables that the manifest doesn't mention: there may be no manifest, or an older one that knows of a module, but not yet of its
 * table. */
static int add_module_file(struct ada_process *process, const char *name)
{
	char table[PATH_MAX], *path, *build_id, *end;
	struct ada_error error = {};
	unsigned long id = strtoul(name, &end, 10);
	int result;

	if (end == name || strcmp(end, ".tsv") ||
	    (id < process->modules.count && process->modules.items[id] && process->modules.items[id]->table_path))
		return 0;
	if (ada_path(table, "%s/modules/%s", process->path, name))
		return 0;
	result = ada_module_head(table, &path, &build_id, &error);
	if (result) {
		ada_session_problem(process->session, "%s", error.text);
		result = 0;
	} else {
		result = add_module(process, id, path, build_id, table);
	}
	free(path);
	free(build_id);
	return result;
}

static int add_module_files(struct ada_process *process)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int result = 0;
	DIR *directory;

	if (ada_path(path, "%s/modules", process->path))
		return 0;
	directory = opendir(path);
	if (!directory)
		return 0;
	while (!result && (entry = readdir(directory)))
		result = add_module_file(process, entry->d_name);
	closedir(directory);
	return result;
}

struct ada_module *ada_process_module(const struct ada_process *process, uint64_t function_id)
{
	uint32_t id = ADA_FUNCTION_MODULE(function_id);

	return id < process->modules.count ? process->modules.items[id] : NULL;
}

bool ada_process_traces(const struct ada_process *process, uint64_t function_id)
{
	const json_object *modules = ada_json_get(process->manifest, "modules");
	uint32_t id = ADA_FUNCTION_MODULE(function_id);

	return id < ada_json_length(modules) && ada_json_bool(json_object_array_get_idx(modules, id), "traced", false);
}

static const struct ada_symbol *symbol_at(const struct ada_module *module, uint64_t offset)
{
	for (uint32_t i = 0; i < module->symbol_count; i++)
		if (offset >= module->symbols[i].address && offset - module->symbols[i].address < module->symbols[i].size)
			return &module->symbols[i];
	return NULL;
}

bool ada_process_function_at(const struct ada_process *process, uint64_t address, uint64_t *function_id, uint64_t *offset)
{
	const json_object *modules = ada_json_get(process->manifest, "modules");

	for (size_t i = 0; i < ada_json_length(modules); i++) {
		const json_object *entry = json_object_array_get_idx(modules, i);
		uint64_t base = strtoull(ada_json_text(entry, "base", "0x0"), NULL, 16), id = ada_json_u64(entry, "id", i);
		const struct ada_symbol *symbol;
		struct ada_module *module;

		if (id >= process->modules.count || !(module = process->modules.items[id]) || address < base || ada_module_load(module))
			continue;
		symbol = symbol_at(module, address - base);
		if (!symbol)
			continue;
		*function_id = ADA_FUNCTION_ID(id, symbol - module->symbols);
		*offset = address - base;
		return true;
	}
	return false;
}

uint64_t ada_process_function_key(const struct ada_process *process, uint64_t function_id)
{
	const struct ada_module *module = ada_process_module(process, function_id);
	uint64_t number = module ? module->number : process->session->modules.count + ADA_FUNCTION_MODULE(function_id);

	return number << 32 | ADA_FUNCTION_SYMBOL(function_id);
}

/* --- processes -------------------------------------------------------------------------------------------------------- */

/* The manifest's text, which the caller frees; NULL: there is none yet, or, and this is a problem, it can't be read. */
static char *read_manifest(struct ada_process *process, const char *path)
{
	struct ada_error error = {};
	size_t length;
	char *text = NULL;

	if (access(path, F_OK)) {
		/* A process that has just begun has a directory first, then a manifest. */
		/* Its recorder holds the session's directory as long as it lives (atf/session/anchor.h). */
		if (!ada_file_is_held(process->session->path, O_DIRECTORY))
			ada_session_problem(process->session, "%s: manifest.json is missing", process->directory);
	} else if (ada_file_read_regular(path, &text, &length, &error))
		ada_session_problem(process->session, "%s", error.text);
	return text;
}

static void parse_manifest(struct ada_process *process, const char *text, const char *path)
{
	struct ada_error error = {};

	if (text && ada_json_parse(&process->manifest, text, path, &error))
		ada_session_problem(process->session, "%s", error.text);
	process->detail_lost = ada_json_u64(ada_json_get(process->manifest, "detail_lane"), "lost", 0);
	process->finalized = ada_json_bool(process->manifest, "finalized", false);
	process->complete = process->finalized &&
			    !strcmp(ada_json_text(ada_json_get(process->manifest, "recording"), "state", ""), "complete");
}

void ada_process_free(struct ada_process *process)
{
	json_object_put(process->manifest);
	ada_mutes_free(&process->mutes);
	ada_array_free(&process->modules);
	free(process->directory);
	free(process->path);
	free(process);
}

/* Reads the manifest before the files: where the process goes on, the files then have all that the manifest speaks of. */
static int add_parts(struct ada_process *process)
{
	struct ada_thread_numbers found = {};
	struct ada_ahead *ahead = NULL;
	char manifest[PATH_MAX], *text = NULL;
	int result;

	if (!ada_path(manifest, "%s/manifest.json", process->path))
		text = read_manifest(process, manifest);
	result = ada_threads_list(&found, process->path);
	if (!result)
		ahead = ada_ahead_start(process->path, found.items, found.count, text);
	parse_manifest(process, text, manifest);
	free(text);
	process->pid = ada_json_u64(process->manifest, "pid", process->pid);
	if (!result)
		result = ada_mutes_read(process);
	if (!result)
		result = add_manifest_modules(process);
	if (!result)
		result = add_module_files(process);
	if (!result)
		result = ada_threads_add(process, &found, ahead);
	if (!result)
		ada_threads_name_live(process);
	ada_ahead_end(ahead);
	ada_array_free(&found);
	return result ? result : ada_windows_add(process);
}

int ada_process_add(struct ada_session *session, const char *path, const char *directory)
{
	struct ada_process *process = calloc(1, sizeof *process);
	int result;

	if (!process)
		return -ENOMEM;
	process->session = session;
	process->directory = strdup(directory);
	process->path = strdup(path);
	result = process->directory && process->path ? ada_array_push(&session->processes, process) : -ENOMEM;
	if (result) {
		ada_process_free(process);
		return result;
	}
	ada_directory_number(directory, "pid_", &process->pid);
	return add_parts(process);
}

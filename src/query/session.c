/* Opening a session: which directories there are, what session.json and the manifests say of them, and the event files. */
#include "query/session.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "abi/record.h"
#include "base/file.h"

#define LATEST "ada_traces/latest"

void ada_session_problem(struct ada_session *session, const char *format, ...)
{
	va_list arguments;
	char *line;

	va_start(arguments, format);
	if (vasprintf(&line, format, arguments) >= 0 && ada_array_push(&session->problems, line))
		free(line);
	va_end(arguments);
}

bool ada_directory_number(const char *name, const char *prefix, uint32_t *number)
{
	size_t length = strlen(prefix);
	uint64_t value = 0;

	if (strncmp(name, prefix, length) || name[length] < '0' || name[length] > '9')
		return false;
	for (name += length; *name >= '0' && *name <= '9' && value <= UINT32_MAX; name++)
		value = value * 10 + (*name - '0');
	*number = value;
	return value <= UINT32_MAX && (!*name || *name == '_');
}

static bool path_exists(const char *directory, const char *name)
{
	char path[PATH_MAX];

	return !ada_path(path, "%s/%s", directory, name) && !access(path, F_OK);
}

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
		result = add_module(process, ada_json_u64(module, "id", i), path, ada_json_text(module, "buildId", ""), symbols ? table : NULL);
	}
	return result;
}

/* Tables that the manifest doesn't mention, because there is none or it is older. */
static int add_module_file(struct ada_process *process, const char *name)
{
	char table[PATH_MAX], *path, *build_id, *end;
	struct ada_error error = {};
	unsigned long id = strtoul(name, &end, 10);
	int result;

	if (end == name || strcmp(end, ".tsv") || (id < process->modules.count && process->modules.items[id]))
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

uint64_t ada_process_function_key(const struct ada_process *process, uint64_t function_id)
{
	const struct ada_module *module = ada_process_module(process, function_id);
	uint64_t number = module ? module->number : process->session->modules.count + ADA_FUNCTION_MODULE(function_id);

	return number << 32 | ADA_FUNCTION_SYMBOL(function_id);
}

/* --- threads ---------------------------------------------------------------------------------------------------------- */

static const json_object *find_manifest_thread(const struct ada_process *process, uint32_t number)
{
	const json_object *threads = ada_json_get(process->manifest, "threads");
	size_t count = ada_json_length(threads);

	/* threads[i].id is i, unless someone wrote it otherwise. */
	if (number < count && ada_json_u64(json_object_array_get_idx(threads, number), "id", UINT64_MAX) == number)
		return json_object_array_get_idx(threads, number);
	for (size_t i = 0; i < count; i++)
		if (ada_json_u64(json_object_array_get_idx(threads, i), "id", UINT64_MAX) == number)
			return json_object_array_get_idx(threads, i);
	return NULL;
}

static void open_events(struct ada_thread *thread, bool expected)
{
	struct ada_process *process = thread->process;
	struct atf_message message = {};
	char path[PATH_MAX], index[PATH_MAX];
	int result;

	if (ada_path(path, "%s/thread_%u", process->path, thread->number) || ada_path(index, "%s/index.atf", path))
		return;
	if (access(index, F_OK)) {
		if (expected)
			ada_session_problem(process->session, "%s/thread_%u: index.atf is missing", process->directory,
					    thread->number);
		return;
	}
	result = atf_thread_open(&thread->events, path, &message);
	if (result) {
		thread->events = NULL;
		ada_session_problem(process->session, "%s/thread_%u: %s", process->directory, thread->number,
				    *message.text ? message.text : atf_error_text(result));
		return;
	}
	for (uint32_t i = 0; i < atf_thread_segments(thread->events); i++)
		if (atf_index_completeness(atf_thread_segment(thread->events, i)) == ATF_DAMAGED) {
			ada_session_problem(process->session, "%s", message.text);
			break;
		}
	thread->count = atf_thread_count(thread->events);
	if (!thread->tid)
		thread->tid = atf_index_header(atf_thread_segment(thread->events, 0))->thread_id;
}

static int add_thread(struct ada_process *process, uint32_t number)
{
	const json_object *entry = find_manifest_thread(process, number);
	struct ada_thread thread = {
		.process = process,
		.number = number,
		.tid = ada_json_u64(entry, "tid", 0),
		.lost = ada_json_u64(entry, "lost", 0),
		.skipped = ada_json_u64(entry, "skipped", 0),
	};
	int result;

	snprintf(thread.name, sizeof thread.name, "%s", ada_json_text(entry, "name", ""));
	open_events(&thread, ada_json_u64(entry, "events", 0) > 0);
	result = ada_array_push(&process->session->threads, thread);
	if (result)
		atf_thread_close(thread.events);
	return result;
}

static int compare_numbers(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

/* Those of the manifest, and the directories that it doesn't mention (yet). */
static int add_threads(struct ada_process *process)
{
	const json_object *threads = ada_json_get(process->manifest, "threads");
	ADA_ARRAY(uint32_t) numbers = {};
	DIR *directory = opendir(process->path);
	struct dirent *entry;
	uint32_t number;
	int result = 0;

	for (size_t i = 0; i < ada_json_length(threads) && !result; i++)
		result = ada_array_push(&numbers, ada_json_u64(json_object_array_get_idx(threads, i), "id", i));
	while (directory && !result && (entry = readdir(directory)))
		if (ada_directory_number(entry->d_name, "thread_", &number))
			result = ada_array_push(&numbers, number);
	if (numbers.count)
		qsort(numbers.items, numbers.count, sizeof *numbers.items, compare_numbers);
	process->first_thread = process->session->threads.count;
	for (size_t i = 0; i < numbers.count && !result; i++)
		if (!i || numbers.items[i] != numbers.items[i - 1])
			result = add_thread(process, numbers.items[i]);
	process->thread_count = process->session->threads.count - process->first_thread;
	if (directory)
		closedir(directory);
	ada_array_free(&numbers);
	return result;
}

/* --- processes -------------------------------------------------------------------------------------------------------- */

static void read_manifest(struct ada_process *process)
{
	struct ada_error error = {};
	char path[PATH_MAX];

	if (ada_path(path, "%s/manifest.json", process->path))
		return;
	if (access(path, F_OK))
		ada_session_problem(process->session, "%s: manifest.json is missing", process->directory);
	else if (ada_json_read(&process->manifest, path, &error))
		ada_session_problem(process->session, "%s", error.text);
	process->finalized = ada_json_bool(process->manifest, "finalized", false);
	process->complete = process->finalized &&
			    !strcmp(ada_json_text(ada_json_get(process->manifest, "recording"), "state", ""), "complete");
}

static void free_process(struct ada_process *process)
{
	json_object_put(process->manifest);
	ada_array_free(&process->modules);
	free(process->directory);
	free(process->path);
	free(process);
}

static int add_process(struct ada_session *session, const char *path, const char *directory)
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
		free_process(process);
		return result;
	}
	read_manifest(process);
	ada_directory_number(directory, "pid_", &process->pid);
	process->pid = ada_json_u64(process->manifest, "pid", process->pid);
	result = add_manifest_modules(process);
	if (!result)
		result = add_module_files(process);
	if (!result)
		result = add_threads(process);
	return result;
}

static int compare_names(const void *left, const void *right)
{
	return strverscmp(*(char *const *)left, *(char *const *)right);
}

/* Those that session.json lists, in its order, then the other pid directories in the order of their names. */
static int add_processes(struct ada_session *session)
{
	const json_object *listed = ada_json_get(session->document, "processes");
	ADA_ARRAY(char *) names = {};
	size_t in_order = ada_json_length(listed);
	DIR *directory = opendir(session->path);
	struct dirent *entry;
	char path[PATH_MAX];
	uint32_t number;
	int result = 0;

	for (size_t i = 0; i < in_order && !result; i++)
		result = ada_array_push(&names, strdup(ada_json_text(json_object_array_get_idx(listed, i), "directory", "")));
	while (directory && !result && (entry = readdir(directory)))
		if (ada_directory_number(entry->d_name, "pid_", &number))
			result = ada_array_push(&names, strdup(entry->d_name));
	if (!result && names.count > in_order)
		qsort(names.items + in_order, names.count - in_order, sizeof *names.items, compare_names);
	for (size_t i = 0; i < names.count && !result; i++) {
		bool seen = false;

		for (size_t j = 0; j < session->processes.count; j++)
			seen |= !strcmp(session->processes.items[j]->directory, names.items[i]);
		if (seen || !ada_directory_number(names.items[i], "pid_", &number))
			continue;
		if (!path_exists(session->path, names.items[i]))
			ada_session_problem(session, "%s is missing", names.items[i]);
		else if (!ada_path(path, "%s/%s", session->path, names.items[i]))
			result = add_process(session, path, names.items[i]);
	}
	for (size_t i = 0; i < names.count; i++)
		free(names.items[i]);
	ada_array_free(&names);
	if (directory)
		closedir(directory);
	return result;
}

/* --- session ---------------------------------------------------------------------------------------------------------- */

static bool holds_directory(const char *path, const char *prefix)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	bool found = false;
	uint32_t number;

	while (directory && !found && (entry = readdir(directory)))
		found = ada_directory_number(entry->d_name, prefix, &number);
	if (directory)
		closedir(directory);
	return found;
}

static void read_document(struct ada_session *session, const char *directory)
{
	struct ada_error error = {};
	char path[PATH_MAX];

	if (ada_path(path, "%s/session.json", directory) || access(path, F_OK))
		return;
	if (ada_json_read(&session->document, path, &error))
		ada_session_problem(session, "%s", error.text);
}

/* When session.json doesn't say: the first event is where time begins. */
static uint64_t first_event_ns(const struct ada_session *session)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < session->threads.count; i++)
		if (session->threads.items[i].count) {
			uint64_t ns = atf_thread_get(session->threads.items[i].events, 0)->timestamp_ns;

			first = ns < first ? ns : first;
		}
	return first == UINT64_MAX ? 0 : first;
}

static int open_directory(struct ada_session *session, const char *given, struct ada_error *error)
{
	bool is_process = path_exists(session->path, "manifest.json") || holds_directory(session->path, "thread_");
	char parent[PATH_MAX], *slash;
	int result;

	if (is_process) {
		ada_path(parent, "%s", session->path);
		slash = strrchr(parent, '/');
		if (slash && slash != parent)
			*slash = 0;
		read_document(session, parent);
		result = add_process(session, session->path, slash ? slash + 1 : session->path);
	} else if (path_exists(session->path, "session.json") || holds_directory(session->path, "pid_")) {
		read_document(session, session->path);
		result = add_processes(session);
	} else {
		return ada_error_set(error, EBADMSG, "%s is no session: it holds neither session.json nor manifest.json", given);
	}
	return result ? ada_error_system(error, -result, "%s", given) : 0;
}

int ada_session_open(struct ada_session **opened, const char *path, struct ada_error *error)
{
	const char *given = path ? path : LATEST;
	struct ada_session *session;
	struct stat status;
	int result;

	if (stat(given, &status) && errno == ENOENT)
		return path ? ada_error_set(error, ENOENT, "%s: no such session directory", given) :
			      ada_error_set(error, ENOENT, "no session in ./" LATEST ": name a session directory, or record one"
					    " with `ada trace PROGRAM`");
	if (stat(given, &status))
		return ada_error_system(error, errno, "%s", given);
	if (!S_ISDIR(status.st_mode))
		return ada_error_set(error, ENOTDIR, "%s is no session: it is a file, and a session is a directory", given);
	if (access(given, R_OK | X_OK))
		return ada_error_system(error, errno, "%s", given);
	session = calloc(1, sizeof *session);
	if (!session)
		return ada_error_system(error, ENOMEM, "%s", given);
	session->path = realpath(given, NULL);
	result = session->path ? open_directory(session, given, error) : ada_error_system(error, errno, "%s", given);
	if (result) {
		ada_session_close(session);
		return result;
	}
	session->start_ns = ada_json_u64(session->document, "startNs", 0);
	if (!session->start_ns)
		session->start_ns = first_event_ns(session);
	*opened = session;
	return 0;
}

void ada_session_close(struct ada_session *session)
{
	if (!session)
		return;
	for (size_t i = 0; i < session->threads.count; i++)
		atf_thread_close(session->threads.items[i].events);
	for (size_t i = 0; i < session->processes.count; i++)
		free_process(session->processes.items[i]);
	for (size_t i = 0; i < session->modules.count; i++)
		ada_module_free(session->modules.items[i]);
	for (size_t i = 0; i < session->problems.count; i++)
		free(session->problems.items[i]);
	ada_array_free(&session->threads);
	ada_array_free(&session->processes);
	ada_array_free(&session->modules);
	ada_array_free(&session->problems);
	json_object_put(session->document);
	free(session->path);
	free(session);
}

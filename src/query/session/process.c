/* One process of a session: its manifest, the modules that it loaded, its threads and their events. */
#include "query/session/process.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include "abi/record.h"
#include "atf/session/thread.h"
#include "base/file.h"
#include "query/session/ahead.h"
#include "query/session/live_open.h"
#include "query/session/windows.h"

#define OPENERS_MAX 8
#define FLOORS_MIN (8 * ADA_FLOOR_EVENTS) /* of fewer events nobody keeps how deep they lie */
#define OPENINGS_EACH 32		  /* threads, or it is not worth another opener */

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

uint64_t ada_process_function_key(const struct ada_process *process, uint64_t function_id)
{
	const struct ada_module *module = ada_process_module(process, function_id);
	uint64_t number = module ? module->number : process->session->modules.count + ADA_FUNCTION_MODULE(function_id);

	return number << 32 | ADA_FUNCTION_SYMBOL(function_id);
}

/* --- threads ---------------------------------------------------------------------------------------------------------- */

struct numbers { /* of threads */
	uint32_t *items;
	size_t count, capacity;
};

struct mention { /* of a thread: in the manifest, or by a directory */
	uint32_t number;
	const json_object *entry; /* NULL: none names that number */
	size_t position;	  /* in the manifest */
};

struct opening { /* of a thread's files */
	struct ada_thread *thread;
	bool expected, missing;
	uint32_t segments; /* that a finalized manifest lists; 0: it does not say */
	int result;
	struct atf_message message;
};

struct openings {
	struct opening *items;
	size_t count;
	atomic_size_t next;
};

static void open_events(struct opening *opening)
{
	struct ada_thread *thread = opening->thread;
	char path[PATH_MAX], index[PATH_MAX];
	struct stat status;

	if (thread->events)
		return;
	opening->missing = true;
	if (ada_path(path, "%s/thread_%u", thread->process->path, thread->number) || atf_index_find(index, sizeof index, path, 0))
		return;
	if (!opening->segments && !ada_live_open(&thread->events, path, &opening->message)) {
		opening->missing = false;
		return;
	}
	/* An empty file was made and not yet written. */
	if (!opening->segments && (stat(index, &status) ? errno == ENOENT : S_ISREG(status.st_mode) && !status.st_size))
		return;
	opening->result = atf_thread_open_known(&thread->events, path, opening->segments, &opening->message);
	opening->missing = opening->result && access(index, F_OK);
}

static void *open_some(void *context)
{
	struct openings *openings = context;
	size_t number;

	while ((number = atomic_fetch_add(&openings->next, 1)) < openings->count)
		open_events(&openings->items[number]);
	return NULL;
}

/* A thousand threads take the kernel some time: many threads' files are opened side by side. */
static void open_all(struct openings *openings)
{
	pthread_t helpers[OPENERS_MAX - 1];
	size_t wanted = 0, count = 0;

	for (size_t i = 0; i < openings->count; i++)
		wanted += !openings->items[i].thread->events;
	wanted /= OPENINGS_EACH;
	if (wanted > 1 && wanted > (size_t)get_nprocs())
		wanted = get_nprocs();
	while (count + 1 < wanted && count < OPENERS_MAX - 1 && !pthread_create(&helpers[count], NULL, open_some, openings))
		count++;
	open_some(openings);
	while (count)
		pthread_join(helpers[--count], NULL);
}

static void settle_opening(struct opening *opening)
{
	struct ada_thread *thread = opening->thread;
	struct ada_process *process = thread->process;
	const char *text = opening->message.text;

	if (opening->missing) {
		if (opening->expected)
			ada_session_problem(process->session, "%s/thread_%u: index.atf is missing", process->directory, thread->number);
		return;
	}
	if (opening->result) {
		thread->events = NULL;
		ada_session_problem(process->session, "%s/thread_%u: %s", process->directory, thread->number,
				    *text ? text : atf_error_text(opening->result));
		return;
	}
	if (atf_thread_is_cut(thread->events))
		ada_session_problem(process->session, "%s", text);
	else if (opening->segments > atf_thread_segments(thread->events))
		ada_session_problem(process->session, "%s/thread_%u: only %u of its %u index files are there", process->directory,
				    thread->number, atf_thread_segments(thread->events), opening->segments);
	for (uint32_t i = 0; i < atf_thread_segments(thread->events); i++)
		if (atf_index_completeness(atf_thread_segment(thread->events, i)) == ATF_DAMAGED) {
			ada_session_problem(process->session, "%s", text);
			break;
		}
	if (atf_thread_first_segment(thread->events) && !atf_thread_totals(thread->events))
		ada_session_problem(process->session,
				    "%s/thread_%u: its first segments went, and what they added up to, totals, is damaged",
				    process->directory, thread->number);
	thread->count = atf_thread_count(thread->events);
	if (thread->count >= FLOORS_MIN) /* without memory everything is read */
		thread->floors = calloc(thread->count / ADA_FLOOR_EVENTS, sizeof *thread->floors);
	if (!thread->tid)
		thread->tid = atf_index_header(atf_thread_segment(thread->events, atf_thread_first_segment(thread->events)))->thread_id;
}

/* Opens the files of the process's threads, and tells what is wrong with them in the threads' order. `ahead`: has some of them, or
 * NULL. */
static int open_threads(struct ada_process *process, struct ada_ahead *ahead)
{
	struct ada_thread *threads = process->session->threads.items + process->first_thread;
	struct openings openings = { .items = calloc(process->thread_count + 1, sizeof *openings.items), .count = process->thread_count };

	if (!openings.items)
		return -ENOMEM;
	for (size_t i = 0; i < openings.count; i++) {
		openings.items[i].thread = &threads[i];
		openings.items[i].expected = ada_json_u64(threads[i].entry, "events", 0) > 0;
		if (process->finalized)
			openings.items[i].segments = (uint32_t)ada_json_u64(threads[i].entry, "firstSegment", 0) +
						     (uint32_t)ada_json_length(ada_json_get(threads[i].entry, "segments"));
		if (ahead)
			threads[i].events = ada_ahead_take(ahead, threads[i].number, openings.items[i].segments,
							   &openings.items[i].message);
	}
	open_all(&openings);
	for (size_t i = 0; i < openings.count; i++)
		settle_opening(&openings.items[i]);
	free(openings.items);
	return 0;
}

static int add_thread(struct ada_process *process, uint32_t number, const json_object *entry)
{
	struct ada_thread thread = {
		.process = process,
		.number = number,
		.entry = entry,
		.tid = ada_json_u64(entry, "tid", 0),
		.lost = ada_json_u64(entry, "lost", 0),
		.overwritten = ada_json_u64(entry, "overwritten", 0),
		.skipped = ada_json_u64(entry, "skipped", 0),
	};

	snprintf(thread.name, sizeof thread.name, "%s", ada_json_text(entry, "name", ""));
	return ada_array_push(&process->session->threads, thread);
}

static int compare_numbers(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

/* The directories that there are, by number. */
static int list_threads(struct numbers *found, const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	uint32_t number;
	int result = 0;

	while (directory && !result && (entry = readdir(directory)))
		if (ada_directory_number(entry->d_name, "thread_", &number))
			result = ada_array_push(found, number);
	if (directory)
		closedir(directory);
	if (found->count)
		qsort(found->items, found->count, sizeof *found->items, compare_numbers);
	return result;
}

/* By number; of one number, in the manifest's order. */
static int compare_mentions(const void *left, const void *right)
{
	const struct mention *a = left, *b = right;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (!a->entry != !b->entry)
		return a->entry ? -1 : 1;
	return a->position < b->position ? -1 : a->position > b->position;
}

/* Adds the manifest's threads, and those found that it doesn't mention (yet). */
static int add_threads(struct ada_process *process, const struct numbers *found, struct ada_ahead *ahead)
{
	const json_object *threads = ada_json_get(process->manifest, "threads");
	ADA_ARRAY(struct mention) mentions = {};
	int result = 0;

	for (size_t i = 0; i < ada_json_length(threads) && !result; i++) {
		const json_object *entry = json_object_array_get_idx(threads, i);
		uint32_t number = ada_json_u64(entry, "id", i);
		bool named = ada_json_u64(entry, "id", UINT64_MAX) == number;

		result = ada_array_push(&mentions, (struct mention){ number, named ? entry : NULL, i });
	}
	for (size_t i = 0; i < found->count && !result; i++)
		result = ada_array_push(&mentions, (struct mention){ found->items[i], NULL, SIZE_MAX });
	if (mentions.count)
		qsort(mentions.items, mentions.count, sizeof *mentions.items, compare_mentions);
	process->first_thread = process->session->threads.count;
	for (size_t i = 0; i < mentions.count && !result; i++)
		if (!i || mentions.items[i].number != mentions.items[i - 1].number)
			result = add_thread(process, mentions.items[i].number, mentions.items[i].entry);
	process->thread_count = process->session->threads.count - process->first_thread;
	if (ahead)
		ada_ahead_wait(ahead);
	if (!result)
		result = open_threads(process, ahead);
	ada_array_free(&mentions);
	return result;
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
	process->finalized = ada_json_bool(process->manifest, "finalized", false);
	process->complete = process->finalized &&
			    !strcmp(ada_json_text(ada_json_get(process->manifest, "recording"), "state", ""), "complete");
}

void ada_process_free(struct ada_process *process)
{
	json_object_put(process->manifest);
	ada_array_free(&process->modules);
	free(process->directory);
	free(process->path);
	free(process);
}

/* The manifest has the names of a process's threads from its end on: until then the system knows those that run. */
static void name_live_threads(struct ada_process *process)
{
	struct ada_thread *threads = process->session->threads.items + process->first_thread;
	char path[64];
	size_t at = 0;
	FILE *file;

	while (at < process->thread_count && *threads[at].name)
		at++;
	if (at == process->thread_count || !ada_process_is_live(process))
		return;
	for (; at < process->thread_count; at++) {
		snprintf(path, sizeof path, "/proc/%u/task/%u/comm", process->pid, threads[at].tid);
		file = *threads[at].name ? NULL : fopen(path, "re");
		if (!file)
			continue;
		if (fgets(threads[at].name, sizeof threads[at].name, file))
			threads[at].name[strcspn(threads[at].name, "\n")] = 0;
		fclose(file);
	}
}

/* Reads the manifest before the files: where the process goes on, the files then have all that the manifest speaks of. */
static int add_parts(struct ada_process *process)
{
	struct numbers found = {};
	struct ada_ahead *ahead = NULL;
	char manifest[PATH_MAX], *text = NULL;
	int result;

	if (!ada_path(manifest, "%s/manifest.json", process->path))
		text = read_manifest(process, manifest);
	result = list_threads(&found, process->path);
	if (!result)
		ahead = ada_ahead_start(process->path, found.items, found.count, text);
	parse_manifest(process, text, manifest);
	free(text);
	process->pid = ada_json_u64(process->manifest, "pid", process->pid);
	if (!result)
		result = add_manifest_modules(process);
	if (!result)
		result = add_module_files(process);
	if (!result)
		result = add_threads(process, &found, ahead);
	if (!result)
		name_live_threads(process);
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

/* Opening a session: which process directories there are, and what session.json says. Each process: process.c. */
#include "query/session/session.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "query/session/none.h"
#include "query/session/process.h"
#include "query/session/sched.h"

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
	if (value > UINT32_MAX)
		return false;
	/* Allows the image's number, where a process has several, and nothing else, for this becomes part of a path. */
	return !*name || (*name == '_' && name[1] && !name[1 + strspn(name + 1, "0123456789")]);
}

static bool path_exists(const char *directory, const char *name)
{
	char path[PATH_MAX];

	return !ada_path(path, "%s/%s", directory, name) && !access(path, F_OK);
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
			result = ada_process_add(session, path, names.items[i]);
	}
	for (size_t i = 0; i < names.count; i++)
		free(names.items[i]);
	ada_array_free(&names);
	if (directory)
		closedir(directory);
	return result;
}

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
	struct atf_message message;
	char path[PATH_MAX];

	/* A session.json that leads nowhere (a link to itself) is a problem; a missing one is not. */
	if (ada_path(path, "%s/session.json", directory) || (access(path, F_OK) && errno == ENOENT))
		return;
	if (ada_json_read(&session->document, path, &error))
		ada_session_problem(session, "%s", error.text);
	else if (atf_session_anchors(directory, &session->anchors, &session->anchor_count, &message) || *message.text)
		ada_session_problem(session, "%s", message.text);
}

/* Where session.json doesn't say, time begins with the first event. */
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

const struct ada_thread *ada_process_thread(const struct ada_process *process, uint64_t number)
{
	const struct ada_thread *threads = process->session->threads.items + process->first_thread;
	uint64_t at = ada_first_not(i, 0, process->thread_count, threads[i].number < number);

	return at < process->thread_count && threads[at].number == number ? &threads[at] : NULL;
}

uint64_t ada_session_last_ns(const struct ada_session *session, size_t first, size_t count)
{
	uint64_t last = 0;

	for (size_t i = first; i < first + count; i++) {
		const struct ada_thread *thread = &session->threads.items[i];

		if (thread->count && atf_thread_get(thread->events, thread->count - 1)->timestamp_ns > last)
			last = atf_thread_get(thread->events, thread->count - 1)->timestamp_ns;
	}
	return last;
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
		result = ada_process_add(session, session->path, slash ? slash + 1 : session->path);
	} else if (path_exists(session->path, "session.json") || holds_directory(session->path, "pid_")) {
		read_document(session, session->path);
		result = add_processes(session);
	} else {
		return ada_session_none(given, error);
	}
	return result ? ada_error_system(error, -result, "%s", given) : 0;
}

static int cannot_read(const char *given, int code, struct ada_error *error)
{
	return code == EACCES ?
		       ada_error_set(error, EACCES, "%s: permission denied: only the user who recorded it, and root, may read it", given) :
		       ada_error_system(error, code, "%s", given);
}

int ada_session_open(struct ada_session **opened, const char *path, struct ada_error *error)
{
	const char *given = path ? path : LATEST;
	struct ada_session *session;
	struct stat status;
	int result;

	if (stat(given, &status) && errno == ENOENT)
		return path ? ada_error_set(error, ENOENT,
					    "%s: no such session directory: without a name it is ./" LATEST
					    ", and `ada trace PROGRAM` records one",
					    given) :
			      ada_error_set(error, ENOENT,
					    "no session in ./" LATEST ": name a session directory, or record one"
					    " with `ada trace PROGRAM`");
	if (stat(given, &status))
		return cannot_read(given, errno, error);
	if (!S_ISDIR(status.st_mode))
		return ada_error_set(error, ENOTDIR, "%s is no session: it is a file, and a session is a directory", given);
	if (access(given, R_OK | X_OK))
		return cannot_read(given, errno, error);
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
	session->page_fault_ns = ada_json_u64(ada_json_get(session->document, "host"), "pageFaultNs", 0);
	*opened = session;
	return 0;
}

static bool is_same_event(const struct ada_thread *one, const struct ada_thread *other, uint64_t position)
{
	const struct ada_event *event = atf_thread_get(one->events, position), again = *event;

	event = atf_thread_get(other->events, position);
	return !memcmp(event, &again, sizeof again);
}

/* Whether what one has is the other's beginning. Segments that have gone since move what follows. */
static bool is_beginning(const struct ada_thread *before, const struct ada_thread *thread)
{
	return before->number == thread->number && before->tid == thread->tid && before->floors && before->count <= thread->count &&
	       !strcmp(before->process->directory, thread->process->directory) && is_same_event(before, thread, 0) &&
	       is_same_event(before, thread, before->count - 1);
}

static void adopt_floors(struct ada_thread *thread, const struct ada_thread *before)
{
	for (uint64_t i = 0; i < before->count / ADA_FLOOR_EVENTS; i++) {
		uint32_t depth = atomic_load_explicit(&before->floors[i].depth, memory_order_acquire);

		for (size_t k = 0; depth && k < ADA_FLOOR_OBJECTS; k++)
			atomic_store_explicit(&thread->floors[i].objects[k],
					      atomic_load_explicit(&before->floors[i].objects[k], memory_order_relaxed),
					      memory_order_relaxed);
		if (depth)
			atomic_store_explicit(&thread->floors[i].depth, depth, memory_order_release);
	}
}

/* Both have most of their modules and threads in the same order. */
void ada_session_adopt(struct ada_session *session, struct ada_session *from)
{
	size_t known = from->threads.count;

	for (size_t i = 0; i < session->threads.count; i++)
		for (size_t j = 0; session->threads.items[i].floors && j < known; j++)
			if (is_beginning(&from->threads.items[(i + j) % known], &session->threads.items[i])) {
				adopt_floors(&session->threads.items[i], &from->threads.items[(i + j) % known]);
				break;
			}
	for (size_t i = 0; i < session->modules.count; i++)
		for (size_t j = 0; j < from->modules.count; j++)
			ada_module_adopt(session->modules.items[i], from->modules.items[(i + j) % from->modules.count]);
}

void ada_session_close(struct ada_session *session)
{
	if (!session)
		return;
	for (size_t i = 0; i < session->threads.count; i++) {
		atf_thread_close(session->threads.items[i].events);
		free(session->threads.items[i].floors);
	}
	for (size_t i = 0; i < session->processes.count; i++)
		ada_process_free(session->processes.items[i]);
	for (size_t i = 0; i < session->modules.count; i++)
		ada_module_free(session->modules.items[i]);
	for (size_t i = 0; i < session->problems.count; i++)
		free(session->problems.items[i]);
	ada_sched_view_close(session->sched);
	ada_array_free(&session->threads);
	ada_array_free(&session->windows);
	ada_array_free(&session->processes);
	ada_array_free(&session->modules);
	ada_array_free(&session->problems);
	json_object_put(session->document);
	free(session->anchors);
	free(session->path);
	free(session);
}

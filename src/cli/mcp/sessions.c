#include "cli/mcp/sessions.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "cli/ground/live.h"
#include "cli/ground/rows.h"
#include "query/session/session.h"

#define ASK_MS 1000 /* a recorder answers at once, or it is gone */

typedef ADA_ARRAY(char *) names;

static bool is_session(const char *root, const char *name)
{
	char path[PATH_MAX];
	struct stat status;

	/* A pipe in its place would hold up the whole list. */
	return !ada_path(path, "%s/%s/session.json", root, name) && !stat(path, &status) && S_ISREG(status.st_mode);
}

/* The newest first, as their names hold the time of their beginning and then a number. */
static int compare_newest(const void *left, const void *right)
{
	return strverscmp(*(const char *const *)right, *(const char *const *)left);
}

/* Lists the directories right below the root that are sessions, or the root itself, as ".". Links, such as `latest`, are not counted
 * again. */
static int list_names(const char *root, names *list)
{
	DIR *directory = opendir(root);
	struct dirent *entry;
	struct stat status;
	int result = 0;

	if (!directory)
		return errno == ENOENT ? 0 : -errno;
	if (is_session(root, "."))
		result = ada_array_push(list, strdup("."));
	while (!result && (entry = readdir(directory)))
		if (*entry->d_name != '.' && !fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) &&
		    S_ISDIR(status.st_mode) && is_session(root, entry->d_name))
			result = ada_array_push(list, strdup(entry->d_name));
	closedir(directory);
	if (list->count)
		qsort(list->items, list->count, sizeof *list->items, compare_newest);
	return result;
}

static void free_names(names *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	ada_array_free(list);
}

/* --- the one that is asked for ------------------------------------------------------------------------------------------ */

static int find_latest(const char *root, char name[NAME_MAX + 1], struct ada_error *error)
{
	names list = {};
	int result = 0;

	if (is_session(root, "latest")) {
		strcpy(name, "latest");
		return 0;
	}
	result = list_names(root, &list);
	if (!result && !list.count)
		result = ada_error_set(error, ENOENT, "there is no session in %s: record one with `ada trace PROGRAM`", root);
	else if (!result)
		snprintf(name, NAME_MAX + 1, "%s", list.items[0]);
	free_names(&list);
	return result ? ada_error_system(error, -result, "%s", root) : 0;
}

int ada_mcp_session_find(const char *root, const char *name, char path[PATH_MAX], struct ada_error *error)
{
	char latest[NAME_MAX + 1], joined[PATH_MAX];
	size_t length = strcmp(root, "/") ? strlen(root) : 0;
	int result;

	if (!name || !*name) {
		result = find_latest(root, latest, error);
		if (result)
			return result;
		name = latest;
	}
	if (*name == '/' ? ada_path(joined, "%s", name) : ada_path(joined, "%s/%s", root, name))
		return ada_error_set(error, ENAMETOOLONG, "the session's name is too long");
	/* A path outside gets the answer of a missing one: a client learns nothing of other directories. */
	if (!realpath(joined, path) || strncmp(path, root, length) || (path[length] && path[length] != '/'))
		return ada_error_set(error, ENOENT, "no session '%.200s' in %s: list_sessions names those that there are", name, root);
	return 0;
}

/* --- all of them -------------------------------------------------------------------------------------------------------- */

enum field { SESSION, PROGRAM, COMMAND, STARTED, DURATION, PROCESSES, THREADS, EVENTS, LOST, WINDOWS, STATE, PATH, FIELDS };

static const struct ada_column columns[FIELDS] = {
	[SESSION] = { "session", "SESSION", ADA_CELL_TEXT },
	[PROGRAM] = { "program", NULL, ADA_CELL_NAME },
	[COMMAND] = { "command", "COMMAND", ADA_CELL_NAME },
	[STARTED] = { "started", "STARTED", ADA_CELL_TEXT },
	[DURATION] = { "duration_ns", "DURATION", ADA_CELL_DURATION },
	[PROCESSES] = { "processes", "PROCESSES", ADA_CELL_NUMBER },
	[THREADS] = { "threads", "THREADS", ADA_CELL_NUMBER },
	[EVENTS] = { "events", "EVENTS", ADA_CELL_NUMBER },
	[LOST] = { "lost", "LOST", ADA_CELL_NUMBER },
	[WINDOWS] = { "windows", "WINDOWS", ADA_CELL_NUMBER },
	[STATE] = { "state", "STATE", ADA_CELL_TEXT },
	[PATH] = { "path", NULL, ADA_CELL_NAME },
};

static const char *state_of(const struct ada_session *session)
{
	struct ada_error error = {};
	json_object *answer = NULL;
	struct ada_live live = {};

	if (!session->document)
		return "damaged";
	if (ada_json_bool(session->document, "finalized", false))
		return "finished";
	if (ada_live_find(&live, session->path, &error) || ada_live_ask(&live, ada_live_request("status"), ASK_MS, &answer, &error))
		return "interrupted";
	json_object_put(answer);
	return "recording";
}

static char *command_of(const struct ada_session *session)
{
	json_object *words = ada_json_get(session->document, "command");
	char *text = strdup(""), *more;

	for (size_t i = 0; text && i < ada_json_length(words); i++) {
		const char *word = json_object_get_string(json_object_array_get_idx(words, i));

		if (asprintf(&more, "%s%s%s", text, i ? " " : "", word ? word : "") < 0)
			more = NULL;
		free(text);
		text = more;
	}
	return text;
}

/* Until its last event, where nothing says when it ended. */
static uint64_t end_of(const struct ada_session *session)
{
	uint64_t end_ns = ada_json_u64(session->document, "endNs", 0);

	for (size_t i = 0; i < session->threads.count && !end_ns; i++) {
		const struct ada_thread *thread = &session->threads.items[i];

		if (thread->count && atf_thread_get(thread->events, thread->count - 1)->timestamp_ns > end_ns)
			end_ns = atf_thread_get(thread->events, thread->count - 1)->timestamp_ns;
	}
	return end_ns;
}

static int add_session(struct ada_rows *rows, const char *name, const struct ada_session *session)
{
	uint64_t events = 0, lost = 0, end_ns = end_of(session);
	char *command = command_of(session);
	int result;

	for (size_t i = 0; i < session->threads.count; i++) {
		events += session->threads.items[i].count;
		lost += ada_thread_lost(&session->threads.items[i]);
	}
	result = !command ?
			 -ENOMEM :
			 ada_rows_add(rows, (const struct ada_cell[FIELDS]){
						    [SESSION] = { .text = name },
						    [PROGRAM] = { .text = ada_json_text(session->document, "program", "?") },
						    [COMMAND] = { .text = command },
						    [STARTED] = { .text = ada_json_text(session->document, "started", "?") },
						    [DURATION] = { .number = end_ns > session->start_ns ? end_ns - session->start_ns : 0 },
						    [PROCESSES] = { .number = session->processes.count },
						    [THREADS] = { .number = session->threads.count },
						    [EVENTS] = { .number = events },
						    [LOST] = { .number = lost },
						    [WINDOWS] = { .number = session->windows.count },
						    [STATE] = { .text = state_of(session) },
						    [PATH] = { .text = session->path },
					    });
	free(command);
	return result;
}

static int print_names(const char *root, const names *list, uint64_t limit, struct ada_rows *rows)
{
	int result = 0;

	for (size_t i = 0; i < list->count && i < limit && !result; i++) {
		struct ada_session *session = NULL;
		struct ada_error error = {};
		char path[PATH_MAX];

		if (ada_path(path, "%s/%s", root, list->items[i]))
			continue;
		if (ada_session_open(&session, path, &error)) {
			fprintf(stderr, "list_sessions: %s\n", error.text);
			continue;
		}
		result = add_session(rows, list->items[i], session);
		ada_session_close(session);
	}
	return result;
}

int ada_mcp_sessions_print(const char *root, uint64_t limit, enum ada_format format)
{
	static struct ada_output output;
	struct ada_rows rows;
	names list = {};
	int result = list_names(root, &list);

	ada_output_open(&output, STDOUT_FILENO);
	ada_output_string(&output, format == ADA_FORMAT_JSON ? "{" : "");
	ada_rows_open(&rows, &output, format, "rows", columns, FIELDS);
	if (!result)
		result = print_names(root, &list, limit, &rows);
	ada_rows_close(&rows);
	if (format == ADA_FORMAT_JSON)
		ada_output_string(&output, "\"sessions\": ");
	ada_output_u64(&output, list.count);
	ada_output_string(&output, format == ADA_FORMAT_JSON ? "}\n" : list.count == 1 ? " session.\n" : " sessions.\n");
	free_names(&list);
	if (result) {
		fprintf(stderr, "list_sessions: %s: %s\n", root, strerror(-result));
		return ADA_EXIT_FAILED;
	}
	return ada_output_finish(&output, "list_sessions");
}

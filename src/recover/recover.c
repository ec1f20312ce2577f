#include "recover/recover.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/file.h"
#include "recorder/files/json.h"
#include "recover/internal.h"
#include "recover/leftovers.h"

static void tell_time(struct ada_recovery *recovery)
{
	time_t now = time(NULL);
	struct tm utc;

	recovery->at_ns = ada_clock_boottime_ns();
	gmtime_r(&now, &utc);
	strftime(recovery->at, sizeof recovery->at, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static int recover_process(struct ada_recovery *recovery, const struct ada_process *process, struct ada_error *error)
{
	struct ada_saved_windows windows = { .kept = { .items = NULL } };
	int result;

	if (process->finalized)
		return ada_recover_aged_manifest(process, error);
	if (!process->manifest) {
		ada_recover_problem(recovery, "%s/manifest.json: missing or not JSON: what it said is lost, its events are not",
				    process->path);
		return 0;
	}
	result = ada_recover_windows(process, &windows);
	if (result)
		result = ada_error_system(error, -result, "%s", process->path);
	if (!result)
		result = ada_recover_detail(recovery, process, &windows, error);
	if (!result)
		result = ada_recover_manifest(recovery, process, &windows, error);
	ada_saved_windows_free(&windows);
	return result;
}

const char *ada_recover_within(const char *session, const char *text)
{
	size_t length = strlen(session);

	return !strncmp(text, session, length) && text[length] == '/' ? text + length + 1 : text;
}

/* --- session.json --------------------------------------------------------------------------------------------------- */

static const struct ada_process *find_process(const struct ada_session *session, const char *directory)
{
	for (size_t i = 0; i < session->processes.count; i++)
		if (!strcmp(session->processes.items[i]->directory, directory))
			return session->processes.items[i];
	return NULL;
}

static const json_object *find_entry(const json_object *entries, const char *directory)
{
	for (size_t i = 0; i < ada_json_length(entries); i++)
		if (!strcmp(ada_json_text(json_object_array_get_idx(entries, i), "directory", ""), directory))
			return json_object_array_get_idx(entries, i);
	return NULL;
}

/* The process's entry in session.json, made from the manifest as it is now. */
static json_object *entry_of(const struct ada_process *process, json_object *before)
{
	static const char *const same[] = { "pid", "parentPid", "provider", "program", "startNs", "endNs", "exit" };
	const json_object *lane = ada_json_get(process->manifest, "index_lane");
	json_object *entry = before ? json_object_get(before) : json_object_new_object();

	if (!before)
		json_object_object_add(entry, "directory", json_object_new_string(process->directory));
	for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
		json_object_object_del(entry, same[i]);
		json_object_object_add(entry, same[i], json_object_get(ada_json_get(process->manifest, same[i])));
	}
	ada_recover_set(entry, "events", ada_json_u64(lane, "event_count", 0));
	ada_recover_set(entry, "lost", ada_json_u64(lane, "lost", 0));
	return entry;
}

/* Adds a process that was there, but of which the recorder had written nothing. */
static void add_unrecorded(json_object *list, const json_object *entry)
{
	json_object *object = json_object_new_object();

	ada_json_count(object, "pid", ada_json_u64(entry, "pid", 0));
	json_object_object_add(object, "program", json_object_new_string(ada_json_text(entry, "program", "")));
	json_object_object_add(object, "reason", json_object_new_string("its recorder died before it had written anything of it"));
	json_object_array_add(list, object);
}

static void fill_processes(json_object *document, const struct ada_session *session)
{
	json_object *old = ada_json_get(document, "processes"), *list = json_object_new_array();
	json_object *unrecorded = ada_json_get(document, "notRecorded");

	for (size_t i = 0; i < ada_json_length(old); i++) {
		json_object *entry = json_object_array_get_idx(old, i);
		const struct ada_process *process = find_process(session, ada_json_text(entry, "directory", ""));

		if (process)
			json_object_array_add(list, process->manifest ? entry_of(process, entry) : json_object_get(entry));
		else if (unrecorded)
			add_unrecorded(unrecorded, entry);
	}
	for (size_t i = 0; i < session->processes.count; i++)
		if (session->processes.items[i]->manifest && !find_entry(old, session->processes.items[i]->directory))
			json_object_array_add(list, entry_of(session->processes.items[i], NULL));
	json_object_object_del(document, "processes");
	json_object_object_add(document, "processes", list);
}

/* Removes the directory of the socket that session.json names: nobody listens there any more. */
static void remove_sockets(const json_object *document)
{
	char path[PATH_MAX], *slash;

	if (ada_path(path, "%s", ada_json_text(document, "control", "")) || !(slash = strrchr(path, '/')))
		return;
	*slash = 0;
	ada_leftover_remove_sockets(path);
}

static json_object *note_of(const struct ada_recovery *recovery)
{
	json_object *note = ada_recover_note(recovery), *problems = json_object_new_array();

	for (size_t i = 0; i < recovery->result->problems.count; i++) {
		const char *text = ada_recover_within(recovery->options->session, recovery->result->problems.items[i]);

		json_object_array_add(problems, ada_json_text_of(text, strlen(text)));
	}
	if (recovery->result->problems.count)
		json_object_object_add(note, "notSaved", problems);
	else
		json_object_put(problems);
	return note;
}

static int recover_document(const struct ada_recovery *recovery, const struct ada_session *session, struct ada_error *error)
{
	uint64_t end_ns = ada_session_last_ns(session, 0, session->threads.count);
	json_object *document = NULL;
	char path[PATH_MAX];

	if (ada_path(path, "%s/session.json", session->path))
		return ada_error_system(error, ENAMETOOLONG, "%s", session->path);
	if (json_object_deep_copy(session->document, &document, NULL))
		return ada_error_system(error, ENOMEM, "%s", path);
	fill_processes(document, session);
	remove_sockets(document);
	if (!end_ns)
		end_ns = ada_json_u64(document, "startNs", 0);
	ada_recover_set(document, "endNs", end_ns);
	ada_recover_exit(document);
	json_object_object_del(document, "control");
	json_object_object_add(document, "control", NULL);
	json_object_object_del(document, "recovered");
	json_object_object_add(document, "recovered", note_of(recovery));
	json_object_object_del(document, "finalized");
	json_object_object_add(document, "finalized", json_object_new_boolean(true));
	return ada_json_replace(path, document, error);
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

static bool is_complete(const char *path)
{
	struct ada_error error = { "" };
	struct ada_session *session;
	bool complete;

	if (ada_session_open(&session, path, &error))
		return false;
	complete = ada_json_bool(session->document, "finalized", false);
	for (size_t i = 0; i < session->processes.count; i++)
		complete &= session->processes.items[i]->finalized || !session->processes.items[i]->manifest;
	ada_session_close(session);
	return complete;
}

static int recover_processes(struct ada_recovery *recovery, struct ada_error *error)
{
	struct ada_session *session;
	int result = ada_session_open(&session, recovery->options->session, error);

	if (result)
		return result;
	for (size_t i = 0; i < session->processes.count && !result; i++)
		result = recover_process(recovery, session->processes.items[i], error);
	ada_session_close(session);
	return result;
}

static int recover_session(const struct ada_recovery *recovery, struct ada_error *error)
{
	struct ada_session *session;
	int result = ada_session_open(&session, recovery->options->session, error);

	if (result)
		return result;
	result = session->document ? recover_document(recovery, session, error) :
				     ada_error_set(error, EBADMSG, "%s/session.json: missing or not JSON", session->path);
	ada_session_close(session);
	return result;
}

int ada_recover(const struct ada_recover_options *options, struct ada_recovered *result, struct ada_error *error)
{
	struct ada_recovery recovery = { .options = options, .result = result };
	int status;

	*result = (struct ada_recovered){ .was_complete = false };
	if (flock(options->directory, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return ada_error_set(error, EBUSY, "%s: another process has it", options->session);
	if (is_complete(options->session)) {
		result->was_complete = true;
		return 0;
	}
	tell_time(&recovery);
	status = ada_recover_memory(&recovery, error);
	if (!status)
		status = ada_recover_files(&recovery, error);
	if (!status)
		status = recover_processes(&recovery, error);
	if (!status)
		status = recover_session(&recovery, error);
	ada_recover_salvaged_free(&recovery);
	ada_array_free(&recovery.torn);
	return status;
}

void ada_recovered_free(struct ada_recovered *result)
{
	for (size_t i = 0; i < result->problems.count; i++)
		free(result->problems.items[i]);
	ada_array_free(&result->problems);
}

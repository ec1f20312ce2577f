/* manifest.json of a process whose recorder died: what the recorder wrote last, with the numbers that the files have. */
#include <errno.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "recorder/files/json.h"
#include "recover/manifest.h"

void ada_recover_set(json_object *object, const char *key, uint64_t value)
{
	json_object_object_del(object, key);
	ada_json_count(object, key, value);
}

void ada_recover_set_text(json_object *object, const char *key, const char *text)
{
	json_object_object_del(object, key);
	json_object_object_add(object, key, text ? ada_json_text_of(text, strlen(text)) : NULL);
}

void ada_recover_set_object(json_object *object, const char *key, json_object *value)
{
	json_object_object_del(object, key);
	json_object_object_add(object, key, value);
}

json_object *ada_recover_part(json_object *object, const char *key)
{
	json_object *found = ada_json_get(object, key);

	if (!json_object_is_type(found, json_type_object)) {
		found = json_object_new_object();
		ada_recover_set_object(object, key, found);
	}
	return found;
}

json_object *ada_recover_note(const struct ada_recovery *recovery)
{
	json_object *note = json_object_new_object();

	ada_recover_set_text(note, "by", recovery->options->by);
	ada_json_count(note, "atNs", recovery->at_ns);
	ada_recover_set_text(note, "at", recovery->at);
	ada_recover_set_text(note, "reason", recovery->options->reason);
	return note;
}

void ada_recover_exit(json_object *object)
{
	json_object *exit = ada_recover_part(object, "exit");

	if (!strcmp(ada_json_text(exit, "kind", "running"), "running"))
		ada_recover_set_text(exit, "kind", "unknown");
}

/* --- modules -------------------------------------------------------------------------------------------------------- */

/* The fourth field of a table's first line. */
static void read_base(const char *table, char base[24])
{
	FILE *file = table ? fopen(table, "re") : NULL;
	char *line = NULL, *field;
	unsigned long long value;
	size_t size = 0;

	snprintf(base, 24, "0x0");
	if (file && getline(&line, &size, file) > 0) {
		field = strrchr(line, '\t');
		if (field && sscanf(field, "\t0x%llx", &value) == 1)
			snprintf(base, 24, "0x%llx", value);
	}
	free(line);
	if (file)
		fclose(file);
}

/* A module whose table the recorder had written, but that it had not told of yet. */
static json_object *new_module(const struct ada_draft *draft, const struct ada_module *module, size_t id)
{
	static const char *const counts[] = { "loadNs", "loads", "functions", "hooked", "mismatched", "imports" };
	bool is_main = !strcmp(module->path, ada_json_text(draft->manifest, "program", ""));
	json_object *object = json_object_new_object();
	char base[24];

	read_base(module->table_path, base);
	ada_json_count(object, "id", id);
	ada_recover_set_text(object, "path", module->path);
	ada_recover_set_text(object, "buildId", *module->build_id ? module->build_id : NULL);
	ada_recover_set_text(object, "base", base);
	ada_recover_set_text(object, "kind", is_main ? "main" : "library");
	json_object_object_add(object, "traced", json_object_new_boolean(false));
	ada_recover_set_text(object, "problem", "its recorder died before it had written down more of it");
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		ada_json_count(object, counts[i], 0);
	json_object_object_add(object, "unloadNs", NULL);
	json_object_object_add(object, "skipped", json_object_new_object());
	return object;
}

/* For a table that the recorder had written, but not told of yet. */
static void add_checksum(json_object *object, const char *table)
{
	char *text, checksum[9];
	size_t length;

	if (ada_json_text(object, "crc32", NULL) || ada_file_read_regular(table, &text, &length, NULL))
		return;
	snprintf(checksum, sizeof checksum, "%08" PRIx32, libdeflate_crc32(0, text, length));
	ada_recover_set_text(object, "crc32", checksum);
	free(text);
}

static json_object *find_module(json_object *modules, size_t id)
{
	for (size_t i = 0; i < ada_json_length(modules); i++)
		if (ada_json_u64(json_object_array_get_idx(modules, i), "id", UINT64_MAX) == id)
			return json_object_array_get_idx(modules, i);
	return NULL;
}

static void add_modules(struct ada_draft *draft)
{
	json_object *modules = ada_json_get(draft->manifest, "modules");
	char symbols[40], path[PATH_MAX];

	for (size_t id = 0; id < draft->process->modules.count; id++) {
		const struct ada_module *module = draft->process->modules.items[id];
		json_object *object = find_module(modules, id);

		if (!module)
			continue;
		if (!object) {
			object = new_module(draft, module, id);
			json_object_array_add(modules, object);
		}
		snprintf(symbols, sizeof symbols, "modules/%zu.tsv", id);
		if (ada_path(path, "%s/%s", draft->process->path, symbols) || access(path, F_OK)) {
			ada_recover_set_text(object, "symbols", NULL);
			ada_recover_set_text(object, "crc32", NULL);
		} else {
			ada_recover_set_text(object, "symbols", symbols);
			add_checksum(object, path);
		}
	}
}

/* Takes the crash record that the program wrote as it died, and that nobody has put into the manifest yet. */
static void take_crash(const struct ada_draft *draft)
{
	const struct ada_crash *crash = draft->salvaged ? &draft->salvaged->header.crash : NULL;
	json_object *exit = ada_recover_part(draft->manifest, "exit");

	if (!crash || !crash->present || ada_json_get(draft->manifest, "crash"))
		return;
	ada_recover_set_object(draft->manifest, "crash", ada_json_crash_of(crash, draft->salvaged->crash_ns));
	if (crash->signal && !strcmp(ada_json_text(exit, "kind", "running"), "running")) {
		ada_recover_set_text(exit, "kind", "signal");
		ada_recover_set(exit, "signal", crash->signal);
	}
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

/* Arrays that others read by position must be there, whatever the recorder wrote. */
static json_object *array(json_object *object, const char *key)
{
	json_object *found = ada_json_get(object, key);

	if (!json_object_is_type(found, json_type_array)) {
		found = json_object_new_array();
		ada_recover_set_object(object, key, found);
	}
	return found;
}

static void draft_fill(struct ada_draft *draft)
{
	const struct ada_process *process = draft->process;
	json_object *manifest = draft->manifest, *threads = array(manifest, "threads"), *note = ada_recover_note(draft->recovery);
	json_object *lane = ada_recover_part(manifest, "index_lane"), *recording = ada_recover_part(manifest, "recording"),
		    *notes = json_object_new_array();
	uint64_t last_ns = ada_session_last_ns(process->session, process->first_thread, process->thread_count);
	char reason[256];

	ada_recover_sort_threads(draft, threads);
	for (size_t i = 0; i < process->thread_count; i++)
		json_object_array_add(notes,
				      ada_recover_add_thread(draft, threads, &process->session->threads.items[process->first_thread + i]));
	ada_recover_sort_threads(draft, threads);
	ada_recover_add_absent(draft, threads);
	ada_recover_sort_threads(draft, threads);
	ada_recover_set(lane, "event_count", draft->sums.events);
	ada_recover_set(lane, "lost", draft->sums.lost);
	ada_recover_set(lane, "gaps", draft->sums.gaps);
	ada_recover_aged_lanes(manifest, process);
	ada_recover_take_counts(draft, lane, recording);
	ada_recover_add_windows(draft, note);
	ada_recover_set(ada_recover_part(manifest, "metrics"), "persisted_events", draft->sums.records);
	array(manifest, "modules");
	add_modules(draft);
	json_object_array_sort(ada_json_get(manifest, "modules"), ada_recover_by_number);
	if (!json_object_is_type(ada_json_get(manifest, "endNs"), json_type_int))
		ada_recover_set(manifest, "endNs", last_ns ? last_ns : ada_json_u64(manifest, "startNs", 0));
	take_crash(draft);
	ada_recover_exit(manifest);
	if (strcmp(ada_json_text(recording, "state", ""), "failed") && strcmp(ada_json_text(recording, "state", ""), "stopped")) {
		snprintf(reason, sizeof reason, "%s: what %s is missing", draft->recovery->options->reason,
			 draft->salvaged ? "came after that" : "it had in memory");
		ada_recover_set_text(recording, "state", "failed");
		ada_recover_set_text(recording, "reason", reason);
	}
	json_object_object_add(note, "threads", notes);
	ada_recover_set_object(manifest, "recovered", note);
	ada_recover_set_object(manifest, "finalized", json_object_new_boolean(true));
}

int ada_recover_manifest(const struct ada_recovery *recovery, const struct ada_process *process, const struct ada_saved_windows *windows,
			 struct ada_error *error)
{
	struct ada_draft draft = {
		.recovery = recovery, .process = process, .windows = windows, .salvaged = ada_recover_salvaged(recovery, process->directory)
	};
	char path[PATH_MAX];

	if (ada_path(path, "%s/manifest.json", process->path))
		return ada_error_system(error, ENAMETOOLONG, "%s", process->path);
	if (json_object_deep_copy(process->manifest, &draft.manifest, NULL))
		return ada_error_system(error, ENOMEM, "%s", path);
	draft_fill(&draft);
	return ada_json_replace(path, draft.manifest, error);
}

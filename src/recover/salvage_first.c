/* What the recorder writes as a process begins, where it had not come to that: a child's names of functions, which are its parent's, and the
 * first manifest, as far as memory tells. Later steps fill it in from the files. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "recorder/files/json.h"
#include "recover/salvage.h"

static const char begun
	[] = "{\"format\":\"ada-manifest\",\"version\":1,\"mode\":\"index_only\",\"endNs\":null,"
	     "\"index_lane\":{\"always_persisted\":true,\"event_count\":0,\"lost\":0,\"overwritten\":0,\"gaps\":0},"
	     "\"detail_lane\":{\"capture\":\"off\",\"persistence\":\"off\",\"windows\":[],\"event_count\":0,\"coverage_ratio\":0.0},"
	     "\"marking_policy\":{\"version\":\"\",\"hash\":\"\",\"rules\":[],\"history\":[]},\"threads\":[],\"modules\":[],"
	     "\"hooks\":{\"functions\":0,\"hooked\":0,\"imports\":0,\"skipped\":{}},"
	     "\"metrics\":{\"events_processed\":0,\"marked_events_detected\":0,\"selective_dumps_performed\":0,\"windows_discarded\":0,"
	     "\"avg_window_duration_ns\":0,\"avg_events_per_window\":0},"
	     "\"exit\":{\"kind\":\"running\"},\"crash\":null,"
	     "\"recording\":{\"state\":\"running\",\"reason\":null,\"threadsRefused\":0,\"modulesRefused\":0,\"internalErrors\":0},"
	     "\"finalized\":false}";

static void member_add(json_object *object, const char *key, json_object *value)
{
	json_object_object_del(object, key);
	json_object_object_add(object, key, value);
}

/* The traced program can write the table: any bytes. */
static json_object *program_of(const struct ada_segment *segment)
{
	uint32_t count = ada_segment_module_count(segment);

	for (uint32_t i = 0; i < count; i++)
		if (segment->modules[i].flags & ADA_MODULE_MAIN)
			return ada_json_text_of(segment->modules[i].path,
						strnlen(segment->modules[i].path, sizeof segment->modules[i].path));
	return json_object_new_string("");
}

static json_object *buffering_of(const struct ada_salvage_process *process, const struct ada_segment *segment)
{
	static const char *const modes[] = { "streaming", "oneshot", "circular" };
	uint32_t mode = process->salvage->map.header->index_mode;
	json_object *object = json_object_new_object(), *index = json_object_new_object();

	member_add(index, "mode", json_object_new_string(modes[mode <= ADA_INDEX_CIRCULAR ? mode : 0]));
	member_add(index, "onFull", json_object_new_string(segment->shm->on_full == ADA_ON_FULL_BLOCK ? "block" : "drop"));
	ada_json_count(index, "bufferBytes", (uint64_t)segment->chunks * ADA_CHUNK_BYTES);
	ada_json_count(index, "chunkBytes", ADA_CHUNK_BYTES);
	ada_json_count(index, "waits", segment->shm->waits);
	ada_json_count(index, "waitNs", 0);
	member_add(object, "index", index);
	member_add(object, "detail", NULL);
	return object;
}

static int write_manifest(const struct ada_salvage_process *process, const struct ada_segment *segment, const char *path,
			  struct ada_error *error)
{
	json_object *manifest = json_tokener_parse(begun);

	if (!manifest)
		return ada_error_system(error, ENOMEM, "%s", path);
	ada_json_count(manifest, "pid", process->note->pid);
	ada_json_count(manifest, "parentPid", process->note->parent_pid);
	ada_json_count(manifest, "provider", process->number);
	ada_json_count(manifest, "startNs", process->note->start_ns);
	member_add(manifest, "program", program_of(segment));
	member_add(manifest, "command", json_object_new_array());
	member_add(manifest, "buffering", buffering_of(process, segment));
	member_add(manifest, "clock", ada_json_clock_of(process->salvage->clock));
	member_add(ada_json_get(manifest, "index_lane"), "always_persisted",
		   json_object_new_boolean(process->salvage->map.header->index_mode == ADA_INDEX_STREAMING));
	return ada_json_replace(path, manifest, error);
}

int ada_salvage_first_manifest(const struct ada_salvage_process *process, const struct ada_segment *segment, struct ada_error *error)
{
	char path[PATH_MAX];

	if (ada_path(path, "%s/manifest.json", process->path))
		return ada_error_system(error, ENAMETOOLONG, "%s", process->path);
	return access(path, F_OK) ? write_manifest(process, segment, path, error) : 0;
}

/* Whether a table's first line names that module, at that place. A path with bytes that tables escape is not compared. */
static bool is_table_of(const char *table, const struct ada_shm_module *module)
{
	FILE *file = fopen(table, "re");
	size_t size = 0, length = strnlen(module->path, sizeof module->path);
	char *line = NULL;
	const char *base;
	unsigned long long value;
	bool is = file && getline(&line, &size, file) > 0 && !strncmp(line, "#\t", 2) && !strncmp(line + 2, module->path, length) &&
		  line[2 + length] == '\t' && (base = strrchr(line, '\t')) && sscanf(base, "\t0x%llx", &value) == 1 &&
		  value == module->base;

	free(line);
	if (file)
		fclose(file);
	return is;
}

/* The name of the directory of the process that forked it; NULL: none did, or nobody knows. */
static const char *parent_of(const struct ada_salvage_process *process)
{
	const struct ada_arena_map *map = &process->salvage->map;
	uint32_t number = process->note->forked_from - 1; /* of none: too high */
	const char *name;

	if (number >= __atomic_load_n(&map->header->providers_used, __ATOMIC_ACQUIRE))
		return NULL;
	name = map->providers[number].name;
	return memchr(name, 0, sizeof map->providers[number].name) && !strchr(name, '/') ? name : NULL;
}

void ada_salvage_names(const struct ada_salvage_process *process, const struct ada_segment *segment)
{
	const char *parent = parent_of(process);
	char from[PATH_MAX], to[PATH_MAX];
	bool more = parent && !ada_path(to, "%s/modules", process->path) && (!mkdir(to, 0700) || errno == EEXIST);

	for (uint32_t id = 0; more && id < ada_segment_module_count(segment); id++)
		if (!ada_path(from, "%s/%s/modules/%u.tsv", process->salvage->recovery->options->session, parent, id) &&
		    !ada_path(to, "%s/modules/%u.tsv", process->path, id) && is_table_of(from, &segment->modules[id]))
			more = !link(from, to) || errno == EEXIST; /* its own */
}

#include "recover/salvage.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"

#define STOP_WAIT_MS 20 /* for the agents' threads to see `stop` */

/* --- finding what is there ---------------------------------------------------------------------------------------------- */

static int compare_notes(const void *left, const void *right)
{
	const struct ada_salvage_note *a = left, *b = right;

	if (a->provider != b->provider)
		return a->provider < b->provider ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static int compare_blocks(const void *left, const void *right)
{
	const struct ada_salvage_block *a = left, *b = right;

	if (a->lane != b->lane)
		return a->lane < b->lane ? -1 : 1;
	return (a->block > b->block) - (a->block < b->block);
}

static int list_notes(struct ada_salvage *salvage)
{
	uint32_t used = __atomic_load_n(&salvage->map.header->lanes_used, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < used; i++) {
		const struct ada_arena_lane *lane = &salvage->map.lanes[i];

		if (__atomic_load_n(&lane->used, __ATOMIC_ACQUIRE) && lane->id < ADA_THREADS_EVER &&
		    ada_array_push(&salvage->notes, (struct ada_salvage_note){ lane->provider, lane->id, i }))
			return -ENOMEM;
	}
	if (salvage->notes.count)
		qsort(salvage->notes.items, salvage->notes.count, sizeof *salvage->notes.items, compare_notes);
	return 0;
}

static int list_blocks(struct ada_salvage *salvage)
{
	uint32_t used = __atomic_load_n(&salvage->map.header->blocks_used, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < used; i++) {
		const struct ada_arena_block *block = &salvage->map.blocks[i];

		if (__atomic_load_n(&block->taken, __ATOMIC_ACQUIRE) &&
		    (block->kind == ADA_ARENA_PLAIN || block->kind == ADA_ARENA_EVENTS) && block->bytes <= ADA_ARENA_BLOCK_BYTES &&
		    ada_array_push(&salvage->blocks, (struct ada_salvage_block){ block->lane, i }))
			return -ENOMEM;
	}
	if (salvage->blocks.count)
		qsort(salvage->blocks.items, salvage->blocks.count, sizeof *salvage->blocks.items, compare_blocks);
	return 0;
}

/* Makes live programs record no more. Writes without a mapping: there may be many. */
static void stop_programs(const struct ada_salvage *salvage)
{
	uint32_t used = __atomic_load_n(&salvage->map.header->providers_used, __ATOMIC_ACQUIRE), stop = 1;
	bool any = ada_salvage_ready_stop(salvage);

	for (uint32_t number = 0; number < used; number++) {
		char name[ADA_SHARED_NAME_BYTES];
		int fd;

		ada_shared_segment_name(name, number);
		fd = openat(salvage->shared.directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		any |= pwrite(fd, &stop, sizeof stop, offsetof(struct ada_shm, stop)) == sizeof stop;
		close(fd);
	}
	if (any)
		poll(NULL, 0, STOP_WAIT_MS);
}

static int open_salvage(struct ada_salvage *salvage, struct ada_error *error)
{
	int result = ada_arena_clock(&salvage->map, &salvage->clock);

	if (result == -EINVAL)
		ada_recover_problem(salvage->recovery, "the dead recorder's clock is damaged: what was in shared memory is lost");
	result = result && result != -EINVAL ? result : ada_sink_open(&salvage->sink, false);
	if (!result)
		result = list_notes(salvage);
	if (!result)
		result = list_blocks(salvage);
	return result ? ada_error_system(error, -result, "what is in memory can't be listed") : 0;
}

/* The next time writes anew the files that could not be made durable. */
static int close_salvage(struct ada_salvage *salvage, struct ada_error *error)
{
	int result = salvage->sink ? ada_sink_close(salvage->sink) : 0;

	if (salvage->clock)
		ada_clock_close(salvage->clock);
	ada_array_free(&salvage->notes);
	ada_array_free(&salvage->blocks);
	ada_array_free(&salvage->ready);
	ada_arena_detach(&salvage->map);
	return result ? ada_error_system(error, -result, "what was in memory can't be written") : 0;
}

/* --- processes ---------------------------------------------------------------------------------------------------------- */

/* Whether the last manifest is on the disk, from the recorder or an earlier recovery. */
static bool is_finished(const struct ada_salvage_process *process)
{
	struct ada_error error = { "" };
	json_object *manifest = NULL;
	char path[PATH_MAX], *text;
	bool finished;
	size_t length;

	if (__atomic_load_n(&process->note->state, __ATOMIC_ACQUIRE) == ADA_ARENA_FINISHED)
		return true;
	if (ada_path(path, "%s/manifest.json", process->path) || ada_file_read_regular(path, &text, &length, NULL))
		return false;
	finished = !ada_json_parse(&manifest, text, path, &error) && ada_json_bool(manifest, "finalized", false);
	json_object_put(manifest);
	free(text);
	return finished;
}

static struct ada_salvaged *add_result(struct ada_recovery *recovery, const char *directory)
{
	struct ada_salvaged *result = calloc(1, sizeof *result);

	if (!result || ada_array_push(&recovery->salvaged, result)) {
		free(result);
		return NULL;
	}
	memcpy(result->directory, directory, sizeof result->directory);
	return result;
}

/* *at: where the notes of this process and those behind it begin. */
static int save_process(struct ada_salvage_process *process, size_t *at, struct ada_error *error)
{
	struct ada_salvage *salvage = process->salvage;
	int result;

	process->result = add_result(salvage->recovery, process->note->name);
	if (!process->result)
		return ada_error_system(error, ENOMEM, "%s", process->path);
	while (*at < salvage->notes.count && salvage->notes.items[*at].provider < process->number)
		++*at;
	process->notes = salvage->notes.items + *at;
	while (*at + process->note_count < salvage->notes.count && process->notes[process->note_count].provider == process->number)
		process->note_count++;
	result = ada_salvage_files(process, error);
	return result || !salvage->clock ? result : ada_salvage_chunks(process, error);
}

static int take_process(struct ada_salvage *salvage, uint32_t number, size_t *at, struct ada_error *error)
{
	struct ada_salvage_process process = { .salvage = salvage, .note = &salvage->map.providers[number], .number = number };
	char name[sizeof process.note->name];
	uint32_t pid;

	memcpy(name, process.note->name, sizeof name);
	if (__atomic_load_n(&process.note->state, __ATOMIC_ACQUIRE) == ADA_ARENA_NO_PROVIDER || !memchr(name, 0, sizeof name) ||
	    !ada_directory_number(name, "pid_", &pid) || strchr(name, '/'))
		return 0;
	if (ada_path(process.path, "%s/%s", salvage->recovery->options->session, name))
		return ada_error_system(error, ENAMETOOLONG, "%s", salvage->recovery->options->session);
	if (access(process.path, F_OK) || is_finished(&process))
		return 0;
	return save_process(&process, at, error);
}

/* As if the recorder had come to it: behind all that it had. */
static int take_ready(struct ada_salvage *salvage, uint32_t index, size_t *at, struct ada_error *error)
{
	const struct ada_salvage_ready *ready = &salvage->ready.items[index];
	struct ada_salvage_process process = { .salvage = salvage, .note = &ready->note, .ready = ready->number };
	int result;

	process.number = __atomic_load_n(&salvage->map.header->providers_used, __ATOMIC_ACQUIRE) + index;
	if (ada_path(process.path, "%s/%s", salvage->recovery->options->session, ready->note.name))
		return ada_error_system(error, ENAMETOOLONG, "%s", salvage->recovery->options->session);
	if (is_finished(&process))
		return 0;
	result = ada_salvage_ready_place(salvage, ready, process.path, error);
	return result ? result : save_process(&process, at, error);
}

static int take_all(struct ada_salvage *salvage, struct ada_error *error)
{
	uint32_t used = __atomic_load_n(&salvage->map.header->providers_used, __ATOMIC_ACQUIRE);
	uint32_t refused = __atomic_load_n(&salvage->map.header->lanes_refused, __ATOMIC_ACQUIRE);
	int result = open_salvage(salvage, error);
	size_t at = 0;

	if (result)
		return result;
	stop_programs(salvage);
	if (refused)
		ada_recover_problem(salvage->recovery,
				    "of %u threads nothing tells what of their shared memory is in their files: it is lost", refused);
	for (uint32_t number = 0; number < used && !result; number++)
		result = take_process(salvage, number, &at, error);
	if (!result && ada_salvage_ready_list(salvage))
		result = ada_error_system(error, ENOMEM, "what is in memory can't be listed");
	for (uint32_t i = 0; i < salvage->ready.count && !result; i++)
		result = take_ready(salvage, i, &at, error);
	return result;
}

int ada_recover_memory(struct ada_recovery *recovery, struct ada_error *error)
{
	const struct ada_recover_options *options = recovery->options;
	struct ada_salvage salvage = { .recovery = recovery, .shared = { .directory = options->memory, .named = true } };
	struct ada_error why = { "" };
	int result;

	if (options->arena < 0)
		return 0;
	result = ada_arena_attach(&salvage.map, options->arena, &why);
	if (result == -EINVAL)
		ada_recover_problem(recovery, "%s", why.text);
	if (result == -ENODATA || result == -EINVAL)
		return 0; /* -ENODATA: the recorder died before there was anything. -EINVAL: another time will tell no more */
	if (result)
		return ada_error_set(error, -result, "%s", why.text);
	if (__atomic_load_n(&salvage.map.header->state, __ATOMIC_ACQUIRE) == ADA_ARENA_RECORDING)
		result = take_all(&salvage, error);
	return close_salvage(&salvage, error) ?: result;
}

const struct ada_salvaged *ada_recover_salvaged(const struct ada_recovery *recovery, const char *directory)
{
	for (size_t i = 0; i < recovery->salvaged.count; i++)
		if (recovery->salvaged.items[i]->known && !strcmp(recovery->salvaged.items[i]->directory, directory))
			return recovery->salvaged.items[i];
	return NULL;
}

void ada_recover_salvaged_free(struct ada_recovery *recovery)
{
	for (size_t i = 0; i < recovery->salvaged.count; i++) {
		ada_array_free(&recovery->salvaged.items[i]->threads);
		free(recovery->salvaged.items[i]);
	}
	ada_array_free(&recovery->salvaged);
}

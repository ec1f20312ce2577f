/* A fork's child takes a segment that lies ready, and the recorder hears of it later (abi/ready.h). Where the recorder was killed in
 * between, the segment tells who took it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/directory.h"
#include "base/file.h"
#include "recover/salvage.h"

#define NAMES_MAX 4096u /* of processes with the same pid */

/* Calls `visit` with the number of each file that has such a name, until that fails. */
static int each_ready(const struct ada_salvage *salvage, int (*visit)(void *context, uint32_t number), void *context)
{
	int fd = openat(salvage->shared.directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), status = 0;
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	uint32_t number;

	if (!directory) {
		if (fd >= 0)
			close(fd);
		return 0; /* nothing of it can be had, now or later */
	}
	while (!status && (entry = readdir(directory)))
		if (ada_directory_number(entry->d_name, ADA_SHARED_READY, &number))
			status = visit(context, number);
	closedir(directory);
	return status;
}

struct stopping {
	const struct ada_salvage *salvage;
	bool any;
};

static int stop_one(void *context, uint32_t number)
{
	struct stopping *stopping = context;
	char name[ADA_SHARED_NAME_BYTES];
	uint32_t stop = 1;
	int fd;

	ada_shared_ready_name(name, number);
	fd = openat(stopping->salvage->shared.directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0;
	stopping->any |= pwrite(fd, &stop, sizeof stop, offsetof(struct ada_shm, stop)) == sizeof stop;
	close(fd);
	return 0;
}

bool ada_salvage_ready_stop(const struct ada_salvage *salvage)
{
	struct stopping stopping = { .salvage = salvage };

	each_ready(salvage, stop_one, &stopping);
	return stopping.any;
}

/* The recorder had noted a process that has it. */
static bool is_noted(const struct ada_salvage *salvage, uint32_t number)
{
	uint32_t used = __atomic_load_n(&salvage->map.header->providers_used, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < used; i++)
		if (salvage->map.providers[i].state != ADA_ARENA_NO_PROVIDER && salvage->map.providers[i].ready == number)
			return true;
	return false;
}

static bool is_named(const struct ada_salvage *salvage, const char *name, size_t bytes)
{
	uint32_t used = __atomic_load_n(&salvage->map.header->providers_used, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < used; i++)
		if (salvage->map.providers[i].state != ADA_ARENA_NO_PROVIDER && !strncmp(salvage->map.providers[i].name, name, bytes))
			return true;
	for (size_t i = 0; i < salvage->ready.count; i++)
		if (!strcmp(salvage->ready.items[i].note.name, name))
			return true;
	return false;
}

static int list_one(void *context, uint32_t number)
{
	struct ada_salvage *salvage = context;
	const struct ada_arena *arena = salvage->map.header;
	struct ada_salvage_ready ready = { .number = number, .note = arena->ready };
	struct ada_salvage_process process = { .salvage = salvage, .note = &ready.note, .ready = number };
	struct ada_segment segment;
	bool recorded;

	if (is_noted(salvage, number) || ada_salvage_attach(&process, &segment, NULL))
		return 0;
	recorded = __atomic_load_n(&segment.shm->ready.state, __ATOMIC_ACQUIRE) == ADA_READY_TAKEN && ada_segment_threads_seen(&segment);
	ready.note.pid = segment.shm->pid & INT_MAX;
	ready.note.parent_pid = segment.shm->ready.parent_pid & INT_MAX;
	ready.note.start_ns = ready.taken_ns = segment.shm->ready.taken_ns > arena->start_ns ? segment.shm->ready.taken_ns :
											       arena->start_ns;
	ready.parent = segment.shm->ready.parent;
	ada_segment_destroy(&segment);
	return recorded ? ada_array_push(&salvage->ready, ready) : 0;
}

static int compare_ready(const void *left, const void *right)
{
	const struct ada_salvage_ready *a = left, *b = right;

	if (a->taken_ns != b->taken_ns)
		return a->taken_ns < b->taken_ns ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* As the recorder names directories: each time the same, for the recovery may be interrupted. */
static void name_all(struct ada_salvage *salvage)
{
	for (size_t i = 0; i < salvage->ready.count; i++) {
		struct ada_arena_provider *note = &salvage->ready.items[i].note;
		char name[sizeof note->name];

		snprintf(name, sizeof name, "pid_%u", note->pid);
		for (unsigned number = 2; is_named(salvage, name, sizeof name) && number < NAMES_MAX; number++)
			snprintf(name, sizeof name, "pid_%u_%u", note->pid, number);
		memcpy(note->name, name, sizeof name);
	}
}

int ada_salvage_ready_list(struct ada_salvage *salvage)
{
	int status = 0;

	if (salvage->map.header->ready.state != ADA_ARENA_NO_PROVIDER)
		status = each_ready(salvage, list_one, salvage);
	if (salvage->ready.count)
		qsort(salvage->ready.items, salvage->ready.count, sizeof *salvage->ready.items, compare_ready);
	name_all(salvage);
	return status;
}

/* The name of the parent's directory; NULL: not known. A parent that took its own segment did that before. */
static const char *parent_of(const struct ada_salvage *salvage, const struct ada_salvage_ready *ready)
{
	uint32_t used = __atomic_load_n(&salvage->map.header->providers_used, __ATOMIC_ACQUIRE), number = ready->parent & ADA_READY_NUMBER;
	const struct ada_arena_provider *parent = NULL;

	if (!(ready->parent & ADA_READY_BIT))
		return ready->parent < used && memchr(salvage->map.providers[ready->parent].name, 0, sizeof parent->name) ?
			       salvage->map.providers[ready->parent].name :
			       NULL;
	for (uint32_t i = 0; i < used && number && !parent; i++)
		if (salvage->map.providers[i].ready == number)
			parent = &salvage->map.providers[i];
	for (size_t i = 0; i < salvage->ready.count && !parent; i++)
		if (salvage->ready.items[i].number == number)
			parent = &salvage->ready.items[i].note;
	return parent && parent != &ready->note && memchr(parent->name, 0, sizeof parent->name) ? parent->name : NULL;
}

int ada_salvage_ready_place(const struct ada_salvage *salvage, const struct ada_salvage_ready *ready, const char *path,
			    struct ada_error *error)
{
	const char *parent = parent_of(salvage, ready);
	char from[PATH_MAX], to[PATH_MAX];
	bool more = parent && !strchr(parent, '/');

	if (mkdir(path, 0700) && errno != EEXIST)
		return ada_error_system(error, errno, "%s", path);
	if (ada_path(to, "%s/modules", path) || (mkdir(to, 0700) && errno != EEXIST))
		return ada_error_system(error, errno, "%s", to);
	for (uint32_t id = 0; more && id < ADA_MODULES_MAX; id++) /* a module that was unloaded has its table, too: there are no gaps */
		more = !ada_path(from, "%s/%s/modules/%u.tsv", salvage->recovery->options->session, parent, id) &&
		       !ada_path(to, "%s/modules/%u.tsv", path, id) && (!link(from, to) || errno == EEXIST);
	return 0;
}

#include "recorder/planning/plans.h"
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "abi/plan.h"
#include "abi/wire.h"
#include "base/array.h"
#include "recorder/planning/symbols.h"
#include "trigger/pattern.h"

struct entry {
	char *path;
	dev_t device;
	ino_t inode;
	struct timespec modified;
	bool decode, ready;
	struct ada_planned planned;
	char *names; /* lines of modules/ID.tsv; NULL: not made yet */
	size_t names_bytes;
};

struct ada_plans {
	const struct ada_filter *filter; /* matching uses scratch memory: only under filter_lock */
	pthread_mutex_t lock, filter_lock, names_lock;
	pthread_cond_t ready;
	ADA_ARRAY(struct entry *) entries;
};

int ada_plans_open(struct ada_plans **result, const struct ada_filter *filter)
{
	struct ada_plans *plans = calloc(1, sizeof *plans);

	*result = plans;
	if (!plans)
		return -ENOMEM;
	plans->filter = filter;
	pthread_mutex_init(&plans->lock, NULL);
	pthread_mutex_init(&plans->filter_lock, NULL);
	pthread_mutex_init(&plans->names_lock, NULL);
	pthread_cond_init(&plans->ready, NULL);
	return 0;
}

static void filter_set(struct ada_planned *planned, uint32_t bit)
{
	planned->filter[bit / 8] |= (uint8_t)(1u << bit % 8);
}

static bool filter_get(const struct ada_planned *planned, uint32_t bit)
{
	return !planned->filter || (planned->filter[bit / 8] >> bit % 8 & 1);
}

/* Makes the bitmap of a plan reply. Hooks that serve the agent itself are never filtered out. */
static int filter_make(struct ada_planned *planned, const char *path, const struct ada_filter *filter)
{
	const struct ada_plan_header *header = ada_plan_header(planned->plan);
	uint64_t bits = (uint64_t)header->hook_count + header->import_count;
	const struct ada_plan_function *functions;
	const struct ada_plan_import *imports;
	const struct ada_plan_hook *hooks;
	char place[ADA_PLACE_TEXT];

	if (bits > ADA_FILTER_BYTES_MAX * 8ull)
		return ada_error_set(&planned->error, E2BIG, "has too many functions to filter them by name");
	planned->filter_bytes = (uint32_t)((bits + 7) / 8);
	planned->filter = calloc(planned->filter_bytes + 1, 1);
	if (!planned->filter)
		return ada_error_system(&planned->error, ENOMEM, "filter");
	functions = ada_plan_functions(planned->plan);
	hooks = ada_plan_hooks(planned->plan);
	for (uint32_t i = 0; i < header->hook_count; i++) {
		const struct ada_plan_function *function = &functions[hooks[i].function];

		bool agents = (function->flags & ADA_FUNCTION_INTERCEPT) && !(function->flags & ADA_FUNCTION_OBJECTS);

		ada_place_text(place, path, function->address);
		if (agents || ada_filter_passes(filter, ada_plan_string(planned->plan, function->name), place))
			filter_set(planned, i);
	}
	imports = ada_plan_imports(planned->plan);
	for (uint32_t i = 0; i < header->import_count; i++)
		if (ada_filter_passes(filter, ada_plan_string(planned->plan, imports[i].name), ""))
			filter_set(planned, header->hook_count + i);
	return 0;
}

bool ada_plans_is_libc(const char *path)
{
	static const char *const names[] = { "libc.so.", "libc-2.", "libpthread.so.", "libpthread-2." };
	const char *last = strrchr(path, '/');

	last = last ? last + 1 : path;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strncmp(last, names[i], strlen(names[i])))
			return true;
	return false;
}

/* A hook that lies in the dead bytes of another one would need that one, too. */
static int objects_find(struct ada_planned *planned, const struct ada_filter *filter)
{
	const struct ada_plan_header *header = ada_plan_header(planned->plan);
	const struct ada_plan_function *functions = ada_plan_functions(planned->plan);
	const struct ada_plan_hook *hooks = ada_plan_hooks(planned->plan);

	if (header->flags & ADA_PLAN_DECODED) {
		planned->objects = calloc(header->hook_count / 8 + 1, 1);
		if (!planned->objects)
			return ada_error_system(&planned->error, ENOMEM, "hooks");
	}
	for (uint32_t i = 0; i < header->function_count; i++) {
		const struct ada_plan_function *function = &functions[i];

		if (!(function->flags & ADA_FUNCTION_OBJECTS) ||
		    !ada_filter_passes(filter, ada_plan_string(planned->plan, function->name), ""))
			continue;
		planned->has_objects = true;
		if (planned->objects && function->hook < header->hook_count && !hooks[function->hook].host)
			planned->objects[function->hook / 8] |= (uint8_t)(1u << function->hook % 8);
	}
	return 0;
}

static void count_functions(struct ada_planned *planned)
{
	const struct ada_plan_header *header = ada_plan_header(planned->plan);
	const struct ada_plan_function *functions = ada_plan_functions(planned->plan);

	for (uint32_t i = 0; i < header->function_count; i++) {
		const struct ada_plan_function *function = &functions[i];

		if (function->flags & ADA_FUNCTION_IFUNC)
			continue;
		planned->functions++;
		if (function->refusal)
			planned->skipped[function->refusal < ADA_REFUSAL_COUNT ? function->refusal : 0]++;
		else if (function->flags & ADA_FUNCTION_INTERCEPT)
			planned->skipped[ADA_REFUSAL_INTERCEPTED]++;
		else if (!filter_get(planned, function->hook))
			planned->skipped[ADA_REFUSAL_EXCLUDED]++;
		else
			planned->hookable++;
	}
}

static void plan_make(struct ada_plans *plans, struct entry *entry)
{
	struct ada_planned *planned = &entry->planned;
	struct ada_plan_options options = { .decode = entry->decode };
	int status;

	if (ada_plan_open(&planned->plan, entry->path, &options, &planned->error)) {
		planned->plan = NULL;
		return;
	}
	pthread_mutex_lock(&plans->filter_lock);
	status = ada_plans_is_libc(entry->path) ? objects_find(planned, plans->filter) : 0;
	if (!status && entry->decode && plans->filter)
		status = filter_make(planned, entry->path, plans->filter);
	pthread_mutex_unlock(&plans->filter_lock);
	if (status) {
		ada_plan_close(planned->plan);
		planned->plan = NULL;
	} else if (entry->decode) {
		count_functions(planned);
	}
}

static struct entry *plan_find(struct ada_plans *plans, const char *path, const struct stat *info, bool decode)
{
	for (size_t i = 0; i < plans->entries.count; i++) {
		struct entry *entry = plans->entries.items[i];

		if (entry->decode == decode && entry->inode == info->st_ino && entry->device == info->st_dev &&
		    entry->modified.tv_sec == info->st_mtim.tv_sec && entry->modified.tv_nsec == info->st_mtim.tv_nsec &&
		    !strcmp(entry->path, path))
			return entry;
	}
	return NULL;
}

bool ada_plans_has(struct ada_plans *plans, const char *path)
{
	struct stat info = { 0 };
	bool has;

	stat(path, &info);
	pthread_mutex_lock(&plans->lock);
	has = plan_find(plans, path, &info, false) || plan_find(plans, path, &info, true);
	pthread_mutex_unlock(&plans->lock);
	return has;
}

const struct ada_planned *ada_plans_get(struct ada_plans *plans, const char *path, bool decode)
{
	struct stat info = { 0 };
	struct entry *entry;

	stat(path, &info); /* a file that is not there gets an entry of its own, with the error */
	pthread_mutex_lock(&plans->lock);
	entry = plan_find(plans, path, &info, decode);
	if (entry) {
		while (!entry->ready)
			pthread_cond_wait(&plans->ready, &plans->lock);
		pthread_mutex_unlock(&plans->lock);
		return &entry->planned;
	}
	entry = calloc(1, sizeof *entry);
	if (entry) {
		*entry = (struct entry){
			.path = strdup(path), .device = info.st_dev, .inode = info.st_ino, .modified = info.st_mtim, .decode = decode
		};
		if (!entry->path || ada_array_push(&plans->entries, entry)) {
			free(entry->path);
			free(entry);
			entry = NULL;
		}
	}
	pthread_mutex_unlock(&plans->lock);
	if (!entry)
		return NULL;
	plan_make(plans, entry);
	pthread_mutex_lock(&plans->lock);
	entry->ready = true;
	pthread_cond_broadcast(&plans->ready);
	pthread_mutex_unlock(&plans->lock);
	return &entry->planned;
}

const char *ada_plans_names(struct ada_plans *plans, const struct ada_planned *planned, size_t *bytes)
{
	struct entry *entry = (struct entry *)((char *)planned - offsetof(struct entry, planned));

	pthread_mutex_lock(&plans->names_lock);
	if (!entry->names)
		entry->names = ada_symbols_text(planned->plan, &entry->names_bytes);
	pthread_mutex_unlock(&plans->names_lock);
	*bytes = entry->names_bytes;
	return entry->names;
}

const struct ada_plan *ada_plans_at(struct ada_plans *plans, size_t number, const char **path)
{
	const struct ada_plan *plan = NULL;

	pthread_mutex_lock(&plans->lock);
	for (size_t i = 0; i < plans->entries.count && !plan; i++) {
		const struct entry *entry = plans->entries.items[i];

		if (!entry->ready || !entry->decode || !entry->planned.plan || number--)
			continue;
		plan = entry->planned.plan;
		*path = entry->path;
	}
	pthread_mutex_unlock(&plans->lock);
	return plan;
}

void ada_plans_close(struct ada_plans *plans)
{
	if (!plans)
		return;
	for (size_t i = 0; i < plans->entries.count; i++) {
		struct entry *entry = plans->entries.items[i];

		if (entry->planned.plan)
			ada_plan_close(entry->planned.plan);
		free(entry->planned.filter);
		free(entry->planned.objects);
		free(entry->names);
		free(entry->path);
		free(entry);
	}
	ada_array_free(&plans->entries);
	pthread_mutex_destroy(&plans->lock);
	pthread_mutex_destroy(&plans->filter_lock);
	pthread_mutex_destroy(&plans->names_lock);
	pthread_cond_destroy(&plans->ready);
	free(plans);
}

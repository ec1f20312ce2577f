#include "recorder/process/choice.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "recorder/planning/filter.h"
#include "recorder/planning/plans.h"
#include "recorder/policy/policy.h"
#include "recorder/state/provider.h"

bool ada_choice_module(const struct ada_talk *talk, uint32_t id, struct ada_shm_module *module)
{
	struct ada_provider *provider = talk->provider;
	bool there = false;

	pthread_mutex_lock(&provider->lock);
	if (provider->mapped && id < ada_segment_module_count(&provider->segment)) {
		there = __atomic_load_n(&provider->segment.modules[id].present, __ATOMIC_ACQUIRE) != 0;
		*module = provider->segment.modules[id];
	}
	pthread_mutex_unlock(&provider->lock);
	module->path[sizeof module->path - 1] = 0;
	if (module->build_id_bytes > ADA_BUILD_ID_MAX)
		module->build_id_bytes = 0;
	return there;
}

int ada_choice_path(const struct ada_talk *talk, const struct ada_shm_module *module, char *path)
{
	char directory[PATH_MAX], link[40];
	struct stat here, there;
	ssize_t length;

	if (module->path[0] == '/') {
		/* By the plain name where that is the same file: plans are kept by name. */
		bool found = !stat(module->path, &here);

		if (!ada_path(path, "/proc/%d/root%s", talk->pid, module->path) && !stat(path, &there) &&
		    (!found || here.st_dev != there.st_dev || here.st_ino != there.st_ino))
			return 0;
		/* The program itself may have no name any more: executed from memory, or unlinked, or in another mount namespace. */
		if (!found && (module->flags & ADA_MODULE_MAIN) && !ada_path(path, "/proc/%d/exe", talk->pid) && !stat(path, &there))
			return 0;
		return ada_path(path, "%s", module->path);
	}
	snprintf(link, sizeof link, "/proc/%d/cwd", talk->pid);
	length = readlink(link, directory, sizeof directory - 1);
	if (length < 0)
		return -errno;
	directory[length] = 0;
	return ada_path(path, "%s/%s", directory, module->path);
}

bool ada_choice_traced(const struct ada_talk *talk, const struct ada_shm_module *module, uint32_t flags)
{
	return (flags & ADA_MODULE_MAIN) || ada_module_filter_means(talk->recorder->module_filter, module->path);
}

bool ada_choice_wants_objects(const struct ada_talk *talk, const struct ada_planned *planned)
{
	return talk->recorder->options->libcalls && planned->has_objects;
}

static bool wants_hooks(const struct ada_talk *talk, const struct ada_planned *planned, const char *path)
{
	return planned->plan && (ada_choice_wants_objects(talk, planned) || ada_policy_names(talk->recorder->policy, planned->plan, path));
}

const struct ada_planned *ada_choice_plan(const struct ada_talk *talk, const char *path, bool traced, bool *named,
					  const struct ada_error **refused)
{
	struct ada_plans *plans = talk->recorder->plans;
	const struct ada_planned *names = NULL, *full;

	*named = false;
	*refused = NULL;
	if (traced)
		return ada_plans_get(plans, path, true);
	/* Libc is decoded for its names, too: that would be done twice, for hooks that are wanted unless a filter leaves them all out. */
	if (!talk->recorder->options->libcalls || !ada_plans_is_libc(path)) {
		names = ada_plans_get(plans, path, false);
		if (!names || !wants_hooks(talk, names, path))
			return names;
	}
	full = ada_plans_get(plans, path, true);
	*named = full && wants_hooks(talk, full, path);
	if (*named)
		return full;
	if (full && !full->plan)
		*refused = &full->error;
	return names ? names : ada_plans_get(plans, path, false);
}

/* --- ahead ---------------------------------------------------------------------------------------------------------------- */

/* Entry `id`, and where its file is found. False: nobody asks for a plan of it. */
static bool module_due(const struct ada_talk *talk, uint32_t id, struct ada_shm_module *module, char *path)
{
	return ada_choice_module(talk, id, module) && !(module->flags & (ADA_MODULE_VDSO | ADA_MODULE_AGENT)) &&
	       !ada_choice_path(talk, module, path);
}

static uint32_t module_count(const struct ada_talk *talk)
{
	uint32_t count;

	pthread_mutex_lock(&talk->provider->lock);
	count = talk->provider->mapped ? ada_segment_module_count(&talk->provider->segment) : 0;
	pthread_mutex_unlock(&talk->provider->lock);
	return count;
}

static void *make_ahead(void *argument)
{
	struct ada_choice_ahead *ahead = argument;
	const struct ada_talk *talk = ahead->talk;
	uint32_t count = module_count(talk);

	for (uint32_t id = ahead->first; id < count && !__atomic_load_n(&ahead->end, __ATOMIC_RELAXED); id++) {
		struct ada_shm_module module = { 0 };
		const struct ada_error *refused;
		char path[PATH_MAX];
		bool named;

		if (module_due(talk, id, &module, path))
			ada_choice_plan(talk, path, ada_choice_traced(talk, &module, module.flags), &named, &refused);
	}
	return NULL;
}

void ada_choice_ahead_begin(struct ada_choice_ahead *ahead, const struct ada_talk *talk, uint32_t first)
{
	uint32_t count;

	if (ahead->begun)
		return;
	*ahead = (struct ada_choice_ahead){ .talk = talk, .first = first, .begun = true };
	count = module_count(talk);
	for (uint32_t id = first; id < count && !ahead->runs; id++) {
		struct ada_shm_module module = { 0 };
		char path[PATH_MAX];

		if (module_due(talk, id, &module, path) && !ada_plans_has(talk->recorder->plans, path))
			ahead->runs = !pthread_create(&ahead->thread, NULL, make_ahead, ahead); /* else each is made when it is asked for */
	}
}

void ada_choice_ahead_end(struct ada_choice_ahead *ahead)
{
	if (!ahead->runs)
		return;
	__atomic_store_n(&ahead->end, true, __ATOMIC_RELAXED);
	pthread_join(ahead->thread, NULL);
	ahead->runs = false;
}

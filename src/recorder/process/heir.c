#include "recorder/process/heir.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "recorder/host/disable.h"
#include "recorder/state/provider.h"

#define SETTLED_TURNS 20    /* of half a second: no exec that is going to fail takes that long */
#define UNLISTED_MAX 65536u /* the number is the traced program's */

/* A program that could not take the agent in passes the environment on, so a HELLO may come from a process that is no heir of this exec.
 * Pids that a namespace hides can't be compared. */
static bool is_heir(const struct ada_provider *provider, const struct ada_shm_heir *heir, pid_t pid)
{
	return !heir->own || heir->pid != (uint32_t)provider->pid || pid == provider->pid;
}

static void heard_in_table(struct ada_provider *provider, const struct ada_hello *hello, pid_t pid)
{
	struct ada_shm *shm = provider->segment.shm;
	struct ada_shm_heir *heir;
	uint32_t announced = ADA_HEIR_ANNOUNCED;

	if (hello->heir == ADA_NONE) {
		__atomic_sub_fetch(&shm->heirs_unlisted, 1, __ATOMIC_RELAXED);
		return;
	}
	if (hello->heir >= ADA_HEIRS)
		return;
	heir = &provider->segment.heirs[hello->heir];
	if (heir->generation == hello->generation && is_heir(provider, heir, pid))
		__atomic_compare_exchange_n(&heir->state, &announced, ADA_HEIR_FREE, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void ada_heirs_heard(struct ada_recorder *recorder, const struct ada_hello *hello, pid_t pid)
{
	struct ada_provider *provider = ada_provider_numbered(recorder, hello->provider);

	if (!provider)
		return;
	pthread_mutex_lock(&provider->lock);
	if (provider->mapped)
		heard_in_table(provider, hello, pid);
	else if (hello->heir == ADA_NONE)
		provider->heirs_unlisted -= provider->heirs_unlisted != 0;
	for (size_t i = 0; i < provider->heirs.count; i++)
		if (provider->heirs.items[i].generation == hello->generation && is_heir(provider, &provider->heirs.items[i], pid)) {
			provider->heirs.items[i] = provider->heirs.items[--provider->heirs.count];
			break;
		}
	pthread_mutex_unlock(&provider->lock);
}

static bool is_settled(struct ada_provider *provider, uint32_t number, const struct ada_shm_heir *heir)
{
	struct ada_heir_age *age = &provider->heir_ages[number];

	if (age->generation != heir->generation)
		*age = (struct ada_heir_age){ .generation = heir->generation };
	return heir->kind != ADA_HEIR_EXEC && age->turns++ >= SETTLED_TURNS;
}

void ada_heirs_collect(struct ada_provider *provider, bool all)
{
	for (uint32_t i = 0; i < ADA_HEIRS; i++) {
		struct ada_shm_heir *heir = &provider->segment.heirs[i], copy;
		uint32_t announced = ADA_HEIR_ANNOUNCED;

		if (__atomic_load_n(&heir->state, __ATOMIC_ACQUIRE) != ADA_HEIR_ANNOUNCED || (!all && !is_settled(provider, i, heir)))
			continue;
		copy = *heir;
		copy.path[sizeof copy.path - 1] = 0;
		if (!ada_array_push(&provider->heirs, copy))
			__atomic_compare_exchange_n(&heir->state, &announced, ADA_HEIR_FREE, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	}
	if (all)
		provider->heirs_unlisted += __atomic_exchange_n(&provider->segment.shm->heirs_unlisted, 0, __ATOMIC_RELAXED);
}

bool ada_heirs_own(struct ada_provider *provider)
{
	bool own = false;

	for (uint32_t i = 0; provider->mapped && i < ADA_HEIRS; i++) {
		const struct ada_shm_heir *heir = &provider->segment.heirs[i];

		own |= __atomic_load_n(&heir->state, __ATOMIC_ACQUIRE) == ADA_HEIR_ANNOUNCED && heir->own;
	}
	for (size_t i = 0; i < provider->heirs.count; i++)
		own |= provider->heirs.items[i].own != 0;
	return own;
}

static void note(struct ada_recorder *recorder, const struct ada_provider *provider, const struct ada_shm_heir *heir)
{
	char reason[256];
	bool forked = heir->kind >= ADA_HEIR_FORK;
	int length = snprintf(reason, sizeof reason, "%s", ada_heir_text(heir->kind));

	if (!heir->own)
		snprintf(reason + length, sizeof reason - (size_t)length, " (%s by process %d)", forked ? "forked" : "started",
			 provider->pid);
	ada_recorder_note_unrecorded(recorder, (pid_t)heir->pid, forked ? provider->program : *heir->path ? heir->path : "?", reason);
}

void ada_heirs_name(struct ada_recorder *recorder)
{
	struct ada_provider *provider;

	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++) {
		static const struct ada_shm_heir nameless;
		struct ada_shm_heir *heirs;
		size_t count;
		uint32_t unlisted;

		pthread_mutex_lock(&provider->lock);
		if (provider->mapped)
			ada_heirs_collect(provider, true);
		heirs = provider->heirs.items;
		count = provider->heirs.count;
		unlisted = provider->heirs_unlisted;
		provider->heirs.items = NULL;
		provider->heirs.count = provider->heirs.capacity = 0;
		provider->heirs_unlisted = 0;
		pthread_mutex_unlock(&provider->lock);
		/* recorder->lock is taken before a provider's. */
		for (size_t k = 0; k < count; k++)
			note(recorder, provider, &heirs[k]);
		free(heirs);
		for (uint32_t k = 0; k < unlisted && unlisted <= UNLISTED_MAX; k++)
			note(recorder, provider, &nameless);
	}
	if (!recorder->main_heard)
		ada_recorder_note_unrecorded(recorder, recorder->main_pid, recorder->program.path, ada_heir_text(ADA_HEIR_EXEC));
}

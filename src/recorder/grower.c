#include "recorder/grower.h"
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>
#include "recorder/provider.h"

#define BUSY_MS 1
#define PRIORITY -5			/* as the drain's */
#define IDLE_MS 5			/* what lies ready lasts the fastest producer longer */

/* True: until `growing` is taken back the segment stays mapped. Not by the lock: memory may be slow to come, and whoever wants
 * the lock doesn't need it. Nor do the others wait where a policy is being compiled under it: *busy. */
static bool begin(struct ada_provider *provider, bool *busy)
{
	if (pthread_mutex_trylock(&provider->lock)) {
		*busy = true;
		return false;
	}
	bool mapped = provider->mapped;
	if (mapped)
		__atomic_store_n(&provider->growing, true, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&provider->lock);
	return mapped;
}

/* One step for each provider that lives: true where any may need another soon. */
static bool grow_all(struct ada_grower *grower, bool *any)
{
	struct ada_provider *provider;
	size_t kept = 0;
	bool again = false;
	*any = false;
	while ((provider = ada_provider_at(grower->recorder, grower->taken)) && !ada_array_push(&grower->live, provider))
		grower->taken++;
	for (size_t i = 0; i < grower->live.count; i++) {
		provider = grower->live.items[i];
		if (__atomic_load_n(&provider->gone_ns, __ATOMIC_ACQUIRE))
			continue;	/* for good: it needs nothing */
		grower->live.items[kept++] = provider;
		if (!begin(provider, any))
			continue;
		again |= ada_segment_grow(&provider->segment);
		*any |= !provider->segment.exhausted;
		__atomic_store_n(&provider->growing, false, __ATOMIC_RELEASE);
	}
	grower->live.count = kept;
	return again;
}

static void *run(void *argument)
{
	struct ada_grower *grower = argument;
	struct pollfd wake = { .fd = grower->wake, .events = POLLIN };
	int timeout = -1, calm = 0;
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + PRIORITY);	/* this thread; where it is allowed */
	while (!__atomic_load_n(&grower->quit, __ATOMIC_ACQUIRE)) {
		eventfd_t news;
		bool any;
		if (poll(&wake, 1, timeout) > 0)
			eventfd_read(grower->wake, &news);
		/* A step a turn outruns any producer, and short processes end before it has cost much. */
		if (grow_all(grower, &any))
			calm = 0;
		timeout = !any ? -1 : ++calm < 100 ? BUSY_MS : IDLE_MS;
	}
	return NULL;
}

int ada_grower_open(struct ada_grower *grower, struct ada_recorder *recorder, struct ada_error *error)
{
	*grower = (struct ada_grower){ .recorder = recorder, .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	recorder->grower_wake = grower->wake;
	int rc = grower->wake < 0 ? errno : pthread_create(&grower->thread, NULL, run, grower);
	grower->running = !rc;
	return rc ? ada_error_system(error, rc, "no thread") : 0;
}

void ada_grower_wake(const struct ada_recorder *recorder)
{
	eventfd_write(recorder->grower_wake, 1);
}

void ada_grower_close(struct ada_grower *grower)
{
	if (grower->running) {
		__atomic_store_n(&grower->quit, true, __ATOMIC_RELEASE);
		ada_grower_wake(grower->recorder);
		pthread_join(grower->thread, NULL);
	}
	if (grower->wake >= 0)
		close(grower->wake);
	grower->running = false;
	ada_array_free(&grower->live);
}

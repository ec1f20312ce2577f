#include "recorder/process/spare.h"
#include <sys/stat.h>

#define BYTES_MOST (8ull << 20) /* it has grown by small pages alone: emptying more would take longer than it spares */
#define BLOCK_BYTES 512

void ada_spares_open(struct ada_spares *spares, const struct ada_shared *shared)
{
	*spares = (struct ada_spares){ .shared = shared, .open = true };
	pthread_mutex_init(&spares->lock, NULL);
}

bool ada_spares_want(struct ada_spares *spares, const struct ada_segment *segment)
{
	struct stat file;
	bool wanted;

	/* In the recorder's own tmpfs alone there are names that nobody else sees. */
	if (!spares->shared->own || !spares->shared->named || fstat(segment->fd, &file) ||
	    (uint64_t)file.st_blocks * BLOCK_BYTES > BYTES_MOST)
		return false;
	pthread_mutex_lock(&spares->lock);
	wanted = spares->open && spares->count + spares->promised < ADA_SPARES;
	spares->promised += wanted;
	pthread_mutex_unlock(&spares->lock);
	return wanted;
}

void ada_spares_give(struct ada_spares *spares, struct ada_segment *segment, uint32_t provider)
{
	pthread_mutex_lock(&spares->lock);
	spares->promised--;
	spares->items[spares->count].segment = *segment;
	spares->items[spares->count++].provider = provider;
	pthread_mutex_unlock(&spares->lock);
	*segment = (struct ada_segment){ .fd = -1 };
}

/* The newest, whose pages are in the caches. */
static bool spare_take(struct ada_spares *spares, struct ada_segment *segment, uint32_t *provider)
{
	bool any;

	pthread_mutex_lock(&spares->lock);
	any = spares->count;
	if (any) {
		*segment = spares->items[--spares->count].segment;
		*provider = spares->items[spares->count].provider;
	}
	pthread_mutex_unlock(&spares->lock);
	return any;
}

static void discard(struct ada_spares *spares, struct ada_segment *segment, uint32_t provider)
{
	char name[ADA_SHARED_NAME_BYTES];

	ada_shared_segment_name(name, provider);
	ada_shared_unlink(spares->shared, name);
	ada_segment_destroy(segment);
}

bool ada_spares_take(struct ada_spares *spares, const struct ada_segment_options *options, struct ada_segment *segment, int *agent_fd)
{
	uint32_t provider;

	if (!spare_take(spares, segment, &provider))
		return false;
	if (!ada_segment_renew(segment, options, provider, agent_fd)) {
		pthread_mutex_lock(&spares->lock);
		spares->taken = true;
		pthread_mutex_unlock(&spares->lock);
		return true;
	}
	discard(spares, segment, provider);
	return false;
}

static void discard_all(struct ada_spares *spares)
{
	struct ada_segment segment;
	uint32_t provider;

	while (spare_take(spares, &segment, &provider))
		discard(spares, &segment, provider);
}

void ada_spares_tidy(struct ada_spares *spares, bool wanted)
{
	bool idle;

	pthread_mutex_lock(&spares->lock);
	idle = !spares->taken;
	spares->taken = false;
	spares->open = wanted;
	pthread_mutex_unlock(&spares->lock);
	if (idle || !wanted)
		discard_all(spares);
}

void ada_spares_close(struct ada_spares *spares)
{
	discard_all(spares);
	pthread_mutex_destroy(&spares->lock);
}

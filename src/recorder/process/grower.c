#include "recorder/process/grower.h"
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>
#include "recorder/host/limit.h"
#include "recorder/state/provider.h"

#define BUSY_MS 1
#define PRIORITY -5 /* as the drain's */
#define IDLE_MS 5   /* the memory that lies ready lasts longer, even for the fastest producer */
#define NAP_MS 40   /* nothing has grown for CALM_TURNS; the main thread, which looks that often anyway, sees whether anything stirs */
#define ALLOW_NS 5000000ull /* how old what is allowed may be; and where no group has a limit: */
#define ALLOW_UNLIMITED_NS 50000000ull
#define ALLOW_CALM_NS 500000000ull /* that too, and nothing has grown for CALM_TURNS: to ask takes half a millisecond */
#define CALM_TURNS 100u
static_assert(NAP_MS * 1000000ull < ADA_BACKGROUND_WATCH_NS, "it is the watch of the main thread");
#define UNLIMITED_AGE_NS 100000000ull /* so long it holds for others that there is none */
#define ASKED_AT_ONCE 16u

/* True: the segment stays mapped until `growing` is taken back. We don't hold the lock for that: memory may be slow to come, and whoever
 * wants the lock doesn't need the memory. And where a policy is being compiled under the lock, the other providers don't wait for it. */
static bool growth_begin(struct ada_provider *provider)
{
	bool mapped;

	if (pthread_mutex_trylock(&provider->lock))
		return false;
	mapped = provider->mapped;
	if (mapped)
		__atomic_store_n(&provider->growing, true, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&provider->lock);
	return mapped;
}

/* How old an answer may be. */
static uint64_t age_of(const struct ada_grower *grower, bool unlimited)
{
	return !unlimited ? ALLOW_NS : grower->calm < CALM_TURNS ? ALLOW_UNLIMITED_NS : ALLOW_CALM_NS;
}

/* What a control group leaves changes all the time, but asking takes longer than a step of growth. We ask for one process after the
 * other, so that a crowd doesn't take longer than one; and seldom while there are no limits and no more processes to share the room. */
static void allow(struct ada_grower *grower, struct ada_provider *provider)
{
	size_t others = grower->live.count;
	struct ada_limits limits;

	if (grower->asked == ASKED_AT_ONCE || grower->now_ns - provider->allowed_ns < age_of(grower, provider->allowed_among >= others))
		return;
	grower->asked++;
	provider->allowed_ns = grower->now_ns;
	limits = grower->unlimited && ada_limit_is_shared(provider->pid) ?
			 (struct ada_limits){ grower->own_room, grower->own_room, UINT64_MAX } :
			 ada_limits_of(provider->pid, grower->bytes);
	provider->allowed_among = limits.own_left == UINT64_MAX && limits.room == limits.own_room ? others : 0;
	if (limits.own_left != UINT64_MAX) /* the recorder is to look at it for each child */
		__atomic_store_n(&provider->segment.shm->ready.children, 0, __ATOMIC_RELEASE);
	ada_segment_allow(&provider->segment, grower->own_room / others, limits.room / others);
}

/* Tells those who prepare a process, too: it waits, and where nothing limits the groups they needn't ask again. */
static void ask_own(struct ada_grower *grower)
{
	struct ada_recorder *recorder = grower->recorder;
	struct ada_limits limits = ada_limits_of(getpid(), grower->bytes);

	grower->own_ns = grower->now_ns;
	grower->own_room = limits.own_room;
	__atomic_store_n(&recorder->machine_room, limits.own_room, __ATOMIC_RELAXED);
	grower->unlimited = limits.own_left == UINT64_MAX;
	__atomic_store_n(&recorder->unlimited_ns, grower->unlimited ? grower->now_ns : 0, __ATOMIC_RELEASE);
}

/* Takes one step for each provider that lives; returns when the next step is due. *any: there are some. */
static enum ada_growth grow_all(struct ada_grower *grower, bool *any)
{
	struct ada_provider *provider;
	size_t kept = 0;
	uint64_t bytes = 0;
	enum ada_growth growth = ADA_GROWTH_CALM;

	*any = false;
	grower->now_ns = ada_clock_boottime_ns();
	ada_background_watch(&grower->recorder->background, grower->now_ns);
	grower->asked = 0;
	if (grower->now_ns - grower->own_ns >= age_of(grower, grower->unlimited))
		ask_own(grower);
	grower->limited = !grower->unlimited;
	while ((provider = ada_provider_at(grower->recorder, grower->taken)) && !ada_array_push(&grower->live, provider)) {
		grower->taken++;
		grower->calm = 0; /* the next to come finds a fresh answer */
	}
	for (size_t i = 0; i < grower->live.count; i++) {
		enum ada_growth next;

		provider = grower->live.items[i];
		if (__atomic_load_n(&provider->gone_ns, __ATOMIC_ACQUIRE))
			continue; /* for good: it needs nothing */
		grower->live.items[kept++] = provider;
		*any = true;
		if (!growth_begin(provider))
			continue;
		allow(grower, provider);
		grower->limited |= !provider->allowed_among;
		next = ada_segment_grow(&provider->segment);
		growth = next > growth ? next : growth;
		bytes += ada_segment_pool_bytes(&provider->segment);
		__atomic_store_n(&provider->growing, false, __ATOMIC_RELEASE);
	}
	grower->live.count = kept;
	grower->bytes = bytes;
	__atomic_store_n(&grower->recorder->pool_bytes, bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&grower->recorder->pool_count, kept, __ATOMIC_RELAXED);
	__atomic_store_n(&grower->recorder->pool_seen, grower->taken, __ATOMIC_RELAXED);
	return growth;
}

/* Nothing to do until a process comes: whoever enters one looks at `grower_sleeps` behind that. */
static bool may_sleep(const struct ada_grower *grower)
{
	__atomic_store_n(&grower->recorder->grower_sleeps, true, __ATOMIC_SEQ_CST);
	return !ada_provider_at(grower->recorder, grower->taken);
}

static void *grower_run(void *argument)
{
	struct ada_grower *grower = argument;
	struct pollfd wake = { .fd = grower->wake, .events = POLLIN };
	int timeout = -1;

	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + PRIORITY); /* this thread; where it is allowed */
	while (!__atomic_load_n(&grower->quit, __ATOMIC_ACQUIRE)) {
		eventfd_t news;
		bool any;
		enum ada_growth growth;

		__atomic_store_n(&grower->recorder->grower_naps, timeout == NAP_MS ? grower->now_ns : 0, __ATOMIC_RELEASE);
		if (poll(&wake, 1, timeout < 0 && !may_sleep(grower) ? 0 : timeout) > 0)
			eventfd_read(grower->wake, &news);
		__atomic_store_n(&grower->recorder->grower_naps, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&grower->recorder->grower_sleeps, false, __ATOMIC_RELAXED);
		/* As a rule a step a turn is enough, and short processes end before it has cost much. */
		growth = grow_all(grower, &any);
		if (growth)
			ada_background_hurry(&grower->recorder->background);
		grower->calm = growth ? 0 : grower->calm < CALM_TURNS ? grower->calm + 1 : CALM_TURNS;
		timeout = !any			      ? -1 :
			  growth == ADA_GROWTH_URGENT ? 0 :
			  grower->calm < CALM_TURNS   ? BUSY_MS :
			  grower->limited	      ? IDLE_MS :
							NAP_MS;
	}
	return NULL;
}

int ada_grower_open(struct ada_grower *grower, struct ada_recorder *recorder, struct ada_error *error)
{
	int status;

	*grower = (struct ada_grower){ .recorder = recorder, .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	recorder->grower_wake = grower->wake;
	status = grower->wake < 0 ? errno : pthread_create(&grower->thread, NULL, grower_run, grower);
	grower->running = !status;
	return status ? ada_error_system(error, status, "no thread") : 0;
}

/* While processes live, the grower comes by itself, and early enough: awake at once, it would take a CPU from the process that begins. */
void ada_grower_wake(struct ada_recorder *recorder)
{
	if (__atomic_load_n(&recorder->grower_sleeps, __ATOMIC_SEQ_CST))
		eventfd_write(recorder->grower_wake, 1);
}

bool ada_grower_naps(const struct ada_recorder *recorder, uint64_t now_ns)
{
	uint64_t since_ns = __atomic_load_n(&recorder->grower_naps, __ATOMIC_ACQUIRE);

	return since_ns && now_ns > since_ns + IDLE_MS * 1000000ull;
}

void ada_grower_rouse(struct ada_recorder *recorder)
{
	if (__atomic_exchange_n(&recorder->grower_naps, 0, __ATOMIC_RELAXED))
		eventfd_write(recorder->grower_wake, 1);
}

bool ada_grower_unlimited(const struct ada_recorder *recorder, uint64_t now_ns, uint64_t *room)
{
	uint64_t asked_ns = __atomic_load_n(&recorder->unlimited_ns, __ATOMIC_ACQUIRE);

	*room = __atomic_load_n(&recorder->machine_room, __ATOMIC_RELAXED);
	return asked_ns && now_ns < asked_ns + UNLIMITED_AGE_NS;
}

void ada_grower_close(struct ada_grower *grower)
{
	if (grower->running) {
		__atomic_store_n(&grower->quit, true, __ATOMIC_RELEASE);
		eventfd_write(grower->wake, 1);
		pthread_join(grower->thread, NULL);
	}
	if (grower->wake >= 0)
		close(grower->wake);
	grower->running = false;
	ada_array_free(&grower->live);
}

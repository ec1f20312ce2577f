#include "recorder/state/provider.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "recorder/host/huge.h"

#define COST_TOLD 25 /* percent of the CPU time */
#define COST_TOLD_NS 250000000ull
#define PRICE_MAX_NS 10000.0 /* that an agent is believed */
#define SMALL_BYTES 32u

void ada_recorder_wake(struct ada_recorder *recorder)
{
	uint64_t one = 1;
	ssize_t written = write(recorder->wake, &one, sizeof one);

	(void)written; /* full: the main thread has news enough to wake for */
}

void ada_recorder_note_unrecorded(struct ada_recorder *recorder, pid_t pid, const char *program, const char *reason)
{
	struct ada_unrecorded note = { .pid = pid };
	char path[40];
	ssize_t length;

	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	length = program ? 0 : readlink(path, note.program, sizeof note.program - 1);
	note.program[length > 0 ? length : 0] = 0;
	if (program)
		snprintf(note.program, sizeof note.program, "%.255s", program);
	snprintf(note.reason, sizeof note.reason, "%s", reason);
	pthread_mutex_lock(&recorder->lock);
	ada_array_push(&recorder->unrecorded, note);
	pthread_mutex_unlock(&recorder->lock);
}

struct ada_provider *ada_provider_at(struct ada_recorder *recorder, size_t number)
{
	struct ada_provider *provider;

	pthread_mutex_lock(&recorder->lock);
	provider = number < recorder->providers.count ? recorder->providers.items[number] : NULL;
	pthread_mutex_unlock(&recorder->lock);
	return provider;
}

struct ada_provider *ada_provider_numbered(struct ada_recorder *recorder, uint32_t number)
{
	struct ada_provider *found = NULL;

	if (number == ADA_NONE || !(number & ADA_READY_BIT))
		return number == ADA_NONE ? NULL : ada_provider_at(recorder, number);
	pthread_mutex_lock(&recorder->lock);
	for (size_t i = recorder->providers.count; i-- && !found;)
		if (recorder->providers.items[i]->ready == (number & ADA_READY_NUMBER))
			found = recorder->providers.items[i];
	pthread_mutex_unlock(&recorder->lock);
	return found;
}

struct ada_provider *ada_provider_of(struct ada_recorder *recorder, pid_t pid)
{
	struct ada_provider *found = NULL;

	pthread_mutex_lock(&recorder->lock);
	for (size_t i = recorder->providers.count; i-- && !found;)
		if (recorder->providers.items[i]->pid == pid)
			found = recorder->providers.items[i];
	pthread_mutex_unlock(&recorder->lock);
	return found;
}

bool ada_provider_gone(const struct ada_provider *provider)
{
	struct pollfd poll_one = { .fd = provider->pidfd, .events = POLLIN };

	if (provider->pidfd >= 0)
		return poll(&poll_one, 1, 0) == 1;
	return kill(provider->pid, 0) && errno == ESRCH;
}

void ada_provider_note_cpu(struct ada_provider *provider)
{
	uint64_t ns;

	/* Once the process is gone its pid may be another's. */
	if (!__atomic_load_n(&provider->gone_ns, __ATOMIC_ACQUIRE) && ada_clock_process_ns(provider->pid, &ns))
		__atomic_store_n(&provider->cpu_ns, ns, __ATOMIC_RELAXED);
}

/* As long as nobody has told. */
static void note_price(const struct ada_provider *provider)
{
	const struct ada_shm *shm = provider->segment.shm;
	struct ada_recorder *recorder = provider->recorder;
	uint32_t event;

	if (!provider->mapped || recorder->price_event)
		return;
	event = __atomic_load_n(&shm->price_event, __ATOMIC_ACQUIRE);
	recorder->price_object = shm->price_object;
	__atomic_store_n(&recorder->price_event, event, __ATOMIC_RELEASE);
}

static double ns_of(const struct ada_recorder *recorder, uint32_t price)
{
	double ns = recorder->ticks_a_wait ? (double)price / ADA_PRICE_UNIT * ADA_WAIT_NS / recorder->ticks_a_wait : 0;

	return ns < PRICE_MAX_NS ? ns : 0;
}

static bool is_small(const void *context, uint64_t function_id)
{
	const struct ada_provider *provider = context;
	uint32_t id = ADA_FUNCTION_MODULE(function_id), symbol = ADA_FUNCTION_SYMBOL(function_id);
	const struct ada_planned *planned = id < provider->modules.count ? provider->modules.items[id].planned : NULL;
	const struct ada_plan *plan = planned ? planned->plan : NULL;

	return plan && symbol < ada_plan_header(plan)->function_count && ada_plan_functions(plan)[symbol].size - 1u < SMALL_BYTES;
}

static void size_up(struct ada_provider *provider)
{
	if (provider->ledger.sized_up == provider->ledger.functions.count)
		return;
	pthread_mutex_lock(&provider->facts);
	ada_ledger_size_up(&provider->ledger, is_small, provider);
	pthread_mutex_unlock(&provider->facts);
}

static struct ada_price provider_price(const struct ada_provider *provider)
{
	const struct ada_recorder *recorder = provider->recorder;
	struct ada_price measured;

	note_price(provider);
	measured = (struct ada_price){ ns_of(recorder, recorder->price_event), ns_of(recorder, recorder->price_object) };
	return ada_ledger_price(&provider->ledger, &measured);
}

struct ada_price ada_provider_price_at_most(struct ada_provider *provider)
{
	struct ada_price price = provider_price(provider);
	double small_ns;

	size_up(provider);
	small_ns = ada_ledger_small_ns(&provider->ledger);
	if (small_ns > price.event_ns) {
		price.object_ns *= price.event_ns > 0 ? small_ns / price.event_ns : 1;
		price.event_ns = small_ns;
	}
	return price;
}

struct ada_cost ada_provider_cost(const struct ada_provider *provider)
{
	struct ada_cost cost = { .events = ada_provider_events(provider) + ada_provider_lost(provider) };
	uint64_t cpu_ns = __atomic_load_n(&provider->cpu_ns, __ATOMIC_RELAXED);

	cost.cpu_ns = cpu_ns > provider->cpu_before_ns ? cpu_ns - provider->cpu_before_ns : 0;
	cost.price = provider_price(provider);
	cost.objects = provider->ledger.objects < cost.events ? provider->ledger.objects : cost.events;
	cost.cost_ns = (uint64_t)((double)(cost.events - cost.objects) * cost.price.event_ns + (double)cost.objects * cost.price.object_ns);
	return cost;
}

unsigned ada_cost_told(const struct ada_cost *cost)
{
	uint64_t percent = cost->cpu_ns ? (uint64_t)(100 * (double)cost->cost_ns / (double)cost->cpu_ns) : 0;

	if (cost->cost_ns < COST_TOLD_NS || percent < COST_TOLD)
		return 0;
	return percent < 100 ? (unsigned)percent : 100;
}

size_t ada_provider_functions_of_most(const struct ada_provider *provider)
{
	return ada_ledger_functions_of_most(&provider->ledger);
}

void ada_provider_note_gone(struct ada_provider *provider)
{
	uint64_t none = 0;

	ada_background_hurry(&provider->recorder->background); /* before the grower sees it, and is no watch any more */
	ada_provider_note_cpu(provider);		       /* while its parent hasn't heard of its end */
	if (!__atomic_load_n(&provider->gone_ns, __ATOMIC_ACQUIRE))
		__atomic_compare_exchange_n(&provider->gone_ns, &none, ada_clock_boottime_ns(), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void ada_provider_note_replaced(struct ada_provider *provider)
{
	/* First: whoever sees that the provider is gone sees why. */
	__atomic_store_n(&provider->replaced, true, __ATOMIC_RELEASE);
	ada_provider_note_gone(provider);
}

/* Without policy_flags: another thread of ours may be swapping policies. */
static void keep_header(struct ada_provider *provider)
{
	const uint8_t *from = (const uint8_t *)provider->segment.shm;
	uint8_t *to = (uint8_t *)&provider->header;
	const size_t flags = offsetof(struct ada_shm, policy_flags), behind = flags + sizeof provider->header.policy_flags;

	memcpy(to, from, flags);
	memcpy(to + behind, from + behind, sizeof provider->header - behind);
}

static struct ada_pool_memory memory_of(const uint8_t *pool, uint64_t bytes)
{
	return (struct ada_pool_memory){ bytes, pool ? ada_huge_bytes(pool, bytes) : 0 };
}

/* The manifest is built from copies once the segment is gone. */
static void keep_tables(struct ada_provider *provider)
{
	const struct ada_segment *segment = &provider->segment;

	provider->module_count = ada_segment_module_count(segment);
	ada_drain_meet(&provider->drain);
	provider->thread_count = (uint32_t)provider->drain.lanes.count;
	keep_header(provider);
	provider->index_memory = memory_of(segment->pool, (uint64_t)segment->chunks_ready * ADA_CHUNK_BYTES);
	provider->detail_memory = memory_of(segment->detail_pool, (uint64_t)segment->detail_ready * segment->detail_chunk_bytes);
	free(provider->module_table);
	free(provider->thread_table);
	provider->module_table = calloc(provider->module_count + 1, sizeof *provider->module_table);
	provider->thread_table = calloc(provider->thread_count + 1, sizeof *provider->thread_table);
	if (provider->module_table)
		memcpy(provider->module_table, segment->modules, provider->module_count * sizeof *provider->module_table);
	else
		provider->module_count = 0;
	if (!provider->thread_table)
		provider->thread_count = 0;
	for (uint32_t id = 0; id < provider->thread_count; id++) {
		const struct ada_shm_thread *thread = ada_drain_thread(&provider->drain, id);

		if (thread)
			provider->thread_table[id] = *thread;
	}
}

void ada_provider_snapshot(struct ada_provider *provider)
{
	note_price(provider);
	if (provider->mapped)
		keep_tables(provider);
}

uint64_t ada_provider_events(const struct ada_provider *provider)
{
	uint64_t events = 0;

	for (size_t i = 0; i < provider->drain.lanes.count; i++)
		events += provider->drain.lanes.items[i].events;
	return events;
}

uint64_t ada_provider_lost(const struct ada_provider *provider)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < provider->drain.lanes.count; i++)
		lost += provider->drain.lanes.items[i].lost;
	return lost;
}

/* Sites: which stub belongs to a (return address, function) pair. A site is interned once, immutable, and never given back: a stub may be
 * in a frame for as long as the program runs.
 */
#include "agent/core/state.h"

#define HASH_MASK ((1u << ADA_SITE_HASH_BITS) - 1)

/* A slot may hold anything, also 0 where a fiber's first function has no caller; but never an address of our own data. */
struct ada_site ada_no_site = { .return_address = (uint64_t)&ada_no_site };
uint32_t ada_site_limit = ADA_SITES_MAX;

/* Stubs by class. An unwinder may look just below a stub, and the first has none there. */
static struct kind {
	uint32_t used, end;
} kinds[] = {
	{ 1, ADA_STUB_SAVING },
	{ ADA_STUB_SAVING, ADA_STUB_SAVING + ADA_STUB_FLAGS },
	{ ADA_STUB_SAVING + ADA_STUB_FLAGS, ADA_STUB_COUNT },
};
static uint32_t sites_used = 1; /* more than the sites of all classes */
static bool any_refused;

static uint32_t hash(uint64_t return_address, uint64_t function_id)
{
	return ((return_address ^ function_id << 32) * 0x9E3779B97F4A7C15ull) >> (64 - ADA_SITE_HASH_BITS);
}

bool ada_stub_is_return(uint64_t address)
{
	return address - (uint64_t)ada_above.stubs < (uint64_t)ADA_STUB_COUNT * ADA_STUB_BYTES;
}

uint64_t ada_site_of_slot(uint64_t slot_value)
{
	if (!ada_stub_is_return(slot_value))
		return 0;
	return (uint64_t)&ada_sites[(slot_value - (uint64_t)ada_above.stubs) / ADA_STUB_BYTES].return_address;
}

uint64_t ada_site_return_address(uint64_t slot_value)
{
	const uint64_t *site = (const uint64_t *)ada_site_of_slot(slot_value);

	return site ? *site : slot_value;
}

struct ada_site *ada_site_find(uint64_t return_address, uint64_t function_id)
{
	struct ada_site *site;
	uint32_t at = hash(return_address, function_id);

	if (__atomic_load_n(&sites_used, __ATOMIC_RELAXED) == 1) /* at the start, when each look-up would be the first touch of a page */
		return NULL;
	while ((site = __atomic_load_n(&ada_site_hash[at], __ATOMIC_ACQUIRE))) {
		if (site->return_address == return_address && site->function_id == function_id)
			break;
		at = (at + 1) & HASH_MASK;
	}
	return site;
}

static uint64_t *refused_place(uint64_t return_address)
{
	return &ada_sites_refused[hash(return_address, 0) % ADA_REFUSED];
}

/* Whether the address is known to get no stub; 0 always is. */
static bool is_refused(uint64_t return_address)
{
	return __atomic_load_n(refused_place(return_address), __ATOMIC_RELAXED) == return_address;
}

uint64_t ada_site_events(const struct ada_hook *hook, uint64_t return_address)
{
	return ada_stub_is_return(return_address) || ada_site_find(return_address, hook->function_id) ||
			       (ada_above.text_is_hookable(return_address) && sites_used < ada_site_limit) ?
		       2 :
		       1;
}

void ada_site_forget_refused(void)
{
	if (!__atomic_load_n(&any_refused, __ATOMIC_ACQUIRE)) /* most programs have none, and no page there */
		return;
	for (uint32_t i = 0; i < ADA_REFUSED; i++)
		__atomic_store_n(&ada_sites_refused[i], 0, __ATOMIC_RELAXED);
}

static void refuse(uint64_t return_address)
{
	struct ada_shm *shm = ada_core_shm();

	__atomic_fetch_add(&shm->sites_refused, 1, __ATOMIC_RELAXED);
	__atomic_store_n(refused_place(return_address), return_address, __ATOMIC_RELAXED);
	__atomic_store_n(&any_refused, true, __ATOMIC_RELEASE);
}

/* There are as many of the first class as sites at all. */
static uint32_t number_take(uint32_t kind)
{
	while (kinds[kind].used == kinds[kind].end)
		kind--;
	return kinds[kind].used++;
}

static struct ada_site *site_make(struct ada_hook *hook, uint64_t return_address)
{
	uint32_t at = hash(return_address, hook->function_id), number = number_take(hook->stub_class);
	struct ada_site *site = &ada_sites[number];
	bool jumped = ada_stub_is_return(return_address); /* a tail call: the slot holds a stub already, and keeps it */

	site->function_id = hook->function_id;
	site->target = hook->start + ADA_TRAMPOLINE_BODY;
	site->entry = (uint64_t)ada_above.stubs + (uint64_t)number * ADA_STUB_BYTES;
	if (jumped)
		site->entry = hook->start + ADA_TRAMPOLINE_NO_STUB;
	site->return_address = return_address;
	__atomic_store_n(&sites_used, sites_used + 1, __ATOMIC_RELAXED);
	while (ada_site_hash[at])
		at = (at + 1) & HASH_MASK;
	__atomic_store_n(&ada_site_hash[at], site, __ATOMIC_RELEASE);
	if (hook->cache == &ada_no_site && !jumped) /* hooks ask for tail calls behind the cache alone */
		__atomic_store_n(&hook->cache, site, __ATOMIC_RELEASE);
	ada_core_shm()->sites = sites_used - 1;
	return site;
}

struct ada_site *ada_site_intern(struct ada_hook *hook, uint64_t return_address)
{
	struct ada_site *site;

	if (is_refused(return_address))
		return NULL;
	if (!ada_stub_is_return(return_address) && !ada_above.text_is_hookable(return_address)) {
		refuse(return_address);
		return NULL;
	}
	if (!ada_lock(&ada_core->sites_lock))
		return NULL;
	site = ada_site_find(return_address, hook->function_id); /* another thread's, by now */
	if (!site && sites_used < ada_site_limit)
		site = site_make(hook, return_address);
	else if (!site)
		__atomic_fetch_add(&ada_core_shm()->sites_refused, 1, __ATOMIC_RELAXED);
	ada_unlock(&ada_core->sites_lock);
	return site;
}

struct ada_site *ada_site_own(struct ada_hook *hook, uint64_t return_address)
{
	return sites_used < ada_site_limit ? site_make(hook, return_address) : NULL;
}

/* The agent's core as far as its life needs one: hooks that only count. Linked with the real life into a libada-agent.so of
 * its own, so that what happens in a process can be tested without recording anything.
 *
 * Counters lie in the segment: shm->waits counts calls, shm->wait_ticks holds the last one's function id.
 */
#include <stddef.h>
#include <sys/mman.h>
#include "agent/ground/mem.h"
#include "agent/ground/sys.h"
#include "agent/hook/hook.h"
#include "agent/hook/view.h"
#include "agent/record/record.h"

#define SLOT_BYTES 128
#define REACH (512ull << 20)

struct ada_region {
	uint8_t *next, *end;
};

struct ada_above ada_above;
char ada_stubs[1];

static struct ada_region regions[64];
static uint32_t region_count;
static struct ada_shm *attached;
static struct {
	uint64_t calls, last;
} nowhere, *counters = (void *)&nowhere;

void ada_core_attach(struct ada_shm *shm)
{
	if (!ada_state_open())
		return;
	attached = shm;
	counters = (void *)&shm->waits;
}

void ada_core_disable(enum ada_disable reason)
{
	uint32_t none = ADA_DISABLE_NONE;

	if (attached)
		__atomic_compare_exchange_n(&attached->disabled, &none, reason, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

struct ada_shm *ada_core_shm(void)
{
	return attached;
}

void ada_core_forked(void)
{
	attached = NULL;
	counters = (void *)&nowhere;
}

void *ada_judge_room(void)
{
	return NULL;
}

void ada_judge_room_return(void *room)
{
}

void ada_aside(void (*work)(void *), void *argument)
{
	work(argument);
}

void ada_aside_start(void)
{
}

uint64_t *ada_room_words(size_t count)
{
	return NULL;
}

void ada_room_words_return(const uint64_t *words)
{
}

void ada_core_thread_start_hook(void)
{
}

void ada_core_longjmp(uint64_t sp)
{
	attached->reserved2[0]++;
	attached->reserved2[1] = sp > (uint64_t)&sp; /* a jump goes up the stack */
}

void ada_price_take(struct ada_shm *shm);

void ada_price_take(struct ada_shm *shm)
{
}

bool ada_region_pass(void)
{
	return true;
}

bool ada_find_object_start(uint64_t real)
{
	return true;
}

const struct ada_view *ada_stub_view(enum ada_view_kind kind, uint64_t *start)
{
	return NULL;
}

const struct ada_view *ada_region_view(const void **at, enum ada_view_kind kind, uint64_t *start)
{
	return NULL;
}

void ada_region_pass_calls(void)
{
}

void ada_core_leave(void)
{
}

void ada_slow_settle(void)
{
}

void ada_rseq_registered(uint64_t address, uint32_t signature)
{
}

uint64_t ada_rseq_unregister(void)
{
	return 0;
}

void ada_rseq_restore(uint64_t before)
{
}

void ada_core_hide(void)
{
}

void ada_core_show(void)
{
}

void ada_core_thread_begin(void)
{
}

bool ada_stub_is_return(uint64_t address)
{
	return false;
}

uint64_t ada_site_of_slot(uint64_t slot_value)
{
	return 0;
}

uint64_t ada_region_original(uint64_t address)
{
	return 0;
}

bool ada_region_holds(uint64_t address)
{
	return false;
}

bool ada_core_is_forked(void)
{
	return false;
}

bool ada_core_is_silent(void)
{
	return false;
}

void ada_site_forget_refused(void)
{
}

int ada_region_reserve(struct ada_region **region, uint64_t near_start, uint64_t near_end, uint32_t cells)
{
	size_t bytes = (cells * (size_t)SLOT_BYTES + 4095) & ~4095ull;

	for (uint64_t wish = (near_end + 4095) & ~4095ull; wish < near_start + REACH; wish += 1 << 20) {
		uint8_t *memory = ada_sys_map_at((void *)wish, bytes, PROT_READ | PROT_WRITE | PROT_EXEC);

		if (!memory)
			continue;
		*region = &regions[region_count++];
		**region = (struct ada_region){ memory, memory + bytes };
		return 0;
	}
	return -ENOMEM;
}

int ada_region_reserve_near(struct ada_region **region, uint64_t near_start, uint64_t near_end, uint32_t stubs)
{
	return -ENOMEM;
}

uint64_t ada_region_near(struct ada_region *region, uint64_t entry, uint64_t return_address)
{
	return 0;
}

void ada_region_near_known(struct ada_hook *near, uint64_t stub)
{
}

uint32_t ada_region_cells(uint32_t body_bytes, bool red_zone)
{
	return 1 + body_bytes / 64;
}

uint64_t ada_region_body(uint64_t entry)
{
	return entry;
}

/* Saves nothing but flags and rax: enough for what the tests call. */
int ada_region_hook(struct ada_region *region, const struct ada_hook_spec *spec, uint64_t *entry, uint8_t **body)
{
	static const uint8_t count[] = {
		0x9c, 0x50, 0x51, 0x48, 0xb8, 0,    0,	  0, 0, 0, 0,	 0,    0, /* pushfq; push rax; push rcx; mov $&counters,%rax */
		0x48, 0x8b, 0x00, 0xf0, 0x48, 0xff, 0x00,			  /* mov (%rax),%rax; lock incq (%rax) */
		0x48, 0xb9, 0,	  0,	0,    0,    0,	  0, 0, 0, 0x48, 0x89, 0x48, 0x08, /* mov $id,%rcx; mov %rcx,8(%rax) */
		0x59, 0x58, 0x9d							   /* pop rcx; pop rax; popfq */
	};
	static const uint8_t jump[] = { 0xff, 0x25, 0, 0, 0, 0 };
	void *counter = &counters;
	uint8_t *at = region->next;

	if (at + SLOT_BYTES > region->end || spec->body_bytes > SLOT_BYTES - sizeof count)
		return -ENOSPC;
	memcpy(at, count, sizeof count);
	memcpy(at + 5, &counter, 8);
	memcpy(at + 22, &spec->function_id, 8);
	*entry = (uint64_t)at;
	if (spec->replacement) { /* instead of counting */
		memcpy(at, jump, sizeof jump);
		memcpy(at + sizeof jump, &spec->replacement, 8);
	}
	*body = at + sizeof count;
	if (spec->body) {
		memcpy(*body, spec->body, spec->body_bytes);
	} else {
		memcpy(*body, jump, sizeof jump);
		memcpy(*body + sizeof jump, &spec->target, 8);
	}
	region->next += SLOT_BYTES;
	return 0;
}

void ada_core_here(uint32_t *thread, uint64_t *seq)
{
	*thread = ADA_NONE;
	*seq = UINT64_MAX;
}

struct ada_open_call ada_core_open_call(void)
{
	return (struct ada_open_call){ 0 };
}

bool ada_core_call_lasts(struct ada_open_call call)
{
	return true;
}

uint64_t *ada_region_target(uint64_t entry, uint64_t *function_id)
{
	return NULL;
}

/* No test asks for filters. */
int ada_filter_build(struct ada_region *region, uint64_t entry, uint64_t twin, uint16_t does, uint64_t *filter)
{
	return -ENOSPC;
}

bool ada_filter_holds(uint64_t lock, uint64_t try_lock, uint64_t unlock)
{
	return false;
}

void ada_filter_offer(uint64_t entry, uint64_t filter)
{
}

int ada_region_seal(struct ada_region *region)
{
	return 0;
}

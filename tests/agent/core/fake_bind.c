/* What is hooked, and near stubs for calls of it: fake.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "agent/core/layout.h"
#include "agent/hook/hook.h"
#include "fake.h"

/* Its trampoline; 0: it is not hooked. */
static uint64_t entry_of(const void *function)
{
	const uint8_t *jump = function;
	int32_t distance;

	if (*jump == 0xf3)
		jump += 4;
	if (*jump != 0xe9)
		return 0;
	memcpy(&distance, jump + 1, 4);
	return (uint64_t)(jump + 5 + distance);
}

uint64_t fake_id(void *function)
{
	uint64_t entry = entry_of(function);

	return entry ? ((struct ada_hook *)(entry + ADA_BLOCK_BYTES))->function_id : 0;
}

static struct ada_region *region_make(const void *function, uint32_t stubs)
{
	struct ada_region *region;

	if (ada_region_reserve_near(&region, (uint64_t)function, (uint64_t)function, stubs))
		abort();
	return region;
}

static void *near_stub(struct ada_region *region, const void *function, uint64_t return_address)
{
	uint64_t stub = ada_region_near(region, entry_of(function), return_address);

	if (!stub)
		abort();
	return (void *)stub;
}

void *fake_near(void *function, const void *return_address)
{
	struct ada_region *region = region_make(function, 1);
	void *stub = near_stub(region, function, (uint64_t)return_address);

	if (ada_region_seal(region))
		abort();
	return stub;
}

/* The function that a direct call there calls, if that is one of those. */
static void *called(uint64_t call, void *const *begin, void *const *end)
{
	int32_t distance;

	if (*(const uint8_t *)call != 0xe8)
		return NULL;
	memcpy(&distance, (const void *)(call + 1), sizeof distance);
	while (begin < end && (uint64_t)*begin != call + 5 + distance)
		begin++;
	return begin < end && entry_of(*begin) ? *begin : NULL;
}

int fake_bind(void *const *begin, void *const *end)
{
	extern char __executable_start[], etext[];
	struct ada_region *region = region_make(*begin, 10000);
	int bound = 0;

	for (uint64_t call = (uint64_t)__executable_start; call + 5 <= (uint64_t)etext; call++) {
		void *function = called(call, begin, end);
		int32_t distance;

		if (!function)
			continue;
		distance = (int32_t)((uint64_t)near_stub(region, function, call + 5) - (call + 5));
		if (mprotect((void *)(call & ~4095ull), 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
			abort();
		memcpy((void *)(call + 1), &distance, sizeof distance);
		bound++;
	}
	if (ada_region_seal(region))
		abort();
	return bound;
}

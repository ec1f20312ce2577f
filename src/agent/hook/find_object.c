/* How unwinders in this process come to the tables that they read rightly (stubs.S, region.S).
 *
 *   stubs      whoever searches the agent's .eh_frame_hdr in memory finds the guarded FDE: the start changes that one word.
 *              Unwinders that are known by name are told of another one (unwinder.c)
 *   regions    belong to no module. libgcc asks _dl_find_object for them (since 12, with glibc since 2.35), and that is ours; for
 *              any other address the real one answers. Others are told by dl_iterate_phdr (unwinder.c)
 *
 * Unwinders call _dl_find_object from signal handlers and while the loader works: so ours takes no lock, and learns of the real one
 * beforehand.
 */
#include <dlfcn.h>
#include <sys/mman.h>
#include "abi/page.h"
#include "agent/hook/parts.h"
#include "agent/hook/view.h"

#pragma weak dlsym

typedef int find_function(void *address, struct dl_find_object *result);

extern char ada_stub_frames_guarded_fde[] __attribute__((visibility("hidden")));
extern char ada_stub_frames_guarded[] __attribute__((visibility("hidden")));
extern char ada_stub_frames_raised[] __attribute__((visibility("hidden")));
extern char ada_stub_frames_plain[] __attribute__((visibility("hidden")));

struct frames_header {	      /* .eh_frame_hdr as linkers write it */
	uint8_t encodings[4]; /* version, of .eh_frame's place, of the count, of the table */
	int32_t frames;
	uint32_t count;
	struct {
		int32_t start, fde;
	} table[]; /* reckoned from the header */
};

static find_function *real;
static struct ada_view views[ADA_VIEW_KINDS];

/* An unwinder may be at work before our constructor (an ifunc's resolver). */
ADA_SLOW static find_function *find_real_slow(void)
{
	__atomic_store_n(&real, dlsym ? (find_function *)dlsym(RTLD_NEXT, "_dl_find_object") : NULL, __ATOMIC_RELAXED);
	return real;
}

static bool guard(struct frames_header *header, int32_t *fde)
{
	char *first = (char *)((uint64_t)fde & -ADA_PAGE_BYTES),
	     *end = (char *)(((uint64_t)(fde + 1) + ADA_PAGE_BYTES - 1) & -ADA_PAGE_BYTES);

	if (ada_sys_failed(ada_sys_protect(first, end - first, PROT_READ | PROT_WRITE)))
		return false;
	*fde = ada_stub_frames_guarded_fde - (char *)header;
	ada_sys_protect(first, end - first, PROT_READ);
	return true;
}

bool ada_find_object_start(uint64_t address)
{
	static const char *const frames[] = { ada_stub_frames_guarded, ada_stub_frames_raised, ada_stub_frames_plain };
	static const uint8_t known[] = { 1, 0x1b, 0x03, 0x3b };
	find_function *find = (find_function *)address;
	struct frames_header *header;
	struct dl_find_object own;

	for (uint32_t kind = 0; kind < ADA_VIEW_KINDS; kind++)
		ada_view_fill(&views[kind], (uint64_t)ada_stubs, ADA_STUB_COUNT * ADA_STUB_BYTES, frames[kind]);
	__atomic_store_n(&real, find, __ATOMIC_RELAXED);
	if (!find || find(ada_stubs, &own))
		return false;
	header = own.dlfo_eh_frame;
	if (memcmp(header->encodings, known, sizeof known))
		return false;
	for (uint32_t i = 0; i < header->count; i++)
		if ((char *)header + header->table[i].start == ada_stubs)
			return guard(header, &header->table[i].fde);
	return false;
}

const struct ada_view *ada_stub_view(enum ada_view_kind kind, uint64_t *start)
{
	*start = (uint64_t)ada_stubs;
	return &views[kind];
}

ADA_EXPORTED int _dl_find_object(void *address, struct dl_find_object *result)
{
	find_function *find = __atomic_load_n(&real, __ATOMIC_RELAXED);
	const char *frames;
	int status;

	if (!find)
		find = find_real_slow();
	status = find ? find(address, result) : -1;
	frames = status && find ? ada_region_frames_of((uint64_t)address) : NULL;
	if (!frames)
		return status;
	status = find((void *)ada_stubs, result); /* finds our own module; then we answer as if these were its tables */
	result->dlfo_eh_frame = (void *)frames;
	return status;
}

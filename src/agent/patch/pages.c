/* Which pages of a module's text are about to change. The first write to each makes a private copy of it, by a fault; asked for in runs
 * beforehand, the copies take half the time.
 */
#include <sys/mman.h>
#include "abi/page.h"
#include "agent/patch/patch.h"

bool ada_pages_open(struct ada_pages *pages, const struct ada_module *module)
{
	pages->start = module->start & -ADA_PAGE_BYTES;
	pages->count = (module->end - pages->start) / ADA_PAGE_BYTES + 2;
	pages->changed = ada_sys_map(pages->count / 8 + 1);
	return pages->changed;
}

bool ada_pages_have(const struct ada_pages *pages, uint64_t address)
{
	uint64_t page = (address - pages->start) / ADA_PAGE_BYTES;

	return pages->changed[page / 8] >> page % 8 & 1;
}

bool ada_pages_add(struct ada_pages *pages, uint64_t address)
{
	uint64_t page = (address - pages->start) / ADA_PAGE_BYTES;
	bool was = ada_pages_have(pages, address);

	pages->changed[page / 8] |= 1u << page % 8;
	return !was;
}

void ada_pages_copy(const struct ada_pages *pages)
{
	uint64_t end;

	for (uint64_t page = 0; page < pages->count; page = end) {
		uint64_t start = pages->start + page * ADA_PAGE_BYTES;

		for (end = page; end < pages->count && pages->changed[end / 8] >> end % 8 & 1;)
			end++;
		if (end > page) /* where that fails, the writes make them */
			ada_sys_advise((void *)start, (end - page) * ADA_PAGE_BYTES, MADV_POPULATE_WRITE);
		end += end == page;
	}
}

void ada_pages_close(struct ada_pages *pages)
{
	if (pages->changed)
		ada_sys_unmap(pages->changed, pages->count / 8 + 1);
	pages->changed = NULL;
}

/* Whether the recorder lives, and whether it stands still: by words in memory, without descriptor or system call. They are true at once,
 * even where the recorder's parent has not waited for it (abi/wire.h).
 */
#include <sys/mman.h>
#include "abi/wire.h"
#include "agent/ground/sys.h"

#define STANDS_NS 5000000000ull /* so much waiting without a beat */

static const struct ada_presence unknown = { .owner = 1 };
static const struct ada_presence *presence = &unknown;
static uint64_t stood; /* beats + 1 when the recorder stood still; 0: it never did */

bool ada_presence_take(int fd)
{
	const struct ada_presence *page = ada_sys_map_fd(fd, ADA_PRESENCE_BYTES, PROT_READ, true);

	if (!page)
		return false;
	if (presence != &unknown)
		ada_sys_unmap((void *)presence, ADA_PRESENCE_BYTES);
	presence = page;
	return true;
}

const struct ada_presence *ada_presence_page(void)
{
	return presence == &unknown ? NULL : presence;
}

bool ada_presence_gone(void)
{
	uint32_t owner = __atomic_load_n(&presence->owner, __ATOMIC_ACQUIRE);

	return !owner || owner & ADA_PRESENCE_DIED;
}

static uint64_t beats(void)
{
	return __atomic_load_n(&presence->beats, __ATOMIC_RELAXED);
}

bool ada_presence_stands(struct ada_stand *stand, uint64_t wait_ns)
{
	uint64_t now = beats();

	if (stand->beats != now)
		*stand = (struct ada_stand){ now, 0 };
	else
		stand->ns += wait_ns;
	if (stand->ns < STANDS_NS || presence == &unknown)
		return false;
	__atomic_store_n(&stood, now + 1, __ATOMIC_RELAXED);
	return true;
}

bool ada_presence_stands_yet(void)
{
	return __atomic_load_n(&stood, __ATOMIC_RELAXED) == beats() + 1;
}

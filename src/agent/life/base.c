/* The program sets a thread pointer of its own: from then on our thread-local data is out of reach, and no hook may look for it. */
#include <asm/prctl.h>
#include "agent/life/life.h"

#define SELF_OFFSET 16 /* in glibc's thread control block: its own address */

static bool base_moved; /* what needs thread-local data of ours is left out */

static void base_leave(void)
{
	if (base_moved)
		return;
	ada_core_disable(ADA_DISABLE_MOVED_BASE);
	if (!ada_region_pass())
		ada_count_error();
	ada_crash_unwatch();
	base_moved = true;
}

void ada_base_moves(long code, uint64_t base)
{
	if (code == ARCH_SET_FS && !base_moved && base != (uint64_t)__builtin_thread_pointer())
		base_leave();
}

void ada_base_follow(void)
{
	for (uint32_t id = 0; id < ada_module_count(); id++)
		if (ada_module_at(id)->plan && ada_module_at(id)->plan->flags & ADA_PLAN_MOVES_BASE)
			base_leave();
}

bool ada_base_moved(void)
{
	uint64_t base = 0, self = 0;

	if (!base_moved)
		return false;
	return ada_sys_failed(ada_sys4(SYS_arch_prctl, ARCH_GET_FS, (long)&base, 0, 0)) ||
	       ada_sys_peek(&self, base + SELF_OFFSET, sizeof self) != sizeof self || self != base;
}

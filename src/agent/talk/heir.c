/* Announces what comes out of this process (abi/wire.h, struct ada_shm_heir): an image before it is executed, a fork's child that has no
 * recording. So the recorder can name processes that it never hears of.
 *
 * All this runs in vfork children, which share our memory, in signal handlers, and under seccomp: so it only stores to the segment, and
 * makes system calls only where the program has not confined itself.
 */
#include <fcntl.h>
#include "agent/ground/mem.h"
#include "agent/ground/sys.h"
#include "agent/talk/talk.h"

const struct ada_heir_ticket ada_heir_none = { ADA_NONE, ADA_NONE, 0 };

char *ada_heir_number(char *to, uint32_t number)
{
	char digits[10];
	int count = 0;

	do
		digits[count++] = '0' + number % 10;
	while (number /= 10);
	while (count)
		*to++ = digits[--count];
	return to;
}

/* The program may have given any pointer. */
static void path_copy(struct ada_shm_heir *heir, int directory, const char *path, int flags)
{
	static const char place[] = "/proc/self/fd/";
	char link[sizeof place + 10];
	long bytes = path ? ada_sys_peek(heir->path, (uint64_t)path, sizeof heir->path - 1) : 0;

	heir->path[bytes > 0 ? bytes : 0] = 0;
	if (bytes <= 0 || *path || !(flags & AT_EMPTY_PATH) || directory < 0)
		return;
	memcpy(link, place, sizeof place);
	*ada_heir_number(link + sizeof place - 1, directory) = 0;
	bytes = ada_sys_read_link(link, heir->path, sizeof heir->path - 1);
	heir->path[bytes > 0 ? bytes : 0] = 0;
}

/* NULL: the table is full. */
static struct ada_shm_heir *heir_take(struct ada_shm *shm)
{
	struct ada_shm_heir *heirs = (void *)((char *)shm + shm->heirs_offset);

	for (uint32_t i = 0; i < ADA_HEIRS; i++) {
		uint32_t state = ADA_HEIR_FREE;

		if (__atomic_compare_exchange_n(&heirs[i].state, &state, ADA_HEIR_TAKEN, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return &heirs[i];
	}
	return NULL;
}

struct ada_heir_ticket ada_heir_announce(struct ada_shm *shm, enum ada_heir_kind kind, int directory, const char *path, int flags)
{
	struct ada_heir_ticket ticket = ada_heir_none;
	struct ada_shm_heir *heir;
	bool calls = !ada_quiet() && !ada_quiet_filtered();
	uint32_t guest = ada_quiet_guest();

	if (!shm || !shm->heirs_offset)
		return ticket;
	ticket.provider = shm->provider;
	heir = heir_take(shm);
	if (!heir) {
		__atomic_add_fetch(&shm->heirs_unlisted, 1, __ATOMIC_RELAXED);
		return ticket;
	}
	ticket.heir = heir - (struct ada_shm_heir *)((char *)shm + shm->heirs_offset);
	ticket.generation = heir->generation = __atomic_add_fetch(&shm->heirs_generation, 1, __ATOMIC_RELAXED);
	heir->kind = kind;
	heir->own = kind < ADA_HEIR_FORK && !guest && (!calls || ada_process_pid() == ada_sys_pid());
	heir->pid = guest ? guest : calls ? ada_sys_pid() : heir->own ? ada_process_pid() : 0;
	heir->path[0] = 0;
	if (calls)
		path_copy(heir, directory, path, flags);
	__atomic_store_n(&heir->state, ADA_HEIR_ANNOUNCED, __ATOMIC_RELEASE);
	return ticket;
}

void ada_heir_withdraw(struct ada_shm *shm, const struct ada_heir_ticket *ticket)
{
	struct ada_shm_heir *heir;
	uint32_t state = ADA_HEIR_ANNOUNCED;

	if (!shm || ticket->provider == ADA_NONE)
		return;
	if (ticket->heir == ADA_NONE) {
		__atomic_sub_fetch(&shm->heirs_unlisted, 1, __ATOMIC_RELAXED);
		return;
	}
	heir = (struct ada_shm_heir *)((char *)shm + shm->heirs_offset) + ticket->heir;
	if (heir->generation == ticket->generation)
		__atomic_compare_exchange_n(&heir->state, &state, ADA_HEIR_FREE, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

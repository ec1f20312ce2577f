/* A thread's room: its shadow stack, and the stack of its slow paths (aside.c). One mapping, which belongs to a place of the
 * private table for the process's life.
 *
 *   0                                           offsetof(struct room, shadow)                     ADA_ROOM_BYTES
 *   +---------------------+----------------------+-------------+----------------------------------+
 *   | words, judgements   |       <- slow paths  | the rest    | shadow stack ->                  |
 *   +---------------------+----------------------+-------------+----------------------------------+
 *                                           |______one page________|
 *
 * What each thread uses lies at one place: of most rooms there is no more than that page, and one below it.
 *
 * A room reserves little, since a limit of address space counts what is reserved. A full shadow stack goes on in a mapping of its own,
 * four times as large. Its old place stays mapped: a hook that a handler interrupted behind its commit may look at a frame there once
 * more. A slow path's stack that grows too far down meets the judgements' places, which no control flow depends on.
 *
 * A fork's child may still be on its thread's stack (a handler in the midst of a wait), so the child keeps that room, whatever place it
 * gets.
 */
#include <sys/mman.h>
#include "abi/page.h"
#include "agent/core/state.h"
#include "agent/ground/space.h"

#define GROWN_BYTES 131072ull /* the first mapping of its own */
#define GROWN_FACTOR 4
#define WORDS 512	  /* pointers of an environment */
#define JUDGEMENTS 3	  /* of handlers that came in between */
#define STACK_BYTES 34816 /* of slow paths */
#define AT_HAND 1536	  /* of the page that a room's stack ends in, for frames and all that comes before them */
#define SPARED 8	  /* a shadow stack takes at most one part in so many of the address space that is left */

struct room {
	uint64_t words[WORDS];
	struct {
		_Alignas(16) char bytes[ADA_JUDGE_ROOM];
	} judge[JUDGEMENTS];
	_Alignas(16) char stack[STACK_BYTES];
	uint64_t shadow, shadow_bytes; /* where it lies now */
	uint32_t number;	       /* of the place */
	uint32_t words_tid;	       /* the last to take the words */
	uint32_t judging;	       /* how many of the judgements' places are in use, from the first on */
	uint64_t judges[JUDGEMENTS];   /* where on the stack the holder of each place is */
	uint32_t reserved[2];
	char first[]; /* the shadow stack, at first */
};
static_assert(offsetof(struct room, shadow) % ADA_PAGE_BYTES == ADA_PAGE_BYTES - AT_HAND, "both stacks begin in one page");

static __thread struct room *own;

static struct room *room_make(void)
{
	struct room *room = ada_sys_map(ADA_ROOM_BYTES);

	if (room) {
		room->shadow = (uint64_t)room->first;
		room->shadow_bytes = ADA_ROOM_BYTES - sizeof *room;
	}
	return room;
}

static void room_discard(struct room *room)
{
	if (room->shadow != (uint64_t)room->first)
		ada_sys_unmap((void *)room->shadow, room->shadow_bytes);
	ada_sys_unmap(room, ADA_ROOM_BYTES);
}

static void shadow_point(struct ada_thread *thread)
{
	thread->shadow = own->shadow + ADA_TAIL_CALLS_MAX * sizeof(struct ada_frame);
	thread->shadow_end = thread->shadow_limit = own->shadow + own->shadow_bytes;
}

bool ada_room_take(struct ada_thread *thread)
{
	struct room *there = (struct room *)ada_rooms[thread->number];

	if (own && there && there != own)
		room_discard(there);
	if (!own)
		own = there ? there : room_make();
	if (!own)
		return false;
	own->number = thread->number;
	ada_rooms[thread->number] = (uint64_t)own;
	shadow_point(thread);
	for (int i = 1; i <= ADA_TAIL_CALLS_MAX; i++)
		ada_frame_at(thread, -i)->slot = ~0ull; /* odd: equal to no slot */
	ada_slow_stack((uint64_t)own->stack, (uint64_t)own->stack + sizeof own->stack);
	return true;
}

void ada_room_leave(void)
{
	own = NULL;
	ada_slow_stack(0, 0);
}

void ada_room_forked(void)
{
	if (own)
		ada_rooms[own->number] = 0;
}

bool ada_room_grow(struct ada_thread *thread, uint64_t frames)
{
	const uint64_t most = (ADA_TAIL_CALLS_MAX + ADA_SHADOW_FRAMES) * sizeof(struct ada_frame);
	uint64_t wanted = (ADA_TAIL_CALLS_MAX + frames) * sizeof(struct ada_frame), bytes = own->shadow_bytes;
	void *grown;

	if (bytes >= wanted)
		return true;
	if (wanted > most)
		return false;
	for (bytes = bytes < GROWN_BYTES ? GROWN_BYTES : bytes * GROWN_FACTOR; bytes < wanted; bytes *= GROWN_FACTOR)
		;
	if (bytes > most)
		bytes = most;
	grown = ada_space_left() / SPARED > bytes ? ada_sys_map(bytes) : NULL;
	if (!grown)
		return false;
	memcpy(grown, (void *)own->shadow, (ADA_TAIL_CALLS_MAX + ada_frames(thread)) * sizeof(struct ada_frame));
	if (own->shadow != (uint64_t)own->first && !ada_quiet_filtered())
		ada_sys_advise((void *)own->shadow, own->shadow_bytes, MADV_DONTNEED);
	own->shadow = (uint64_t)grown;
	own->shadow_bytes = bytes;
	shadow_point(thread);
	return true;
}

/* A vfork's child has its parent's room, but not its number. The child may have the words, unless a handler made the child, between its
 * parent's taking them and the parent's exec. A taker that is neither of the two is gone. */
uint64_t *ada_room_words(size_t count)
{
	uint32_t tid = ada_sys_tid();

	if (!own || count > WORDS || own->words_tid == tid || (own->words_tid && own->words_tid == ada_core->threads[own->number].tid))
		return NULL;
	own->words_tid = tid;
	return own->words;
}

void ada_room_words_return(const uint64_t *words)
{
	if (own && words == own->words)
		own->words_tid = 0;
}

/* Whether a jump has left the holder: one who comes later on the same stack, and is not above the holder, came in between. */
static bool is_left(uint32_t number, uint64_t sp)
{
	const struct ada_thread *thread = &ada_core->threads[own->number];

	return sp >= own->judges[number] && sp < thread->stack_high && own->judges[number] >= thread->stack_low;
}

/* Handlers come in between and are done before this goes on: the last place taken is the first returned. Places whose holders were left
 * by a jump are returned with the place before, or when the next holder finds them. */
void *ada_judge_room(void)
{
	uint64_t sp = (uint64_t)__builtin_frame_address(0);
	uint32_t number = 0;

	while (own && number < own->judging && !is_left(number, sp))
		number++;
	if (!own || number == JUDGEMENTS)
		return NULL;
	own->judges[number] = sp;
	own->judging = number + 1;
	return &own->judge[number];
}

void ada_judge_room_return(void *room)
{
	if (own)
		own->judging = ((char *)room - (char *)own->judge) / sizeof own->judge[0];
}

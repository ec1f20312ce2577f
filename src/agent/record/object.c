/* OBJECT events: what the call of a mutex, condition, semaphore ... works on (abi/object.h, abi/record.h). And HOLDER events: who holds it.
 *
 * The hook comes here behind the commit of the CALL, where the policy's flags say so. Each event is a critical section of rseq, as the
 * hook's own: a handler that runs in between has its events first, and the section is tried anew. Where the chunk is full the event is
 * written by a slow path; that finds the call still open, or has nothing to say any more: a handler may have left it by a jump, or forked.
 */
#include <linux/rseq.h>
#include "abi/page.h"
#include "agent/record/lane.h"

void ada_event_named(const struct ada_judged *event);

#define TRIES 64 /* a program that single-steps itself interrupts each section */
#define RSEQ_CS offsetof(struct rseq, rseq_cs)
#define HOLDER_OFFSET 8 /* in a mutex of glibc (hook/filter.c) */
#define KIND_OFFSET 16
#define KIND_MASK 3u
#define KIND_RECURSIVE 1u

/* A field of a mutex whose first word has just been read (hook/filter.c), if it lies in the same page. */
static bool mutex_field(uint64_t mutex, uint32_t offset, uint32_t *value)
{
	uint64_t at = mutex + offset;

	if (at / ADA_PAGE_BYTES != mutex / ADA_PAGE_BYTES || (at + sizeof *value - 1) / ADA_PAGE_BYTES != mutex / ADA_PAGE_BYTES)
		return false;
	*value = __atomic_load_n((const uint32_t *)at, __ATOMIC_RELAXED);
	return true;
}

/* Who holds the mutex that a call waits for, as the mutex says; 0: nobody is known, or the thread itself, which may take it once more. */
static uint32_t holder_of(const struct ada_thread *thread, const struct ada_judged *event, uint64_t mutex)
{
	uint32_t frames = thread->index ? ada_frames(thread) : 0, holder, kind;
	const struct ada_frame *frame = ada_frame_at(thread, (int64_t)frames - 1);

	if (!frames || ada_frame_slot(frame) != event->slot || !ada_frame_hook(frame)->tells_holder ||
	    !mutex_field(mutex, HOLDER_OFFSET, &holder))
		return 0;
	if (holder == thread->tid && (!mutex_field(mutex, KIND_OFFSET, &kind) || (kind & KIND_MASK) == KIND_RECURSIVE))
		return 0;
	return holder;
}

uint32_t ada_objects_of(const struct ada_thread *thread, const struct ada_judged *event, struct ada_said said[ADA_OBJECTS_MAX])
{
	const struct ada_registers *registers = event->registers;
	uint8_t flags = ada_policy_flags()[event->number];

	if (!(flags & ADA_POLICY_OBJECTS) || event->kind != ADA_EVENT_CALL || !registers)
		return 0;
	said[0] = said[1] = (struct ada_said){ ADA_EVENT_OBJECT, registers->rsi };
	if (flags & ADA_POLICY_FUTEX)
		return registers->rdi == SYS_futex;
	said[0].value = registers->rdi;
	if (flags & ADA_POLICY_OBJECT_PAIR)
		return 2;
	said[1] = (struct ada_said){ ADA_EVENT_HOLDER, holder_of(thread, event, registers->rdi) };
	return said[1].value ? 2 : 1;
}

/* Where an event is to go: as the thread is, and shall still be when the event is committed. */
struct place {
	uint64_t chunk, state;
	uint64_t event; /* address */
	uint64_t next;	/* what the commit word is to be */
	uint64_t *meta; /* of the detail record that belongs to it, or `unused` */
	uint64_t unused;
};

/* Commits the event. False: something else came first. */
static bool place_commit(const struct ada_thread *thread, const struct place *place, const struct ada_event *event)
{
	uint64_t cs = (uint64_t)ada_setup.rseq_offset + RSEQ_CS, none = ADA_DETAIL_META(0, ADA_DETAIL_NONE_BYTES);

	__asm__ goto(".pushsection .data.rel.local,\"aw\"\n"
		     "\t.balign 32\n"
		     "7:\t.long 0,0\n"
		     "\t.quad 1f, 2f-1f, 3f\n"
		     "\t.popsection\n"
		     "\tlea 7b(%%rip),%%rax\n"
		     "\tmov %%rax,%%fs:(%[cs])\n"
		     "1:\tmov %[chunk],%%rax\n"
		     "\tcmp %c[index](%[thread]),%%rax\n"
		     "\tjne %l[other]\n"
		     "\tmov %[state],%%rdx\n"
		     "\tcmp (%%rax),%%rdx\n"
		     "\tjne %l[other]\n"
		     "\tmov (%[from]),%%rax\n"
		     "\tmov %%rax,(%[to])\n"
		     "\tmov 8(%[from]),%%rax\n"
		     "\tmov %%rax,8(%[to])\n"
		     "\tmov 16(%[from]),%%rax\n"
		     "\tmov %%rax,16(%[to])\n"
		     "\tmov 24(%[from]),%%rax\n"
		     "\tmov %%rax,24(%[to])\n"
		     "\tmov %[none],%%rax\n"
		     "\tmov %%rax,(%[meta])\n"
		     "\tmov %[chunk],%%rax\n"
		     "\tmov %[next],(%%rax)\n"
		     "2:\tjmp 4f\n"
		     "\t.long 0x53053053\n"
		     "3:\tjmp %l[other]\n"
		     "4:\n"
		     :
		     : [cs] "r"(cs), [thread] "r"(thread), [chunk] "m"(place->chunk), [state] "m"(place->state), [to] "r"(place->event),
		       [from] "r"(event), [meta] "r"(place->meta), [none] "m"(none), [next] "r"(place->next),
		       [index] "i"(offsetof(struct ada_thread, index))
		     : "rax", "rdx", "cc", "memory"
		     : other);
	return true;
other:
	return false;
}

/* False: there is no room, or the thread's hooks may not write by themselves. */
static bool place_find(const struct ada_thread *thread, struct place *place)
{
	uint64_t detail, record;

	place->chunk = __atomic_load_n(&thread->index, __ATOMIC_RELAXED);
	if (!place->chunk)
		return false;
	place->state = __atomic_load_n((const uint64_t *)place->chunk, __ATOMIC_RELAXED);
	detail = __atomic_load_n(&thread->detail, __ATOMIC_RELAXED); /* last: where it is another chunk's, the state has changed, too */
	place->event = place->chunk + ada_state_event(place->state);
	place->next = place->state + ADA_EVENT_BYTES;
	place->meta = &place->unused;
	if (detail) {
		record = detail + (place->state >> ADA_COMMIT_DETAIL) * ADA_DETAIL_UNIT;
		place->meta = &((struct ada_detail *)record)->meta;
		place->next += (uint64_t)(ADA_DETAIL_NONE_BYTES / ADA_DETAIL_UNIT) << ADA_COMMIT_DETAIL;
	}
	return ada_state_has_room(place->state);
}

/* The call's time, where nothing came in between: then time doesn't fall. */
static uint64_t time_at(const struct place *place, const struct ada_judged *call)
{
	const struct ada_event *before = (const struct ada_event *)place->event - 1;

	return before->timestamp_ns == call->counter ? call->counter : ada_sys_counter();
}

static bool object_commit(const struct ada_judged *call, const struct ada_said *said)
{
	const struct ada_thread *thread = ada_self;
	struct ada_event event = { .function_id = said->value,
				   .event_kind = said->kind,
				   .call_depth = call->depth * ADA_EVENT_DEPTH_UNIT,
				   .detail_seq = ADA_NO_DETAIL };
	struct place place;

	for (uint32_t tries = 0; tries < TRIES && place_find(thread, &place); tries++) {
		event.timestamp_ns = time_at(&place, call);
		if (place_commit(thread, &place, &event))
			return true;
	}
	return false;
}

void ada_object_write(struct ada_thread *thread, const struct ada_judged *call, const struct ada_said *said)
{
	const struct ada_frame *frame = ada_frame_at(thread, (int64_t)ada_frames(thread) - 1);
	uint32_t depth = call->depth * ADA_EVENT_DEPTH_UNIT;

	if (ada_frames(thread) && ada_frame_slot(frame) == call->slot && frame->depth == depth &&
	    ada_frame_hook(frame)->function_id == call->function_id)
		ada_event_write_other(thread, said->kind, said->value, depth);
}

/* A function of its own: what it keeps on the program's stack is gone where rules are judged. */
static __attribute__((noinline)) void objects_commit(const struct ada_judged *event)
{
	struct ada_said said[ADA_OBJECTS_MAX];
	uint32_t count = ada_objects_of(ada_self, event, said);

	for (uint32_t i = 0; i < count; i++)
		if (!object_commit(event, &said[i]))
			ada_object_slow(event, &said[i]);
}

/* From the hook, behind the commit of an event that the policy's flags point at. */
void ada_event_named(const struct ada_judged *event)
{
	uint8_t flags = ada_policy_flags()[event->number];

	if (flags & ADA_POLICY_CAPTURE)
		ada_capture(ada_self, event, false);
	objects_commit(event);
	if (event->kind != ADA_EVENT_CALL || flags & ADA_POLICY_CALL || !(flags & ADA_POLICY_NAMES_CALL))
		ada_judge(event);
}

/* A recursion that used up the stack. The signal's handler needs a stack, too: where the program gave it none of its own, the kernel ends
 * the process without a record of the crash. Then the thread is the one that is deepest in a recursion at the end. */
#include <signal.h>
#include "query/crash/internal.h"
#include "query/session/windows.h"

#define CYCLE_MAX 32	     /* functions that call each other in turn */
#define LEAST 200	     /* calls */
#define LEAST_UNSEEN 5000    /* where no record says what a call took */
#define LEAST_BYTES 16384    /* of stack: no thread has less */
#define INNERMOST 16	     /* calls that the last round of the recursion may have made, and was in */
#define ROUNDS_BACK 16	     /* rounds so far apart are compared */
#define NEAR_BYTES (1 << 20) /* from the stack pointer to the address that was not there: a frame may be large */

/* After how many frames, from the innermost outwards, the same functions come again, over all of LEAST frames; 0: they don't. */
static size_t cycle_of(const struct ada_stack *path)
{
	const struct ada_frame *last = path->frames.items + path->frames.count - 1;

	for (size_t cycle = 1; cycle <= CYCLE_MAX && path->frames.count >= LEAST; cycle++) {
		size_t same = 0;

		while (same + cycle < LEAST && last[-(ptrdiff_t)same].function_id == last[-(ptrdiff_t)(same + cycle)].function_id)
			same++;
		if (same + cycle == LEAST)
			return cycle;
	}
	return 0;
}

/* How many frames, from the innermost one outwards, belong to the recursion. */
static size_t frames_of(const struct ada_stack *path, size_t cycle)
{
	const struct ada_frame *frames = path->frames.items;
	size_t at = path->frames.count - cycle;

	while (at-- > 0)
		if (frames[at].function_id != frames[at + cycle].function_id)
			break;
	return path->frames.count - 1 - at;
}

/* Stack between the two calls, by their records; 0: they have none. */
static uint64_t bytes_between(const struct ada_thread *thread, const struct ada_frame *outer, const struct ada_frame *inner)
{
	struct atf_detail above, below;

	return !ada_thread_detail(thread, inner->position, &below) && !ada_thread_detail(thread, outer->position, &above) &&
			       above.sp > below.sp ?
		       above.sp - below.sp :
		       0;
}

/* Stack that a round of the recursion takes, by the innermost frames' records; 0: they have none. */
static uint64_t round_bytes(const struct ada_thread *thread, const struct ada_stack *path, size_t cycle)
{
	const struct ada_frame *last = path->frames.items + path->frames.count - 1;
	uint64_t bytes = 0;

	for (size_t i = 0; i < CYCLE_MAX && !bytes; i++, last--)
		bytes = bytes_between(thread, last - cycle, last);
	return bytes;
}

/* Whether rounds take one as much as another, as far as their records go back: only then all of them took so much. */
static bool is_even(const struct ada_thread *thread, const struct ada_stack *path, size_t cycle, uint64_t bytes)
{
	struct ada_stack outer = *path;
	uint64_t before;

	if (path->frames.count <= (ROUNDS_BACK + 1) * cycle + CYCLE_MAX)
		return true;
	outer.frames.count -= ROUNDS_BACK * cycle;
	before = round_bytes(thread, &outer, cycle);
	return !before || before == bytes;
}

/* A recursion on a thread that is deeper than those seen so far: of the call at `frame`. */
static void blame(struct ada_crash_cause *cause, const struct ada_thread *thread, struct ada_stack *path, size_t frame, size_t depth)
{
	cause->kind = ADA_CRASH_OVERFLOW;
	cause->thread = thread;
	cause->depth = depth;
	cause->bytes = 0;
	cause->frame = frame;
	if (path != &cause->path) {
		struct ada_stack former = cause->path;

		cause->path = *path;
		*path = former;
	}
}

static bool is_enough(uint64_t bytes, size_t frames)
{
	return bytes ? bytes >= LEAST_BYTES : frames >= LEAST_UNSEEN;
}

/* The same calls again and again. *any: there is such a cycle. Whether it is taken. */
static bool look_at(struct ada_crash_cause *cause, const struct ada_thread *thread, struct ada_stack *path, bool *any)
{
	size_t cycle = cycle_of(path), frames = cycle ? frames_of(path, cycle) : 0;
	uint64_t round = cycle ? round_bytes(thread, path, cycle) : 0, bytes = cycle ? round * (frames / cycle) : 0;
	bool even;

	*any |= cycle;
	if (!cycle || !is_enough(bytes, frames) || frames / cycle <= cause->depth)
		return false;
	even = bytes && is_even(thread, path, cycle, round);
	blame(cause, thread, path, path->frames.count - 1, frames / cycle);
	cause->bytes = even ? bytes : 0;
	return true;
}

/* A descent whose rounds differ, as a parser's do. */
struct descent {
	size_t frame;	      /* of the function that comes most often: its innermost call, ... */
	size_t times, frames; /* ... how many there are, none more than CYCLE_MAX calls behind the next, and how many calls in all */
	uint64_t bytes;	      /* that all of them take, as the innermost ROUNDS_BACK say; 0: these have no records */
};

static struct descent descent_from(const struct ada_thread *thread, const struct ada_stack *path, size_t frame)
{
	const struct ada_frame *frames = path->frames.items;
	struct descent descent = { .frame = frame };
	size_t last = frame, back = frame;

	for (size_t at = frame + 1; at-- > 0 && last - at <= CYCLE_MAX;) {
		if (frames[at].function_id != frames[frame].function_id)
			continue;
		last = at;
		if (descent.times++ == ROUNDS_BACK)
			back = at;
	}
	descent.frames = path->frames.count - last;
	if (back != frame)
		descent.bytes = bytes_between(thread, &frames[back], &frames[frame]) / ROUNDS_BACK * descent.times;
	return descent;
}

static void look_for_descent(struct ada_crash_cause *cause, const struct ada_thread *thread, struct ada_stack *path)
{
	struct descent best = {};

	for (size_t i = 0; i < CYCLE_MAX && i < path->frames.count; i++) {
		struct descent one = descent_from(thread, path, path->frames.count - 1 - i);

		if (one.times > best.times)
			best = one;
	}
	if (best.times >= LEAST && is_enough(best.bytes, best.frames) && best.times > cause->depth)
		blame(cause, thread, path, best.frame, best.times);
}

/* The recursion may have made the innermost calls: the stack may end in any of them. */
static void look_below(struct ada_crash_cause *cause, const struct ada_thread *thread, struct ada_stack *path)
{
	size_t all = path->frames.count;
	bool taken = false, any = false;

	for (size_t i = 0; i < INNERMOST && i < all && !taken; i++) {
		path->frames.count = all - i;
		taken = look_at(cause, thread, path, &any);
	}
	(taken ? &cause->path : path)->frames.count = all;
	if (!any)
		look_for_descent(cause, thread, path);
}

/* Whether what was accessed lies just where the stack pointer is. */
static bool is_at_stack(const struct ada_crash_cause *cause)
{
	uint64_t sp = ada_crash_number(cause, "rsp"), address = ada_crash_number(cause, "faultAddress");

	return address && (address > sp ? address - sp : sp - address) < NEAR_BYTES;
}

int ada_crash_overflowed(struct ada_crash_cause *cause)
{
	const struct ada_process *process = cause->process;
	int result = 0;

	if (cause->signal != SIGSEGV && cause->signal != SIGBUS)
		return 0;
	if (cause->recorded) {
		if (cause->thread && is_at_stack(cause))
			look_below(cause, cause->thread, &cause->path);
		return 0;
	}
	for (size_t i = 0; i < process->thread_count && !result; i++) {
		const struct ada_thread *thread = &process->session->threads.items[process->first_thread + i];
		struct ada_stack path = {};

		if (!thread->events || !thread->count)
			continue;
		result = ada_stack_at(&path, thread, thread->count);
		if (!result)
			look_below(cause, thread, &path);
		ada_stack_close(&path);
	}
	if (cause->thread) {
		cause->end = cause->thread->count;
		cause->ns = atf_thread_get(cause->thread->events, cause->end - 1)->timestamp_ns;
	}
	return result;
}

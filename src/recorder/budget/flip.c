/* Every thread is stopped, and only then are bytes changed: no CPU runs them meanwhile, and each thread sees the new ones when it goes
 * on, behind its return from the kernel.
 *
 * Out is safe wherever threads are. The bytes of a patch are one jump, in whose midst no thread can stand; trampolines, near stubs and
 * return stubs stay where they are, so a thread in any of them goes on as it would have; calls in progress return as ever. Back is safe
 * where no thread stands between the instructions that the hook has a copy of, and no handler would return there. */
#include "recorder/budget/flip.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include "base/clock.h"
#include "recorder/budget/spans.h"
#include "recorder/late/late_stacks.h"

#define LOOK_PART 2 /* of a stop is for the look at stacks; the rest is for the words */

struct attempt {
	struct ada_flips *flips;
	struct ada_spans *spans;
	struct ada_flip **back; /* those whose patch is to come back, by its address: threads may be in their way */
	size_t back_count;
	struct ada_error error;
	int status;
	uint64_t deadline_ns, still_ns, read_ns, written_ns;
};

/* Of those that are in the way already. */
static bool wants_room(const struct ada_flip *flip)
{
	return !flip->out && !flip->first && flip->words->patch;
}

static uint64_t patch_of(const struct ada_flip *flip)
{
	return flip->words->items.items->at;
}

static int compare_patches(const void *left, const void *right)
{
	uint64_t a = patch_of(*(struct ada_flip *const *)left), b = patch_of(*(struct ada_flip *const *)right);

	return (a > b) - (a < b);
}

static int sort_back(struct attempt *attempt)
{
	const struct ada_flips *flips = attempt->flips;

	attempt->back = calloc(flips->count + 1, sizeof(struct ada_flip *));
	for (size_t i = 0; i < flips->count && attempt->back; i++)
		if (wants_room(&flips->items[i]))
			attempt->back[attempt->back_count++] = &flips->items[i];
	if (attempt->back_count)
		qsort(attempt->back, attempt->back_count, sizeof(struct ada_flip *), compare_patches);
	return attempt->back ? 0 : ENOMEM;
}

static struct ada_late_range range_of(const struct attempt *attempt)
{
	struct ada_late_range range = { UINT64_MAX, 0 };

	for (size_t i = 0; i < attempt->back_count; i++) {
		uint64_t start = patch_of(attempt->back[i]), end = start + attempt->back[i]->words->copied;

		range.start = start < range.start ? start : range.start;
		range.end = end > range.end ? end : range.end;
	}
	return range;
}

/* What a patch was copied from, but its first byte: pointers to the function hold that, and a thread there runs whatever stands there. */
static void note_address(void *context, uint64_t address)
{
	const struct attempt *attempt = context;
	size_t low = 0, high = attempt->back_count;

	while (low < high) { /* how many patches begin before the address */
		size_t middle = low + (high - low) / 2;

		if (patch_of(attempt->back[middle]) < address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low && address - patch_of(attempt->back[low - 1]) < attempt->back[low - 1]->words->copied)
		attempt->back[low - 1]->status = -EBUSY;
}

/* Without memory, or time, for the look nothing is put back. */
static void note_threads(struct attempt *attempt, const struct ada_hold *hold)
{
	const struct ada_stacks_look look = { range_of(attempt), attempt->deadline_ns - attempt->flips->limit_ns / LOOK_PART, note_address,
					      attempt };
	int status = 0;

	if (!attempt->back_count)
		return;
	for (size_t i = 0; i < hold->threads.count && !status; i++) {
		if (hold->threads.items[i].stopped)
			note_address(attempt, hold->threads.items[i].registers.rip);
		status = ada_stacks_look(hold, &hold->threads.items[i], &look);
	}
	for (size_t i = 0; status && i < attempt->back_count; i++)
		attempt->back[i]->status = -EAGAIN;
}

static void change(struct attempt *attempt, const struct ada_hold *hold)
{
	struct ada_flips *flips = attempt->flips;
	uint64_t from = ada_clock_boottime_ns(), until = ada_pace_reads_until(flips->pace, hold->threads.count, from, attempt->deadline_ns),
		 read;

	ada_spans_read(attempt->spans, flips->items, flips->count, until);
	read = ada_clock_boottime_ns();
	ada_spans_write(attempt->spans, flips->items, flips->count,
			ada_pace_writes_until(flips->pace, hold->threads.count, attempt->deadline_ns));
	attempt->read_ns = until ? read - from : 0;
	attempt->written_ns = ada_clock_boottime_ns() - read;
}

/* A whole process waits for this thread: where it may, it goes before all that isn't of real time, until it ends. */
static bool take_precedence(void)
{
	const struct sched_param first = { .sched_priority = sched_get_priority_min(SCHED_FIFO) };

	return !pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
}

/* A thread of its own: whatever is still held when it ends, the kernel lets go. */
static void *run(void *argument)
{
	struct attempt *attempt = argument;
	struct ada_flips *flips = attempt->flips;
	struct ada_hold hold = {
		.pid = flips->pid, .deadline_ns = flips->from_ns + flips->wait_ns, .limit_ns = flips->limit_ns, .error = &attempt->error
	};
	uint64_t released_ns;
	size_t threads;

	hold.precedes = take_precedence();
	attempt->status = ada_hold_all(&hold);
	attempt->still_ns = hold.still_ns;
	attempt->deadline_ns = hold.still_ns + flips->limit_ns;
	if (!attempt->status) {
		note_threads(attempt, &hold);
		change(attempt, &hold);
	}
	flips->to_ns = ada_clock_boottime_ns();
	threads = hold.threads.count;
	ada_hold_release(&hold);
	released_ns = ada_clock_boottime_ns() - flips->to_ns;
	flips->to_ns += released_ns;
	flips->cpu_ns = ada_clock_thread_ns() - hold.still_cpu_ns;
	ada_pace_note(flips->pace, threads, attempt->read_ns, attempt->written_ns, released_ns);
	return NULL;
}

int ada_flips_run(struct ada_flips *flips, struct ada_error *error)
{
	struct ada_spans spans;
	struct attempt attempt = { .flips = flips, .spans = &spans };
	pthread_t thread;
	int status;

	for (size_t i = 0; i < flips->count; i++) {
		flips->items[i].status = 0;
		flips->items[i].done = flips->items[i].first;
	}
	status = -ada_spans_open(&spans, flips->pid, flips->memory, flips->items, flips->count);
	status = status ? status : sort_back(&attempt);
	flips->from_ns = ada_clock_boottime_ns();
	if (!status)
		status = pthread_create(&thread, NULL, run, &attempt);
	if (!status)
		pthread_join(thread, NULL);
	ada_spans_close(&spans);
	free(attempt.back);
	if (status)
		return ada_error_system(error, status, "no memory or thread to change hooks with");
	flips->still_ns = attempt.still_ns ? flips->to_ns - attempt.still_ns : 0;
	return attempt.status ? ada_error_set(error, -attempt.status, "%s", attempt.error.text) : 0;
}

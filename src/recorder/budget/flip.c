/* Every thread is stopped, and only then are bytes changed: no CPU runs them meanwhile, and each thread sees the new ones when it goes
 * on, behind its return from the kernel.
 *
 * Out is safe wherever threads are. The bytes of a patch are one jump, in whose midst no thread can stand; trampolines, near stubs and
 * return stubs stay where they are, so a thread in any of them goes on as it would have; calls in progress return as ever. Back is safe
 * where no thread stands between the instructions that the hook has a copy of, and no handler would return there. */
#include "recorder/budget/flip.h"
#include <errno.h>
#include <pthread.h>
#include "base/clock.h"
#include "recorder/budget/spans.h"
#include "recorder/late/late_stacks.h"

struct attempt {
	struct ada_flips *flips;
	struct ada_spans *spans;
	struct ada_error error;
	int status;
	uint64_t deadline_ns, still_ns, read_ns, written_ns;
};

/* What a patch was copied from, but its first byte: pointers to the function hold that, and a thread there runs whatever stands there. */
static bool is_inside(const struct ada_flip *flip, uint64_t address)
{
	return address - (flip->words->items.items->at + 1) < flip->words->copied - 1;
}

static bool wants_room(const struct ada_flip *flip)
{
	return !flip->out && !flip->status && flip->words->patch;
}

static struct ada_late_range span_of(const struct ada_flips *flips)
{
	struct ada_late_range span = { UINT64_MAX, 0 };

	for (size_t i = 0; i < flips->count; i++) {
		const struct ada_words *words = flips->items[i].words;
		uint64_t at;

		if (!wants_room(&flips->items[i]))
			continue;
		at = words->items.items->at;
		span.start = at < span.start ? at : span.start;
		span.end = at + words->copied > span.end ? at + words->copied : span.end;
	}
	return span;
}

static void note_address(void *context, uint64_t address)
{
	struct ada_flips *flips = context;

	for (size_t i = 0; i < flips->count; i++)
		if (wants_room(&flips->items[i]) && is_inside(&flips->items[i], address))
			flips->items[i].status = -EBUSY;
}

/* Without memory, or time, for the look nothing is put back. */
static void note_threads(struct attempt *attempt, const struct ada_hold *hold)
{
	struct ada_flips *flips = attempt->flips;
	const struct ada_stacks_look look = { span_of(flips), attempt->deadline_ns, note_address, flips };
	int status = 0;

	if (!look.span.end)
		return;
	for (size_t i = 0; i < hold->threads.count && !status; i++) {
		if (hold->threads.items[i].stopped)
			note_address(flips, hold->threads.items[i].registers.rip);
		status = ada_stacks_look(hold, &hold->threads.items[i], &look);
	}
	for (size_t i = 0; status && i < flips->count; i++)
		if (wants_room(&flips->items[i]))
			flips->items[i].status = -EAGAIN;
}

static void change(struct attempt *attempt, const struct ada_hold *hold)
{
	struct ada_flips *flips = attempt->flips;
	uint64_t from = ada_clock_boottime_ns(), until = ada_pace_reads_until(flips->pace, hold->threads.count, from, attempt->deadline_ns),
		 read;

	ada_spans_read(attempt->spans, flips->items, flips->count, until);
	read = ada_clock_boottime_ns();
	ada_spans_write(attempt->spans, flips->items, flips->count);
	attempt->read_ns = until ? read - from : 0;
	attempt->written_ns = ada_clock_boottime_ns() - read;
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
	ada_pace_note(flips->pace, threads, attempt->read_ns, attempt->written_ns, released_ns);
	return NULL;
}

int ada_flips_run(struct ada_flips *flips, struct ada_error *error)
{
	struct ada_spans spans;
	struct attempt attempt = { .flips = flips, .spans = &spans };
	pthread_t thread;
	int status;

	for (size_t i = 0; i < flips->count; i++)
		flips->items[i].status = 0;
	status = -ada_spans_open(&spans, flips->pid, flips->memory, flips->items, flips->count);
	flips->from_ns = ada_clock_boottime_ns();
	if (!status)
		status = pthread_create(&thread, NULL, run, &attempt);
	if (!status)
		pthread_join(thread, NULL);
	ada_spans_close(&spans);
	if (status)
		return ada_error_system(error, status, "no memory or thread to change hooks with");
	flips->still_ns = attempt.still_ns ? flips->to_ns - attempt.still_ns : 0;
	return attempt.status ? ada_error_set(error, -attempt.status, "%s", attempt.error.text) : 0;
}

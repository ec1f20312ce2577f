/* A process: for how long it ran, how it ended, what was recorded of it; and what its threads did. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "query/narrate/parts.h"

#define THREADS_TOLD 16	      /* of a process: those with the most events */
#define FUNCTIONS_TOLD 3      /* of a thread */
#define LATE_NS 1000000000ull /* an end so long after the last event is told as "at the latest" */

static void put_exit(FILE *stream, const json_object *exit)
{
	const char *kind = ada_json_text(exit, "kind", "unknown");
	char name[ADA_WORDS];

	if (!strcmp(kind, "exited"))
		fprintf(stream, "ended with exit status %d", (int)ada_json_u64(exit, "status", 0));
	else if (!strcmp(kind, "signal"))
		fprintf(stream, "was killed by %s", ada_words_signal((int)ada_json_u64(exit, "signal", 0), name));
	else if (!strcmp(kind, "exec"))
		fprintf(stream, "became %s by exec", ada_json_text(exit, "program", "another program"));
	else if (!strcmp(kind, "running"))
		fputs("had not ended when this was last written", stream);
	else
		fputs("ended, how is not known", stream);
}

static void tell_life(struct ada_story *story, const struct ada_process *process)
{
	const json_object *manifest = process->manifest, *recording = ada_json_get(manifest, "recording");
	uint64_t start_ns = ada_json_u64(manifest, "startNs", story->session->start_ns), end_ns = ada_json_u64(manifest, "endNs", 0);
	char time[ADA_WORDS], duration[ADA_UNITS_TEXT];
	struct ada_telling telling;
	uint64_t last_ns;
	bool late;

	if (!manifest || !ada_telling_open(story, &telling))
		return;
	last_ns = ada_session_last_ns(story->session, process->first_thread, process->thread_count);
	if (!end_ns)
		end_ns = ada_process_end_ns(process);
	/* The recorder may see the end late, where it has the ends of many others to see to. */
	late = last_ns && ada_json_get(manifest, "endNs") && end_ns > last_ns + LATE_NS;
	fprintf(telling.stream, "Process %" PRIu32 " ran %s from %s for %s%s", process->pid,
		ada_json_text(manifest, "program", "an unknown program"), ada_words_time(story, start_ns, time), late ? "at most " : "",
		ada_format_duration(end_ns > start_ns ? end_ns - start_ns : 0, duration));
	if (late)
		fprintf(telling.stream, ", its last event at %s,", ada_words_time(story, last_ns, time));
	fputs(" and ", telling.stream);
	put_exit(telling.stream, ada_json_get(manifest, "exit"));
	fputs(".", telling.stream);
	ada_telling_say(story, "process", &telling);
	ada_narrate_cite_file(story, process, "manifest.json", "exit");
	for (size_t i = 0; i < process->thread_count; i++)
		if (ada_narrate_selects_thread(story, &story->session->threads.items[process->first_thread + i]))
			ada_narrate_cite_thread(story, &story->session->threads.items[process->first_thread + i]);
	if (!process->finalized)
		ada_narrate_say(story, "unfinished", "Its recording is not finished: it still goes on, or was left by a crash.");
	else if (!process->complete)
		ada_narrate_say(story, "unfinished", "It was not recorded to its end: %s.",
				ada_json_text(recording, "reason", "no reason is known"));
	if (!process->complete)
		ada_narrate_cite_file(story, process, "manifest.json", process->finalized ? "recording" : "finalized");
}

/* Tells what the recorder did not hook, could not keep, or made the program wait for. */
static void tell_recording(struct ada_story *story, const struct ada_process *process)
{
	const json_object *hooks = ada_json_get(process->manifest, "hooks"), *buffering = ada_json_get(process->manifest, "buffering");
	const json_object *index = ada_json_get(buffering, "index");
	uint64_t functions = ada_json_u64(hooks, "functions", 0), waits = ada_json_u64(index, "waits", 0);
	uint64_t dropped = ada_json_u64(ada_json_get(buffering, "detail"), "dropped", 0);
	uint64_t overwritten = ada_json_u64(ada_json_get(process->manifest, "index_lane"), "overwritten", 0);
	char number[ADA_WORDS], hooked[ADA_WORDS], duration[ADA_UNITS_TEXT];

	if (functions) {
		ada_narrate_say(story, "hooked", "Of %s function%s of the traced modules %s %s hooked.",
				ada_format_grouped(functions, number), ada_words_s(functions),
				ada_format_grouped(ada_json_u64(hooks, "hooked", 0), hooked),
				ada_json_u64(hooks, "hooked", 0) == 1 ? "was" : "were");
		ada_narrate_cite_file(story, process, "manifest.json", "hooks");
	}
	if (waits) {
		ada_narrate_say(story, "waited", "The program waited %s time%s for the recorder, %s in all.",
				ada_format_grouped(waits, number), ada_words_s(waits),
				ada_format_duration(ada_json_u64(index, "waitNs", 0), duration));
		ada_narrate_cite_file(story, process, "manifest.json", "buffering.index");
	}
	if (overwritten) {
		ada_narrate_say(story, "lost", "%s older event%s overwritten by newer ones, as asked.",
				ada_format_grouped(overwritten, number), overwritten == 1 ? " was" : "s were");
		ada_narrate_cite_file(story, process, "manifest.json", "index_lane.overwritten");
	}
	if (dropped) {
		ada_narrate_say(story, "detail-dropped", "%s event%s captured without detail, for no chunk of the buffer was free.",
				ada_format_grouped(dropped, number), dropped == 1 ? " was" : "s were");
		ada_narrate_cite_file(story, process, "manifest.json", "buffering.detail.dropped");
	}
}

/* --- its threads -------------------------------------------------------------------------------------------------------- */

static int compare_busy(const void *left, const void *right)
{
	const struct ada_thread *a = *(const struct ada_thread *const *)left, *b = *(const struct ada_thread *const *)right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static int compare_self(const void *left, const void *right)
{
	const struct ada_function_stats *a = *(struct ada_function_stats *const *)left, *b = *(struct ada_function_stats *const *)right;

	if (a->self_ns != b->self_ns)
		return a->self_ns > b->self_ns ? -1 : 1;
	if (a->calls != b->calls)
		return a->calls > b->calls ? -1 : 1;
	return a->function_id < b->function_id ? -1 : a->function_id > b->function_id; /* of one process: its order in the module */
}

static void put_functions(struct ada_story *story, FILE *stream, const struct ada_thread *thread, const struct ada_stats *stats)
{
	char name[ADA_WORDS_NAME], number[ADA_WORDS], duration[ADA_UNITS_TEXT];
	size_t told = stats->functions.count < FUNCTIONS_TOLD ? stats->functions.count : FUNCTIONS_TOLD;

	if (!told)
		return;
	fputs(told == 1 ? "; its own time was in " : "; most of its own time was in ", stream);
	for (size_t i = 0; i < told; i++) {
		const struct ada_function_stats *function = stats->functions.items[i];

		fprintf(stream, "%s%s (%s in %s call%s)",
			!i	      ? "" :
			i + 1 == told ? " and " :
					", ",
			ada_words_function(story, thread->process, function->function_id, name),
			ada_format_duration(function->self_ns, duration), ada_format_grouped(function->calls, number),
			ada_words_s(function->calls));
	}
}

/* Whether the selected thread and time are all that there is: then the recording's statistics are theirs. */
static bool is_all(const struct ada_selection *one)
{
	const struct ada_session *session = one->session;

	for (size_t i = 0; i < session->threads.count; i++)
		if (session->threads.items[i].count && &session->threads.items[i] != one->threads.items[0])
			return false;
	return !one->from_ns && one->to_ns == UINT64_MAX;
}

/* Whether there was something to tell. */
static bool tell_thread(struct ada_story *story, struct ada_thread *thread)
{
	struct ada_selection one = { .session = story->session, .from_ns = story->selection->from_ns, .to_ns = story->selection->to_ns };
	char number[ADA_WORDS], from[ADA_WORDS], duration[ADA_UNITS_TEXT];
	struct ada_evidence evidence;
	struct ada_telling telling;
	struct ada_stats own = {}, *stats;
	bool told = false;
	uint64_t first_ns;

	if (story->result || ada_array_push(&one.threads, thread))
		return false;
	stats = is_all(&one) ? ada_narrate_stats(story) : &own;
	if (stats == &own && ada_stats_compute(&own, &one, story->options.workers, NULL)) {
		story->result = -ENOMEM;
		ada_selection_close(&one);
		return false;
	}
	if (stats->functions.count)
		qsort(stats->functions.items, stats->functions.count, sizeof *stats->functions.items, compare_self);
	if (stats->completeness.events && ada_telling_open(story, &telling)) {
		ada_selection_range(&one, thread, &evidence.first, &evidence.last);
		evidence.last--;
		first_ns = atf_thread_get(thread->events, evidence.first)->timestamp_ns;
		fprintf(telling.stream, "Thread %" PRIu32 " (%s%stid %" PRIu32 ") has %s event%s from %s on over %s", thread->number,
			thread->name, *thread->name ? ", " : "", thread->tid, ada_format_grouped(stats->completeness.events, number),
			ada_words_s(stats->completeness.events), ada_words_time(story, first_ns, from),
			ada_format_duration(atf_thread_get(thread->events, evidence.last)->timestamp_ns - first_ns, duration));
		put_functions(story, telling.stream, thread, stats);
		fputs(".", telling.stream);
		ada_telling_say(story, "thread", &telling);
		ada_narrate_cite(story, thread, evidence.first, evidence.last);
		told = true;
	}
	ada_stats_free(&own);
	ada_selection_close(&one);
	return told;
}

/* Tells where the thread's recording ends, if not with its outermost return. */
static void tell_still_open(struct ada_story *story, const struct ada_thread *thread)
{
	struct ada_telling telling;
	struct ada_stack stack;

	if (story->result || story->selection->to_ns != UINT64_MAX || ada_narrate_stack(story, &stack, thread, thread->count))
		return;
	if (stack.frames.count && ada_telling_open(story, &telling)) {
		fprintf(telling.stream, "At its last event %s open: ", stack.frames.count == 1 ? "one call was" : "these calls were");
		ada_words_stack(story, thread, &stack, NULL, telling.stream);
		ada_narrate_put_awaited(telling.stream, thread, &stack.frames.items[stack.frames.count - 1],
					ada_process_end_ns(thread->process));
		ada_words_doubt(story, thread, stack.frames.items[0].position, thread->count, telling.stream);
		fputs(".", telling.stream);
		ada_telling_say(story, "still-open", &telling);
		ada_narrate_cite_stack(story, thread, &stack);
		ada_narrate_cite(story, thread, thread->count - 1, thread->count - 1);
	}
	ada_stack_close(&stack);
}

static void tell_rest(struct ada_story *story, struct ada_thread *const *threads, size_t count)
{
	uint64_t events = 0;
	char number[ADA_WORDS];

	for (size_t i = 0; i < count; i++)
		events += threads[i]->count;
	ada_narrate_say(story, "threads", "%zu more thread%s recorded %s event%s together.", count, ada_words_s(count),
			ada_format_grouped(events, number), ada_words_s(events));
	for (size_t i = 0; i < count; i++)
		ada_narrate_cite(story, threads[i], 0, threads[i]->count - 1);
}

static void tell_threads(struct ada_story *story, const struct ada_process *process)
{
	struct ada_thread **threads = calloc(process->thread_count + 1, sizeof *threads);
	size_t count = 0, told;

	if (!threads) {
		story->result = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < process->thread_count; i++) {
		struct ada_thread *thread = &((struct ada_session *)story->session)->threads.items[process->first_thread + i];

		if (thread->count && ada_narrate_selects_thread(story, thread))
			threads[count++] = thread;
	}
	qsort(threads, count, sizeof *threads, compare_busy);
	told = count < THREADS_TOLD + 2 ? count : THREADS_TOLD;
	for (size_t i = 0; i < told; i++)
		if (tell_thread(story, threads[i]))
			tell_still_open(story, threads[i]);
	if (told < count)
		tell_rest(story, threads + told, count - told);
	free(threads);
}

void ada_narrate_process(struct ada_story *story, const struct ada_process *process)
{
	ada_narrate_section(story, process, ADA_NO_WINDOW, "Process %s", process->directory);
	tell_life(story, process);
	if (!story->result)
		tell_recording(story, process);
	if (!ada_narrate_leaves_out(story)) /* what each did takes reading the whole recording */
		tell_threads(story, process);
	ada_narrate_losses(story, process);
}

/* Whether a session has what the threads of kept.c did, read without any code of ada's:
 *   kept_check block|drop BEFORE AFTER THREAD_DIRECTORY...
 * BEFORE: COUNTS as they were when something was killed, AFTER: when all was over. The events of each thread are those of its calls in
 * their order, none missing and none twice, as far as the first LOST one; by then, but where the recorder may drop some, all those of BEFORE have come,
 * and none beyond AFTER.
 * Prints how many events there are, or in one line what is wrong, and ends with 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi/file.h"
#include "abi/record.h"
#include "kept.h"

struct thread {
	uint64_t number, calls_before, calls_after;
	bool known, lost; /* lost: behind a LOST event nothing is compared */
	uint64_t events;  /* that were right */
	uint64_t last_ns;
	uint64_t functions[KEPT_FUNCTIONS];
};

static struct kept_line before[KEPT_THREADS], after[KEPT_THREADS];
static uint64_t all_events;

static void read_lines(const char *path, struct kept_line *lines)
{
	FILE *file = fopen(path, "re");

	if (!file || fread(lines, sizeof *lines, KEPT_THREADS, file) != KEPT_THREADS)
		exit(2);
	fclose(file);
}

__attribute__((noreturn)) static void wrong(const char *path, uint64_t event, const char *what, uint64_t is, uint64_t should)
{
	printf("%s: event %lu: %s: %lu, should be %lu\n", path, event, what, is, should);
	exit(1);
}

static void know(struct thread *thread, uint32_t thread_id)
{
	for (uint64_t i = 0; i < KEPT_THREADS; i++)
		if (after[i].thread_id == thread_id) {
			thread->number = i;
			thread->calls_before = before[i].calls;
			thread->calls_after = after[i].calls;
			after[i].reserved[0]++;
			thread->known = true;
		}
}

static void check_event(struct thread *thread, const char *path, const struct ada_event *event)
{
	uint64_t call = thread->events / 2, *function;

	if (!thread->known)
		know(thread, event->thread_id);
	if (!thread->known)
		wrong(path, thread->events, "it is of no thread", event->thread_id, after[0].thread_id);
	if (event->timestamp_ns < thread->last_ns)
		wrong(path, thread->events, "time falls", event->timestamp_ns, thread->last_ns);
	thread->last_ns = event->timestamp_ns;
	thread->lost |= event->event_kind == ADA_EVENT_LOST;
	if (thread->lost || event->event_kind == ADA_EVENT_RECORDER) /* it waited for the recorder here */
		return;
	if (event->event_kind != (thread->events % 2 ? ADA_EVENT_RETURN : ADA_EVENT_CALL))
		wrong(path, thread->events, "kind", event->event_kind, thread->events % 2 ? ADA_EVENT_RETURN : ADA_EVENT_CALL);
	function = &thread->functions[kept_function(thread->number, call)];
	if (!*function)
		*function = event->function_id;
	if (*function != event->function_id)
		wrong(path, thread->events, "function", event->function_id, *function);
	thread->events++;
}

static bool check_file(struct thread *thread, const char *directory, unsigned int segment)
{
	char path[4096], number[16] = "";
	AtfIndexFooter footer;
	AtfIndexHeader header;
	struct ada_event event;
	FILE *file;

	if (segment)
		snprintf(number, sizeof number, "%u.", segment);
	snprintf(path, sizeof path, "%s/index.%satf", directory, number);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fread(&header, sizeof header, 1, file) != 1 || fseek(file, -(long)sizeof footer, SEEK_END) ||
	    fread(&footer, sizeof footer, 1, file) != 1 || memcmp(footer.magic, ATF_INDEX_FOOTER_MAGIC, sizeof footer.magic))
		wrong(path, thread->events, "no footer", 0, 1);
	if ((uint64_t)ftell(file) != sizeof header + footer.event_count * sizeof event + sizeof footer)
		wrong(path, thread->events, "bytes", (uint64_t)ftell(file),
		      sizeof header + footer.event_count * sizeof event + sizeof footer);
	fseek(file, sizeof header, SEEK_SET);
	for (uint64_t i = 0; i < footer.event_count; i++) {
		if (fread(&event, sizeof event, 1, file) != 1)
			wrong(path, thread->events, "cut", i, footer.event_count);
		check_event(thread, path, &event);
	}
	all_events += footer.event_count;
	fclose(file);
	return true;
}

int main(int argc, char **argv)
{
	bool drops = !strcmp(argv[1], "drop");

	read_lines(argv[2], before);
	read_lines(argv[3], after);
	for (int i = 4; i < argc; i++) {
		struct thread thread = { .number = 0 };

		for (unsigned int segment = 0; check_file(&thread, argv[i], segment); segment++)
			;
		if (thread.events < 2 * thread.calls_before && !(drops && thread.lost))
			wrong(argv[i], thread.events, "calls that had been made are missing, of thread", thread.number,
			      2 * thread.calls_before);
		if (thread.events > 2 * thread.calls_after + 2)
			wrong(argv[i], thread.events, "there are more calls than were made, by thread", thread.number,
			      2 * thread.calls_after);
	}
	for (int i = 0; i < KEPT_THREADS; i++) {
		if (before[i].calls && after[i].reserved[0] != 1 && !(drops && !after[i].reserved[0]))
			wrong("thread", (uint64_t)i, "has so many directories", after[i].reserved[0], 1);
	}
	printf("%lu\n", all_events);
	return 0;
}

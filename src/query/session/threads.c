/* See threads.h. */
#include "query/session/threads.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/file.h"
#include "query/session/ahead.h"

#define TRIES 8 /* a thread finishes a file every few ms at most */
#define OPENERS_MAX 8
#define FLOORS_MIN (8 * ADA_FLOOR_EVENTS) /* of fewer events nobody keeps how deep they lie */
#define OPENINGS_EACH 32		  /* threads, or it is not worth another opener */

int ada_live_open(struct atf_thread **thread, const char *directory, struct atf_message *message)
{
	for (int i = 0; i < TRIES; i++) {
		int status;

		ada_fault_hold();
		status = atf_thread_open(thread, directory, message);
		if (!ada_fault_release())
			return status;
		if (!status)
			atf_thread_close(*thread);
	}
	return atf_thread_open(thread, directory, message); /* a fault is the answer's now */
}

struct mention { /* of a thread: in the manifest, or by a directory */
	uint32_t number;
	const json_object *entry; /* NULL: none names that number */
	size_t position;	  /* in the manifest */
};

struct opening { /* of a thread's files */
	struct ada_thread *thread;
	bool expected, missing;
	uint32_t segments; /* that a finalized manifest lists; 0: it does not say */
	int result;
	struct atf_message message;
};

struct openings {
	struct opening *items;
	size_t count;
	atomic_size_t next;
};

static void open_events(struct opening *opening)
{
	struct ada_thread *thread = opening->thread;
	char path[PATH_MAX], index[PATH_MAX];
	struct stat status;

	if (thread->events)
		return;
	opening->missing = true;
	if (ada_path(path, "%s/thread_%u", thread->process->path, thread->number) || atf_index_find(index, sizeof index, path, 0))
		return;
	if (!opening->segments && !ada_live_open(&thread->events, path, &opening->message)) {
		opening->missing = false;
		return;
	}
	/* An empty file was made and not yet written. */
	if (!opening->segments && (stat(index, &status) ? errno == ENOENT : S_ISREG(status.st_mode) && !status.st_size))
		return;
	opening->result = atf_thread_open_known(&thread->events, path, opening->segments, &opening->message);
	opening->missing = opening->result && access(index, F_OK);
}

static void *open_some(void *context)
{
	struct openings *openings = context;
	size_t number;

	while ((number = atomic_fetch_add(&openings->next, 1)) < openings->count)
		open_events(&openings->items[number]);
	return NULL;
}

/* A thousand threads take the kernel some time: many threads' files are opened side by side. */
static void open_all(struct openings *openings)
{
	pthread_t helpers[OPENERS_MAX - 1];
	size_t wanted = 0, count = 0;

	for (size_t i = 0; i < openings->count; i++)
		wanted += !openings->items[i].thread->events;
	wanted /= OPENINGS_EACH;
	if (wanted > 1 && wanted > (size_t)get_nprocs())
		wanted = get_nprocs();
	while (count + 1 < wanted && count < OPENERS_MAX - 1 && !pthread_create(&helpers[count], NULL, open_some, openings))
		count++;
	open_some(openings);
	while (count)
		pthread_join(helpers[--count], NULL);
}

static void settle_opening(struct opening *opening)
{
	struct ada_thread *thread = opening->thread;
	struct ada_process *process = thread->process;
	const char *text = opening->message.text;

	if (opening->missing) {
		if (opening->expected)
			ada_session_problem(process->session, "%s/thread_%u: index.atf is missing", process->directory, thread->number);
		return;
	}
	if (opening->result) {
		thread->events = NULL;
		ada_session_problem(process->session, "%s/thread_%u: %s", process->directory, thread->number,
				    *text ? text : atf_error_text(opening->result));
		return;
	}
	if (atf_thread_is_cut(thread->events))
		ada_session_problem(process->session, "%s", text);
	else if (opening->segments > atf_thread_segments(thread->events))
		ada_session_problem(process->session, "%s/thread_%u: only %u of its %u index files are there", process->directory,
				    thread->number, atf_thread_segments(thread->events), opening->segments);
	for (uint32_t i = 0; i < atf_thread_segments(thread->events); i++)
		if (atf_index_completeness(atf_thread_segment(thread->events, i)) == ATF_DAMAGED) {
			ada_session_problem(process->session, "%s", text);
			break;
		}
	if (atf_thread_first_segment(thread->events) && !atf_thread_totals(thread->events))
		ada_session_problem(process->session,
				    "%s/thread_%u: its first segments went, and what they added up to, totals, is damaged",
				    process->directory, thread->number);
	thread->count = atf_thread_count(thread->events);
	if (thread->count >= FLOORS_MIN) /* without memory everything is read */
		thread->floors = calloc(thread->count / ADA_FLOOR_EVENTS, sizeof *thread->floors);
	if (!thread->tid)
		thread->tid = atf_index_header(atf_thread_segment(thread->events, atf_thread_first_segment(thread->events)))->thread_id;
}

/* Opens the files of the process's threads, and tells what is wrong with them in the threads' order. `ahead`: has some of them, or
 * NULL. */
static int open_threads(struct ada_process *process, struct ada_ahead *ahead)
{
	struct ada_thread *threads = process->session->threads.items + process->first_thread;
	struct openings openings = { .items = calloc(process->thread_count + 1, sizeof *openings.items), .count = process->thread_count };

	if (!openings.items)
		return -ENOMEM;
	for (size_t i = 0; i < openings.count; i++) {
		openings.items[i].thread = &threads[i];
		openings.items[i].expected = ada_json_u64(threads[i].entry, "events", 0) > 0;
		if (process->finalized)
			openings.items[i].segments = (uint32_t)ada_json_u64(threads[i].entry, "firstSegment", 0) +
						     (uint32_t)ada_json_length(ada_json_get(threads[i].entry, "segments"));
		if (ahead)
			threads[i].events = ada_ahead_take(ahead, threads[i].number, openings.items[i].segments,
							   &openings.items[i].message);
	}
	open_all(&openings);
	for (size_t i = 0; i < openings.count; i++)
		settle_opening(&openings.items[i]);
	free(openings.items);
	return 0;
}

static int add_thread(struct ada_process *process, uint32_t number, const json_object *entry)
{
	struct ada_thread thread = {
		.process = process,
		.number = number,
		.entry = entry,
		.tid = ada_json_u64(entry, "tid", 0),
		.pointer = strtoull(ada_json_text(entry, "threadPointer", "0"), NULL, 16),
		.start_ns = ada_json_u64(entry, "startNs", 0),
		.end_ns = ada_json_u64(entry, "endNs", 0),
		.lost = ada_json_u64(entry, "lost", 0),
		.overwritten = ada_json_u64(entry, "overwritten", 0),
		.skipped = ada_json_u64(entry, "skipped", 0),
	};

	snprintf(thread.name, sizeof thread.name, "%s", ada_json_text(entry, "name", ""));
	return ada_array_push(&process->session->threads, thread);
}

static int compare_numbers(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

int ada_threads_list(struct ada_thread_numbers *found, const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	uint32_t number;
	int result = 0;

	while (directory && !result && (entry = readdir(directory)))
		if (ada_directory_number(entry->d_name, "thread_", &number))
			result = ada_array_push(found, number);
	if (directory)
		closedir(directory);
	if (found->count)
		qsort(found->items, found->count, sizeof *found->items, compare_numbers);
	return result;
}

/* By number; of one number, in the manifest's order. */
static int compare_mentions(const void *left, const void *right)
{
	const struct mention *a = left, *b = right;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (!a->entry != !b->entry)
		return a->entry ? -1 : 1;
	return a->position < b->position ? -1 : a->position > b->position;
}

int ada_threads_add(struct ada_process *process, const struct ada_thread_numbers *found, struct ada_ahead *ahead)
{
	const json_object *threads = ada_json_get(process->manifest, "threads");
	ADA_ARRAY(struct mention) mentions = {};
	int result = 0;

	for (size_t i = 0; i < ada_json_length(threads) && !result; i++) {
		const json_object *entry = json_object_array_get_idx(threads, i);
		uint32_t number = ada_json_u64(entry, "id", i);
		bool named = ada_json_u64(entry, "id", UINT64_MAX) == number;

		result = ada_array_push(&mentions, (struct mention){ number, named ? entry : NULL, i });
	}
	for (size_t i = 0; i < found->count && !result; i++)
		result = ada_array_push(&mentions, (struct mention){ found->items[i], NULL, SIZE_MAX });
	if (mentions.count)
		qsort(mentions.items, mentions.count, sizeof *mentions.items, compare_mentions);
	process->first_thread = process->session->threads.count;
	for (size_t i = 0; i < mentions.count && !result; i++)
		if (!i || mentions.items[i].number != mentions.items[i - 1].number)
			result = add_thread(process, mentions.items[i].number, mentions.items[i].entry);
	process->thread_count = process->session->threads.count - process->first_thread;
	if (ahead)
		ada_ahead_wait(ahead);
	if (!result)
		result = open_threads(process, ahead);
	ada_array_free(&mentions);
	return result;
}

void ada_threads_name_live(struct ada_process *process)
{
	struct ada_thread *threads = process->session->threads.items + process->first_thread;
	char path[64];
	size_t at = 0;
	FILE *file;

	while (at < process->thread_count && *threads[at].name)
		at++;
	if (at == process->thread_count || !ada_process_is_live(process))
		return;
	for (; at < process->thread_count; at++) {
		snprintf(path, sizeof path, "/proc/%u/task/%u/comm", process->pid, threads[at].tid);
		file = *threads[at].name ? NULL : fopen(path, "re");
		if (!file)
			continue;
		if (fgets(threads[at].name, sizeof threads[at].name, file))
			threads[at].name[strcspn(threads[at].name, "\n")] = 0;
		fclose(file);
	}
}

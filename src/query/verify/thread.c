/* Checks of one thread: each segment by libatf, then what one pass over its events tells. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "atf/session/thread.h"
#include "base/file.h"
#include "base/hash.h"
#include "query/calls/stack.h"
#include "query/session/selection.h"
#include "query/verify/muted.h"

/* What the pass over the events collects. */
struct pass {
	struct ada_table functions; /* function ids used -> position of the first event */
	struct ada_calls calls;
	struct ada_verify_mutes *mutes; /* NULL: none */
	struct ada_table mutes_seen;	/* of the thread */
	uint64_t orphans, orphan_at;	/* ends without a call, where no loss explains them */
	uint64_t jumps, jump_at;	/* calls deeper than what is open, likewise */
	uint64_t falls, fall_at;	/* times lower than the one before: also between segments */
};

/* What its header says, beside what the manifest says. */
static void verify_header(struct ada_verify_file *file, const struct ada_thread *thread, const char *path)
{
	struct atf_index *index = NULL;
	char message[128];

	if (atf_index_open(&index, path, NULL))
		return;
	file->unfinished = !thread->process->finalized && atf_index_completeness(index) == ATF_NO_FOOTER;
	snprintf(message, sizeof message, "is of thread %u, the manifest says %u", atf_index_header(index)->thread_id, thread->tid);
	if (thread->tid && atf_index_header(index)->thread_id != thread->tid)
		ada_verify_file_found(file, "tid", false, message);
	atf_index_close(index);
}

static void verify_segment(struct ada_verify *verify, const struct ada_thread *thread, const char *name)
{
	char path[PATH_MAX], file[PATH_MAX];
	struct ada_verify_file context = { .verify = verify, .file = file };
	int result;

	if (ada_path(path, "%s/thread_%u/%s", thread->process->path, thread->number, name) ||
	    ada_path(file, "%s/thread_%u/%s", thread->process->directory, thread->number, name))
		return;
	do {
		ada_verify_file_begin(&context);
		verify_header(&context, thread, path);
		result = atf_index_verify(path, ada_verify_file_found, &context);
		if (result < 0)
			ada_verify_file_found(&context, "readable", false, atf_error_text(result));
	} while (ada_verify_file_again(&context));
}

static int is_segment(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return (!strncmp(entry->d_name, "index.", 6) || !strncmp(entry->d_name, "kept.", 5)) &&
	       (!strcmp(entry->d_name + length - 4, ".atf") || !strcmp(entry->d_name + length - 4, ".atp"));
}

/* Holds the files that are there against those that the manifest lists. */
static void verify_segments(struct ada_verify *verify, const struct ada_thread *thread, const char *directory)
{
	const json_object *segments = ada_json_get(thread->entry, "segments");
	size_t kept = ada_json_length(ada_json_get(thread->entry, "kept")), listed = ada_json_length(segments) + kept, there = 0;
	struct dirent **entries = NULL;
	char path[PATH_MAX];
	int count = 0;

	if (!ada_path(path, "%s/thread_%u", thread->process->path, thread->number))
		count = scandir(path, &entries, is_segment, versionsort);
	for (; count > 0 && there < (size_t)count; there++) {
		verify_segment(verify, thread, entries[there]->d_name);
		free(entries[there]);
	}
	free(entries);
	if (!thread->process->finalized)
		return;
	if (there != listed)
		ada_verify_found(verify, directory, "segments", false, "the manifest lists %zu, there are %zu", listed, there);
	else
		ada_verify_found(verify, directory, "segments", true, "%s", "");
	for (size_t i = 0; i < listed - kept && thread->events; i++) {
		const struct atf_index *index = atf_thread_segment(thread->events, atf_thread_first_segment(thread->events) + (uint32_t)i);
		uint64_t says = ada_json_u64(json_object_array_get_idx(segments, i), "events", 0);

		if (index && atf_index_count(index) != says)
			ada_verify_found(verify, directory, "counts", false,
					 "segment %zu has %" PRIu64 " events, the manifest says %" PRIu64, i, atf_index_count(index), says);
	}
}

static void first(uint64_t *count, uint64_t *at, uint64_t here)
{
	if (!(*count)++)
		*at = here;
}

static int pass_event(struct pass *pass, const struct ada_event *event, uint64_t position)
{
	struct ada_calls *calls = &pass->calls;
	uint64_t orphans = calls->orphans, before;
	bool is_call = event->event_kind == ADA_EVENT_CALL;

	if (event->timestamp_ns < calls->last_ns)
		first(&pass->falls, &pass->fall_at, position);
	if (event->event_kind < ADA_EVENT_CALL || event->event_kind > ADA_EVENT_LOST)
		return 0;
	/* A loss hides calls: only a stretch without a loss must balance. */
	if (is_call && !calls->losses && event->call_depth > calls->stack.count + calls->aside.count)
		first(&pass->jumps, &pass->jump_at, position);
	if (event->event_kind != ADA_EVENT_LOST && !ada_table_get(&pass->functions, event->function_id, &before) &&
	    ada_table_put(&pass->functions, event->function_id, position))
		return -ENOMEM;
	if (is_call && pass->mutes && ada_verify_mutes_call(pass->mutes, &pass->mutes_seen, event->function_id, event->timestamp_ns))
		return -ENOMEM;
	if (ada_calls_feed(calls, event, position))
		return -ENOMEM;
	if (calls->orphans != orphans && !calls->losses)
		first(&pass->orphans, &pass->orphan_at, position);
	return 0;
}

/* Every function that an event names must be in a module's table. */
static void verify_functions(struct ada_verify *verify, const struct ada_thread *thread, const struct pass *pass, const char *directory)
{
	uint64_t unknown = 0, unknown_id = 0;

	for (size_t i = 0; i < pass->functions.capacity; i++) {
		uint64_t id = pass->functions.used[i] ? pass->functions.keys[i] : 0;

		if (!pass->functions.used[i] || ada_module_symbol(ada_process_module(thread->process, id), ADA_FUNCTION_SYMBOL(id)))
			continue;
		first(&unknown, &unknown_id, id);
	}
	if (unknown)
		ada_verify_found(verify, directory, "functions", false,
				 "%" PRIu64 " functions are in no module's table, one of them module %u function %u", unknown,
				 ADA_FUNCTION_MODULE(unknown_id), ADA_FUNCTION_SYMBOL(unknown_id));
	else
		ada_verify_found(verify, directory, "functions", true, "%s", "");
}

/* The thread's books against what the manifest has counted. */
static void verify_against_manifest(struct ada_verify *verify, const struct ada_thread *thread, const struct atf_books *books,
				    const char *directory)
{
	const AtfTotalsHeader none = {}, *totals = thread->events ? atf_thread_totals(thread->events) : NULL;
	const json_object *entry = thread->entry;
	uint64_t events, gaps;

	totals = totals ? totals : &none;
	events = books->event_count + totals->event_count;
	gaps = books->gaps + totals->gaps;
	if (!thread->process->finalized)
		return;
	if (!entry)
		ada_verify_found(verify, directory, "manifest", false, "the manifest has no such thread");
	else if (ada_json_u64(entry, "aged", 0) != books->aged)
		ada_verify_found(verify, directory, "manifest", false, "%" PRIu64 " events have gone, the manifest says %" PRIu64,
				 books->aged, ada_json_u64(entry, "aged", 0));
	else if (ada_json_u64(entry, "events", 0) != events)
		ada_verify_found(verify, directory, "manifest", false, "has %" PRIu64 " events, the manifest says %" PRIu64, events,
				 ada_json_u64(entry, "events", 0));
	else if (ada_json_u64(entry, "lost", 0) < books->told + totals->told)
		ada_verify_found(verify, directory, "manifest", false, "has lost %" PRIu64 " events, the manifest says %" PRIu64,
				 books->told + totals->told, ada_json_u64(entry, "lost", 0));
	else if (ada_json_u64(entry, "gaps", 0) != gaps)
		ada_verify_found(verify, directory, "manifest", false, "has %" PRIu64 " gaps, the manifest says %" PRIu64, gaps,
				 ada_json_u64(entry, "gaps", 0));
	else if (books->torn)
		ada_verify_found(verify, directory, "manifest", false,
				 "%" PRIu64 " of its events were never written whole, and it is "
				 "called finished",
				 books->torn);
	else
		ada_verify_found(verify, directory, "manifest", true, "%s", "");
}

static void verify_pass(struct ada_verify *verify, const struct pass *pass, const char *directory)
{
	if (pass->orphans)
		ada_verify_found(verify, directory, "balance", false, "%" PRIu64 " returns without their call, the first at event %" PRIu64,
				 pass->orphans, pass->orphan_at);
	else if (pass->jumps)
		ada_verify_found(verify, directory, "balance", false,
				 "%" PRIu64 " calls deeper than what is open, the first at event %" PRIu64, pass->jumps, pass->jump_at);
	else
		ada_verify_found(verify, directory, "balance", true, "%s", "");
	if (pass->falls)
		ada_verify_found(verify, directory, "order", false, "%" PRIu64 " times fall, the first at event %" PRIu64, pass->falls,
				 pass->fall_at);
	else
		ada_verify_found(verify, directory, "order", true, "%s", "");
}

int ada_verify_thread(struct ada_verify *verify, const struct ada_thread *thread)
{
	struct ada_book book = { .thread = thread };
	const AtfTotalsHeader *totals;
	char directory[PATH_MAX];
	struct pass pass = { .mutes = verify->mutes };
	int result;

	result = ada_path(directory, "%s/thread_%u", thread->process->directory, thread->number);
	if (result)
		return result;
	verify_segments(verify, thread, directory);
	ada_verify_thread_detail(verify, thread);
	result = ada_verify_thread_sums(verify, thread);
	if (result)
		return result;
	totals = thread->events ? atf_thread_totals(thread->events) : NULL;
	atf_thread_books(thread->events, totals ? totals->calls + totals->ends : 0, ada_thread_lost(thread), &book.books);
	result = ada_array_push(&verify->books, book);
	ada_calls_open(&pass.calls, &(struct ada_calls_receiver){});
	if (!result && thread->events)
		result = ada_calls_resume(&pass.calls, totals);
	for (uint64_t i = thread->events ? atf_thread_live(thread->events) : 0; i < thread->count && !result; i++)
		result = pass_event(&pass, atf_thread_get(thread->events, i), i);
	if (!result) {
		/* A thread that can't be read has been named already. */
		if (thread->events) {
			verify_pass(verify, &pass, directory);
			verify_functions(verify, thread, &pass, directory);
		}
		if (thread->events || !ada_json_u64(thread->entry, "events", 0))
			verify_against_manifest(verify, thread, &book.books, directory);
	}
	ada_calls_close(&pass.calls);
	ada_table_free(&pass.functions);
	ada_table_free(&pass.mutes_seen);
	return result;
}

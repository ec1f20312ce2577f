/* ada info: what a session holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "atf/index/index.h"
#include "base/quote.h"
#include "base/units.h"
#include "cli/ground/answer.h"
#include "cli/ground/leftovers.h"
#include "cli/ground/live.h"
#include "cli/ground/rows.h"
#include "cli/show/commands.h"
#include "query/session/sched.h"
#include "query/session/selection.h"
#include "query/session/windows.h"

#define COUNT(columns) (sizeof columns / sizeof *(columns))

static const struct ada_column process_columns[] = {
	{ "process", "PROCESS", ADA_CELL_TEXT },
	{ "pid", NULL, ADA_CELL_NUMBER },
	{ "parent_pid", "PARENT", ADA_CELL_NUMBER },
	{ "start_ns", NULL, ADA_CELL_NUMBER },
	{ "duration_ns", "DURATION", ADA_CELL_DURATION },
	{ "threads", "THREADS", ADA_CELL_NUMBER },
	{ "modules", NULL, ADA_CELL_NUMBER },
	{ "functions", NULL, ADA_CELL_NUMBER },
	{ "hooked", "HOOKED", ADA_CELL_NUMBER },
	{ "skipped", "SKIPPED", ADA_CELL_NUMBER },
	{ "events", "EVENTS", ADA_CELL_NUMBER },
	{ "lost", "LOST", ADA_CELL_NUMBER },
	{ "windows", "WINDOWS", ADA_CELL_NUMBER },
	{ "detail_records", NULL, ADA_CELL_NUMBER },
	{ "events_per_s", "EVENTS/S", ADA_CELL_COUNT },
	{ "finalized", NULL, ADA_CELL_BOOL },
	{ "state", "STATE", ADA_CELL_TEXT },
	{ "exit", "EXIT", ADA_CELL_TEXT },
	{ "program", "PROGRAM", ADA_CELL_NAME },
};
static const struct ada_column thread_columns[] = {
	{ "process", "PROCESS", ADA_CELL_TEXT }, { "thread", "THREAD", ADA_CELL_NUMBER }, { "tid", "TID", ADA_CELL_NUMBER },
	{ "events", "EVENTS", ADA_CELL_NUMBER }, { "lost", "LOST", ADA_CELL_NUMBER },	  { "skipped", NULL, ADA_CELL_NUMBER },
	{ "packed", NULL, ADA_CELL_NUMBER },	 { "name", "NAME", ADA_CELL_NAME },
};
static const struct ada_column module_columns[] = {
	{ "process", "PROCESS", ADA_CELL_TEXT },   { "module_id", "MODULE", ADA_CELL_NUMBER },
	{ "traced", NULL, ADA_CELL_BOOL },	   { "functions", "FUNCTIONS", ADA_CELL_NUMBER },
	{ "hooked", "HOOKED", ADA_CELL_NUMBER },   { "skipped", "SKIPPED", ADA_CELL_NUMBER },
	{ "imports", "IMPORTS", ADA_CELL_NUMBER }, { "build_id", NULL, ADA_CELL_TEXT },
	{ "path", "PATH", ADA_CELL_NAME },
};

static const struct ada_column anchor_columns[] = {
	{ "clock", "CLOCK", ADA_CELL_TEXT }, { "host", "HOST", ADA_CELL_TEXT },	    { "host_ns", NULL, ADA_CELL_NUMBER },
	{ "media", "MEDIA", ADA_CELL_TEXT }, { "media_ns", NULL, ADA_CELL_NUMBER }, { "drift_ppm", "DRIFT (PPM)", ADA_CELL_WRITTEN },
};

static const struct ada_usage usage = {
	"[SESSION]",
	"Prints what a session holds: the command, processes, threads, modules, events, losses and detail."
	"\vAnchors of other clocks (`ada anchor`) are listed where there are some; DRIFT is how much faster than the host's clock"
	" one runs, between the anchor before and this one. HOOKED and SKIPPED count functions; `ada functions PROGRAM` lists the skipped ones with their reasons. csv holds a"
	" row a process.",
};

struct info {
	const struct ada_session *session;
	struct ada_output *output;
	enum ada_format format;
};

static const char *exit_text(const json_object *exit, char text[64])
{
	const char *kind = ada_json_text(exit, "kind", "unknown");

	if (!strcmp(kind, "exited"))
		snprintf(text, 64, "status %d", (int)ada_json_u64(exit, "status", 0));
	else if (!strcmp(kind, "signal"))
		snprintf(text, 64, "signal %d", (int)ada_json_u64(exit, "signal", 0));
	else
		snprintf(text, 64, "%s", kind);
	return text;
}

static int add_process(struct ada_rows *rows, const struct ada_process *process)
{
	const struct ada_session *session = process->session;
	const json_object *hooks = ada_json_get(process->manifest, "hooks");
	uint64_t start_ns = ada_json_u64(process->manifest, "startNs", session->start_ns);
	uint64_t end_ns = ada_json_u64(process->manifest, "endNs", 0), duration_ns;
	uint64_t events = 0, lost = 0, modules = 0, records = ada_process_details(process);
	char exit[64];

	if (!end_ns)
		end_ns = ada_session_last_ns(session, process->first_thread, process->thread_count);
	duration_ns = end_ns > start_ns ? end_ns - start_ns : 0;
	for (size_t i = process->first_thread; i < process->first_thread + process->thread_count; i++) {
		events += session->threads.items[i].count;
		lost += ada_thread_lost(&session->threads.items[i]);
	}
	for (size_t i = 0; i < process->modules.count; i++)
		modules += process->modules.items[i] != NULL;
	return ada_rows_add(rows, (const struct ada_cell[]){
					  { .text = process->directory },
					  { .number = process->pid },
					  { .number = ada_json_u64(process->manifest, "parentPid", 0) },
					  { .number = start_ns },
					  { .number = duration_ns },
					  { .number = process->thread_count },
					  { .number = modules },
					  { .number = ada_json_u64(hooks, "functions", 0) },
					  { .number = ada_json_u64(hooks, "hooked", 0) },
					  { .number = ada_json_sum(ada_json_get(hooks, "skipped")) },
					  { .number = events },
					  { .number = lost },
					  { .number = process->window_count },
					  { .number = records },
					  { .number = duration_ns ? (uint64_t)(events * 1e9 / duration_ns) : 0, .absent = !duration_ns },
					  { .number = process->finalized },
					  { .text = ada_json_text(ada_json_get(process->manifest, "recording"), "state", "unknown") },
					  { .text = exit_text(ada_json_get(process->manifest, "exit"), exit) },
					  { .text = ada_json_text(process->manifest, "program", "?") },
				  });
}

static void print_processes(struct info *info)
{
	struct ada_rows rows;

	ada_rows_open(&rows, info->output, info->format, "rows", process_columns, COUNT(process_columns));
	rows.spares = "skipped hooked events_per_s parent_pid threads windows state exit";
	for (size_t i = 0; i < info->session->processes.count; i++)
		add_process(&rows, info->session->processes.items[i]);
	ada_rows_close(&rows);
}

/* Events in packed files. */
static uint64_t packed_events(const struct ada_thread *thread)
{
	uint64_t events = 0;

	for (uint32_t i = 0; thread->events && i < atf_thread_segments(thread->events); i++) {
		const struct atf_index *index = atf_thread_segment(thread->events, i);

		events += index->packed ? atf_index_count(index) : 0;
	}
	return events;
}

static void print_threads(struct info *info)
{
	struct ada_rows rows;

	ada_rows_open(&rows, info->output, info->format, "threads", thread_columns, COUNT(thread_columns));
	for (size_t i = 0; i < info->session->threads.count; i++) {
		const struct ada_thread *thread = &info->session->threads.items[i];

		ada_rows_add(&rows, (const struct ada_cell[]){ { .text = thread->process->directory },
							       { .number = thread->number },
							       { .number = thread->tid },
							       { .number = thread->count },
							       { .number = ada_thread_lost(thread) },
							       { .number = thread->skipped },
							       { .number = packed_events(thread) },
							       { .text = thread->name } });
	}
	ada_rows_close(&rows);
}

static void print_modules(struct info *info)
{
	struct ada_rows rows;

	ada_rows_open(&rows, info->output, info->format, "modules", module_columns, COUNT(module_columns));
	for (size_t i = 0; i < info->session->processes.count; i++) {
		const struct ada_process *process = info->session->processes.items[i];
		const json_object *modules = ada_json_get(process->manifest, "modules");

		for (size_t j = 0; j < ada_json_length(modules); j++) {
			const json_object *module = json_object_array_get_idx(modules, j);

			/* Modules that aren't traced would be many lines that say little. */
			if (info->format == ADA_FORMAT_TEXT && !ada_json_bool(module, "traced", false))
				continue;
			ada_rows_add(&rows, (const struct ada_cell[]){
						    { .text = process->directory },
						    { .number = ada_json_u64(module, "id", j) },
						    { .number = ada_json_bool(module, "traced", false) },
						    { .number = ada_json_u64(module, "functions", 0) },
						    { .number = ada_json_u64(module, "hooked", 0) },
						    { .number = ada_json_sum(ada_json_get(module, "skipped")) },
						    { .number = ada_json_u64(module, "imports", 0) },
						    { .text = ada_json_text(module, "buildId", ""),
						      .absent = !ada_json_text(module, "buildId", NULL) },
						    { .text = ada_json_text(module, "path", "?") },
					    });
		}
	}
	ada_rows_close(&rows);
}

/* The drift at a clock's second and later anchors, since the anchor before. */
static struct ada_cell drift_of(const struct ada_session *session, size_t i, char text[ADA_UNITS_TEXT])
{
	const struct ada_timing_anchor *anchor = &session->anchors[i], *before = i ? anchor - 1 : anchor;

	if (!i || strcmp(before->clock, anchor->clock))
		return (struct ada_cell){ .text = "", .absent = true };
	snprintf(text, ADA_UNITS_TEXT, "%.3f",
		 ((double)(anchor->mediaTimeNs - before->mediaTimeNs) / (double)(anchor->hostTimeNs - before->hostTimeNs) - 1) * 1e6);
	return (struct ada_cell){ .text = text };
}

static void print_anchors(struct info *info)
{
	const struct ada_session *session = info->session;
	struct ada_rows rows;

	ada_rows_open(&rows, info->output, info->format, "anchors", anchor_columns, COUNT(anchor_columns));
	for (size_t i = 0; i < session->anchor_count; i++) {
		const struct ada_timing_anchor *anchor = &session->anchors[i];
		bool before = anchor->hostTimeNs < session->start_ns;
		uint64_t since = before ? session->start_ns - anchor->hostTimeNs : anchor->hostTimeNs - session->start_ns;
		char host[ADA_CLOCK_TEXT], media[ADA_CLOCK_TEXT], drift[ADA_UNITS_TEXT];

		snprintf(host, sizeof host, "%c%llu.%09llus", before ? '-' : '+', (unsigned long long)since / 1000000000,
			 (unsigned long long)since % 1000000000);
		snprintf(media, sizeof media, "%llu.%09llus", (unsigned long long)anchor->mediaTimeNs / 1000000000,
			 (unsigned long long)anchor->mediaTimeNs % 1000000000);
		ada_rows_add(&rows, (const struct ada_cell[]){ { .text = anchor->clock },
							       { .text = host },
							       { .number = anchor->hostTimeNs },
							       { .text = media },
							       { .number = anchor->mediaTimeNs },
							       drift_of(session, i, drift) });
	}
	ada_rows_close(&rows);
}

static void print_label(struct ada_output *output, const char *label)
{
	ada_output_string(output, label);
	ada_output_spaces(output, 10 - strlen(label));
}

static void print_line(struct ada_output *output, const char *label, const char *text)
{
	print_label(output, label);
	ada_output_text(output, text);
	ada_output_string(output, "\n");
}

static void print_packed(struct info *info)
{
	char text[64], count[ADA_UNITS_TEXT];
	uint64_t events = 0;

	for (size_t i = 0; i < info->session->threads.count; i++)
		events += packed_events(&info->session->threads.items[i]);
	if (!events)
		return;
	snprintf(text, sizeof text, "%s events", ada_format_count(events, count));
	print_line(info->output, "packed", text);
}

static void print_argument(struct ada_output *output, const char *argument)
{
	char *quoted = ada_quote_argument(argument ? argument : "");

	ada_output_text(output, quoted ? quoted : "");
	free(quoted);
}

/* A recorder that has a socket answers there as long as it lives. */
static const char *unfinished_text(const struct ada_session *session)
{
	struct ada_live live;

	return !ada_live_locate(&live, session->path, NULL) && ada_live_is_dead(&live) ?
		       "never: its recorder is gone, `ada recover` finishes the session" :
		       "still being recorded, or left by a crash";
}

static void print_head_text(struct info *info)
{
	const json_object *document = info->session->document, *command = ada_json_get(document, "command");
	const json_object *host = ada_json_get(document, "host");
	uint64_t end_ns = ada_json_u64(document, "endNs", 0);
	char text[256];

	print_line(info->output, "session", info->session->path);
	if (!document)
		return;
	print_label(info->output, "command");
	for (size_t i = 0; i < ada_json_length(command); i++) {
		ada_output_string(info->output, i ? " " : "");
		print_argument(info->output, json_object_get_string(json_object_array_get_idx(command, i)));
	}
	ada_output_string(info->output, "\n");
	snprintf(text, sizeof text, "%.64s, %.96s, %.32s, %u CPUs", ada_json_text(host, "name", "?"), ada_json_text(host, "kernel", "?"),
		 ada_json_text(host, "machine", "?"), (unsigned)ada_json_u64(host, "cpus", 0));
	print_line(info->output, "host", text);
	print_line(info->output, "started", ada_json_text(document, "started", "?"));
	if (!end_ns)
		end_ns = ada_session_last_ns(info->session, 0, info->session->threads.count);
	print_line(info->output, "lasted",
		   ada_format_duration(end_ns > info->session->start_ns ? end_ns - info->session->start_ns : 0, text));
	print_line(info->output, "ended",
		   ada_json_bool(document, "finalized", false) ? exit_text(ada_json_get(document, "exit"), text) :
								 unfinished_text(info->session));
}

/* Prints what detail there is: nothing where detail was off, "none" where nothing marked. */
static void print_detail(struct info *info)
{
	const struct ada_session *session = info->session;
	uint64_t records = 0;
	char text[128];

	for (size_t i = 0; i < session->processes.count; i++)
		records += ada_process_details(session->processes.items[i]);
	if (!session->windows.count && !records)
		return;
	snprintf(text, sizeof text, "%llu registers and stacks in %zu window%s", (unsigned long long)records, session->windows.count,
		 session->windows.count == 1 ? "" : "s");
	print_line(info->output, "detail", text);
}

/* Prints how much of the buffers lay in huge pages, where that is known. */
static void print_memory(struct info *info)
{
	static const char *const names[] = { "index", "detail" };
	char text[256] = "", got[ADA_UNITS_TEXT], huge[ADA_UNITS_TEXT];

	for (int lane = 0; lane < 2; lane++) {
		uint64_t bytes = 0, huge_bytes = 0;
		size_t length = strlen(text);

		for (size_t i = 0; i < info->session->processes.count; i++) {
			const json_object *buffering = ada_json_get(info->session->processes.items[i]->manifest, "buffering");
			const json_object *buffer = ada_json_get(buffering, names[lane]);

			if (!ada_json_get(buffer, "hugeBytes"))
				continue;
			bytes += ada_json_u64(buffer, "memoryBytes", 0);
			huge_bytes += ada_json_u64(buffer, "hugeBytes", 0);
		}
		if (bytes)
			snprintf(text + length, sizeof text - length, "%s%s of the %s's %s", length ? ", " : "",
				 ada_format_size(huge_bytes, huge), names[lane], ada_format_size(bytes, got));
	}
	if (*text)
		snprintf(text + strlen(text), sizeof text - strlen(text), " in huge pages");
	if (*text)
		print_line(info->output, "memory", text);
}

static void add_limit(char *text, size_t size, const char *what, const char *limit)
{
	size_t length = strlen(text);

	snprintf(text + length, size - length, "%s%s%s", length ? ", " : "", limit, what);
}

/* Prints what bounded the session, as far as it was bounded. */
static void print_bound(struct info *info)
{
	const json_object *bound = ada_json_get(info->session->document, "bound");
	uint64_t disk = ada_json_u64(bound, "diskLimit", 0), asked = ada_json_u64(bound, "diskLimitAsked", disk);
	uint64_t detail = ada_json_u64(bound, "detailLimit", 0), age_ns = ada_json_u64(bound, "maxAgeNs", 0);
	char text[256] = "", limit[ADA_UNITS_TEXT], what[96] = " on the disk";

	if (disk > asked)
		snprintf(what, sizeof what, " on the disk (--disk-limit=%s was too little)", ada_format_size(asked, limit));
	if (disk)
		add_limit(text, sizeof text, what, ada_format_size(disk, limit));
	if (detail)
		add_limit(text, sizeof text, " of detail", ada_format_size(detail, limit));
	if (age_ns)
		add_limit(text, sizeof text, " of time", ada_format_duration(age_ns, limit));
	if (*text)
		print_line(info->output, "limits", text);
}

/* Prints calls that left no event: such a loss has no place in time. */
static void print_skipped(struct info *info, const struct ada_process *process)
{
	uint64_t calls = 0, threads = 0;
	char text[512];

	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &info->session->threads.items[process->first_thread + i];

		calls += thread->skipped;
		threads += thread->skipped != 0;
	}
	if (!calls)
		return;
	snprintf(text, sizeof text, "%s: %llu call%s of %llu thread%s could not be recorded", process->directory, (unsigned long long)calls,
		 calls == 1 ? "" : "s", (unsigned long long)threads, threads == 1 ? "" : "s");
	print_line(info->output, "note", text);
}

/* Prints why a process was not recorded whole or to its end, and which processes were not recorded at all. */
static void print_reasons(struct info *info)
{
	const json_object *missing = ada_json_get(info->session->document, "notRecorded");
	char text[1024];

	for (size_t i = 0; i < info->session->processes.count; i++) {
		const struct ada_process *process = info->session->processes.items[i];
		const char *reason = ada_json_text(ada_json_get(process->manifest, "recording"), "reason", NULL);

		print_skipped(info, process);
		if (!reason)
			continue;
		snprintf(text, sizeof text, "%s: %s", process->directory, reason);
		print_line(info->output, "note", text);
	}
	for (size_t i = 0; i < ada_json_length(missing); i++) {
		const json_object *entry = json_object_array_get_idx(missing, i);

		snprintf(text, sizeof text, "process %u (%.200s) was not recorded: %.600s", (unsigned)ada_json_u64(entry, "pid", 0),
			 ada_json_text(entry, "program", "?"), ada_json_text(entry, "reason", "?"));
		print_line(info->output, "note", text);
	}
	for (int i = 0; i < ADA_SCHED_MISSING; i++)
		if (ada_sched_missing(info->session, i, text, sizeof text))
			print_line(info->output, "note", text);
}

/* session.json as it is, for it is JSON already; but for bytes that are no UTF-8. */
static void print_document(struct info *info)
{
	ada_output_string(info->output, "\"path\": ");
	ada_output_json(info->output, info->session->path);
	ada_output_string(info->output, ",\n\"session\": ");
	ada_output_utf8(info->output,
			info->session->document ? json_object_to_json_string_ext(info->session->document, JSON_C_TO_STRING_PLAIN) : "null");
	ada_output_string(info->output, ",\n");
}

static void print_info(struct info *info)
{
	struct ada_completeness completeness = ada_session_completeness(info->session);

	switch (info->format) {
	case ADA_FORMAT_CSV: print_processes(info); break;
	case ADA_FORMAT_JSON:
		ada_output_string(info->output, "{");
		print_processes(info);
		print_threads(info);
		print_modules(info);
		print_anchors(info);
		print_document(info);
		ada_completeness_json(info->output, &completeness);
		break;
	case ADA_FORMAT_TEXT:
		print_head_text(info);
		print_label(info->output, "events");
		ada_completeness_text(info->output, &completeness);
		print_packed(info);
		print_detail(info);
		print_memory(info);
		print_bound(info);
		print_reasons(info);
		ada_output_string(info->output, "\n");
		print_processes(info);
		ada_output_string(info->output, "\n");
		print_threads(info);
		ada_output_string(info->output, "\n");
		print_modules(info);
		if (!info->session->anchor_count)
			break;
		ada_output_string(info->output, "\n");
		print_anchors(info);
		break;
	}
}

int ada_cmd_info(int argc, char **argv)
{
	static struct ada_output output;
	struct ada_options options = {};
	struct ada_session *session;
	int status;

	ada_options_take(&options, &usage, argc, argv);
	ada_leftovers_notice(options.session ? options.session : ADA_LATEST);
	status = ada_answer_open(argv[0], &options, &session);
	if (status)
		return status;
	ada_output_open(&output, STDOUT_FILENO);
	print_info(&(struct info){ .session = session, .output = &output, .format = options.format });
	status = ada_answer_finish(argv[0], &output, session);
	ada_session_close(session);
	return status;
}

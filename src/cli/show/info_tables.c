/* The tables of `ada info`: processes, threads, modules, anchors. */
#include <stdio.h>
#include <string.h>
#include "atf/index/index.h"
#include "base/units.h"
#include "cli/show/info_tables.h"
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

const char *ada_info_exit(const json_object *exit, char text[64])
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
					  { .text = ada_info_exit(ada_json_get(process->manifest, "exit"), exit) },
					  { .text = ada_json_text(process->manifest, "program", "?") },
				  });
}

void ada_info_print_processes(struct ada_info *info)
{
	struct ada_rows rows;

	ada_rows_open(&rows, info->output, info->format, "rows", process_columns, COUNT(process_columns));
	rows.spares = "skipped hooked events_per_s parent_pid threads windows state exit";
	for (size_t i = 0; i < info->session->processes.count; i++)
		add_process(&rows, info->session->processes.items[i]);
	ada_rows_close(&rows);
}

uint64_t ada_info_packed_events(const struct ada_thread *thread)
{
	uint64_t events = 0;

	for (uint32_t i = 0; thread->events && i < atf_thread_segments(thread->events); i++) {
		const struct atf_index *index = atf_thread_segment(thread->events, i);

		events += index->packed ? atf_index_count(index) : 0;
	}
	return events;
}

void ada_info_print_threads(struct ada_info *info)
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
							       { .number = ada_info_packed_events(thread) },
							       { .text = thread->name } });
	}
	ada_rows_close(&rows);
}

void ada_info_print_modules(struct ada_info *info)
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

void ada_info_print_anchors(struct ada_info *info)
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

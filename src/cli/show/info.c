/* ada info: what a session holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/quote.h"
#include "base/units.h"
#include "cli/ground/answer.h"
#include "cli/ground/leftovers.h"
#include "cli/ground/live.h"
#include "cli/show/commands.h"
#include "cli/show/info_tables.h"
#include "query/session/sched.h"
#include "query/session/selection.h"
#include "query/session/windows.h"

static const struct ada_usage usage = {
	"[SESSION]",
	"Prints what a session holds: the command, processes, threads, modules, events, losses and detail."
	"\vAnchors of other clocks (`ada anchor`) are listed where there are some; DRIFT is how much faster than the host's clock"
	" one runs, between the anchor before and this one. HOOKED and SKIPPED count functions; `ada functions PROGRAM` lists the skipped ones with their reasons. csv holds a"
	" row a process.",
};

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

static void print_packed(struct ada_info *info)
{
	char text[64], count[ADA_UNITS_TEXT];
	uint64_t events = 0;

	for (size_t i = 0; i < info->session->threads.count; i++)
		events += ada_info_packed_events(&info->session->threads.items[i]);
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

static void print_head_text(struct ada_info *info)
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
		   ada_json_bool(document, "finalized", false) ? ada_info_exit(ada_json_get(document, "exit"), text) :
								 unfinished_text(info->session));
}

/* Prints what detail there is: nothing where detail was off, "none" where nothing marked. */
static void print_detail(struct ada_info *info)
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
static void print_memory(struct ada_info *info)
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
static void print_bound(struct ada_info *info)
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
static void print_skipped(struct ada_info *info, const struct ada_process *process)
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
static void print_reasons(struct ada_info *info)
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
static void print_document(struct ada_info *info)
{
	ada_output_string(info->output, "\"path\": ");
	ada_output_json(info->output, info->session->path);
	ada_output_string(info->output, ",\n\"session\": ");
	ada_output_utf8(info->output,
			info->session->document ? json_object_to_json_string_ext(info->session->document, JSON_C_TO_STRING_PLAIN) : "null");
	ada_output_string(info->output, ",\n");
}

static void print_info(struct ada_info *info)
{
	struct ada_completeness completeness = ada_session_completeness(info->session);

	switch (info->format) {
	case ADA_FORMAT_CSV: ada_info_print_processes(info); break;
	case ADA_FORMAT_JSON:
		ada_output_string(info->output, "{");
		ada_info_print_processes(info);
		ada_info_print_threads(info);
		ada_info_print_modules(info);
		ada_info_print_anchors(info);
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
		ada_info_print_processes(info);
		ada_output_string(info->output, "\n");
		ada_info_print_threads(info);
		ada_output_string(info->output, "\n");
		ada_info_print_modules(info);
		if (!info->session->anchor_count)
			break;
		ada_output_string(info->output, "\n");
		ada_info_print_anchors(info);
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
	print_info(&(struct ada_info){ .session = session, .output = &output, .format = options.format });
	status = ada_answer_finish(argv[0], &output, session);
	ada_session_close(session);
	return status;
}

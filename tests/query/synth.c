/* The synthesiser of sessions. */
#include "synth.h"
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "atf.h"
#include "base/file.h"

#define DEPTH_MAX 200000
#define SEGMENTS_MAX 4
#define PROCESSES_MAX 8
#define MODULES_MAX 8
#define WINDOWS_MAX 4096

struct synth_thread {
	struct synth *synth;
	struct atf_index_writer *writer;
	char directory[PATH_MAX];
	char name[32];
	uint32_t number, tid, depth, segment;
	uint64_t ns, lost, gaps;
	uint64_t pointer, start_ns, end_ns; /* 0: the manifest says none */
	uint64_t counts[SEGMENTS_MAX];
	uint64_t *open;			  /* functions of the open calls */
	struct atf_detail_writer *detail; /* of this segment; NULL: no record yet */
	uint32_t detail_seq;
	bool capture, in_window, window_written; /* the window that is open, and whether this segment has begun it */
	uint64_t records;			 /* of the open window */
};

struct window {
	uint64_t start_ns, end_ns, records;
	uint32_t thread, segment; /* of its first event, which is marked */
	uint64_t index_seq;
};

struct process {
	char directory[64];
	uint32_t pid, thread_count, module_count;
	struct synth_thread *threads[SYNTH_THREADS_MAX];
	char *modules[MODULES_MAX];
	uint32_t functions[MODULES_MAX];
	struct window windows[WINDOWS_MAX];
	uint32_t window_count;
};

struct synth {
	char directory[PATH_MAX - 512];
	struct process processes[PROCESSES_MAX];
	uint32_t process_count;
	uint64_t page_fault_ns; /* on its host */
};

/* Fails loudly also where assert is compiled out. */
static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "synth: %s: %s\n", what, strerror(errno));
	abort();
}

static void make_directory(const char *path)
{
	must(!mkdir(path, 0700) || errno == EEXIST, path);
}

struct synth *synth_open(const char *directory)
{
	struct synth *synth = calloc(1, sizeof *synth);

	must(synth, "memory");
	synth->page_fault_ns = SYNTH_PAGE_FAULT_NS;
	snprintf(synth->directory, sizeof synth->directory, "%s", directory);
	make_directory(directory);
	return synth;
}

static struct process *current(struct synth *synth)
{
	must(synth->process_count, "no process yet");
	return &synth->processes[synth->process_count - 1];
}

void synth_process(struct synth *synth, uint32_t pid)
{
	struct process *process = &synth->processes[synth->process_count];
	char path[PATH_MAX];
	unsigned int images = 0;

	must(synth->process_count < PROCESSES_MAX, "too many processes");
	for (uint32_t i = 0; i < synth->process_count; i++)
		images += synth->processes[i].pid == pid;
	process->pid = pid;
	snprintf(process->directory, sizeof process->directory, images ? "pid_%u_%u" : "pid_%u", pid, images);
	must(!ada_path(path, "%s/%s", synth->directory, process->directory), "path");
	make_directory(path);
	must(!ada_path(path, "%s/%s/modules", synth->directory, process->directory), "path");
	make_directory(path);
	synth->process_count++;
}

static void print_escaped(FILE *file, const char *text)
{
	for (; *text; text++)
		if (*text == '\t')
			fputs("\\t", file);
		else if (*text == '\n')
			fputs("\\n", file);
		else if (*text == '\\')
			fputs("\\\\", file);
		else
			fputc(*text, file);
}

uint32_t synth_module(struct synth *synth, const char *path, const char *const *names, uint32_t count)
{
	struct process *process = current(synth);
	uint32_t id = process->module_count++;
	char table[PATH_MAX];
	FILE *file;

	must(id < MODULES_MAX, "too many modules");
	must(!ada_path(table, "%s/%s/modules/%u.tsv", synth->directory, process->directory, id), "path");
	file = fopen(table, "w");
	must(file, table);
	fprintf(file, "#\t");
	print_escaped(file, path);
	fprintf(file, "\t%08x\t0x400000\n", id + 0xabcd);
	for (uint32_t i = 0; i < count; i++) {
		fprintf(file, "%u\t0x%x\t%u\t", i, 0x1000 + 16 * i, 16);
		print_escaped(file, names[i]);
		fputc('\n', file);
	}
	must(!fclose(file), table);
	process->modules[id] = strdup(path);
	process->functions[id] = count;
	return id;
}

/* --- detail ------------------------------------------------------------------------------------------------------------- */

void synth_capture(struct synth_thread *thread, bool capture)
{
	thread->capture = capture;
}

static AtfDetailWindow file_window(const struct synth_thread *thread)
{
	const struct process *process = current(thread->synth);
	const struct window *window = &process->windows[process->window_count - 1];

	return (AtfDetailWindow){ .start_ns = window->start_ns,
				  .end_ns = window->end_ns,
				  .marked_ns = window->start_ns,
				  .marked_count = 2,
				  .window_id = process->window_count - 1,
				  .first_detail_seq = thread->detail_seq };
}

void synth_window(struct synth_thread *thread)
{
	struct process *process = current(thread->synth);

	must(process->window_count < WINDOWS_MAX && !thread->in_window, "window");
	process->windows[process->window_count++] = (struct window){ .start_ns = thread->ns,
								     .end_ns = thread->ns,
								     .thread = thread->number,
								     .segment = thread->segment,
								     .index_seq = thread->counts[thread->segment] };
	thread->in_window = true;
	thread->window_written = false;
	thread->records = 0;
}

static void update_window(struct synth_thread *thread)
{
	AtfDetailWindow window;

	current(thread->synth)->windows[current(thread->synth)->window_count - 1].end_ns = thread->ns;
	window = file_window(thread);
	if (thread->window_written)
		must(!atf_detail_writer_window_update(thread->detail, &window), "window update");
}

void synth_window_end(struct synth_thread *thread)
{
	struct process *process = current(thread->synth);

	update_window(thread);
	process->windows[process->window_count - 1].records = thread->records;
	thread->in_window = false;
}

static void open_detail(struct synth_thread *thread)
{
	struct atf_detail_options options = { .thread_id = thread->tid, .arch = ATF_ARCH_X86_64 };
	AtfDetailWindow window = file_window(thread);
	char path[PATH_MAX];

	if (!thread->detail) {
		must(!atf_detail_path(path, sizeof path, thread->directory, thread->segment), "path");
		must(!atf_detail_writer_open(&thread->detail, path, &options), path);
	}
	if (!thread->window_written)
		must(!atf_detail_writer_window(thread->detail, &window), "window");
	thread->window_written = true;
}

/* Of event number n of the segment: x[j] = 16 n + j, lr = 0x401000 + n, fp = 1, sp = 0x7ff0, stack n, n; calls have vectors j. */
static void write_record(struct synth_thread *thread, const struct ada_event *event)
{
	uint64_t n = thread->counts[thread->segment];
	uint8_t stack[2] = { (uint8_t)n, (uint8_t)n };
	bool call = event->event_kind == ADA_EVENT_CALL;
	struct atf_detail record = { .timestamp_ns = event->timestamp_ns,
				     .function_id = event->function_id,
				     .index_seq = (uint32_t)n,
				     .detail_seq = event->detail_seq,
				     .event_type = call ? ATF_DETAIL_CALL : ATF_DETAIL_RETURN,
				     .flags = call ? ATF_DETAIL_VECTORS : 0,
				     .lr = 0x401000 + n,
				     .fp = 1,
				     .sp = 0x7ff0,
				     .stack = stack,
				     .stack_size = 2 };

	for (uint64_t j = 0; j < 8; j++) {
		record.x[j] = 16 * n + j;
		record.vectors[j] = j;
	}
	open_detail(thread);
	must(!atf_detail_writer_append(thread->detail, &record), "append detail");
	thread->records++;
}

static void close_detail(struct synth_thread *thread)
{
	if (!thread->detail)
		return;
	if (thread->in_window)
		update_window(thread);
	must(!atf_detail_writer_close(thread->detail), "close detail");
	thread->detail = NULL;
	thread->window_written = false;
}

/* --- events ------------------------------------------------------------------------------------------------------------- */

static void open_segment(struct synth_thread *thread)
{
	struct atf_index_options options = { .thread_id = thread->tid, .arch = ATF_ARCH_X86_64 };
	char path[PATH_MAX];

	must(!atf_index_path(path, sizeof path, thread->directory, thread->segment), "path");
	must(!atf_index_writer_open(&thread->writer, path, &options), path);
}

struct synth_thread *synth_thread(struct synth *synth, uint32_t tid, const char *name)
{
	struct process *process = current(synth);
	struct synth_thread *thread = calloc(1, sizeof *thread);

	must(thread && process->thread_count < SYNTH_THREADS_MAX, "too many threads");
	thread->synth = synth;
	thread->number = process->thread_count;
	thread->tid = tid;
	thread->ns = SYNTH_START_NS;
	thread->open = calloc(DEPTH_MAX, sizeof *thread->open);
	must(thread->open, "memory");
	snprintf(thread->name, sizeof thread->name, "%s", name);
	must(!ada_path(thread->directory, "%s/%s/thread_%u", synth->directory, process->directory, thread->number), "path");
	make_directory(thread->directory);
	open_segment(thread);
	process->threads[process->thread_count++] = thread;
	return thread;
}

void synth_event(struct synth_thread *thread, uint32_t kind, uint64_t function_id, uint32_t depth)
{
	struct ada_event event = {
		.timestamp_ns = thread->ns,
		.function_id = function_id,
		.thread_id = thread->tid,
		.event_kind = kind,
		.call_depth = depth,
		.detail_seq = ADA_NO_DETAIL,
	};

	if (thread->capture && kind != ADA_EVENT_LOST) {
		event.detail_seq = thread->detail_seq;
		if (thread->in_window)
			write_record(thread, &event);
		thread->detail_seq++;
	}
	must(!atf_index_writer_append(thread->writer, &event, 1), "append");
	thread->counts[thread->segment]++;
}

void synth_call(struct synth_thread *thread, uint64_t function_id)
{
	must(thread->depth < DEPTH_MAX, "too deep");
	synth_event(thread, ADA_EVENT_CALL, function_id, thread->depth);
	thread->open[thread->depth++] = function_id;
}

static void end(struct synth_thread *thread, uint32_t kind)
{
	must(thread->depth, "no open call");
	thread->depth--;
	synth_event(thread, kind, thread->open[thread->depth], thread->depth);
}

void synth_return(struct synth_thread *thread)
{
	end(thread, ADA_EVENT_RETURN);
}

void synth_leaf(struct synth_thread *thread, uint64_t function_id, uint64_t ns)
{
	synth_call(thread, function_id);
	synth_pass(thread, ns);
	synth_return(thread);
}

void synth_exception(struct synth_thread *thread)
{
	end(thread, ADA_EVENT_EXCEPTION);
}

void synth_pointer(struct synth_thread *thread, uint64_t pointer)
{
	thread->pointer = pointer;
	thread->start_ns = thread->ns;
}

void synth_end(struct synth_thread *thread)
{
	thread->end_ns = thread->ns;
}

void synth_pass(struct synth_thread *thread, uint64_t ns)
{
	thread->ns += ns;
}

void synth_lost(struct synth_thread *thread, uint64_t count, uint32_t depth)
{
	synth_event(thread, ADA_EVENT_LOST, count, thread->depth);
	thread->lost += count;
	thread->gaps++;
	thread->depth = depth;
}

void synth_roll(struct synth_thread *thread)
{
	must(thread->segment + 1 < SEGMENTS_MAX, "too many segments");
	must(!atf_index_writer_close(thread->writer, thread->detail != NULL), "close");
	close_detail(thread);
	thread->segment++;
	open_segment(thread);
}

/* --- closing ------------------------------------------------------------------------------------------------------------ */

static uint64_t thread_events(const struct synth_thread *thread)
{
	uint64_t events = 0;

	for (uint32_t i = 0; i <= thread->segment; i++)
		events += thread->counts[i];
	return events;
}

static void print_thread(FILE *file, const struct synth_thread *thread)
{
	fprintf(file, "%s{\"id\": %u, \"tid\": %u, \"name\": \"%s\", \"directory\": \"thread_%u\", \"segments\": [",
		thread->number ? ",\n  " : "\n  ", thread->number, thread->tid, thread->name, thread->number);
	for (uint32_t i = 0; i <= thread->segment; i++) {
		char number[16] = "";

		if (i)
			snprintf(number, sizeof number, "%u.", i);
		fprintf(file, "%s{\"file\": \"index.%satf\", \"events\": %lu}", i ? ", " : "", number, thread->counts[i]);
	}
	fprintf(file,
		"], \"events\": %lu, \"lost\": %lu, \"overwritten\": 0, \"gaps\": %lu, \"orphans\": 0, \"skipped\": 0, "
		"\"startNs\": %llu, ",
		thread_events(thread), thread->lost, thread->gaps, thread->pointer ? (unsigned long long)thread->start_ns : SYNTH_START_NS);
	if (thread->pointer)
		fprintf(file, "\"threadPointer\": \"0x%lx\", ", thread->pointer);
	if (thread->end_ns)
		fprintf(file, "\"endNs\": %lu, ", thread->end_ns);
	fputs("\"ended\": true}", file);
}

static void print_module(FILE *file, const struct process *process, uint32_t id)
{
	fprintf(file,
		"%s{\"id\": %u, \"path\": \"%s\", \"buildId\": \"%08x\", \"base\": \"0x400000\", \"kind\": \"%s\", "
		"\"traced\": true, \"loadNs\": %llu, \"unloadNs\": null, \"functions\": %u, \"hooked\": %u, \"mismatched\": 0, "
		"\"imports\": 0, \"skipped\": {\"too-short\": 1}, \"symbols\": \"modules/%u.tsv\"}",
		id ? ",\n  " : "\n  ", id, process->modules[id], id + 0xabcd, id ? "library" : "main", SYNTH_START_NS,
		process->functions[id] + 1, process->functions[id], id);
}

static void process_sums(const struct process *process, uint64_t *events, uint64_t *lost, uint64_t *gaps)
{
	*events = *lost = *gaps = 0;
	for (uint32_t i = 0; i < process->thread_count; i++) {
		*events += thread_events(process->threads[i]);
		*lost += process->threads[i]->lost;
		*gaps += process->threads[i]->gaps;
	}
}

#define CLOCK                                                                                                                              \
	"\"clock\": {\"name\": \"CLOCK_BOOTTIME\", \"type\": 3, \"anchors\": ["                                                            \
	"{\"counter\": 1000, \"ns\": 1000, \"nsPerTick\": 0.5}, {\"counter\": 3000, \"ns\": 2000, \"nsPerTick\": 0.5}]}"

/* Marked by a rule for function 2 at its first event, and by hand. */
static void print_window(FILE *file, const struct window *window, uint32_t i)
{
	fprintf(file,
		"%s{\"id\": %u, \"startNs\": %lu, \"endNs\": %lu, \"triggerKind\": \"symbol:leaf\", \"triggerKinds\": "
		"[\"symbol:leaf\", \"manual\"], \"keySymbolVersion\": \"v1-0123456789abcdef\", \"preRollSec\": 0.5, \"postRollSec\": 2e-9, "
		"\"requestedPreRollSec\": 5, \"requestedPostRollSec\": 2e-9, \"event_count\": %lu, \"eventCount\": %lu, "
		"\"markedNs\": %lu, \"markedCount\": 2, \"shortReason\": %s, \"closed\": true, \"settled\": true, \"marks\": [",
		i ? ", " : "", i, window->start_ns, window->end_ns, window->records, window->records, window->start_ns,
		i ? "null" : "\"startup\"");
	fprintf(file,
		"{\"kind\": \"symbol:leaf\", \"rule\": 1, \"rules\": [1], \"tsNs\": %lu, \"thread\": %u, \"segment\": %u, "
		"\"indexSeq\": %lu, \"functionId\": 2, \"value\": null, \"label\": null}, ",
		window->start_ns, window->thread, window->segment, window->index_seq);
	fprintf(file,
		"{\"kind\": \"manual\", \"rule\": 2, \"rules\": [2], \"tsNs\": %lu, \"thread\": null, \"segment\": null, "
		"\"indexSeq\": null, \"functionId\": null, \"value\": null, \"label\": \"here\"}]}",
		window->end_ns);
}

static void print_detail_lane(FILE *file, const struct process *process, uint64_t events)
{
	const char *capture = process->window_count ? "always" : "off", *persistence = process->window_count ? "windowed" : "off";
	uint64_t records = 0;

	fprintf(file, "\"detail_lane\": {\"capture\": \"%s\", \"persistence\": \"%s\", \"windows\": [", capture, persistence);
	for (uint32_t i = 0; i < process->window_count; i++) {
		records += process->windows[i].records;
		print_window(file, &process->windows[i], i);
	}
	fprintf(file, "], \"event_count\": %lu, \"coverage_ratio\": %.3f}", records, events ? (double)records / events : 0);
}

static void print_manifest(FILE *file, const struct process *process, uint32_t provider, bool finished)
{
	uint64_t events, lost, gaps;
	char end_ns[32] = "null";

	process_sums(process, &events, &lost, &gaps);
	if (finished)
		snprintf(end_ns, sizeof end_ns, "%llu", SYNTH_END_NS);
	fprintf(file,
		"{\"format\": \"ada-manifest\", \"version\": 1, \"mode\": \"selective_persistence\", \"pid\": %u, "
		"\"parentPid\": 1, \"provider\": %u, \"program\": \"/bin/synth\", \"command\": [\"synth\"], \"startNs\": %llu, "
		"\"endNs\": %s,\n\"index_lane\": {\"always_persisted\": true, \"event_count\": %lu, \"lost\": %lu, "
		"\"overwritten\": 0, \"gaps\": %lu},\n",
		process->pid, provider, SYNTH_START_NS, end_ns, events, lost, gaps);
	print_detail_lane(file, process, events);
	fputs(",\n\"marking_policy\": {\"version\": \"1\", \"hash\": \"\", \"rules\": []},\n\"threads\": [", file);
	for (uint32_t i = 0; i < process->thread_count; i++)
		print_thread(file, process->threads[i]);
	fputs("],\n\"modules\": [", file);
	for (uint32_t i = 0; i < process->module_count; i++)
		print_module(file, process, i);
	fprintf(file,
		"],\n\"hooks\": {\"functions\": 10, \"hooked\": 8, \"imports\": 0, \"skipped\": {\"too-short\": 1, "
		"\"start\": 1}},\n\"metrics\": {\"events_processed\": %lu, \"marked_events_detected\": 0, "
		"\"selective_dumps_performed\": 0, \"windows_discarded\": 0, \"avg_window_duration_ns\": 0, "
		"\"avg_events_per_window\": 0},\n\"buffering\": {\"index\": {\"mode\": \"streaming\", \"onFull\": \"drop\", "
		"\"bufferBytes\": 1048576, \"chunkBytes\": 32768, \"waits\": 0, \"waitNs\": 0}, \"detail\": null},\n" CLOCK
		",\n\"exit\": {%s}, \"crash\": null,\n\"recording\": {\"state\": \"%s\", \"reason\": null, \"threadsRefused\": 0, \"modulesRefused\": 0, \"internalErrors\": 0}, "
		"\"finalized\": %s}\n",
		events, finished ? "\"kind\": \"exited\", \"status\": 0" : "\"kind\": \"running\"", finished ? "complete" : "running",
		finished ? "true" : "false");
}

static void print_document(FILE *file, const struct synth *synth, bool finished)
{
	const char *exit = finished ? "\"exit\": {\"kind\": \"exited\", \"status\": 0}" : "\"exit\": {\"kind\": \"running\"}";
	char end_ns[32] = "null";

	if (finished)
		snprintf(end_ns, sizeof end_ns, "%llu", SYNTH_END_NS);
	fprintf(file,
		"{\"format\": \"ada-session\", \"version\": 1, \"adaVersion\": \"0\", \"name\": \"session_20260101_000000\", "
		"\"program\": \"/bin/synth\", \"command\": [\"synth\", \"a b\"], \"workingDirectory\": \"/\",\n\"host\": {\"name\": "
		"\"host\", \"kernel\": \"Linux 6.1\", \"machine\": \"x86_64\", \"cpus\": 2, \"pageFaultNs\": %lu}, \"started\": "
		"\"2026-01-01T00:00:00.000000Z\", \"startNs\": %llu, \"endNs\": %s, \"options\": {},\n\"processes\": [",
		synth->page_fault_ns, SYNTH_START_NS, end_ns);
	for (uint32_t i = 0; i < synth->process_count; i++) {
		const struct process *process = &synth->processes[i];
		uint64_t events, lost, gaps;

		process_sums(process, &events, &lost, &gaps);
		fprintf(file,
			"%s{\"directory\": \"%s\", \"pid\": %u, \"parentPid\": 1, \"provider\": %u, \"program\": "
			"\"/bin/synth\", \"startNs\": %llu, \"endNs\": %s, \"events\": %lu, \"lost\": %lu, %s}",
			i ? ",\n  " : "\n  ", process->directory, process->pid, i, SYNTH_START_NS, end_ns, events, lost, exit);
	}
	fprintf(file, "],\n\"notRecorded\": [], " CLOCK ",\n%s, \"finalized\": %s}\n", exit, finished ? "true" : "false");
}

static FILE *create(const char *path)
{
	FILE *file = fopen(path, "w");

	must(file, path);
	return file;
}

static void close_process(struct synth *synth, uint32_t number, bool finished)
{
	struct process *process = &synth->processes[number];
	char path[PATH_MAX];
	FILE *file;

	must(!ada_path(path, "%s/%s/manifest.json", synth->directory, process->directory), "path");
	file = create(path);
	print_manifest(file, process, number, finished);
	must(!fclose(file), path);
	for (uint32_t i = 0; i < process->thread_count; i++) {
		struct synth_thread *thread = process->threads[i];

		must(!atf_index_writer_flush(thread->writer), "flush");
		if (finished)
			must(!atf_index_writer_close(thread->writer, thread->detail != NULL), "close");
		else
			atf_index_writer_abandon(thread->writer);
		close_detail(thread);
		free(thread->open);
		free(thread);
	}
	for (uint32_t i = 0; i < process->module_count; i++)
		free(process->modules[i]);
}

void synth_close(struct synth *synth, bool finished)
{
	char path[PATH_MAX];
	FILE *file;

	must(!ada_path(path, "%s/session.json", synth->directory), "path");
	file = create(path);
	print_document(file, synth, finished);
	must(!fclose(file), path);
	for (uint32_t i = 0; i < synth->process_count; i++)
		close_process(synth, i, finished);
	free(synth);
}

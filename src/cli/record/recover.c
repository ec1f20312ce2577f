/* ada recover [SESSION]: finishes what a recorder that was killed left. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/units.h"
#include "cli/ground/answer.h"
#include "cli/ground/leftovers.h"
#include "cli/ground/live.h"
#include "cli/ground/rows.h"
#include "cli/record/commands.h"
#include "query/calls/stack.h"
#include "query/session/windows.h"
#include "recover/leftovers.h"
#include "recover/recover.h"

#define FRAMES_SHOWN 4

enum field { PROCESS, THREAD, TID, NAME, EVENTS, RECOVERED, TORN, LOST, DETAIL, CALL, CALL_SEQ, FIELDS };

static const struct ada_column columns[FIELDS] = {
	[PROCESS] = { "process", "PROCESS", ADA_CELL_TEXT },
	[THREAD] = { "thread", "THREAD", ADA_CELL_NUMBER },
	[TID] = { "tid", "TID", ADA_CELL_NUMBER },
	[NAME] = { "name", NULL, ADA_CELL_TEXT },
	[EVENTS] = { "events", "EVENTS", ADA_CELL_NUMBER },
	[RECOVERED] = { "recovered", "RECOVERED", ADA_CELL_NUMBER },
	[TORN] = { "torn", "TORN", ADA_CELL_NUMBER },
	[LOST] = { "lost", "LOST", ADA_CELL_NUMBER },
	[DETAIL] = { "detail", "DETAIL", ADA_CELL_NUMBER },
	[CALL] = { "call", "IN FLIGHT", ADA_CELL_NAME },
	[CALL_SEQ] = { "call_index_seq", NULL, ADA_CELL_NUMBER },
};

static const struct ada_usage usage = {
	"[SESSION]",
	"Finishes a session whose recorder was killed, and its keeper, too: files without their end get one, windows are cut to what "
	"all threads have, manifests and session.json are completed."
	"\vRECOVERED counts events that no manifest told of yet, TORN those that were cut in the middle, LOST those that are known to "
	"be missing; IN FLIGHT is the call that had not returned. Where shared memory is gone, what was in it is uncounted. Exit "
	"status: 0 where the session is complete, 125 where something could not be saved, which is named.",
};

/* --- recovering ------------------------------------------------------------------------------------------------------ */

static int open_session(const struct ada_live *live, struct ada_error *error)
{
	struct stat status;
	int fd = open(live->session, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return ada_error_system(error, errno, "%s", live->session);
	if (!fstat(fd, &status) && status.st_uid == geteuid())
		return fd;
	close(fd);
	return ada_error_set(error, EPERM, "session %s belongs to another user: only that user may recover it", live->session);
}

/* Waits until nobody else has the session: neither a keeper nor another `ada recover`. */
static int wait_for_others(const struct ada_live *live, int directory, struct ada_error *error)
{
	fprintf(stderr, "ada recover: %s: another process is about to finish it: waiting\n", live->session);
	while (flock(directory, LOCK_EX))
		if (errno != EINTR)
			return ada_error_system(error, errno, "%s can't be locked", live->session);
	return 0;
}

static int recover_once(const struct ada_live *live, int directory, struct ada_recovered *result, struct ada_error *error)
{
	struct ada_recover_options options = {
		.session = live->session, .directory = directory, .by = "command", .reason = "its recorder died"
	};
	struct ada_leftover_memory memory;
	int status;

	/* First: whoever has the session has its memory, too. */
	if (flock(directory, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return ada_error_set(error, EBUSY, "%s: another process has it", live->session);
	ada_leftover_hold(&memory, live->session);
	options.memory = memory.directory;
	options.arena = memory.arena;
	status = ada_recover(&options, result, error);
	ada_leftover_let_go(&memory, !status);
	return status;
}

static int recover(const struct ada_live *live, struct ada_recovered *result, struct ada_error *error)
{
	struct ada_error busy = { "" };
	pid_t recorder = ada_live_recorder(live);
	int status, directory;

	if (recorder)
		return ada_error_set(error, EBUSY, "session %s is still being recorded, by process %d: `ada stop` ends that", live->session,
				     (int)recorder);
	directory = open_session(live, error);
	if (directory < 0)
		return directory;
	status = recover_once(live, directory, result, &busy);
	if (status == -EBUSY) {
		status = wait_for_others(live, directory, error);
		if (!status)
			status = recover_once(live, directory, result, error);
	} else if (status) {
		ada_error_set(error, -status, "%s", busy.text);
	}
	close(directory);
	return status;
}

/* --- the answer ------------------------------------------------------------------------------------------------------ */

/* "main > middle > leaf": the calls that had not returned; NULL: there are none. malloc'ed. */
static char *path_of(const struct ada_thread *thread, const struct ada_stack *stack)
{
	size_t count = stack->frames.count, first = count > FRAMES_SHOWN ? count - FRAMES_SHOWN : 0, size;
	char *text = NULL, buffer[ADA_NAME_BUFFER];
	FILE *stream = count ? open_memstream(&text, &size) : NULL;

	if (!stream)
		return NULL;
	for (size_t i = first; i < count; i++) {
		uint64_t id = stack->frames.items[i].function_id;
		struct ada_module *module = ada_process_module(thread->process, id);

		fputs(i ? i == first ? "... > " : " > " : "", stream);
		if (module)
			ada_module_load(module);
		fputs(module ? ada_module_function(module, ADA_FUNCTION_SYMBOL(id), buffer) : "?", stream);
	}
	fclose(stream);
	return text;
}

static const json_object *note_of(const struct ada_thread *thread)
{
	const json_object *notes = ada_json_get(ada_json_get(thread->process->manifest, "recovered"), "threads");

	for (size_t i = 0; i < ada_json_length(notes); i++)
		if (ada_json_u64(json_object_array_get_idx(notes, i), "id", UINT64_MAX) == thread->number)
			return json_object_array_get_idx(notes, i);
	return NULL;
}

static void add_row(struct ada_rows *rows, const struct ada_thread *thread, const json_object *note)
{
	struct ada_stack stack = { .frames = { .items = NULL } };
	size_t open = thread->events && !ada_stack_at(&stack, thread, thread->count) ? stack.frames.count : 0;
	char *path = open ? path_of(thread, &stack) : NULL;

	ada_rows_add(rows, (const struct ada_cell[FIELDS]){
				   [PROCESS] = { .text = thread->process->directory },
				   [THREAD] = { .number = thread->number },
				   [TID] = { .number = thread->tid },
				   [NAME] = { .text = thread->name },
				   [EVENTS] = { .number = thread->count },
				   [RECOVERED] = { .number = ada_json_u64(note, "recovered", 0) },
				   [TORN] = { .number = ada_json_u64(note, "torn", 0) },
				   [LOST] = { .number = ada_thread_lost(thread) },
				   [DETAIL] = { .number = ada_thread_details(thread, 0, UINT64_MAX) },
				   [CALL] = { .text = path ? path : "", .absent = !path },
				   [CALL_SEQ] = { .number = open ? stack.frames.items[open - 1].position : 0, .absent = !open },
			   });
	free(path);
	ada_stack_close(&stack);
}

static void print_fields(struct ada_output *output, const struct ada_session *session, const struct ada_recovered *result)
{
	const json_object *note = ada_json_get(session->document, "recovered");

	ada_output_string(output, "\"session\": ");
	ada_output_json(output, session->path);
	ada_output_string(output, result->was_complete ? ",\n\"wasComplete\": true,\n\"recovered\": " :
							 ",\n\"wasComplete\": false,\n\"recovered\": ");
	ada_output_utf8(output, note ? json_object_to_json_string_ext((json_object *)note, JSON_C_TO_STRING_PLAIN) : "null");
	ada_output_string(output, ",\n\"problems\": [");
	for (size_t i = 0; i < result->problems.count; i++) {
		ada_output_string(output, i ? ", " : "");
		ada_output_json(output, result->problems.items[i]);
	}
	ada_output_string(output, "],\n");
}

/* Prints what became of the windows that lost something. */
static void print_windows(struct ada_output *output, const struct ada_session *session)
{
	uint64_t cut = 0, gone = 0;

	for (size_t i = 0; i < session->processes.count; i++) {
		const json_object *note = ada_json_get(session->processes.items[i]->manifest, "recovered");

		cut += ada_json_u64(note, "windowsCut", 0);
		gone += ada_json_length(ada_json_get(note, "windowsGone"));
	}
	if (!cut && !gone)
		return;
	ada_output_string(output, "Windows: ");
	ada_output_u64(output, session->windows.count);
	ada_output_string(output, ", of which ");
	ada_output_u64(output, cut);
	ada_output_string(output, " were cut or found by their records alone; ");
	ada_output_u64(output, gone);
	ada_output_string(output, " more had nothing on the disk. `ada windows` says why.\n");
}

static void print_head(struct ada_output *output, const struct ada_session *session, const struct ada_recovered *result)
{
	const json_object *note = ada_json_get(session->document, "recovered");

	ada_output_text(output, session->path);
	if (!note) {
		ada_output_string(output, ": complete, nothing to do.\n");
		return;
	}
	ada_output_string(output, result->was_complete ? ": nothing to do: recovered already, by " : ": recovered by ");
	ada_output_text(output, ada_json_text(note, "by", "?"));
	ada_output_string(output, " at ");
	ada_output_text(output, ada_json_text(note, "at", "?"));
	ada_output_string(output, ": ");
	ada_output_text(output, ada_json_text(note, "reason", "?"));
	ada_output_string(output, ".\n");
}

static int print(const char *command, const struct ada_session *session, const struct ada_recovered *result, enum ada_format format)
{
	static struct ada_output output;
	struct ada_completeness completeness = ada_session_completeness(session);
	bool text = format == ADA_FORMAT_TEXT;
	struct ada_rows rows;

	ada_output_open(&output, STDOUT_FILENO);
	if (text)
		print_head(&output, session, result);
	else
		ada_output_string(&output, format == ADA_FORMAT_JSON ? "{" : "");
	if (!text || !result->was_complete) {
		ada_rows_open(&rows, &output, format, "rows", columns, FIELDS);
		for (size_t i = 0; i < session->threads.count; i++) {
			const json_object *note = note_of(&session->threads.items[i]);

			if (note)
				add_row(&rows, &session->threads.items[i], note);
		}
		ada_rows_close(&rows);
	}
	if (format == ADA_FORMAT_JSON) {
		print_fields(&output, session, result);
		ada_completeness_json(&output, &completeness);
	} else if (text && !result->was_complete) {
		print_windows(&output, session);
		ada_completeness_text(&output, &completeness);
	}
	return ada_answer_finish(command, &output, session);
}

int ada_cmd_recover(int argc, char **argv)
{
	struct ada_options options = {};
	struct ada_recovered result = {};
	struct ada_session *session = NULL;
	struct ada_error error = {};
	struct ada_live live;
	int status;

	ada_options_take(&options, &usage, argc, argv);
	if (options.session && (options.list || options.purge))
		ada_options_fail(argv[0], "unexpected argument '%s': --list and --purge are of no session", options.session);
	if (options.list || options.purge)
		return ada_recover_leftovers(argv[0], options.format, options.purge);
	ada_fault_catch();
	if (ada_live_locate(&live, options.session, &error) || recover(&live, &result, &error) ||
	    ada_session_open(&session, live.session, &error))
		status = ada_answer_fail(argv[0], &error);
	else
		status = print(argv[0], session, &result, options.format);
	for (size_t i = 0; i < result.problems.count; i++)
		fprintf(stderr, "%s: not saved: %s\n", argv[0], result.problems.items[i]);
	if (result.problems.count)
		status = ADA_EXIT_FAILED;
	ada_recovered_free(&result);
	ada_session_close(session);
	return status;
}

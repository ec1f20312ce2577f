/* ada verify: checks every byte of a session that can be checked. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include "base/fault.h"
#include "cli/ground/answer.h"
#include "cli/ground/rows.h"
#include "cli/show/commands.h"
#include "query/verify/verify.h"

enum { EXIT_DAMAGED = 1, EXIT_NO_SESSION = 2 };

static const struct ada_column columns[] = {
	{ "file", NULL, ADA_CELL_TEXT },
	{ "check", NULL, ADA_CELL_TEXT },
	{ "ok", NULL, ADA_CELL_BOOL },
	{ "message", NULL, ADA_CELL_TEXT },
};

/* Columns per thread; in text those that are of interest where nothing is wrong. */
static const struct ada_column book_columns[] = {
	{ "process", "PROCESS", ADA_CELL_TEXT },       { "thread", "THREAD", ADA_CELL_NUMBER }, { "tid", "TID", ADA_CELL_NUMBER },
	{ "event_count", "RECORDS", ADA_CELL_NUMBER }, { "calls", "CALLS", ADA_CELL_NUMBER },	{ "ends", "ENDS", ADA_CELL_NUMBER },
	{ "others", "OTHERS", ADA_CELL_NUMBER },       { "gaps", NULL, ADA_CELL_NUMBER },	{ "told", NULL, ADA_CELL_NUMBER },
	{ "torn", "TORN", ADA_CELL_NUMBER },	       { "aged", "AGED", ADA_CELL_NUMBER },	{ "lost", "LOST", ADA_CELL_NUMBER },
	{ "captured", "CAPTURED", ADA_CELL_NUMBER },   { "name", "NAME", ADA_CELL_NAME },
};

static const struct ada_usage usage = {
	"[SESSION]",
	"Checks every byte of a session that can be checked, and what its files say of each other."
	" For each thread it prints the books: how many calls and ends were captured, and where they are."
	"\vText lists what failed, and the books; json and csv list every check, json the books too. Exit"
	" status: 0 if all is well, 1 if something is damaged, 2 if there is no session, 125 if it can't be checked.",
};

static void print_row(void *context, const struct ada_finding *finding)
{
	ada_rows_add(context, (const struct ada_cell[]){ { .text = finding->file },
							 { .text = finding->check },
							 { .number = finding->ok },
							 { .text = finding->message } });
}

static void print_failure(void *context, const struct ada_finding *finding)
{
	struct ada_output *output = context;

	if (finding->ok)
		return;
	ada_output_text(output, finding->file);
	ada_output_string(output, ": ");
	ada_output_text(output, finding->check);
	ada_output_string(output, ": ");
	ada_output_text(output, finding->message);
	ada_output_string(output, "\n");
}

static int print_books(struct ada_output *output, enum ada_format format, const struct ada_verify *verify)
{
	struct ada_rows rows;
	int result = 0;

	if (format == ADA_FORMAT_CSV)
		return 0;
	ada_rows_open(&rows, output, format, "books", book_columns, sizeof book_columns / sizeof *book_columns);
	for (size_t i = 0; i < verify->books.count && !result; i++) {
		const struct ada_thread *thread = verify->books.items[i].thread;
		const struct atf_books *books = &verify->books.items[i].books;

		result = ada_rows_add(&rows, (const struct ada_cell[]){ { .text = thread->process->directory },
									{ .number = thread->number },
									{ .number = thread->tid },
									{ .number = books->event_count },
									{ .number = books->calls },
									{ .number = books->ends },
									{ .number = books->others },
									{ .number = books->gaps },
									{ .number = books->told },
									{ .number = books->torn },
									{ .number = books->aged },
									{ .number = books->lost },
									{ .number = books->captured },
									{ .text = thread->name } });
	}
	ada_rows_close(&rows);
	return result;
}

static void print_summary(struct ada_output *output, const struct ada_verify *verify)
{
	ada_output_u64(output, verify->checks);
	ada_output_string(output, verify->failures ? " checks, " : " checks, all is well.\n");
	if (!verify->failures)
		return;
	ada_output_u64(output, verify->failures);
	ada_output_string(output, " failed.\n");
}

/* Whether no session is there at all, which isn't the same as one that can't be read. */
static bool is_none(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -EBADMSG;
}

int ada_cmd_verify(int argc, char **argv)
{
	static struct ada_output output;
	struct ada_options options = {};
	struct ada_session *session = NULL;
	struct ada_error error = {};
	struct ada_verify verify = {};
	struct ada_rows rows;
	int status;

	ada_options_take(&options, &usage, argc, argv);
	ada_fault_catch();
	status = ada_session_open(&session, options.session, &error);
	if (status) {
		ada_answer_fail(argv[0], &error);
		return is_none(status) ? EXIT_NO_SESSION : ADA_EXIT_FAILED;
	}
	ada_output_open(&output, STDOUT_FILENO);
	verify.session = session;
	if (options.format == ADA_FORMAT_TEXT) {
		verify.found = print_failure;
		verify.context = &output;
	} else {
		ada_output_string(&output, options.format == ADA_FORMAT_JSON ? "{" : "");
		ada_rows_open(&rows, &output, options.format, "rows", columns, sizeof columns / sizeof *columns);
		verify.found = print_row;
		verify.context = &rows;
	}
	if (ada_verify_session(&verify, &error)) {
		status = ada_answer_fail(argv[0], &error);
		goto done;
	}
	if (options.format != ADA_FORMAT_TEXT)
		ada_rows_close(&rows);
	if (print_books(&output, options.format, &verify)) {
		ada_error_system(&error, ENOMEM, "%s", session->path);
		status = ada_answer_fail(argv[0], &error);
		goto done;
	}
	if (options.format == ADA_FORMAT_TEXT)
		print_summary(&output, &verify);
	if (options.format == ADA_FORMAT_JSON) {
		struct ada_completeness completeness = ada_session_completeness(session);

		ada_completeness_json(&output, &completeness);
	}
	/* Files that can't be read are among the findings: stderr doesn't say that again. */
	status = ada_output_finish(&output, argv[0]);
	if (!status)
		status = ada_answer_fault(argv[0], session);
	if (!status && verify.failures)
		status = EXIT_DAMAGED;
done:
	ada_array_free(&verify.books);
	ada_session_close(session);
	return status;
}

/* ada top: the functions that take the time now, and what each thread is in. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/interrupt.h"
#include "cli/ground/answer.h"
#include "cli/ground/rows.h"
#include "cli/live/commands.h"
#include "cli/live/tables.h"
#include "cli/live/top_screen.h"
#include "cli/screen/screen.h"
#include "query/session/clock_view.h"

#define ANSWER_MS 10000
#define SECOND_MS 1000
#define ROWS_SHOWN 20

static int put_scene(const struct ada_watch *watch, enum ada_board_sort sort, const struct ada_options *options, struct ada_output *output)
{
	const struct ada_scene *scene = &watch->scene;
	struct ada_board board = { .sort = sort };
	bool json = options->format == ADA_FORMAT_JSON;
	int result = ada_board_fill(&board, scene);

	if (json) {
		ada_output_format(output, "{\"fromNs\": %llu, \"endNs\": %llu, \"recording\": %s, ", (unsigned long long)scene->from_ns,
				  (unsigned long long)scene->end_ns, watch->status ? "true" : "false");
	} else {
		ada_tables_head(watch, output);
		ada_output_string(output, "\n\n");
	}
	if (!result)
		result = ada_tables_functions(scene, &board, 0, options->limit, NULL, options->format, output);
	ada_output_string(output, json ? "" : "\n");
	if (!result)
		result = ada_tables_threads(scene, 0, options->limit, options->format, output);
	if (scene->threads.count > options->limit && !json)
		ada_output_format(output, "and %zu more threads: --limit=N shows more\n", scene->threads.count - (size_t)options->limit);
	if (json)
		ada_completeness_json(output, &scene->stats.completeness);
	ada_board_close(&board);
	return result;
}

static int show(const struct ada_watch *watch, enum ada_board_sort sort, const struct ada_options *options)
{
	static struct ada_output output;
	struct ada_error error = {};

	ada_output_open(&output, STDOUT_FILENO);
	if (!put_scene(watch, sort, options, &output))
		return ada_answer_finish(options->command, &output, watch->session);
	ada_error_set(&error, ENOMEM, "out of memory");
	return ada_answer_fail(options->command, &error);
}

/* Prints scenes until the session is over. */
static int print_scenes(struct ada_watch *watch, enum ada_board_sort sort, uint64_t at_ns)
{
	const struct ada_options *options = watch->options;
	struct ada_error error = {};
	int status = show(watch, sort, options);

	while (!status && watch->status && !options->once && !at_ns && !ada_interrupted()) {
		poll(NULL, 0, SECOND_MS);
		if (ada_watch_look(watch, 0, &error))
			return ada_answer_fail(options->command, &error);
		status = show(watch, sort, options);
	}
	return status;
}

/* What --at means is known once the session is. */
static int first_look(struct ada_watch *watch, uint64_t *at_ns, struct ada_error *error)
{
	struct ada_session *session;
	int result;

	*at_ns = 0;
	if (watch->options->to) {
		result = ada_session_open(&session, watch->options->session, error);
		if (result)
			return result;
		result = ada_clock_view_set(session, watch->options->clock, error) ?:
				 ada_clock_view_parse(&session->view, session, watch->options->to, at_ns, error);
		ada_session_close(session);
		if (result)
			return result;
	}
	return ada_watch_look(watch, *at_ns, error);
}

static const struct ada_usage usage = {
	"[SESSION]",
	"Shows which functions take the time of a session that is being recorded, in the second before now, and what each thread is in."
	"\vOn a terminal `h` names the keys: sort, filter, callers, mark, add a rule; a session that has ended is played back. Elsewhere a "
	"screen is printed each second until the session ends; of one that has ended, its last second, or the one before --at.",
};

int ada_cmd_top(int argc, char **argv)
{
	struct ada_options options = { .sort = "self", .limit = ROWS_SHOWN };
	struct ada_watch watch = { .options = &options, .answer_ms = ANSWER_MS, .span_ns = ADA_SCENE_SPAN_NS };
	char path[PATH_MAX];
	enum ada_board_sort sort;
	struct ada_error error = {};
	uint64_t at_ns;
	int status;

	ada_options_take(&options, &usage, argc, argv);
	if (!ada_board_sort_of(options.sort, &sort))
		ada_options_fail(argv[0], "can't sort by '%s': fields are calls, total, self, p99, max", options.sort);
	/* Another recording may take the name `latest`. */
	if (realpath(options.session ? options.session : ADA_LATEST, path))
		options.session = path;
	ada_fault_catch();
	if (first_look(&watch, &at_ns, &error))
		status = ada_answer_fail(argv[0], &error);
	else if (options.once || options.format == ADA_FORMAT_JSON || !ada_screen_possible())
		status = print_scenes(&watch, sort, at_ns);
	else
		status = ada_top_screen(&watch, sort, at_ns);
	ada_watch_close(&watch);
	ada_options_free(&options);
	return status;
}

/* ada top: the functions that are called most now, and what each thread is in. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/units.h"
#include "cli/ground/answer.h"
#include "cli/ground/live.h"
#include "cli/ground/rows.h"
#include "cli/live/commands.h"
#include "cli/live/scene.h"
#include "query/session/json.h"

#define ANSWER_SECONDS 10
#define SECOND_MS 1000
#define ROWS_SHOWN 20

enum function_field { FUNCTION, MODULE, RATE, TOTAL, SELF, P99, MAX, FUNCTION_FIELDS };
enum thread_field { PROCESS, THREAD, NAME, EVENTS, INSIDE, SINCE, KIND, BY, THREAD_FIELDS };

static const struct ada_column function_columns[FUNCTION_FIELDS] = {
	[FUNCTION] = { "function", "FUNCTION", ADA_CELL_NAME },
	[MODULE] = { "module", "MODULE", ADA_CELL_NAME },
	[RATE] = { "calls_per_second", "CALLS/S", ADA_CELL_COUNT },
	[TOTAL] = { "total_ns", "TOTAL", ADA_CELL_DURATION },
	[SELF] = { "self_ns", "SELF", ADA_CELL_DURATION },
	[P99] = { "p99_ns", "P99", ADA_CELL_DURATION },
	[MAX] = { "max_ns", "MAX", ADA_CELL_DURATION },
};
static const struct ada_column thread_columns[THREAD_FIELDS] = {
	[PROCESS] = { "process", "PROCESS", ADA_CELL_TEXT },  [THREAD] = { "thread", "THREAD", ADA_CELL_NUMBER },
	[NAME] = { "name", "NAME", ADA_CELL_TEXT },	      [EVENTS] = { "events_per_second", "EVENTS/S", ADA_CELL_COUNT },
	[INSIDE] = { "function", "IS IN", ADA_CELL_NAME },    [SINCE] = { "since_ns", "FOR", ADA_CELL_DURATION },
	[KIND] = { "waits_for", "WAITS FOR", ADA_CELL_TEXT }, [BY] = { "blocked_by", "OF THREAD", ADA_CELL_TEXT },
};

/* --- functions ------------------------------------------------------------------------------------------------------------ */

static uint64_t value_of(const struct ada_function_stats *function, enum function_field field)
{
	switch (field) {
	case RATE: return function->calls;
	case TOTAL: return function->total_ns;
	case P99: return function->durations.count ? ada_histogram_percentile(&function->durations, 990) : 0;
	case MAX: return function->durations.max;
	default: return function->self_ns;
	}
}

static int compare_functions(const void *left, const void *right, void *context)
{
	const struct ada_function_stats *a = *(struct ada_function_stats *const *)left, *b = *(struct ada_function_stats *const *)right;
	enum function_field field = *(const enum function_field *)context;
	uint64_t value = value_of(a, field), other = value_of(b, field);

	return value != other ? (value > other ? -1 : 1) : a->key < b->key ? -1 : a->key > b->key;
}

static enum function_field field_of(const char *command, const char *name)
{
	static const struct {
		const char *name;
		enum function_field field;
	} fields[] = { { "calls", RATE }, { "total", TOTAL }, { "self", SELF }, { "p99", P99 }, { "max", MAX } };

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (!strcmp(name, fields[i].name))
			return fields[i].field;
	ada_options_fail(command, "can't sort by '%s': fields are calls, total, self, p99, max", name);
}

/* Of something that happened so often in the scene's time. */
static uint64_t a_second(const struct ada_scene *scene, uint64_t count)
{
	uint64_t span = scene->end_ns - scene->from_ns;

	return span ? (uint64_t)((double)count * 1e9 / (double)span + 0.5) : 0;
}

static int put_functions(const struct ada_scene *scene, const struct ada_options *options, struct ada_output *output)
{
	enum function_field sort = field_of(options->command, options->sort);
	struct ada_function_stats **functions = scene->stats.functions.items;
	size_t count = scene->stats.functions.count;
	struct ada_rows table;
	int result = 0;

	if (count)
		qsort_r(functions, count, sizeof *functions, compare_functions, &sort);
	ada_rows_open(&table, output, options->format, "functions", function_columns, FUNCTION_FIELDS);
	for (size_t i = 0; i < count && i < options->limit && !result; i++) {
		struct ada_cell cells[FUNCTION_FIELDS] = {};
		char name[ADA_NAME_BUFFER];

		cells[FUNCTION].text = ada_module_function(functions[i]->module, functions[i]->function_id, name);
		cells[MODULE].text = ada_module_name(functions[i]->module);
		for (enum function_field field = TOTAL; field < FUNCTION_FIELDS; field++)
			cells[field] = (struct ada_cell){ .number = value_of(functions[i], field),
							  .absent = field >= P99 && !functions[i]->durations.count };
		cells[RATE].number = a_second(scene, functions[i]->calls);
		result = ada_rows_add(&table, cells);
	}
	ada_rows_close(&table);
	return result;
}

/* --- threads -------------------------------------------------------------------------------------------------------------- */

static int put_thread(struct ada_rows *table, const struct ada_scene *scene, const struct ada_scene_thread *seen)
{
	const struct ada_process *process = seen->thread->process;
	struct ada_cell cells[THREAD_FIELDS] = {
		[PROCESS] = { .text = process->directory },
		[THREAD] = { .number = seen->thread->number },
		[NAME] = { .text = seen->thread->name },
		[EVENTS] = { .number = a_second(scene, seen->events) },
		[INSIDE] = { .absent = !seen->inside },
		[SINCE] = { .number = scene->end_ns > seen->since_ns ? scene->end_ns - seen->since_ns : 0, .absent = !seen->inside },
		[KIND] = { .text = ada_cause_kind_name(seen->kind), .absent = !seen->explained },
		[BY] = { .absent = !seen->culprit },
	};
	char name[ADA_NAME_BUFFER], by[sizeof seen->thread->name + 32];

	if (seen->inside)
		cells[INSIDE].text = ada_module_function(ada_process_module(process, seen->function_id), seen->function_id, name);
	if (seen->culprit) {
		snprintf(by, sizeof by, "%u%s%s", seen->culprit->number, seen->culprit->name[0] ? " " : "", seen->culprit->name);
		cells[BY].text = by;
	}
	return ada_rows_add(table, cells);
}

static int put_threads(const struct ada_scene *scene, const struct ada_options *options, struct ada_output *output)
{
	struct ada_rows table;
	int result = 0;

	ada_rows_open(&table, output, options->format, "threads", thread_columns, THREAD_FIELDS);
	for (size_t i = 0; i < scene->threads.count && i < options->limit && !result; i++)
		result = put_thread(&table, scene, &scene->threads.items[i]);
	ada_rows_close(&table);
	if (scene->threads.count > options->limit && options->format == ADA_FORMAT_TEXT)
		ada_output_format(output, "and %zu more threads: --limit=N shows more\n", scene->threads.count - (size_t)options->limit);
	return result;
}

/* --- the screen ----------------------------------------------------------------------------------------------------------- */

/* `status`: the recorder's; NULL: the session has ended. */
static void put_head(const struct ada_scene *scene, const json_object *status, struct ada_output *output)
{
	char span[ADA_UNITS_TEXT], whole[ADA_UNITS_TEXT], rate[ADA_UNITS_TEXT], lost[ADA_UNITS_TEXT], free_bytes[ADA_UNITS_TEXT];
	const json_object *metrics = ada_json_get(status, "metrics");
	struct statvfs disk;

	ada_output_text(output, scene->session->path);
	ada_output_format(output, ": %s of %s: %s events/s, %s lost", ada_format_duration(scene->end_ns - scene->from_ns, span),
			  ada_format_duration(scene->end_ns - scene->session->start_ns, whole),
			  ada_format_count(a_second(scene, scene->stats.completeness.events), rate),
			  ada_format_count(status ? ada_json_u64(status, "lost", 0) : scene->stats.completeness.lost, lost));
	if (metrics)
		ada_output_format(output, "; %.0f %% of the detail's pool is held",
				  100 * json_object_get_double(ada_json_get(metrics, "pool_use")));
	if (status && !statvfs(scene->session->path, &disk))
		ada_output_format(output, "; %s free on the disk", ada_format_size((uint64_t)disk.f_bavail * disk.f_frsize, free_bytes));
	ada_output_string(output, status ? "; being recorded\n\n" : "\n\n");
}

static int put_scene(const struct ada_scene *scene, const json_object *status, const struct ada_options *options, struct ada_output *output)
{
	bool json = options->format == ADA_FORMAT_JSON;
	int result;

	if (json)
		ada_output_format(output, "{\"fromNs\": %llu, \"endNs\": %llu, \"recording\": %s, ", (unsigned long long)scene->from_ns,
				  (unsigned long long)scene->end_ns, status ? "true" : "false");
	else
		put_head(scene, status, output);
	result = put_functions(scene, options, output);
	ada_output_string(output, json ? "" : "\n");
	if (!result)
		result = put_threads(scene, options, output);
	if (json)
		ada_completeness_json(output, &scene->stats.completeness);
	return result;
}

/* Puts *status, where the session is being recorded. */
static int ask(const struct ada_options *options, json_object **status, struct ada_error *error)
{
	struct ada_live live;
	int result = ada_live_find(&live, options->session, error);

	*status = NULL;
	if (!result)
		result = ada_live_ask(&live, ada_live_request("status"), ANSWER_SECONDS, status, error);
	return result == -ESRCH ? 0 : result;
}

static const struct ada_usage usage = {
	"[SESSION]",
	"Shows which functions take the time of a session that is being recorded, in the second before now, and what each thread is in."
	"\vAgain each second until the session ends; of one that has ended, its last second, or the one before --at.",
};

static int show(const struct ada_options *options, bool redraw, bool *goes_on)
{
	static struct ada_output output;
	struct ada_error error = {};
	json_object *status = NULL;
	struct ada_scene scene = {};
	int result = ada_scene_open(&scene, options, &error), exit_status;

	/* What is asked last says whether there is more to come: nothing is missed between both. */
	if (!result)
		result = options->to ? 0 : ask(options, &status, &error);
	*goes_on = status;
	if (result) {
		exit_status = ada_answer_fail(options->command, &error);
	} else {
		ada_output_open(&output, STDOUT_FILENO);
		ada_output_string(&output, redraw ? "\033[H\033[J" : "");
		if (put_scene(&scene, status, options, &output)) {
			ada_error_set(&error, ENOMEM, "out of memory");
			exit_status = ada_answer_fail(options->command, &error);
		} else {
			exit_status = ada_answer_finish(options->command, &output, scene.session);
		}
	}
	json_object_put(status);
	ada_scene_close(&scene);
	return exit_status;
}

int ada_cmd_top(int argc, char **argv)
{
	struct ada_options options = { .sort = "self", .limit = ROWS_SHOWN };
	bool redraw = isatty(STDOUT_FILENO), goes_on = true;
	int status = 0;

	ada_options_take(&options, &usage, argc, argv);
	field_of(argv[0], options.sort); /* or fails */
	ada_fault_catch();
	while (goes_on && !status) {
		status = show(&options, redraw && !options.once, &goes_on);
		goes_on &= !options.once;
		if (goes_on && !status)
			poll(NULL, 0, SECOND_MS);
	}
	ada_options_free(&options);
	return status;
}

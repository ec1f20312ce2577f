#include "cli/live/tables.h"
#include <stdio.h>
#include <sys/statvfs.h>
#include "base/units.h"
#include "cli/ground/rows.h"
#include "cli/screen/spark.h"
#include "query/session/json.h"

enum function_field { FUNCTION, MODULE, RATE, TREND, TOTAL, SELF, P99, MAX, FUNCTION_FIELDS };
enum thread_field { PROCESS, THREAD, NAME, EVENTS, INSIDE, SINCE, AGO, KIND, BY, HELD, THREAD_FIELDS };

static const struct ada_column function_columns[FUNCTION_FIELDS] = {
	[FUNCTION] = { "function", "FUNCTION", ADA_CELL_FUNCTION },
	[MODULE] = { "module", "MODULE", ADA_CELL_NAME },
	[RATE] = { "calls_per_second", "CALLS/S", ADA_CELL_COUNT },
	[TREND] = { "trend", "TREND", ADA_CELL_TEXT },
	[TOTAL] = { "total_ns", "TOTAL", ADA_CELL_DURATION },
	[SELF] = { "self_ns", "SELF", ADA_CELL_DURATION },
	[P99] = { "p99_ns", "P99", ADA_CELL_DURATION },
	[MAX] = { "max_ns", "MAX", ADA_CELL_DURATION },
};
static const enum function_field sorted_by[ADA_BOARD_SORTS] = { SELF, RATE, TOTAL, P99, MAX };
static const struct ada_column thread_columns[THREAD_FIELDS] = {
	[PROCESS] = { "process", "PROCESS", ADA_CELL_TEXT },
	[THREAD] = { "thread", "THREAD", ADA_CELL_NUMBER },
	[NAME] = { "name", "NAME", ADA_CELL_TEXT },
	[EVENTS] = { "events_per_second", "EVENTS/S", ADA_CELL_COUNT },
	[INSIDE] = { "function", "IS IN", ADA_CELL_FUNCTION },
	[SINCE] = { "since_ns", "FOR", ADA_CELL_DURATION },
	[AGO] = { "ago_ns", "SEEN AGO", ADA_CELL_DURATION },
	[KIND] = { "waits_for", "WAITS FOR", ADA_CELL_TEXT },
	[BY] = { "blocked_by", "OF THREAD", ADA_CELL_TEXT },
	[HELD] = { "held_in", "HELD IN", ADA_CELL_NAME },
};

/* What both say. */
struct said {
	char rate[ADA_UNITS_TEXT], lost[ADA_UNITS_TEXT], free_bytes[ADA_UNITS_TEXT];
	double pool_percent; /* < 0: there is none */
	bool has_disk;	     /* free_bytes says something: the session is being recorded */
};

static void find_out(const struct ada_watch *watch, struct said *said)
{
	const struct ada_scene *scene = &watch->scene;
	const json_object *status = watch->status, *metrics = ada_json_get(status, "metrics");
	struct statvfs disk;

	ada_format_count(ada_scene_a_second(scene, scene->stats.completeness.events), said->rate);
	ada_format_count(status ? ada_json_u64(status, "lost", 0) : ada_completeness_lost(&scene->stats.completeness), said->lost);
	said->pool_percent = metrics ? 100 * json_object_get_double(ada_json_get(metrics, "pool_use")) : -1;
	said->has_disk = status && !statvfs(scene->session->path, &disk);
	if (said->has_disk)
		ada_format_size((uint64_t)disk.f_bavail * disk.f_frsize, said->free_bytes);
}

void ada_tables_head(const struct ada_watch *watch, struct ada_output *output)
{
	char span[ADA_UNITS_TEXT], whole[ADA_UNITS_TEXT], share[ADA_WATCH_SHARE];
	const struct ada_scene *scene = &watch->scene;
	struct said said;

	find_out(watch, &said);
	ada_output_text(output, scene->session->path);
	ada_output_format(output, ": %s%s of %s: %s events/s, %s lost", ada_format_duration(scene->end_ns - scene->from_ns, span),
			  ada_watch_share(watch, share), ada_format_duration(scene->end_ns - scene->session->start_ns, whole), said.rate,
			  said.lost);
	if (said.pool_percent >= 0)
		ada_output_format(output, "; %.0f %% of the detail's pool is held", said.pool_percent);
	if (said.has_disk)
		ada_output_format(output, "; %s free on the disk", said.free_bytes);
	ada_output_string(output, watch->status ? "; being recorded" : "");
}

void ada_tables_brief(const struct ada_watch *watch, struct ada_output *output)
{
	const char *path = watch->session->path, *slash = strrchr(path, '/');
	struct said said;

	find_out(watch, &said);
	ada_output_text(output, slash && slash[1] ? slash + 1 : path);
	ada_output_format(output, ": %s events/s, %s lost", said.rate, said.lost);
	if (said.pool_percent >= 0)
		ada_output_format(output, ", pool %.0f %%", said.pool_percent);
	if (said.has_disk)
		ada_output_format(output, ", disk %s free", said.free_bytes);
}

/* --- functions ------------------------------------------------------------------------------------------------------------ */

static void put_trend(const struct ada_tables_trend *trend, const struct ada_function_stats *function, struct ada_cell *cell,
		      char text[ADA_SPARK_TEXT])
{
	uint64_t numbers[ADA_TREND_LOOKS];
	size_t count = ada_trend_get(trend->trend, ada_board_identity(function), numbers);

	cell->text = ada_spark(numbers, count, trend->utf8, text);
}

int ada_tables_functions(const struct ada_scene *scene, const struct ada_board *board, uint64_t first, uint64_t count,
			 const struct ada_tables_trend *trend, enum ada_format format, struct ada_output *output)
{
	struct ada_column columns[FUNCTION_FIELDS];
	struct ada_rows table;
	int result = 0;

	memcpy(columns, function_columns, sizeof columns);
	if (!trend) /* the place of its column is the one behind it */
		memmove(columns + TREND, columns + TREND + 1, (FUNCTION_FIELDS - TREND - 1) * sizeof *columns);
	ada_rows_open(&table, output, format, "functions", columns, trend ? FUNCTION_FIELDS : FUNCTION_FIELDS - 1);
	table.spares = "module max_ns p99_ns trend total_ns";
	table.kept = function_columns[sorted_by[board->sort]].name;
	for (uint64_t i = first; i < board->rows.count && i - first < count && !result; i++) {
		const struct ada_function_stats *function = board->rows.items[i];
		struct ada_cell cells[FUNCTION_FIELDS] = {};
		char name[ADA_NAME_BUFFER], picture[ADA_SPARK_TEXT];

		cells[FUNCTION].text = ada_module_function(function->module, function->function_id, name);
		cells[MODULE].text = ada_module_name(function->module);
		cells[RATE].number = ada_scene_a_second(scene, function->calls);
		cells[TOTAL].number = function->total_ns;
		cells[SELF].number = function->self_ns;
		cells[P99].number = ada_board_value(function, ADA_BOARD_P99);
		cells[MAX].number = function->durations.max;
		cells[P99].absent = cells[MAX].absent = !function->durations.count;
		if (trend)
			put_trend(trend, function, &cells[TREND], picture);
		else
			memmove(cells + TREND, cells + TREND + 1, (FUNCTION_FIELDS - TREND - 1) * sizeof *cells);
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
		[EVENTS] = { .number = ada_scene_a_second(scene, seen->events) },
		[INSIDE] = { .absent = !seen->inside },
		[SINCE] = { .number = seen->known_ns > seen->since_ns ? seen->known_ns - seen->since_ns : 0, .absent = !seen->inside },
		[AGO] = { .number = scene->end_ns - seen->known_ns, .absent = !seen->inside || seen->known_ns == scene->end_ns },
		[KIND] = { .text = ada_cause_kind_name(seen->kind), .absent = !seen->explained },
		[BY] = { .absent = !seen->culprit },
		[HELD] = { .absent = seen->held_in == ADA_NO_FUNCTION },
	};
	char name[ADA_NAME_BUFFER], held[ADA_NAME_BUFFER], by[sizeof seen->thread->name + 32];

	if (seen->far && table->format == ADA_FORMAT_TEXT)
		cells[INSIDE] = (struct ada_cell){ .text = "?" };
	if (seen->explained && seen->kind == ADA_CAUSE_CPU && table->format == ADA_FORMAT_TEXT)
		cells[KIND].text = "runs"; /* it waits for nothing */
	if (seen->inside)
		cells[INSIDE].text = ada_module_function(ada_process_module(process, seen->function_id), seen->function_id, name);
	if (seen->culprit) {
		snprintf(by, sizeof by, "%u%s%s", seen->culprit->number, seen->culprit->name[0] ? " " : "", seen->culprit->name);
		cells[BY].text = by;
	}
	if (!cells[HELD].absent)
		cells[HELD].text = ada_module_function(ada_process_module(seen->culprit->process, seen->held_in), seen->held_in, held);
	return ada_rows_add(table, cells);
}

int ada_tables_threads(const struct ada_scene *scene, uint64_t first, uint64_t count, enum ada_format format, struct ada_output *output)
{
	struct ada_rows table;
	int result = 0;

	ada_rows_open(&table, output, format, "threads", thread_columns, THREAD_FIELDS);
	table.spares = "events_per_second ago_ns held_in name blocked_by waits_for";
	for (uint64_t i = first; i < scene->threads.count && i - first < count && !result; i++)
		result = put_thread(&table, scene, &scene->threads.items[i]);
	ada_rows_close(&table);
	return result;
}

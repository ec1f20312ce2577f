#include "cli/sums/report_cost.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/hash.h"
#include "base/units.h"
#include "cli/ground/rows.h"

enum field { FUNCTION, MODULE, EVENTS, SHARE, COST, LEAVES, FIELDS };

static const struct ada_column columns[FIELDS] = {
	[FUNCTION] = { "function", "FUNCTION", ADA_CELL_FUNCTION }, [MODULE] = { "module", "MODULE", ADA_CELL_NAME },
	[EVENTS] = { "events", "EVENTS", ADA_CELL_NUMBER },	    [SHARE] = { "share", "SHARE", ADA_CELL_WRITTEN },
	[COST] = { "cost_ns", "COST", ADA_CELL_DURATION },	    [LEAVES] = { "leaf_share", "LEAF", ADA_CELL_WRITTEN },
};

/* One function of one module, in whichever processes. */
struct row {
	struct ada_module *module;
	uint64_t function_id, events, leaves;
	double cost_ns;
};

struct cost {
	ADA_ARRAY(struct row) rows;
	struct ada_table by_key; /* ada_process_function_key -> position in rows */
	uint64_t events;	 /* of all functions, and of those that no row has */
};

static double event_ns(const json_object *ledger)
{
	return json_object_get_double(ada_json_get(ledger, "eventNs"));
}

static double object_ns(const json_object *ledger)
{
	return json_object_get_double(ada_json_get(ledger, "objectNs"));
}

static int take_row(struct cost *cost, const struct ada_process *process, const json_object *ledger, const json_object *entry)
{
	uint64_t id = ada_json_u64(entry, "functionId", 0), events = ada_json_u64(entry, "events", 0), position;
	uint64_t key = ada_process_function_key(process, id);
	struct row *row;

	if (!ada_table_get(&cost->by_key, key, &position)) {
		struct row next = { .module = ada_process_module(process, id), .function_id = id };

		position = cost->rows.count;
		if (ada_array_push(&cost->rows, next) || ada_table_put(&cost->by_key, key, position))
			return -ENOMEM;
	}
	row = &cost->rows.items[position];
	row->events += events;
	row->leaves += 2 * ada_json_u64(entry, "leaves", 0);
	row->cost_ns += (double)events * event_ns(ledger) + (double)ada_json_u64(entry, "objects", 0) * object_ns(ledger);
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->events != b->events)
		return a->events < b->events ? 1 : -1;
	return (a->function_id > b->function_id) - (a->function_id < b->function_id);
}

static int gather(struct cost *cost, const struct ada_session *session)
{
	int status = 0;

	for (size_t i = 0; i < session->processes.count; i++) {
		const struct ada_process *process = session->processes.items[i];
		const json_object *ledger = ada_json_get(process->manifest, "ledger"), *list = ada_json_get(ledger, "functions");

		cost->events += ada_json_u64(ledger, "counted", 0);
		for (size_t k = 0; k < ada_json_length(list) && !status; k++)
			status = take_row(cost, process, ledger, json_object_array_get_idx(list, k));
	}
	if (cost->rows.count)
		qsort(cost->rows.items, cost->rows.count, sizeof *cost->rows.items, compare);
	return status;
}

static struct ada_cell share_of(uint64_t part, uint64_t whole, enum ada_format format, char text[ADA_UNITS_TEXT])
{
	double share = whole ? (double)part / (double)whole : 0;

	snprintf(text, ADA_UNITS_TEXT, format == ADA_FORMAT_TEXT ? "%.1f %%" : "%.4f", format == ADA_FORMAT_TEXT ? 100 * share : share);
	return (struct ada_cell){ .text = text, .absent = !whole };
}

static int put_rows(const struct cost *cost, const struct ada_options *options, struct ada_output *output)
{
	struct ada_rows table;
	uint64_t shown = 0;
	int status = 0;

	ada_rows_open(&table, output, options->format, "rows", columns, FIELDS);
	table.full_names = options->full_names;
	for (size_t i = 0; i < cost->rows.count && shown < options->limit && !status; i++) {
		struct row *row = &cost->rows.items[i];
		char name[ADA_NAME_BUFFER], share[ADA_UNITS_TEXT], leaves[ADA_UNITS_TEXT];
		struct ada_cell cells[FIELDS] = { [FUNCTION] = { .text = ada_module_function(row->module, row->function_id, name) },
						  [MODULE] = { .text = ada_module_name(row->module) },
						  [EVENTS] = { .number = row->events },
						  [SHARE] = share_of(row->events, cost->events, options->format, share),
						  [COST] = { .number = (uint64_t)row->cost_ns, .absent = !(row->cost_ns > 0) },
						  [LEAVES] = share_of(row->leaves, row->events, options->format, leaves) };

		if (options->functions.items.count && !ada_module_is_meant(row->module, row->function_id, &options->functions))
			continue;
		shown++;
		status = ada_rows_add(&table, cells);
	}
	ada_rows_close(&table);
	if (shown && options->format == ADA_FORMAT_TEXT)
		ada_output_string(output, "\n");
	return status;
}

/* A line a process: what all its events took. */
static void put_process_text(struct ada_output *output, const struct ada_process *process, const json_object *ledger)
{
	char cost[ADA_UNITS_TEXT], cpu[ADA_UNITS_TEXT], line[256];
	uint64_t cost_ns = ada_json_u64(ledger, "costNs", 0), cpu_ns = ada_json_u64(ledger, "cpuNs", 0);

	ada_output_string(output, process->directory);
	if (!ledger || !cost_ns || !cpu_ns) {
		ada_output_string(output, ledger ? ": too few short calls to tell what an event took\n" : ": no ledger was kept\n");
		return;
	}
	snprintf(line, sizeof line, ": recording took about %s of %s of CPU time (%.0f %%): %llu events, %.3g ns each\n",
		 ada_format_duration(cost_ns, cost), ada_format_duration(cpu_ns, cpu), 100.0 * (double)cost_ns / (double)cpu_ns,
		 (unsigned long long)ada_json_u64(ledger, "events", 0), event_ns(ledger));
	ada_output_string(output, line);
}

static void put_process_json(struct ada_output *output, const struct ada_process *process, const json_object *ledger, bool first)
{
	static const char *const fields[] = { "events", "eventNs", "objects", "objectNs", "costNs", "cpuNs", "functionCount" };

	ada_output_string(output, first ? "{\"process\": " : ",\n{\"process\": ");
	ada_output_json(output, process->directory);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		json_object *value = ada_json_get(ledger, fields[i]);

		ada_output_string(output, ", ");
		ada_output_json(output, fields[i]);
		ada_output_string(output, ": ");
		ada_output_string(output, value ? json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN) : "null");
	}
	ada_output_string(output, "}");
}

static void put_end(const struct ada_session *session, enum ada_format format, struct ada_output *output)
{
	struct ada_completeness completeness = ada_session_completeness(session);

	if (format == ADA_FORMAT_CSV)
		return;
	if (format == ADA_FORMAT_JSON)
		ada_output_string(output, "\"processes\": [");
	for (size_t i = 0; i < session->processes.count; i++) {
		const struct ada_process *process = session->processes.items[i];
		const json_object *ledger = ada_json_get(process->manifest, "ledger");

		if (format == ADA_FORMAT_JSON)
			put_process_json(output, process, ledger, !i);
		else
			put_process_text(output, process, ledger);
	}
	if (format == ADA_FORMAT_JSON) {
		ada_output_string(output, "],\n");
		ada_completeness_json(output, &completeness);
	} else {
		ada_completeness_text(output, &completeness);
	}
}

int ada_report_cost_put(struct ada_session *session, const struct ada_options *options, struct ada_output *output)
{
	struct cost cost = { 0 };
	int status = gather(&cost, session);

	if (options->format == ADA_FORMAT_JSON)
		ada_output_string(output, "{");
	if (!status)
		status = put_rows(&cost, options, output);
	if (!status)
		put_end(session, options->format, output);
	ada_array_free(&cost.rows);
	ada_table_free(&cost.by_key);
	return status;
}

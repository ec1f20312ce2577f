#include "cli/show/dump_calls.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "cli/ground/rows.h"
#include "cli/show/dump_detail.h"
#include "query/calls/scan.h"

#define KEPT_LEAST (1u << 16) /* calls, before those behind the limit are dropped */
#define DURATION_WIDTH 9
#define INDENT_MAX 64

struct call {
	const struct ada_thread *thread;
	uint64_t start_ns, duration_ns, self_ns, position, end_position, function_id;
	uint32_t depth;
	enum ada_outcome outcome;
};

struct gathering { /* one worker: names aren't for several */
	struct ada_scan scan;
	const struct ada_options *options;
	struct ada_dump_names *names;
	ADA_ARRAY(struct call) calls;
};

static int order_by_start(const void *left, const void *right)
{
	const struct call *a = left, *b = right;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->position > b->position) - (a->position < b->position);
}

/* The first calls are wanted, whichever thread is read first. */
static void sort(struct gathering *gathering)
{
	uint64_t limit = gathering->options->limit;

	if (gathering->calls.count)
		qsort(gathering->calls.items, gathering->calls.count, sizeof *gathering->calls.items, order_by_start);
	if (gathering->calls.count > limit)
		gathering->calls.count = limit;
}

static void begin(struct ada_scan *scan, struct ada_call *call)
{
	call->user = scan; /* to be told of its end */
}

static void end(struct ada_scan *scan, const struct ada_call *call)
{
	struct gathering *gathering = (struct gathering *)scan;
	const struct ada_options *options = gathering->options;
	bool known = call->outcome != ADA_OUTCOME_UNKNOWN;
	uint64_t duration_ns = known ? ada_call_duration(call) : 0;
	const struct ada_dump_name *name;

	if ((options->depth && call->depth >= options->depth) || duration_ns < options->min_duration_ns)
		return;
	name = ada_dump_name(gathering->names, scan->thread->process, call->function_id);
	if (name && !name->wanted)
		return;
	if (!name || ada_array_push(&gathering->calls, (struct call){ .thread = scan->thread,
								      .start_ns = call->start_ns,
								      .duration_ns = duration_ns,
								      .self_ns = known ? ada_call_self(call) : 0,
								      .position = call->position,
								      .end_position = call->end_position,
								      .function_id = call->function_id,
								      .depth = call->depth,
								      .outcome = call->outcome }))
		scan->result = -ENOMEM;
	if (gathering->calls.count > KEPT_LEAST && gathering->calls.count / 2 > options->limit)
		sort(gathering);
}

/* --- the formats --------------------------------------------------------------------------------------------------------------- */

static const char *const outcomes[] = { [ADA_OUTCOME_RETURN] = "return",
					[ADA_OUTCOME_EXCEPTION] = "exception",
					[ADA_OUTCOME_OPEN] = "open",
					[ADA_OUTCOME_UNKNOWN] = "unknown" };

static void put_duration(struct ada_dump *dump, const struct call *call, size_t width)
{
	char text[ADA_UNITS_TEXT] = "-";

	if (call->outcome != ADA_OUTCOME_UNKNOWN)
		ada_format_call_duration(call->duration_ns, call->outcome == ADA_OUTCOME_OPEN, text);
	ada_dump_duration(dump, text, call->duration_ns, width);
}

/* "(fd=3)" of the call, " = 5" of its return, where their detail was kept and types are known. */
static void put_values(struct ada_dump *dump, const struct call *call, uint64_t position)
{
	struct ada_moment moment = { .thread = call->thread,
				     .event = atf_thread_get(call->thread->events, position),
				     .position = position };
	struct ada_arguments arguments = {};
	struct atf_detail record;
	char *text;

	if (!dump->detail || !ada_detail_of(&moment, &record) || ada_arguments_decode(&arguments, call->thread, &record))
		return;
	text = ada_arguments_text(&arguments);
	if (text) {
		const char *values = arguments.is_return ? text : strchr(text, '(');

		ada_output_spaces(dump->output, arguments.is_return);
		ada_output_text(dump->output, values ? values : "");
	}
	free(text);
	ada_arguments_free(&arguments);
}

/* Wide enough for those that are open, where there are any. */
static size_t duration_width(const struct gathering *gathering)
{
	size_t width = DURATION_WIDTH;
	char text[ADA_UNITS_TEXT];

	for (size_t i = 0; i < gathering->calls.count; i++) {
		const struct call *call = &gathering->calls.items[i];
		size_t length = call->outcome == ADA_OUTCOME_OPEN ? strlen(ada_format_call_duration(call->duration_ns, true, text)) : 0;

		width = length > width ? length : width;
	}
	return width;
}

static void put_text(struct ada_dump *dump, const struct call *call, const struct ada_dump_name *name, size_t width)
{
	struct ada_output *output = dump->output;

	ada_dump_time(dump, call->start_ns);
	ada_dump_thread(dump, call->thread);
	put_duration(dump, call, width);
	ada_output_string(output, " | ");
	ada_output_spaces(output, 2 * (size_t)(call->depth < INDENT_MAX ? call->depth : INDENT_MAX));
	ada_output_string(output, name->function);
	put_values(dump, call, call->position);
	if (call->outcome == ADA_OUTCOME_RETURN)
		put_values(dump, call, call->end_position);
	else if (call->outcome != ADA_OUTCOME_OPEN)
		ada_output_format(output, "  %s",
				  call->outcome == ADA_OUTCOME_EXCEPTION ? "left by an exception or jump" : outcomes[call->outcome]);
	ada_output_string(output, "\n");
}

static void put_number(struct ada_dump *dump, const char *before, uint64_t number, bool known)
{
	ada_output_string(dump->output, before);
	if (known)
		ada_output_u64(dump->output, number);
	else
		ada_output_string(dump->output, dump->format == ADA_FORMAT_JSON ? "null" : "");
}

static void put_json(struct ada_dump *dump, const struct call *call, const struct ada_dump_name *name)
{
	bool known = call->outcome != ADA_OUTCOME_UNKNOWN;

	put_number(dump, "{\"timestamp_ns\": ", call->start_ns, true);
	put_number(dump, ", \"thread\": ", call->thread->number, true);
	put_number(dump, ", \"tid\": ", call->thread->tid, true);
	put_number(dump, ", \"index_seq\": ", call->position, true);
	ada_output_format(dump->output, ", \"function\": %s, \"module\": %s", name->function, name->module);
	put_number(dump, ", \"depth\": ", call->depth, true);
	put_number(dump, ", \"duration_ns\": ", call->duration_ns, known);
	put_number(dump, ", \"self_ns\": ", call->self_ns, known);
	ada_output_format(dump->output, ", \"outcome\": \"%s\"", outcomes[call->outcome]);
	if (dump->several) {
		ada_output_string(dump->output, ", \"process\": ");
		ada_output_json(dump->output, call->thread->process->directory);
	}
	if (dump->has_clock) {
		ada_output_string(dump->output, ", \"clock_ns\": ");
		ada_dump_clock_ns(dump, call->start_ns, "null");
	}
	ada_output_string(dump->output, "}\n");
}

static void put_csv(struct ada_dump *dump, const struct call *call, const struct ada_dump_name *name)
{
	bool known = call->outcome != ADA_OUTCOME_UNKNOWN;

	ada_output_format(dump->output, "%" PRIu64 ",%u,%u,%" PRIu64 ",%s,%s,%u", call->start_ns, call->thread->number, call->thread->tid,
			  call->position, name->function, name->module, call->depth);
	put_number(dump, ",", call->duration_ns, known);
	put_number(dump, ",", call->self_ns, known);
	ada_output_format(dump->output, ",%s", outcomes[call->outcome]);
	if (dump->several) {
		ada_output_string(dump->output, ",");
		ada_output_csv(dump->output, call->thread->process->directory);
	}
	if (dump->has_clock) {
		ada_output_string(dump->output, ",");
		ada_dump_clock_ns(dump, call->start_ns, "");
	}
	ada_output_string(dump->output, "\n");
}

static int put_all(struct ada_dump *dump, const struct gathering *gathering)
{
	size_t width = dump->format == ADA_FORMAT_TEXT ? duration_width(gathering) : 0;

	if (dump->format == ADA_FORMAT_CSV)
		ada_output_format(dump->output, "timestamp_ns,thread,tid,index_seq,function,module,depth,duration_ns,self_ns,outcome%s%s\n",
				  dump->several ? ",process" : "", dump->has_clock ? ",clock_ns" : "");
	for (size_t i = 0; i < gathering->calls.count && !dump->output->error; i++) {
		const struct call *call = &gathering->calls.items[i];
		const struct ada_dump_name *name = ada_dump_name(gathering->names, call->thread->process, call->function_id);

		if (!name)
			return -ENOMEM;
		switch (dump->format) {
		case ADA_FORMAT_TEXT: put_text(dump, call, name, width); break;
		case ADA_FORMAT_JSON: put_json(dump, call, name); break;
		case ADA_FORMAT_CSV: put_csv(dump, call, name); break;
		}
	}
	return 0;
}

int ada_dump_calls(struct ada_dump *dump, const struct ada_selection *selection, struct ada_dump_names *names, struct ada_error *error)
{
	static const struct ada_scan_receiver receiver = { .begun = begin, .ended = end };
	struct gathering gathering = { .options = names->options, .names = names };
	struct ada_completeness completeness;
	int result = ada_scan_run(selection, &receiver, &gathering, sizeof gathering, 1, &completeness, error);

	if (!result) {
		sort(&gathering);
		if (put_all(dump, &gathering))
			result = ada_error_system(error, ENOMEM, "%s", selection->session->path);
	}
	if (!result && dump->format == ADA_FORMAT_JSON) {
		ada_output_string(dump->output, "{");
		ada_completeness_json(dump->output, &completeness);
	} else if (!result && dump->format == ADA_FORMAT_TEXT) {
		ada_dump_unmatched(dump, names->options);
		ada_completeness_text(dump->output, &completeness);
	}
	ada_array_free(&gathering.calls);
	return result;
}

/* One event of the timeline, as text, JSON or CSV. */
#include "cli/show/dump_event.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "cli/ground/answer.h"
#include "cli/show/dump_detail.h"

#define GAP 2 /* between columns */
#define THREAD_WIDTH 12
#define THREAD_OF_SEVERAL_WIDTH 16
#define SLOW_NS 1000000u /* durations that stand out on a terminal */
#define VERY_SLOW_NS 100000000u
#define INDENT_MAX 64 /* levels; deeper calls show their depth as a number instead */

void ada_dump_begin(struct ada_dump *dump)
{
	if (dump->format != ADA_FORMAT_CSV)
		return;
	ada_output_string(dump->output,
			  "timestamp_ns,thread,tid,index_seq,kind,function,module,depth,detail_seq,lost,object,waited_ns,holder");
	ada_output_string(dump->output, dump->detail ? "," ADA_DETAIL_CSV : "");
	ada_output_string(dump->output, dump->several ? ",process" : "");
	ada_output_string(dump->output, dump->detail ? "," ADA_DETAIL_CSV_END : "");
	ada_output_string(dump->output, dump->source ? ",file,line" : "");
	ada_output_string(dump->output, dump->has_clock ? ",clock_ns\n" : "\n");
}

const char *ada_dump_kind(uint32_t kind)
{
	switch (kind) {
	case ADA_EVENT_CALL: return "call";
	case ADA_EVENT_RETURN: return "return";
	case ADA_EVENT_EXCEPTION: return "exception";
	case ADA_EVENT_LOST: return "lost";
	case ADA_EVENT_OBJECT: return "object";
	case ADA_EVENT_RECORDER: return "recorder";
	case ADA_EVENT_HOLDER: return "holder";
	}
	return NULL;
}

/* --- the formats; name is NULL where an event is of no function ------------------------------------------------------------------------------ */

static size_t time_width(const struct ada_dump *dump)
{
	return dump->session->view.kind == ADA_CLOCK_WALL ? sizeof "2026-01-01T00:00:00.000000000Z" - 1 : 15;
}

static size_t thread_width(const struct ada_dump *dump)
{
	return dump->several ? THREAD_OF_SEVERAL_WIDTH : THREAD_WIDTH;
}

static void put_padded(struct ada_output *output, uint64_t number, unsigned int width)
{
	uint64_t limit = 10;

	for (; --width && number >= limit; limit *= 10)
		;
	ada_output_spaces(output, width);
	ada_output_u64(output, number);
}

/* Puts a time of another clock than the host's. */
static void put_told(struct ada_dump *dump, uint64_t ns)
{
	char text[ADA_CLOCK_TEXT];
	size_t length = strlen(ada_clock_view_text(dump->session, ns, text)), width = time_width(dump);

	if (dump->session->view.kind == ADA_CLOCK_MEDIA && length > 1)
		text[--length] = 0; /* all are seconds */
	ada_output_spaces(dump->output, length < width ? width - length : 0);
	ada_output_string(dump->output, text);
}

/* Seconds since the start with all nine digits: times that are compared by eye must line up. */
void ada_dump_time(struct ada_dump *dump, uint64_t ns)
{
	uint64_t start_ns = dump->session->start_ns;
	uint64_t since = ns > start_ns ? ns - start_ns : 0;
	uint64_t fraction = since % 1000000000;
	char text[10] = ".";

	if (dump->session->view.kind != ADA_CLOCK_BOOT) {
		put_told(dump, ns);
		return;
	}
	put_padded(dump->output, since / 1000000000, 5);
	for (int i = 9; i >= 1; i--, fraction /= 10)
		text[i] = '0' + fraction % 10;
	ada_output_bytes(dump->output, text, sizeof text);
}

void ada_dump_thread(struct ada_dump *dump, const struct ada_thread *thread)
{
	uint32_t number = dump->several ? thread->tid : thread->number;
	size_t width = thread_width(dump);
	char text[THREAD_OF_SEVERAL_WIDTH + 1];

	snprintf(text, width + 1, *thread->name ? "%u:%s" : "%u", number, thread->name);
	ada_output_spaces(dump->output, GAP);
	ada_output_text(dump->output, text);
	ada_output_spaces(dump->output, width - strlen(text));
}

void ada_dump_duration(struct ada_dump *dump, const char *text, uint64_t ns, size_t width)
{
	const char *colour = !dump->colours || ns < SLOW_NS ? NULL : ns < VERY_SLOW_NS ? "\033[33m" : "\033[31m";
	size_t length = strlen(text);

	ada_output_spaces(dump->output, length < width ? width - length : 0);
	ada_output_string(dump->output, colour ? colour : "");
	ada_output_string(dump->output, text);
	ada_output_string(dump->output, colour ? "\033[0m" : "");
}

void ada_dump_unmatched(struct ada_dump *dump, const struct ada_options *options)
{
	ada_answer_unmatched(dump->output, "", dump->session, &options->functions);
	ada_answer_unmatched(dump->output, "", dump->session, &options->exclude);
	ada_answer_unmatched_modules(dump->output, dump->session, &options->modules);
}

/* What an event says that is of no function. */
static void put_other(struct ada_output *output, const struct ada_event *event)
{
	char text[ADA_UNITS_TEXT];

	switch (event->event_kind) {
	case ADA_EVENT_LOST:
		if (!event->function_id) {
			ada_output_string(output, "what came next has aged");
			break;
		}
		ada_output_u64(output, event->function_id);
		ada_output_string(output, " events lost");
		break;
	case ADA_EVENT_OBJECT:
		snprintf(text, sizeof text, "0x%" PRIx64, event->function_id);
		ada_output_string(output, text);
		break;
	case ADA_EVENT_HOLDER:
		ada_output_string(output, "held by tid ");
		ada_output_u64(output, event->function_id);
		break;
	default: ada_output_string(output, "waited for ada  "); ada_output_string(output, ada_format_duration(event->function_id, text));
	}
}

/* "f(a=1)" of a call, "f = 1" of a return, where that is known. */
static void put_function(struct ada_output *output, const struct ada_dump_name *name, const struct ada_arguments *arguments)
{
	char *text = ada_arguments_text(arguments);

	if (!text || arguments->is_return) {
		if (arguments->known)
			ada_output_text(output, arguments->function);
		else
			ada_output_string(output, name->function);
	}
	if (text) {
		ada_output_spaces(output, arguments->is_return);
		ada_output_text(output, text);
	}
	free(text);
}

static void put_text(struct ada_dump *dump, const struct ada_moment *moment, const struct ada_dump_name *name,
		     const struct atf_detail *detail, const struct ada_arguments *arguments)
{
	static const char marks[] = {
		[ADA_EVENT_CALL] = '>',	  [ADA_EVENT_RETURN] = '<',   [ADA_EVENT_EXCEPTION] = '!', [ADA_EVENT_LOST] = '~',
		[ADA_EVENT_OBJECT] = '@', [ADA_EVENT_RECORDER] = '~', [ADA_EVENT_HOLDER] = '@'
	};
	const struct ada_event *event = moment->event;
	struct ada_output *output = dump->output;
	bool notable = dump->colours && event->event_kind >= ADA_EVENT_EXCEPTION && event->event_kind != ADA_EVENT_OBJECT &&
		       event->event_kind != ADA_EVENT_HOLDER;
	char text[ADA_UNITS_TEXT];

	ada_dump_time(dump, event->timestamp_ns);
	ada_dump_thread(dump, moment->thread);
	ada_output_spaces(output, GAP + 2 * (event->call_depth < INDENT_MAX ? event->call_depth : INDENT_MAX));
	if (notable)
		ada_output_string(output, "\033[31m");
	ada_output_bytes(output, &marks[event->event_kind], 1);
	if (event->call_depth > INDENT_MAX) {
		ada_output_string(output, " [");
		ada_output_u64(output, event->call_depth);
		ada_output_string(output, "]");
	}
	ada_output_spaces(output, 1);
	if (name)
		put_function(output, name, arguments);
	else
		put_other(output, event);
	if (notable)
		ada_output_string(output, "\033[0m");
	if (moment->duration_known || moment->open) {
		ada_output_spaces(output, GAP);
		ada_dump_duration(dump, ada_format_call_duration(moment->duration_ns, moment->open, text), moment->duration_ns, 0);
	}
	if (name && name->file && event->event_kind == ADA_EVENT_CALL) {
		ada_output_string(output, "  at ");
		ada_output_string(output, name->file);
		ada_output_string(output, ":");
		ada_output_u64(output, name->line);
	}
	ada_output_string(output, "\n");
	ada_detail_text(output, detail,
			time_width(dump) + thread_width(dump) + 3 * GAP + 1 +
				2 * (event->call_depth < INDENT_MAX ? event->call_depth : INDENT_MAX));
}

/* Null where it has no room in 64 bits. */
void ada_dump_clock_ns(struct ada_dump *dump, uint64_t ns, const char *absent)
{
	char text[24];
	int64_t told;

	snprintf(text, sizeof text, "%s", absent);
	if (ada_clock_view_ns(&dump->session->view, ns, &told))
		snprintf(text, sizeof text, "%" PRId64, told);
	ada_output_string(dump->output, text);
}

static void put_json_number(struct ada_output *output, const char *field, uint64_t number)
{
	ada_output_string(output, field);
	ada_output_u64(output, number);
}

static void put_json(struct ada_dump *dump, const struct ada_moment *moment, const struct ada_dump_name *name,
		     const struct atf_detail *detail, const struct ada_arguments *arguments)
{
	static const char *const fields[] = { ", \"lost\": ", ", \"object\": ", ", \"waited_ns\": ", ", \"holder\": " }; /* from LOST on */
	const struct ada_event *event = moment->event;
	struct ada_output *output = dump->output;

	put_json_number(output, "{\"timestamp_ns\": ", event->timestamp_ns);
	put_json_number(output, ", \"thread\": ", moment->thread->number);
	put_json_number(output, ", \"tid\": ", moment->thread->tid);
	put_json_number(output, ", \"index_seq\": ", moment->position);
	ada_output_string(output, ", \"kind\": \"");
	ada_output_string(output, ada_dump_kind(event->event_kind));
	ada_output_string(output, "\", \"function\": ");
	ada_output_string(output, name ? name->function : "null");
	ada_output_string(output, ", \"module\": ");
	ada_output_string(output, name ? name->module : "null");
	put_json_number(output, ", \"depth\": ", event->call_depth);
	if (event->detail_seq == ADA_NO_DETAIL)
		ada_output_string(output, ", \"detail_seq\": null");
	else
		put_json_number(output, ", \"detail_seq\": ", event->detail_seq);
	if (dump->detail) {
		ada_output_string(output, ", \"detail\": ");
		ada_detail_json(output, detail, arguments);
	}
	if (dump->source) {
		ada_output_string(output, ", \"file\": ");
		ada_output_string(output, name && name->file ? name->file : "null");
		if (name && name->file)
			put_json_number(output, ", \"line\": ", name->line);
		else
			ada_output_string(output, ", \"line\": null");
	}
	if (!name)
		put_json_number(output, fields[event->event_kind - ADA_EVENT_LOST], event->function_id);
	if (dump->several) {
		ada_output_string(output, ", \"process\": ");
		ada_output_json(output, moment->thread->process->directory);
	}
	if (dump->has_clock) {
		ada_output_string(output, ", \"clock_ns\": ");
		ada_dump_clock_ns(dump, event->timestamp_ns, "null");
	}
	ada_output_string(output, "}\n");
}

static void put_csv_number(struct ada_output *output, uint64_t number)
{
	ada_output_u64(output, number);
	ada_output_bytes(output, ",", 1);
}

static void put_csv(struct ada_dump *dump, const struct ada_moment *moment, const struct ada_dump_name *name,
		    const struct atf_detail *detail, const struct ada_arguments *arguments)
{
	const struct ada_event *event = moment->event;
	struct ada_output *output = dump->output;

	put_csv_number(output, event->timestamp_ns);
	put_csv_number(output, moment->thread->number);
	put_csv_number(output, moment->thread->tid);
	put_csv_number(output, moment->position);
	ada_output_string(output, ada_dump_kind(event->event_kind));
	ada_output_string(output, ",");
	ada_output_string(output, name ? name->function : "");
	ada_output_string(output, ",");
	ada_output_string(output, name ? name->module : "");
	ada_output_string(output, ",");
	put_csv_number(output, event->call_depth);
	if (event->detail_seq != ADA_NO_DETAIL)
		ada_output_u64(output, event->detail_seq);
	ada_output_string(output, ",");
	for (uint32_t kind = ADA_EVENT_LOST; kind < ADA_EVENT_KINDS; kind++) {
		if (kind == event->event_kind)
			ada_output_u64(output, event->function_id);
		if (kind < ADA_EVENT_KINDS - 1)
			ada_output_string(output, ",");
	}
	if (dump->detail)
		ada_detail_csv(output, detail);
	if (dump->several) {
		ada_output_string(output, ",");
		ada_output_csv(output, moment->thread->process->directory);
	}
	if (dump->detail)
		ada_detail_csv_end(output, arguments);
	if (dump->source) {
		ada_output_string(output, ",");
		ada_output_string(output, name && name->file ? name->file : "");
		ada_output_string(output, ",");
		if (name && name->file)
			ada_output_u64(output, name->line);
	}
	if (dump->has_clock) {
		ada_output_string(output, ",");
		ada_dump_clock_ns(dump, event->timestamp_ns, "");
	}
	ada_output_string(output, "\n");
}

void ada_dump_event(struct ada_dump *dump, const struct ada_moment *moment, const struct ada_dump_name *name)
{
	struct atf_detail record;
	const struct atf_detail *detail = dump->detail && ada_detail_of(moment, &record) ? &record : NULL;
	struct ada_arguments arguments = {};

	/* Without memory for arguments the registers still tell them. */
	if (detail)
		ada_arguments_decode(&arguments, moment->thread, detail);

	switch (dump->format) {
	case ADA_FORMAT_TEXT: put_text(dump, moment, name, detail, &arguments); break;
	case ADA_FORMAT_JSON: put_json(dump, moment, name, detail, &arguments); break;
	case ADA_FORMAT_CSV: put_csv(dump, moment, name, detail, &arguments); break;
	}
	ada_arguments_free(&arguments);
}

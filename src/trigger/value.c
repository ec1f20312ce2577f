/* The value that a rule compares with, as its kind has it: a duration, a rate, a depth, a share, bytes, or a number. */
#include <ctype.h>
#include <string.h>
#include "trigger/parse.h"

/* An integer unless it is written as a real number or is to be compared as one. */
static int read_operand(const struct ada_parser *parser, struct ada_span span, bool result)
{
	struct ada_trigger *trigger = parser->trigger;
	bool real_type = trigger->type_given && trigger->type >= ADA_VALUE_F64;
	bool hexadecimal = span.end - span.at > 1 && (memchr(span.at, 'x', (size_t)(span.end - span.at)) != NULL);
	bool real = !hexadecimal &&
		    (memchr(span.at, '.', (size_t)(span.end - span.at)) ||
		     (span.at < span.end && isdigit((unsigned char)span.end[-1]) && memchr(span.at, 'e', (size_t)(span.end - span.at))));

	trigger->unit = real || real_type ? ADA_TRIGGER_REAL : ADA_TRIGGER_INTEGER;
	if (real && !result)
		return ada_parse_fail(parser, span.at, "arguments are compared as integers");
	if (real && trigger->type_given && !real_type)
		return ada_parse_fail(parser, span.at, "\"%.*s\" is no integer, but the rule gives an integer's type", ADA_SPAN(span));
	if (trigger->unit == ADA_TRIGGER_REAL)
		return ada_parse_real(parser, span, &trigger->real);
	return ada_parse_integer(parser, span, &trigger->integer, &trigger->negative);
}

static int read_duration(const struct ada_parser *parser, struct ada_span span)
{
	uint64_t ns;
	int status = ada_parse_ns(parser, span, 1, &ns);

	parser->trigger->unit = ADA_TRIGGER_NS;
	parser->trigger->integer = status ? 0 : (int64_t)ns;
	return status;
}

/* Turns "not below N" into "above N - 1", where no value lies between: of the two the agent knows only "above". */
static void above(struct ada_trigger *trigger)
{
	trigger->integer -= trigger->op == ADA_OP_GE;
	trigger->op = ADA_OP_GT;
}

static int read_rate(const struct ada_parser *parser, struct ada_span span)
{
	struct ada_trigger *trigger = parser->trigger;
	uint64_t count;
	int status = ada_parse_per(parser, span, 1000000000, &count, &trigger->per_ns);

	trigger->unit = ADA_TRIGGER_RATE;
	if (!status) {
		trigger->integer = (int64_t)count;
		above(trigger);
	}
	return status;
}

static int read_depth(const struct ada_parser *parser, struct ada_span span)
{
	uint64_t depth;
	int status = ada_parse_whole(parser, span, 1, 1000000, &depth);

	parser->trigger->unit = ADA_TRIGGER_INTEGER;
	if (!status) {
		parser->trigger->integer = (int64_t)depth;
		above(parser->trigger);
	}
	return status;
}

static int read_memory(const struct ada_parser *parser, struct ada_span span)
{
	struct ada_trigger *trigger = parser->trigger;
	uint64_t bytes;
	int status;

	if (span.end > span.at && span.end[-1] == '%') {
		trigger->unit = ADA_TRIGGER_SHARE;
		return ada_parse_percent(parser, span, 1, &trigger->real);
	}
	trigger->kind = ADA_RULE_MEMORY_BYTES;
	trigger->unit = ADA_TRIGGER_BYTES;
	status = ada_parse_bytes(parser, span, &bytes);
	trigger->integer = status ? 0 : (int64_t)bytes;
	return status;
}

int ada_parse_value(const struct ada_parser *parser, struct ada_span span, bool named)
{
	struct ada_trigger *trigger = parser->trigger;
	int status;

	switch (trigger->kind) {
	case ADA_RULE_RETURN:
	case ADA_RULE_ARG: return read_operand(parser, span, trigger->kind == ADA_RULE_RETURN);
	case ADA_RULE_RATE: return read_rate(parser, span);
	case ADA_RULE_DEPTH: return read_depth(parser, span);
	case ADA_RULE_MEMORY_SHARE: return read_memory(parser, span);
	case ADA_RULE_CPU:
		if (named)
			return read_duration(parser, span);
		trigger->kind = ADA_RULE_CPU_SHARE;
		trigger->unit = ADA_TRIGGER_SHARE;
		return ada_parse_percent(parser, span, ADA_TRIGGER_CPUS_MAX, &trigger->real);
	case ADA_RULE_PERCENTILE:
		status = read_duration(parser, span);
		if (!status)
			above(trigger);
		return status;
	default: return read_duration(parser, span);
	}
}

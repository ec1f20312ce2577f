/* What follows the "@" of a rule: option,option... */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "trigger/parse.h"

static const struct {
	const char *name;
	enum ada_value_type type;
} types[] = { { "char", ADA_VALUE_I8 },	   { "uchar", ADA_VALUE_U8 }, { "bool", ADA_VALUE_U8 },	  { "short", ADA_VALUE_I16 },
	      { "ushort", ADA_VALUE_U16 }, { "int", ADA_VALUE_I32 },  { "uint", ADA_VALUE_U32 },  { "long", ADA_VALUE_I64 },
	      { "ulong", ADA_VALUE_U64 },  { "ptr", ADA_VALUE_U64 },  { "float", ADA_VALUE_F32 }, { "double", ADA_VALUE_F64 } };
enum option { NOCASE, PRE, POST, LIMIT, AFTER, EVERY, OVER, LABEL, TYPE, OPTIONS };
static const struct {
	const char *name;
	bool value;
	unsigned group;
	const char *example;
} options[OPTIONS] = { [NOCASE] = { "nocase", false, ADA_OPTION_NAMES, NULL },
		       [PRE] = { "pre", true, ADA_OPTION_ALL, "pre=5s" },
		       [POST] = { "post", true, ADA_OPTION_ALL, "post=1000ev" },
		       [LIMIT] = { "limit", true, ADA_OPTION_COUNTS, "limit=5/min" },
		       [AFTER] = { "after", true, ADA_OPTION_COUNTS, "after=100" },
		       [EVERY] = { "every", true, ADA_OPTION_COUNTS, "every=10" },
		       [OVER] = { "over", true, ADA_OPTION_OVER, "over=1000" },
		       [LABEL] = { "label", true, ADA_OPTION_ALL, "label=TEXT" },
		       [TYPE] = { "type", false, ADA_OPTION_TYPE, NULL } };

static int unknown(const struct ada_parser *parser, struct ada_span name)
{
	struct ada_nearest *nearest = ada_parse_nearest(name);
	char near[128];

	for (size_t i = 0; i < TYPE; i++)
		ada_nearest_offer(nearest, options[i].name);
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		ada_nearest_offer(nearest, types[i].name);
	ada_nearest_text(nearest, near, sizeof near);
	ada_nearest_close(nearest);
	if (near[0])
		return ada_parse_fail(parser, name.at, "unknown option \"%.*s\": did you mean %s", ADA_SPAN(name), near);
	return ada_parse_fail(parser, name.at, "unknown option \"%.*s\" (a name that holds @ is written in quotes)", ADA_SPAN(name));
}

/* 5s, 1000ev, or both: 5s|1000ev */
static int read_roll(const struct ada_parser *parser, struct ada_span span, uint64_t *ns, uint64_t *events)
{
	bool ns_given = false, events_given = false;

	for (;;) {
		const char *bar = memchr(span.at, '|', (size_t)(span.end - span.at));
		struct ada_span part = ada_span_trim((struct ada_span){ span.at, bar ? bar : span.end }), number = part;
		int status;

		while (number.end > number.at && strchr("ev", number.end[-1]))
			number.end--;
		if (part.end - number.end == 2 && number.end[0] == 'e') {
			if (events_given)
				return ada_parse_fail(parser, part.at, "events are given twice");
			events_given = true;
			status = ada_parse_whole(parser, ada_span_trim(number), 0, 100000000, events);
		} else {
			if (ns_given)
				return ada_parse_fail(parser, part.at, "a time is given twice");
			ns_given = true;
			status = ada_parse_ns(parser, part, 0, ns);
		}
		if (status || !bar)
			return status;
		span.at = bar + 1;
	}
}

static int read_label(const struct ada_parser *parser, struct ada_span span)
{
	char quote = span.at < span.end ? *span.at : '\0';

	if (quote == '\'' || quote == '"')
		span = (struct ada_span){ span.at + 1, span.end - 1 };
	if (span.at >= span.end)
		return ada_parse_fail(parser, span.at, "a text is missing");
	if (span.end - span.at > 100)
		return ada_parse_fail(parser, span.at, "the label is too long: at most 100 bytes");
	parser->trigger->label = strndup(span.at, (size_t)(span.end - span.at));
	return parser->trigger->label ? 0 : ada_error_system(parser->error, ENOMEM, "a rule");
}

static int read_value(const struct ada_parser *parser, enum option option, struct ada_span value)
{
	struct ada_trigger *trigger = parser->trigger;

	switch (option) {
	case PRE: trigger->pre_given = true; return read_roll(parser, value, &trigger->pre_ns, &trigger->pre_events);
	case POST: trigger->post_given = true; return read_roll(parser, value, &trigger->post_ns, &trigger->post_events);
	case LIMIT: return ada_parse_per(parser, value, 1000000000, &trigger->limit, &trigger->limit_ns);
	case AFTER: return ada_parse_whole(parser, value, 1, INT64_MAX, &trigger->after);
	case EVERY: return ada_parse_whole(parser, value, 1, INT64_MAX, &trigger->every);
	case OVER: return ada_parse_whole(parser, value, 2, ADA_SAMPLE_BYTES * 8, &trigger->over);
	case LABEL: return read_label(parser, value);
	case NOCASE:
	case TYPE:
	case OPTIONS: break;
	}
	return 0;
}

static enum option option_find(const struct ada_parser *parser, struct ada_span name, bool *real)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (ada_span_is(name, types[i].name)) {
			*real = types[i].type >= ADA_VALUE_F64;
			parser->trigger->type = types[i].type;
			return TYPE;
		}
	for (size_t i = 0; i < TYPE; i++)
		if (ada_span_is(name, options[i].name))
			return (enum option)i;
	return OPTIONS;
}

static int read_option(const struct ada_parser *parser, struct ada_span span, const char *kind, unsigned groups, unsigned *seen)
{
	const char *equals = memchr(span.at, '=', (size_t)(span.end - span.at));
	struct ada_span name = ada_span_trim((struct ada_span){ span.at, equals ? equals : span.end });
	bool real = false;
	enum option option;

	if (name.at == name.end)
		return ada_parse_fail(parser, name.at, "an option is missing");
	option = option_find(parser, name, &real);
	if (option == OPTIONS)
		return unknown(parser, name);
	if (!(groups & (real ? ADA_OPTION_REAL : options[option].group)))
		return ada_parse_fail(parser, name.at, "%s takes no option \"%.*s\"", kind, ADA_SPAN(name));
	if (*seen & 1u << option)
		return ada_parse_fail(parser, name.at, option == TYPE ? "a second type" : "the option is given twice");
	*seen |= 1u << option;
	if (equals && !options[option].value)
		return ada_parse_fail(parser, equals, "%.*s takes no value", ADA_SPAN(name));
	if (!equals && options[option].value)
		return ada_parse_fail(parser, name.end, "a value is missing: write it like %s", options[option].example);
	parser->trigger->nocase |= option == NOCASE;
	parser->trigger->type_given |= option == TYPE;
	return equals ? read_value(parser, option, ada_span_trim((struct ada_span){ equals + 1, span.end })) : 0;
}

/* A comma or "@" ends an option, except in quotes that begin its value. */
static int option_end(const struct ada_parser *parser, const char *at, const char **end)
{
	const char *value = at + strcspn(at, ",@="), *close;

	*end = value;
	if (*value != '=')
		return 0;
	value += 1 + strspn(value + 1, " ");
	*end = value + strcspn(value, ",@");
	if (*value != '\'' && *value != '"')
		return 0;
	close = strchr(value + 1, *value);
	if (!close)
		return ada_parse_fail(parser, value, "the quote %c isn't closed", *value);
	*end = close + 1 + strspn(close + 1, " ");
	if (**end && !strchr(",@", **end))
		return ada_parse_fail(parser, *end, "a comma is missing");
	return 0;
}

int ada_parse_options(const struct ada_parser *parser, const char *at, const char *kind, unsigned groups)
{
	unsigned seen = 0;

	while (*at) {
		const char *end;
		int status = option_end(parser, at + 1, &end);

		if (!status)
			status = read_option(parser, ada_span_trim((struct ada_span){ at + 1, end }), kind, groups, &seen);
		if (status)
			return status;
		at = end;
	}
	return 0;
}

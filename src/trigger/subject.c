/* What is compared: F, of arg= F:N, of latency= also F:N..G:M. */
#include <ctype.h>
#include <string.h>
#include "trigger/parse.h"

/* arg=F:3 : the number leaves the names. */
static int read_argument(const struct ada_parser *parser, struct ada_span *names, const char *example, int *argument)
{
	const char *colon = memrchr(names->at, ':', (size_t)(names->end - names->at));
	uint64_t number;
	int status;

	if (!colon || colon + 1 == names->end || !isdigit((unsigned char)colon[1]))
		return ada_parse_fail(parser, names->end, "which argument? write it like %s", example);
	status = ada_parse_whole(parser, ada_span_trim((struct ada_span){ colon + 1, names->end }), 1, 6, &number);
	*argument = status ? 0 : (int)number;
	names->end = colon;
	return status;
}

/* The ".." behind a first argument's number, or NULL. */
static const char *find_dots(struct ada_span names)
{
	for (const char *at = names.at; at + 1 < names.end; at++) {
		const char *behind = at + 1;

		while (*at == ':' && behind < names.end && isdigit((unsigned char)*behind))
			behind++;
		if (behind == at + 1)
			continue;
		while (*behind == ' ')
			behind++;
		if (names.end - behind > 1 && behind[0] == '.' && behind[1] == '.')
			return behind;
	}
	return NULL;
}

/* latency=submit:1..complete:1 : from one call to another. */
static int read_span(const struct ada_parser *parser, struct ada_span names, const char *dots)
{
	static const char example[] = "latency=submit:1..complete:1>50ms";
	struct ada_trigger *trigger = parser->trigger;
	struct ada_span begins = ada_span_trim((struct ada_span){ names.at, dots });
	struct ada_span ends = ada_span_trim((struct ada_span){ dots + 2, names.end });
	int status;

	trigger->kind = ADA_RULE_SPAN;
	status = read_argument(parser, &begins, example, &trigger->begin_argument) ?:
			 read_argument(parser, &ends, example, &trigger->argument) ?:
										     ada_parse_names(parser, begins, true);
	trigger->begins = trigger->patterns.count;
	return status ? status : ada_parse_names(parser, ends, true);
}

int ada_parse_subject(const struct ada_parser *parser, const struct ada_head *head)
{
	struct ada_trigger *trigger = parser->trigger;
	const char *dots = trigger->kind == ADA_RULE_LATENCY ? find_dots(head->names) : NULL;
	struct ada_span names = head->names;
	int status = 0;

	if (dots)
		return read_span(parser, names, dots);
	if (trigger->kind == ADA_RULE_LATENCY && trigger->type_given)
		return ada_parse_fail(parser, head->end, "a type is for latency=submit:1..complete:1>50ms, which compares arguments");
	if (trigger->kind == ADA_RULE_ARG)
		status = read_argument(parser, &names, "arg=read:3>1048576", &trigger->argument);
	return status ? status : ada_parse_names(parser, names, true);
}

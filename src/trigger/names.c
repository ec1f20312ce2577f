/* Where names end. A list of names is free of quoting as long as it can be told apart from what follows it:
 *
 *   a name        up to a comma outside of (), <>, [] and {}; the last comparison of the rule, or the "@", ends the list
 *   'a name'      as it is, whatever it holds: no glob, no regex
 *   re:REGEX      all up to the comparison or the options, commas too; \@ is an "@"
 *   re:/REGEX/    up to the slash; \/ is a "/"
 *
 * The last comparison is the one meant since no value holds one: in return=operator<<0 the name is "operator<".
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "trigger/parse.h"

static bool starts(const char *at, const char *end, const char *with)
{
	return (size_t)(end - at) >= strlen(with) && strncmp(at, with, strlen(with)) == 0;
}

static int skip_quoted(const struct ada_parser *parser, const char **at, const char *end)
{
	const char *close = memchr(*at + 1, **at, (size_t)(end - *at - 1));

	if (!close)
		return ada_parse_fail(parser, *at, "the quote %c isn't closed", **at);
	*at = close + 1;
	return 0;
}

/* *at is at "re:/". */
static int skip_slashed(const struct ada_parser *parser, const char **at, const char *end)
{
	const char *scan = *at + 4;

	for (; scan < end && *scan != '/'; scan++)
		if (*scan == '\\' && scan + 1 < end)
			scan++;
	if (scan == end)
		return ada_parse_fail(parser, *at + 3, "the regex isn't closed: its second / is missing");
	*at = scan + 1;
	return 0;
}

static size_t comparison(const char *at)
{
	if (*at && strchr("<>=!", *at) && at[1] == '=')
		return 2;
	return *at == '<' || *at == '>';
}

/* At a name's first character: past what could hold anything. */
static int skip_opaque(const struct ada_parser *parser, const char **at, const char *end, bool *regex)
{
	while (*at < end && **at == ' ')
		++*at;
	if (starts(*at, end, "function:"))
		*at += 9;
	if (*at < end && (**at == '\'' || **at == '"'))
		return skip_quoted(parser, at, end);
	if (starts(*at, end, "re:/"))
		return skip_slashed(parser, at, end);
	*regex = starts(*at, end, "re:");
	return 0;
}

int ada_parse_head(const struct ada_parser *parser, const char *at, struct ada_head *head)
{
	const char *end = at + strlen(at), *start = at, *op = NULL;
	bool regex = false;
	int status = skip_opaque(parser, &at, end, &regex);

	while (!status && at < end && *at != '@') {
		if (regex && *at == '\\' && at + 1 < end) {
			at += 2;
		} else if (!regex && *at == ',') {
			at++;
			status = skip_opaque(parser, &at, end, &regex);
		} else if (comparison(at)) {
			op = at;
			at += comparison(at);
		} else {
			at++;
		}
	}
	if (status)
		return status;
	*head = (struct ada_head){ .names = { start, op ? op : at }, .op = { at, at }, .value = { at, at }, .end = at };
	if (op) {
		head->op = (struct ada_span){ op, op + comparison(op) };
		head->value = ada_span_trim((struct ada_span){ head->op.end, at });
	}
	head->names = ada_span_trim(head->names);
	return 0;
}

/* The bracket that closes the one at `at`, or NULL. */
static const char *closing(const char *at, const char *end)
{
	static const char open[] = "(<[{", close[] = ")>]}";
	char wanted[64];
	size_t depth = 0;

	for (; at < end; at++) {
		const char *kind = strchr(open, *at);

		if (kind && *kind) {
			if (depth == sizeof wanted)
				return NULL;
			wanted[depth++] = close[kind - open];
		} else if (depth && *at == wanted[depth - 1] && !(*at == '>' && at[-1] == '-') && !--depth) {
			return at;
		}
	}
	return NULL;
}

/* Past "operator<" and the like, whose signs are no brackets. */
static const char *skip_operator(const char *at, const char *end)
{
	static const char *const operators[] = { "<<=", ">>=", "<=>", "->*", "()", "[]", "<<", ">>",
						 "<=",	">=",  "->",  "&&",  "||", ",",	 "<",  ">" };

	if (!starts(at, end, "operator"))
		return at;
	at += 8;
	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
		if (starts(at, end, operators[i]))
			return at + strlen(operators[i]);
	return at;
}

/* The end of a name that is written as it is; *loose: a "<" or ">" in it that belongs to nothing. */
static const char *bare_end(struct ada_span span, const char **loose)
{
	const char *at = span.at;

	*loose = NULL;
	while (at < span.end && *at != ',') {
		const char *past = skip_operator(at, span.end), *close;

		if (past > at) {
			at = past;
			continue;
		}
		close = strchr("(<[{", *at) ? closing(at, span.end) : NULL;
		if (!close && !*loose && (*at == '<' || (*at == '>' && (at == span.at || at[-1] != '-'))))
			*loose = at;
		at = close ? close + 1 : at + 1;
	}
	return at;
}

/* The "=" or "!" of a comparison that is none, as in latency=f=>20ms; NULL: the name ends otherwise, or is an operator's. */
static const char *sign_at_end(struct ada_span name)
{
	const char *at = name.end;

	while (at > name.at && strchr("=!", at[-1]))
		at--;
	for (const char *sign = at; sign > name.at; sign--) {
		if (sign - name.at >= 8 && starts(sign - 8, name.end, "operator"))
			return NULL;
		if (!strchr("+-*/%^&|~<>", sign[-1]))
			break;
	}
	return at < name.end ? at : NULL;
}

static char *cut(const char *at, const char *end)
{
	return strndup(at, (size_t)(end - at));
}

/* `text` is "re:..."; `at` where its regex begins in the rule. What doesn't compile is a literal, unless strict. */
static int add_regex(const struct ada_parser *parser, struct ada_pattern *pattern, const char *text, const char *at)
{
	struct ada_error reason = { "" }, warning = { "" };
	size_t offset;
	bool nocase = parser->trigger->nocase;
	int status = ada_pattern_compile(pattern, text, nocase, &offset, &reason);
	struct ada_parser warner = *parser;

	if (!status)
		return 0;
	if (status != -EINVAL)
		return ada_error_set(parser->error, -status, "%s", reason.text);
	at += offset - 3;
	if (parser->strict)
		return ada_parse_fail(parser, at, "%s", reason.text);
	warner.error = &warning;
	ada_parse_fail(&warner, at, "%s: the regex is taken as a literal name (--strict makes this an error)", reason.text);
	if (parser->warn)
		parser->warn(parser->context, warning.text);
	return ada_pattern_literal(pattern, text + 3, nocase, parser->error);
}

/* One name at span->at, which moves behind it. */
static int add_name(const struct ada_parser *parser, struct ada_span *span, bool compares)
{
	const char *start = span->at, *loose = NULL;
	struct ada_pattern pattern = { 0 };
	char *text = NULL;
	size_t offset;
	int status = 0;

	if (start < span->end && (*start == '\'' || *start == '"')) {
		status = skip_quoted(parser, &span->at, span->end);
		if (!status && span->at - start == 2)
			status = ada_parse_fail(parser, start, "a name is missing between the quotes");
		text = status ? NULL : cut(start + 1, span->at - 1);
		if (text)
			status = ada_pattern_literal(&pattern, text, parser->trigger->nocase, parser->error);
	} else if (starts(start, span->end, "re:")) {
		bool slashed = starts(start, span->end, "re:/");

		if (slashed)
			status = skip_slashed(parser, &span->at, span->end);
		else
			span->at = span->end;
		if (!status && span->at - start == (slashed ? 5 : 3))
			status = ada_parse_fail(parser, start + 3, "a regex is missing");
		text = status ? NULL : cut(slashed ? start + 1 : start, slashed ? span->at - 1 : span->at);
		if (text && slashed)
			memcpy(text, "re:", 3);
		if (text)
			status = add_regex(parser, &pattern, text, start + (slashed ? 4 : 3));
	} else {
		struct ada_span name;

		span->at = bare_end(*span, &loose);
		name = ada_span_trim((struct ada_span){ start, span->at });
		if (name.at == name.end)
			return ada_parse_fail(parser, start, "a name is missing");
		loose = loose || !compares ? loose : sign_at_end(name);
		if (loose && !memchr(name.at, '*', (size_t)(name.end - name.at)))
			return ada_parse_fail(parser, loose, "%s; a name that holds %c is written in quotes",
					      compares ? "this begins no comparison" : "no comparison is taken here", *loose);
		text = cut(name.at, name.end);
		if (text)
			status = ada_pattern_compile(&pattern, text, parser->trigger->nocase, &offset, parser->error);
	}
	if (!status && (!text || ada_array_push(&parser->trigger->patterns, pattern))) {
		ada_pattern_free(&pattern);
		status = ada_error_system(parser->error, ENOMEM, "a rule");
	}
	free(text);
	return status;
}

int ada_parse_names(const struct ada_parser *parser, struct ada_span span, bool compares)
{
	if (starts(span.at, span.end, "function:"))
		span.at += 9;
	for (;;) {
		int status;

		span = ada_span_trim(span);
		if (parser->trigger->patterns.count && starts(span.at, span.end, "function:"))
			span.at += 9;
		status = add_name(parser, &span, compares);
		if (status)
			return status;
		span = ada_span_trim(span);
		if (span.at == span.end)
			return 0;
		if (*span.at != ',')
			return ada_parse_fail(parser, span.at, "a comma is missing before \"%.*s\"", ADA_SPAN(span));
		span.at++;
	}
}

/* The kinds of rules: see trigger.h, docs/man/ada-triggers.7. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "trigger/parse.h"

enum form {		 /* what may follow a kind; some kinds allow several */
	    NOTHING = 1, /* crash */
	    NAMES = 2,	 /* symbol=F */
	    NAMED = 4,	 /* latency=F>50ms */
	    BARE = 8,	 /* depth>200 */
	    OWN = 16,	 /* time=, signal=, exception= : read by themselves */
};
#define OPS_ABOVE (1u << ADA_OP_GT | 1u << ADA_OP_GE)
#define OPS_ORDER (OPS_ABOVE | 1u << ADA_OP_LT | 1u << ADA_OP_LE)
#define OPS_ALL (OPS_ORDER | 1u << ADA_OP_EQ | 1u << ADA_OP_NE)
#define EVENTS (ADA_OPTION_ALL | ADA_OPTION_COUNTS)
#define CALLS (EVENTS | ADA_OPTION_NAMES)

struct kind {
	const char *name;
	enum ada_rule_kind kind;
	unsigned forms, ops, options;
	const char *example;
};
static const struct kind kinds[] = {
	{ "symbol", ADA_RULE_SYMBOL, NAMES, 0, CALLS, "symbol=malloc,free" },
	{ "return", ADA_RULE_RETURN, NAMED, OPS_ALL, CALLS | ADA_OPTION_TYPE | ADA_OPTION_REAL, "return=open<0" },
	{ "arg", ADA_RULE_ARG, NAMED, OPS_ALL, CALLS | ADA_OPTION_TYPE, "arg=read:3>1048576" },
	{ "latency", ADA_RULE_LATENCY, NAMED, OPS_ORDER, CALLS | ADA_OPTION_TYPE, "latency=function:F>50ms" },
	{ "rate", ADA_RULE_RATE, NAMED, OPS_ABOVE, CALLS, "rate=function:F>1000/s" },
	{ "depth", ADA_RULE_DEPTH, NAMED | BARE, OPS_ABOVE, CALLS, "depth>200" },
	{ "new-caller", ADA_RULE_NEW_CALLER, NAMES, 0, CALLS, "new-caller=F" },
	{ "cpu", ADA_RULE_CPU, NAMED | BARE, OPS_ORDER, CALLS, "cpu=function:F>10ms" },
	{ "memory", ADA_RULE_MEMORY_SHARE, BARE, OPS_ABOVE, EVENTS, "memory>90%" },
	{ "time", ADA_RULE_TIME, OWN, 0, ADA_OPTION_ALL, "time=10:30-10:45" },
	{ "crash", ADA_RULE_CRASH, NOTHING, 0, ADA_OPTION_ALL, "crash" },
	{ "signal", ADA_RULE_SIGNAL, OWN, 0, EVENTS, "signal=SIGSEGV,SIGABRT" },
	{ "exit", ADA_RULE_EXIT, NOTHING, 0, ADA_OPTION_ALL, "exit" },
	{ "exception", ADA_RULE_EXCEPTION, NOTHING | OWN, 0, EVENTS, "exception=std::bad_alloc" },
	{ "manual", ADA_RULE_MANUAL, NOTHING, 0, ADA_OPTION_ALL, "manual" },
};
#define KINDS (sizeof kinds / sizeof *kinds)
static const struct kind percentile = { "p99", ADA_RULE_PERCENTILE, NAMED, OPS_ABOVE, CALLS | ADA_OPTION_OVER, "p99=function:F>50ms" };

int ada_parse_fail(const struct ada_parser *parser, const char *at, const char *format, ...)
{
	char text[400];
	size_t character = 1;
	va_list arguments;

	for (const char *byte = parser->text; byte < at; byte++)
		character += ((unsigned char)*byte & 0xc0) != 0x80; /* UTF-8: only a character's first byte */
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	return ada_error_set(parser->error, EINVAL, "at character %zu: %s", character, text);
}

struct ada_span ada_span_trim(struct ada_span span)
{
	while (span.at < span.end && *span.at == ' ')
		span.at++;
	while (span.end > span.at && span.end[-1] == ' ')
		span.end--;
	return span;
}

bool ada_span_is(struct ada_span span, const char *text)
{
	return strlen(text) == (size_t)(span.end - span.at) && memcmp(span.at, text, strlen(text)) == 0;
}

struct ada_nearest *ada_parse_nearest(struct ada_span span)
{
	char wanted[64];

	snprintf(wanted, sizeof wanted, "%.*s", (int)(span.end - span.at), span.at);
	return ada_nearest_open(wanted);
}

/* NULL: there is no such, or it is a percentile. */
static const struct kind *kind_named(struct ada_span word)
{
	for (size_t i = 0; i < KINDS; i++)
		if (ada_span_is(word, kinds[i].name))
			return &kinds[i];
	return NULL;
}

const char *ada_trigger_kind(size_t number)
{
	static char text[32];
	const struct kind *kind = number < KINDS ? &kinds[number] : number == KINDS ? &percentile : NULL;
	size_t length = kind ? strcspn(kind->example, "=>") : 0;

	if (!kind)
		return NULL;
	snprintf(text, sizeof text, "%.*s", (int)(length + (kind->example[length] != 0)), kind->example);
	return text;
}

/* As windows name it: "symbol:hold". */
static bool is_shown_form(struct ada_span word, struct ada_span *kind)
{
	const char *colon = memchr(word.at, ':', (size_t)(word.end - word.at));

	if (!colon || colon + 1 == word.end)
		return false;
	*kind = (struct ada_span){ word.at, colon };
	return kind_named(*kind);
}

static int unknown_kind(const struct ada_parser *parser, struct ada_span word, bool alone)
{
	struct ada_nearest *nearest;
	struct ada_span kind;
	char near[128];

	if (is_shown_form(word, &kind))
		return ada_parse_fail(parser, word.at, "unknown kind \"%.*s\": did you mean %.*s=%.*s", ADA_SPAN(word), ADA_SPAN(kind),
				      (int)(word.end - kind.end - 1), kind.end + 1);
	nearest = ada_parse_nearest(word);
	for (size_t i = 0; i < KINDS; i++)
		ada_nearest_offer(nearest, kinds[i].name);
	ada_nearest_offer(nearest, percentile.name);
	ada_nearest_text(nearest, near, sizeof near);
	ada_nearest_close(nearest);
	if (near[0])
		return ada_parse_fail(parser, word.at, "unknown kind \"%.*s\": did you mean %s", ADA_SPAN(word), near);
	if (alone)
		return ada_parse_fail(parser, word.at, "unknown kind \"%.*s\": a function is named with symbol=%.*s", ADA_SPAN(word),
				      ADA_SPAN(word));
	return ada_parse_fail(parser, word.at,
			      "unknown kind \"%.*s\" (symbol, return, arg, latency, p99, rate, depth, new-caller, cpu, "
			      "memory, time, crash, signal, exit, exception, manual)",
			      ADA_SPAN(word));
}

/* *at moves behind the kind. */
static int read_kind(const struct ada_parser *parser, const char **at, const struct kind **kind)
{
	struct ada_span word = { *at, *at };

	while (isalnum((unsigned char)*word.end) || (*word.end && strchr("-_.:", *word.end)))
		word.end++;
	*at = word.end + strspn(word.end, " ");
	if (word.at == word.end)
		return ada_parse_fail(parser, word.at, "a kind is missing: write a rule like symbol=malloc");
	*kind = kind_named(word);
	if (*kind)
		return 0;
	*kind = &percentile;
	if (*word.at == 'p' && isdigit((unsigned char)word.at[1]) && strspn(word.at + 1, "0123456789.") == (size_t)(word.end - word.at - 1))
		return ada_parse_percentile(parser, (struct ada_span){ word.at + 1, word.end }, &parser->trigger->percentile);
	return unknown_kind(parser, word, !**at || **at == '@');
}

static enum ada_rule_op read_op(struct ada_span op)
{
	static const struct {
		const char *text;
		enum ada_rule_op op;
	} ops[] = { { "<", ADA_OP_LT },	 { "<=", ADA_OP_LE }, { "==", ADA_OP_EQ },
		    { "!=", ADA_OP_NE }, { ">=", ADA_OP_GE }, { ">", ADA_OP_GT } };

	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (ada_span_is(op, ops[i].text))
			return ops[i].op;
	return ADA_OP_NONE;
}

static int read_comparison(const struct ada_parser *parser, const struct kind *kind, struct ada_head *head, bool named)
{
	struct ada_trigger *trigger = parser->trigger;
	unsigned ops = named ? kind->ops : OPS_ABOVE;
	int status = 0;

	if (head->op.at == head->op.end && kind->ops == OPS_ALL && memchr(head->names.at, '=', (size_t)(head->end - head->names.at)))
		return ada_parse_fail(parser, memchr(head->names.at, '=', (size_t)(head->end - head->names.at)), "write == to compare");
	if (head->op.at == head->op.end)
		return ada_parse_fail(parser, head->end, "a comparison is missing: write it like %s", kind->example);
	trigger->op = read_op(head->op);
	if (!(ops & 1u << trigger->op))
		return ada_parse_fail(parser, head->op.at, "%s takes no %.*s, but %s", kind->name, ADA_SPAN(head->op),
				      ops == OPS_ABOVE ? "> and >=" : ">, >=, < and <=");
	if (named)
		status = ada_parse_subject(parser, head);
	if (!status && !named && head->names.at != head->names.end)
		status = ada_parse_fail(parser, head->names.at, "\"%.*s\" isn't expected: write it like %s", ADA_SPAN(head->names),
					kind->example);
	return status ? status : ada_parse_value(parser, head->value, named);
}

/* C++ throws by __cxa_throw, once a throw (a rethrow is no new one). Rust calls panic_with_hook once a panic (resuming one is no new
 * one), before it tells of the panic and writes a backtrace, which may take longer than a post-roll; a panic has no type. */
static int read_exception(const struct ada_parser *parser, struct ada_span span, bool type)
{
	static const char throws[] = "__cxa_throw", panics[] = "re:^std(\\[[0-9a-f]*\\])?::panicking::(rust_)?panic_with_hook$";
	struct ada_trigger *trigger = parser->trigger;
	struct ada_pattern pattern;
	size_t offset;
	int status;

	if (span.end - span.at > 1 && (*span.at == '\'' || *span.at == '"') && span.end[-1] == *span.at)
		span = (struct ada_span){ span.at + 1, span.end - 1 };
	if (type && span.at == span.end)
		return ada_parse_fail(parser, span.at, "a type is missing: write it like exception=std::bad_alloc");
	if (span.end - span.at >= (ptrdiff_t)sizeof trigger->exception)
		return ada_parse_fail(parser, span.at, "the type's name is too long: at most %zu bytes", sizeof trigger->exception - 1);
	memcpy(trigger->exception, span.at, (size_t)(span.end - span.at));
	status = ada_pattern_literal(&pattern, throws, false, parser->error);
	if (!status && ada_array_push(&trigger->patterns, pattern))
		status = ada_error_system(parser->error, ENOMEM, "a rule");
	if (status || type)
		return status;
	status = ada_pattern_compile(&pattern, panics, false, &offset, parser->error);
	if (!status && ada_array_push(&trigger->patterns, pattern))
		status = ada_error_system(parser->error, ENOMEM, "a rule");
	return status;
}

static int read_own(const struct ada_parser *parser, struct ada_span span)
{
	struct ada_trigger *trigger = parser->trigger;

	span = ada_span_trim(span);
	if (trigger->kind == ADA_RULE_TIME)
		return ada_parse_minutes(parser, span, &trigger->from_minute, &trigger->to_minute);
	if (trigger->kind == ADA_RULE_SIGNAL)
		return ada_parse_signals(parser, span, &trigger->signals);
	return read_exception(parser, span, true);
}

/* What follows the kind. `equals`: a "=" does. */
static int read_rest(const struct ada_parser *parser, const struct kind *kind, struct ada_head *head, const char *at, bool equals)
{
	struct ada_span whole = { at, head->end };

	if (equals && !(kind->forms & (NAMES | NAMED | OWN)))
		return ada_parse_fail(parser, at - 1, "%s takes no =: write it like %s", kind->name, kind->example);
	if (equals && kind->forms & OWN)
		return read_own(parser, whole);
	if (equals && kind->forms & NAMES)
		return ada_parse_names(parser, ada_span_trim(whole), false);
	if (equals)
		return read_comparison(parser, kind, head, true);
	if (kind->forms & BARE && (whole.at == whole.end || head->op.at == whole.at))
		return read_comparison(parser, kind, head, false);
	if (whole.at < whole.end || !(kind->forms & NOTHING))
		return ada_parse_fail(parser, at, "%s%.*s%s: write it like %s", whole.at < whole.end ? "\"" : "more is missing",
				      ADA_SPAN(whole), whole.at < whole.end ? "\" isn't expected" : "", kind->example);
	return kind->kind == ADA_RULE_EXCEPTION ? read_exception(parser, whole, false) : 0;
}

static int check_over(const struct ada_parser *parser, const char *options)
{
	struct ada_trigger *trigger = parser->trigger;
	uint64_t least = (100000 + 99999 - trigger->percentile) / (100000 - trigger->percentile);

	if (trigger->kind != ADA_RULE_PERCENTILE)
		return 0;
	if (!trigger->over)
		trigger->over = 1000;
	if (trigger->over < least)
		return ada_parse_fail(parser, options, "%llu calls are too few for this percentile: at least over=%llu",
				      (unsigned long long)trigger->over, (unsigned long long)least);
	return 0;
}

/* For manifests. `at`: behind the kind. */
static int set_texts(const struct ada_parser *parser, const char *at, bool equals, const char *end)
{
	struct ada_trigger *trigger = parser->trigger;
	struct ada_span whole = ada_span_trim((struct ada_span){ parser->text, end });
	struct ada_span pattern = ada_span_trim((struct ada_span){ equals ? at + 1 : end, end });

	trigger->kind_text = strndup(whole.at, (size_t)(whole.end - whole.at));
	trigger->pattern_text = strndup(pattern.at, (size_t)(pattern.end - pattern.at));
	if (!trigger->kind_text || !trigger->pattern_text)
		return ada_error_system(parser->error, ENOMEM, "a rule");
	if (equals)
		trigger->kind_text[at - whole.at] = ':';
	return 0;
}

static int check_text(const struct ada_parser *parser)
{
	const char *at = parser->text;

	for (; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return ada_parse_fail(parser, at, "a control character");
	if ((size_t)(at - parser->text) > ADA_TRIGGER_TEXT_MAX)
		return ada_parse_fail(parser, parser->text + ADA_TRIGGER_TEXT_MAX, "the rule is too long: at most %u bytes",
				      ADA_TRIGGER_TEXT_MAX);
	return 0;
}

static int read_rule(const struct ada_parser *parser)
{
	const char *at = parser->text + strspn(parser->text, " ");
	const struct kind *kind;
	struct ada_head head;
	unsigned options;
	bool equals;
	int status = check_text(parser);

	if (!status)
		status = read_kind(parser, &at, &kind);
	if (status)
		return status;
	parser->trigger->kind = kind->kind;
	equals = *at == '=' && (at[1] != '=' || !(kind->forms & BARE));
	options = kind->options & (kind->forms & BARE && !equals ? ~(unsigned)ADA_OPTION_NAMES : ~0u);
	status = ada_parse_head(parser, at + equals, &head);
	if (!status)
		status = ada_parse_options(parser, head.end, kind->name, options);
	if (!status)
		status = read_rest(parser, kind, &head, at + equals, equals);
	if (!status)
		status = check_over(parser, head.end);
	return status ? status : set_texts(parser, at, equals, head.end);
}

int ada_trigger_parse(struct ada_trigger **result, const char *text, bool strict, ada_trigger_warning *warn, void *context,
		      struct ada_error *error)
{
	struct ada_trigger *trigger = calloc(1, sizeof *trigger);
	struct ada_parser parser = { .trigger = trigger, .strict = strict, .warn = warn, .context = context, .error = error };
	int status = -ENOMEM;

	*result = NULL;
	if (trigger)
		trigger->text = strdup(text);
	if (!trigger || !trigger->text) {
		ada_error_system(error, ENOMEM, "a rule");
	} else {
		parser.text = trigger->text;
		status = read_rule(&parser);
	}
	if (status)
		ada_trigger_free(trigger);
	else
		*result = trigger;
	return status;
}

void ada_trigger_free(struct ada_trigger *trigger)
{
	if (!trigger)
		return;
	for (size_t i = 0; i < trigger->patterns.count; i++)
		ada_pattern_free(&trigger->patterns.items[i]);
	ada_array_free(&trigger->patterns);
	free(trigger->text);
	free(trigger->kind_text);
	free(trigger->pattern_text);
	free(trigger->label);
	free(trigger);
}

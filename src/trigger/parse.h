/* What the parts of the grammar share: parse.c (kinds), names.c, subject.c, value.c, number.c, signals.c, options.c. */
#ifndef ADA_TRIGGER_PARSE_H
#define ADA_TRIGGER_PARSE_H
#include "trigger/trigger.h"

#define ADA_TRIGGER_NS_MAX (24 * 3600 * 1000000000ull) /* the longest duration in a rule */
#define ADA_TRIGGER_TEXT_MAX 4096u

struct ada_span {
	const char *at, *end;
}; /* of the rule's text */

struct ada_parser {
	const char *text;
	struct ada_trigger *trigger;
	bool strict;
	ada_trigger_warning *warn;
	void *context;
	struct ada_error *error;
};

/* What stands after the kind, up to the options. `op` empty: no comparison. */
struct ada_head {
	struct ada_span names, op, value;
	const char *end;
};

/* -EINVAL; the message begins with the number of the character at `at`, counted from 1. */
int ada_parse_fail(const struct ada_parser *parser, const char *at, const char *format, ...) __attribute__((format(printf, 3, 4)));
struct ada_span ada_span_trim(struct ada_span span);
bool ada_span_is(struct ada_span span, const char *text);
struct ada_nearest *ada_parse_nearest(struct ada_span span); /* to what stands there */
/* At most 40 bytes of a span for a message; for "%.*s": length, start. */
#define ADA_SPAN(span) ((span).end - (span).at > 40 ? 40 : (int)((span).end - (span).at)), (span).at

/* names.c. Finds where the options begin, and the last comparison before them. */
int ada_parse_head(const struct ada_parser *parser, const char *at, struct ada_head *head);
/* a,b,'c',re:X into trigger->patterns. `compares`: a comparison follows, so "<" and ">" are no mistake. */
int ada_parse_names(const struct ada_parser *parser, struct ada_span span, bool compares);

/* subject.c. What stands before a comparison: names, with the numbers of arguments that the kind compares. */
int ada_parse_subject(const struct ada_parser *parser, const struct ada_head *head);

/* value.c. Of a comparison that names functions (`named`) or doesn't. */
int ada_parse_value(const struct ada_parser *parser, struct ada_span span, bool named);

/* number.c. Each takes the whole span. */
int ada_parse_integer(const struct ada_parser *parser, struct ada_span span, int64_t *value, bool *negative);
int ada_parse_real(const struct ada_parser *parser, struct ada_span span, double *value);
int ada_parse_whole(const struct ada_parser *parser, struct ada_span span, uint64_t min, uint64_t max, uint64_t *value);
int ada_parse_ns(const struct ada_parser *parser, struct ada_span span, uint64_t min, uint64_t *ns);
int ada_parse_bytes(const struct ada_parser *parser, struct ada_span span, uint64_t *bytes);
int ada_parse_percent(const struct ada_parser *parser, struct ada_span span, double max, double *share);
/* 1000/s, 5/10s */
int ada_parse_per(const struct ada_parser *parser, struct ada_span span, uint64_t max, uint64_t *count, uint64_t *ns);
int ada_parse_percentile(const struct ada_parser *parser, struct ada_span span, uint32_t *percentile);
int ada_parse_minutes(const struct ada_parser *parser, struct ada_span span, uint32_t *from, uint32_t *to);

/* signals.c */
int ada_parse_signals(const struct ada_parser *parser, struct ada_span span, uint64_t *signals);

/* options.c. `at`: the first "@", or the end. */
enum ada_option_group {
	ADA_OPTION_NAMES = 1, /* nocase */
	ADA_OPTION_TYPE = 2,  /* int, long, ... */
	ADA_OPTION_REAL = 4,  /* double, float */
	ADA_OPTION_OVER = 8,
	ADA_OPTION_COUNTS = 16, /* after, every, limit */
	ADA_OPTION_ALL = 32,	/* pre, post, label */
};
int ada_parse_options(const struct ada_parser *parser, const char *at, const char *kind, unsigned groups);
#endif

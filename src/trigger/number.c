/* Numbers of rules: exact integers with a unit; no double on the way, so 0.1s is 100,000,000 ns. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "trigger/parse.h"

struct unit {
	const char *name;
	uint64_t scale;
};

static const struct unit durations[] = {
	{ "ns", 1 },	      { "us", 1000 },	      { "ms", 1000000 }, { "s", 1000000000 }, { "min", 60000000000 },
	{ "m", 60000000000 }, { "h", 3600000000000 }, { NULL, 0 }
};
#define DURATIONS "ns, us, ms, s, min, h"
static const struct unit sizes[] = { { "B", 1 },	  { "K", 1u << 10 },	      { "M", 1u << 20 },
				     { "G", 1u << 30 },	  { "T", (uint64_t)1 << 40 }, { "KiB", 1u << 10 },
				     { "MiB", 1u << 20 }, { "GiB", 1u << 30 },	      { "TiB", (uint64_t)1 << 40 },
				     { NULL, 0 } };
#define SIZES "B, K, M, G, T"
static const struct unit percents[] = { { "%", 1000000000 }, { NULL, 0 } }; /* so a share is exact to 11 digits */
static const struct unit plain[] = { { "", 1 }, { NULL, 0 } };

static bool digit(struct ada_span span, size_t i)
{
	return (size_t)(span.end - span.at) > i && isdigit((unsigned char)span.at[i]);
}

static int read_fraction(struct ada_span *rest, uint64_t *fraction, uint64_t *divisor)
{
	rest->at++;
	for (; digit(*rest, 0); rest->at++)
		if (*divisor < 1000000000000000) {
			*fraction = *fraction * 10 + (uint64_t)(*rest->at - '0');
			*divisor *= 10;
		}
	return 0;
}

/* DIGITS[.DIGITS]UNIT; `names` lists the units for messages, NULL where there is none to give. */
static int with_unit(const struct ada_parser *parser, struct ada_span span, const struct unit *units, const char *names, uint64_t *value)
{
	uint64_t whole = 0, fraction = 0, divisor = 1;
	struct ada_span rest = span;

	if (span.at == span.end)
		return ada_parse_fail(parser, span.at, "a number is missing");
	if (*span.at == '-')
		return ada_parse_fail(parser, span.at, "a negative value makes no sense here");
	if (!digit(span, 0))
		return ada_parse_fail(parser, span.at, "\"%.*s\" is no number", ADA_SPAN(span));
	for (; digit(rest, 0); rest.at++)
		if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, (uint64_t)(*rest.at - '0'), &whole))
			return ada_parse_fail(parser, span.at, "\"%.*s\" is too large", ADA_SPAN(span));
	if (names && rest.at < rest.end && *rest.at == '.' && digit(rest, 1))
		read_fraction(&rest, &fraction, &divisor);
	rest = ada_span_trim(rest);
	while (units->name && !ada_span_is(rest, units->name))
		units++;
	if (!units->name && !names)
		return ada_parse_fail(parser, rest.at, "\"%.*s\" is no whole number", ADA_SPAN(span));
	if (!units->name && rest.at == rest.end)
		return ada_parse_fail(parser, rest.at, "a unit is missing (%s)", names);
	if (!units->name)
		return ada_parse_fail(parser, rest.at, "unknown unit \"%.*s\" (%s)", ADA_SPAN(rest), names);
	if (__builtin_mul_overflow(whole, units->scale, value) ||
	    __builtin_add_overflow(*value, (uint64_t)((unsigned __int128)fraction * units->scale / divisor), value))
		return ada_parse_fail(parser, span.at, "\"%.*s\" is too large", ADA_SPAN(span));
	return 0;
}

int ada_parse_whole(const struct ada_parser *parser, struct ada_span span, uint64_t min, uint64_t max, uint64_t *value)
{
	int status = with_unit(parser, span, plain, NULL, value);

	if (!status && (*value < min || *value > max))
		return ada_parse_fail(parser, span.at, "%.*s is out of range: %" PRIu64 " to %" PRIu64, ADA_SPAN(span), min, max);
	return status;
}

int ada_parse_ns(const struct ada_parser *parser, struct ada_span span, uint64_t min, uint64_t *ns)
{
	int status = with_unit(parser, span, durations, DURATIONS, ns);

	if (!status && *ns < min)
		return ada_parse_fail(parser, span.at, "%.*s is too short", ADA_SPAN(span));
	if (!status && *ns > ADA_TRIGGER_NS_MAX)
		return ada_parse_fail(parser, span.at, "%.*s is too long: at most 24h", ADA_SPAN(span));
	return status;
}

int ada_parse_bytes(const struct ada_parser *parser, struct ada_span span, uint64_t *bytes)
{
	int status = with_unit(parser, span, sizes, SIZES " or %", bytes);

	if (!status && !*bytes)
		return ada_parse_fail(parser, span.at, "%.*s is too small", ADA_SPAN(span));
	if (!status && *bytes > INT64_MAX)
		return ada_parse_fail(parser, span.at, "\"%.*s\" is too large", ADA_SPAN(span));
	return status;
}

int ada_parse_percent(const struct ada_parser *parser, struct ada_span span, double max, double *share)
{
	uint64_t value;
	int status = with_unit(parser, span, percents, "%", &value);

	if (status)
		return status;
	*share = (double)value / 1e11;
	if (!value || *share > max)
		return ada_parse_fail(parser, span.at, "%.*s is out of range: above 0%%, at most %.0f%%", ADA_SPAN(span), max * 100);
	return 0;
}

int ada_parse_per(const struct ada_parser *parser, struct ada_span span, uint64_t max, uint64_t *count, uint64_t *ns)
{
	const char *slash = memchr(span.at, '/', (size_t)(span.end - span.at));
	struct ada_span number = { span.at, slash ? slash : span.end }, per = { slash ? slash + 1 : span.end, span.end };
	int status = ada_parse_whole(parser, ada_span_trim(number), 1, max, count);

	if (status)
		return status;
	if (!slash)
		return ada_parse_fail(parser, span.end, "in what time? write it like %.*s/s (" DURATIONS ")", ADA_SPAN(span));
	per = ada_span_trim(per);
	if (digit(per, 0) || per.at == per.end)
		return ada_parse_ns(parser, per, 1, ns);
	for (const struct unit *unit = durations; unit->name; unit++)
		if (ada_span_is(per, unit->name)) {
			*ns = unit->scale;
			return 0;
		}
	return ada_parse_fail(parser, per.at, "unknown unit \"%.*s\" (" DURATIONS ")", ADA_SPAN(per));
}

/* 99.9 -> 99,900 */
int ada_parse_percentile(const struct ada_parser *parser, struct ada_span span, uint32_t *percentile)
{
	static const struct unit thousandths[] = { { "", 1000 }, { NULL, 0 } };
	uint64_t value;
	int status = with_unit(parser, span, thousandths, "none", &value);

	if (status)
		return status;
	if (value < 50000 || value > 99900)
		return ada_parse_fail(parser, span.at - 1, "p%.*s is out of range: p50 to p99.9", ADA_SPAN(span));
	*percentile = (uint32_t)value;
	return 0;
}

/* Decimal, hexadecimal; with K, M, G, T in powers of 1024. 64 bits, signed or not: the value is their pattern. */
int ada_parse_integer(const struct ada_parser *parser, struct ada_span span, int64_t *value, bool *negative)
{
	static const struct unit units[] = { { "", 1 },		{ "K", 1u << 10 },	    { "M", 1u << 20 },
					     { "G", 1u << 30 }, { "T", (uint64_t)1 << 40 }, { NULL, 0 } };
	struct ada_span digits = span, rest;
	uint64_t number = 0, scale = 0;
	unsigned base = 10;

	*negative = digits.at < digits.end && *digits.at == '-';
	if (digits.at < digits.end && (*digits.at == '-' || *digits.at == '+'))
		digits.at++;
	if (digits.end - digits.at > 2 && digits.at[0] == '0' && (digits.at[1] | 32) == 'x') {
		base = 16;
		digits.at += 2;
	}
	for (rest = digits; rest.at < rest.end && (base == 16 ? isxdigit((unsigned char)*rest.at) : isdigit((unsigned char)*rest.at));
	     rest.at++) {
		unsigned figure = isdigit((unsigned char)*rest.at) ? (unsigned)(*rest.at - '0') : (unsigned)((*rest.at | 32) - 'a' + 10);

		if (__builtin_mul_overflow(number, base, &number) || __builtin_add_overflow(number, figure, &number))
			return ada_parse_fail(parser, span.at, "\"%.*s\" is too large: 64 bits", ADA_SPAN(span));
	}
	if (span.at == span.end)
		return ada_parse_fail(parser, span.at, "a number is missing");
	if (rest.at == digits.at)
		return ada_parse_fail(parser, span.at, "\"%.*s\" is no number", ADA_SPAN(span));
	for (const struct unit *unit = units; unit->name; unit++)
		if (ada_span_is(rest, unit->name))
			scale = unit->scale;
	if (!scale)
		return ada_parse_fail(parser, rest.at, "unknown unit \"%.*s\" (K, M, G, T)", ADA_SPAN(rest));
	if (__builtin_mul_overflow(number, scale, &number) || (*negative && number > (uint64_t)1 << 63))
		return ada_parse_fail(parser, span.at, "\"%.*s\" is too large: 64 bits", ADA_SPAN(span));
	*value = (int64_t)(*negative ? 0 - number : number);
	return 0;
}

int ada_parse_real(const struct ada_parser *parser, struct ada_span span, double *value)
{
	char text[64], *end;
	size_t length = (size_t)(span.end - span.at);

	if (length >= sizeof text)
		return ada_parse_fail(parser, span.at, "\"%.*s\" is no number", ADA_SPAN(span));
	memcpy(text, span.at, length);
	text[length] = '\0';
	*value = strtod(text, &end);
	if (!length || *end || !(*value - *value == 0)) /* no infinity: strtod gives it for what is too large, too */
		return ada_parse_fail(parser, span.at, "\"%.*s\" is no number", ADA_SPAN(span));
	return 0;
}

/* HH:MM */
static int read_minute(const struct ada_parser *parser, struct ada_span span, bool end, uint32_t *minute)
{
	uint32_t hour, rest;

	if (span.end - span.at == 8 && span.at[2] == ':' && span.at[5] == ':')
		return ada_parse_fail(parser, span.at + 5, "times are given to the minute: HH:MM");
	if (span.end - span.at != 5 || span.at[2] != ':' || !digit(span, 0) || !digit(span, 1) || !digit(span, 3) || !digit(span, 4))
		return ada_parse_fail(parser, span.at, "\"%.*s\" is no time: write it like 10:30", ADA_SPAN(span));
	hour = (uint32_t)((span.at[0] - '0') * 10 + span.at[1] - '0');
	rest = (uint32_t)((span.at[3] - '0') * 10 + span.at[4] - '0');
	*minute = hour * 60 + rest;
	if (hour < 24 && rest < 60)
		return 0;
	if (!end || *minute != 24 * 60)
		return ada_parse_fail(parser, hour < 24 ? span.at + 3 : span.at, "%.*s is no time of day", ADA_SPAN(span));
	*minute = 0; /* 24:00 */
	return 0;
}

int ada_parse_minutes(const struct ada_parser *parser, struct ada_span span, uint32_t *from, uint32_t *to)
{
	const char *dash = memchr(span.at, '-', (size_t)(span.end - span.at));
	struct ada_span first = { span.at, dash ? dash : span.end }, last = { dash ? dash + 1 : span.end, span.end };
	int status;

	first = ada_span_trim(first);
	last = ada_span_trim(last);
	status = read_minute(parser, first, false, from);
	if (status)
		return status;
	if (!dash)
		return ada_parse_fail(parser, span.end, "until when? write it like 10:30-10:45");
	status = read_minute(parser, last, true, to);
	if (!status && *from == *to)
		return ada_parse_fail(parser, last.at, "the time ends where it begins");
	return status;
}

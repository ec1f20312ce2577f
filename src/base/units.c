/* See units.h. Numbers are digits with an optional fraction, read into an exact integer of the smallest unit: no double,
 * so 0.1s is 100,000,000 ns and no rounding can carry a value over a limit. */
#include "base/units.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t scale;
};

static const struct unit durations[] = { { "ns", 1 },	       { "us", 1000 },	       { "ms", 1000000 }, { "s", 1000000000 },
					 { "m", 60000000000 }, { "h", 3600000000000 }, { NULL, 0 } };
static const struct unit sizes[] = { { "", 1 },		  { "B", 1 },
				     { "K", 1u << 10 },	  { "M", 1u << 20 },
				     { "G", 1u << 30 },	  { "T", (uint64_t)1 << 40 },
				     { "KiB", 1u << 10 }, { "MiB", 1u << 20 },
				     { "GiB", 1u << 30 }, { "TiB", (uint64_t)1 << 40 },
				     { NULL, 0 } };

/* DIGITS[.DIGITS]UNIT, all of `text`. -EINVAL: not that; -ERANGE: more than 64 bits. A fraction below 1 is cut off. */
static int unit_parse(const char *text, const struct unit *units, uint64_t *value)
{
	uint64_t whole = 0, fraction = 0, divisor = 1, total;
	const char *at = text;

	if (!isdigit((unsigned char)*at))
		return -EINVAL;
	for (; isdigit((unsigned char)*at); at++)
		if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, (uint64_t)(*at - '0'), &whole))
			return -ERANGE;
	if (*at == '.' && isdigit((unsigned char)at[1]))
		for (at++; isdigit((unsigned char)*at); at++)
			if (divisor < 1000000000000000) {
				fraction = fraction * 10 + (uint64_t)(*at - '0');
				divisor *= 10;
			}
	while (units->name && strcmp(units->name, at) != 0)
		units++;
	if (!units->name)
		return -EINVAL;
	if (__builtin_mul_overflow(whole, units->scale, &total) ||
	    __builtin_add_overflow(total, (uint64_t)((unsigned __int128)fraction * units->scale / divisor), &total))
		return -ERANGE;
	*value = total;
	return 0;
}

static int unit_parse_or_say(const char *text, const struct unit *units, uint64_t *value, const char *what, const char *example,
			     struct ada_error *error)
{
	int status = unit_parse(text, units, value);

	if (status == -ERANGE)
		return ada_error_set(error, ERANGE, "%s '%s' is too large", what, text);
	if (status)
		return ada_error_set(error, EINVAL, "'%s' is no %s: write it like %s", text, what, example);
	return 0;
}

int ada_parse_duration(const char *text, uint64_t *ns, struct ada_error *error)
{
	return unit_parse_or_say(text, durations, ns, "duration", "50ms, 5s or 1.5us", error);
}

int ada_parse_size(const char *text, uint64_t *bytes, struct ada_error *error)
{
	return unit_parse_or_say(text, sizes, bytes, "size", "4096, 64K, 64M or 1G", error);
}

int ada_parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *count, struct ada_error *error)
{
	static const struct unit plain[] = { { "", 1 }, { NULL, 0 } };
	uint64_t value;
	int status = strchr(text, '.') ? -EINVAL : unit_parse(text, plain, &value);

	if (status == -EINVAL)
		return ada_error_set(error, EINVAL, "'%s' is no number", text);
	if (status || value < min || value > max)
		return ada_error_set(error, ERANGE, "%s is out of range: %" PRIu64 " to %" PRIu64, text, min, max);
	*count = value;
	return 0;
}

/* "0.039215771", as `ada dump` prints times: seconds from the start. No ns are written so. */
static int decimal_parse(const char *text, uint64_t *ns)
{
	static const struct unit seconds[] = { { "", 1000000000 }, { NULL, 0 } };

	return strchr(text, '.') ? unit_parse(text, seconds, ns) : -EINVAL;
}

static int offset_parse(const char *text, uint64_t *ns)
{
	int status = decimal_parse(text, ns);

	return status == -EINVAL ? unit_parse(text, durations, ns) : status;
}

static int say_no_time(const char *text, struct ada_error *error)
{
	uint64_t ns;

	if (text[0] != '+' && !offset_parse(text, &ns))
		return ada_error_set(error, EINVAL, "'%s' is no time: did you mean +%s, from the start?", text, text);
	return ada_error_set(
		error, EINVAL,
		"'%s' is no time: write it like +1.5s (from the start), 2026-11-22T13:40:00.5Z (UTC), 13:40:00 (local time) or in ns",
		text);
}

int ada_parse_time(const char *text, uint64_t start_ns, uint64_t *ns, struct ada_error *error)
{
	static const struct unit plain[] = { { "", 1 }, { "ns", 1 }, { NULL, 0 } };
	bool from_start = text[0] == '+' || strchr(text, '.');
	uint64_t number;
	int status;

	if (text[0] == '+')
		status = offset_parse(text + 1, &number);
	else
		status = from_start ? decimal_parse(text, &number) : unit_parse(text, plain, &number);
	if (status == -EINVAL)
		return say_no_time(text, error);
	if (status || __builtin_add_overflow(from_start ? start_ns : 0, number, &number))
		return ada_error_set(error, ERANGE, "time '%s' is too large", text);
	*ns = number;
	return 0;
}

/* The largest unit of which there is at least one, with three significant digits; 999.5 rounds into the next unit. */
static char *unit_format(uint64_t value, const struct unit *units, uint64_t per_unit, char *text)
{
	const struct unit *unit = units;
	double shown;

	while (unit[1].name && (double)value / (double)unit->scale >= (double)per_unit - 0.5)
		unit++;
	shown = (double)value / (double)unit->scale;
	if (unit == units)
		snprintf(text, ADA_UNITS_TEXT, "%" PRIu64 "%s%s", value, unit->name[0] ? " " : "", unit->name);
	else
		snprintf(text, ADA_UNITS_TEXT, "%.*f %s", shown < 9.995 ? 2 : shown < 99.95 ? 1 : 0, shown, unit->name);
	return text;
}

char *ada_format_duration(uint64_t ns, char text[ADA_UNITS_TEXT])
{
	static const struct unit units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }, { NULL, 0 } };

	return unit_format(ns, units, 1000, text);
}

char *ada_format_call_duration(uint64_t ns, bool open, char text[ADA_UNITS_TEXT])
{
	char duration[ADA_UNITS_TEXT];

	/* The longest has 13 characters. */
	snprintf(text, ADA_UNITS_TEXT, "%s%.20s", open ? "open " : "", ada_format_duration(ns, duration));
	return text;
}

char *ada_format_size(uint64_t bytes, char text[ADA_UNITS_TEXT])
{
	static const struct unit units[] = { { "B", 1 },	  { "KiB", 1u << 10 },		{ "MiB", 1u << 20 },
					     { "GiB", 1u << 30 }, { "TiB", (uint64_t)1 << 40 }, { NULL, 0 } };

	return unit_format(bytes, units, 1024, text);
}

char *ada_format_count(uint64_t count, char text[ADA_UNITS_TEXT])
{
	static const struct unit units[] = { { "", 1 }, { "k", 1000 }, { "M", 1000000 }, { "G", 1000000000 }, { NULL, 0 } };

	return unit_format(count, units, 1000, text);
}

char *ada_format_grouped(uint64_t number, char text[ADA_UNITS_TEXT])
{
	char digits[24];
	int length = snprintf(digits, sizeof digits, "%" PRIu64, number), used = 0;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			text[used++] = ',';
		text[used++] = digits[i];
	}
	text[used] = 0;
	return text;
}

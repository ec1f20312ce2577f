/* Names of signals. glibc has them in sigabbrev_np; the real-time ones count from SIGRTMIN, up or down from SIGRTMAX. */
#include <ctype.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include "trigger/parse.h"

static bool same(struct ada_span span, const char *name)
{
	return strlen(name) == (size_t)(span.end - span.at) && strncasecmp(span.at, name, strlen(name)) == 0;
}

/* SIGRTMIN+3, SIGRTMAX-3 */
static int real_time(const struct ada_parser *parser, struct ada_span span, struct ada_span name, int *number)
{
	bool up = strncasecmp(name.at, "RTMIN", 5) == 0;
	struct ada_span offset = { name.at + 6, name.end };
	uint64_t value = 0;
	int status = 0;

	if (name.end - name.at > 5) {
		if (name.at[5] != (up ? '+' : '-'))
			return ada_parse_fail(parser, name.at + 5, "write it like %s", up ? "SIGRTMIN+1" : "SIGRTMAX-1");
		status = ada_parse_whole(parser, offset, 0, (uint64_t)(SIGRTMAX - SIGRTMIN), &value);
	}
	*number = up ? SIGRTMIN + (int)value : SIGRTMAX - (int)value;
	(void)span;
	return status;
}

static int unknown(const struct ada_parser *parser, struct ada_span span)
{
	char wanted[48], near[128];
	struct ada_nearest *nearest;
	size_t length = (size_t)(span.end - span.at);

	if (length >= sizeof wanted)
		length = sizeof wanted - 1;
	for (size_t i = 0; i < length; i++)
		wanted[i] = (char)toupper((unsigned char)span.at[i]);
	wanted[length] = '\0';
	nearest = ada_nearest_open(wanted);
	for (int i = 1; i < 32; i++) {
		char name[24] = "SIG";
		const char *abbreviation = sigabbrev_np(i);

		if (!abbreviation)
			continue;
		strcpy(name + 3, abbreviation);
		ada_nearest_offer(nearest, strncmp(wanted, "SIG", 3) == 0 ? name : abbreviation);
	}
	ada_nearest_text(nearest, near, sizeof near);
	ada_nearest_close(nearest);
	return ada_parse_fail(parser, span.at, "unknown signal \"%.*s\"%s%s", ADA_SPAN(span), near[0] ? ": did you mean " : "", near);
}

static int read_signal(const struct ada_parser *parser, struct ada_span span, int *number)
{
	struct ada_span name = span;
	uint64_t value;
	int status;

	*number = 0;
	if (span.at == span.end)
		return ada_parse_fail(parser, span.at, "a signal is missing");
	if (isdigit((unsigned char)*span.at)) {
		status = ada_parse_whole(parser, span, 1, 64, &value);
		*number = status ? 0 : (int)value;
		return status;
	}
	if (span.end - span.at > 3 && strncasecmp(span.at, "SIG", 3) == 0)
		name.at += 3;
	if (name.end - name.at >= 5 && (strncasecmp(name.at, "RTMIN", 5) == 0 || strncasecmp(name.at, "RTMAX", 5) == 0))
		return real_time(parser, span, name, number);
	for (int i = 1; i < 32 && !*number; i++)
		if (sigabbrev_np(i) && same(name, sigabbrev_np(i)))
			*number = i;
	if (same(name, "IOT"))
		*number = SIGABRT;
	if (same(name, "CLD"))
		*number = SIGCHLD;
	if (same(name, "POLL"))
		*number = SIGIO;
	return *number ? 0 : unknown(parser, span);
}

int ada_parse_signals(const struct ada_parser *parser, struct ada_span span, uint64_t *signals)
{
	*signals = 0;
	for (;;) {
		const char *comma = memchr(span.at, ',', (size_t)(span.end - span.at));
		struct ada_span one = { span.at, comma ? comma : span.end };
		int number, status;

		one = ada_span_trim(one);
		status = read_signal(parser, one, &number);
		if (status)
			return status;
		if (number == SIGKILL || number == SIGSTOP)
			return ada_parse_fail(parser, one.at, "%.*s can't be seen when it is delivered%s", ADA_SPAN(one),
					      number == SIGKILL ? ": exit marks the end that it makes" : "");
		if (number >= 32 && number < SIGRTMIN)
			return ada_parse_fail(parser, one.at, "signal %d is libc's own", number);
		*signals |= (uint64_t)1 << (number - 1);
		if (!comma)
			return 0;
		span.at = comma + 1;
	}
}

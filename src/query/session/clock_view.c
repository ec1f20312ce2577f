/* See clock_view.h. */
#include "query/session/clock_view.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/units.h"
#include "query/session/session.h"

#define SECOND_NS 1000000000

/* A time as it was written. */
struct written {
	struct tm when;
	uint64_t part_ns; /* of its second */
	bool dated, utc;
};

/* "2026-01-01T00:00:00.123Z", to the ns; or with a blank for the T, without the Z, without seconds, or without the date. */
static bool read_wall(const char *text, struct written *written)
{
	const char *rest = strptime(text, "%Y-%m-%d", &written->when);
	uint64_t digit = SECOND_NS / 10;

	*written = (struct written){ .when = written->when, .dated = rest && (*rest == 'T' || *rest == ' ') };
	rest = strptime(written->dated ? rest + 1 : text, "%H:%M", &written->when);
	written->when.tm_sec = 0;
	if (rest && *rest == ':')
		rest = strptime(rest + 1, "%S", &written->when);
	if (rest && *rest == '.')
		for (rest++; *rest >= '0' && *rest <= '9'; rest++, digit /= 10)
			written->part_ns += (uint64_t)(*rest - '0') * digit;
	written->utc = rest && written->dated && !strcmp(rest, "Z");
	return rest && (!*rest || written->utc);
}

/* In ns since 1970. False: that can't be counted. */
static bool written_ns(const struct written *written, uint64_t *ns)
{
	struct tm when = written->when;
	int64_t seconds;

	when.tm_isdst = -1;
	seconds = written->utc ? timegm(&when) : mktime(&when);
	*ns = (uint64_t)seconds * SECOND_NS + written->part_ns;
	return seconds >= 0 && seconds <= INT64_MAX / SECOND_NS - 1;
}

static bool parse_utc(const char *text, uint64_t *ns)
{
	struct written written = {};

	return read_wall(text, &written) && written.utc && written_ns(&written, ns);
}

bool ada_session_wall_offset(const struct ada_session *session, int64_t *offset_ns)
{
	uint64_t start_ns = ada_json_u64(session->document, "startNs", 0), wall_ns;

	if (!start_ns || start_ns > INT64_MAX || !parse_utc(ada_json_text(session->document, "started", ""), &wall_ns))
		return false;
	*offset_ns = (int64_t)(wall_ns - start_ns);
	return true;
}

/* Of a clock of the session: its anchors, and how many there are; NULL: no clock is called so. */
static const struct ada_timing_anchor *anchors_of(const struct ada_session *session, const char *name, size_t *count)
{
	const struct ada_timing_anchor *first = NULL;

	*count = 0;
	for (size_t i = 0; i < session->anchor_count; i++)
		if (!strcmp(session->anchors[i].clock, name)) {
			first = first ? first : &session->anchors[i];
			++*count;
		}
	return first;
}

static int fail_unknown(const struct ada_session *session, const char *name, struct ada_error *error)
{
	char known[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < session->anchor_count && used < sizeof known; i++)
		if (!i || strcmp(session->anchors[i - 1].clock, session->anchors[i].clock))
			used += (size_t)snprintf(known + used, sizeof known - used, ", %s", session->anchors[i].clock);
	if (used >= sizeof known)
		strcpy(known + sizeof known - sizeof ", ...", ", ...");
	return ada_error_set(error, EINVAL, "no clock '%.64s' in %s: it has boot, wall%s%s", name, session->path, known,
			     used ? "" : "; `ada anchor` adds others");
}

int ada_clock_view_open(struct ada_clock_view *view, const struct ada_session *session, const char *name, struct ada_error *error)
{
	*view = (struct ada_clock_view){};
	if (name && !strcmp(name, "wall")) {
		view->kind = ADA_CLOCK_WALL;
		if (!ada_session_wall_offset(session, &view->wall_offset))
			return ada_error_set(error, EINVAL, "%s doesn't say what time it was: there is no wall clock", session->path);
	} else if (name && strcmp(name, "boot")) {
		view->kind = ADA_CLOCK_MEDIA;
		view->anchors = anchors_of(session, name, &view->count);
		if (!view->anchors)
			return fail_unknown(session, name, error);
	}
	return 0;
}

int ada_clock_view_set(struct ada_session *session, const char *name, struct ada_error *error)
{
	return ada_clock_view_open(&session->view, session, name, error);
}

bool ada_clock_view_ns(const struct ada_clock_view *view, uint64_t ns, int64_t *told)
{
	if (view->kind == ADA_CLOCK_MEDIA)
		return !atf_media_time(view->anchors, view->count, ns, told);
	return ns <= INT64_MAX && !__builtin_add_overflow((int64_t)ns, view->wall_offset, told);
}

/* --- what people write ------------------------------------------------------------------------------------------------- */

/* Signed; with a dot and without unit it is seconds, without either ns. */
bool ada_clock_parse_media(const char *text, int64_t *ns)
{
	bool negative = *text == '-';
	size_t digits = strspn(text + negative, "0123456789."), length = strlen(text + negative);
	struct ada_error error = {};
	uint64_t value;
	char number[64];

	if (length >= sizeof number - 2)
		return false;
	snprintf(number, sizeof number, "%s%s", text + negative, digits < length ? "" : strchr(text, '.') ? "s" : "ns");
	if (ada_parse_duration(number, &value, &error) || value > INT64_MAX)
		return false;
	*ns = negative ? -(int64_t)value : (int64_t)value;
	return true;
}

static void local_text(uint64_t wall_ns, struct tm *when, char text[ADA_CLOCK_TEXT])
{
	time_t seconds = (time_t)(wall_ns / SECOND_NS);

	strftime(text, ADA_CLOCK_TEXT, "%Y-%m-%d %H:%M:%S", localtime_r(&seconds, when));
}

/* Local time means a moment of the recording, or of the second beside it: nobody writes the rest of a second. Without a date it is the first
 * such moment. */
static int parse_local(const struct ada_session *session, const char *text, struct written *written, int64_t offset_ns, uint64_t *wall,
		       struct ada_error *error)
{
	uint64_t first = session->start_ns + (uint64_t)offset_ns, end_ns = ada_session_end_ns(session);
	uint64_t last = (end_ns > session->start_ns ? end_ns : session->start_ns) + (uint64_t)offset_ns;
	char from[ADA_CLOCK_TEXT], to[ADA_CLOCK_TEXT];
	struct tm begun, ended;

	local_text(first, &begun, from);
	local_text(last, &ended, to);
	if (!written->dated) {
		written->when.tm_year = begun.tm_year;
		written->when.tm_mon = begun.tm_mon;
		written->when.tm_mday = begun.tm_mday;
		if (written_ns(written, wall) && *wall + SECOND_NS <= first)
			written->when.tm_mday++; /* mktime makes it the next month's where that must be */
	}
	if (!written_ns(written, wall))
		return ada_error_set(error, ERANGE, "time '%s' is too large", text);
	if (*wall + SECOND_NS <= first || *wall >= last + SECOND_NS)
		return ada_error_set(error, ERANGE, "'%s' is outside of the recording, which is from %s to %s (local time)", text, from,
				     to);
	return 0;
}

/* False: `text` is written in no way that only times of the wall clock are. */
static bool parse_as_wall(const struct ada_session *session, const char *text, uint64_t *wall, int *status, struct ada_error *error)
{
	struct written written = {};
	int64_t offset_ns;

	if (!read_wall(text, &written))
		return false;
	if (!ada_session_wall_offset(session, &offset_ns))
		*status = ada_error_set(error, EINVAL, "%s doesn't say what time it was: there is no wall clock", session->path);
	else if (!written.utc)
		*status = parse_local(session, text, &written, offset_ns, wall, error);
	else
		*status = written_ns(&written, wall) ? 0 : ada_error_set(error, ERANGE, "time '%s' is too large", text);
	return true;
}

static int from_wall(const struct ada_clock_view *view, const char *text, uint64_t wall, uint64_t *ns, struct ada_error *error)
{
	int64_t boot;

	if (__builtin_sub_overflow((int64_t)wall, view->wall_offset, &boot))
		return ada_error_set(error, ERANGE, "time '%s' is too large", text);
	*ns = boot < 0 ? 0 : (uint64_t)boot;
	return 0;
}

static int parse_on_wall(const struct ada_clock_view *view, const char *text, uint64_t *ns, struct ada_error *error)
{
	struct ada_error number = {};
	uint64_t wall;

	if (ada_parse_count(text, 0, INT64_MAX, &wall, &number))
		return ada_error_set(
			error, EINVAL,
			"'%s' is no time of the wall clock: write it like 2026-11-22T13:40:00.5Z (UTC), 13:40:00 (local time), "
			"+1.5s (from the start) or in ns since 1970",
			text);
	return from_wall(view, text, wall, ns, error);
}

int ada_clock_view_parse(const struct ada_clock_view *view, const struct ada_session *session, const char *text, uint64_t *ns,
			 struct ada_error *error)
{
	struct ada_clock_view wall = {};
	uint64_t since_1970_ns;
	int64_t media;
	int status = 0;

	if (parse_as_wall(session, text, &since_1970_ns, &status, error))
		return status ?: ada_clock_view_open(&wall, session, "wall", error) ?: from_wall(&wall, text, since_1970_ns, ns, error);
	if (view->kind == ADA_CLOCK_BOOT || *text == '+')
		return ada_parse_time(text, session->start_ns, ns, error);
	if (view->kind == ADA_CLOCK_WALL)
		return parse_on_wall(view, text, ns, error);
	if (!ada_clock_parse_media(text, &media))
		return ada_error_set(error, EINVAL,
				     "'%s' is no time of clock %s: write it like 12.5s, +1.5s (from the session's start) or in ns", text,
				     view->anchors->clock);
	if (atf_host_time(view->anchors, view->count, media, ns))
		return ada_error_set(error, ERANGE, "time '%s' of clock %s is too large", text, view->anchors->clock);
	return 0;
}

/* --- what they read ---------------------------------------------------------------------------------------------------- */

char *ada_clock_view_text(const struct ada_session *session, uint64_t ns, char text[ADA_CLOCK_TEXT])
{
	uint64_t since = ns > session->start_ns ? ns - session->start_ns : 0, part;
	int64_t told = 0;
	struct tm when;
	time_t seconds;
	size_t used;

	if (session->view.kind == ADA_CLOCK_BOOT) {
		snprintf(text, ADA_CLOCK_TEXT, "+%" PRIu64 ".%09" PRIu64 "s", since / SECOND_NS, since % SECOND_NS);
	} else if (!ada_clock_view_ns(&session->view, ns, &told)) {
		strcpy(text, "?");
	} else if (session->view.kind == ADA_CLOCK_WALL) {
		seconds = told < 0 ? 0 : told / SECOND_NS;
		used = strftime(text, ADA_CLOCK_TEXT - 12, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &when));
		snprintf(text + used, ADA_CLOCK_TEXT - used, ".%09uZ", (unsigned)(told < 0 ? 0 : told % SECOND_NS));
	} else {
		part = told < 0 ? -(uint64_t)told : (uint64_t)told;
		snprintf(text, ADA_CLOCK_TEXT, "%s%" PRIu64 ".%09" PRIu64 "s", told < 0 ? "-" : "", part / SECOND_NS, part % SECOND_NS);
	}
	return text;
}

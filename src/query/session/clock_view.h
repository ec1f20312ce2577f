/* The clock on which people write and read times: CLOCK_BOOTTIME in ns, which all files have, the wall clock, or a clock that anchors of
 * the session name (atf.h). A session has one view at a time; whatever reads events takes CLOCK_BOOTTIME. */
#ifndef ADA_QUERY_CLOCK_VIEW_H
#define ADA_QUERY_CLOCK_VIEW_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "atf.h"
#include "base/error.h"

struct ada_session;
enum ada_clock_kind { ADA_CLOCK_BOOT, ADA_CLOCK_WALL, ADA_CLOCK_MEDIA };

struct ada_clock_view {
	enum ada_clock_kind kind;
	const struct ada_timing_anchor *anchors; /* of ADA_CLOCK_MEDIA: the session's */
	size_t count;
	int64_t wall_offset; /* of ADA_CLOCK_WALL: what to add */
};

/* `name`: boot, wall or an anchored clock; NULL: boot. For an unknown name the message lists the clocks there are. */
int ada_clock_view_open(struct ada_clock_view *view, const struct ada_session *session, const char *name, struct ada_error *error);
int ada_clock_view_set(struct ada_session *session, const char *name, struct ada_error *error); /* the session's own view */
/* Converts ns of CLOCK_BOOTTIME to the view's clock, in ns (wall clock: since 1970). False: the result doesn't fit. */
bool ada_clock_view_ns(const struct ada_clock_view *view, uint64_t ns, int64_t *told);
/* The first ns of CLOCK_BOOTTIME at or behind what `text` says: on any clock "+1.5s" from the session's start; on boot ns, on the wall
 * clock ns since 1970, on others "12.5", "12.5s" or ns. On all: "2026-11-22T13:40:00.5Z" in UTC, and in local time "2026-11-22 13:40:00.5"
 * or "13:40:00.5", whose seconds may be missing, and which must be a time of the recording. */
int ada_clock_view_parse(const struct ada_clock_view *view, const struct ada_session *session, const char *text, uint64_t *ns,
			 struct ada_error *error);
/* Reads a time of a media clock: "12.5", "12.5s" or ns, perhaps negative; false: no such time. */
bool ada_clock_parse_media(const char *text, int64_t *ns);
/* As `parse` takes it: "+0.091011549s", "2026-11-22T13:40:00.500000000Z", "12.500000000s"; fills and returns `text`. */
#define ADA_CLOCK_TEXT 40
char *ada_clock_view_text(const struct ada_session *session, uint64_t ns, char text[ADA_CLOCK_TEXT]);

/* What to add to ns since boot to get ns since 1970, as of the session's start. False: session.json doesn't say. */
bool ada_session_wall_offset(const struct ada_session *session, int64_t *offset_ns);
#endif

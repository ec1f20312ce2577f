/* The clock on which times are taken from people and shown to them: ns of CLOCK_BOOTTIME, which all files have, the wall clock, or
 * one that anchors of the session name (atf.h). A session has one at a time; what reads events always takes CLOCK_BOOTTIME. */
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

/* Of a clock of the session: its anchors, and how many there are; NULL: no clock is called so. */
const struct ada_timing_anchor *ada_clock_anchors_of(const struct ada_session *session, const char *name, size_t *count);
/* `name`: boot, wall or an anchored clock; NULL: boot. Where there is none such, the message lists those there are. */
int ada_clock_view_open(struct ada_clock_view *view, const struct ada_session *session, const char *name, struct ada_error *error);
int ada_clock_view_set(struct ada_session *session, const char *name, struct ada_error *error); /* the session's own view */
/* What ns of CLOCK_BOOTTIME is on a view's clock, in ns: of the wall clock since 1970. False: it has no room there. */
bool ada_clock_view_ns(const struct ada_clock_view *view, uint64_t ns, int64_t *told);
/* The first ns of CLOCK_BOOTTIME that is at or behind what `text` says: "+1.5s" from the session's start on any clock; of boot in ns,
 * of the wall clock "2026-11-22T13:40:00.5Z" or ns since 1970, of others "12.5", "12.5s" or ns. */
int ada_clock_view_parse(const struct ada_clock_view *view, const struct ada_session *session, const char *text, uint64_t *ns,
			 struct ada_error *error);
/* A time of a media clock alone: "12.5", "12.5s" or ns, perhaps negative; false: it is none. */
bool ada_clock_parse_media(const char *text, int64_t *ns);
/* As `parse` takes it: "+0.091011549s", "2026-11-22T13:40:00.500000000Z", "12.500000000s"; fills and returns `text`. */
#define ADA_CLOCK_TEXT 40
char *ada_clock_view_text(const struct ada_session *session, uint64_t ns, char text[ADA_CLOCK_TEXT]);

/* What to add to ns since boot for ns since 1970, as it was at the session's start. False: session.json doesn't say. */
bool ada_session_wall_offset(const struct ada_session *session, int64_t *offset_ns);
#endif

/* Anchors as they lie in a session: anchor.c reads them, anchor_store.c adds to them.
 *
 *   session.json     {..., "anchors": [{"clock": "video", "hostTimeNs": 1, "mediaTimeNs": 2}, ...], ...}
 *   anchors.jsonl    one such object a line, appended while another process held session.json; it is never cut, so that
 *                    nobody's line can be lost. What is in both files counts once.
 *
 * Whoever rewrites session.json holds flock(LOCK_EX) on the session's directory meanwhile; a recorder, as long as it lives. */
#ifndef ADA_ATF_ANCHOR_H
#define ADA_ATF_ANCHOR_H
#include <limits.h>
#include "atf/index/index.h"
#include "base/array.h"

#pragma GCC visibility push(hidden)
#define ATF_ANCHOR_JOURNAL "anchors.jsonl"
#define ATF_ANCHOR_JOURNAL_MAX (512u << 10) /* bytes; who reads a longer one reads so much of it */
#define ATF_ANCHOR_BYTES 160		    /* one, as text */

bool atf_clock_name_is_sound(const char *name); /* boot and wall are not */

struct atf_anchors {
	ADA_ARRAY(struct ada_timing_anchor) items;
	size_t wrong; /* entries that are no anchor, or contradict another */
};
/* From the two texts, in any order: `items` as they stand there. 0 or -ENOMEM. */
int atf_anchors_parse_session(struct atf_anchors *anchors, const char *text, size_t length);
int atf_anchors_parse_journal(struct atf_anchors *anchors, const char *text, size_t length);
void atf_anchors_settle(struct atf_anchors *anchors); /* sorts, and leaves out what contradicts or is there twice */
/* What is in the journal of the session in this directory: nothing where there is none or it can't be read. */
int atf_anchors_read_journal(struct atf_anchors *anchors, const char *directory);
/* Of a session, or one of its pid directories, the directory and session.json's text, which is the caller's to free. */
int atf_session_find(const char *session, char directory[PATH_MAX], char **text, size_t *length, struct atf_message *message);
int atf_session_document(const char *directory, char **text, size_t *length); /* the text alone: 0 or -errno */
/* session.json's text with these anchors more, nothing else of it is changed; *result is the caller's to free. 0 or -enum atf_error. */
int atf_anchors_insert(const char *text, size_t length, const struct ada_timing_anchor *anchors, size_t count, char **result,
		       size_t *result_length, struct atf_message *message);
int atf_anchor_text(const struct ada_timing_anchor *anchor, char text[ATF_ANCHOR_BYTES]); /* its length; no newline */
#pragma GCC visibility pop
#endif

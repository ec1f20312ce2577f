/* Anchors as they lie in a session: anchor.c reads them, anchor_store.c adds to them.
 *
 *   session.json     {..., "anchors": [{"clock": "video", "hostTimeNs": 1, "mediaTimeNs": 2}, ...], ...}
 *   anchors.jsonl    one such object a line, appended while another process held session.json; never cut, so that
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
#define ATF_ANCHOR_JOURNAL_MAX (512u << 10) /* bytes; of a longer journal readers read so much */
#define ATF_ANCHOR_BYTES 160		    /* one, as text */

bool atf_clock_name_is_sound(const char *name); /* boot and wall are not */

struct atf_anchors {
	ADA_ARRAY(struct ada_timing_anchor) items;
	size_t wrong; /* entries that are no anchor, or contradict another */
};
/* Reads one of the two texts, in any order of calls: `items` get the anchors as they stand there. 0 or -ENOMEM. */
int atf_anchors_parse_session(struct atf_anchors *anchors, const char *text, size_t length);
int atf_anchors_parse_journal(struct atf_anchors *anchors, const char *text, size_t length);
void atf_anchors_settle(struct atf_anchors *anchors); /* sorts, and leaves out what contradicts or is there twice */
/* Reads the journal of the session in this directory; adds nothing where there is none or it can't be read. */
int atf_anchors_read_journal(struct atf_anchors *anchors, const char *directory);
/* Finds the directory of a session, given as such or by one of its pid directories, and session.json's text, which the caller frees. */
int atf_session_find(const char *session, char directory[PATH_MAX], char **text, size_t *length, struct atf_message *message);
int atf_session_document(const char *directory, char **text, size_t *length); /* the text alone: 0 or -errno */
/* session.json's text with these anchors added and nothing else changed; the caller frees *result. 0 or -enum atf_error. */
int atf_anchors_insert(const char *text, size_t length, const struct ada_timing_anchor *anchors, size_t count, char **result,
		       size_t *result_length, struct atf_message *message);
int atf_anchor_text(const struct ada_timing_anchor *anchor, char text[ATF_ANCHOR_BYTES]); /* its length; no newline */
#pragma GCC visibility pop
#endif

/* Reading anchors: see anchor.h. */
#include "atf/session/anchor.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "atf/session/json.h"
#include "base/file.h"

#define LATEST "ada_traces/latest"

bool atf_clock_name_is_sound(const char *name)
{
	size_t length = strnlen(name, sizeof((struct ada_timing_anchor *)0)->clock);

	if (!isalpha((unsigned char)*name) || length == sizeof((struct ada_timing_anchor *)0)->clock)
		return false;
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("_-.", *c))
			return false;
	return strcmp(name, "boot") && strcmp(name, "wall");
}

int atf_anchor_text(const struct ada_timing_anchor *anchor, char text[ATF_ANCHOR_BYTES])
{
	return snprintf(text, ATF_ANCHOR_BYTES, "{ \"clock\": \"%s\", \"hostTimeNs\": %" PRIu64 ", \"mediaTimeNs\": %" PRIu64 " }",
			anchor->clock, anchor->hostTimeNs, anchor->mediaTimeNs);
}

/* --- parsing --------------------------------------------------------------------------------------------------------- */

/* Reads one object. Returns the place behind it, or NULL where the text can't be read on. An object that is no anchor gets host time
 * 0. */
static const char *parse_anchor(const char *at, const char *end, struct ada_timing_anchor *anchor)
{
	const char *behind = atf_json_value(at, end), *key, *text = NULL, *next;
	size_t length, name_length = 0;
	bool has_media = false;

	*anchor = (struct ada_timing_anchor){ 0 };
	at = behind ? atf_json_sign(at, behind, '{') : NULL;
	while (at && at < behind && *at != '}') {
		at = atf_json_string(at, behind, &key, &length);
		at = at ? atf_json_sign(at, behind, ':') : NULL;
		next = at ? atf_json_value(at, behind) : NULL;
		if (!next)
			break;
		if (key && length == 5 && !memcmp(key, "clock", 5) && !atf_json_string(at, next, &text, &name_length))
			text = NULL;
		if (key && length == 10 && !memcmp(key, "hostTimeNs", 10) && !atf_json_u64(at, next, &anchor->hostTimeNs))
			anchor->hostTimeNs = 0;
		if (key && length == 11 && !memcmp(key, "mediaTimeNs", 11))
			has_media = atf_json_u64(at, next, &anchor->mediaTimeNs) != NULL;
		at = next < behind && *next == ',' ? next + 1 : next;
	}
	if (text && name_length < sizeof anchor->clock)
		memcpy(anchor->clock, text, name_length);
	if (!text || strlen(anchor->clock) != name_length || !atf_clock_name_is_sound(anchor->clock) || !has_media ||
	    anchor->mediaTimeNs > INT64_MAX)
		anchor->hostTimeNs = 0;
	return behind;
}

static int anchor_take(struct atf_anchors *anchors, const struct ada_timing_anchor *anchor)
{
	anchors->wrong += !anchor->hostTimeNs;
	return anchor->hostTimeNs ? ada_array_push(&anchors->items, *anchor) : 0;
}

int atf_anchors_parse_session(struct atf_anchors *anchors, const char *text, size_t length)
{
	const char *from, *to, *behind, *at;
	struct ada_timing_anchor anchor;
	int status = 0;

	if (!atf_json_member(text, text + length, "anchors", &from, &to, &behind))
		return 0;
	at = atf_json_sign(from, to, '[');
	if (!at)
		anchors->wrong++;
	while (at && at < to && *at != ']' && !status) {
		at = parse_anchor(at, to, &anchor);
		if (!at) {
			anchors->wrong++;
			break;
		}
		status = anchor_take(anchors, &anchor);
		at = at < to && *at == ',' ? atf_json_space(at + 1, to) : at;
	}
	return status;
}

int atf_anchors_parse_journal(struct atf_anchors *anchors, const char *text, size_t length)
{
	const char *end = text + length, *line_end, *behind;
	struct ada_timing_anchor anchor;
	int status = 0;

	for (; text < end && !status; text = line_end + (line_end < end)) {
		line_end = memchr(text, '\n', (size_t)(end - text));
		line_end = line_end ? line_end : end;
		if (atf_json_space(text, line_end) == line_end)
			continue;
		behind = parse_anchor(text, line_end, &anchor);
		if (behind != line_end)
			anchor.hostTimeNs = 0;
		status = anchor_take(anchors, &anchor);
	}
	return status;
}

/* --- what is true of all of them -------------------------------------------------------------------------------------- */

static int anchors_compare(const void *left, const void *right)
{
	const struct ada_timing_anchor *a = left, *b = right;
	int names = strcmp(a->clock, b->clock);

	if (names)
		return names;
	if (a->hostTimeNs != b->hostTimeNs)
		return a->hostTimeNs < b->hostTimeNs ? -1 : 1;
	return a->mediaTimeNs < b->mediaTimeNs ? -1 : a->mediaTimeNs > b->mediaTimeNs;
}

void atf_anchors_settle(struct atf_anchors *anchors)
{
	struct ada_timing_anchor *items = anchors->items.items;
	size_t kept = 0;

	if (anchors->items.count)
		qsort(items, anchors->items.count, sizeof *items, anchors_compare);
	for (size_t i = 0; i < anchors->items.count; i++) {
		const struct ada_timing_anchor *before = kept ? &items[kept - 1] : NULL;

		if (before && !anchors_compare(before, &items[i]))
			continue;
		if (!before || strcmp(before->clock, items[i].clock) ||
		    (items[i].hostTimeNs > before->hostTimeNs && items[i].mediaTimeNs > before->mediaTimeNs))
			items[kept++] = items[i];
		else
			anchors->wrong++;
	}
	anchors->items.count = kept;
}

/* --- files ------------------------------------------------------------------------------------------------------------- */

/* Reads a file that others may have made: waits for no FIFO, and reads no more than a journal may have. 0 or -errno. */
static int read_file(const char *directory, const char *name, char **text, size_t *length)
{
	struct ada_error error = { "" };
	char path[PATH_MAX];
	int fd, status = ada_path(path, "%s/%s", directory, name);

	if (status)
		return status;
	fd = ada_file_open_regular(path, &error);
	if (fd < 0)
		return fd;
	status = ada_file_read_fd(fd, text, length);
	close(fd);
	return status;
}

int atf_anchors_read_journal(struct atf_anchors *anchors, const char *directory)
{
	size_t length;
	char *text;
	int status;

	if (read_file(directory, ATF_ANCHOR_JOURNAL, &text, &length))
		return 0;
	status = atf_anchors_parse_journal(anchors, text, length < ATF_ANCHOR_JOURNAL_MAX ? length : ATF_ANCHOR_JOURNAL_MAX);
	free(text);
	return status;
}

int atf_session_document(const char *directory, char **text, size_t *length)
{
	return read_file(directory, "session.json", text, length);
}

int atf_session_find(const char *session, char directory[PATH_MAX], char **text, size_t *length, struct atf_message *message)
{
	const char *path = session ? session : LATEST;
	int status = ada_path(directory, "%s", path) ?: atf_session_document(directory, text, length);

	if (status == -ENOENT && !access(path, F_OK))
		status = ada_path(directory, "%s/..", path) ?: atf_session_document(directory, text, length);
	if (!status)
		return 0;
	if (status == -ENOTDIR)
		return atf_fail_of(message, path, ATF_ERROR_INVALID, "no session: a session is a directory");
	if (status == -ENOENT && !access(path, F_OK))
		return atf_fail_of(message, path, ATF_ERROR_INVALID, "no session: it holds no session.json");
	atf_say_of(message, path, status == -ENOENT ? "no such session directory" : strerror(-status));
	return atf_system(status);
}

int atf_session_anchors(const char *session, struct ada_timing_anchor **anchors, size_t *count, struct atf_message *message)
{
	struct atf_anchors all = { 0 };
	char directory[PATH_MAX], *text;
	size_t length;
	int status = atf_session_find(session, directory, &text, &length, message);

	if (status)
		return status;
	status = atf_anchors_parse_session(&all, text, length) ?: atf_anchors_read_journal(&all, directory);
	free(text);
	if (status) {
		ada_array_free(&all.items);
		return atf_fail(message, ATF_ERROR_MEMORY, "%s", atf_error_text(ATF_ERROR_MEMORY));
	}
	atf_anchors_settle(&all);
	if (all.wrong)
		atf_say(message,
			"session.json or " ATF_ANCHOR_JOURNAL ": %zu of the anchors make%s no sense, or contradict%s another: left out",
			all.wrong, all.wrong == 1 ? "s" : "", all.wrong == 1 ? "s" : "");
	else
		atf_say(message, "%s", "");
	*anchors = all.items.items;
	*count = all.items.count;
	return 0;
}

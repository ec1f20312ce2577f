/* Adding an anchor to a session, which others may be writing at the same time: see anchor.h.
 *
 * session.json's text stays as it is, byte for byte, but for what goes into its array: nothing else in the text has to be understood. */
#include "atf/session/anchor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "atf/session/json.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/seal.h"

/* What there is, and what is to be added to it. */
struct store {
	int directory;
	char place[ADA_DIRECTORY_PATH_BYTES]; /* a path of it */
	char *text;
	size_t length;
	struct atf_anchors known; /* settled */
	const struct ada_timing_anchor *anchor;
	struct atf_message *message;
	enum ada_seal seal; /* of what session.json held */
};

static int say_system(const struct store *store, int status, const char *file)
{
	atf_say(store->message, "can't write %s: %s", file, strerror(-status));
	return atf_system(status);
}

/* --- does it make sense? ----------------------------------------------------------------------------------------------- */

static int check_alone(const struct ada_timing_anchor *anchor, struct atf_message *message)
{
	if (!strcmp(anchor->clock, "boot") || !strcmp(anchor->clock, "wall"))
		return atf_fail(message, ATF_ERROR_INVALID, "a clock can't be called %s: that one is ada's own", anchor->clock);
	if (!memchr(anchor->clock, 0, sizeof anchor->clock) || !atf_clock_name_is_sound(anchor->clock))
		return atf_fail(message, ATF_ERROR_INVALID,
				"'%.32s' can't name a clock: a letter, then letters, digits, _ - and ., %zu in all", anchor->clock,
				sizeof anchor->clock - 1);
	if (!anchor->hostTimeNs)
		return atf_fail(message, ATF_ERROR_INVALID, "a host time of 0 is no moment: it is ns of CLOCK_BOOTTIME");
	if (anchor->mediaTimeNs > INT64_MAX)
		return atf_fail(message, ATF_ERROR_INVALID, "a media time of %" PRIu64 " ns is too large: there are %" PRId64 " at most",
				anchor->mediaTimeNs, INT64_MAX);
	return 0;
}

/* A time of the session itself; 0: it doesn't say. */
static uint64_t time_of(const struct store *store, const char *name)
{
	const char *from, *to, *behind;
	uint64_t ns;

	if (!atf_json_member(store->text, store->text + store->length, name, &from, &to, &behind) || !atf_json_u64(from, to, &ns))
		return 0;
	return ns;
}

/* The host may have been started again since: then the session's own end is the limit. */
static int check_time(const struct store *store)
{
	uint64_t now = ada_get_timestamp_ns(), start = time_of(store, "startNs"), end = time_of(store, "endNs");
	uint64_t latest = end > now ? end : start > now ? UINT64_MAX : now;

	if (store->anchor->hostTimeNs <= latest)
		return 0;
	return atf_fail(store->message, ATF_ERROR_INVALID, "the host time %" PRIu64 " ns lies %.3f s ahead of now",
			store->anchor->hostTimeNs, (double)(store->anchor->hostTimeNs - latest) / 1e9);
}

/* *there: it is stored already. */
static int check_others(const struct store *store, bool *there)
{
	const struct ada_timing_anchor *anchor = store->anchor;

	*there = false;
	for (size_t i = 0; i < store->known.items.count; i++) {
		const struct ada_timing_anchor *other = &store->known.items.items[i];
		bool later = anchor->hostTimeNs > other->hostTimeNs;

		if (strcmp(other->clock, anchor->clock))
			continue;
		if (other->hostTimeNs == anchor->hostTimeNs && other->mediaTimeNs == anchor->mediaTimeNs) {
			*there = true;
			return 0;
		}
		if (other->hostTimeNs != anchor->hostTimeNs && other->mediaTimeNs != anchor->mediaTimeNs &&
		    later == (anchor->mediaTimeNs > other->mediaTimeNs))
			continue;
		return atf_fail(store->message, ATF_ERROR_INVALID,
				"clock %s would stand still or go backwards: there is an anchor with host time "
				"%" PRIu64 " ns, media time %" PRIu64 " ns, and this one has %" PRIu64 " and %" PRIu64,
				anchor->clock, other->hostTimeNs, other->mediaTimeNs, anchor->hostTimeNs, anchor->mediaTimeNs);
	}
	return 0;
}

/* --- into session.json ------------------------------------------------------------------------------------------------- */

/* Owner and permissions stay. */
static int replace(const struct store *store, const char *text, size_t length)
{
	char path[ADA_DIRECTORY_PATH_BYTES + sizeof "/session.json"];
	struct ada_error error = { "" };
	struct stat before;
	int status;

	snprintf(path, sizeof path, "%s/session.json", store->place);
	if (fstatat(store->directory, "session.json", &before, AT_SYMLINK_NOFOLLOW))
		return -errno;
	status = store->seal == ADA_SEAL_SOUND ? ada_seal_replace(path, text, length, &error) :
						 ada_file_replace(path, text, length, &error);
	if (status)
		return status;
	if (before.st_uid != geteuid() && fchownat(store->directory, "session.json", before.st_uid, before.st_gid, AT_SYMLINK_NOFOLLOW))
		return -errno;
	return (before.st_mode & 0777) != 0600 && fchmodat(store->directory, "session.json", before.st_mode & 0777, 0) ? -errno : 0;
}

/* Where to put entries: behind the array's last value; without an array yet, behind the last member. */
struct gap {
	const char *from, *to; /* the space between, which goes */
	bool in_array, first;
};

static int find_gap(struct gap *gap, const char *text, size_t length, struct atf_message *message)
{
	const char *from, *to, *behind, *at;

	gap->in_array = atf_json_member(text, text + length, "anchors", &from, &to, &behind);
	if (!gap->in_array && !behind)
		return atf_fail(message, ATF_ERROR_CORRUPT, "session.json is no JSON object: nothing can be stored in it");
	if (gap->in_array) {
		at = atf_json_sign(from, to, '[');
		for (behind = to - 1; behind > from && memchr(" \t\r\n", *behind, 4); behind--)
			;
		if (!at || *behind != ']' || at > behind)
			return atf_fail(message, ATF_ERROR_CORRUPT, "session.json: \"anchors\" is no array: nothing can be stored in it");
	} else {
		at = atf_json_sign(text, text + length, '{');
	}
	gap->first = at == behind;
	gap->from = gap->to = behind;
	while (gap->from > text && memchr(" \t\r\n", gap->from[-1], 4))
		gap->from--;
	return 0;
}

/* Whether a reader finds what was put in: a text that is no JSON may look like JSON up to its end. */
static bool is_read(const char *before, size_t before_length, const char *text, size_t length, size_t count)
{
	struct atf_anchors old = { 0 }, new = { 0 };
	bool read = !atf_anchors_parse_session(&old, before, before_length) && !atf_anchors_parse_session(&new, text, length) &&
		    new.items.count == old.items.count + count &&new.wrong == old.wrong;

	ada_array_free(&old.items);
	ada_array_free(&new.items);
	return read;
}

int atf_anchors_insert(const char *text, size_t length, const struct ada_timing_anchor *anchors, size_t count, char **result,
		       size_t *result_length, struct atf_message *message)
{
	struct gap gap = { 0 };
	char *at, entry[ATF_ANCHOR_BYTES];
	int status = find_gap(&gap, text, length, message);

	if (status)
		return status;
	*result = malloc(length + count * (ATF_ANCHOR_BYTES + 8) + 64);
	if (!*result)
		return atf_fail(message, ATF_ERROR_MEMORY, "%s", atf_error_text(ATF_ERROR_MEMORY));
	at = mempcpy(*result, text, (size_t)(gap.from - text));
	if (!gap.in_array)
		at = stpcpy(at, gap.first ? "\n  \"anchors\": [" : ",\n  \"anchors\": [");
	for (size_t i = 0; i < count; i++) {
		atf_anchor_text(&anchors[i], entry);
		at = stpcpy(at, i || (gap.in_array && !gap.first) ? ",\n    " : "\n    ");
		at = stpcpy(at, entry);
	}
	at = stpcpy(at, gap.in_array ? "\n  " : "\n  ]\n");
	at = mempcpy(at, gap.to, (size_t)(text + length - gap.to));
	*result_length = (size_t)(at - *result);
	if (is_read(text, length, *result, *result_length, count))
		return 0;
	free(*result);
	*result = NULL;
	return atf_fail(message, ATF_ERROR_CORRUPT, "session.json is damaged: nothing can be stored in it");
}

/* This anchor, and those of the journal that aren't in session.json yet. */
static int find_missing(const struct store *store, struct atf_anchors *missing)
{
	struct atf_anchors there = { 0 };
	int status = atf_anchors_parse_session(&there, store->text, store->length) ?: ada_array_push(&missing->items, *store->anchor);

	for (size_t i = 0; i < store->known.items.count && !status; i++) {
		const struct ada_timing_anchor *known = &store->known.items.items[i];
		bool found = false;

		for (size_t j = 0; j < there.items.count && !found; j++)
			found = !memcmp(&there.items.items[j], known, sizeof *known);
		if (!found)
			status = ada_array_push(&missing->items, *known);
	}
	ada_array_free(&there.items);
	return status ? atf_fail(store->message, ATF_ERROR_MEMORY, "%s", atf_error_text(ATF_ERROR_MEMORY)) : 0;
}

static int store_document(struct store *store)
{
	struct atf_anchors missing = { 0 };
	uint32_t says, is;
	size_t length;
	char *text = NULL;
	int status;

	/* A new checksum would hide what has happened to it. */
	store->seal = ada_seal_check(store->text, store->length, &says, &is);
	if (store->seal == ADA_SEAL_BROKEN)
		return atf_fail(store->message, ATF_ERROR_CORRUPT,
				"session.json is damaged, its checksum is another: nothing can be stored in it");
	status = find_missing(store, &missing) ?:
			 atf_anchors_insert(store->text, store->length, missing.items.items, missing.items.count, &text, &length,
					    store->message);

	ada_array_free(&missing.items);
	if (!status) {
		status = replace(store, text, length);
		status = status ? say_system(store, status, "session.json") : 0;
	}
	free(text);
	return status;
}

/* --- into the journal -------------------------------------------------------------------------------------------------- */

/* A line that a full disk cut off gets its end from the next one, which begins a line of its own. */
static int append(int fd, const struct ada_timing_anchor *anchor, off_t size)
{
	char text[ATF_ANCHOR_BYTES + 2], last = '\n';
	ssize_t length, put;

	if (size > 0 && pread(fd, &last, 1, size - 1) < 0)
		return -errno;
	text[0] = '\n';
	length = 1 + atf_anchor_text(anchor, text + 1);
	text[length++] = '\n';
	if (last == '\n') {
		memmove(text, text + 1, (size_t)length - 1);
		length--;
	}
	put = write(fd, text, (size_t)length); /* at once: beside those of others */
	if (put != length)
		return put < 0 ? -errno : -ENOSPC;
	return fsync(fd) && errno != EINVAL ? -errno : 0;
}

static int store_journal(const struct store *store)
{
	struct stat found, document;
	int fd = openat(store->directory, ATF_ANCHOR_JOURNAL, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
			0600);
	int status;

	if (fd < 0)
		return say_system(store, -errno, ATF_ANCHOR_JOURNAL);
	status = fstat(fd, &found) ? -errno : !S_ISREG(found.st_mode) || found.st_nlink > 1 ? -EPERM : 0;
	/* A user who is root by sudo leaves a file that belongs to the session's user. */
	if (!status && !found.st_size && !fstatat(store->directory, "session.json", &document, 0) && document.st_uid != found.st_uid &&
	    fchown(fd, document.st_uid, document.st_gid))
		status = -errno;
	if (!status && found.st_size > (off_t)(ATF_ANCHOR_JOURNAL_MAX - 2 * ATF_ANCHOR_BYTES)) {
		close(fd);
		return atf_fail(store->message, ATF_ERROR_FULL, "the session has %zu anchors: it takes no more", store->known.items.count);
	}
	if (!status)
		status = append(fd, store->anchor, found.st_size);
	if (close(fd) && !status)
		status = -errno;
	return status ? say_system(store, status, ATF_ANCHOR_JOURNAL) : 0;
}

/* --- all of it --------------------------------------------------------------------------------------------------------- */

static int read_all(struct store *store)
{
	struct atf_anchors *known = &store->known;

	if (atf_anchors_parse_session(known, store->text, store->length) || atf_anchors_read_journal(known, store->place))
		return atf_fail(store->message, ATF_ERROR_MEMORY, "%s", atf_error_text(ATF_ERROR_MEMORY));
	atf_anchors_settle(known);
	return 0;
}

/* Who gets the lock reads what session.json is by then. */
static int store_one(struct store *store)
{
	bool there = false, mine = !flock(store->directory, LOCK_EX | LOCK_NB);
	int status;

	if (mine) {
		free(store->text);
		store->text = NULL;
		status = atf_session_document(store->place, &store->text, &store->length);
		if (status) {
			atf_say(store->message, "can't read session.json: %s", strerror(-status));
			return atf_system(status);
		}
	}
	status = read_all(store) ?: check_time(store) ?: check_others(store, &there);
	if (status || there)
		return status;
	if (store->known.items.count >= ATF_ANCHOR_JOURNAL_MAX / ATF_ANCHOR_BYTES)
		return atf_fail(store->message, ATF_ERROR_FULL, "the session has %zu anchors: it takes no more", store->known.items.count);
	return mine ? store_document(store) : store_journal(store);
}

int atf_session_anchor(const char *session, const struct ada_timing_anchor *anchor, struct atf_message *message)
{
	struct ada_timing_anchor clean = { 0 }; /* nothing behind the name's end: anchors are compared as bytes */
	struct store store = { .anchor = &clean, .message = message };
	char directory[PATH_MAX];
	int status = check_alone(anchor, message) ?: atf_session_find(session, directory, &store.text, &store.length, message);

	if (status)
		return status;
	store.directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store.directory < 0) {
		status = say_system(&store, -errno, "session.json");
		free(store.text);
		return status;
	}
	ada_directory_path(store.directory, store.place);
	clean.hostTimeNs = anchor->hostTimeNs;
	clean.mediaTimeNs = anchor->mediaTimeNs;
	memcpy(clean.clock, anchor->clock, strlen(anchor->clock));
	status = store_one(&store);
	ada_array_free(&store.known.items);
	free(store.text);
	close(store.directory);
	return status;
}

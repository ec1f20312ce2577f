/* Recovery of a detail file: gives footer and tables to the whole records that a crash left, and cuts off what stands behind them (part
 * of a record, space that was never written).
 *
 * The windows died with the recorder. The index file beside tells each record's detail_seq: records that follow each other without a gap
 * become a window from the first one's time to the last one's, with window_id UINT32_MAX and no mark. Records behind the end of a
 * finished index have no event, and never will: they are cut off, too. Where the index can't tell, there are no windows, and readers find
 * records by index_seq only. A file with a footer keeps its windows. A recovery that is cut short and done again comes to the same.
 *
 * A caller who has seen the files of all threads knows the windows (atf_detail_recover_windows). Then each record belongs to the window
 * that it lies in, whatever the file said, and a file with other windows loses its footer before it is finished again.
 */
#include "atf/detail/detail.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "atf/index/verify.h"
#include "base/file.h"

struct known {
	const AtfDetailWindow *windows;
	size_t count;
}; /* by time, without overlap */

struct recovery {
	int fd;
	const struct known *known; /* NULL: nobody knows windows */
	const struct atf_detail_file *file;
	struct atf_index *index;	   /* NULL: there is none that can be read */
	uint64_t count;			   /* records that stay */
	struct atf_detail_summary summary; /* of those */
	AtfDetailWindow *windows;
	size_t window_count;
};

/* The record's event; NULL where that isn't sure. */
static const struct ada_event *event_of(const struct atf_index *index, const struct atf_detail *record)
{
	const struct ada_event *event;
	uint64_t run;

	if (record->index_seq >= atf_index_count(index))
		return NULL;
	event = atf_index_run(index, record->index_seq, &run);
	return event->timestamp_ns == record->timestamp_ns && event->function_id == record->function_id &&
			       event->detail_seq != ADA_NO_DETAIL ?
		       event :
		       NULL;
}

static AtfDetailWindow *window_add(struct recovery *recovery)
{
	/* Doubles at each power of two. */
	if (!(recovery->window_count & (recovery->window_count - 1))) {
		size_t room = recovery->window_count ? 2 * recovery->window_count : 1;
		AtfDetailWindow *larger = realloc(recovery->windows, room * sizeof *larger);

		if (!larger)
			return NULL;
		recovery->windows = larger;
	}
	return &recovery->windows[recovery->window_count++];
}

/* The known window that holds this time; NULL: none does. *cursor: all before it end earlier. */
static const AtfDetailWindow *known_at(const struct known *known, size_t *cursor, uint64_t ns)
{
	if (!known)
		return NULL;
	while (*cursor < known->count && known->windows[*cursor].end_ns < ns)
		++*cursor;
	return *cursor < known->count && known->windows[*cursor].start_ns <= ns ? &known->windows[*cursor] : NULL;
}

/* False: out of memory, or the index does not tell of all records. */
static bool find_windows(struct recovery *recovery)
{
	const AtfDetailWindow *owner = NULL;
	AtfDetailWindow *window = NULL;
	uint64_t next = 0, last_ns = 0, i;
	size_t cursor = 0;

	for (i = 0; i < recovery->count; i++) {
		struct atf_detail record;
		const struct ada_event *event = atf_detail_get(recovery->file, i, &record) ? NULL : event_of(recovery->index, &record);
		const AtfDetailWindow *holder;

		if (!event || event->detail_seq < next)
			return false;
		holder = known_at(recovery->known, &cursor, record.timestamp_ns);
		if (!window || event->detail_seq != next || holder != owner) {
			window = window_add(recovery);
			if (!window)
				return false;
			*window = holder ? *holder : (AtfDetailWindow){ .start_ns = record.timestamp_ns, .window_id = UINT32_MAX };
			if (holder && holder == owner) { /* events in it were lost: each part has its own bounds */
				window[-1].end_ns = last_ns;
				window->start_ns = record.timestamp_ns;
			}
			window->first_detail_seq = event->detail_seq;
			window->first_ordinal = i;
			window->event_count = 0;
			owner = holder;
		}
		if (!holder)
			window->end_ns = record.timestamp_ns;
		last_ns = record.timestamp_ns;
		window->event_count++;
		next = event->detail_seq + 1ull;
	}
	return true;
}

/* Where the index was finished, records behind its end are without an event. */
static void drop_records_without_event(struct recovery *recovery)
{
	struct atf_detail record;

	if (!recovery->index || atf_index_completeness(recovery->index) != ATF_COMPLETE)
		return;
	while (recovery->count && !atf_detail_get(recovery->file, recovery->count - 1, &record) &&
	       record.index_seq >= atf_index_count(recovery->index))
		recovery->count--;
}

/* Sums up the records. False: not all of them can be read. */
static bool sum_up(struct recovery *recovery)
{
	const struct atf_detail_file *file = recovery->file;
	uint64_t i;

	for (i = 0; i < recovery->count; i++) {
		const uint8_t *bytes;
		struct atf_detail record;

		if (atf_detail_get(file, i, &record) || file->offsets[i] != ATF_EVENTS_OFFSET + recovery->summary.bytes)
			return false;
		bytes = file->bytes + file->offsets[i];
		atf_detail_count_in(&recovery->summary, &record, bytes, ((const DetailEventHeader *)bytes)->total_length);
	}
	return true;
}

/* The footer is there: only the header is missing. */
static int finish_header(struct recovery *recovery)
{
	AtfDetailHeader header = recovery->file->header;
	int status;

	atf_detail_header_finish(&header, &recovery->summary);
	status = ada_file_write_at(recovery->fd, &header, sizeof header, 0);
	return status || fsync(recovery->fd) == 0 ? status : -errno;
}

/* Makes it a file that is being written again, since what comes next may be cut short. *header becomes what it was at the beginning. */
static int unfinish(const struct recovery *recovery, AtfDetailHeader *header)
{
	int status;

	atf_detail_header_start(header, recovery->file->header.thread_id, recovery->file->header.arch);
	header->os = recovery->file->header.os;
	if (!recovery->file->has_footer)
		return 0;
	status = ada_file_write_at(recovery->fd, header, sizeof *header, 0);
	return status || fsync(recovery->fd) == 0 ? status : -errno;
}

static int write_tables(struct recovery *recovery)
{
	const struct atf_detail_file *file = recovery->file;
	size_t bytes = recovery->count * sizeof *file->offsets;
	uint64_t *offsets = malloc(bytes + 1); /* the file's own table is about to be cut off */
	AtfDetailHeader header = file->header;
	int status = offsets ? 0 : -ENOMEM;

	if (!status) {
		if (bytes)
			memcpy(offsets, file->offsets, bytes);
		status = unfinish(recovery, &header);
	}
	if (!status && ftruncate(recovery->fd, (off_t)(ATF_EVENTS_OFFSET + recovery->summary.bytes)) < 0)
		status = -errno;
	if (!status)
		status = atf_detail_finish(recovery->fd, &header, &recovery->summary, offsets, recovery->windows, recovery->window_count);
	if (!status && fsync(recovery->fd))
		status = -errno;
	free(offsets);
	return status;
}

static int finish_file(struct recovery *recovery)
{
	const struct atf_detail_file *file = recovery->file;

	if (file->has_footer && file->footer.checksum != recovery->summary.checksum)
		return -EBADMSG;
	if (file->has_footer && !recovery->known)
		return finish_header(recovery);
	if (!recovery->index || !find_windows(recovery))
		recovery->window_count = 0;
	return write_tables(recovery);
}

static void say_what_was_done(const struct recovery *recovery, uint64_t behind, struct atf_message *message)
{
	const struct atf_detail_file *file = recovery->file;
	const char *windows = recovery->count && !recovery->window_count && !file->has_footer ? "; their windows are not known" : "";
	uint64_t dropped = file->count - recovery->count;
	char rest[128] = "";

	if (dropped)
		snprintf(rest, sizeof rest, "; %" PRIu64 " more whose events never reached the index were cut off", dropped);
	else if (behind)
		snprintf(rest, sizeof rest, "; %" PRIu64 " bytes behind them are no whole record and were cut off", behind);
	atf_say(message, "recovered %" PRIu64 " records%s%s", recovery->count, windows, rest);
}

static int recover_records(struct recovery *recovery, struct atf_message *message)
{
	const struct atf_detail_file *file = recovery->file;
	/* Looked at before it is cut off. Tables, and space that was only allocated, are no loss. */
	uint64_t behind = file->header.event_count || file->has_footer || atf_is_zero(file->bytes + file->end, file->size - file->end) ?
				  0 :
				  file->size - file->end;
	int status;

	recovery->count = file->count;
	if (!file->has_footer || recovery->known)
		drop_records_without_event(recovery);
	status = sum_up(recovery) ? finish_file(recovery) : -EBADMSG;
	if (status == -EBADMSG)
		return atf_fail(message, ATF_ERROR_CORRUPT, "damaged: the records do not have the footer's CRC32");
	if (status) {
		errno = -status;
		return atf_fail(message, ATF_ERROR_SYSTEM, "%s", strerror(errno));
	}
	say_what_was_done(recovery, behind, message);
	return 0;
}

static struct atf_index *open_index(const char *detail_path)
{
	struct atf_index *index = NULL;
	char path[PATH_MAX];

	if (!atf_lane_path(path, sizeof path, detail_path, "detail", "index"))
		return NULL;
	if (access(path, F_OK)) /* .atf -> .atp */
		path[strlen(path) - 1] = 'p';
	if (access(path, F_OK) && atf_lane_path(path, sizeof path, detail_path, "detail", "kept"))
		path[strlen(path) - 1] = 'p';
	atf_index_open(&index, path, NULL);
	return index;
}

/* Whether a complete file has the windows that are known, and nothing has to be done. */
static bool has_windows(struct recovery *recovery)
{
	const struct atf_detail_file *file = recovery->file;
	bool same;

	if (!recovery->known)
		return true;
	recovery->count = file->count;
	drop_records_without_event(recovery);
	same = recovery->count == file->count && recovery->index && find_windows(recovery) && recovery->window_count == file->window_count;
	same = same && (!file->window_count || !memcmp(recovery->windows, file->windows, file->window_count * sizeof *file->windows));
	recovery->window_count = 0; /* found again, where they are written */
	return same || !recovery->index;
}

static int recover_open(int fd, const char *path, const void *context, struct atf_message *message)
{
	struct recovery recovery = { .fd = fd, .known = context };
	struct atf_detail_file *file;
	int status;

	status = atf_detail_open_fd(&file, fd, message);
	if (status)
		return status;
	recovery.file = file;
	recovery.index = open_index(path);
	if (file->completeness == ATF_DAMAGED)
		status = -ATF_ERROR_CORRUPT; /* and the message says how */
	else if (file->completeness == ATF_COMPLETE && has_windows(&recovery))
		atf_say(message, "complete, nothing to do");
	else
		status = recover_records(&recovery, message);
	free(recovery.windows);
	atf_index_close(recovery.index);
	atf_detail_close(file);
	return status;
}

int atf_detail_recover(const char *path, struct atf_message *message)
{
	return atf_recover_path(path, recover_open, NULL, message);
}

int atf_detail_recover_windows(const char *path, const AtfDetailWindow *windows, size_t count, struct atf_message *message)
{
	struct known known = { windows, count };

	return atf_recover_path(path, recover_open, &known, message);
}

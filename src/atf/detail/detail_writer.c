/* Writer of a detail file: puts records into the stream (stream.h), and keeps their offsets and the windows until close writes both
 * behind the records. */
#include "atf/detail/detail.h"

#include <errno.h>
#include <stdlib.h>
#include "atf/ground/stream.h"

struct atf_detail_writer {
	struct atf_stream stream;
	AtfDetailHeader header;
	struct atf_detail_summary summary; /* of all that was appended */
	uint64_t *offsets;
	size_t offsets_room;
	AtfDetailWindow *windows; /* the last one may have no records (yet) */
	size_t window_count, windows_room;
};

/* Room for one more of them; doubles. */
static int make_room(void **items, size_t *room, size_t count, size_t item_bytes)
{
	size_t wanted = *room ? 2 * *room : 64;
	void *larger;

	if (count < *room)
		return 0;
	larger = realloc(*items, wanted * item_bytes);
	if (!larger)
		return -ATF_ERROR_MEMORY;
	*items = larger;
	*room = wanted;
	return 0;
}

int atf_detail_writer_open(struct atf_detail_writer **writer_out, const char *path, const struct atf_detail_options *options)
{
	struct atf_detail_writer *writer = calloc(1, sizeof *writer);
	int status;

	*writer_out = NULL;
	if (!writer)
		return -ATF_ERROR_MEMORY;
	atf_detail_header_start(&writer->header, options->thread_id, options->arch);
	status = atf_stream_open(&writer->stream, path, options->sink, 0, &writer->header);
	if (status) {
		free(writer);
		return status;
	}
	*writer_out = writer;
	return 0;
}

/* --- windows ------------------------------------------------------------------------------------------------------ */

static AtfDetailWindow *last_window(struct atf_detail_writer *writer)
{
	return writer->window_count ? &writer->windows[writer->window_count - 1] : NULL;
}

int atf_detail_writer_window(struct atf_detail_writer *writer, const AtfDetailWindow *window)
{
	AtfDetailWindow *last = last_window(writer);
	int status;

	if (writer->stream.error)
		return atf_stream_fail(&writer->stream, 0);
	if (last && !last->event_count)
		last = --writer->window_count ? last - 1 : NULL;
	if (last && window->first_detail_seq < last->first_detail_seq + last->event_count)
		return -ATF_ERROR_RANGE;
	status = make_room((void **)&writer->windows, &writer->windows_room, writer->window_count, sizeof *writer->windows);
	if (status)
		return status;
	last = &writer->windows[writer->window_count++];
	*last = *window;
	last->first_ordinal = writer->summary.count;
	last->event_count = 0;
	last->reserved = 0;
	return 0;
}

int atf_detail_writer_window_update(struct atf_detail_writer *writer, const AtfDetailWindow *window)
{
	AtfDetailWindow *last = last_window(writer);

	if (writer->stream.error)
		return atf_stream_fail(&writer->stream, 0);
	if (!last)
		return -ATF_ERROR_RANGE;
	last->start_ns = window->start_ns;
	last->end_ns = window->end_ns;
	last->marked_ns = window->marked_ns;
	last->marked_count = window->marked_count;
	last->window_id = window->window_id;
	return 0;
}

/* --- records ------------------------------------------------------------------------------------------------------ */

static bool record_fits(const struct atf_detail_writer *writer, const AtfDetailWindow *window, const struct atf_detail *record)
{
	const struct atf_detail_summary *summary = &writer->summary;

	if (record->detail_seq == ADA_NO_DETAIL || record->detail_seq != window->first_detail_seq + window->event_count ||
	    record->stack_size > ATF_DETAIL_STACK_MAX || record->captured_size > ATF_DETAIL_CAPTURED_MAX || record->index_seq == UINT32_MAX)
		return false;
	return !summary->count || (record->index_seq > summary->index_seq_end && record->timestamp_ns >= summary->time_end_ns);
}

int atf_detail_writer_append(struct atf_detail_writer *writer, const struct atf_detail *record)
{
	uint8_t spare[ATF_DETAIL_BYTES_MAX], *place;
	struct atf_detail_summary *summary = &writer->summary;
	AtfDetailWindow *window = last_window(writer);
	size_t room, length;
	int status;

	if (writer->stream.error)
		return atf_stream_fail(&writer->stream, 0);
	if (!window || !record_fits(writer, window, record))
		return -ATF_ERROR_RANGE;
	status = make_room((void **)&writer->offsets, &writer->offsets_room, summary->count, sizeof *writer->offsets);
	if (!status)
		status = atf_stream_reserve(&writer->stream, &place, &room);
	if (status)
		return status;
	if (room < sizeof spare) /* it may go on in the next block */
		place = spare;
	length = atf_detail_encode(place, record, writer->header.thread_id);
	writer->offsets[summary->count] = ATF_EVENTS_OFFSET + summary->bytes;
	atf_detail_count_in(summary, record, place, length);
	window->event_count++;
	return place == spare ? atf_stream_append(&writer->stream, spare, length) : atf_stream_commit(&writer->stream, length);
}

int atf_detail_writer_flush(struct atf_detail_writer *writer)
{
	return atf_stream_flush(&writer->stream);
}

uint64_t atf_detail_writer_count(const struct atf_detail_writer *writer)
{
	return writer->summary.count;
}

/* --- close -------------------------------------------------------------------------------------------------------- */

static int writer_end(struct atf_detail_writer *writer, bool finish)
{
	struct atf_stream *stream = &writer->stream;
	const AtfDetailWindow *last = last_window(writer);
	int status;

	if (!atf_stream_settle(stream))
		return atf_stream_fail(stream, 0);
	if (last && !last->event_count)
		writer->window_count--;
	if (finish && !stream->error) {
		status = atf_detail_finish(stream->fd, &writer->header, &writer->summary, writer->offsets, writer->windows,
					   writer->window_count);
		if (atf_stream_later(stream, status))
			return -ATF_ERROR_SYSTEM;
		stream->error = status;
	}
	status = atf_stream_close(stream, finish);
	free(writer->offsets);
	free(writer->windows);
	free(writer);
	return atf_system(status);
}

int atf_detail_writer_close(struct atf_detail_writer *writer)
{
	return writer_end(writer, true);
}

void atf_detail_writer_abandon(struct atf_detail_writer *writer)
{
	writer_end(writer, false);
}

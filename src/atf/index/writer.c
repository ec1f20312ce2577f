/* Writer of an index file: puts events into the stream (stream.h), and keeps what header and footer will say. */
#include "atf/index/index.h"

#include <assert.h>
#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include "atf/ground/stream.h"

struct atf_index_writer {
	struct atf_stream stream;
	uint64_t max_events;
	AtfIndexHeader header;
	struct atf_summary summary; /* of all that was committed */
	uint64_t time_max_ns;	    /* time of the last event; before there is one, the least time allowed */
};

/* --- events ------------------------------------------------------------------------------------------------------- */

int atf_index_writer_reserve(struct atf_index_writer *writer, size_t count, struct ada_event **events, size_t *room)
{
	uint64_t left = writer->max_events - writer->summary.count;
	uint8_t *place;
	int status;

	*room = 0;
	if (writer->stream.error)
		return atf_stream_fail(&writer->stream, 0);
	if (!count)
		return -ATF_ERROR_RANGE;
	if (!left)
		return -ATF_ERROR_FULL;
	status = atf_stream_reserve(&writer->stream, &place, room);
	if (status)
		return status;
	*events = (struct ada_event *)place;
	*room /= sizeof(struct ada_event);
	if (*room > count)
		*room = count;
	if (*room > left)
		*room = (size_t)left;
	return 0;
}

static void events_raise_times(struct ada_event *events, size_t count, uint64_t last_ns)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (events[i].timestamp_ns < last_ns)
			events[i].timestamp_ns = last_ns;
		last_ns = events[i].timestamp_ns;
	}
}

int atf_index_writer_commit(struct atf_index_writer *writer, size_t count)
{
	struct atf_summary *summary = &writer->summary;
	struct ada_event *events;
	uint8_t *place;
	size_t room;
	int status;

	if (writer->stream.error)
		return atf_stream_fail(&writer->stream, 0);
	if (!count)
		return 0;
	status = atf_stream_reserve(&writer->stream, &place, &room);
	assert(!status && count <= room / sizeof *events && count <= writer->max_events - summary->count);
	events = (struct ada_event *)place;
	events_raise_times(events, count, writer->time_max_ns);
	if (!summary->count)
		summary->time_start_ns = events[0].timestamp_ns;
	writer->time_max_ns = summary->time_end_ns = events[count - 1].timestamp_ns;
	summary->checksum = libdeflate_crc32(summary->checksum, events, count * sizeof *events);
	summary->count += count;
	return atf_stream_commit(&writer->stream, count * sizeof *events);
}

int atf_index_writer_append(struct atf_index_writer *writer, const struct ada_event *events, size_t count)
{
	if (count > writer->max_events - writer->summary.count)
		return -ATF_ERROR_FULL;
	while (count) {
		struct ada_event *place;
		size_t room;
		int status;

		status = atf_index_writer_reserve(writer, count, &place, &room);
		if (status)
			return status;
		memcpy(place, events, room * sizeof *events);
		status = atf_index_writer_commit(writer, room);
		if (status)
			return status;
		events += room;
		count -= room;
	}
	return 0;
}

int atf_index_writer_flush(struct atf_index_writer *writer)
{
	return atf_stream_flush(&writer->stream);
}

uint64_t atf_index_writer_written(const struct atf_index_writer *writer)
{
	off_t written = atf_stream_written(&writer->stream);

	return written > (off_t)ATF_EVENTS_OFFSET ? ((uint64_t)written - ATF_EVENTS_OFFSET) / sizeof(struct ada_event) : 0;
}

int atf_index_writer_rest(struct atf_index_writer *writer)
{
	return atf_stream_rest(&writer->stream);
}

int atf_index_writer_wake(struct atf_index_writer *writer, const char *path)
{
	return atf_stream_wake(&writer->stream, path);
}

uint64_t atf_index_writer_count(const struct atf_index_writer *writer)
{
	return writer->summary.count;
}

uint64_t atf_index_writer_time_max_ns(const struct atf_index_writer *writer)
{
	return writer->time_max_ns;
}

/* --- open and close ----------------------------------------------------------------------------------------------- */

int atf_index_writer_open(struct atf_index_writer **writer_out, const char *path, const struct atf_index_options *options)
{
	struct atf_index_writer *writer = calloc(1, sizeof *writer);
	int status;

	*writer_out = NULL;
	if (!writer)
		return -ATF_ERROR_MEMORY;
	writer->time_max_ns = options->time_min_ns;
	writer->max_events = ATF_EVENTS_MAX;
	if (options->max_events && options->max_events < ATF_EVENTS_MAX)
		writer->max_events = options->max_events;
	atf_header_start(&writer->header, options->thread_id, options->arch);
	status = atf_stream_open(&writer->stream, path, options->sink, options->block_bytes, &writer->header);
	if (status) {
		free(writer);
		return status;
	}
	writer->stream.owner = options->owner;
	*writer_out = writer;
	return 0;
}

static int writer_end(struct atf_index_writer *writer, bool finish)
{
	struct atf_stream *stream = &writer->stream;
	int status;

	if (!atf_stream_settle(stream))
		return atf_stream_fail(stream, 0);
	if (finish && !stream->error) {
		status = atf_finish(stream->fd, &writer->header, &writer->summary);
		if (atf_stream_later(stream, status))
			return -ATF_ERROR_SYSTEM;
		stream->error = status;
	}
	status = atf_stream_close(stream, finish);
	free(writer);
	return atf_system(status);
}

int atf_index_writer_close(struct atf_index_writer *writer, bool has_detail)
{
	atf_stream_flush(&writer->stream); /* before the flag, which is in the header that finishes the file */
	if (has_detail)
		writer->header.flags |= ATF_FLAG_HAS_DETAIL;
	return writer_end(writer, true);
}

void atf_index_writer_abandon(struct atf_index_writer *writer)
{
	writer_end(writer, false);
}

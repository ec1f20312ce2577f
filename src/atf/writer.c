/* Writer of an index file.
 *
 * Memory: a writer fills one buffer (a block of the file) at a time. A write is a slot: a range of one buffer on its
 * way to the file. A buffer is free again when the writer has left it and no slot refers to it.
 *
 *   buffer 0  in flight      slot 0 [whole block]
 *   buffer 1  being filled   slot 1 [flushed so far]   used: bytes filled, sent: bytes handed over
 *   buffer 2  spare          one stays allocated, further ones are freed
 *
 * With all slots in flight the writer waits for the sink: that bounds the memory of a thread that outruns the disk.
 */
#include "atf/internal.h"

#include <assert.h>
#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#define PAGE 4096u
#define SLOTS 8
#define BLOCK_BYTES (256u << 10)

struct buffer {
	uint8_t *bytes;				/* NULL: not allocated */
	unsigned int users;			/* slots in flight, and 1 while it is being filled */
};

struct slot {
	struct atf_block block;			/* first: atf_block_done casts back */
	struct buffer *buffer;			/* NULL: slot is free */
};

struct atf_index_writer {
	struct atf_sink *sink;
	int fd;
	int error;				/* 0, or the first -errno of a write: nothing is written after it */
	size_t block_bytes;
	uint64_t max_events;
	AtfIndexHeader header;
	struct atf_summary summary;		/* of all that was committed */
	uint64_t time_max_ns;			/* of its last event; before it, what no time may be below */
	struct buffer *filling;			/* NULL: the next reserve takes one */
	size_t used, sent;			/* bytes of it */
	off_t block_offset;			/* of it in the file */
	struct slot slots[SLOTS];
	struct buffer buffers[SLOTS + 1];
};

static int writer_fail(struct atf_index_writer *writer, int error)
{
	if (!writer->error)
		writer->error = error;
	errno = -writer->error;
	return -ATF_ERROR_SYSTEM;
}

/* --- buffers and slots -------------------------------------------------------------------------------------------- */

static void buffer_release(struct atf_index_writer *writer, struct buffer *buffer)
{
	size_t i;

	assert(buffer->users);
	if (--buffer->users)
		return;
	for (i = 0; i <= SLOTS; i++) {
		struct buffer *other = &writer->buffers[i];

		if (other != buffer && other->bytes && !other->users) {
			free(other->bytes);
			other->bytes = NULL;
		}
	}
}

/* The spare one where there is one, else a new one. There always is a place: one more than slots. */
static struct buffer *buffer_take(struct atf_index_writer *writer)
{
	struct buffer *taken = NULL;
	size_t i;

	for (i = 0; i <= SLOTS; i++) {
		struct buffer *buffer = &writer->buffers[i];

		if (!buffer->users && (!taken || buffer->bytes))
			taken = buffer;
	}
	assert(taken);
	if (!taken->bytes)
		taken->bytes = aligned_alloc(PAGE, writer->block_bytes);
	if (!taken->bytes)
		return NULL;
	taken->users = 1;
	return taken;
}

static bool writer_in_flight(const struct atf_index_writer *writer)
{
	size_t i;

	for (i = 0; i < SLOTS; i++)
		if (writer->slots[i].buffer)
			return true;
	return false;
}

/* A free slot, after waiting for one if need be; NULL: writer->error says why. */
static struct slot *slot_take(struct atf_index_writer *writer)
{
	for (;;) {
		size_t i;
		int status;

		for (i = 0; i < SLOTS; i++)
			if (!writer->slots[i].buffer)
				return &writer->slots[i];
		status = writer->sink->wait(writer->sink, writer->fd);
		if (status < 0) {
			writer_fail(writer, status);
			return NULL;
		}
	}
}

void atf_block_done(struct atf_block *block, int error)
{
	struct slot *slot = (struct slot *)block;
	struct atf_index_writer *writer = block->writer;
	struct buffer *buffer = slot->buffer;

	assert(buffer);
	slot->buffer = NULL;
	if (error && !writer->error)
		writer->error = error;
	buffer_release(writer, buffer);
}

/* Hands over what the buffer holds beyond the last page that was handed over whole. */
static int writer_submit(struct atf_index_writer *writer)
{
	size_t from = writer->sent & ~(size_t)(PAGE - 1);
	struct slot *slot;
	int status;

	slot = slot_take(writer);
	if (!slot || writer->error)
		return writer_fail(writer, writer->error);
	slot->block = (struct atf_block){
		.bytes = writer->filling->bytes + from,
		.length = writer->used - from,
		.offset = writer->block_offset + (off_t)from,
		.fd = writer->fd,
		.writer = writer,
	};
	slot->buffer = writer->filling;
	writer->filling->users++;
	writer->sent = writer->used;
	status = writer->sink->write(writer->sink, &slot->block);
	if (status < 0)
		atf_block_done(&slot->block, status);
	return writer->error ? writer_fail(writer, writer->error) : 0;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

/* Makes sure that there is a buffer with room for an event. */
static int writer_prepare(struct atf_index_writer *writer)
{
	if (writer->filling)
		return 0;
	writer->filling = buffer_take(writer);
	if (!writer->filling)
		return -ATF_ERROR_MEMORY;
	writer->used = writer->sent = 0;
	if (!writer->block_offset) {
		memcpy(writer->filling->bytes, &writer->header, sizeof writer->header);
		writer->used = sizeof writer->header;
	}
	return 0;
}

int atf_index_writer_reserve(struct atf_index_writer *writer, size_t count, struct ada_event **events, size_t *room)
{
	uint64_t left = writer->max_events - writer->summary.count;
	size_t here;
	int status;

	*room = 0;
	if (writer->error)
		return writer_fail(writer, writer->error);
	if (!count)
		return -ATF_ERROR_RANGE;
	if (!left)
		return -ATF_ERROR_FULL;
	status = writer_prepare(writer);
	if (status)
		return status;
	here = (writer->block_bytes - writer->used) / sizeof(struct ada_event);
	*events = (struct ada_event *)(writer->filling->bytes + writer->used);
	*room = count < here ? count : here;
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
	int status;

	if (writer->error)
		return writer_fail(writer, writer->error);
	if (!count)
		return 0;
	assert(writer->filling && count <= (writer->block_bytes - writer->used) / sizeof *events);
	assert(count <= writer->max_events - summary->count);
	events = (struct ada_event *)(writer->filling->bytes + writer->used);
	events_raise_times(events, count, writer->time_max_ns);
	if (!summary->count)
		summary->time_start_ns = events[0].timestamp_ns;
	writer->time_max_ns = summary->time_end_ns = events[count - 1].timestamp_ns;
	summary->checksum = libdeflate_crc32(summary->checksum, events, count * sizeof *events);
	summary->count += count;
	writer->used += count * sizeof *events;
	if (writer->used < writer->block_bytes)
		return 0;
	status = writer_submit(writer);
	buffer_release(writer, writer->filling);
	writer->filling = NULL;
	writer->block_offset += (off_t)writer->block_bytes;
	return status;
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
	if (writer->error)
		return writer_fail(writer, writer->error);
	return writer->filling && writer->used > writer->sent ? writer_submit(writer) : 0;
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

int atf_index_writer_open(struct atf_index_writer **writer_out, const char *path,
			  const struct atf_index_options *options)
{
	size_t block_bytes = options->block_bytes ? options->block_bytes : BLOCK_BYTES;
	struct atf_index_writer *writer;

	*writer_out = NULL;
	if (block_bytes % PAGE)
		return -ATF_ERROR_RANGE;
	writer = calloc(1, sizeof *writer);
	if (!writer)
		return -ATF_ERROR_MEMORY;
	writer->sink = options->sink ? options->sink : &atf_sink_pwrite;
	writer->block_bytes = block_bytes;
	writer->time_max_ns = options->time_min_ns;
	writer->max_events = ATF_EVENTS_MAX;
	if (options->max_events && options->max_events < ATF_EVENTS_MAX)
		writer->max_events = options->max_events;
	atf_header_start(&writer->header, options->thread_id, options->arch);
	writer->fd = writer->sink->open(writer->sink, path);
	if (writer->fd < 0) {
		errno = -writer->fd;
		free(writer);
		return -ATF_ERROR_SYSTEM;
	}
	flock(writer->fd, LOCK_EX | LOCK_NB);	/* so that recovery leaves a live file alone; no loss where it fails */
	writer->error = atf_pwrite_all(writer->fd, &writer->header, sizeof writer->header, 0);
	if (writer->error) {
		int error = writer->error;

		atf_index_writer_abandon(writer);
		errno = -error;
		return -ATF_ERROR_SYSTEM;
	}
	*writer_out = writer;
	return 0;
}

/* Waits for the sink, closes and frees. Where the sink broke with blocks in flight, their memory stays the sink's. */
static int writer_end(struct atf_index_writer *writer, bool finish)
{
	size_t i;
	int status;

	while (writer_in_flight(writer)) {
		status = writer->sink->wait(writer->sink, writer->fd);
		if (status < 0)
			return writer_fail(writer, status);
	}
	if (finish && !writer->error)
		writer->error = atf_finish(writer->fd, &writer->header, &writer->summary);
	status = writer->sink->close(writer->sink, writer->fd, finish && !writer->error);
	if (!writer->error)
		writer->error = status;
	status = writer->error;
	for (i = 0; i <= SLOTS; i++)
		free(writer->buffers[i].bytes);
	free(writer);
	if (!status)
		return 0;
	errno = -status;
	return -ATF_ERROR_SYSTEM;
}

int atf_index_writer_close(struct atf_index_writer *writer, bool has_detail)
{
	atf_index_writer_flush(writer);		/* a failure stays in writer->error */
	if (has_detail)
		writer->header.flags |= ATF_FLAG_HAS_DETAIL;
	return writer_end(writer, true);
}

void atf_index_writer_abandon(struct atf_index_writer *writer)
{
	atf_index_writer_flush(writer);
	writer_end(writer, false);
}

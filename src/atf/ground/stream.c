/* Blocks of memory on their way to a file: see stream.h. */
#include "atf/ground/stream.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include "abi/page.h"
#include "atf/ground/ground.h"
#include "base/file.h"

#define SLOTS ATF_STREAM_SLOTS

int atf_stream_fail(struct atf_stream *stream, int error)
{
	if (!stream->error)
		stream->error = error;
	errno = stream->error ? -stream->error : EAGAIN;
	return -ATF_ERROR_SYSTEM;
}

/* --- buffers and slots -------------------------------------------------------------------------------------------- */

static void buffer_release(struct atf_stream *stream, struct atf_buffer *buffer)
{
	size_t i;

	assert(buffer->users);
	if (--buffer->users)
		return;
	if (buffer->taken) {
		stream->sink->give(stream->sink, buffer->bytes);
		*buffer = (struct atf_buffer){ 0 };
		return;
	}
	for (i = 0; i <= SLOTS; i++) {
		struct atf_buffer *other = &stream->buffers[i];

		if (other != buffer && other->bytes && !other->users) {
			free(other->bytes);
			other->bytes = NULL;
		}
	}
}

/* Asks the sink for memory of its own for the block, before a spare buffer of the heap is taken. */
static bool buffer_ask(struct atf_stream *stream, struct atf_buffer *buffer)
{
	size_t size = stream->block_bytes;
	uint8_t *bytes = stream->owner && stream->sink->take ?
				 stream->sink->take(stream->sink, stream->owner, stream->block_offset, &size) :
				 NULL;

	if (!bytes)
		return false;
	free(buffer->bytes);
	*buffer = (struct atf_buffer){ .bytes = bytes, .size = size, .taken = true };
	return true;
}

/* The spare buffer if there is one, else a new one. A place is always left: there is one more than slots. */
static struct atf_buffer *buffer_take(struct atf_stream *stream)
{
	struct atf_buffer *taken = NULL;
	size_t i;

	for (i = 0; i <= SLOTS; i++) {
		struct atf_buffer *buffer = &stream->buffers[i];

		if (!buffer->users && (!taken || buffer->bytes))
			taken = buffer;
	}
	assert(taken);
	if (!buffer_ask(stream, taken) && !taken->bytes) {
		taken->bytes = aligned_alloc(ADA_PAGE_BYTES, stream->block_bytes);
		taken->size = stream->block_bytes;
	}
	if (!taken->bytes)
		return NULL;
	taken->users = 1;
	return taken;
}

static bool is_in_flight(const struct atf_stream *stream)
{
	size_t i;

	for (i = 0; i < SLOTS; i++)
		if (stream->slots[i].buffer)
			return true;
	return false;
}

/* A free slot, after waiting for one if need be; NULL: stream->error says why, or the sink has none soon. */
static struct atf_slot *slot_take(struct atf_stream *stream)
{
	for (;;) {
		size_t i;
		int status;

		for (i = 0; i < SLOTS; i++)
			if (!stream->slots[i].buffer)
				return &stream->slots[i];
		status = stream->sink->wait(stream->sink, stream->fd);
		if (status < 0) {
			atf_stream_fail(stream, status == -EAGAIN ? 0 : status);
			return NULL;
		}
	}
}

void atf_block_done(struct atf_block *block, int error)
{
	struct atf_slot *slot = (struct atf_slot *)block;
	struct atf_stream *stream = block->stream;
	struct atf_buffer *buffer = slot->buffer;

	assert(buffer);
	slot->buffer = NULL;
	if (error && !stream->error)
		stream->error = error;
	buffer_release(stream, buffer);
}

/* Hands over what the buffer holds beyond the last page that was handed over whole. */
static int submit(struct atf_stream *stream)
{
	size_t from = stream->sent & ~(size_t)(ADA_PAGE_BYTES - 1);
	struct atf_slot *slot;
	int status;

	slot = slot_take(stream);
	if (!slot || stream->error)
		return atf_stream_fail(stream, 0);
	slot->block = (struct atf_block){
		.bytes = stream->filling->bytes + from,
		.length = stream->used - from,
		.offset = stream->block_offset + (off_t)from,
		.fd = stream->fd,
		.stream = stream,
	};
	slot->buffer = stream->filling;
	stream->filling->users++;
	stream->sent = stream->used;
	status = stream->sink->write(stream->sink, &slot->block);
	if (status < 0)
		atf_block_done(&slot->block, status);
	return stream->error ? atf_stream_fail(stream, 0) : 0;
}

/* --- bytes -------------------------------------------------------------------------------------------------------- */

static int place_take(struct atf_stream *stream, uint8_t **place, size_t *room)
{
	if (!stream->filling) {
		stream->filling = buffer_take(stream);
		if (!stream->filling)
			return -ATF_ERROR_MEMORY;
		stream->used = stream->sent = 0;
		if (!stream->block_offset) {
			memcpy(stream->filling->bytes, stream->header, ATF_HEADER_BYTES);
			stream->used = ATF_HEADER_BYTES;
		}
	}
	*place = stream->filling->bytes + stream->used;
	*room = stream->filling->size - stream->used;
	return 0;
}

int atf_stream_reserve(struct atf_stream *stream, uint8_t **place, size_t *room)
{
	if (stream->error || !slot_take(stream)) /* a slot for the block that the commit may fill */
		return atf_stream_fail(stream, 0);
	return place_take(stream, place, room);
}

int atf_stream_commit(struct atf_stream *stream, size_t length)
{
	int status;

	if (stream->error)
		return atf_stream_fail(stream, 0);
	assert(stream->filling && length <= stream->filling->size - stream->used);
	stream->used += length;
	if (stream->used < stream->filling->size)
		return 0;
	status = submit(stream);
	buffer_release(stream, stream->filling);
	stream->filling = NULL;
	stream->block_offset += (off_t)stream->used;
	return status;
}

int atf_stream_append(struct atf_stream *stream, const void *bytes, size_t length)
{
	const uint8_t *from = bytes;

	while (length) {
		uint8_t *place;
		size_t room;
		int status = stream->error ? atf_stream_fail(stream, 0) : place_take(stream, &place, &room);

		if (status)
			return status;
		if (room > length)
			room = length;
		memcpy(place, from, room);
		status = atf_stream_commit(stream, room);
		if (status)
			return status;
		from += room;
		length -= room;
	}
	return 0;
}

int atf_stream_flush(struct atf_stream *stream)
{
	if (stream->error)
		return atf_stream_fail(stream, 0);
	return stream->filling && stream->used > stream->sent ? submit(stream) : 0;
}

off_t atf_stream_written(const struct atf_stream *stream)
{
	off_t written = stream->block_offset + (off_t)(stream->filling ? stream->sent : 0);

	for (size_t i = 0; i < SLOTS; i++)
		if (stream->slots[i].buffer && stream->slots[i].block.offset < written)
			written = stream->slots[i].block.offset;
	return written;
}

/* --- open and close ----------------------------------------------------------------------------------------------- */

static void buffers_free(struct atf_stream *stream)
{
	size_t i;

	for (i = 0; i <= SLOTS; i++)
		if (stream->buffers[i].taken)
			stream->sink->give(stream->sink, stream->buffers[i].bytes);
		else
			free(stream->buffers[i].bytes);
}

int atf_stream_open(struct atf_stream *stream, const char *path, struct atf_sink *sink, size_t block_bytes, const void *header)
{
	int status;

	if (!block_bytes)
		block_bytes = ATF_STREAM_BLOCK_BYTES;
	if (block_bytes % ADA_PAGE_BYTES)
		return -ATF_ERROR_RANGE;
	*stream = (struct atf_stream){ .block_bytes = block_bytes, .header = header };
	stream->sink = sink ? sink : &atf_sink_pwrite;
	stream->fd = stream->sink->open(stream->sink, path);
	if (stream->fd < 0)
		return atf_stream_fail(stream, stream->fd);
	flock(stream->fd, LOCK_EX | LOCK_NB); /* so that recovery leaves a live file alone; no loss where it fails */
	status = ada_file_write_at(stream->fd, header, ATF_HEADER_BYTES, 0);
	if (!status)
		return 0;
	stream->sink->close(stream->sink, stream->fd, false);
	return atf_stream_fail(stream, status);
}

bool atf_stream_settle(struct atf_stream *stream)
{
	if (atf_stream_flush(stream) && !stream->error) /* a failure stays in stream->error */
		return false;
	while (is_in_flight(stream)) {
		int status = stream->sink->wait(stream->sink, stream->fd);

		if (status < 0) {
			atf_stream_fail(stream, status == -EAGAIN ? 0 : status);
			return false;
		}
	}
	return true;
}

int atf_stream_rest(struct atf_stream *stream)
{
	int status;

	if (!stream->sink->reopen) {
		errno = ENOTSUP;
		return -ATF_ERROR_SYSTEM;
	}
	if (!atf_stream_settle(stream) || stream->error)
		return atf_stream_fail(stream, 0);
	status = stream->sink->close(stream->sink, stream->fd, false);
	stream->fd = -1;
	return status ? atf_stream_fail(stream, status) : 0;
}

int atf_stream_wake(struct atf_stream *stream, const char *path)
{
	int fd = stream->sink->reopen(stream->sink, path);

	if (fd < 0) {
		errno = -fd;
		return -ATF_ERROR_SYSTEM;
	}
	flock(fd, LOCK_EX | LOCK_NB);
	stream->fd = fd;
	return 0;
}

bool atf_stream_later(const struct atf_stream *stream, int error)
{
	if (!error || !stream->sink->later || !stream->sink->later(stream->sink, error))
		return false;
	errno = EAGAIN;
	return true;
}

int atf_stream_close(struct atf_stream *stream, bool sync)
{
	int status = stream->fd < 0 ? 0 : stream->sink->close(stream->sink, stream->fd, sync && !stream->error);

	if (!stream->error)
		stream->error = status;
	buffers_free(stream);
	return stream->error;
}

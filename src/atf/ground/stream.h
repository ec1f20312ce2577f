/* A file that is written from its start to its end through a sink: what the writers of index and detail files share.
 *
 * Memory: a stream fills one buffer (a block of the file) at a time. A write is a slot: a range of one buffer on its way to
 * the file. A buffer is free again when the stream has left it and no slot refers to it.
 *
 *   buffer 0  in flight      slot 0 [whole block]
 *   buffer 1  being filled   slot 1 [flushed so far]   used: bytes filled, sent: bytes handed over
 *   buffer 2  spare          one stays allocated, further ones are freed; one of the sink's goes back at once
 *
 * With all slots in flight the stream waits for the sink: that bounds the memory of a thread that outruns the disk.
 * Functions return 0 or an -ATF_ERROR; once a write has failed, that error is what all of them return. EAGAIN is none: the sink can't take
 * anything soon (struct atf_sink), the call has changed nothing, and the stream goes on.
 */
#ifndef ADA_ATF_STREAM_H
#define ADA_ATF_STREAM_H
#include "atf.h"

#pragma GCC visibility push(hidden)

#define ATF_STREAM_SLOTS 8
#define ATF_STREAM_BLOCK_BYTES (256u << 10)
#define ATF_HEADER_BYTES 64u /* of both kinds of file */

struct atf_buffer {
	uint8_t *bytes; /* NULL: not allocated */
	size_t size;
	bool taken;	    /* from the sink, which gets it back as soon as it is free */
	unsigned int users; /* slots in flight, and 1 while it is being filled */
};

struct atf_slot {
	struct atf_block block;	   /* first: atf_block_done casts back */
	struct atf_buffer *buffer; /* NULL: slot is free */
};

struct atf_stream {
	struct atf_sink *sink;
	int fd;
	int error; /* 0, or the first -errno of a write: nothing is written after it */
	size_t block_bytes;
	uint64_t owner;		    /* for the sink's take(); 0: heap */
	const void *header;	    /* the file's first ATF_HEADER_BYTES, until the first block is begun */
	struct atf_buffer *filling; /* NULL: the next one that needs room takes one */
	size_t used, sent;	    /* bytes of it */
	off_t block_offset;	    /* of it in the file */
	struct atf_slot slots[ATF_STREAM_SLOTS];
	struct atf_buffer buffers[ATF_STREAM_SLOTS + 1];
};

/* Creates the file with its header, which is also the beginning of block 0. The lock tells recovery that the file has a writer. */
int atf_stream_open(struct atf_stream *stream, const char *path, struct atf_sink *sink, size_t block_bytes, const void *header);
int atf_stream_fail(struct atf_stream *stream, int error); /* error: -errno, or 0 for the one there is, or EAGAIN where there is none */
/* The place of the next bytes: *room of them, at least 1, contiguous. The bytes count once they are committed: in one commit, or one
 * append that is smaller than a block. */
int atf_stream_reserve(struct atf_stream *stream, uint8_t **place, size_t *room);
int atf_stream_commit(struct atf_stream *stream, size_t length);
int atf_stream_append(struct atf_stream *stream, const void *bytes, size_t length);
int atf_stream_flush(struct atf_stream *stream);
/* Where the first byte lies that the sink hasn't written: all before it is in the file. */
off_t atf_stream_written(const struct atf_stream *stream);
/* Flushes and waits for the sink. False where the sink broke with blocks in flight: the stream's memory stays the sink's; or for EAGAIN. */
bool atf_stream_settle(struct atf_stream *stream);
/* Settles and closes the descriptor, which is -1 until the file is opened again. */
int atf_stream_rest(struct atf_stream *stream);
int atf_stream_wake(struct atf_stream *stream, const char *path);
bool atf_stream_later(const struct atf_stream *stream, int error); /* the file's end couldn't be written, but may be later: EAGAIN */
/* Closes what was settled; durable if asked and nothing failed. 0 or the first -errno of all. */
int atf_stream_close(struct atf_stream *stream, bool sync);

#pragma GCC visibility pop
#endif

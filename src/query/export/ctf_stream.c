/* Packets of a CTF stream. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "query/export/ctf.h"

#define PACKET_BYTES (256u << 10)
#define SIZES_AT 16 /* of content_size in the packet: behind magic, stream_id and stream_instance_id */

static unsigned char *field_put(unsigned char *at, const void *bytes, size_t count)
{
	memcpy(at, bytes, count);
	return at + count;
}

int ada_ctf_stream_open(struct ada_ctf_stream *stream, const char *path, struct ada_error *error)
{
	stream->path = path;
	stream->error = error;
	stream->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (stream->fd < 0)
		return ada_error_system(error, errno, "%s", path);
	/* Names are cut where they would fill a packet; they are files' and threads' names. */
	stream->bytes = malloc(PACKET_BYTES);
	if (!stream->bytes || !stream->process_name || !stream->thread_name)
		stream->result = ada_error_system(error, ENOMEM, "%s", path);
	return stream->result;
}

/* Puts all of the packet's header but sizes, times and losses: the packet's end fills in those. */
static void packet_begin(struct ada_ctf_stream *stream, uint64_t ns)
{
	static const uint32_t magic = ADA_CTF_MAGIC;
	unsigned char *at = field_put(stream->bytes, &magic, 4);

	at = field_put(at, &stream->class_id, 4);
	at = field_put(at, &stream->instance, 8);
	at += 6 * 8;
	at = field_put(at, &stream->process, 4);
	at = field_put(at, &stream->thread, 4);
	at = field_put(at, &stream->tid, 4);
	at = field_put(at, stream->process_name, strlen(stream->process_name) + 1);
	at = field_put(at, stream->thread_name, strlen(stream->thread_name) + 1);
	stream->head = stream->used = (size_t)(at - stream->bytes);
	stream->begin_ns = stream->end_ns = ns > stream->end_ns ? ns : stream->end_ns;
}

static void packet_end(struct ada_ctf_stream *stream)
{
	uint64_t fields[6] = { 8 * stream->used, 8 * stream->used, stream->begin_ns, stream->end_ns, stream->discarded, stream->packets++ };
	int result;

	memcpy(stream->bytes + SIZES_AT, fields, sizeof fields);
	result = stream->result ? 0 : ada_file_write_all(stream->fd, stream->bytes, stream->used);
	if (result)
		stream->result = ada_error_system(stream->error, -result, "can't write %s", stream->path);
	stream->head = stream->used = 0;
}

unsigned char *ada_ctf_stream_event(struct ada_ctf_stream *stream, uint8_t id, uint64_t ns, size_t size)
{
	unsigned char *at;

	if (stream->result)
		return NULL;
	if (stream->used && stream->used + 9 + size > PACKET_BYTES)
		packet_end(stream);
	if (!stream->used)
		packet_begin(stream, ns);
	/* Time in a stream never falls; that of a damaged file may. */
	stream->end_ns = ns > stream->end_ns ? ns : stream->end_ns;
	at = field_put(stream->bytes + stream->used, &id, 1);
	at = field_put(at, &stream->end_ns, 8);
	stream->used += 9 + size;
	return at;
}

void ada_ctf_stream_cut(struct ada_ctf_stream *stream, uint64_t ns, uint64_t lost)
{
	/* Readers take the difference of two packets: so a packet, if only an empty one, comes before the first loss. */
	if (!stream->used && !stream->packets)
		packet_begin(stream, ns);
	if (stream->used)
		packet_end(stream);
	/* A damaged file may claim more than there are numbers. */
	stream->discarded = lost > UINT64_MAX - stream->discarded ? UINT64_MAX : stream->discarded + lost;
}

int ada_ctf_stream_close(struct ada_ctf_stream *stream)
{
	if (stream->used)
		packet_end(stream);
	if (stream->fd >= 0 && close(stream->fd) && !stream->result)
		stream->result = ada_error_system(stream->error, errno, "can't write %s", stream->path);
	free(stream->bytes);
	free(stream->process_name);
	free(stream->thread_name);
	return stream->result;
}

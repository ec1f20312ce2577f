/* Writes a packed file. Blocks follow each other; a tail, which a longer block will replace, lies some way behind the last of them:
 *
 *   [header][block][block]            hole            [tail]   then   [header][block][block][block]      hole      [tail]
 *
 * The block that replaces a tail fits between, or else lies behind it. So at any time one of both is whole. The next tail lies behind the
 * one in the file, or in front of it where it fits. What is left behind of tails is written over, or cut off at the end.
 */
#include "atf/pack/packed.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#define TAIL_DISTANCE (256u << 10) /* more than a block of calls and returns takes, also raw */

struct atf_pack_writer {
	int fd;
	bool lent; /* the descriptor is the caller's */
	AtfIndexHeader header;
	struct atf_summary summary; /* of all blocks but the tail */
	ADA_ARRAY(AtfPackBlock) blocks;
	uint64_t end; /* behind the last block that isn't a tail */
	bool has_tail;
	AtfPackBlock tail_block;
	uint64_t tail_length;
	uint8_t *tail; /* its bytes */
	struct atf_summary tail_summary;
};

/* Whatever index file the header was of. */
static void name_packed(AtfIndexHeader *header)
{
	memcpy(header->magic, ATF_PACK_MAGIC, sizeof header->magic);
	header->version = ATF_PACK_VERSION;
}

int atf_pack_writer_begin(struct atf_pack_writer **writer_out, int fd, uint32_t thread_id, uint8_t arch)
{
	struct atf_pack_writer *writer = calloc(1, sizeof *writer);
	int status;

	*writer_out = NULL;
	if (!writer)
		return -ATF_ERROR_MEMORY;
	writer->fd = fd;
	writer->lent = true;
	atf_header_start(&writer->header, thread_id, arch);
	name_packed(&writer->header);
	writer->end = sizeof writer->header;
	flock(fd, LOCK_EX | LOCK_NB); /* as of index.atf: so that recovery leaves a live file alone */
	status = ada_file_write_at(fd, &writer->header, sizeof writer->header, 0);
	if (status) {
		atf_pack_writer_abandon(writer);
		return atf_system(status);
	}
	*writer_out = writer;
	return 0;
}

int atf_pack_writer_open(struct atf_pack_writer **writer, const char *path, uint32_t thread_id, uint8_t arch)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), status;

	*writer = NULL;
	if (fd < 0)
		return atf_system(-errno);
	status = atf_pack_writer_begin(writer, fd, thread_id, arch);
	if (status) {
		int code = errno;

		close(fd);
		errno = code;
		return status;
	}
	(*writer)->lent = false;
	return 0;
}

void atf_pack_writer_goes_on(struct atf_pack_writer *writer, int fd)
{
	flock(fd, LOCK_EX | LOCK_NB);
	writer->fd = fd;
}

void atf_pack_writer_unchecked(struct atf_pack_writer *writer)
{
	writer->summary.unchecked = true;
}

static void add_events(struct atf_summary *summary, const struct ada_event *events, uint32_t count)
{
	if (!summary->count)
		summary->time_start_ns = events[0].timestamp_ns;
	summary->time_end_ns = events[count - 1].timestamp_ns;
	if (!summary->unchecked)
		summary->checksum = libdeflate_crc32(summary->checksum, events, count * sizeof *events);
	summary->count += count;
}

/* Where so many bytes overlap neither the blocks nor the tail. */
static uint64_t place_of(const struct atf_pack_writer *writer, uint64_t length, bool is_tail)
{
	uint64_t at = writer->end + (is_tail ? TAIL_DISTANCE : 0), tail = writer->tail_block.offset;

	if (writer->has_tail && at < tail + writer->tail_length && tail < at + length)
		at = tail + writer->tail_length;
	return at;
}

static int keep_tail(struct atf_pack_writer *writer, const struct atf_pack_bytes *block)
{
	uint8_t *copy = realloc(writer->tail, block->length);

	if (!copy)
		return -ATF_ERROR_MEMORY;
	writer->tail = copy;
	memcpy(copy, block->bytes, block->length);
	memcpy(&writer->tail_block, copy, sizeof writer->tail_block);
	writer->tail_length = block->length;
	return 0;
}

int atf_pack_writer_add(struct atf_pack_writer *writer, const struct atf_pack_bytes *block, const struct ada_event *events, uint32_t count,
			bool is_tail)
{
	uint64_t at = place_of(writer, block->length, is_tail);
	AtfPackBlock head;
	int status;

	atf_pack_place(block->bytes, at);
	status = ada_file_write_at(writer->fd, block->bytes, block->length, (off_t)at);
	if (status)
		return atf_system(status);
	if (is_tail) {
		status = keep_tail(writer, block);
		writer->tail_summary = writer->summary;
		add_events(&writer->tail_summary, events, count);
	} else {
		memcpy(&head, block->bytes, sizeof head);
		status = ada_array_push(&writer->blocks, head) ? -ATF_ERROR_MEMORY : 0;
		writer->end = at + block->length;
		add_events(&writer->summary, events, count);
	}
	writer->has_tail = is_tail;
	return status;
}

uint64_t atf_pack_writer_bytes(const struct atf_pack_writer *writer)
{
	return writer->end + (writer->has_tail ? writer->tail_length : 0);
}

/* Footer first, as of index.atf. */
int atf_pack_finish(int fd, AtfIndexHeader *header, const struct atf_summary *summary, const AtfPackBlock *blocks, size_t count,
		    uint64_t end)
{
	AtfPackFooter footer = {
		.checksum = summary->checksum,
		.event_count = summary->count,
		.time_start_ns = summary->time_start_ns,
		.time_end_ns = summary->time_end_ns,
		.bytes_written = end - sizeof *header,
		.block_count = (uint32_t)count,
		.directory_checksum = libdeflate_crc32(0, blocks, count * sizeof *blocks),
		.flags = summary->unchecked ? ATF_PACK_UNCHECKED : 0,
	};
	uint64_t at = end + count * sizeof *blocks;
	int status = 0;

	memcpy(footer.magic, ATF_PACK_FOOTER_MAGIC, sizeof footer.magic);
	name_packed(header);
	atf_header_finish(header, summary);
	header->footer_offset = at;
	footer.header_checksum = libdeflate_crc32(0, header, sizeof *header);
	footer.footer_checksum = libdeflate_crc32(0, &footer, sizeof footer);
	if (count)
		status = ada_file_write_at(fd, blocks, count * sizeof *blocks, (off_t)end);
	if (!status)
		status = ada_file_write_at(fd, &footer, sizeof footer, (off_t)at);
	if (!status && ftruncate(fd, (off_t)(at + sizeof footer)) < 0)
		status = -errno;
	return status ? status : ada_file_write_at(fd, header, sizeof *header, 0);
}

int atf_pack_name_detail(int fd)
{
	AtfPackFooter footer;
	AtfIndexHeader header;
	off_t at = lseek(fd, 0, SEEK_END) - (off_t)sizeof footer;
	int status;

	if (at < (off_t)sizeof header || pread(fd, &header, sizeof header, 0) != sizeof header ||
	    pread(fd, &footer, sizeof footer, at) != sizeof footer || memcmp(footer.magic, ATF_PACK_FOOTER_MAGIC, sizeof footer.magic))
		return -EIO;
	header.flags |= ATF_FLAG_HAS_DETAIL;
	footer.header_checksum = libdeflate_crc32(0, &header, sizeof header);
	footer.footer_checksum = 0;
	footer.footer_checksum = libdeflate_crc32(0, &footer, sizeof footer);
	status = ada_file_write_at(fd, &footer, sizeof footer, at);
	return status ? status : ada_file_write_at(fd, &header, sizeof header, 0);
}

/* The tail becomes a block like the others. */
static int settle_tail(struct atf_pack_writer *writer)
{
	struct atf_pack_bytes block = { writer->tail, writer->tail_length };
	uint64_t at = place_of(writer, block.length, false);
	int status;

	atf_pack_place(block.bytes, at);
	status = ada_file_write_at(writer->fd, block.bytes, block.length, (off_t)at);
	if (status)
		return status;
	/* The directory may lie where the tail was: only what is on the disk may be written over. */
	if (fdatasync(writer->fd) < 0)
		return -errno;
	memcpy(&writer->tail_block, block.bytes, sizeof writer->tail_block);
	if (ada_array_push(&writer->blocks, writer->tail_block))
		return -ENOMEM;
	writer->end = at + block.length;
	writer->summary = writer->tail_summary;
	writer->has_tail = false;
	return 0;
}

int atf_pack_writer_finish(struct atf_pack_writer *writer, uint32_t flags)
{
	int status = writer->has_tail ? settle_tail(writer) : 0;

	writer->header.flags |= flags;
	if (!status)
		status = atf_pack_finish(writer->fd, &writer->header, &writer->summary, writer->blocks.items, writer->blocks.count,
					 writer->end);
	return atf_system(status);
}

int atf_pack_writer_close(struct atf_pack_writer *writer, uint32_t flags)
{
	int status = atf_pack_writer_finish(writer, flags);

	if (!status && fsync(writer->fd) < 0)
		status = atf_system(-errno);
	atf_pack_writer_abandon(writer);
	return status;
}

void atf_pack_writer_abandon(struct atf_pack_writer *writer)
{
	int code = errno;

	if (!writer->lent)
		close(writer->fd);
	ada_array_free(&writer->blocks);
	free(writer->tail);
	free(writer);
	errno = code;
}

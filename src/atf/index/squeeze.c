/* A packed file whose blocks were written raw, under pressure, once more: the same blocks, compressed. */
#include "atf/index/index.h"
#include "atf/pack/cache.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define WORTH 256u /* bytes of a column: what is shorter zstd may well have left as it is */

/* Whether none of its columns is compressed, though some are long. */
static bool is_raw(const AtfPackBlock *head)
{
	bool is_long = false;

	for (unsigned int i = 0; i < ATF_PACK_COLUMNS; i++) {
		if (head->stored[i] < head->raw[i])
			return false;
		is_long |= head->raw[i] >= WORTH;
	}
	return is_long;
}

static AtfPackBlock head_of(const struct atf_packed *packed, const struct atf_packed_entry *entry)
{
	AtfPackBlock head;

	memcpy(&head, packed->bytes + entry->offset, sizeof head);
	return head;
}

bool atf_index_is_raw(const struct atf_index *index)
{
	const struct atf_packed_layout *layout = index->packed ? atf_packed_layout(index->packed) : NULL;

	for (size_t i = 0; layout && index->layout.completeness == ATF_COMPLETE && i < layout->entries.count; i++) {
		AtfPackBlock head = head_of(index->packed, &layout->entries.items[i]);

		if (is_raw(&head))
			return true;
	}
	return false;
}

struct squeezing {
	int fd;
	uint64_t end; /* behind the last block */
	ADA_ARRAY(AtfPackBlock) heads;
};

static int squeeze_block(struct squeezing *squeezing, struct atf_packer *packer, const struct atf_packed *packed,
			 const struct atf_packed_entry *entry)
{
	const uint8_t *bytes = packed->bytes + entry->offset;
	struct atf_pack_bytes block;
	AtfPackBlock head;
	int status;

	if (!entry->offset || !atf_pack_body_is_sound(bytes))
		return -ATF_ERROR_CORRUPT;
	status = atf_pack_squeeze(packer, bytes, entry->length, &block);
	if (status)
		return status;
	atf_pack_place(block.bytes, squeezing->end);
	status = ada_file_write_at(squeezing->fd, block.bytes, block.length, (off_t)squeezing->end);
	if (status)
		return atf_system(status);
	memcpy(&head, block.bytes, sizeof head);
	squeezing->end += block.length;
	return ada_array_push(&squeezing->heads, head) ? -ATF_ERROR_MEMORY : 0;
}

/* Directory, footer and header, and all of it on the disk. */
static int finish(struct squeezing *squeezing, const struct atf_index *index)
{
	struct atf_summary summary = { index->layout.count, index->layout.footer.time_start_ns, index->layout.footer.time_end_ns,
				       index->layout.footer.checksum, !atf_index_is_checked(index) };
	AtfIndexHeader header;
	int status;

	atf_header_start(&header, index->layout.header.thread_id, index->layout.header.arch);
	header.flags = index->layout.header.flags;
	status = atf_pack_finish(squeezing->fd, &header, &summary, squeezing->heads.items, squeezing->heads.count, squeezing->end);
	return atf_system(status ? status : fsync(squeezing->fd) < 0 ? -errno : 0);
}

int atf_index_squeeze(struct atf_index_packer *packer, const struct atf_index *index, const char *path, atf_index_progress *progress,
		      void *context, struct atf_message *message)
{
	const struct atf_packed_layout *layout = atf_packed_layout(index->packed);
	struct squeezing squeezing = { .fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), .end = sizeof(AtfIndexHeader) };
	int status = squeezing.fd < 0 ? atf_system(-errno) : 0;

	for (size_t i = 0; i < layout->entries.count && !status; i++) {
		status = squeeze_block(&squeezing, packer->packer, index->packed, &layout->entries.items[i]);
		if (!status && progress && progress(context, layout->entries.items[i].count))
			status = atf_system(-EINTR);
	}
	status = status ? status : finish(&squeezing, index);
	if (status)
		atf_fail(message, (enum atf_error) - status,
			 status == -ATF_ERROR_SYSTEM ? "%s: %m" : "%s: a block of it is damaged (ada verify)", path);
	if (squeezing.fd >= 0)
		close(squeezing.fd);
	ada_array_free(&squeezing.heads);
	return status;
}

/* What a packed file says about itself: footer and directory, or where these aren't sound, its blocks one by one.
 *
 * Without a footer blocks are looked for, at multiples of 8: each says where it lies, and which events it holds. Of two that begin with
 * the same event the one with more counts (the other was the tail once). A gap between two blocks is events that were lost.
 */
#include "atf/pack/packed.h"

#include <inttypes.h>
#include <libdeflate.h>
#include <stdlib.h>

#define HEADER_BYTES ((uint64_t)sizeof(AtfIndexHeader))
#define BLOCK_BYTES ((uint64_t)sizeof(AtfPackBlock))
#define FOOTER_BYTES ((uint64_t)sizeof(AtfPackFooter))
#define GAP_MAX (64u * ATF_PACK_EVENTS_MAX) /* events: more are no gap, but damage that looks like a block */

static const struct atf_kind pack_kind = { "a", "packed index", ATF_PACK_MAGIC, "detail", ATF_DETAIL_MAGIC, ATF_PACK_VERSION };

bool atf_packed_is(const uint8_t *bytes, uint64_t size)
{
	return size >= 4 && !memcmp(bytes, ATF_PACK_MAGIC, 4);
}

void atf_packed_layout_free(struct atf_packed_layout *layout)
{
	ada_array_free(&layout->entries);
}

static int header_read(AtfIndexHeader *header, const uint8_t *bytes, uint64_t size, struct atf_message *message)
{
	int status = atf_identity_check(bytes, size, &pack_kind, message);

	if (status)
		return status;
	memcpy(header, bytes, sizeof *header);
	if (header->event_size != sizeof(struct ada_event))
		return atf_fail(message, ATF_ERROR_VERSION, "events of %" PRIu32 " bytes, and only events of %zu can be read",
				header->event_size, sizeof(struct ada_event));
	if (header->events_offset != HEADER_BYTES)
		return atf_fail(message, ATF_ERROR_CORRUPT, "damaged header: blocks at %" PRIu64 " instead of %" PRIu64,
				header->events_offset, HEADER_BYTES);
	return 0;
}

static int add_entry(struct atf_packed_layout *layout, const AtfPackBlock *block, uint64_t length)
{
	layout->count = (uint64_t)block->first_seq + block->event_count;
	return ada_array_push(&layout->entries, ((struct atf_packed_entry){
							.offset = block->offset,
							.first_ns = block->first_ns,
							.first_seq = block->first_seq,
							.count = block->event_count,
							.length = length < UINT32_MAX ? (uint32_t)length : UINT32_MAX,
							.whole = block->flags & ATF_PACK_WHOLE,
							.calls = block->offset && !block->others,
						}));
}

/* --- with a footer ------------------------------------------------------------------------------------------------------ */

/* Whether the footer's checksums are right, and it belongs to a file of this size. */
static bool footer_is_sound(const AtfPackFooter *footer, const uint8_t *bytes, uint64_t size)
{
	AtfPackFooter bare = *footer;
	uint64_t directory = footer->block_count * BLOCK_BYTES;

	bare.footer_checksum = 0;
	return !memcmp(footer->magic, ATF_PACK_FOOTER_MAGIC, sizeof footer->magic) && !(footer->flags & ~ATF_PACK_UNCHECKED) &&
	       atf_is_zero(footer->reserved, sizeof footer->reserved) &&
	       libdeflate_crc32(0, &bare, sizeof bare) == footer->footer_checksum && directory <= size - HEADER_BYTES - FOOTER_BYTES &&
	       footer->bytes_written == size - HEADER_BYTES - FOOTER_BYTES - directory &&
	       libdeflate_crc32(0, bytes + HEADER_BYTES + footer->bytes_written, directory) == footer->directory_checksum;
}

/* The entries follow on each other and lie in the file. 0; 1: they don't. */
static int directory_read(struct atf_packed_layout *layout, const AtfPackFooter *footer, const uint8_t *bytes)
{
	uint64_t end = HEADER_BYTES + footer->bytes_written;
	const uint8_t *at = bytes + end;

	if (ada_array_reserve(&layout->entries, footer->block_count))
		return -ATF_ERROR_MEMORY;
	for (uint32_t i = 0; i < footer->block_count; i++, at += BLOCK_BYTES) {
		AtfPackBlock block;

		memcpy(&block, at, sizeof block);
		if (block.first_seq != layout->count || !block.event_count || block.event_count > ATF_PACK_EVENTS_MAX ||
		    block.offset < HEADER_BYTES || block.offset % 8 || block.offset > end || end - block.offset < BLOCK_BYTES ||
		    (uint64_t)block.first_seq + block.event_count > UINT32_MAX || (!i && !(block.flags & ATF_PACK_WHOLE)))
			return 1;
		if (add_entry(layout, &block, end - block.offset))
			return -ATF_ERROR_MEMORY;
	}
	return layout->count == footer->event_count ? 0 : 1;
}

static uint32_t header_checksum(const uint8_t *bytes, uint32_t more_flags)
{
	AtfIndexHeader header;

	memcpy(&header, bytes, sizeof header);
	header.flags |= more_flags;
	return libdeflate_crc32(0, &header, sizeof header);
}

static int with_footer(struct atf_packed_layout *layout, const uint8_t *bytes, uint64_t size, struct atf_message *message)
{
	AtfIndexHeader expected = layout->header;
	struct atf_summary summary;
	AtfPackFooter footer;
	int status;

	if (size < HEADER_BYTES + FOOTER_BYTES)
		return 1;
	memcpy(&footer, bytes + size - FOOTER_BYTES, sizeof footer);
	if (!footer_is_sound(&footer, bytes, size))
		return 1;
	status = directory_read(layout, &footer, bytes);
	if (status)
		return status;
	layout->unchecked = footer.flags & ATF_PACK_UNCHECKED;
	summary = (struct atf_summary){ footer.event_count, footer.time_start_ns, footer.time_end_ns, footer.checksum, layout->unchecked };
	atf_header_finish(&expected, &summary);
	expected.footer_offset = size - FOOTER_BYTES;
	layout->completeness = ATF_COMPLETE;
	if (memcmp(&expected, &layout->header, sizeof expected) || header_checksum(bytes, 0) != footer.header_checksum) {
		bool unnamed = header_checksum(bytes, ATF_FLAG_HAS_DETAIL) == footer.header_checksum;

		layout->completeness = unnamed || (!layout->header.event_count && !layout->header.footer_offset) ? ATF_NO_FOOTER :
														   ATF_DAMAGED;
		atf_say(message,
			layout->completeness == ATF_DAMAGED ?
				"damaged: header and footer contradict each other; reading the footer's %" PRIu64 " events" :
				"the header was never finished, the footer was: %" PRIu64 " events",
			layout->count);
	}
	atf_header_finish(&layout->header, &summary);
	atf_footer_fill(&layout->footer, &summary);
	layout->end = HEADER_BYTES + footer.bytes_written;
	return 0;
}

/* --- without -------------------------------------------------------------------------------------------------------------- */

/* Events that no block holds, up to `first_seq`. */
static int add_gap(struct atf_packed_layout *layout, uint32_t first_seq, uint64_t first_ns)
{
	while (layout->count < first_seq) {
		uint64_t missing = first_seq - layout->count;
		AtfPackBlock block = { .first_seq = (uint32_t)layout->count, .first_ns = first_ns };

		block.event_count = missing < ATF_PACK_EVENTS_MAX ? (uint32_t)missing : ATF_PACK_EVENTS_MAX;
		if (add_entry(layout, &block, 0))
			return -ATF_ERROR_MEMORY;
	}
	return 0;
}

/* A block whose head is sound and that lies where it says. */
static int take_block(struct atf_packed_layout *layout, const AtfPackBlock *block, size_t length)
{
	uint64_t end = (uint64_t)block->first_seq + block->event_count;

	if (end <= layout->count || end > UINT32_MAX)
		return 0;
	/* What it holds as well as they do. */
	while (layout->entries.count && layout->entries.items[layout->entries.count - 1].first_seq >= block->first_seq)
		layout->count = layout->entries.items[--layout->entries.count].first_seq;
	if (layout->count > block->first_seq || block->first_seq - layout->count > GAP_MAX)
		return 0;
	if (add_gap(layout, block->first_seq, block->first_ns) || add_entry(layout, block, length))
		return -ATF_ERROR_MEMORY;
	layout->end = block->offset + length;
	return 0;
}

static int without_footer(struct atf_packed_layout *layout, const uint8_t *bytes, uint64_t size, struct atf_message *message)
{
	bool finished = layout->header.event_count || layout->header.footer_offset;
	uint64_t at = HEADER_BYTES;

	layout->entries.count = 0;
	layout->count = 0;
	layout->end = at;
	while (at + BLOCK_BYTES <= size) {
		size_t length = memcmp(bytes + at, ATF_PACK_BLOCK_MAGIC, 4) ? 0 : atf_pack_block_length(bytes + at, size - at);
		AtfPackBlock block;

		memcpy(&block, bytes + at, sizeof block);
		if (!length || block.offset != at) {
			at += 8;
			continue;
		}
		if (take_block(layout, &block, length))
			return atf_fail(message, ATF_ERROR_MEMORY, "out of memory");
		/* What was a tail once may have been written over, up to its head. */
		at += layout->end == at + length ? length : 8;
	}
	layout->completeness = finished ? ATF_DAMAGED : ATF_NO_FOOTER;
	if (finished)
		atf_say(message, "damaged: no sound footer; reading the %" PRIu64 " events of the blocks that are", layout->count);
	else
		atf_say(message, "no footer (still being written, or left by a crash): %" PRIu64 " events", layout->count);
	return 0;
}

int atf_packed_layout_read(struct atf_packed_layout *layout, const uint8_t *bytes, uint64_t size, struct atf_message *message)
{
	int status;

	*layout = (struct atf_packed_layout){ 0 };
	atf_say(message, "%s", "");
	status = header_read(&layout->header, bytes, size, message);
	if (status)
		return status;
	status = with_footer(layout, bytes, size, message);
	if (status > 0)
		status = without_footer(layout, bytes, size, message);
	if (status) {
		atf_packed_layout_free(layout);
		return status == -ATF_ERROR_MEMORY ? atf_fail(message, ATF_ERROR_MEMORY, "out of memory") : status;
	}
	memcpy(layout->header.magic, ATF_INDEX_MAGIC, sizeof layout->header.magic);
	layout->header.version = ATF_VERSION;
	return 0;
}

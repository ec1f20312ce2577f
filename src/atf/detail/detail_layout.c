/* What a detail file says about itself: header, footer, tables and size, weighed against each other.
 *
 * The footer is the file's last 64 bytes. It counts where the sections that it names fill the file exactly; its tables count where their
 * CRC32 is right and the windows cover the records without a gap. Without an offset table the reader walks the records once, from the
 * first on, as far as they are whole.
 */
#include "atf/detail/detail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FOOTER_BYTES ((uint64_t)sizeof(AtfDetailFooter))

static const struct atf_kind detail_kind = { "a", "detail", ATF_DETAIL_MAGIC, "index", ATF_INDEX_MAGIC, ATF_VERSION };

static int header_read(struct atf_detail_file *file, struct atf_message *message)
{
	int status = atf_identity_check(file->bytes, file->size, &detail_kind, message);

	if (status)
		return status;
	memcpy(&file->header, file->bytes, sizeof file->header);
	if (file->header.events_offset != ATF_EVENTS_OFFSET)
		return atf_fail(message, ATF_ERROR_CORRUPT, "damaged header: records at %" PRIu64 " instead of %u",
				file->header.events_offset, ATF_EVENTS_OFFSET);
	return 0;
}

/* Records, tables and footer fill the file, if these counts are right: no product or sum overflows. */
static bool sections_fill(uint64_t size, uint64_t bytes, uint64_t count, uint64_t windows)
{
	if (bytes > size || count > bytes / ATF_DETAIL_BYTES_MIN || windows > size / sizeof(AtfDetailWindow))
		return false;
	return atf_detail_tables_offset(bytes) + count * sizeof(uint64_t) + windows * sizeof(AtfDetailWindow) + FOOTER_BYTES == size;
}

static bool footer_read(struct atf_detail_file *file)
{
	AtfDetailFooter footer;

	if (file->size < ATF_EVENTS_OFFSET + FOOTER_BYTES)
		return false;
	memcpy(&footer, file->bytes + file->size - FOOTER_BYTES, sizeof footer);
	if (memcmp(footer.magic, ATF_DETAIL_FOOTER_MAGIC, sizeof footer.magic) ||
	    !sections_fill(file->size, footer.bytes_length, footer.event_count, footer.window_count) ||
	    footer.tables_offset != atf_detail_tables_offset(footer.bytes_length))
		return false;
	file->footer = footer;
	file->has_footer = true;
	return true;
}

/* Windows without overlap, in order, whose records are all there are, one after the other. */
static bool windows_are_sound(const AtfDetailWindow *windows, uint64_t window_count, uint64_t count)
{
	uint64_t ordinal = 0, seq = 0, i;

	for (i = 0; i < window_count; i++) {
		const AtfDetailWindow *window = &windows[i];

		if (window->first_ordinal != ordinal || window->first_detail_seq < seq || window->first_detail_seq > UINT32_MAX ||
		    !window->event_count || window->event_count > count - ordinal ||
		    window->event_count > UINT32_MAX - window->first_detail_seq)
			return false;
		ordinal += window->event_count;
		seq = window->first_detail_seq + window->event_count;
	}
	return !window_count || ordinal == count;
}

/* The tables that the footer names. False: they are not what the writer wrote; the message says so. */
static bool tables_read(struct atf_detail_file *file, struct atf_message *message)
{
	const AtfDetailFooter *footer = &file->footer;
	const uint64_t *offsets = (const uint64_t *)(file->bytes + footer->tables_offset);
	const AtfDetailWindow *windows = (const AtfDetailWindow *)(offsets + footer->event_count);

	file->end = ATF_EVENTS_OFFSET + footer->bytes_length;
	if (atf_detail_tables_checksum(offsets, footer->event_count, windows, footer->window_count) != footer->tables_checksum) {
		atf_say(message, "damaged: the tables do not have the footer's CRC32");
		return false;
	}
	file->offsets = offsets;
	file->count = footer->event_count;
	if (!windows_are_sound(windows, footer->window_count, file->count)) {
		atf_say(message, "damaged: the windows contradict each other");
		return false;
	}
	file->windows = windows;
	file->window_count = footer->window_count;
	return true;
}

static bool header_is_unfinished(const AtfDetailHeader *header)
{
	return !header->event_count && !header->bytes_length && !header->index_seq_start && !header->index_seq_end;
}

static void layout_with_footer(struct atf_detail_file *file, struct atf_message *message)
{
	const AtfDetailHeader *header = &file->header;
	const AtfDetailFooter *footer = &file->footer;

	if (!tables_read(file, message)) {
		file->completeness = ATF_DAMAGED;
	} else if (header->event_count == footer->event_count && header->bytes_length == footer->bytes_length) {
		file->completeness = ATF_COMPLETE;
	} else if (header_is_unfinished(header)) {
		file->completeness = ATF_NO_FOOTER;
		atf_say(message, "the header was never finished, the footer was: %" PRIu64 " records", file->count);
	} else {
		file->completeness = ATF_DAMAGED;
		atf_say(message, "damaged: header and footer contradict each other; reading the footer's %" PRIu64 " records", file->count);
	}
}

#define RELEASE_BYTES (4u << 20)
#define BEHIND_BYTES (2u << 20) /* as atf_thread_release has it */

/* Gives back the pages that a walk has left behind: a file may be larger than memory. Returns up to where. */
static uint64_t release(const struct atf_detail_file *file, uint64_t released, uint64_t offset)
{
	if (!file->mapped || offset - released < RELEASE_BYTES)
		return released;
	atf_unneed(&(struct atf_mapping){ file->bytes, file->size }, file->bytes + (released > BEHIND_BYTES ? released - BEHIND_BYTES : 0),
		   file->bytes + offset);
	return offset;
}

/* Finds the records one by one. */
static int scan(struct atf_detail_file *file)
{
	uint32_t thread_id = file->header.thread_id;
	uint64_t offset = ATF_EVENTS_OFFSET, room = 0, released = 0;
	struct atf_detail record;
	size_t length;

	file->count = 0;
	while ((length = atf_detail_decode(&record, file->bytes + offset, file->end - offset, thread_id))) {
		if (file->count == room) {
			uint64_t *larger;

			room = room ? 2 * room : 1024;
			larger = realloc(file->scanned, room * sizeof *larger);
			if (!larger)
				return -ATF_ERROR_MEMORY;
			file->scanned = larger;
		}
		file->scanned[file->count++] = offset;
		offset += length;
		released = release(file, released, offset);
	}
	file->offsets = file->scanned;
	file->end = offset;
	return 0;
}

/* Whether zeros stand where the footer of what the header promises would be. */
static bool footer_is_zero(const struct atf_detail_file *file)
{
	const AtfDetailHeader *header = &file->header;
	uint64_t tables;

	if (header->bytes_length > file->size || header->event_count > header->bytes_length / ATF_DETAIL_BYTES_MIN)
		return false;
	tables = atf_detail_tables_offset(header->bytes_length) + header->event_count * sizeof(uint64_t);
	return tables + FOOTER_BYTES <= file->size && (file->size - tables) % sizeof(AtfDetailWindow) == 0 &&
	       atf_is_zero(file->bytes + file->size - FOOTER_BYTES, FOOTER_BYTES);
}

/* Records only: what the header promises, as far as it is there. */
static int layout_without_footer(struct atf_detail_file *file, struct atf_message *message)
{
	const AtfDetailHeader *header = &file->header;
	uint64_t room = file->size - ATF_EVENTS_OFFSET;
	int status;

	file->completeness = ATF_DAMAGED;
	file->end = file->size;
	if (!header_is_unfinished(header) && header->bytes_length < room)
		file->end = ATF_EVENTS_OFFSET + header->bytes_length;
	status = scan(file);
	if (status)
		return status;
	if (header_is_unfinished(header)) {
		file->completeness = ATF_NO_FOOTER;
		atf_say(message, "no footer (still being written, or left by a crash): %" PRIu64 " records", file->count);
	} else if (header->bytes_length > room) {
		atf_say(message, "cut: %" PRIu64 " of %" PRIu64 " records are left", file->count, header->event_count);
	} else if (file->count == header->event_count && footer_is_zero(file)) {
		file->completeness = ATF_NO_FOOTER;
		atf_say(message, "the footer is zero (left by a crash): %" PRIu64 " records", file->count);
	} else {
		atf_say(message, "damaged: no valid footer behind the header's %" PRIu64 " records; reading %" PRIu64, header->event_count,
			file->count);
	}
	return 0;
}

int atf_detail_layout_read(struct atf_detail_file *file, struct atf_message *message)
{
	int status;

	atf_say(message, "%s", "");
	status = header_read(file, message);
	if (status)
		return status;
	if (footer_read(file)) {
		layout_with_footer(file, message);
		return file->offsets ? 0 : scan(file);
	}
	return layout_without_footer(file, message);
}

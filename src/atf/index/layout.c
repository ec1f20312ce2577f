/* What an index file says about itself: header, footer and size, weighed against each other.
 *
 * The footer counts where its place fits its own count. Without a footer the header's count holds as far as the size allows, and without
 * that the size alone. Nothing here looks at events, but for zeros at the end of a file without a footer.
 */
#include "atf/index/index.h"

#include <inttypes.h>
#include <string.h>

#define EVENT_BYTES ((uint64_t)sizeof(struct ada_event))
#define FOOTER_BYTES ((uint64_t)sizeof(AtfIndexFooter))

static const struct atf_kind index_kind = { "an", "index", ATF_INDEX_MAGIC, "detail", ATF_DETAIL_MAGIC, ATF_VERSION };

static int header_read(AtfIndexHeader *header, const uint8_t *bytes, uint64_t size, struct atf_message *message)
{
	int status = atf_identity_check(bytes, size, &index_kind, message);

	if (status)
		return status;
	memcpy(header, bytes, sizeof *header);
	if (header->event_size != EVENT_BYTES)
		return atf_fail(message, ATF_ERROR_VERSION, "events of %" PRIu32 " bytes, and only events of %" PRIu64 " can be read",
				header->event_size, EVENT_BYTES);
	if (header->events_offset != ATF_EVENTS_OFFSET)
		return atf_fail(message, ATF_ERROR_CORRUPT, "damaged header: events at %" PRIu64 " instead of %u", header->events_offset,
				ATF_EVENTS_OFFSET);
	return 0;
}

/* The bytes at `offset` as a footer, if they are one that belongs there. */
static bool footer_take(struct atf_layout *layout, const uint8_t *bytes, uint64_t offset)
{
	AtfIndexFooter footer;

	memcpy(&footer, bytes, sizeof footer);
	if (memcmp(footer.magic, ATF_INDEX_FOOTER_MAGIC, sizeof footer.magic) || footer.bytes_written != offset - ATF_EVENTS_OFFSET ||
	    footer.bytes_written % EVENT_BYTES || footer.event_count != footer.bytes_written / EVENT_BYTES)
		return false;
	layout->footer = footer;
	layout->footer_offset = offset;
	layout->count = footer.event_count;
	return true;
}

static bool footer_read(struct atf_layout *layout, const uint8_t *bytes, uint64_t offset)
{
	if (offset < ATF_EVENTS_OFFSET || offset > layout->size || layout->size - offset < FOOTER_BYTES)
		return false;
	return footer_take(layout, bytes + offset, offset);
}

static void layout_with_footer(struct atf_layout *layout, struct atf_message *message)
{
	const AtfIndexHeader *header = &layout->header;
	AtfIndexHeader expected = *header;
	uint64_t behind = layout->size - layout->footer_offset - FOOTER_BYTES;

	atf_header_finish(&expected, &(struct atf_summary){
					     .count = layout->count,
					     .time_start_ns = layout->footer.time_start_ns,
					     .time_end_ns = layout->footer.time_end_ns,
				     });
	if (behind) {
		layout->completeness = ATF_DAMAGED;
		atf_say(message, "damaged: %" PRIu64 " bytes behind the footer", behind);
	} else if (!memcmp(header, &expected, sizeof expected)) {
		layout->completeness = ATF_COMPLETE;
	} else if (!header->event_count && !header->footer_offset) {
		layout->completeness = ATF_NO_FOOTER;
		atf_say(message, "the header was never finished, the footer was: %" PRIu64 " events", layout->count);
	} else {
		layout->completeness = ATF_DAMAGED;
		atf_say(message, "damaged: header and footer contradict each other; reading the footer's %" PRIu64 " events",
			layout->count);
	}
}

/* Whether record `seq` is the first half of a footer: a reader may see a footer across two pages while it is written. */
static bool is_half_footer(const uint8_t *record, uint64_t seq)
{
	AtfIndexFooter footer;

	memcpy(&footer, record, EVENT_BYTES);
	return !memcmp(footer.magic, ATF_INDEX_FOOTER_MAGIC, sizeof footer.magic) && footer.event_count == seq;
}

/* No footer where the header or the size puts one: count what the size allows. */
static void layout_count(struct atf_layout *layout, const uint8_t *bytes)
{
	const uint8_t *events = bytes + ATF_EVENTS_OFFSET;

	layout->count = (layout->size - ATF_EVENTS_OFFSET) / EVENT_BYTES;
	if (layout->count && is_half_footer(events + (layout->count - 1) * EVENT_BYTES, layout->count - 1))
		layout->count--;
	while (layout->count && atf_is_zero(events + (layout->count - 1) * EVENT_BYTES, EVENT_BYTES))
		layout->count--;
}

static void layout_unfinished(struct atf_layout *layout, struct atf_message *message)
{
	layout->completeness = ATF_NO_FOOTER;
	atf_say(message, "no footer (still being written, or left by a crash): %" PRIu64 " events", layout->count);
}

static void layout_without_footer(struct atf_layout *layout, const uint8_t *bytes, struct atf_message *message)
{
	const AtfIndexHeader *header = &layout->header;
	uint64_t offset = header->footer_offset, size = layout->size;
	uint64_t promised = (offset - ATF_EVENTS_OFFSET) / EVENT_BYTES;

	layout->completeness = ATF_DAMAGED;
	if (!offset && !header->event_count) {
		layout_count(layout, bytes);
		layout_unfinished(layout, message);
	} else if (offset < ATF_EVENTS_OFFSET || (offset - ATF_EVENTS_OFFSET) % EVENT_BYTES ||
		   header->event_count != (promised < UINT32_MAX ? promised : UINT32_MAX)) {
		layout_count(layout, bytes);
		atf_say(message,
			"damaged: the header contradicts itself and there is no footer; reading %" PRIu64
			" events, which is what the size allows",
			layout->count);
	} else if (offset > size) {
		layout_count(layout, bytes);
		atf_say(message, "cut: %" PRIu64 " of %" PRIu64 " events are left", layout->count, promised);
	} else if (size - offset < FOOTER_BYTES) {
		layout->count = promised;
		atf_say(message, "cut: the footer is missing, all %" PRIu64 " events are there", promised);
	} else if (size - offset == FOOTER_BYTES && atf_is_zero(bytes + offset, FOOTER_BYTES)) {
		layout->count = promised;
		layout->completeness = ATF_NO_FOOTER;
		atf_say(message, "the footer is zero (left by a crash): %" PRIu64 " events", promised);
	} else {
		layout->count = promised;
		atf_say(message, "damaged: no valid footer behind the header's %" PRIu64 " events", promised);
	}
}

int atf_layout_read(struct atf_layout *layout, const uint8_t *bytes, uint64_t size, struct atf_message *message)
{
	int status;

	*layout = (struct atf_layout){ .size = size };
	atf_say(message, "%s", "");
	status = header_read(&layout->header, bytes, size, message);
	if (status)
		return status;
	if (footer_read(layout, bytes, size - FOOTER_BYTES) || footer_read(layout, bytes, layout->header.footer_offset))
		layout_with_footer(layout, message);
	else
		layout_without_footer(layout, bytes, message);
	return 0;
}

/* Without a footer the last record, if there is one, says where the events end: as in layout_count. */
static bool ends_in_event(struct atf_layout *layout, const uint8_t *tail)
{
	const uint8_t *last = tail + FOOTER_BYTES - EVENT_BYTES - (layout->size - ATF_EVENTS_OFFSET) % EVENT_BYTES;

	layout->count = (layout->size - ATF_EVENTS_OFFSET) / EVENT_BYTES;
	return !layout->header.footer_offset && !layout->header.event_count && !atf_is_zero(last, EVENT_BYTES) &&
	       !is_half_footer(last, layout->count - 1);
}

bool atf_layout_read_ends(struct atf_layout *layout, const uint8_t *head, const uint8_t *tail, uint64_t size, struct atf_message *message)
{
	*layout = (struct atf_layout){ .size = size };
	atf_say(message, "%s", "");
	if (size < ATF_EVENTS_OFFSET + FOOTER_BYTES || header_read(&layout->header, head, size, NULL))
		return false;
	if (footer_take(layout, tail, size - FOOTER_BYTES)) {
		layout_with_footer(layout, NULL);
		return layout->completeness == ATF_COMPLETE;
	}
	if (!ends_in_event(layout, tail))
		return false;
	layout_unfinished(layout, message);
	return true;
}

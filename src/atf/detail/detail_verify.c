/* Every check that a detail file allows, by itself and against its index. Bits that nothing covers: thread_id in the header of
 * a file without records, and the records of a file without a footer beyond their plausibility.
 */
#include "atf/detail/detail.h"

#include <inttypes.h>
#include <libdeflate.h>
#include "atf/index/verify.h"

/* What the walk over the records finds. Numbers are those of the first offender. */
struct walk {
	struct atf_detail_summary summary; /* as the records have it */
	bool whole;			   /* it came to the end: there are as many as there should be */
	struct atf_first falls;		   /* times lower than the one before */
	struct atf_first backward;	   /* index_seq not above the one before */
	struct atf_first misplaced;	   /* offset table names another place */
	struct atf_first reserved;	   /* reserved bytes that are not zero */
	struct atf_first unknown;	   /* types or flags of a later version */
	struct atf_first outside;	   /* time outside of the window's bounds */
};

/* Against the index. */
struct match {
	struct atf_first missing;    /* index_seq that the index does not have */
	struct atf_first strangers;  /* time, function or kind is another one */
	struct atf_first renumbered; /* the event's detail_seq is another one */
	struct atf_first holes;	     /* events inside a window without a record */
};

/* --- the records by themselves ------------------------------------------------------------------------------------ */

/* Whether what was captured is entries to the last byte. */
static bool is_captured_whole(const struct atf_detail *record)
{
	struct atf_captured unused;
	uint32_t at = 0;

	while (atf_detail_captured(record, &at, &unused))
		;
	return at == record->captured_size;
}

static void walk_record(struct walk *walk, const struct atf_detail_file *file, const struct atf_detail *record, uint64_t offset)
{
	const DetailFunctionPayload *payload = (const DetailFunctionPayload *)(file->bytes + offset + sizeof(DetailEventHeader));
	uint64_t here = walk->summary.count;
	const AtfDetailWindow *window = atf_detail_window_of(file, here);

	if (here < file->count && file->offsets[here] != offset)
		atf_count_first(&walk->misplaced, here);
	if (payload->reserved)
		atf_count_first(&walk->reserved, here);
	if (record->flags & ~(ATF_DETAIL_VECTORS | ATF_DETAIL_CAPTURED | ATF_DETAIL_REDACTED_ANY) || !is_captured_whole(record) ||
	    (record->event_type != ATF_DETAIL_CALL && record->event_type != ATF_DETAIL_RETURN))
		atf_count_first(&walk->unknown, here);
	if (here && record->timestamp_ns < walk->summary.time_end_ns)
		atf_count_first(&walk->falls, here);
	if (here && record->index_seq <= walk->summary.index_seq_end)
		atf_count_first(&walk->backward, here);
	if (window && (record->timestamp_ns < window->start_ns || record->timestamp_ns > window->end_ns))
		atf_count_first(&walk->outside, here);
}

static void walk_records(struct walk *walk, const struct atf_detail_file *file)
{
	uint64_t offset = ATF_EVENTS_OFFSET;
	struct atf_detail record;
	size_t length;

	while ((length = atf_detail_decode(&record, file->bytes + offset, file->end - offset, file->header.thread_id))) {
		walk_record(walk, file, &record, offset);
		atf_detail_count_in(&walk->summary, &record, file->bytes + offset, length);
		offset += length;
	}
	walk->whole = offset == file->end && (!file->has_footer || walk->summary.count == file->footer.event_count);
}

static void check_header(struct atf_verify *verify, const struct atf_detail_file *file, const struct walk *walk)
{
	const AtfDetailHeader *header = &file->header;

	if (header->arch != ATF_ARCH_X86_64 && header->arch != ATF_ARCH_ARM64)
		atf_report(verify, "header", false, "unknown architecture %u", header->arch);
	else if (header->os != ATF_OS_LINUX)
		atf_report(verify, "header", false, "operating system %u is not Linux (%d)", header->os, ATF_OS_LINUX);
	else if (header->flags)
		atf_report(verify, "header", false, "unknown flags %#" PRIx32, header->flags);
	else if (!atf_is_zero(header->reserved1, sizeof header->reserved1))
		atf_report(verify, "header", false, "reserved bytes are not zero");
	else if (file->completeness == ATF_COMPLETE && walk->whole &&
		 (header->index_seq_start != walk->summary.index_seq_start || header->index_seq_end != walk->summary.index_seq_end))
		atf_report(verify, "header", false, "the range of index_seq is not that of the first and last record");
	else
		atf_report(verify, "header", true, "%s", "");
}

static void check_footer(struct atf_verify *verify, const struct atf_detail_file *file, const struct walk *walk)
{
	const AtfDetailFooter *footer = &file->footer;
	const uint8_t *padding = file->bytes + ATF_EVENTS_OFFSET + footer->bytes_length;
	uint32_t checksum;

	if (!file->has_footer)
		return;
	if (walk->whole && (footer->time_start_ns != walk->summary.time_start_ns || footer->time_end_ns != walk->summary.time_end_ns))
		atf_report(verify, "footer", false, "time range is not that of the first and last record");
	else if (footer->reserved || !atf_is_zero(padding, footer->tables_offset - ATF_EVENTS_OFFSET - footer->bytes_length))
		atf_report(verify, "footer", false, "reserved bytes are not zero");
	else
		atf_report(verify, "footer", true, "%s", "");
	checksum = libdeflate_crc32(0, file->bytes + ATF_EVENTS_OFFSET, footer->bytes_length);
	if (footer->checksum != checksum)
		atf_report(verify, "checksum", false, "CRC32 is %08" PRIx32 " and the footer says %08" PRIx32, checksum, footer->checksum);
	else
		atf_report(verify, "checksum", true, "%s", "");
}

static void check_records(struct atf_verify *verify, const struct atf_detail_file *file, const struct walk *walk)
{
	uint64_t end = ATF_EVENTS_OFFSET + walk->summary.bytes, count = walk->summary.count;

	if (!walk->whole)
		atf_report(verify, "records", false,
			   "%" PRIu64 " whole records up to byte %" PRIu64 ", where no record of "
			   "this thread begins; %" PRIu64 " up to byte %" PRIu64 " should be there",
			   count, end, file->count, file->end);
	else if (walk->reserved.count)
		atf_report(verify, "records", false, "reserved bytes of %" PRIu64 " records are not zero, the first is record %" PRIu64,
			   walk->reserved.count, walk->reserved.at);
	else if (walk->unknown.count)
		atf_report(verify, "records", true, "%" PRIu64 " records of unknown types, the first is record %" PRIu64,
			   walk->unknown.count, walk->unknown.at);
	else
		atf_report(verify, "records", true, "%s", "");
	atf_report_first(verify, "times", &walk->falls, "times fall, the first at record");
	atf_report_first(verify, "order", &walk->backward, "index_seq do not rise, the first at record");
	if (!file->scanned && file->offsets)
		atf_report_first(verify, "offsets", &walk->misplaced, "offsets are not where the records are, the first is that of record");
}

static const char *window_fault(const AtfDetailWindow *window, const AtfDetailWindow *before)
{
	if (window->start_ns > window->end_ns)
		return "ends before it starts";
	if (before && window->start_ns < before->end_ns)
		return "starts before the one in front of it ends";
	if (before && before->window_id != UINT32_MAX && window->window_id < before->window_id)
		return "has a lower id than the one in front of it";
	return window->reserved ? "has reserved bytes that are not zero" : NULL;
}

static void check_windows(struct atf_verify *verify, const struct atf_detail_file *file, const struct walk *walk)
{
	const AtfDetailWindow *window = file->windows, *before = NULL;
	const char *wrong = NULL;
	uint64_t i;

	if (!file->window_count) {
		if (file->count)
			atf_report(verify, "windows", true, "none are known: records are found by index_seq only");
		return;
	}
	for (i = 0; i < file->window_count && !wrong; i++, before = window++)
		wrong = window_fault(window, before);
	if (wrong)
		atf_report(verify, "windows", false, "window %" PRIu64 " %s", i - 1, wrong);
	else
		atf_report(verify, "windows", true, "%s", "");
	atf_report_first(verify, "bounds", &walk->outside, "records lie outside of their window's time, the first is record");
}

/* --- against the index -------------------------------------------------------------------------------------------- */

static bool kinds_match(uint16_t event_type, uint32_t event_kind)
{
	switch (event_type) {
	case ATF_DETAIL_CALL: return event_kind == ADA_EVENT_CALL;
	case ATF_DETAIL_RETURN: return event_kind == ADA_EVENT_RETURN || event_kind == ADA_EVENT_EXCEPTION;
	default: return true;
	}
}

static void match_record(struct match *match, const struct atf_index *index, const struct atf_detail *record, uint64_t here)
{
	const struct ada_event *event;
	uint64_t run;

	if (record->index_seq >= index->layout.count) {
		atf_count_first(&match->missing, here);
		return;
	}
	event = atf_index_run(index, record->index_seq, &run);
	if (event->timestamp_ns != record->timestamp_ns || event->function_id != record->function_id ||
	    !kinds_match(record->event_type, event->event_kind))
		atf_count_first(&match->strangers, here);
	else if (event->detail_seq == ADA_NO_DETAIL || (record->detail_seq != ADA_NO_DETAIL && event->detail_seq != record->detail_seq))
		atf_count_first(&match->renumbered, here);
}

/* Events inside the window whose detail was captured and is missing here. Bounds that recovery made up are times of records: some events
 * of the very same times may lie outside. */
static void match_window(struct match *match, const struct atf_detail_file *file, const struct atf_index *index,
			 const AtfDetailWindow *window)
{
	bool exact = window->window_id != UINT32_MAX;
	struct atf_detail record;
	uint64_t i, run;

	for (i = atf_index_lower_bound(index, window->start_ns); i < index->layout.count; i++) {
		const struct ada_event *event = atf_index_run(index, i, &run);

		if (event->timestamp_ns > window->end_ns)
			break;
		if (!event->event_kind || event->detail_seq == ADA_NO_DETAIL ||
		    (!exact && (event->timestamp_ns == window->start_ns || event->timestamp_ns == window->end_ns)))
			continue;
		if (atf_detail_find(file, event->detail_seq, &record) == ATF_NOT_PERSISTED)
			atf_count_first(&match->holes, i);
	}
}

static void check_index(struct atf_verify *verify, const struct atf_detail_file *file, const struct atf_index *index)
{
	const AtfIndexHeader *header = &index->layout.header;
	struct match match = { 0 };
	struct atf_detail record;
	uint64_t i;

	for (i = 0; i < file->count; i++)
		if (!atf_detail_get(file, i, &record))
			match_record(&match, index, &record, i);
	for (i = 0; i < file->window_count; i++)
		match_window(&match, file, index, &file->windows[i]);
	if (header->thread_id != file->header.thread_id)
		atf_report(verify, "index", false, "is of thread %" PRIu32 ", the index of thread %" PRIu32, file->header.thread_id,
			   header->thread_id);
	else if (header->arch != file->header.arch)
		atf_report(verify, "index", false, "is of architecture %u, the index of %u", file->header.arch, header->arch);
	else if (match.missing.count && index->layout.completeness == ATF_NO_FOOTER)
		atf_report(verify, "index", true,
			   "%" PRIu64 " records name events that the index does not have (yet): it is "
			   "still being written, or left by a crash",
			   match.missing.count);
	else
		atf_report_first(verify, "index", &match.missing, "records name events that the index does not have, the first is record");
	atf_report_first(verify, "events", &match.strangers,
			 "records have another time, function or kind than their event, the first is record");
	atf_report_first(verify, "links", &match.renumbered,
			 "events name another record than the one that names them, the first is that of record");
	atf_report_first(verify, "holes", &match.holes, "events inside a window have no record, the first is event");
}

/* ------------------------------------------------------------------------------------------------------------------- */

int atf_detail_verify(const char *path, const struct atf_index *index, atf_finding *found, void *context)
{
	struct atf_verify verify = { found, context, 0 };
	struct atf_detail_file *file;
	struct atf_message message;
	struct walk walk = { 0 };
	int status = atf_detail_open(&file, path, &message);

	if (status == -ATF_ERROR_SYSTEM || status == -ATF_ERROR_MEMORY)
		return status;
	if (status) {
		found(context, "header", false, message.text);
		return 1;
	}
	walk_records(&walk, file);
	check_header(&verify, file, &walk);
	atf_report(&verify, "size", file->completeness == ATF_COMPLETE, "%s", message.text);
	check_footer(&verify, file, &walk);
	check_records(&verify, file, &walk);
	check_windows(&verify, file, &walk);
	if (index)
		check_index(&verify, file, index);
	atf_detail_close(file);
	return verify.failed;
}

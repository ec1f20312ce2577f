/* Every check that an index file allows. Bits that nothing covers: thread_id in the header of a file without events,
 * and the events of a file without a footer beyond their plausibility (time, kind, thread).
 */
#include "atf/index/verify.h"

#include <inttypes.h>
#include <libdeflate.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What one pass over the events finds. Positions are those of the first offender. */
struct scan {
	struct atf_first falls;	    /* times lower than the one before */
	struct atf_first strangers; /* thread ids other than the header's */
	struct atf_first holes;	    /* kind 0: never written */
	struct atf_first unknown;   /* kinds of a later version */
	struct atf_first others;    /* packed blocks that decode to other events than were encoded */
	uint64_t lost_marks, lost;  /* LOST events, and what they stand for */
	struct atf_first jumps;	    /* depths that don't follow from the event before */
	uint64_t first_ns, last_ns;
	struct ada_event before; /* the last call or end; kind 0: none that the next one must follow on */
	uint32_t checksum;
};

void atf_report(struct atf_verify *verify, const char *check, bool ok, const char *format, ...)
{
	struct atf_message message;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message.text, sizeof message.text, format, arguments);
	va_end(arguments);
	verify->failed += !ok;
	verify->found(verify->context, check, ok, message.text);
}

void atf_report_first(struct atf_verify *verify, const char *check, const struct atf_first *first, const char *what)
{
	if (first->count)
		atf_report(verify, check, false, "%" PRIu64 " %s %" PRIu64, first->count, what, first->at);
	else
		atf_report(verify, check, true, "%s", "");
}

/* --- one pass over the events ------------------------------------------------------------------------------------- */

/* Whether `event` may follow `before` on one stack. Threads that switch stacks (fibers) break this rightly. */
static bool depth_follows(const struct ada_event *before, const struct ada_event *event)
{
	uint64_t level = before->call_depth, depth = event->call_depth;

	if (before->event_kind == ADA_EVENT_CALL)
		level++;
	return event->event_kind == ADA_EVENT_CALL ? depth == level : depth + 1 == level;
}

static bool is_call_or_end(const struct ada_event *event)
{
	return event->event_kind >= ADA_EVENT_CALL && event->event_kind <= ADA_EVENT_EXCEPTION;
}

static void scan_event(struct scan *scan, const struct ada_event *event, uint64_t here, uint32_t thread_id)
{
	if (!event->event_kind)
		atf_count_first(&scan->holes, here);
	else if (event->event_kind >= ADA_EVENT_KINDS)
		atf_count_first(&scan->unknown, here);
	if (event->event_kind == ADA_EVENT_LOST) {
		scan->lost_marks++;
		scan->lost += event->function_id;
	}
	if (event->thread_id != thread_id)
		atf_count_first(&scan->strangers, here);
}

/* One after another; `before` is the last call or end. */
static void scan_run(struct scan *scan, const struct atf_index *index, const struct ada_event *events, uint64_t count, uint64_t first)
{
	bool checked = atf_index_is_checked(index);
	uint64_t i, batch = 1024;

	for (i = 0; i < count; i++) {
		const struct ada_event *event = &events[i];

		if (i % batch == 0 && checked)
			scan->checksum = libdeflate_crc32(scan->checksum, event, (count - i < batch ? count - i : batch) * sizeof *event);
		scan_event(scan, event, first + i, index->layout.header.thread_id);
		if (first + i && event->timestamp_ns < scan->last_ns)
			atf_count_first(&scan->falls, first + i);
		scan->last_ns = event->timestamp_ns;
		if (!first && !i)
			scan->first_ns = event->timestamp_ns;
		if (is_call_or_end(event)) {
			if (scan->before.event_kind && !depth_follows(&scan->before, event))
				atf_count_first(&scan->jumps, first + i);
			scan->before = *event;
		} else if (event->event_kind <= ADA_EVENT_LOST) {
			scan->before.event_kind = 0; /* what is lost may have been calls; an unknown kind is no call */
		}
	}
}

static void scan_events(struct scan *scan, const struct atf_index *index)
{
	uint64_t at = 0, count;

	while (at < index->layout.count) {
		const struct ada_event *events = atf_index_run(index, at, &count);

		scan_run(scan, index, events, count, at);
		if (!atf_index_sum_fits(index, at, events, count))
			atf_count_first(&scan->others, at);
		at += count;
	}
}

/* --- the checks --------------------------------------------------------------------------------------------------- */

static void check_header(struct atf_verify *verify, const struct atf_index *index)
{
	const AtfIndexHeader *header = &index->layout.header;

	if (header->arch != ATF_ARCH_X86_64 && header->arch != ATF_ARCH_ARM64)
		atf_report(verify, "header", false, "unknown architecture %u", header->arch);
	else if (header->os != ATF_OS_LINUX)
		atf_report(verify, "header", false, "operating system %u is not Linux (%d)", header->os, ATF_OS_LINUX);
	else if (header->clock_type != ATF_CLOCK_BOOTTIME)
		atf_report(verify, "header", false, "clock %u is not boottime (%d)", header->clock_type, ATF_CLOCK_BOOTTIME);
	else if (header->flags & ~ATF_FLAG_HAS_DETAIL)
		atf_report(verify, "header", false, "unknown flags %#" PRIx32, header->flags);
	else if (!atf_is_zero(header->reserved1, sizeof header->reserved1) || header->reserved2)
		atf_report(verify, "header", false, "reserved bytes are not zero");
	else
		atf_report(verify, "header", true, "%s", "");
}

static void check_detail(struct atf_verify *verify, const struct atf_index *index, bool detail_exists)
{
	bool said = index->layout.header.flags & ATF_FLAG_HAS_DETAIL;

	if (index->layout.completeness == ATF_NO_FOOTER)
		return; /* the flag is set when the header is finished */
	if (said && !detail_exists)
		atf_report(verify, "detail", false, "the header names a detail file, and there is none");
	else if (!said && detail_exists)
		atf_report(verify, "detail", false, "there is a detail file that the header doesn't name");
	else
		atf_report(verify, "detail", true, "%s", "");
}

static void check_footer(struct atf_verify *verify, const struct atf_index *index, const struct atf_message *incomplete,
			 const struct scan *scan)
{
	const struct atf_layout *layout = &index->layout;
	const AtfIndexFooter *footer = &layout->footer;

	atf_report(verify, "size", layout->completeness == ATF_COMPLETE, "%s", incomplete->text);
	if (!layout->footer_offset)
		return;
	if (footer->time_start_ns != scan->first_ns || footer->time_end_ns != scan->last_ns)
		atf_report(verify, "footer", false, "time range is not that of the first and last event");
	else if (!atf_is_zero(footer->reserved, sizeof footer->reserved))
		atf_report(verify, "footer", false, "reserved bytes are not zero");
	else
		atf_report(verify, "footer", true, "%s", "");
	if (!atf_index_is_checked(index))
		return; /* the blocks' sums stand for it */
	if (footer->checksum != scan->checksum)
		atf_report(verify, "checksum", false, "CRC32 is %08" PRIx32 " and the footer says %08" PRIx32, scan->checksum,
			   footer->checksum);
	else
		atf_report(verify, "checksum", true, "%s", "");
}

static void check_events(struct atf_verify *verify, const struct scan *scan)
{
	atf_report_first(verify, "times", &scan->falls, "times fall, the first at event");
	atf_report_first(verify, "threads", &scan->strangers, "events of another thread than the header's, the first at event");
	if (scan->holes.count)
		atf_report(verify, "kinds", false, "%" PRIu64 " events were never written, the first is event %" PRIu64, scan->holes.count,
			   scan->holes.at);
	else if (scan->unknown.count)
		atf_report(verify, "kinds", true, "%" PRIu64 " events of unknown kinds, the first at event %" PRIu64, scan->unknown.count,
			   scan->unknown.at);
	else
		atf_report(verify, "kinds", true, "%s", "");
	if (scan->lost_marks)
		atf_report(verify, "losses", true, "%" PRIu64 " events were lost, at %" PRIu64 " places", scan->lost, scan->lost_marks);
	if (scan->jumps.count)
		atf_report(verify, "depths", true,
			   "%" PRIu64 " depths do not follow from the event before, the first at "
			   "event %" PRIu64 " (rightly so where the program switches stacks)",
			   scan->jumps.count, scan->jumps.at);
	else
		atf_report(verify, "depths", true, "%s", "");
}

static void check_blocks(struct atf_verify *verify, const struct atf_index *index, const struct scan *scan)
{
	uint64_t damaged = index->packed ? atf_packed_damaged(index->packed) : 0;

	if (damaged)
		atf_report(verify, "blocks", false, "%" PRIu64 " events are in blocks that are damaged or missing", damaged);
	else if (index->packed)
		atf_report_first(verify, "blocks", &scan->others,
				 "blocks decode to events without the sum in their head, the first from event");
}

static int verify_index(const struct atf_index *index, const struct atf_message *incomplete, bool detail_exists, atf_finding *found,
			void *context)
{
	struct atf_verify verify = { found, context, 0 };
	struct scan scan = { 0 };

	scan_events(&scan, index);
	check_header(&verify, index);
	check_detail(&verify, index, detail_exists);
	check_footer(&verify, index, incomplete, &scan);
	check_events(&verify, &scan);
	check_blocks(&verify, index, &scan);
	return verify.failed;
}

bool atf_lane_path(char *path, size_t size, const char *other, const char *from, const char *to)
{
	const char *slash = strrchr(other, '/');
	const char *name = slash ? slash + 1 : other;
	size_t from_length = strlen(from);
	int length;

	if (strncmp(name, from, from_length) || name[from_length] != '.')
		return false;
	length = snprintf(path, size, "%.*s%s%s", (int)(name - other), other, to, name + from_length);
	return length > 0 && (size_t)length < size;
}

bool atf_has_detail_file(const char *path)
{
	char detail[PATH_MAX];
	size_t length;

	if (!atf_lane_path(detail, sizeof detail, path, "index", "detail") && !atf_lane_path(detail, sizeof detail, path, "kept", "detail"))
		return false;
	length = strlen(detail);
	if (length > 4 && !strcmp(detail + length - 4, ".atp"))
		detail[length - 1] = 'f';
	return access(detail, F_OK) == 0;
}

int atf_index_verify(const char *path, atf_finding *found, void *context)
{
	struct atf_message message;
	struct atf_index *index;
	int status = atf_index_open(&index, path, &message);

	if (status == -ATF_ERROR_SYSTEM || status == -ATF_ERROR_MEMORY)
		return status;
	if (status) {
		found(context, "header", false, message.text);
		return 1;
	}
	status = verify_index(index, &message, atf_has_detail_file(path), found, context);
	atf_index_close(index);
	return status;
}

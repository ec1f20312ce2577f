/* Every check that an index file allows. Bits that nothing covers: thread_id in the header of a file without events,
 * and the events of a file without a footer beyond their plausibility (time, kind, thread).
 */
#include "atf/internal.h"

#include <inttypes.h>
#include <libdeflate.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct verify {
	const struct atf_index *index;
	atf_finding *found;
	void *context;
	int failed;
};

/* What one pass over the events finds. Positions are those of the first offender. */
struct scan {
	uint64_t falls, fall_at;		/* times lower than the one before */
	uint64_t strangers, stranger_at;	/* thread ids other than the header's */
	uint64_t holes, hole_at;		/* kind 0: never written */
	uint64_t unknown, unknown_at;		/* kinds of a later version */
	uint64_t lost_marks, lost;		/* LOST events, and what they stand for */
	uint64_t jumps, jump_at;		/* depths that don't follow from the event before */
	uint32_t checksum;
};

static void __attribute__((format(printf, 4, 5))) report(struct verify *verify, const char *check, bool ok,
							  const char *format, ...)
{
	struct atf_message message;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message.text, sizeof message.text, format, arguments);
	va_end(arguments);
	verify->failed += !ok;
	verify->found(verify->context, check, ok, message.text);
}

/* --- one pass over the events ------------------------------------------------------------------------------------- */

static void count_first(uint64_t *count, uint64_t *at, uint64_t here)
{
	if (!(*count)++)
		*at = here;
}

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
		count_first(&scan->holes, &scan->hole_at, here);
	else if (event->event_kind > ADA_EVENT_LOST)
		count_first(&scan->unknown, &scan->unknown_at, here);
	if (event->event_kind == ADA_EVENT_LOST) {
		scan->lost_marks++;
		scan->lost += event->function_id;
	}
	if (event->thread_id != thread_id)
		count_first(&scan->strangers, &scan->stranger_at, here);
}

static void scan_events(struct scan *scan, const struct atf_index *index)
{
	const struct ada_event *events = index->events, *before = NULL;
	uint64_t i, batch = 1024, count = index->layout.count;

	for (i = 0; i < count; i++) {
		const struct ada_event *event = &events[i];

		if (i % batch == 0)
			scan->checksum = libdeflate_crc32(scan->checksum, event,
							  (count - i < batch ? count - i : batch) * sizeof *event);
		scan_event(scan, event, i, index->layout.header.thread_id);
		if (i && event->timestamp_ns < events[i - 1].timestamp_ns)
			count_first(&scan->falls, &scan->fall_at, i);
		if (is_call_or_end(event)) {
			if (before && !depth_follows(before, event))
				count_first(&scan->jumps, &scan->jump_at, i);
			before = event;
		} else if (event->event_kind <= ADA_EVENT_LOST) {
			before = NULL;		/* what is lost may have been calls; an unknown kind is no call */
		}
	}
}

/* --- the checks --------------------------------------------------------------------------------------------------- */

static void check_header(struct verify *verify)
{
	const AtfIndexHeader *header = &verify->index->layout.header;

	if (header->arch != ATF_ARCH_X86_64 && header->arch != ATF_ARCH_ARM64)
		report(verify, "header", false, "unknown architecture %u", header->arch);
	else if (header->os != ATF_OS_LINUX)
		report(verify, "header", false, "operating system %u is not Linux (%d)", header->os, ATF_OS_LINUX);
	else if (header->clock_type != ATF_CLOCK_BOOTTIME)
		report(verify, "header", false, "clock %u is not boottime (%d)", header->clock_type,
		       ATF_CLOCK_BOOTTIME);
	else if (header->flags & ~ATF_FLAG_HAS_DETAIL)
		report(verify, "header", false, "unknown flags %#" PRIx32, header->flags);
	else if (!atf_is_zero(header->reserved1, sizeof header->reserved1) || header->reserved2)
		report(verify, "header", false, "reserved bytes are not zero");
	else
		report(verify, "header", true, "%s", "");
}

static void check_detail(struct verify *verify, bool detail_exists)
{
	bool said = verify->index->layout.header.flags & ATF_FLAG_HAS_DETAIL;

	if (verify->index->layout.completeness == ATF_NO_FOOTER)
		return;			/* the flag is set when the header is finished */
	if (said && !detail_exists)
		report(verify, "detail", false, "the header names a detail file, and there is none");
	else if (!said && detail_exists)
		report(verify, "detail", false, "there is a detail file that the header doesn't name");
	else
		report(verify, "detail", true, "%s", "");
}

static void check_footer(struct verify *verify, const struct atf_message *incomplete, const struct scan *scan)
{
	const struct atf_layout *layout = &verify->index->layout;
	const AtfIndexFooter *footer = &layout->footer;
	uint64_t first_ns = 0, last_ns = 0;

	report(verify, "size", layout->completeness == ATF_COMPLETE, "%s", incomplete->text);
	if (!layout->footer_offset)
		return;
	if (layout->count) {
		first_ns = verify->index->events[0].timestamp_ns;
		last_ns = verify->index->events[layout->count - 1].timestamp_ns;
	}
	if (footer->time_start_ns != first_ns || footer->time_end_ns != last_ns)
		report(verify, "footer", false, "time range is not that of the first and last event");
	else if (!atf_is_zero(footer->reserved, sizeof footer->reserved))
		report(verify, "footer", false, "reserved bytes are not zero");
	else
		report(verify, "footer", true, "%s", "");
	if (footer->checksum != scan->checksum)
		report(verify, "checksum", false, "CRC32 is %08" PRIx32 " and the footer says %08" PRIx32,
		       scan->checksum, footer->checksum);
	else
		report(verify, "checksum", true, "%s", "");
}

static void check_events(struct verify *verify, const struct scan *scan)
{
	if (scan->falls)
		report(verify, "times", false, "%" PRIu64 " times fall, the first at event %" PRIu64, scan->falls,
		       scan->fall_at);
	else
		report(verify, "times", true, "%s", "");
	if (scan->strangers)
		report(verify, "threads", false, "%" PRIu64 " events of another thread than the header's, the first at "
		       "event %" PRIu64, scan->strangers, scan->stranger_at);
	else
		report(verify, "threads", true, "%s", "");
	if (scan->holes)
		report(verify, "kinds", false, "%" PRIu64 " events were never written, the first is event %" PRIu64,
		       scan->holes, scan->hole_at);
	else if (scan->unknown)
		report(verify, "kinds", true, "%" PRIu64 " events of unknown kinds, the first at event %" PRIu64,
		       scan->unknown, scan->unknown_at);
	else
		report(verify, "kinds", true, "%s", "");
	if (scan->lost_marks)
		report(verify, "losses", true, "%" PRIu64 " events were lost, at %" PRIu64 " places", scan->lost,
		       scan->lost_marks);
	if (scan->jumps)
		report(verify, "depths", true, "%" PRIu64 " depths do not follow from the event before, the first at "
		       "event %" PRIu64 " (rightly so where the program switches stacks)", scan->jumps, scan->jump_at);
	else
		report(verify, "depths", true, "%s", "");
}

static int verify_index(const struct atf_index *index, const struct atf_message *incomplete, bool detail_exists,
			atf_finding *found, void *context)
{
	struct verify verify = { index, found, context, 0 };
	struct scan scan = { 0 };

	scan_events(&scan, index);
	check_header(&verify);
	check_detail(&verify, detail_exists);
	check_footer(&verify, incomplete, &scan);
	check_events(&verify, &scan);
	return verify.failed;
}

/* .../index.3.atf -> .../detail.3.atf */
static bool detail_file_exists(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char detail[PATH_MAX];
	int length;

	if (strncmp(name, "index.", strlen("index.")))
		return false;
	length = snprintf(detail, sizeof detail, "%.*sdetail%s", (int)(name - path), path, name + strlen("index"));
	return (size_t)length < sizeof detail && access(detail, F_OK) == 0;
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
	status = verify_index(index, &message, detail_file_exists(path), found, context);
	atf_index_close(index);
	return status;
}

/* Reads a sched.atf, checks it, and gives one that a crash left its footer. */
#include "atf/sched/finish.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "atf/index/verify.h"

#define EVENT_BYTES sizeof(AtfSchedEvent)

/* --- layout --------------------------------------------------------------------------------------------------------------- */

static bool footer_of(const uint8_t *bytes, uint64_t size, AtfSchedFooter *footer)
{
	if (size < ATF_EVENTS_OFFSET + sizeof *footer)
		return false;
	memcpy(footer, bytes + size - sizeof *footer, sizeof *footer);
	return !memcmp(footer->magic, ATF_SCHED_FOOTER_MAGIC, sizeof footer->magic) &&
	       atf_is_zero(footer->reserved, sizeof footer->reserved);
}

/* Whether the footer says what the file's size says. */
static bool footer_fits(const AtfSchedFooter *footer, uint64_t size)
{
	uint64_t bytes = size - ATF_EVENTS_OFFSET - sizeof *footer;

	return bytes % EVENT_BYTES == 0 && footer->event_count == bytes / EVENT_BYTES && footer->bytes_written == bytes;
}

static int layout_read(struct atf_sched *sched, const uint8_t *bytes, uint64_t size, struct atf_message *message)
{
	static const struct atf_kind kind = { "a", "sched", ATF_SCHED_MAGIC, "index", ATF_INDEX_MAGIC, ATF_VERSION };
	int status = atf_identity_check(bytes, size, &kind, message);
	uint64_t room = (size - ATF_EVENTS_OFFSET) / EVENT_BYTES;
	AtfSchedHeader header;
	AtfSchedFooter footer;

	if (status)
		return status;
	memcpy(&header, bytes, sizeof header);
	if (header.event_size != EVENT_BYTES || header.events_offset != ATF_EVENTS_OFFSET)
		return atf_fail(message, ATF_ERROR_VERSION, "events of %" PRIu32 " bytes at %" PRIu64 ", and only 32 at 64 can be read",
				header.event_size, header.events_offset);
	if (footer_of(bytes, size, &footer) && footer_fits(&footer, size)) {
		bool agree = header.event_count == footer.event_count && header.time_start_ns == footer.time_start_ns &&
			     header.time_end_ns == footer.time_end_ns;

		sched->count = footer.event_count;
		sched->completeness = agree ? ATF_COMPLETE : header.event_count ? ATF_DAMAGED : ATF_NO_FOOTER;
		if (!agree)
			atf_say(message, "header and footer say different things");
		return 0;
	}
	sched->completeness = header.event_count ? ATF_DAMAGED : ATF_NO_FOOTER;
	sched->count = header.event_count && header.event_count < room ? header.event_count : room;
	while (sched->count && atf_is_zero(bytes + ATF_EVENTS_OFFSET + (sched->count - 1) * EVENT_BYTES, EVENT_BYTES))
		sched->count--;
	atf_say(message, header.event_count ? "it was finished, and is cut or damaged" : "no footer: being written, or left by a crash");
	return 0;
}

static int open_bytes(struct atf_sched *sched, const uint8_t *bytes, uint64_t size, struct atf_message *message)
{
	*sched = (struct atf_sched){ .mapping = { bytes, size } };
	atf_say(message, "%s", "");
	return layout_read(sched, bytes, size, message);
}

static int open_fd(void *opened, int fd, struct atf_message *message)
{
	struct atf_sched **sched = opened;
	struct atf_mapping mapping;
	int status = atf_map(&mapping, fd, message);

	if (status)
		return status;
	*sched = calloc(1, sizeof **sched);
	status = *sched ? open_bytes(*sched, mapping.bytes, mapping.size, message) : atf_fail(message, ATF_ERROR_MEMORY, "out of memory");
	if (status) {
		atf_unmap(&mapping);
		free(*sched);
	}
	return status;
}

int atf_sched_open(struct atf_sched **sched, const char *path, struct atf_message *message)
{
	return atf_open_path(path, open_fd, sched, message);
}

void atf_sched_close(struct atf_sched *sched)
{
	if (!sched)
		return;
	atf_unmap(&sched->mapping);
	free(sched);
}

enum atf_completeness atf_sched_completeness(const struct atf_sched *sched)
{
	return sched->completeness;
}

const AtfSchedEvent *atf_sched_events(const struct atf_sched *sched, uint64_t *count)
{
	*count = sched->count;
	return (const AtfSchedEvent *)(sched->mapping.bytes + ATF_EVENTS_OFFSET);
}

/* --- checks --------------------------------------------------------------------------------------------------------------- */

static struct atf_summary summary_of(const struct atf_sched *sched)
{
	struct atf_summary summary = { .count = sched->count };
	const AtfSchedEvent *events = atf_sched_events(sched, &summary.count);

	if (!summary.count)
		return summary;
	summary.time_start_ns = events[0].timestamp_ns;
	summary.time_end_ns = events[summary.count - 1].timestamp_ns;
	summary.checksum = libdeflate_crc32(0, events, summary.count * EVENT_BYTES);
	return summary;
}

static void check_events(const struct atf_sched *sched, struct atf_verify *verify)
{
	struct atf_first falls = { 0 }, unknown = { 0 };
	uint64_t count;
	const AtfSchedEvent *events = atf_sched_events(sched, &count);

	for (uint64_t i = 0; i < count; i++) {
		if (i && events[i].timestamp_ns < events[i - 1].timestamp_ns)
			atf_count_first(&falls, i);
		if (events[i].kind < ATF_SCHED_OFF || events[i].kind >= ATF_SCHED_KINDS)
			atf_count_first(&unknown, i);
	}
	atf_report_first(verify, "times", &falls, "times fall, the first at event");
	atf_report_first(verify, "kinds", &unknown, "events of no known kind, the first is event");
}

int atf_sched_verify(const char *path, atf_finding *found, void *context)
{
	struct atf_verify verify = { .found = found, .context = context };
	struct atf_message message;
	struct atf_summary summary;
	struct atf_sched *sched;
	AtfSchedFooter footer;
	int status = atf_sched_open(&sched, path, &message);

	if (status)
		return status;
	summary = summary_of(sched);
	atf_report(&verify, "layout", sched->completeness != ATF_DAMAGED, "%s", message.text);
	if (sched->completeness == ATF_COMPLETE) {
		memcpy(&footer, sched->mapping.bytes + sched->mapping.size - sizeof footer, sizeof footer);
		if (footer.checksum == summary.checksum)
			atf_report(&verify, "checksum", true, "%s", "");
		else
			atf_report(&verify, "checksum", false, "of the events %08" PRIx32 ", the footer says %08" PRIx32, summary.checksum,
				   footer.checksum);
		if (footer.time_start_ns == summary.time_start_ns && footer.time_end_ns == summary.time_end_ns)
			atf_report(&verify, "bounds", true, "%s", "");
		else
			atf_report(&verify, "bounds", false, "the footer has other times than the first and last event");
	}
	check_events(sched, &verify);
	atf_sched_close(sched);
	return verify.failed;
}

/* --- recovery ------------------------------------------------------------------------------------------------------------- */

static int recover_file(int fd, const struct atf_sched *sched)
{
	struct atf_summary summary = summary_of(sched);
	AtfSchedHeader header;

	memcpy(&header, sched->mapping.bytes, sizeof header);
	if (ftruncate(fd, (off_t)(ATF_EVENTS_OFFSET + summary.count * EVENT_BYTES)) < 0)
		return -errno;
	return atf_sched_finish(fd, &header, &summary) ?: fsync(fd) < 0 ? -errno : 0;
}

int atf_sched_recover(const char *path, struct atf_message *message)
{
	struct atf_sched *sched;
	int status = atf_sched_open(&sched, path, message), fd;

	if (status)
		return status;
	if (sched->completeness == ATF_DAMAGED)
		status = -ATF_ERROR_CORRUPT;
	if (sched->completeness == ATF_NO_FOOTER) {
		fd = open(path, O_RDWR | O_CLOEXEC);
		status = fd < 0 ? atf_system(-errno) : atf_system(recover_file(fd, sched));
		if (fd >= 0)
			close(fd);
	}
	atf_sched_close(sched);
	return status;
}

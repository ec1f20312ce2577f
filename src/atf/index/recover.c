/* Recovery: gives what a crash left its footer and header.
 *
 * Blocks may reach a file in any order, so a crash can leave a hole: zero records between others. They become LOST
 * events of one event each with the time of the event before, so that positions (index_seq) and the order in time stay
 * right and the loss is counted. Nothing else in the events section changes. Cut short and done again it comes to the
 * same.
 */
#include "atf/index/verify.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define BATCH 1024

/* A hole at the very beginning has no event before it, and takes the time of the first event that there is. */
static uint64_t first_time_ns(const struct atf_index *index)
{
	uint64_t i;

	for (i = 0; i < index->layout.count; i++)
		if (!atf_is_zero(&index->events[i], sizeof index->events[i]))
			return index->events[i].timestamp_ns;
	return 0;
}

/* Writes a LOST event into each hole, then takes the CRC of all events. *lost counts the holes' records. */
static int recover_events(int fd, const struct atf_index *index, struct atf_summary *summary, uint64_t *lost)
{
	uint64_t last_ns = first_time_ns(index), done, i;
	struct ada_event batch[BATCH];

	*lost = 0;
	for (done = 0; done < summary->count; done += i) {
		uint64_t count = summary->count - done < BATCH ? summary->count - done : BATCH, lost_before = *lost;
		size_t bytes = count * sizeof *batch;
		int status = 0;

		memcpy(batch, index->events + done, bytes);
		for (i = 0; i < count; i++) {
			if (atf_is_zero(&batch[i], sizeof *batch)) {
				batch[i] = (struct ada_event){
					last_ns, 1, index->layout.header.thread_id, ADA_EVENT_LOST, 0, ADA_NO_DETAIL
				};
				++*lost;
			}
			last_ns = batch[i].timestamp_ns;
		}
		if (*lost > lost_before)
			status = ada_file_write_at(fd, batch, bytes, (off_t)(ATF_EVENTS_OFFSET + done * sizeof *batch));
		if (status)
			return status;
		if (!done)
			summary->time_start_ns = batch[0].timestamp_ns;
		summary->checksum = libdeflate_crc32(summary->checksum, batch, bytes);
	}
	if (summary->count)
		summary->time_end_ns = last_ns;
	return 0;
}

static int recover_file(int fd, const struct atf_index *index, bool has_detail, uint64_t *lost)
{
	AtfIndexHeader header = index->layout.header;
	struct atf_summary summary = { .count = index->layout.count };
	int status;

	status = recover_events(fd, index, &summary, lost);
	if (status)
		return status;
	if (index->layout.footer_offset && index->layout.footer.checksum != summary.checksum)
		return -EBADMSG;
	if (ftruncate(fd, (off_t)(ATF_EVENTS_OFFSET + summary.count * sizeof(struct ada_event))) < 0)
		return -errno;
	if (has_detail)
		header.flags |= ATF_FLAG_HAS_DETAIL;
	status = atf_finish(fd, &header, &summary);
	if (status)
		return status;
	return fsync(fd) < 0 ? -errno : 0;
}

int atf_index_name_detail(int fd)
{
	uint32_t flags;
	char magic[4];

	if (pread(fd, magic, sizeof magic, 0) != sizeof magic ||
	    pread(fd, &flags, sizeof flags, offsetof(AtfIndexHeader, flags)) != sizeof flags)
		return -EIO;
	flags |= ATF_FLAG_HAS_DETAIL;
	return atf_packed_is((const uint8_t *)magic, sizeof magic) ?
		       atf_pack_name_detail(fd) :
		       ada_file_write_at(fd, &flags, sizeof flags, offsetof(AtfIndexHeader, flags));
}

/* Whoever made the detail file was killed before the header named it. */
static int name_detail(int fd, struct atf_message *message)
{
	int status = atf_index_name_detail(fd);

	if (!status && fsync(fd) < 0)
		status = -errno;
	if (!status) {
		atf_say(message, "complete, and the header names its detail file now");
		return 0;
	}
	errno = -status;
	return atf_fail(message, ATF_ERROR_SYSTEM, "%s", strerror(errno));
}

static int recover_open(int fd, const char *path, const void *context, struct atf_message *message)
{
	struct atf_index *index;
	uint64_t lost, count;
	int status;

	status = atf_index_open_fd(&index, fd, message);
	if (status)
		return status;
	count = index->layout.count;
	if (index->layout.completeness == ATF_COMPLETE && !(index->layout.header.flags & ATF_FLAG_HAS_DETAIL) &&
	    atf_has_detail_file(path)) {
		status = name_detail(fd, message);
	} else if (index->layout.completeness == ATF_COMPLETE) {
		atf_say(message, "complete, nothing to do");
	} else if (index->layout.completeness == ATF_DAMAGED) {
		status = -ATF_ERROR_CORRUPT; /* and the message says how */
	} else if (index->packed) {
		status = atf_index_recover_packed(fd, path, index, &lost, message);
		if (!status && lost)
			atf_say(message, "recovered %" PRIu64 " events; %" PRIu64 " more were in blocks that are damaged", count - lost,
				lost);
		else if (!status)
			atf_say(message, "recovered %" PRIu64 " events", count);
	} else if ((status = recover_file(fd, index, atf_has_detail_file(path), &lost)) == -EBADMSG) {
		status = atf_fail(message, ATF_ERROR_CORRUPT, "damaged: the events do not have the footer's CRC32");
	} else if (status) {
		errno = -status;
		status = atf_fail(message, ATF_ERROR_SYSTEM, "%s", strerror(errno));
	} else if (lost) {
		atf_say(message, "recovered %" PRIu64 " events; %" PRIu64 " more never reached the file", count - lost, lost);
	} else {
		atf_say(message, "recovered %" PRIu64 " events", count);
	}
	atf_index_close(index);
	return status;
}

int atf_recover_path(const char *path, atf_recover_fd *recover_fd, const void *context, struct atf_message *message)
{
	struct atf_message reason;
	uint64_t size;
	int fd, status;

	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return atf_fail_of(message, path, ATF_ERROR_SYSTEM, strerror(errno));
	status = atf_file_size(fd, &size, &reason); /* before the lock: whoever has opened a device may hold its lock */
	if (!status && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		status = atf_fail(&reason, ATF_ERROR_SYSTEM, "still being written by another process");
	else if (!status)
		status = recover_fd(fd, path, context, &reason);
	atf_say_of(message, path, reason.text);
	close(fd);
	return status;
}

int atf_index_recover(const char *path, struct atf_message *message)
{
	return atf_recover_path(path, recover_open, NULL, message);
}

/* Recovery: gives what a crash left its footer and header.
 *
 * Blocks may reach a file in any order, so a crash can leave a hole: zero records between others. They become LOST events
 * of one event each with the time of the event before, so that positions (index_seq) and the order in time stay right and
 * the loss is counted. Nothing else in the events section changes. Done twice, or cut short and done again, it comes to
 * the same.
 */
#include "atf/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define BATCH 1024

/* Writes a LOST event in each hole, and takes the CRC of the events as they are then. *lost counts them. */
static int recover_events(int fd, const struct atf_index *index, struct atf_summary *summary, uint64_t *lost)
{
	uint64_t last_ns = 0, done, i;
	struct ada_event batch[BATCH];

	*lost = 0;
	for (done = 0; done < summary->count; done += i) {
		uint64_t count = summary->count - done < BATCH ? summary->count - done : BATCH, lost_before = *lost;
		size_t bytes = count * sizeof *batch;
		int status = 0;

		memcpy(batch, index->events + done, bytes);
		for (i = 0; i < count; i++) {
			if (atf_is_zero(&batch[i], sizeof *batch)) {
				batch[i] = (struct ada_event){ last_ns, 1, index->layout.header.thread_id, ADA_EVENT_LOST, 0,
							       ADA_NO_DETAIL };
				++*lost;
			}
			last_ns = batch[i].timestamp_ns;
		}
		if (*lost > lost_before)
			status = atf_pwrite_all(fd, batch, bytes, (off_t)(ATF_EVENTS_OFFSET + done * sizeof *batch));
		if (status)
			return status;
		if (!done)
			summary->time_start_ns = batch[0].timestamp_ns;
		summary->checksum = libdeflate_crc32(summary->checksum, batch, bytes);
	}
	summary->time_end_ns = last_ns;
	return 0;
}

static int recover_file(int fd, const struct atf_index *index, uint64_t *lost)
{
	struct atf_summary summary = { .count = index->layout.count };
	int status;

	status = recover_events(fd, index, &summary, lost);
	if (status)
		return status;
	if (ftruncate(fd, (off_t)(ATF_EVENTS_OFFSET + summary.count * sizeof(struct ada_event))) < 0)
		return -errno;
	status = atf_finish(fd, &index->layout.header, &summary);
	if (status)
		return status;
	return fsync(fd) < 0 ? -errno : 0;
}

static int recover_open(int fd, const char *path, struct atf_message *message)
{
	struct atf_index *index;
	uint64_t lost, count;
	int status;

	status = atf_index_open(&index, path, message);
	if (status)
		return status;
	count = index->layout.count;
	if (index->layout.completeness == ATF_COMPLETE) {
		atf_say(message, "%.200s: complete, nothing to do", path);
	} else if (index->layout.completeness == ATF_DAMAGED) {
		status = -ATF_ERROR_CORRUPT;	/* and the message says how */
	} else {
		status = recover_file(fd, index, &lost);
		if (status) {
			errno = -status;
			status = atf_fail(message, ATF_ERROR_SYSTEM, "%.180s: %s", path, strerror(errno));
		} else if (lost) {
			atf_say(message, "%.130s: recovered %" PRIu64 " events, %" PRIu64 " more never reached the file", path,
				count - lost, lost);
		} else {
			atf_say(message, "%.180s: recovered %" PRIu64 " events", path, count);
		}
	}
	atf_index_close(index);
	return status;
}

int atf_index_recover(const char *path, struct atf_message *message)
{
	int fd, status;

	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return atf_fail(message, ATF_ERROR_SYSTEM, "%.180s: %s", path, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		status = atf_fail(message, ATF_ERROR_SYSTEM, "%.180s: still being written by another process", path);
	else
		status = recover_open(fd, path, message);
	close(fd);
	return status;
}

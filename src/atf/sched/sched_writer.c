/* Writes a sched.atf. Batches go to the file as they come: whoever is killed has lost the batch at hand. */
#include "atf/sched/finish.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/file.h"

struct atf_sched_writer {
	int fd, failed; /* failed: -errno */
	AtfSchedHeader header;
	struct atf_summary summary;
};

int atf_sched_writer_open(struct atf_sched_writer **opened, const char *path, uint32_t cpus, uint32_t flags)
{
	struct atf_sched_writer *writer = calloc(1, sizeof *writer);
	int status;

	if (!writer)
		return -ATF_ERROR_MEMORY;
	writer->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (writer->fd < 0) {
		status = atf_system(-errno);
		free(writer);
		return status;
	}
	atf_sched_header_start(&writer->header, cpus, flags);
	writer->failed = ada_file_write_at(writer->fd, &writer->header, sizeof writer->header, 0);
	*opened = writer;
	return 0;
}

int atf_sched_writer_append(struct atf_sched_writer *writer, AtfSchedEvent *events, size_t count)
{
	struct atf_summary *summary = &writer->summary;
	uint64_t last_ns = summary->time_end_ns;

	if (writer->failed || !count)
		return atf_system(writer->failed);
	for (size_t i = 0; i < count; i++) {
		if (events[i].timestamp_ns < last_ns)
			events[i].timestamp_ns = last_ns;
		last_ns = events[i].timestamp_ns;
	}
	writer->failed = ada_file_write_at(writer->fd, events, count * sizeof *events,
					   (off_t)(ATF_EVENTS_OFFSET + summary->count * sizeof *events));
	if (writer->failed)
		return atf_system(writer->failed);
	if (!summary->count)
		summary->time_start_ns = events[0].timestamp_ns;
	summary->time_end_ns = last_ns;
	summary->checksum = libdeflate_crc32(summary->checksum, events, count * sizeof *events);
	summary->count += count;
	return 0;
}

static int writer_end(struct atf_sched_writer *writer, bool durable)
{
	off_t end = (off_t)(ATF_EVENTS_OFFSET + writer->summary.count * sizeof(AtfSchedEvent));
	int status = 0;

	/* Where the disk has been in trouble: what was written before is finished, if it can be by now. */
	if (writer->failed && ftruncate(writer->fd, end) < 0)
		status = -errno;
	if (!status)
		status = atf_sched_finish(writer->fd, &writer->header, &writer->summary);
	if (!status && durable && fsync(writer->fd) < 0)
		status = -errno;
	close(writer->fd);
	free(writer);
	return atf_system(status);
}

int atf_sched_writer_close(struct atf_sched_writer *writer)
{
	return writer_end(writer, true);
}

int atf_sched_writer_leave(struct atf_sched_writer *writer)
{
	return writer_end(writer, false);
}

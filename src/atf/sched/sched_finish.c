/* Footer and header of a sched.atf: made here for the writer and for recovery. */
#include "atf/sched/finish.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"

void atf_sched_header_start(AtfSchedHeader *header, uint32_t cpus, uint32_t flags)
{
	*header = (AtfSchedHeader){
		.endian = ATF_ENDIAN_LITTLE,
		.version = ATF_VERSION,
		.arch = ATF_ARCH_X86_64,
		.os = ATF_OS_LINUX,
		.flags = flags,
		.cpus = cpus,
		.clock_type = ATF_CLOCK_BOOTTIME,
		.event_size = sizeof(AtfSchedEvent),
		.events_offset = ATF_EVENTS_OFFSET,
	};
	memcpy(header->magic, ATF_SCHED_MAGIC, sizeof header->magic);
}

int atf_sched_finish(int fd, const AtfSchedHeader *header, const struct atf_summary *summary)
{
	uint64_t bytes = summary->count * sizeof(AtfSchedEvent);
	off_t end = (off_t)(ATF_EVENTS_OFFSET + bytes);
	AtfSchedHeader finished = *header;
	AtfSchedFooter footer = { .checksum = summary->checksum,
				  .event_count = summary->count,
				  .time_start_ns = summary->time_start_ns,
				  .time_end_ns = summary->time_end_ns,
				  .bytes_written = bytes };
	int status;

	memcpy(footer.magic, ATF_SCHED_FOOTER_MAGIC, sizeof footer.magic);
	finished.event_count = summary->count;
	finished.time_start_ns = summary->time_start_ns;
	finished.time_end_ns = summary->time_end_ns;
	status = ada_file_write_at(fd, &footer, sizeof footer, end);
	/* Where the disk has room for a part of it, that would be read as one more event. */
	if (status && ftruncate(fd, end) < 0)
		return -errno;
	return status ? status : ada_file_write_at(fd, &finished, sizeof finished, 0);
}

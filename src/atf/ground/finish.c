/* Header and footer of an index file: made here for the writer and for recovery. */
#include "atf/ground/ground.h"
#include "base/file.h"

#include <string.h>

void atf_header_start(AtfIndexHeader *header, uint32_t thread_id, uint8_t arch)
{
	*header = (AtfIndexHeader){
		.endian = ATF_ENDIAN_LITTLE,
		.version = ATF_VERSION,
		.arch = arch,
		.os = ATF_OS_LINUX,
		.thread_id = thread_id,
		.clock_type = ATF_CLOCK_BOOTTIME,
		.event_size = sizeof(struct ada_event),
		.events_offset = ATF_EVENTS_OFFSET,
	};
	memcpy(header->magic, ATF_INDEX_MAGIC, sizeof header->magic);
}

void atf_header_finish(AtfIndexHeader *header, const struct atf_summary *summary)
{
	header->event_count = summary->count < UINT32_MAX ? (uint32_t)summary->count : UINT32_MAX;
	header->footer_offset = ATF_EVENTS_OFFSET + summary->count * sizeof(struct ada_event);
	header->time_start_ns = summary->time_start_ns;
	header->time_end_ns = summary->time_end_ns;
}

void atf_footer_fill(AtfIndexFooter *footer, const struct atf_summary *summary)
{
	*footer = (AtfIndexFooter){
		.checksum = summary->checksum,
		.event_count = summary->count,
		.time_start_ns = summary->time_start_ns,
		.time_end_ns = summary->time_end_ns,
		.bytes_written = summary->count * sizeof(struct ada_event),
	};
	memcpy(footer->magic, ATF_INDEX_FOOTER_MAGIC, sizeof footer->magic);
}

int atf_finish(int fd, const AtfIndexHeader *header, const struct atf_summary *summary)
{
	AtfIndexHeader finished = *header;
	AtfIndexFooter footer;
	int status;

	atf_header_finish(&finished, summary);
	atf_footer_fill(&footer, summary);
	status = ada_file_write_at(fd, &footer, sizeof footer, (off_t)finished.footer_offset);
	return status ? status : ada_file_write_at(fd, &finished, sizeof finished, 0);
}

/* Header, tables and footer of a detail file: made here for the writer and for recovery. */
#include "atf/detail/detail.h"
#include "base/file.h"

#include <libdeflate.h>
#include <string.h>

void atf_detail_count_in(struct atf_detail_summary *summary, const struct atf_detail *record, const uint8_t *bytes, size_t length)
{
	if (!summary->count) {
		summary->time_start_ns = record->timestamp_ns;
		summary->index_seq_start = record->index_seq;
	}
	summary->time_end_ns = record->timestamp_ns;
	summary->index_seq_end = record->index_seq;
	summary->checksum = libdeflate_crc32(summary->checksum, bytes, length);
	summary->bytes += length;
	summary->count++;
}

void atf_detail_header_start(AtfDetailHeader *header, uint32_t thread_id, uint8_t arch)
{
	*header = (AtfDetailHeader){
		.endian = ATF_ENDIAN_LITTLE,
		.version = ATF_VERSION,
		.arch = arch,
		.os = ATF_OS_LINUX,
		.thread_id = thread_id,
		.events_offset = ATF_EVENTS_OFFSET,
	};
	memcpy(header->magic, ATF_DETAIL_MAGIC, sizeof header->magic);
}

void atf_detail_header_finish(AtfDetailHeader *header, const struct atf_detail_summary *summary)
{
	header->event_count = summary->count;
	header->bytes_length = summary->bytes;
	header->index_seq_start = summary->index_seq_start;
	header->index_seq_end = summary->index_seq_end;
}

uint64_t atf_detail_tables_offset(uint64_t bytes)
{
	return (ATF_EVENTS_OFFSET + bytes + 7) & ~7ull;
}

uint32_t atf_detail_tables_checksum(const uint64_t *offsets, uint64_t count, const AtfDetailWindow *windows, uint64_t window_count)
{
	uint32_t checksum = 0;

	if (count) /* NULL would begin a new CRC */
		checksum = libdeflate_crc32(checksum, offsets, count * sizeof *offsets);
	if (window_count)
		checksum = libdeflate_crc32(checksum, windows, window_count * sizeof *windows);
	return checksum;
}

int atf_detail_finish(int fd, const AtfDetailHeader *header, const struct atf_detail_summary *summary, const uint64_t *offsets,
		      const AtfDetailWindow *windows, size_t window_count)
{
	static const uint8_t padding[8];
	uint64_t end = ATF_EVENTS_OFFSET + summary->bytes, tables = atf_detail_tables_offset(summary->bytes);
	size_t offsets_bytes = summary->count * sizeof *offsets, windows_bytes = window_count * sizeof *windows;
	AtfDetailHeader finished = *header;
	AtfDetailFooter footer = {
		.checksum = summary->checksum,
		.event_count = summary->count,
		.bytes_length = summary->bytes,
		.time_start_ns = summary->time_start_ns,
		.time_end_ns = summary->time_end_ns,
		.tables_offset = tables,
		.window_count = window_count,
		.tables_checksum = atf_detail_tables_checksum(offsets, summary->count, windows, window_count),
	};
	int status;

	memcpy(footer.magic, ATF_DETAIL_FOOTER_MAGIC, sizeof footer.magic);
	atf_detail_header_finish(&finished, summary);
	status = ada_file_write_at(fd, padding, tables - end, (off_t)end);
	if (!status)
		status = ada_file_write_at(fd, offsets, offsets_bytes, (off_t)tables);
	if (!status)
		status = ada_file_write_at(fd, windows, windows_bytes, (off_t)(tables + offsets_bytes));
	if (!status)
		status = ada_file_write_at(fd, &footer, sizeof footer, (off_t)(tables + offsets_bytes + windows_bytes));
	return status ? status : ada_file_write_at(fd, &finished, sizeof finished, 0);
}

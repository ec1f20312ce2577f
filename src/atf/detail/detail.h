/* What the files of libatf share about detail files. */
#ifndef ADA_ATF_DETAIL_H
#define ADA_ATF_DETAIL_H
#include "atf/index/index.h"

#pragma GCC visibility push(hidden)

#define ATF_DETAIL_STACK_MAX 256u
#define ATF_DETAIL_BYTES_MIN (sizeof(DetailEventHeader) + sizeof(DetailFunctionPayload))

/* --- one record: detail_record.c ---------------------------------------------------------------------------------- */

/* Writes the record, at most ATF_DETAIL_BYTES_MAX bytes: its length. */
size_t atf_detail_encode(uint8_t *bytes, const struct atf_detail *record, uint32_t thread_id);
/* The record at `bytes`, of which `room` may be read: its length, or 0 where no whole record of this thread stands there. Its
 * detail_seq is not known here (ADA_NO_DETAIL); the stack's bytes stay where they are. */
size_t atf_detail_decode(struct atf_detail *record, const uint8_t *bytes, uint64_t room, uint32_t thread_id);

/* --- header, tables and footer as they belong to these records: detail_finish.c ------------------------------------- */
struct atf_detail_summary {
	uint64_t count, bytes;
	uint64_t time_start_ns, time_end_ns;
	uint64_t index_seq_start, index_seq_end;
	uint32_t checksum;
};
void atf_detail_count_in(struct atf_detail_summary *summary, const struct atf_detail *record, const uint8_t *bytes, size_t length);
void atf_detail_header_start(AtfDetailHeader *header, uint32_t thread_id, uint8_t arch);
void atf_detail_header_finish(AtfDetailHeader *header, const struct atf_detail_summary *summary);
uint64_t atf_detail_tables_offset(uint64_t bytes);
uint32_t atf_detail_tables_checksum(const uint64_t *offsets, uint64_t count, const AtfDetailWindow *windows, uint64_t window_count);
/* Tables, footer, then header: a header that was finished is never older than the rest. 0 or -errno. */
int atf_detail_finish(int fd, const AtfDetailHeader *header, const struct atf_detail_summary *summary, const uint64_t *offsets,
		      const AtfDetailWindow *windows, size_t window_count);

/* --- a file: detail_layout.c finds out what it holds, detail.c answers ------------------------------------------------ */
struct atf_detail_file {
	struct atf_mapping mapping; /* size 0: the bytes are the caller's */
	const uint8_t *bytes;
	uint64_t size;
	bool mapped;		/* the bytes are a file's pages, which may be released */
	AtfDetailHeader header; /* a copy: the file may still be written */
	AtfDetailFooter footer; /* zero where there is none */
	bool has_footer;
	enum atf_completeness completeness;
	uint64_t count;
	uint64_t end;		 /* of the records: nothing behind it is one */
	const uint64_t *offsets; /* count of them: the file's table, or `scanned` */
	uint64_t *scanned;
	const AtfDetailWindow *windows; /* of sound tables only */
	uint64_t window_count;
};
int atf_detail_layout_read(struct atf_detail_file *file, struct atf_message *message);
int atf_detail_open_fd(struct atf_detail_file **file, int fd, struct atf_message *message);
/* As atf_index_open_bytes. */
int atf_detail_open_bytes(struct atf_detail_file **file, const void *bytes, size_t size, struct atf_message *message);
/* The window that holds this record, or NULL. */
const AtfDetailWindow *atf_detail_window_of(const struct atf_detail_file *file, uint64_t ordinal);

#pragma GCC visibility pop
#endif

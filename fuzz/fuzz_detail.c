/* Any bytes as a detail file: the reader never looks outside of them and never contradicts itself, verify makes up its mind, and
 * what recovery has mended is complete and holds the same records. */
#include <assert.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include "atf/detail/detail.h"
#include "memory.h"

#define PATH FUZZ_MEMORY "/detail.atf"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Each window's records are found by their detail_seq. */
static void find_all(const struct atf_detail_file *file)
{
	uint64_t i, ordinal = 0;
	struct atf_detail record, found;
	AtfDetailWindow window;

	for (i = 0; atf_detail_window(file, i, &window) == 0; i++) {
		assert(window.first_ordinal == ordinal);
		for (; ordinal < window.first_ordinal + window.event_count; ordinal++) {
			uint32_t seq = (uint32_t)(window.first_detail_seq + (ordinal - window.first_ordinal));

			if (atf_detail_get(file, ordinal, &record))
				continue;
			assert(record.detail_seq == seq);
			assert(atf_detail_find(file, seq, &found) == 0 && found.stack == record.stack);
		}
	}
	assert(!i || ordinal == atf_detail_count(file));
}

static void read_bytes(const uint8_t *bytes, size_t length)
{
	struct atf_detail_file *file;
	struct atf_message message;
	struct atf_detail record;
	struct atf_captured captured;
	uint64_t i, count, sum = 0;
	int status = atf_detail_open_bytes(&file, bytes, length, &message);

	assert((status < 0) == !file);
	assert(!strchr(message.text, '\n'));
	if (!file) {
		assert(message.text[0]);
		return;
	}
	count = atf_detail_count(file);
	assert(count <= (length - 64) / ATF_DETAIL_BYTES_MIN);
	assert((atf_detail_completeness(file) == ATF_COMPLETE) == !message.text[0]);
	for (i = 0; i < count; i++) {
		status = atf_detail_get(file, i, &record);
		assert(status == 0 || status == -ATF_ERROR_CORRUPT);
		if (status)
			continue;
		assert(record.stack >= bytes && record.stack + record.stack_size <= bytes + length);
		for (uint32_t at = 0; atf_detail_captured(&record, &at, &captured);)
			assert(captured.bytes >= bytes && captured.bytes + captured.length <= bytes + length);
		sum += record.stack_size ? record.stack[record.stack_size - 1] : record.index_seq;
		atf_detail_find_index(file, record.index_seq, &record);
	}
	assert(atf_detail_get(file, count, &record) == -ATF_ERROR_RANGE);
	atf_detail_find(file, (uint32_t)sum, &record);
	atf_detail_find_index(file, (uint32_t)sum, &record);
	find_all(file);
	atf_detail_close(file);
}

static void count_findings(void *context, const char *check, bool ok, const char *message)
{
	assert(ok || message[0]);
	*(int *)context += !ok;
}

static void mend_file(void)
{
	struct atf_detail_file *file;
	struct atf_message message;
	uint64_t count = 0;
	int failed = 0, returned = atf_detail_verify(PATH, NULL, count_findings, &failed);

	assert(returned == failed);
	if (atf_detail_open(&file, PATH, NULL) == 0)
		count = atf_detail_count(file);
	atf_detail_close(file);
	returned = atf_detail_recover(PATH, &message);
	assert(message.text[0]);
	if (returned == 0) {
		assert(atf_detail_open(&file, PATH, &message) == 0);
		assert(atf_detail_completeness(file) == ATF_COMPLETE && atf_detail_count(file) == count);
		atf_detail_close(file);
	}
}

/* A CRC32 is not to be guessed: as if a hostile writer had made the tables' one right. */
static void make_tables_believed(uint8_t *bytes, size_t length)
{
	AtfDetailFooter *footer = (AtfDetailFooter *)(bytes + length - sizeof *footer);

	if (length >= 128 && footer->tables_offset <= length - sizeof *footer)
		footer->tables_checksum = libdeflate_crc32(0, bytes + footer->tables_offset,
							   length - sizeof *footer - footer->tables_offset);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	uint8_t *aligned = malloc(length ? length : 1);

	if (length)
		memcpy(aligned, bytes, length);
	read_bytes(aligned, length);
	make_tables_believed(aligned, length);
	read_bytes(aligned, length);
	fuzz_file_put(PATH, aligned, length);
	free(aligned);
	mend_file();
	return 0;
}

/* Reader of a detail file: look-ups in a mapping, by the layout that detail_layout.c found in it. */
#include "atf/detail/detail.h"
#include "base/array.h"

#include <stdlib.h>

static int open_bytes(struct atf_detail_file **file_out, const void *bytes, size_t size, bool mapped, struct atf_message *message)
{
	struct atf_detail_file *file = calloc(1, sizeof *file);
	int status;

	*file_out = NULL;
	if (!file)
		return atf_fail(message, ATF_ERROR_MEMORY, "out of memory");
	file->bytes = bytes;
	file->size = size;
	file->mapped = mapped;
	status = atf_detail_layout_read(file, message);
	if (status == -ATF_ERROR_MEMORY)
		atf_say(message, "out of memory");
	if (status) {
		atf_detail_close(file);
		return status;
	}
	*file_out = file;
	return 0;
}

int atf_detail_open_bytes(struct atf_detail_file **file, const void *bytes, size_t size, struct atf_message *message)
{
	return open_bytes(file, bytes, size, false, message);
}

/* As atf_index_open_fd: a file that grew while we looked may just have been finished. */
int atf_detail_open_fd(struct atf_detail_file **file, int fd, struct atf_message *message)
{
	int tries = 3, status;

	for (;;) {
		struct atf_mapping mapping;

		status = atf_map(&mapping, fd, message);
		if (status)
			return status;
		status = open_bytes(file, mapping.bytes, mapping.size, true, message);
		if (status) {
			atf_unmap(&mapping);
			return status;
		}
		(*file)->mapping = mapping;
		atf_unneed(&mapping, mapping.bytes, mapping.bytes + mapping.size + 4095); /* as in atf_index_open_fd */
		if ((*file)->completeness != ATF_DAMAGED || !--tries || !atf_has_grown(fd, mapping.size))
			return 0;
		atf_detail_close(*file);
	}
}

static int open_fd(void *file, int fd, struct atf_message *message)
{
	return atf_detail_open_fd(file, fd, message);
}

int atf_detail_open(struct atf_detail_file **file, const char *path, struct atf_message *message)
{
	*file = NULL;
	return atf_open_path(path, open_fd, file, message);
}

void atf_detail_close(struct atf_detail_file *file)
{
	if (!file)
		return;
	atf_unmap(&file->mapping);
	free(file->scanned);
	free(file);
}

enum atf_completeness atf_detail_completeness(const struct atf_detail_file *file)
{
	return file->completeness;
}

const AtfDetailHeader *atf_detail_header(const struct atf_detail_file *file)
{
	return &file->header;
}

uint64_t atf_detail_count(const struct atf_detail_file *file)
{
	return file->count;
}

uint64_t atf_detail_window_count(const struct atf_detail_file *file)
{
	return file->window_count;
}

int atf_detail_window(const struct atf_detail_file *file, uint64_t number, AtfDetailWindow *window)
{
	if (number >= file->window_count)
		return -ATF_ERROR_RANGE;
	*window = file->windows[number];
	return 0;
}

/* --- look-ups ----------------------------------------------------------------------------------------------------- */

/* The last window whose key is at most `value`. */
static const AtfDetailWindow *find_window(const struct atf_detail_file *file, bool by_ordinal, uint64_t value)
{
	const AtfDetailWindow *windows = file->windows;
	uint64_t behind = ada_first_not(i, 0, file->window_count,
					(by_ordinal ? windows[i].first_ordinal : windows[i].first_detail_seq) <= value);

	return behind ? &windows[behind - 1] : NULL;
}

const AtfDetailWindow *atf_detail_window_of(const struct atf_detail_file *file, uint64_t ordinal)
{
	return ordinal < file->count ? find_window(file, true, ordinal) : NULL;
}

/* The record at this place, whatever the table says: all that is read lies before the records' end. */
static int record_read(const struct atf_detail_file *file, uint64_t ordinal, struct atf_detail *record)
{
	uint64_t offset = file->offsets[ordinal];

	if (offset < ATF_EVENTS_OFFSET || offset > file->end ||
	    !atf_detail_decode(record, file->bytes + offset, file->end - offset, file->header.thread_id))
		return -ATF_ERROR_CORRUPT;
	return 0;
}

int atf_detail_get(const struct atf_detail_file *file, uint64_t ordinal, struct atf_detail *record)
{
	const AtfDetailWindow *window;
	int status;

	if (ordinal >= file->count)
		return -ATF_ERROR_RANGE;
	status = record_read(file, ordinal, record);
	if (status)
		return status;
	window = atf_detail_window_of(file, ordinal);
	if (window)
		record->detail_seq = (uint32_t)(window->first_detail_seq + (ordinal - window->first_ordinal));
	return 0;
}

int atf_detail_find(const struct atf_detail_file *file, uint32_t detail_seq, struct atf_detail *record)
{
	const AtfDetailWindow *window;

	if (detail_seq == ADA_NO_DETAIL || !file->count)
		return ATF_NOT_PERSISTED;
	if (!file->window_count)
		return -ATF_ERROR_RANGE;
	window = find_window(file, false, detail_seq);
	if (!window || detail_seq - window->first_detail_seq >= window->event_count)
		return ATF_NOT_PERSISTED;
	return atf_detail_get(file, window->first_ordinal + (detail_seq - window->first_detail_seq), record);
}

int atf_detail_find_index(const struct atf_detail_file *file, uint32_t index_seq, struct atf_detail *record)
{
	uint64_t low = 0, high = file->count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		int status = record_read(file, middle, record);

		if (status)
			return status;
		if (record->index_seq == index_seq)
			return atf_detail_get(file, middle, record);
		if (record->index_seq < index_seq)
			low = middle + 1;
		else
			high = middle;
	}
	return ATF_NOT_PERSISTED;
}

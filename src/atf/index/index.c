/* Reader of an index file: a mapping, or a small file's bytes, and the layout that layout.c found in it. */
#include "atf/index/index.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "abi/page.h"
#include "atf/ground/stream.h"
#include "base/file.h"

#define HOLE_MAX (256u << 10)									   /* events: 8 MiB */
#define FLIGHT_EVENTS ((ATF_STREAM_SLOTS + 1) * ATF_STREAM_BLOCK_BYTES / sizeof(struct ada_event)) /* behind the first on its way */
#define PAGE_EVENTS (ADA_PAGE_BYTES / sizeof(struct ada_event))
#define HEADER_EVENTS (ATF_EVENTS_OFFSET / sizeof(struct ada_event)) /* that take as much room */
#define SMALL_BYTES ADA_PAGE_BYTES				     /* which the mapping would hold as well */
#define AROUND_EVENTS 2048u					     /* that the kernel maps beside the one touched: 64 KiB */

static int index_new(struct atf_index **index_out, const struct atf_layout *layout, const void *bytes, struct atf_message *message)
{
	struct atf_index *index = calloc(1, sizeof *index);

	*index_out = index;
	if (!index)
		return atf_fail(message, ATF_ERROR_MEMORY, "out of memory");
	index->layout = *layout;
	index->events = (const struct ada_event *)((const uint8_t *)bytes + ATF_EVENTS_OFFSET);
	return 0;
}

/* Of a packed file, as if its bytes were those of the plain one. */
static int packed_open(struct atf_index *index, const void *bytes, uint64_t size, struct atf_message *message)
{
	const struct atf_packed_layout *packed;
	int status = atf_packed_open(&index->packed, bytes, size, message);

	if (status)
		return status;
	packed = atf_packed_layout(index->packed);
	index->layout = (struct atf_layout){
		.header = packed->header,
		.footer = packed->footer,
		.count = packed->count,
		.completeness = packed->completeness,
		.footer_offset = packed->footer.magic[0] ? ATF_EVENTS_OFFSET + packed->count * sizeof(struct ada_event) : 0,
		.size = size,
	};
	return 0;
}

int atf_index_open_bytes(struct atf_index **index, const void *bytes, size_t size, struct atf_message *message)
{
	struct atf_layout layout;
	int status;

	if (atf_packed_is(bytes, size)) {
		*index = calloc(1, sizeof **index);
		status = *index ? packed_open(*index, bytes, size, message) : atf_fail(message, ATF_ERROR_MEMORY, "out of memory");
		if (status) {
			free(*index);
			*index = NULL;
		}
		return status;
	}
	status = atf_layout_read(&layout, bytes, size, message);

	*index = NULL;
	return status ? status : index_new(index, &layout, bytes, message);
}

/* For most files the two ends say all. Reading them touches no page of the mapping; with a thousand threads such page faults would be
 * most of the time that opening takes. */
static int open_ends(struct atf_index **index, int fd, const struct atf_mapping *mapping, struct atf_message *message)
{
	uint8_t head[64], tail[64];
	struct atf_layout layout;
	int status;

	if (atf_read_ends(fd, mapping->size, head, tail) && atf_layout_read_ends(&layout, head, tail, mapping->size, message))
		return index_new(index, &layout, mapping->bytes, message);
	status = atf_index_open_bytes(index, mapping->bytes, mapping->size, message);
	/* What the kernel has mapped around header and footer. */
	if (!status)
		atf_unneed(mapping, mapping->bytes, mapping->bytes + mapping->size + 4095);
	return status;
}

static int open_mapping(struct atf_index **index, int fd, uint64_t size, struct atf_message *message)
{
	struct atf_mapping mapping;
	int status = atf_map_bytes(&mapping, fd, size, message);

	if (status)
		return status;
	status = open_ends(index, fd, &mapping, message);
	if (status)
		atf_unmap(&mapping);
	else
		(*index)->mapping = mapping;
	return status;
}

/* Of thousands of threads most did little: mapping, touching and unmapping a page costs several times what reading the page does. */
static int open_small(struct atf_index **index_out, int fd, uint64_t size, struct atf_message *message)
{
	struct atf_layout layout = { 0 };
	struct atf_index *index;
	uint8_t bytes[SMALL_BYTES];
	int status;

	/* The file shrinks right now, or its disk fails: the mapping tells whoever reads it. */
	if (pread(fd, bytes, size, 0) != (ssize_t)size)
		return open_mapping(index_out, fd, size, message);
	status = atf_packed_is(bytes, size) ? 0 : atf_layout_read(&layout, bytes, size, message);
	if (status)
		return status;
	index = calloc(1, sizeof *index + size);
	if (!index)
		return atf_fail(message, ATF_ERROR_MEMORY, "out of memory");
	memcpy(index->copy, bytes, size);
	if (atf_packed_is(bytes, size)) {
		status = packed_open(index, index->copy, size, message);
	} else {
		index->layout = layout;
		index->events = (const struct ada_event *)((const uint8_t *)index->copy + ATF_EVENTS_OFFSET);
	}
	if (status)
		free(index);
	else
		*index_out = index;
	return status;
}

/* A file that its writer finishes right now has a header that is newer than the size we saw: then look again. */
int atf_index_open_fd(struct atf_index **index, int fd, struct atf_message *message)
{
	int tries = 3, status;
	uint64_t size;

	for (;;) {
		status = atf_file_size(fd, &size, message);
		if (!status)
			status = size && size <= SMALL_BYTES ? open_small(index, fd, size, message) :
							       open_mapping(index, fd, size, message);
		if (status)
			return status;
		if ((*index)->layout.completeness != ATF_DAMAGED || !--tries || !atf_has_grown(fd, size))
			return 0;
		atf_index_close(*index);
	}
}

static int open_fd(void *index, int fd, struct atf_message *message)
{
	return atf_index_open_fd(index, fd, message);
}

int atf_index_open(struct atf_index **index, const char *path, struct atf_message *message)
{
	*index = NULL;
	return atf_open_path(path, open_fd, index, message);
}

void atf_index_close(struct atf_index *index)
{
	if (!index)
		return;
	atf_packed_close(index->packed);
	atf_unmap(&index->mapping);
	free(index);
}

/* The first event of those that may be on their way whose place was never written; the count where there is none. Each page is written from
 * its beginning on: its last place tells. */
static uint64_t hole_of(const struct atf_index *index)
{
	uint64_t count = index->layout.count, at = count > FLIGHT_EVENTS ? count - FLIGHT_EVENTS : 0;

	for (at |= PAGE_EVENTS - 1; at - HEADER_EVENTS < count; at += PAGE_EVENTS) {
		uint64_t hole = at - HEADER_EVENTS;

		if (index->events[hole].event_kind)
			continue;
		while (hole && (hole + HEADER_EVENTS) % PAGE_EVENTS && !index->events[hole - 1].event_kind)
			hole--;
		return hole;
	}
	return count;
}

void atf_index_end_at_hole(struct atf_index *index, const char *path)
{
	uint64_t hole;

	if (index->packed || index->layout.completeness != ATF_NO_FOOTER || index->layout.size < ATF_STREAM_BLOCK_BYTES)
		return;
	hole = hole_of(index);
	if (hole < index->layout.count && ada_file_is_held(path, O_NOFOLLOW))
		index->layout.count = hole;
	atf_unneed(&index->mapping, index->mapping.bytes, index->mapping.bytes + index->mapping.size);
}

enum atf_completeness atf_index_completeness(const struct atf_index *index)
{
	return index->layout.completeness;
}

const AtfIndexHeader *atf_index_header(const struct atf_index *index)
{
	return &index->layout.header;
}

uint64_t atf_index_count(const struct atf_index *index)
{
	return index->layout.count;
}

const struct ada_event *atf_index_events(const struct atf_index *index)
{
	return index->packed ? atf_packed_all(index->packed) : index->events;
}

const struct ada_event *atf_index_run(const struct atf_index *index, uint64_t index_seq, uint64_t *count)
{
	/* What can't be read is lost, here for want of memory. */
	static const struct ada_event lost = { 0, 1, 0, ADA_EVENT_LOST, 0, ADA_NO_DETAIL };
	const struct ada_event *events;

	*count = index->layout.count - index_seq;
	if (!index->packed)
		return index->events + index_seq;
	events = atf_packed_run(index->packed, index_seq, count);
	if (events)
		return events;
	*count = 1;
	return &lost;
}

void atf_index_release(const struct atf_index *index, uint64_t from, uint64_t to)
{
	if (index->packed)
		atf_packed_release(index->packed, from, to);
	else
		atf_unneed(&index->mapping, index->events + from, index->events + to);
}

void atf_index_ahead(const struct atf_index *index, uint64_t from, uint64_t to)
{
	const uint8_t *begin, *end;

	if (!index->packed || from >= to)
		return;
	atf_packed_place(index->packed, from, to, &begin, &end);
	atf_need(&index->mapping, begin, end);
}

bool atf_index_walk(const struct atf_index *index, struct atf_packed_walk *walk, uint64_t index_seq, uint64_t most)
{
	return index->packed && atf_packed_walk_open(walk, index->packed, index_seq, most);
}

uint64_t atf_index_block(const struct atf_index *index, uint64_t index_seq)
{
	return index->packed ? atf_packed_block(index->packed, index_seq) : index_seq;
}

uint64_t atf_index_calls_from(const struct atf_index *index, uint64_t index_seq)
{
	return index->packed ? atf_packed_calls_from(index->packed, index_seq) : index_seq;
}

int atf_index_open_calls(const struct atf_index *index, uint64_t index_seq, struct atf_packed_open_calls *open)
{
	*open = (struct atf_packed_open_calls){};
	return index->packed ? atf_packed_open_calls(index->packed, index_seq, open) : -ATF_ERROR_INVALID;
}

bool atf_index_maps(const struct atf_index *index, uintptr_t address)
{
	return address - (uintptr_t)index->mapping.bytes < index->mapping.size;
}

int atf_index_get(const struct atf_index *index, uint64_t index_seq, struct ada_event *event)
{
	uint64_t count;

	if (index_seq >= index->layout.count)
		return -ATF_ERROR_RANGE;
	*event = *atf_index_run(index, index_seq, &count);
	return 0;
}

/* A search over many events looks at one event here and one there, and each look maps what lies around. */
static void forget_around(const struct atf_index *index, uint64_t first, uint64_t last)
{
	uint64_t from = first > AROUND_EVENTS ? first - AROUND_EVENTS : 0;
	uint64_t to = index->layout.count - last > AROUND_EVENTS ? last + AROUND_EVENTS : index->layout.count;

	atf_unneed(&index->mapping, index->events + from, index->events + to);
}

/* Times don't fall in a packed file, and each of its events was written. */
static uint64_t packed_lower_bound(const struct atf_index *index, uint64_t ns)
{
	const struct atf_packed_layout *layout = atf_packed_layout(index->packed);
	uint64_t block = ada_array_below(&layout->entries, first_ns, ns), first, count;
	const struct ada_event *events;

	if (!block)
		return 0;
	first = layout->entries.items[block - 1].first_seq;
	events = atf_index_run(index, first, &count);
	return first + ada_first_not(i, 0, count, events[i].timestamp_ns < ns);
}

/* A record that a crash left unwritten (kind 0) has no time of its own: it counts with the next record's time. A crash leaves at most
 * what a writer has in flight, which is less than HOLE_MAX.
 */
uint64_t atf_index_lower_bound(const struct atf_index *index, uint64_t ns)
{
	uint64_t low = 0, high = index->layout.count;

	if (index->packed)
		return packed_lower_bound(index, ns);
	while (low < high) {
		uint64_t middle = low + (high - low) / 2, written = middle, span = high - low;

		while (written < high && written - middle < HOLE_MAX && !index->events[written].event_kind)
			written++;
		if (written < high && index->events[written].timestamp_ns < ns)
			low = written + 1;
		else
			high = middle;
		if (span > 4 * AROUND_EVENTS)
			forget_around(index, middle, written);
	}
	return low;
}

bool atf_index_sum_fits(const struct atf_index *index, uint64_t index_seq, const struct ada_event *events, uint64_t count)
{
	uint64_t sum;

	return !index->packed || !atf_packed_sum(index->packed, index_seq, &sum) || atf_pack_sum(events, (uint32_t)count) == sum;
}

bool atf_index_is_checked(const struct atf_index *index)
{
	return !index->packed || !atf_packed_layout(index->packed)->unchecked;
}

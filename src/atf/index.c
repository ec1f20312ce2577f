/* Reader of an index file: a mapping, and the layout that layout.c found in it. */
#include "atf/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOLE_MAX (256u << 10)			/* events: 8 MiB */

int atf_index_open_bytes(struct atf_index **index_out, const void *bytes, size_t size, struct atf_message *message)
{
	struct atf_index *index;
	int status;

	*index_out = NULL;
	index = calloc(1, sizeof *index);
	if (!index)
		return atf_fail(message, ATF_ERROR_MEMORY, "out of memory");
	status = atf_layout_read(&index->layout, bytes, size, message);
	if (status) {
		free(index);
		return status;
	}
	index->bytes = bytes;
	index->events = (const struct ada_event *)(index->bytes + ATF_EVENTS_OFFSET);
	*index_out = index;
	return 0;
}

/* Maps the file as it is now. */
static int index_map(struct atf_index **index, int fd, struct atf_message *message)
{
	struct stat stat;
	void *bytes = NULL;
	size_t size;
	int status;

	if (fstat(fd, &stat) < 0)
		return atf_fail(message, ATF_ERROR_SYSTEM, "%s", strerror(errno));
	if (!S_ISREG(stat.st_mode))
		return atf_fail(message, ATF_ERROR_NOT_ATF, "not a regular file");
	size = (size_t)stat.st_size;
	if (size) {
		bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
		if (bytes == MAP_FAILED)
			return atf_fail(message, ATF_ERROR_SYSTEM, "cannot map it: %s", strerror(errno));
	}
	status = atf_index_open_bytes(index, bytes, size, message);
	if (!status)
		(*index)->mapped = true;
	else if (bytes)
		munmap(bytes, size);
	return status;
}

static bool file_has_grown(int fd, uint64_t size)
{
	struct stat stat;

	return fstat(fd, &stat) == 0 && (uint64_t)stat.st_size > size;
}

/* A file that its writer finishes right now has a header that is newer than the size we saw: then look again. */
int atf_index_open_fd(struct atf_index **index, int fd, struct atf_message *message)
{
	int tries = 3, status;

	for (;;) {
		status = index_map(index, fd, message);
		if (status || (*index)->layout.completeness != ATF_DAMAGED || !--tries ||
		    !file_has_grown(fd, (*index)->layout.size))
			return status;
		atf_index_close(*index);
	}
}

int atf_index_open(struct atf_index **index, const char *path, struct atf_message *message)
{
	struct atf_message reason = { "" };
	int fd, status;

	*index = NULL;
	atf_say(message, "%s", "");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return atf_fail_of(message, path, ATF_ERROR_SYSTEM, strerror(errno));
	status = atf_index_open_fd(index, fd, &reason);
	if (reason.text[0])
		atf_say_of(message, path, reason.text);
	close(fd);
	return status;
}

void atf_index_close(struct atf_index *index)
{
	if (!index)
		return;
	if (index->mapped)
		munmap((void *)index->bytes, index->layout.size);
	free(index);
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
	return index->events;
}

int atf_index_get(const struct atf_index *index, uint64_t index_seq, struct ada_event *event)
{
	if (index_seq >= index->layout.count)
		return -ATF_ERROR_RANGE;
	*event = index->events[index_seq];
	return 0;
}

/* A record that a crash left unwritten (kind 0) has no time of its own: it counts as of the next one's. A crash leaves
 * at most what a writer has in flight, which is less than HOLE_MAX.
 */
uint64_t atf_index_lower_bound(const struct atf_index *index, uint64_t ns)
{
	uint64_t low = 0, high = index->layout.count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2, written = middle;

		while (written < high && written - middle < HOLE_MAX && !index->events[written].event_kind)
			written++;
		if (written < high && index->events[written].timestamp_ns < ns)
			low = written + 1;
		else
			high = middle;
	}
	return low;
}

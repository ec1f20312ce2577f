/* The files of a thread's segments: their names, and which are in its directory. */
#include "atf/session/thread_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int segment_path(char *path, size_t size, const char *directory, const char *lane, uint32_t segment, const char *end)
{
	char number[16] = "";
	int length;

	if (segment)
		snprintf(number, sizeof number, "%u.", segment);
	length = snprintf(path, size, "%s/%s.%s%s", directory, lane, number, end);
	return length < 0 || (size_t)length >= size ? -ATF_ERROR_RANGE : 0;
}

int atf_index_path(char *path, size_t size, const char *directory, uint32_t segment)
{
	return segment_path(path, size, directory, "index", segment, "atf");
}

int atf_packed_path(char *path, size_t size, const char *directory, uint32_t segment)
{
	return segment_path(path, size, directory, "index", segment, "atp");
}

int atf_kept_path(char *path, size_t size, const char *directory, uint32_t segment)
{
	return segment_path(path, size, directory, "kept", segment, "atp");
}

int atf_index_find(char *path, size_t size, const char *directory, uint32_t segment)
{
	int status = atf_index_path(path, size, directory, segment);

	/* While a segment is packed or unpacked there may be both, and say the same. */
	if (status || !access(path, F_OK))
		return status;
	status = atf_packed_path(path, size, directory, segment);
	return status || !access(path, F_OK) ? status : atf_index_path(path, size, directory, segment);
}

int atf_detail_path(char *path, size_t size, const char *directory, uint32_t segment)
{
	return segment_path(path, size, directory, "detail", segment, "atf");
}

/* The segment's number, or -1 where the name is not one's. */
static int64_t segment_number(const char *name, const char *end)
{
	char expected[NAME_MAX + 1];
	unsigned int number = 0;

	snprintf(expected, sizeof expected, "index.%s", end);
	if (!strcmp(name, expected))
		return 0;
	if (sscanf(name, "index.%u.", &number) != 1 || !number)
		return -1;
	snprintf(expected, sizeof expected, "index.%u.%s", number, end);
	return strcmp(name, expected) ? -1 : (int64_t)number;
}

/* Whether the file counts as a segment: packed ones where the plain one isn't there, too. */
static bool is_segment(int directory, const char *name)
{
	char plain[NAME_MAX + 1];

	if (segment_number(name, "atf") >= 0)
		return true;
	if (segment_number(name, "atp") < 0)
		return false;
	snprintf(plain, sizeof plain, "%.*satf", (int)strlen(name) - 3, name);
	return faccessat(directory, plain, F_OK, 0) != 0;
}

/* The number of a segment's file, of either kind; -1: the name is none's. */
static int64_t number_of(const char *name)
{
	int64_t number = segment_number(name, "atf");

	return number < 0 ? segment_number(name, "atp") : number;
}

static void list_name(struct atf_listing *listing, int fd, const char *name, uint32_t first)
{
	uint32_t number;
	int end = 0;

	if (is_segment(fd, name)) {
		number = (uint32_t)number_of(name);
		listing->count += number >= first || first == UINT32_MAX;
		listing->lowest = number < listing->lowest ? number : listing->lowest;
	} else if (!strcmp(name, "kept.atp")) {
		ada_array_push(&listing->kept, 0);
	} else if (sscanf(name, "kept.%u.atp%n", &number, &end) == 1 && end && !name[end] && number) {
		ada_array_push(&listing->kept, number);
	}
}

/* Without readdir: its buffer of 32 KiB costs more than the few names that there are. */
int atf_segments_find(const char *directory, uint32_t first, struct atf_listing *listing, struct atf_message *message)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	union {
		struct dirent64 first;
		char bytes[2048];
	} names;
	ssize_t length;

	*listing = (struct atf_listing){ .lowest = UINT32_MAX };
	if (fd < 0)
		return atf_fail_of(message, directory, ATF_ERROR_SYSTEM, strerror(errno));
	while ((length = getdents64(fd, &names, sizeof names)) > 0)
		for (ssize_t at = 0; at < length;) {
			const struct dirent64 *entry = (const struct dirent64 *)(names.bytes + at);

			list_name(listing, fd, entry->d_name, first);
			at += entry->d_reclen;
		}
	close(fd);
	return 0;
}

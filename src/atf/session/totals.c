/* The totals of segments that have gone, and sums of events that are there: see abi/totals.h. What is read here has been checked so far that
 * whoever goes through it stays inside. */
#include "atf/session/thread_parts.h"

#include <fcntl.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"

static int path_of(char *path, size_t size, const char *directory, const char *name)
{
	int length = snprintf(path, size, "%s/%s", directory, name);

	return length < 0 || (size_t)length >= size ? -ATF_ERROR_RANGE : 0;
}

int atf_totals_path(char *path, size_t size, const char *directory)
{
	return path_of(path, size, directory, "totals");
}

int atf_sums_path(char *path, size_t size, const char *directory)
{
	return path_of(path, size, directory, "sums");
}

static uint32_t header_checksum(AtfTotalsHeader header)
{
	header.header_checksum = 0;
	return libdeflate_crc32(0, &header, sizeof header);
}

void atf_totals_seal(AtfTotalsHeader *header, const void *body, uint64_t body_bytes)
{
	memcpy(header->magic, ATF_TOTALS_MAGIC, sizeof header->magic);
	header->endian = ATF_ENDIAN_LITTLE;
	header->version = ATF_TOTALS_VERSION;
	header->arch = ATF_ARCH_X86_64;
	header->os = ATF_OS_LINUX;
	header->body_bytes = body_bytes;
	header->body_checksum = libdeflate_crc32(0, body, body_bytes);
	header->header_checksum = header_checksum(*header);
}

static bool body_fits(const AtfTotalsHeader *header, const uint8_t *body)
{
	uint64_t left = header->body_bytes, calls = ((uint64_t)header->open_count + header->aside_count) * sizeof(AtfTotalsCall);

	if (calls > left)
		return false;
	body += calls;
	left -= calls;
	for (uint32_t i = 0; i < header->function_count; i++) {
		AtfTotalsFunction function;
		if (left < sizeof function)
			return false;
		memcpy(&function, body, sizeof function);
		if (function.bucket_bytes > left - sizeof function)
			return false;
		body += sizeof function + function.bucket_bytes;
		left -= sizeof function + function.bucket_bytes;
	}
	return !left;
}

bool atf_totals_are_sound(const void *bytes, uint64_t size)
{
	AtfTotalsHeader header;
	const uint8_t *body = (const uint8_t *)bytes + sizeof header;

	if (size < sizeof header)
		return false;
	memcpy(&header, bytes, sizeof header);
	return !memcmp(header.magic, ATF_TOTALS_MAGIC, sizeof header.magic) && header.endian == ATF_ENDIAN_LITTLE &&
	       header.version == ATF_TOTALS_VERSION && header.body_bytes == size - sizeof header &&
	       header_checksum(header) == header.header_checksum && libdeflate_crc32(0, body, header.body_bytes) == header.body_checksum &&
	       body_fits(&header, body);
}

/* The whole file, which is malloc'ed, where it is as it should be. */
static int read_sound(AtfTotalsHeader **read, const char *path)
{
	struct ada_error error;
	char *bytes;
	size_t size;

	*read = NULL;
	if (access(path, F_OK))
		return 0;
	if (ada_file_read_regular(path, &bytes, &size, &error))
		return -ATF_ERROR_SYSTEM;
	if (!atf_totals_are_sound(bytes, size)) {
		free(bytes);
		return -ATF_ERROR_CORRUPT;
	}
	*read = (AtfTotalsHeader *)bytes;
	return 0;
}

int atf_totals_read(AtfTotalsHeader **totals, const char *directory)
{
	char path[4096];
	int status;

	*totals = NULL;
	if (atf_totals_path(path, sizeof path, directory))
		return 0;
	status = read_sound(totals, path);
	if (status || !*totals || (*totals)->first_segment)
		return status;
	free(*totals); /* of events that are there */
	*totals = NULL;
	return -ATF_ERROR_CORRUPT;
}

/* Whether they are of this thread, as far as its first event tells, and of no more events than there are. */
static bool sums_fit(const struct atf_thread *thread, const AtfTotalsHeader *sums, uint64_t position)
{
	uint64_t start_ns;

	if (sums->first_segment || position > thread->count || position <= thread->live)
		return false;
	start_ns = thread->totals ? thread->totals->time_start_ns : atf_thread_get(thread, thread->live)->timestamp_ns;
	return sums->time_start_ns == start_ns;
}

int atf_thread_sums(const struct atf_thread *thread, AtfTotalsHeader **sums, uint64_t *position)
{
	uint64_t aged = thread->totals ? thread->totals->event_count : 0;
	char path[4096];
	int status;

	*sums = NULL;
	if (atf_sums_path(path, sizeof path, thread->directory))
		return 0;
	status = read_sound(sums, path);
	if (status || !*sums)
		return status;
	*position = thread->live + ((*sums)->event_count - aged);
	if ((*sums)->event_count > aged && sums_fit(thread, *sums, *position))
		return 0;
	status = (*sums)->event_count <= aged ? 0 : -ATF_ERROR_CORRUPT; /* 0: all that they tell of has gone since */
	free(*sums);
	*sums = NULL;
	return status;
}

/* The totals of segments that have gone: see abi/totals.h. What is read here has been checked so far that whoever goes through it stays
 * inside. */
#include "atf/session/thread.h"

#include <fcntl.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"

int atf_totals_path(char *path, size_t size, const char *directory)
{
	int length = snprintf(path, size, "%s/totals", directory);

	return length < 0 || (size_t)length >= size ? -ATF_ERROR_RANGE : 0;
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
	       header.version == ATF_TOTALS_VERSION && header.first_segment && header.body_bytes == size - sizeof header &&
	       header_checksum(header) == header.header_checksum && libdeflate_crc32(0, body, header.body_bytes) == header.body_checksum &&
	       body_fits(&header, body);
}

int atf_totals_read(AtfTotalsHeader **totals, const char *directory)
{
	struct ada_error error;
	char path[4096], *bytes;
	size_t size;

	*totals = NULL;
	if (atf_totals_path(path, sizeof path, directory) || access(path, F_OK))
		return 0;
	if (ada_file_read_regular(path, &bytes, &size, &error))
		return -ATF_ERROR_SYSTEM;
	if (!atf_totals_are_sound(bytes, size)) {
		free(bytes);
		return -ATF_ERROR_CORRUPT;
	}
	*totals = (AtfTotalsHeader *)bytes;
	return 0;
}

/* Files as bytes in memory: what the readers of both kinds share. */
#include "atf/ground/ground.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define AHEAD_BYTES (128ul << 10) /* the default of Linux */

int atf_file_size(int fd, uint64_t *size, struct atf_message *message)
{
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return atf_fail(message, ATF_ERROR_SYSTEM, "%s", strerror(errno));
	if (!S_ISREG(stat.st_mode))
		return atf_fail(message, ATF_ERROR_NOT_ATF, "not a regular file");
	*size = (uint64_t)stat.st_size;
	return 0;
}

int atf_map_bytes(struct atf_mapping *mapping, int fd, uint64_t size, struct atf_message *message)
{
	void *bytes;

	*mapping = (struct atf_mapping){ 0 };
	if (!size)
		return 0;
	bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		return atf_fail(message, ATF_ERROR_SYSTEM, "cannot map it: %s", strerror(errno));
	*mapping = (struct atf_mapping){ bytes, size };
	return 0;
}

int atf_map(struct atf_mapping *mapping, int fd, struct atf_message *message)
{
	uint64_t size;
	int status = atf_file_size(fd, &size, message);

	*mapping = (struct atf_mapping){ 0 };
	return status ? status : atf_map_bytes(mapping, fd, size, message);
}

bool atf_read_ends(int fd, uint64_t size, uint8_t head[64], uint8_t tail[64])
{
	return size >= 64 && pread(fd, head, 64, 0) == 64 && pread(fd, tail, 64, (off_t)size - 64) == 64;
}

void atf_unmap(const struct atf_mapping *mapping)
{
	if (mapping->size)
		munmap((void *)mapping->bytes, mapping->size);
}

/* Only pages that lie in it whole. Of a mapped file, this drops the mapping's pages and nothing else. */
void atf_unneed(const struct atf_mapping *mapping, const void *from, const void *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = ((uintptr_t)from + page - 1) & ~(page - 1), end = (uintptr_t)to & ~(page - 1);

	if (mapping->size && start < end)
		madvise((void *)start, end - start, MADV_DONTNEED);
}

/* The disk reads the pages while the caller goes on: whoever touches them later doesn't wait, or not as long. The kernel reads of each
 * request no more than it would read ahead by itself. */
void atf_need(const struct atf_mapping *mapping, const void *from, const void *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)from & ~(page - 1), end = (uintptr_t)to;

	if (!mapping->size)
		return;
	for (; at < end; at += AHEAD_BYTES)
		madvise((void *)at, end - at < AHEAD_BYTES ? end - at : AHEAD_BYTES, MADV_WILLNEED);
}

bool atf_has_grown(int fd, uint64_t size)
{
	struct stat stat;

	return fstat(fd, &stat) == 0 && (uint64_t)stat.st_size > size;
}

int atf_open_path(const char *path, atf_open_fd *open_fd, void *file, struct atf_message *message)
{
	struct atf_message reason = { "" };
	int fd, status;

	atf_say(message, "%s", "");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return atf_fail_of(message, path, ATF_ERROR_SYSTEM, strerror(errno));
	status = open_fd(file, fd, &reason);
	if (reason.text[0])
		atf_say_of(message, path, reason.text);
	close(fd);
	return status;
}

/* The first 12 bytes mean the same in both kinds of header. */
int atf_identity_check(const uint8_t *bytes, uint64_t size, const struct atf_kind *kind, struct atf_message *message)
{
	const uint8_t endian = size > 4 ? bytes[4] : 0, version = size > 5 ? bytes[5] : 0;

	if (!size)
		return atf_fail(message, ATF_ERROR_NOT_ATF, "empty, not an ATF %s file", kind->name);
	if (size >= 4 && !memcmp(bytes, kind->other_magic, 4))
		return atf_fail(message, ATF_ERROR_NOT_ATF, "an ATF %s file, not %s %s file", kind->other_name, kind->article, kind->name);
	if (size < 4 || memcmp(bytes, kind->magic, 4))
		return atf_fail(message, ATF_ERROR_NOT_ATF, "not an ATF %s file: it does not begin with \"%s\"", kind->name, kind->magic);
	if (size < ATF_EVENTS_OFFSET)
		return atf_fail(message, ATF_ERROR_NOT_ATF, "cut inside the header: %u bytes of %u", (unsigned)size, ATF_EVENTS_OFFSET);
	if (endian != ATF_ENDIAN_LITTLE)
		return atf_fail(message, ATF_ERROR_VERSION, "byte order %u, and only little-endian (1) can be read", endian);
	if (version < ATF_VERSION || version > kind->newest)
		return atf_fail(message, ATF_ERROR_VERSION, "version %u of the format, and only version%s %u can be read", version,
				kind->newest > ATF_VERSION ? "s up to" : "", kind->newest);
	return 0;
}

/* Mapped files: what is asked for ahead is read from the disk, all of it. */
#include "atf/ground/ground.h"
#include "fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define FILE_BYTES (24ul << 20) /* three times what disks usually read ahead at most */
#define PAGES (FILE_BYTES / PAGE_BYTES)

static size_t resident(const struct atf_mapping *mapping)
{
	static unsigned char pages[PAGES];
	size_t count = 0;

	assert_int_equal(mincore((void *)mapping->bytes, FILE_BYTES, pages), 0);
	for (size_t i = 0; i < PAGES; i++)
		count += pages[i] & 1;
	return count;
}

/* The kernel tells nobody when it has read; memory may be short just then, so not each page counts. */
static bool comes(const struct atf_mapping *mapping, size_t pages, unsigned int seconds)
{
	for (unsigned int i = 0; i < seconds * 100; i++) {
		if (resident(mapping) >= pages)
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	return false;
}

static void test_all_is_read_ahead(void **state)
{
	struct fixture *fixture = *state;
	struct atf_message message = { "" };
	struct atf_mapping mapping;
	uint8_t *bytes = malloc(FILE_BYTES);
	int fd;

	assert_non_null(bytes);
	memset(bytes, 0xA5, FILE_BYTES);
	bytes_write(fixture->path, bytes, FILE_BYTES);
	free(bytes);
	fd = open(fixture->path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fsync(fd), 0);
	assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	assert_int_equal(atf_map(&mapping, fd, &message), 0);
	close(fd);
	/* A file system in memory lets nothing go, and some read nothing ahead. */
	if (resident(&mapping) > PAGES / 8 || madvise((void *)mapping.bytes, PAGE_BYTES, MADV_WILLNEED) || !comes(&mapping, 1, 5)) {
		atf_unmap(&mapping);
		skip();
	}
	atf_need(&mapping, mapping.bytes, mapping.bytes); /* nothing: not an error */
	atf_need(&mapping, mapping.bytes + 100, mapping.bytes + FILE_BYTES - 100);
	assert_true(comes(&mapping, PAGES / 4 * 3, 120));
	assert_int_equal(mapping.bytes[FILE_BYTES / 2], 0xA5);
	atf_unmap(&mapping);
}

int main(void)
{
	const struct CMUnitTest tests[] = { FIXTURE_TEST(test_all_is_read_ahead) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

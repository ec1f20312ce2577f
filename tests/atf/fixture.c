#include "fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int fixture_make(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);

	assert_non_null(fixture);
	strcpy(fixture->directory, "/tmp/ada-test-atf-XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	snprintf(fixture->path, sizeof fixture->path, "%s/index.atf", fixture->directory);
	snprintf(fixture->detail, sizeof fixture->detail, "%s/detail.atf", fixture->directory);
	*state = fixture;
	return 0;
}

int fixture_remove(void **state)
{
	struct fixture *fixture = *state;
	DIR *directory = opendir(fixture->directory);
	struct dirent *entry;

	while ((entry = readdir(directory)))
		unlinkat(dirfd(directory), entry->d_name, 0);
	closedir(directory);
	rmdir(fixture->directory);
	free(fixture);
	return 0;
}

struct ada_event fixture_event(uint64_t i)
{
	return (struct ada_event){
		.timestamp_ns = 1000 + 10 * i,
		.function_id = ADA_FUNCTION_ID(3, i / 2 % 100),
		.thread_id = THREAD_ID,
		.event_kind = i % 2 ? ADA_EVENT_RETURN : ADA_EVENT_CALL,
		.call_depth = 0,
		.detail_seq = ADA_NO_DETAIL,
	};
}

void fixture_events(struct ada_event *events, uint64_t first, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		events[i] = fixture_event(first + i);
}

void fixture_write(const char *path, uint64_t first, size_t count)
{
	struct atf_index_options options = { .thread_id = THREAD_ID, .arch = ATF_ARCH_X86_64, .block_bytes = 4096 };
	struct atf_index_writer *writer;
	size_t i;

	assert_int_equal(atf_index_writer_open(&writer, path, &options), 0);
	for (i = 0; i < count; i++) {
		struct ada_event event = fixture_event(first + i);

		assert_int_equal(atf_index_writer_append(writer, &event, 1), 0);
	}
	assert_int_equal(atf_index_writer_close(writer, false), 0);
}

struct bytes bytes_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct bytes file;
	struct stat stat;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &stat), 0);
	file.length = (size_t)stat.st_size;
	file.bytes = malloc(file.length + 1);
	assert_non_null(file.bytes);
	assert_int_equal(read(fd, file.bytes, file.length), file.length);
	close(fd);
	return file;
}

void bytes_write(const char *path, const void *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, length), length);
	assert_int_equal(ftruncate(fd, (off_t)length), 0); /* after: ext4 flushes what was emptied before */
	close(fd);
}

/* splitmix64 */
uint64_t random_next(struct random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void findings_add(void *context, const char *check, bool ok, const char *message)
{
	struct findings *findings = context;
	size_t used = strlen(findings->all);

	findings->made++;
	if (!ok && !findings->failed++)
		snprintf(findings->first, sizeof findings->first, "%s: %s", check, message);
	if (*message)
		snprintf(findings->all + used, sizeof findings->all - used, "%s: %s\n", check, message);
}

int findings_take(struct findings *findings, const char *path)
{
	int status;

	*findings = (struct findings){ 0 };
	status = atf_index_verify(path, findings_add, findings);
	if (status >= 0)
		assert_int_equal(status, findings->failed);
	return status;
}

int findings_take_detail(struct findings *findings, const char *path, const char *index_path)
{
	struct atf_index *index = NULL;
	int status;

	*findings = (struct findings){ 0 };
	if (index_path)
		assert_int_equal(atf_index_open(&index, index_path, NULL), 0);
	status = atf_detail_verify(path, index, findings_add, findings);
	atf_index_close(index);
	if (status >= 0)
		assert_int_equal(status, findings->failed);
	return status;
}

/* The golden files of version 1 (golden/make.py wrote them from the specification): the reader understands them, and
 * the writer makes the same bytes. Argument: their directory. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN_THREAD 4242

static const char *golden_directory;

/* As EVENTS in golden/make.py. */
static const struct ada_event golden_events[] = {
	{ 1000000007, 0x100000002, GOLDEN_THREAD, ADA_EVENT_CALL, 0, ADA_NO_DETAIL },
	{ 1000000017, 0x100000003, GOLDEN_THREAD, ADA_EVENT_CALL, 1, 0 },
	{ 1000000017, 0x2fffffffe, GOLDEN_THREAD, ADA_EVENT_CALL, 2, 1 },
	{ 1000000400, 0x2fffffffe, GOLDEN_THREAD, ADA_EVENT_EXCEPTION, 2, 2 },
	{ 1000000401, 0x100000003, GOLDEN_THREAD, ADA_EVENT_RETURN, 1, ADA_NO_DETAIL },
	{ 1000002000, 123456789012, GOLDEN_THREAD, ADA_EVENT_LOST, 0, ADA_NO_DETAIL },
	{ 1000002000, UINT64_MAX, GOLDEN_THREAD, 1000, UINT32_MAX, ADA_NO_DETAIL },
	{ UINT64_MAX - 1, 0x100000002, GOLDEN_THREAD, ADA_EVENT_RETURN, 0, UINT32_MAX - 1 },
};
#define GOLDEN_COUNT (sizeof golden_events / sizeof *golden_events)

struct golden {
	const char *name;
	size_t count;
	enum atf_completeness completeness;
};
static const struct golden goldens[] = {
	{ "index-v1.atf", GOLDEN_COUNT, ATF_COMPLETE },
	{ "index-v1-unfinished.atf", GOLDEN_COUNT, ATF_NO_FOOTER },
	{ "index-v1-empty.atf", 0, ATF_COMPLETE },
};

static void golden_path(char path[4096], const char *name)
{
	snprintf(path, 4096, "%s/%s", golden_directory, name);
}

static void test_reader_understands_them(void **state)
{
	size_t i;

	for (i = 0; i < sizeof goldens / sizeof *goldens; i++) {
		const struct golden *golden = &goldens[i];
		struct atf_index *index;
		char path[4096];

		golden_path(path, golden->name);
		assert_int_equal(atf_index_open(&index, path, NULL), 0);
		assert_int_equal(atf_index_completeness(index), golden->completeness);
		assert_int_equal(atf_index_header(index)->thread_id, GOLDEN_THREAD);
		assert_int_equal(atf_index_header(index)->clock_type, ATF_CLOCK_BOOTTIME);
		assert_int_equal(atf_index_count(index), golden->count);
		assert_memory_equal(atf_index_events(index), golden_events, golden->count * sizeof *golden_events);
		atf_index_close(index);
	}
}

static void test_verify_finds_nothing_wrong(void **state)
{
	struct findings findings;
	char path[4096];

	golden_path(path, "index-v1.atf");
	assert_int_equal(findings_take(&findings, path), 0);
	golden_path(path, "index-v1-empty.atf");
	assert_int_equal(findings_take(&findings, path), 0);
}

static void expect_same_bytes(const char *path, const char *golden)
{
	struct bytes file = bytes_read(path), expected;
	char golden_file[4096];

	golden_path(golden_file, golden);
	expected = bytes_read(golden_file);
	assert_int_equal(file.length, expected.length);
	assert_memory_equal(file.bytes, expected.bytes, expected.length);
	free(file.bytes);
	free(expected.bytes);
}

static void test_writer_makes_the_same(void **state)
{
	struct atf_index_options options = { .thread_id = GOLDEN_THREAD, .arch = ATF_ARCH_X86_64 };
	struct fixture *fixture = *state;
	struct atf_index_writer *writer;

	assert_int_equal(atf_index_writer_open(&writer, fixture->path, &options), 0);
	assert_int_equal(atf_index_writer_append(writer, golden_events, GOLDEN_COUNT), 0);
	assert_int_equal(atf_index_writer_close(writer, false), 0);
	expect_same_bytes(fixture->path, "index-v1.atf");
}

static void test_recovery_makes_the_same(void **state)
{
	struct fixture *fixture = *state;
	struct bytes unfinished;
	char path[4096];

	golden_path(path, "index-v1-unfinished.atf");
	unfinished = bytes_read(path);
	bytes_write(fixture->path, unfinished.bytes, unfinished.length);
	assert_int_equal(atf_index_recover(fixture->path, NULL), 0);
	expect_same_bytes(fixture->path, "index-v1.atf");
	free(unfinished.bytes);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reader_understands_them),
		cmocka_unit_test(test_verify_finds_nothing_wrong),
		FIXTURE_TEST(test_writer_makes_the_same),
		FIXTURE_TEST(test_recovery_makes_the_same),
	};

	golden_directory = count > 1 ? arguments[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The golden files of each version (golden/make.py wrote them from the specification): the reader understands them, and
 * the writer makes the same bytes as those of the newest. Argument: their directory. */
#include "atf/index/index.h"
#include "atf/pack/packed.h"
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	{ "index-v1.atf", GOLDEN_COUNT, ATF_COMPLETE }, { "index-v1-unfinished.atf", GOLDEN_COUNT, ATF_NO_FOOTER },
	{ "index-v1-empty.atf", 0, ATF_COMPLETE },	{ "index-v1.atp", GOLDEN_COUNT, ATF_COMPLETE },
	{ "index-v2.atp", GOLDEN_COUNT, ATF_COMPLETE }, { "index-v2-unchecked.atp", GOLDEN_COUNT, ATF_COMPLETE },
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

	for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
		if (goldens[i].completeness != ATF_COMPLETE)
			continue;
		golden_path(path, goldens[i].name);
		assert_int_equal(findings_take(&findings, path), 0);
	}
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

static void expect_packed(const char *path, bool checked, const char *golden)
{
	struct atf_packer *packer = atf_packer_new();
	struct atf_pack_writer *writer;
	struct atf_pack_bytes block;
	struct atf_pack_lane lane;

	atf_pack_lane_open(&lane, GOLDEN_THREAD);
	assert_int_equal(atf_pack_writer_open(&writer, path, GOLDEN_THREAD, ATF_ARCH_X86_64), 0);
	if (!checked)
		atf_pack_writer_unchecked(writer);
	assert_int_equal(atf_pack_encode(packer, &lane, golden_events, GOLDEN_COUNT, ATF_PACK_RAW, &block), 0);
	assert_int_equal(atf_pack_writer_add(writer, &block, golden_events, GOLDEN_COUNT, false), 0);
	assert_int_equal(atf_pack_writer_close(writer, 0), 0);
	expect_same_bytes(path, golden);
	atf_pack_lane_close(&lane);
	atf_packer_free(packer);
}

static void test_packer_makes_the_same(void **state)
{
	struct fixture *fixture = *state;

	expect_packed(fixture->path, true, "index-v2.atp");
	unlink(fixture->path);
	expect_packed(fixture->path, false, "index-v2-unchecked.atp");
}

/* Its blocks have no sums, the footer has the CRC32: so it unpacks to what it was packed from. */
static void test_the_first_version_unpacks(void **state)
{
	struct fixture *fixture = *state;
	struct atf_message message;
	struct atf_index *index;
	char path[4096];

	golden_path(path, "index-v1.atp");
	assert_int_equal(atf_index_open(&index, path, &message), 0);
	assert_int_equal(atf_index_unpack(index, fixture->path, NULL, NULL, &message), 0);
	atf_index_close(index);
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

/* --- detail ------------------------------------------------------------------------------------------------------- */

/* As DETAIL and WINDOWS in golden/make.py. */
static uint8_t golden_stack[256];
static struct atf_detail golden_details[] = {
	{ 1000000017,
	  0x100000003,
	  1,
	  0,
	  ATF_DETAIL_CALL,
	  1,
	  GOLDEN_THREAD,
	  { 16, 17, 18, 19, 20, 21, 22, 23 },
	  0x401000,
	  0x7ffc00000010,
	  0x7ffc00000000,
	  golden_stack,
	  256,
	  { 0x3ff0000000000000, 0, 1, 2, 3, 4, 5, 6 },
	  NULL,
	  0 },
	{ 1000000017,
	  0x2fffffffe,
	  2,
	  1,
	  ATF_DETAIL_CALL,
	  0,
	  GOLDEN_THREAD,
	  { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX },
	  0x401234,
	  0,
	  0x7ffbfffffff8,
	  golden_stack,
	  0,
	  { 0 },
	  NULL,
	  0 },
	{ 1000000400,
	  0x2fffffffe,
	  3,
	  2,
	  ATF_DETAIL_RETURN,
	  0,
	  GOLDEN_THREAD,
	  { 42, 0, 0x4000000000000000 },
	  0x401234,
	  1,
	  0x7ffbfffffff8,
	  (const uint8_t *)"\xa5\xa5\xa5\xa5\xa5\xa5\xa5\xa5\xa5\xa5\xa5\xa5\xa5",
	  13,
	  { 0 },
	  NULL,
	  0 },
	{ UINT64_MAX - 1,
	  0x100000002,
	  7,
	  UINT32_MAX - 1,
	  ATF_DETAIL_RETURN,
	  0,
	  GOLDEN_THREAD,
	  { 0 },
	  0,
	  0,
	  0,
	  (const uint8_t *)"x",
	  1,
	  { 0 },
	  NULL,
	  0 },
};
#define DETAIL_COUNT (sizeof golden_details / sizeof *golden_details)

static const AtfDetailWindow golden_windows[] = {
	{ 1000000010, 1000000400, 1000000017, 0, 0, 3, 5, 0, 0 },
	{ UINT64_MAX - 1, UINT64_MAX - 1, UINT64_MAX - 1, UINT32_MAX - 1, 3, 1, 1, 4, 0 },
};

static const struct golden_detail {
	const char *name;
	uint8_t arch;
} golden_arches[] = { { "detail-v1-x86_64.atf", ATF_ARCH_X86_64 }, { "detail-v1-arm64.atf", ATF_ARCH_ARM64 } };

static void golden_stack_fill(void)
{
	size_t i;

	for (i = 0; i < sizeof golden_stack; i++)
		golden_stack[i] = (uint8_t)i;
}

static void test_reader_understands_detail(void **state)
{
	struct findings findings;
	char path[4096], index[4096];
	size_t i, j;

	golden_path(index, "index-v1.atf");
	for (i = 0; i < 2; i++) {
		struct atf_detail_file *file;
		struct atf_detail record;
		AtfDetailWindow window;

		golden_path(path, golden_arches[i].name);
		assert_int_equal(findings_take_detail(&findings, path, golden_arches[i].arch == ATF_ARCH_X86_64 ? index : NULL), 0);
		assert_int_equal(atf_detail_open(&file, path, NULL), 0);
		assert_int_equal(atf_detail_completeness(file), ATF_COMPLETE);
		assert_int_equal(atf_detail_header(file)->arch, golden_arches[i].arch);
		assert_int_equal(atf_detail_count(file), DETAIL_COUNT);
		for (j = 0; j < DETAIL_COUNT; j++) {
			assert_int_equal(atf_detail_find(file, golden_details[j].detail_seq, &record), 0);
			fixture_expect_same_detail(&record, &golden_details[j]);
		}
		assert_int_equal(atf_detail_find(file, 3, &record), ATF_NOT_PERSISTED);
		for (j = 0; j < 2; j++) {
			assert_int_equal(atf_detail_window(file, j, &window), 0);
			assert_memory_equal(&window, &golden_windows[j], sizeof window);
		}
		atf_detail_close(file);
	}
}

static void test_detail_writer_makes_the_same(void **state)
{
	struct atf_detail_options options = { .thread_id = GOLDEN_THREAD };
	struct fixture *fixture = *state;
	struct atf_detail_writer *writer;
	size_t i, j;

	for (i = 0; i < 2; i++) {
		options.arch = golden_arches[i].arch;
		assert_int_equal(atf_detail_writer_open(&writer, fixture->detail, &options), 0);
		for (j = 0; j < DETAIL_COUNT; j++) {
			if (j == 0 || j == 3)
				assert_int_equal(atf_detail_writer_window(writer, &golden_windows[j / 3]), 0);
			assert_int_equal(atf_detail_writer_append(writer, &golden_details[j]), 0);
		}
		assert_int_equal(atf_detail_writer_close(writer), 0);
		expect_same_bytes(fixture->detail, golden_arches[i].name);
		unlink(fixture->detail);
	}
	options.arch = ATF_ARCH_X86_64;
	assert_int_equal(atf_detail_writer_open(&writer, fixture->detail, &options), 0);
	assert_int_equal(atf_detail_writer_close(writer), 0);
	expect_same_bytes(fixture->detail, "detail-v1-empty.atf");
}

/* The records are those of the finished file; the windows are what the index tells. */
static void test_detail_recovery(void **state)
{
	struct fixture *fixture = *state;
	struct atf_detail_file *file;
	struct findings findings;
	struct atf_detail record;
	char path[4096], index[4096];
	struct bytes bytes;
	size_t i;

	golden_path(path, "detail-v1-unfinished.atf");
	golden_path(index, "index-v1.atf");
	bytes = bytes_read(path);
	bytes_write(fixture->detail, bytes.bytes, bytes.length);
	free(bytes.bytes);
	bytes = bytes_read(index);
	bytes_write(fixture->path, bytes.bytes, bytes.length);
	free(bytes.bytes);
	assert_int_equal(atf_detail_recover(fixture->detail, NULL), 0);
	assert_int_equal(findings_take_detail(&findings, fixture->detail, fixture->path), 0);
	assert_int_equal(atf_detail_open(&file, fixture->detail, NULL), 0);
	assert_int_equal(atf_detail_window_count(file), 2);
	for (i = 0; i < DETAIL_COUNT; i++) {
		assert_int_equal(atf_detail_get(file, i, &record), 0);
		fixture_expect_same_detail(&record, &golden_details[i]);
	}
	atf_detail_close(file);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reader_understands_them),
		cmocka_unit_test(test_verify_finds_nothing_wrong),
		FIXTURE_TEST(test_writer_makes_the_same),
		FIXTURE_TEST(test_packer_makes_the_same),
		FIXTURE_TEST(test_the_first_version_unpacks),
		FIXTURE_TEST(test_recovery_makes_the_same),
		cmocka_unit_test(test_reader_understands_detail),
		FIXTURE_TEST(test_detail_writer_makes_the_same),
		FIXTURE_TEST(test_detail_recovery),
	};

	golden_stack_fill();
	golden_directory = count > 1 ? arguments[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}

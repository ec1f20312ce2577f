/* Detail files that are cut, flipped or made up: each is told for what it is, and no byte outside of it is read (the tests run
 * under ASan too, on copies in memory that end where the file ends). */
#include "fixture.h"

#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "atf/detail/detail.h"

static const struct fixture_range two[] = { { 1, 3 }, { 7, 9 } }; /* records of 1, 2, 3 and 7, 8 */
#define RECORDS 5
#define EVENTS 20

static void use_all(const struct atf_detail_file *file)
{
	uint64_t i, count = atf_detail_count(file), sum = 0;
	struct atf_detail record;

	for (i = 0; i < count; i++)
		if (!atf_detail_get(file, i, &record) && record.stack_size)
			sum += record.stack[0] + record.stack[record.stack_size - 1];
	for (i = 0; i < EVENTS; i++) {
		atf_detail_find(file, (uint32_t)i, &record);
		atf_detail_find_index(file, (uint32_t)i, &record);
	}
	atf_detail_find(file, (uint32_t)sum, &record);
	atf_detail_find(file, UINT32_MAX - 1, &record);
}

/* Opens a copy that has no byte to spare. */
static int open_copy(struct atf_detail_file **file, void **copy, const uint8_t *bytes, size_t length, struct atf_message *message)
{
	*copy = malloc(length ? length : 1);
	assert_non_null(*copy);
	memcpy(*copy, bytes, length);
	return atf_detail_open_bytes(file, *copy, length, message);
}

static struct bytes make(struct fixture *fixture)
{
	fixture_write_detail_index(fixture->path, 0, EVENTS);
	fixture_write_detail(fixture->detail, two, 2, ATF_ARCH_X86_64, true);
	return bytes_read(fixture->detail);
}

/* Records that lie whole in the first `length` bytes. */
static size_t whole_records(const struct bytes *file, size_t length)
{
	uint64_t offset = 64;
	size_t count;

	for (count = 0; count < RECORDS; count++) {
		uint32_t record_length;

		memcpy(&record_length, file->bytes + offset, sizeof record_length);
		offset += record_length;
		if (offset > length)
			break;
	}
	return count;
}

static void expect_every_length(struct fixture *fixture, const struct bytes *file, enum atf_completeness completeness)
{
	struct findings findings;
	size_t length;

	for (length = 0; length < file->length; length++) {
		struct atf_detail_file *opened;
		struct atf_message message;
		void *copy;
		int status = open_copy(&opened, &copy, file->bytes, length, &message);

		assert_int_equal(status, length < 64 ? -ATF_ERROR_NOT_ATF : 0);
		if (!status) {
			assert_int_equal(atf_detail_completeness(opened), completeness);
			assert_int_equal(atf_detail_count(opened), whole_records(file, length));
			use_all(opened);
			atf_detail_close(opened);
		}
		free(copy);
		bytes_write(fixture->detail, file->bytes, length);
		assert_true(findings_take_detail(&findings, fixture->detail, fixture->path) > 0);
	}
}

static void test_every_length_of_a_finished_file(void **state)
{
	struct fixture *fixture = *state;
	struct bytes file = make(fixture);

	expect_every_length(fixture, &file, ATF_DAMAGED);
	free(file.bytes);
}

/* The tables and the footer, as far as they are written, are no records. */
static void test_every_length_of_an_unfinished_file(void **state)
{
	struct fixture *fixture = *state;
	struct bytes file = make(fixture);

	memset(file.bytes + 32, 0, 32); /* counts and index_seq */
	expect_every_length(fixture, &file, ATF_NO_FOOTER);
	free(file.bytes);
}

/* Flips each bit in turn, and verifies without the index: nothing of the file may go unnoticed, but what is `silent`. */
static void expect_flips_found(const char *path, size_t silent_from, size_t silent_to)
{
	struct bytes file = bytes_read(path);
	struct findings findings;
	size_t bit;

	assert_int_equal(findings_take_detail(&findings, path, NULL), 0);
	for (bit = 0; bit < 8 * file.length; bit++) {
		struct atf_detail_file *opened;
		void *copy;

		file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (!open_copy(&opened, &copy, file.bytes, file.length, NULL)) {
			use_all(opened);
			atf_detail_close(opened);
		}
		free(copy);
		bytes_write(path, file.bytes, file.length);
		assert_true(findings_take_detail(&findings, path, NULL) >= 0);
		if (!findings.failed && (bit / 8 < silent_from || bit / 8 >= silent_to))
			fail_msg("bit %zu of byte %zu flipped, and nothing found", bit % 8, bit / 8);
		file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	free(file.bytes);
}

static void test_every_bit_of_a_file(void **state)
{
	struct fixture *fixture = *state;

	fixture_write_detail(fixture->detail, two, 2, ATF_ARCH_X86_64, true);
	expect_flips_found(fixture->detail, 0, 0);
}

static void test_every_bit_of_an_empty_file(void **state)
{
	struct fixture *fixture = *state;

	fixture_write_detail(fixture->detail, NULL, 0, ATF_ARCH_X86_64, true);
	expect_flips_found(fixture->detail, 12, 16); /* without records nothing repeats the header's thread_id */
}

/* --- one change, one answer --------------------------------------------------------------------------------------- */

/* Where things lie, from the front of a region: a change names the region and the byte in it. */
enum region { HEADER, RECORD_0, RECORD_3, OFFSETS, WINDOWS, FOOTER };

struct damage {
	enum region region;
	size_t offset, bytes; /* what is overwritten ... */
	uint64_t value;	      /* ... with this, little-endian */
	bool sums;	      /* CRCs are made right again: as if a writer had written it so */
	int status;
	enum atf_completeness completeness;
	uint64_t count;
	const char *message, *finding; /* of open; the first of verify, with the index */
};
#define REFUSED(error, text) .status = -(error), .message = text, .finding = "header: %s: " text
#define FOUND(text) .completeness = ATF_COMPLETE, .count = RECORDS, .message = "", .finding = text
#define WRITTEN(text) .sums = true, FOUND(text)
#define DAMAGED(records, text) .completeness = ATF_DAMAGED, .count = records, .message = text, .finding = "size: %s: " text

static const struct damage damages[] = {
	/* magic */ { HEADER, 0, 4, 0x464c457f, REFUSED(ATF_ERROR_NOT_ATF, "not an ATF detail file: it does not begin with \"ATD2\"") },
	/* index file */ { HEADER, 0, 4, 0x32495441, REFUSED(ATF_ERROR_NOT_ATF, "an ATF index file, not a detail file") },
	/* endian */ { HEADER, 4, 1, 2, REFUSED(ATF_ERROR_VERSION, "byte order 2, and only little-endian (1) can be read") },
	/* version */ { HEADER, 5, 1, 2, REFUSED(ATF_ERROR_VERSION, "version 2 of the format, and only version 1 can be read") },
	/* offset */ { HEADER, 24, 8, 128, REFUSED(ATF_ERROR_CORRUPT, "damaged header: records at 128 instead of 64") },
	/* arch */ { HEADER, 6, 1, 9, FOUND("header: unknown architecture 9") },
	/* other arch */ { HEADER, 6, 1, 2, FOUND("index: is of architecture 2, the index of 1") },
	/* os */ { HEADER, 7, 1, 3, FOUND("header: operating system 3 is not Linux (4)") },
	/* flags */ { HEADER, 8, 4, 1, FOUND("header: unknown flags 0x1") },
	/* reserved */ { HEADER, 16, 8, 1, FOUND("header: reserved bytes are not zero") },
	/* range */ { HEADER, 56, 8, 99, FOUND("header: the range of index_seq is not that of the first and last record") },
	/* count */
	{ HEADER, 32, 8, 4, DAMAGED(RECORDS, "damaged: header and footer contradict each other; reading the footer's 5 records") },
	/* tables */ { OFFSETS, 8, 8, 65, DAMAGED(RECORDS, "damaged: the tables do not have the footer's CRC32") },
	/* offset */
	{ OFFSETS, 8, 8, UINT64_MAX - 3, WRITTEN("offsets: 1 offsets are not where the records are, the first is that of record 1") },
	/* hole */
	{ WINDOWS, 24, 8, 2, WRITTEN("links: 3 events name another record than the one that names them, the first is that of record 0") },
	/* overlap */ { WINDOWS, 64 + 24, 8, 3, .sums = true, DAMAGED(RECORDS, "damaged: the windows contradict each other") },
	/* ordinal */ { WINDOWS, 64 + 32, 8, 4, .sums = true, DAMAGED(RECORDS, "damaged: the windows contradict each other") },
	/* too many */ { WINDOWS, 64 + 40, 8, UINT64_MAX, .sums = true, DAMAGED(RECORDS, "damaged: the windows contradict each other") },
	/* early end */ { WINDOWS, 8, 8, 1029, WRITTEN("bounds: 1 records lie outside of their window's time, the first is record 2") },
	/* ends first */ { WINDOWS, 8, 8, 1, WRITTEN("windows: window 0 ends before it starts") },
	/* overlap */ { WINDOWS, 8, 8, 1071, WRITTEN("windows: window 1 starts before the one in front of it ends") },
	/* more time */ { WINDOWS, 8, 8, 1060, WRITTEN("holes: 2 events inside a window have no record, the first is event 5") },
	/* id */ { WINDOWS, 52, 4, 7, WRITTEN("windows: window 1 has a lower id than the one in front of it") },
	/* reserved */ { WINDOWS, 56, 8, 7, WRITTEN("windows: window 0 has reserved bytes that are not zero") },
	/* checksum */ { RECORD_0, 32, 8, 7, FOUND("checksum: CRC32 is ") },
	/* other x0 */ { RECORD_0, 32, 8, 7, .sums = true, .completeness = ATF_COMPLETE, .count = RECORDS, .message = "", .finding = NULL },
	/* function */
	{ RECORD_0, 24, 8, 7, WRITTEN("events: 1 records have another time, function or kind than their event, the first is record 0") },
	/* kind */
	{ RECORD_0, 4, 2, ATF_DETAIL_CALL,
	  WRITTEN("events: 1 records have another time, function or kind than their event, the first is record 0") },
	/* unknown */ { RECORD_0, 4, 2, 99, .sums = true, .completeness = ATF_COMPLETE, .count = RECORDS, .message = "", .finding = NULL },
	/* reserved */ { RECORD_0, 24 + 98, 2, 1, WRITTEN("records: reserved bytes of 1 records are not zero, the first is record 0") },
	/* length */ { RECORD_3, 0, 4, 0, WRITTEN("records: 3 whole records up to byte ") },
	/* thread */ { RECORD_3, 12, 4, 1, WRITTEN("records: 3 whole records up to byte ") },
	/* index_seq */ { RECORD_3, 8, 4, 3, WRITTEN("order: 1 index_seq do not rise, the first at record 3") },
	/* no event */
	{ RECORD_3, 8, 4, 30, .sums = true, .completeness = ATF_COMPLETE, .count = RECORDS, .message = "",
	  .finding = "order: 1 index_seq do not rise, the first at record 4" },
	/* time falls */ { RECORD_3, 16, 8, 1020, WRITTEN("times: 1 times fall, the first at record 3") },
	/* magic */ { FOOTER, 0, 4, 0, DAMAGED(RECORDS, "damaged: no valid footer behind the header's 5 records; reading 5") },
	/* count */ { FOOTER, 8, 8, UINT64_MAX / 8, DAMAGED(RECORDS, "damaged: no valid footer behind the header's 5 records; reading 5") },
	/* windows */
	{ FOOTER, 48, 8, UINT64_MAX / 64 + 3, DAMAGED(RECORDS, "damaged: no valid footer behind the header's 5 records; reading 5") },
	/* time */ { FOOTER, 24, 8, 7, FOUND("footer: time range is not that of the first and last record") },
	/* reserved */ { FOOTER, 60, 4, 7, FOUND("footer: reserved bytes are not zero") },
};

struct places {
	size_t at[FOOTER + 1];
};

static struct places places_of(const struct bytes *file)
{
	AtfDetailFooter footer;
	struct places places = { { [RECORD_0] = 64 } };
	uint64_t offset;

	places.at[FOOTER] = file->length - 64;
	memcpy(&footer, file->bytes + places.at[FOOTER], sizeof footer);
	assert_int_equal(footer.event_count, RECORDS);
	assert_int_equal(footer.window_count, 2);
	places.at[OFFSETS] = footer.tables_offset;
	places.at[WINDOWS] = footer.tables_offset + 8 * RECORDS;
	memcpy(&offset, file->bytes + places.at[OFFSETS] + 8 * 3, sizeof offset);
	places.at[RECORD_3] = offset;
	return places;
}

static void make_sums_right(uint8_t *bytes, const struct places *places)
{
	AtfDetailFooter *footer = (AtfDetailFooter *)(bytes + places->at[FOOTER]);

	footer->checksum = libdeflate_crc32(0, bytes + 64, footer->bytes_length);
	footer->tables_checksum = libdeflate_crc32(0, bytes + places->at[OFFSETS], places->at[FOOTER] - places->at[OFFSETS]);
}

static void expect_damage(const struct damage *damage, const struct fixture *fixture, const struct bytes *good)
{
	struct places places = places_of(good);
	char expected[512];
	struct atf_detail_file *file;
	struct atf_message message;
	struct findings findings;
	uint8_t *bytes = malloc(good->length);

	memcpy(bytes, good->bytes, good->length);
	memcpy(bytes + places.at[damage->region] + damage->offset, &damage->value, damage->bytes);
	if (damage->sums)
		make_sums_right(bytes, &places);
	bytes_write(fixture->detail, bytes, good->length);
	free(bytes);
	assert_int_equal(atf_detail_open(&file, fixture->detail, &message), damage->status);
	snprintf(expected, sizeof expected, "%s: %s", fixture->detail, damage->message);
	assert_string_equal(message.text, *damage->message ? expected : "");
	if (file) {
		assert_int_equal(atf_detail_completeness(file), damage->completeness);
		assert_int_equal(atf_detail_count(file), damage->count);
		use_all(file);
		atf_detail_close(file);
	}
	findings_take_detail(&findings, fixture->detail, fixture->path);
	if (!damage->finding) {
		assert_string_equal(findings.first, "");
		return;
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(expected, sizeof expected, damage->finding, fixture->detail);
#pragma GCC diagnostic pop
	findings.first[strlen(expected)] = 0;
	assert_string_equal(findings.first, expected);
}

static void test_damage_is_told(void **state)
{
	struct fixture *fixture = *state;
	struct bytes good = make(fixture);
	size_t i;

	for (i = 0; i < sizeof damages / sizeof *damages; i++)
		expect_damage(&damages[i], fixture, &good);
	free(good.bytes);
}

/* An offset that a hostile file names never leads outside of the records. */
static void test_offsets_that_lead_elsewhere(void **state)
{
	static const uint64_t elsewhere[] = { 0, 63, 65, 1 << 20, UINT64_MAX, UINT64_MAX - 64 };
	struct fixture *fixture = *state;
	struct bytes file = make(fixture);
	struct places places = places_of(&file);
	struct atf_detail record;
	size_t i;

	for (i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
		struct atf_detail_file *opened;
		void *copy;

		memcpy(file.bytes + places.at[OFFSETS] + 8, &elsewhere[i], 8);
		make_sums_right(file.bytes, &places);
		assert_int_equal(open_copy(&opened, &copy, file.bytes, file.length, NULL), 0);
		assert_int_equal(atf_detail_get(opened, 0, &record), 0);
		assert_int_equal(atf_detail_get(opened, 1, &record), -ATF_ERROR_CORRUPT);
		assert_int_equal(atf_detail_find(opened, fixture_detail_seq(2), &record), -ATF_ERROR_CORRUPT);
		use_all(opened);
		atf_detail_close(opened);
		free(copy);
	}
	free(file.bytes);
}

/* Whatever the index says, records are held against it without reading outside of it. */
static void test_an_index_that_is_too_short(void **state)
{
	struct fixture *fixture = *state;
	struct bytes file = make(fixture);
	struct findings findings;
	char path[128];

	free(file.bytes);
	snprintf(path, sizeof path, "%s/index.1.atf", fixture->directory);
	fixture_write_detail_index(path, 0, 8);
	assert_int_equal(findings_take_detail(&findings, fixture->detail, path), 1);
	assert_string_equal(findings.first, "index: 1 records name events that the index does not have, the first is record 4");
}

/* Looked at while both are written, the detail may be ahead of what we saw of the index. */
static void test_an_index_that_is_still_being_written(void **state)
{
	struct fixture *fixture = *state;
	struct bytes file = make(fixture), index = bytes_read(fixture->path);
	struct findings findings;

	memset(index.bytes + 28, 0, 4);	 /* event_count */
	memset(index.bytes + 40, 0, 24); /* footer_offset, times */
	bytes_write(fixture->path, index.bytes, 64 + 8 * 32);
	assert_int_equal(findings_take_detail(&findings, fixture->detail, fixture->path), 0);
	assert_string_equal(findings.all, "index: 1 records name events that the index does not have (yet): it is still being "
					  "written, or left by a crash\n");
	free(index.bytes);
	free(file.bytes);
}

static void test_nothing_is_wrong(void **state)
{
	struct fixture *fixture = *state;
	struct bytes file = make(fixture);
	struct findings findings;

	free(file.bytes);
	assert_int_equal(findings_take_detail(&findings, fixture->detail, fixture->path), 0);
	assert_string_equal(findings.all, "");
	assert_int_equal(findings_take(&findings, fixture->path), 0);
	assert_int_equal(findings_take_detail(&findings, "/nowhere/detail.atf", NULL), -ATF_ERROR_SYSTEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_every_length_of_a_finished_file),
		FIXTURE_TEST(test_every_length_of_an_unfinished_file),
		FIXTURE_TEST(test_every_bit_of_a_file),
		FIXTURE_TEST(test_every_bit_of_an_empty_file),
		FIXTURE_TEST(test_damage_is_told),
		FIXTURE_TEST(test_offsets_that_lead_elsewhere),
		FIXTURE_TEST(test_an_index_that_is_too_short),
		FIXTURE_TEST(test_an_index_that_is_still_being_written),
		FIXTURE_TEST(test_nothing_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

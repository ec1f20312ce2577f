/* Files that are cut, flipped or made up: each is told for what it is, and no byte outside of it is read (the tests run
 * under ASan too, on copies in memory that end where the file ends). */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "atf/index/index.h"

#define COUNT 5
#define SIZE (128 + COUNT * 32)

static uint64_t use_all(const struct atf_index *index)
{
	uint64_t i, sum = 0, count = atf_index_count(index);

	for (i = 0; i < count; i++)
		sum += atf_index_events(index)[i].timestamp_ns;
	return sum + atf_index_lower_bound(index, 1020) + atf_index_lower_bound(index, UINT64_MAX);
}

/* Opens a copy that has no byte to spare. */
static int open_copy(struct atf_index **index, void **copy, const uint8_t *bytes, size_t length, struct atf_message *message)
{
	*copy = malloc(length ? length : 1);
	assert_non_null(*copy);
	memcpy(*copy, bytes, length);
	return atf_index_open_bytes(index, *copy, length, message);
}

static void test_every_length_of_a_finished_file(void **state)
{
	struct fixture *fixture = *state;
	struct findings findings;
	struct bytes file;
	size_t length;

	fixture_write(fixture->path, 0, COUNT);
	file = bytes_read(fixture->path);
	assert_int_equal(file.length, SIZE);
	for (length = 0; length < SIZE; length++) {
		struct atf_message message;
		struct atf_index *index;
		void *copy;
		int status = open_copy(&index, &copy, file.bytes, length, &message);

		if (length < 64) {
			assert_int_equal(status, -ATF_ERROR_NOT_ATF);
		} else {
			size_t room = (length - 64) / 32;

			assert_int_equal(status, 0);
			assert_int_equal(atf_index_completeness(index), ATF_DAMAGED);
			assert_int_equal(atf_index_count(index), room < COUNT ? room : COUNT);
			assert_memory_equal(message.text, "cut: ", 5);
			use_all(index);
			atf_index_close(index);
		}
		free(copy);
		bytes_write(fixture->path, file.bytes, length);
		assert_true(findings_take(&findings, fixture->path) > 0);
	}
	free(file.bytes);
}

static void test_every_length_of_an_unfinished_file(void **state)
{
	struct fixture *fixture = *state;
	struct bytes file;
	size_t length;

	fixture_write(fixture->path, 0, COUNT);
	file = bytes_read(fixture->path);
	memset(file.bytes + 28, 0, 4);		     /* event_count */
	memset(file.bytes + 40, 0, 24);		     /* footer_offset, times */
	for (length = 64; length < SIZE; length++) { /* the footer as far as it is written is no event */
		size_t room = (length - 64) / 32;
		struct atf_message message;
		struct atf_index *index;
		void *copy;

		assert_int_equal(open_copy(&index, &copy, file.bytes, length, &message), 0);
		assert_int_equal(atf_index_completeness(index), ATF_NO_FOOTER);
		assert_int_equal(atf_index_count(index), room < COUNT ? room : COUNT);
		use_all(index);
		atf_index_close(index);
		free(copy);
	}
	free(file.bytes);
}

/* Flips each bit in turn. Only `silent_from` to `silent_to` may go unnoticed. */
static void expect_flips_found(const char *path, size_t silent_from, size_t silent_to)
{
	struct bytes file = bytes_read(path);
	struct findings findings;
	size_t bit;

	assert_int_equal(findings_take(&findings, path), 0);
	for (bit = 0; bit < 8 * file.length; bit++) {
		struct atf_index *index;
		void *copy;

		file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (!open_copy(&index, &copy, file.bytes, file.length, NULL)) {
			assert_true(64 + 32 * atf_index_count(index) <= file.length);
			use_all(index);
			atf_index_close(index);
		}
		free(copy);
		bytes_write(path, file.bytes, file.length);
		assert_true(findings_take(&findings, path) >= 0);
		if (!findings.failed && (bit / 8 < silent_from || bit / 8 >= silent_to))
			fail_msg("bit %zu of byte %zu flipped, and nothing found", bit % 8, bit / 8);
		file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	free(file.bytes);
}

static void test_every_bit_of_a_file(void **state)
{
	struct fixture *fixture = *state;

	fixture_write(fixture->path, 0, COUNT);
	expect_flips_found(fixture->path, 0, 0);
}

/* Without events nothing repeats the header's thread_id. */
static void test_every_bit_of_an_empty_file(void **state)
{
	struct fixture *fixture = *state;

	fixture_write(fixture->path, 0, 0);
	expect_flips_found(fixture->path, 12, 16);
}

/* One change to a finished file of COUNT events, and what is said of it. */
struct damage {
	size_t offset, bytes; /* what is overwritten ... */
	uint64_t value;	      /* ... with this, little-endian */
	size_t length;	      /* of the file then; 0: as it was. More is filled with 'x' */
	int status;
	enum atf_completeness completeness;
	uint64_t count;
	const char *message, *finding; /* of open, of verify */
};
#define FOOTER (64 + COUNT * 32)
#define REFUSED(error, text) .status = -(error), .message = text, .finding = "header: %s: " text
#define FOUND(text) .completeness = ATF_COMPLETE, .count = COUNT, .message = "", .finding = text
#define DAMAGED(events, text) .completeness = ATF_DAMAGED, .count = events, .message = text, .finding = "size: %s: " text

static const struct damage damages[] = {
	/* magic */ { 0, 4, 0x464c457f, REFUSED(ATF_ERROR_NOT_ATF, "not an ATF index file: it does not begin with \"ATI2\"") },
	/* detail file */ { 0, 4, 0x32445441, REFUSED(ATF_ERROR_NOT_ATF, "an ATF detail file, not an index file") },
	/* short */ { .length = 63, REFUSED(ATF_ERROR_NOT_ATF, "cut inside the header: 63 bytes of 64") },
	/* endian */ { 4, 1, 2, REFUSED(ATF_ERROR_VERSION, "byte order 2, and only little-endian (1) can be read") },
	/* version */ { 5, 1, 2, REFUSED(ATF_ERROR_VERSION, "version 2 of the format, and only version 1 can be read") },
	/* event size */ { 24, 4, 24, REFUSED(ATF_ERROR_VERSION, "events of 24 bytes, and only events of 32 can be read") },
	/* events offset */ { 32, 8, 128, REFUSED(ATF_ERROR_CORRUPT, "damaged header: events at 128 instead of 64") },
	/* arch */ { 6, 1, 9, FOUND("header: unknown architecture 9") },
	/* os */ { 7, 1, 3, FOUND("header: operating system 3 is not Linux (4)") },
	/* flags */ { 8, 4, 6, FOUND("header: unknown flags 0x6") },
	/* no detail */ { 8, 4, 1, FOUND("detail: the header names a detail file, and there is none") },
	/* thread */ { 12, 4, 5, FOUND("threads: 5 events of another thread than the header's, the first at event 0") },
	/* clock */ { 16, 1, 1, FOUND("header: clock 1 is not boottime (3)") },
	/* reserved */ { 17, 3, 1, FOUND("header: reserved bytes are not zero") },
	/* count */ { 28, 4, 4, DAMAGED(COUNT, "damaged: header and footer contradict each other; reading the footer's 5 events") },
	/* huge count */
	{ 28, 4, UINT32_MAX, DAMAGED(COUNT, "damaged: header and footer contradict each other; reading the footer's 5 events") },
	/* footer offset */
	{ 40, 8, UINT64_MAX, DAMAGED(COUNT, "damaged: header and footer contradict each other; reading the footer's 5 events") },
	/* footer magic */ { FOOTER, 4, 0, DAMAGED(COUNT, "damaged: no valid footer behind the header's 5 events") },
	/* footer count */ { FOOTER + 8, 8, 6, DAMAGED(COUNT, "damaged: no valid footer behind the header's 5 events") },
	/* checksum */ { FOOTER + 4, 4, 0xdeadbeef, FOUND("checksum: CRC32 is ") },
	/* footer time */
	{ FOOTER + 16, 8, 7, DAMAGED(COUNT, "damaged: header and footer contradict each other; reading the footer's 5 events") },
	/* footer reserved */ { FOOTER + 60, 4, 1, FOUND("footer: reserved bytes are not zero") },
	/* time falls */ { 64 + 2 * 32, 8, 3, FOUND("checksum: CRC32 is ") },
	/* cut events */ { .length = FOOTER - 40, DAMAGED(3, "cut: 3 of 5 events are left") },
	/* cut footer */ { .length = SIZE - 1, DAMAGED(COUNT, "cut: the footer is missing, all 5 events are there") },
	/* garbage */ { .length = SIZE + 99, DAMAGED(COUNT, "damaged: 99 bytes behind the footer") },
};

static void expect_damage(const struct damage *damage, const char *path, const struct bytes *good)
{
	size_t length = damage->length ? damage->length : good->length;
	char expected[512];
	struct atf_message message;
	struct findings findings;
	struct atf_index *index;
	uint8_t bytes[SIZE + 100];

	memset(bytes, 'x', sizeof bytes);
	memcpy(bytes, good->bytes, good->length);
	memcpy(bytes + damage->offset, &damage->value, damage->bytes);
	bytes_write(path, bytes, length);
	assert_int_equal(atf_index_open(&index, path, &message), damage->status);
	snprintf(expected, sizeof expected, "%s: %s", path, damage->message);
	assert_string_equal(message.text, *damage->message ? expected : "");
	if (index) {
		assert_int_equal(atf_index_completeness(index), damage->completeness);
		assert_int_equal(atf_index_count(index), damage->count);
		atf_index_close(index);
	}
	assert_true(findings_take(&findings, path) > 0);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(expected, sizeof expected, damage->finding, path);
#pragma GCC diagnostic pop
	assert_memory_equal(findings.first, expected, strlen(expected));
}

static void test_damage_is_told(void **state)
{
	struct fixture *fixture = *state;
	struct bytes good;
	size_t i;

	fixture_write(fixture->path, 0, COUNT);
	good = bytes_read(fixture->path);
	for (i = 0; i < sizeof damages / sizeof *damages; i++)
		expect_damage(&damages[i], fixture->path, &good);
	free(good.bytes);
}

static void test_a_crash_is_no_damage(void **state)
{
	static const uint8_t zeros[4096];
	struct fixture *fixture = *state;
	struct atf_message message;
	struct atf_index *index;
	struct bytes file;
	uint8_t bytes[8192];

	fixture_write(fixture->path, 0, COUNT);
	file = bytes_read(fixture->path);
	memset(file.bytes + FOOTER, 0, 64);
	assert_int_equal(atf_index_open_bytes(&index, file.bytes, SIZE, &message), 0);
	assert_string_equal(message.text, "the footer is zero (left by a crash): 5 events");
	assert_int_equal(atf_index_completeness(index), ATF_NO_FOOTER);
	assert_int_equal(atf_index_count(index), COUNT);
	atf_index_close(index);

	memset(file.bytes + 28, 0, 4);
	memset(file.bytes + 40, 0, 24);
	memcpy(bytes, file.bytes, FOOTER);
	memcpy(bytes + FOOTER, zeros, sizeof zeros);
	assert_int_equal(atf_index_open_bytes(&index, bytes, FOOTER + sizeof zeros, &message), 0);
	assert_string_equal(message.text, "no footer (still being written, or left by a crash): 5 events");
	assert_int_equal(atf_index_completeness(index), ATF_NO_FOOTER);
	assert_int_equal(atf_index_count(index), COUNT);
	atf_index_close(index);
	free(file.bytes);
}

/* A file is opened by its ends where they say it all, and bytes in memory never are. */
static void open_both(const char *path, const uint8_t *bytes, size_t length)
{
	struct atf_message by_ends, by_bytes;
	struct atf_index *file, *memory;
	char expected[512];
	void *copy;
	int status = open_copy(&memory, &copy, bytes, length, &by_bytes);

	bytes_write(path, bytes, length);
	assert_int_equal(atf_index_open(&file, path, &by_ends), status);
	snprintf(expected, sizeof expected, "%s: %s", path, by_bytes.text);
	assert_string_equal(by_ends.text, by_bytes.text[0] ? expected : "");
	if (!status) {
		assert_int_equal(atf_index_count(file), atf_index_count(memory));
		assert_int_equal(atf_index_completeness(file), atf_index_completeness(memory));
		assert_memory_equal(&file->layout, &memory->layout, sizeof file->layout);
		atf_index_close(file);
		atf_index_close(memory);
	}
	free(copy);
}

static void test_ends_say_what_all_of_it_says(void **state)
{
	struct fixture *fixture = *state;
	uint8_t bytes[SIZE + 64] = { 0 };
	struct bytes file;

	fixture_write(fixture->path, 0, COUNT);
	file = bytes_read(fixture->path);
	memcpy(bytes, file.bytes, SIZE);
	for (unsigned int finished = 2; finished--;) {
		if (!finished) { /* the header as it is before the footer is written */
			memset(bytes + 28, 0, 4);
			memset(bytes + 40, 0, 24);
		}
		/* Also with half a footer, and with less or more than a record of zeros at the end. */
		for (size_t length = 0; length <= sizeof bytes; length++)
			open_both(fixture->path, bytes, length);
		memset(bytes + FOOTER, 0, 64);
		for (size_t length = 64; length <= sizeof bytes; length++)
			open_both(fixture->path, bytes, length);
		memcpy(bytes + FOOTER, file.bytes + FOOTER, 64);
	}
	free(file.bytes);
}

static void test_detail_file_that_the_header_does_not_name(void **state)
{
	struct fixture *fixture = *state;
	struct findings findings;
	char path[128];

	fixture_write(fixture->path, 0, COUNT);
	snprintf(path, sizeof path, "%s/detail.atf", fixture->directory);
	bytes_write(path, "", 0);
	assert_int_equal(findings_take(&findings, fixture->path), 1);
	assert_string_equal(findings.first, "detail: there is a detail file that the header doesn't name");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_every_length_of_a_finished_file),
		FIXTURE_TEST(test_every_length_of_an_unfinished_file),
		FIXTURE_TEST(test_every_bit_of_a_file),
		FIXTURE_TEST(test_every_bit_of_an_empty_file),
		FIXTURE_TEST(test_damage_is_told),
		FIXTURE_TEST(test_a_crash_is_no_damage),
		FIXTURE_TEST(test_ends_say_what_all_of_it_says),
		FIXTURE_TEST(test_detail_file_that_the_header_does_not_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Segments that were packed raw: compressed in their place, unless they have gone meanwhile. */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "atf/index/index.h"
#include "recorder/squeeze/squeezer.h"

#define EVENTS 100000u
#define SOME 20000u

static const struct ada_squeeze number = { .provider = 1, .thread = 2, .segment = 3, .bytes = 1000 };

struct place {
	char directory[PATH_MAX], path[PATH_MAX], other[PATH_MAX];
	struct ada_squeezer *squeezer;
	struct ada_event *events;
};

static void write_segment(const struct place *place, const char *path, enum atf_pack_how how)
{
	struct atf_packer *packer = atf_packer_new();
	struct atf_pack_writer *writer;
	struct atf_pack_lane lane;

	atf_pack_lane_open(&lane, 10);
	assert_int_equal(atf_pack_writer_open(&writer, path, 10, ATF_ARCH_X86_64), 0);
	for (uint32_t at = 0; at < EVENTS; at += SOME) {
		struct atf_pack_bytes block;

		assert_int_equal(atf_pack_encode(packer, &lane, place->events + at, SOME, how, &block), 0);
		assert_int_equal(atf_pack_writer_add(writer, &block, place->events + at, SOME, false), 0);
		atf_pack_accept(&lane);
	}
	assert_int_equal(atf_pack_writer_close(writer, 0), 0);
	atf_pack_lane_close(&lane);
	atf_packer_free(packer);
}

static int begin(void **state)
{
	struct place *place = calloc(1, sizeof *place);

	snprintf(place->directory, sizeof place->directory, "/tmp/test_squeezer.XXXXXX");
	assert_non_null(mkdtemp(place->directory));
	assert_true(snprintf(place->path, sizeof place->path, "%s/index.atp", place->directory) < PATH_MAX);
	assert_true(snprintf(place->other, sizeof place->other, "%s/other", place->directory) < PATH_MAX);
	place->events = calloc(EVENTS, sizeof *place->events);
	for (uint32_t i = 0; i < EVENTS; i++)
		place->events[i] = (struct ada_event){
			.timestamp_ns = 1000 + 20 * i,
			.function_id = i / 2 % 7,
			.thread_id = 10,
			.event_kind = i % 2 ? ADA_EVENT_RETURN : ADA_EVENT_CALL,
			.detail_seq = ADA_NO_DETAIL,
		};
	assert_int_equal(ada_squeezer_open(&place->squeezer), 0);
	*state = place;
	return 0;
}

static int finish(void **state)
{
	struct place *place = *state;
	char anew[PATH_MAX + 8];

	ada_squeezer_close(place->squeezer);
	snprintf(anew, sizeof anew, "%s.tmp", place->path);
	assert_int_not_equal(access(anew, F_OK), 0);
	unlink(place->path);
	unlink(place->other);
	assert_int_equal(rmdir(place->directory), 0);
	free(place->events);
	free(place);
	return 0;
}

static struct atf_index *opened(const char *path)
{
	struct atf_message message;
	struct atf_index *index;

	assert_int_equal(atf_index_open(&index, path, &message), 0);
	assert_int_equal(atf_index_completeness(index), ATF_COMPLETE);
	return index;
}

static bool is_raw(const char *path)
{
	struct atf_index *index = opened(path);
	bool raw = atf_index_is_raw(index);

	atf_index_close(index);
	return raw;
}

static off_t size_of(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_size;
}

/* The listed segment has its turn, and is done. */
static void send(struct place *place)
{
	struct ada_squeeze segment;

	ada_squeezer_closed(place->squeezer, &number);
	assert_true(ada_squeezer_next(place->squeezer, &segment));
	assert_int_equal(ada_squeezer_left(place->squeezer), 1);
	assert_memory_equal(&segment, &number, sizeof number);
	ada_squeezer_send(place->squeezer, place->path);
	assert_false(ada_squeezer_next(place->squeezer, &segment));
	while (!ada_squeezer_done(place->squeezer, &segment))
		poll(NULL, 0, 1);
	assert_memory_equal(&segment, &number, sizeof number);
}

static void test_the_same_in_fewer_bytes(void **state)
{
	struct place *place = *state;
	struct atf_index *raw, *now;
	off_t before;

	write_segment(place, place->path, ATF_PACK_RAW);
	before = size_of(place->path);
	assert_true(is_raw(place->path));
	raw = opened(place->path); /* who reads it goes on with the old file */
	send(place);
	assert_int_equal(size_of(place->path), before);
	ada_squeezer_take(place->squeezer, true);
	assert_true(size_of(place->path) < before / 2);
	assert_false(is_raw(place->path));
	now = opened(place->path);
	assert_true(atf_index_same(raw, now));
	atf_index_close(now);
	atf_index_close(raw);
}

static void test_what_goes_meanwhile_stays_away(void **state)
{
	struct place *place = *state;

	write_segment(place, place->path, ATF_PACK_RAW);
	send(place);
	assert_int_equal(rename(place->path, place->other), 0);
	ada_squeezer_take(place->squeezer, false);
	assert_int_not_equal(access(place->path, F_OK), 0);
	assert_true(is_raw(place->other));
}

static void test_a_detail_file_named_meanwhile_is_kept(void **state)
{
	struct place *place = *state;
	struct atf_index *now;
	int fd;

	write_segment(place, place->path, ATF_PACK_RAW);
	send(place);
	fd = open(place->path, O_RDWR);
	assert_int_equal(atf_pack_name_detail(fd), 0);
	close(fd);
	ada_squeezer_take(place->squeezer, true);
	assert_false(is_raw(place->path));
	now = opened(place->path);
	assert_int_equal(atf_index_header(now)->flags & ATF_FLAG_HAS_DETAIL, ATF_FLAG_HAS_DETAIL);
	atf_index_close(now);
}

static void test_what_is_compressed_or_damaged_stays(void **state)
{
	struct place *place = *state;
	off_t before;
	int fd;

	write_segment(place, place->path, ATF_PACK_ZSTD);
	before = size_of(place->path);
	send(place);
	ada_squeezer_take(place->squeezer, true);
	assert_int_equal(size_of(place->path), before);
	unlink(place->path);
	write_segment(place, place->path, ATF_PACK_RAW);
	before = size_of(place->path);
	fd = open(place->path, O_RDWR);
	assert_int_equal(pwrite(fd, "damage", 6, 2000), 6);
	close(fd);
	send(place);
	ada_squeezer_take(place->squeezer, true);
	assert_int_equal(size_of(place->path), before);
}

static void test_what_is_not_wanted_lets_the_next_come(void **state)
{
	struct place *place = *state;
	struct ada_squeeze segment, second = { .segment = 4 };

	ada_squeezer_closed(place->squeezer, &number);
	ada_squeezer_closed(place->squeezer, &second);
	assert_true(ada_squeezer_next(place->squeezer, &segment));
	ada_squeezer_send(place->squeezer, NULL);
	assert_true(ada_squeezer_next(place->squeezer, &segment));
	assert_int_equal(segment.segment, 4);
	assert_false(ada_squeezer_done(place->squeezer, &segment));
}

/* The teardown closes it, and looks for what it was writing. */
static void test_closed_on_the_way(void **state)
{
	struct place *place = *state;

	write_segment(place, place->path, ATF_PACK_RAW);
	ada_squeezer_closed(place->squeezer, &number);
	ada_squeezer_send(place->squeezer, place->path);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_same_in_fewer_bytes),
		TEST(test_what_goes_meanwhile_stays_away),
		TEST(test_a_detail_file_named_meanwhile_is_kept),
		TEST(test_what_is_compressed_or_damaged_stays),
		TEST(test_what_is_not_wanted_lets_the_next_come),
		TEST(test_closed_on_the_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Packed files: read like plain ones, written so that a crash leaves whole blocks, and damage is noticed wherever it is. */
#include "atf/index/index.h"
#include "atf/session/thread.h"
#include "fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVENTS 100000u /* some blocks */

static char packed_path[128];

static int packed_make(void **state)
{
	int status = fixture_make(state);

	snprintf(packed_path, sizeof packed_path, "%s/index.atp", ((struct fixture *)*state)->directory);
	return status;
}
#define PACKED_TEST(function) cmocka_unit_test_setup_teardown(function, packed_make, fixture_remove)

static struct atf_index *index_open(const char *path, enum atf_completeness completeness)
{
	struct atf_message message;
	struct atf_index *index;

	assert_int_equal(atf_index_open(&index, path, &message), 0);
	assert_int_equal(atf_index_completeness(index), completeness);
	assert_int_equal(!message.text[0], completeness == ATF_COMPLETE);
	return index;
}

static void pack_file(const char *plain, const char *packed)
{
	struct atf_index *index = index_open(plain, ATF_COMPLETE);
	struct atf_index_packer packer;
	struct atf_message message = { "" };

	assert_int_equal(atf_index_packer_open(&packer), 0);
	assert_int_equal(atf_index_pack(&packer, index, packed, NULL, NULL, &message), 0);
	atf_index_packer_close(&packer);
	atf_index_close(index);
}

static void expect_events(const struct atf_index *index, uint64_t count)
{
	assert_int_equal(atf_index_count(index), count);
	for (uint64_t i = 0; i < count; i++) {
		struct ada_event expected = fixture_event(i), event;

		assert_int_equal(atf_index_get(index, i, &event), 0);
		assert_memory_equal(&event, &expected, sizeof event);
	}
}

/* --- what goes in comes out ----------------------------------------------------------------------------------------------- */

static void test_back_byte_for_byte(void **state)
{
	static const size_t counts[] = { 0, 1, 1000, ATF_PACK_EVENTS, ATF_PACK_EVENTS + 1, EVENTS };
	struct fixture *fixture = *state;
	struct atf_message message = { "" };
	char back[128];

	snprintf(back, sizeof back, "%s/back", fixture->directory);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		struct bytes before, after;
		struct atf_index *index;

		unlink(fixture->path);
		unlink(packed_path);
		unlink(back);
		fixture_write(fixture->path, 0, counts[i]);
		pack_file(fixture->path, packed_path);
		index = index_open(packed_path, ATF_COMPLETE);
		assert_int_equal(atf_index_unpack(index, back, NULL, NULL, &message), 0);
		atf_index_close(index);
		before = bytes_read(fixture->path);
		after = bytes_read(back);
		assert_int_equal(before.length, after.length);
		assert_memory_equal(before.bytes, after.bytes, before.length);
		free(before.bytes);
		free(after.bytes);
	}
	unlink(back);
}

static void test_read_alike(void **state)
{
	struct fixture *fixture = *state;
	struct atf_index *plain, *packed;
	struct random random = { 1 };

	fixture_write(fixture->path, 0, EVENTS);
	pack_file(fixture->path, packed_path);
	plain = index_open(fixture->path, ATF_COMPLETE);
	packed = index_open(packed_path, ATF_COMPLETE);
	assert_true(atf_index_same(plain, packed));
	assert_memory_equal(atf_index_header(plain), atf_index_header(packed), sizeof(AtfIndexHeader));
	for (unsigned int i = 0; i < 2000; i++) {
		uint64_t ns = random_below(&random, 10 * EVENTS + 3000), seq = random_below(&random, EVENTS);
		struct ada_event one, other;

		assert_int_equal(atf_index_lower_bound(packed, ns), atf_index_lower_bound(plain, ns));
		assert_int_equal(atf_index_get(packed, seq, &one), 0);
		assert_int_equal(atf_index_get(plain, seq, &other), 0);
		assert_memory_equal(&one, &other, sizeof one);
		assert_int_equal(atf_index_block(packed, seq), seq / ATF_PACK_EVENTS * ATF_PACK_EVENTS);
		assert_int_equal(atf_index_block(plain, seq), seq);
	}
	assert_int_equal(atf_index_lower_bound(packed, UINT64_MAX), EVENTS);
	assert_memory_equal(atf_index_events(packed), atf_index_events(plain), EVENTS * sizeof(struct ada_event));
	atf_index_close(plain);
	atf_index_close(packed);
}

/* The blocks of some events lie where their heads say, and no byte of others is among them. */
static void test_where_blocks_lie(void **state)
{
	struct fixture *fixture = *state;
	struct atf_packed *packed;
	struct atf_message message;
	struct bytes file;
	struct random random = { 2 };

	fixture_write(fixture->path, 0, EVENTS);
	pack_file(fixture->path, packed_path);
	file = bytes_read(packed_path);
	assert_int_equal(atf_packed_open(&packed, file.bytes, file.length, &message), 0);
	for (unsigned int i = 0; i < 200; i++) {
		uint64_t from = random_below(&random, EVENTS), to = from + 1 + random_below(&random, EVENTS - from);
		uint64_t next = from / ATF_PACK_EVENTS * ATF_PACK_EVENTS;
		const uint8_t *begin, *end;
		AtfPackBlock head;

		atf_packed_place(packed, from, to, &begin, &end);
		for (; begin < end; begin += atf_pack_block_length(begin, (size_t)(end - begin))) {
			assert_true(atf_pack_block_length(begin, (size_t)(end - begin)));
			memcpy(&head, begin, sizeof head);
			assert_int_equal(head.first_seq, next);
			next += head.event_count;
		}
		assert_ptr_equal(begin, end);
		to = (to + ATF_PACK_EVENTS - 1) / ATF_PACK_EVENTS * ATF_PACK_EVENTS;
		assert_int_equal(next, to < EVENTS ? to : EVENTS);
	}
	atf_packed_close(packed);
	free(file.bytes);
}

/* A thread of a plain segment, a packed one, and one that is there twice: as while it is packed. */
static void test_thread_of_both(void **state)
{
	struct fixture *fixture = *state;
	struct atf_message message;
	struct atf_thread *thread;
	char path[3][128], packed[3][128];
	uint64_t at = 0, run;

	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(atf_index_path(path[i], sizeof *path, fixture->directory, i), 0);
		assert_int_equal(atf_packed_path(packed[i], sizeof *packed, fixture->directory, i), 0);
		fixture_write(path[i], i * 50000, 50000);
		if (i)
			pack_file(path[i], packed[i]);
	}
	unlink(path[1]);
	assert_int_equal(atf_thread_open(&thread, fixture->directory, &message), 0);
	assert_string_equal(message.text, "");
	assert_int_equal(atf_thread_segments(thread), 3);
	assert_int_equal(atf_thread_count(thread), 150000);
	while (at < 150000) {
		const struct ada_event *events = atf_thread_run(thread, at, &run);

		assert_true(run && run <= 50000);
		atf_thread_ahead(thread, at, 150000);
		for (uint64_t i = 0; i < run; i++)
			assert_int_equal(events[i].timestamp_ns, fixture_event(at + i).timestamp_ns);
		atf_thread_release(thread, at, at + run);
		at += run;
	}
	for (uint64_t i = 150000; i-- > 0; i -= i % 7)
		assert_int_equal(atf_thread_get(thread, i)->timestamp_ns, fixture_event(i).timestamp_ns);
	atf_thread_close(thread);
	for (uint32_t i = 0; i < 3; i++) {
		unlink(path[i]);
		unlink(packed[i]);
	}
}

/* --- readers ---------------------------------------------------------------------------------------------------------------- */

struct reading {
	const struct atf_index *index;
	uint64_t seed;
	bool ok;
};

static void *read_somewhere(void *context)
{
	struct reading *reading = context;
	struct random random = { reading->seed };

	reading->ok = true;
	for (unsigned int i = 0; i < 300 && reading->ok; i++) {
		uint64_t from = random_below(&random, EVENTS), count;
		const struct ada_event *events = atf_index_run(reading->index, from, &count);

		for (uint64_t j = 0; j < count && reading->ok; j += 1 + random_below(&random, 50))
			reading->ok = events[j].timestamp_ns == fixture_event(from + j).timestamp_ns;
		atf_index_release(reading->index, random_below(&random, from + 1), from);
	}
	return NULL;
}

/* What one reader lets go stays for the others. */
static void test_many_readers(void **state)
{
	struct fixture *fixture = *state;
	struct reading readings[8];
	pthread_t threads[8];
	struct atf_index *index;

	fixture_write(fixture->path, 0, EVENTS);
	pack_file(fixture->path, packed_path);
	index = index_open(packed_path, ATF_COMPLETE);
	for (size_t i = 0; i < 8; i++) {
		readings[i] = (struct reading){ index, i + 1, false };
		assert_int_equal(pthread_create(&threads[i], NULL, read_somewhere, &readings[i]), 0);
	}
	for (size_t i = 0; i < 8; i++) {
		pthread_join(threads[i], NULL);
		assert_true(readings[i].ok);
	}
	atf_index_close(index);
}

/* --- unfinished files ----------------------------------------------------------------------------------------------------- */

/* A writer as the recorder's: a tail again and again, a whole block where there are so many events. After each step the file holds all
 * that was handed over, and so it is found without footer, and recovered. */
static void test_tails(void **state)
{
	const uint32_t whole = 900, step = 130;
	struct atf_packer *packer = atf_packer_new();
	struct atf_pack_writer *writer;
	struct atf_pack_lane lane;
	struct atf_message message;
	struct ada_event events[1000];
	uint64_t accepted = 0;
	struct atf_index *index;

	atf_pack_lane_open(&lane, THREAD_ID);
	assert_int_equal(atf_pack_writer_open(&writer, packed_path, THREAD_ID, ATF_ARCH_X86_64), 0);
	for (uint64_t count = step; count < 5000; count += step) {
		struct atf_pack_bytes block;

		fixture_events(events, accepted, 1000);
		if (count - accepted >= whole) {
			assert_int_equal(atf_pack_encode(packer, &lane, events, whole, ATF_PACK_ZSTD, &block), 0);
			assert_int_equal(atf_pack_writer_add(writer, &block, events, whole, false), 0);
			atf_pack_accept(&lane);
			accepted += whole;
			fixture_events(events, accepted, 1000);
		}
		assert_int_equal(atf_pack_encode(packer, &lane, events, (uint32_t)(count - accepted), ATF_PACK_RAW, &block), 0);
		assert_int_equal(atf_pack_writer_add(writer, &block, events, (uint32_t)(count - accepted), true), 0);
		index = index_open(packed_path, ATF_NO_FOOTER);
		expect_events(index, count);
		atf_index_close(index);
		if (count + step >= 5000) {
			struct bytes crashed = bytes_read(packed_path);
			char other[160];

			snprintf(other, sizeof other, "%s.crashed", packed_path);
			bytes_write(other, crashed.bytes, crashed.length);
			assert_int_equal(atf_index_recover(other, &message), 0);
			index = index_open(other, ATF_COMPLETE);
			expect_events(index, count);
			atf_index_close(index);
			unlink(other);
			free(crashed.bytes);
		}
	}
	assert_int_equal(atf_pack_writer_close(writer, 0), 0);
	index = index_open(packed_path, ATF_COMPLETE);
	expect_events(index, 4940);
	atf_index_close(index);
	atf_pack_lane_close(&lane);
	atf_packer_free(packer);
}

/* --- damage ------------------------------------------------------------------------------------------------------------- */

/* Blocks of 200 events, 1,000 in all: small enough to try every bit. `wrong`: bits of the third one's sum. */
static struct bytes small_file(struct fixture *fixture, bool finish, bool checked, uint64_t wrong)
{
	struct atf_packer *packer = atf_packer_new();
	struct atf_pack_writer *writer;
	struct atf_pack_lane lane;
	struct ada_event events[200];

	unlink(packed_path);
	atf_pack_lane_open(&lane, THREAD_ID);
	assert_int_equal(atf_pack_writer_open(&writer, packed_path, THREAD_ID, ATF_ARCH_X86_64), 0);
	if (!checked)
		atf_pack_writer_unchecked(writer);
	for (uint32_t i = 0; i < 5; i++) {
		struct atf_pack_bytes block;
		AtfPackBlock head;

		fixture_events(events, i * 200, 200);
		assert_int_equal(atf_pack_encode(packer, &lane, events, 200, ATF_PACK_ZSTD, &block), 0);
		memcpy(&head, block.bytes, sizeof head);
		head.events_sum ^= i == 2 ? wrong : 0;
		memcpy(block.bytes, &head, sizeof head);
		assert_int_equal(atf_pack_writer_add(writer, &block, events, 200, false), 0);
		atf_pack_accept(&lane);
	}
	if (finish)
		assert_int_equal(atf_pack_writer_close(writer, 0), 0);
	else
		atf_pack_writer_abandon(writer);
	atf_pack_lane_close(&lane);
	atf_packer_free(packer);
	return bytes_read(packed_path);
}

/* Every bit of a finished file, with and without the events' CRC32: verify finds that it turned. */
static void test_every_bit_counts(void **state)
{
	for (unsigned int checked = 0; checked < 2; checked++) {
		struct bytes file = small_file(*state, true, checked, 0);
		struct findings findings;

		assert_int_equal(findings_take(&findings, packed_path), 0);
		for (size_t bit = 0; bit < file.length * 8; bit++) {
			file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
			bytes_write(packed_path, file.bytes, file.length);
			assert_int_not_equal(findings_take(&findings, packed_path), 0);
			file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		free(file.bytes);
	}
}

/* A block that decodes, into other events than its sum is of, all checksums right: as an encoder's fault would look. */
static void test_a_block_of_other_events(void **state)
{
	for (unsigned int checked = 0; checked < 2; checked++) {
		struct bytes file = small_file(*state, true, checked, 1ull << 40);
		struct fixture *fixture = *state;
		struct atf_message message;
		struct findings findings;
		struct atf_index *index;

		assert_int_equal(findings_take(&findings, packed_path), 1);
		index = index_open(packed_path, ATF_COMPLETE);
		expect_events(index, 1000);
		assert_int_equal(atf_index_unpack(index, fixture->path, NULL, NULL, &message), -ATF_ERROR_CORRUPT);
		unlink(fixture->path);
		atf_index_close(index);
		free(file.bytes);
		file = small_file(*state, false, checked, 1ull << 40);
		assert_int_equal(atf_index_recover(packed_path, &message), -ATF_ERROR_CORRUPT);
		assert_non_null(strstr(message.text, "other events than were recorded"));
		free(file.bytes);
	}
}

/* Without the events' CRC32 it unpacks to the file that it was packed from, which has it; and a later version than the newest is no file for us. */
static void test_unchecked(void **state)
{
	struct bytes file = small_file(*state, true, false, 0), plain, back;
	struct fixture *fixture = *state;
	struct atf_message message;
	struct atf_index *index;

	fixture_write(fixture->path, 0, 1000);
	plain = bytes_read(fixture->path);
	unlink(fixture->path);
	index = index_open(packed_path, ATF_COMPLETE);
	assert_int_equal(atf_index_unpack(index, fixture->path, NULL, NULL, &message), 0);
	atf_index_close(index);
	back = bytes_read(fixture->path);
	assert_int_equal(back.length, plain.length);
	assert_memory_equal(back.bytes, plain.bytes, plain.length);
	file.bytes[offsetof(AtfIndexHeader, version)] = ATF_PACK_VERSION + 1;
	bytes_write(packed_path, file.bytes, file.length);
	assert_int_equal(atf_index_open(&index, packed_path, &message), -ATF_ERROR_VERSION);
	assert_non_null(strstr(message.text, "version 3 of the format, and only versions up to 2 can be read"));
	free(file.bytes);
	free(plain.bytes);
	free(back.bytes);
}

/* Cut anywhere: the whole blocks count, and are recovered. */
static void test_cut_anywhere(void **state)
{
	for (unsigned int finish = 0; finish < 2; finish++) {
		struct bytes file = small_file(*state, finish, finish, 0);

		for (size_t length = 64; length < file.length; length += 13) {
			struct atf_message message;
			struct atf_index *index;
			uint64_t count;

			bytes_write(packed_path, file.bytes, length);
			index = index_open(packed_path, finish ? ATF_DAMAGED : ATF_NO_FOOTER);
			count = atf_index_count(index);
			assert_int_equal(count % 200, 0);
			expect_events(index, count);
			atf_index_close(index);
			assert_int_equal(atf_index_recover(packed_path, &message), finish ? -ATF_ERROR_CORRUPT : 0);
			if (finish)
				continue;
			index = index_open(packed_path, ATF_COMPLETE);
			expect_events(index, count);
			atf_index_close(index);
		}
		free(file.bytes);
	}
}

/* A damaged block is LOST events, one each; the blocks behind it are read, since what they need is in heads that are sound. */
static void test_damaged_block(void **state)
{
	for (unsigned int finish = 0; finish < 2; finish++) {
		struct bytes file = small_file(*state, finish, finish, 0);
		struct atf_message message;
		struct atf_index *index;
		AtfPackBlock head;
		struct ada_event event;
		size_t second;

		memcpy(&head, file.bytes + 64, sizeof head);
		second = 64 + atf_pack_block_length(file.bytes + 64, file.length - 64);
		memcpy(&head, file.bytes + second, sizeof head);
		assert_int_equal(head.first_seq, 200);
		file.bytes[second + sizeof head + head.open_bytes + 5] ^= 1;
		bytes_write(packed_path, file.bytes, file.length);
		index = index_open(packed_path, finish ? ATF_COMPLETE : ATF_NO_FOOTER);
		for (unsigned int pass = 0; pass < (finish ? 1 : 2); pass++) {
			assert_int_equal(atf_index_count(index), 1000);
			for (uint64_t i = 0; i < 1000; i++) {
				struct ada_event expected = fixture_event(i);

				if (i / 200 == 1)
					expected = (struct ada_event){
						fixture_event(200).timestamp_ns, 1, THREAD_ID, ADA_EVENT_LOST, 0, ADA_NO_DETAIL
					};
				assert_int_equal(atf_index_get(index, i, &event), 0);
				assert_memory_equal(&event, &expected, sizeof event);
			}
			if (finish || pass)
				break;
			atf_index_close(index);
			assert_int_equal(atf_index_recover(packed_path, &message), 0);
			assert_non_null(strstr(message.text, "recovered 800 events; 200 more"));
			index = index_open(packed_path, ATF_COMPLETE);
		}
		atf_index_close(index);
		free(file.bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PACKED_TEST(test_back_byte_for_byte),
		PACKED_TEST(test_read_alike),
		PACKED_TEST(test_thread_of_both),
		PACKED_TEST(test_many_readers),
		PACKED_TEST(test_tails),
		PACKED_TEST(test_every_bit_counts),
		PACKED_TEST(test_cut_anywhere),
		PACKED_TEST(test_damaged_block),
		PACKED_TEST(test_where_blocks_lie),
		PACKED_TEST(test_a_block_of_other_events),
		PACKED_TEST(test_unchecked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

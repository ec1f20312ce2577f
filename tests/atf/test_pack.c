/* Blocks of packed events: what goes in comes out, whatever it is; what is damaged is noticed. */
#include "atf/pack/pack.h"
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#define MOST 70000

struct codec {
	struct atf_packer *packer;
	struct atf_unpacker *unpacker;
	struct atf_pack_lane writer, reader;
	struct ada_event *events, *back; /* of a recording; of a block */
	uint32_t count;
	uint64_t ns;
	uint32_t detail_seq, depth;
	uint64_t open[512]; /* functions of the calls that are open */
};

static int codec_make(void **state)
{
	struct codec *codec = calloc(1, sizeof *codec);

	codec->packer = atf_packer_new();
	codec->unpacker = atf_unpacker_new();
	codec->events = calloc(MOST, sizeof *codec->events);
	codec->back = calloc(ATF_PACK_EVENTS_MAX, sizeof *codec->back);
	atf_pack_lane_open(&codec->writer, THREAD_ID);
	atf_pack_lane_open(&codec->reader, THREAD_ID);
	codec->detail_seq = ADA_NO_DETAIL;
	codec->ns = 1000;
	*state = codec;
	return !codec->packer || !codec->unpacker;
}

static int codec_free(void **state)
{
	struct codec *codec = *state;

	atf_pack_lane_close(&codec->writer);
	atf_pack_lane_close(&codec->reader);
	atf_packer_free(codec->packer);
	atf_unpacker_free(codec->unpacker);
	free(codec->events);
	free(codec->back);
	free(codec);
	return 0;
}
#define CODEC_TEST(function) cmocka_unit_test_setup_teardown(function, codec_make, codec_free)

/* --- recordings --------------------------------------------------------------------------------------------------------- */

static struct ada_event *add(struct codec *codec, uint32_t kind, uint64_t value, uint32_t depth)
{
	struct ada_event *event = &codec->events[codec->count++];

	assert_true(codec->count <= MOST);
	*event = (struct ada_event){ codec->ns, value, THREAD_ID,
				     kind,	depth, kind <= ADA_EVENT_EXCEPTION ? codec->detail_seq : ADA_NO_DETAIL };
	if (kind <= ADA_EVENT_EXCEPTION && codec->detail_seq != ADA_NO_DETAIL)
		codec->detail_seq++;
	return event;
}

static void call(struct codec *codec, uint64_t function)
{
	codec->open[codec->depth] = function;
	add(codec, ADA_EVENT_CALL, function, codec->depth++);
}

static void end(struct codec *codec, uint32_t kind)
{
	codec->depth--;
	add(codec, kind, codec->open[codec->depth], codec->depth);
}

/* Calls below each other at random, of some 40 functions; time goes on by what a clock of 10 ns could say. */
static void step(struct codec *codec, struct random *random)
{
	static const uint64_t gaps[] = { 0, 10, 20, 30, 250, 251, 252, 255, 256, 65535, 65536, 1ull << 31, 1ull << 32, 1ull << 40 };

	codec->ns += random_below(random, 50) ? random_below(random, 8) * 10 : gaps[random_below(random, sizeof gaps / sizeof *gaps)];
	if (!codec->depth || (codec->depth < 500 && random_below(random, 2)))
		call(codec, ADA_FUNCTION_ID(1 + random_below(random, 2), random_below(random, 20) * random_below(random, 4)));
	else
		end(codec, ADA_EVENT_RETURN);
}

/* What isn't plain, one of each sort. */
static void odd_step(struct codec *codec, struct random *random)
{
	uint64_t address = 0x7f0000001000 + 64 * random_below(random, 30);

	switch (random_below(random, 15)) {
	case 0: add(codec, ADA_EVENT_LOST, 1 + random_below(random, 1000), codec->depth); break;
	case 1: add(codec, 5, address, codec->depth ? codec->depth - 1 : 0); break;
	case 2: add(codec, 6, random_next(random), codec->depth + (uint32_t)random_below(random, 3)); break;
	case 3: add(codec, 255, address, UINT32_MAX); break;
	case 4: add(codec, 256, address, 3); break;
	case 5: add(codec, 0, 0, 0); break;
	case 6: add(codec, 5, address, codec->depth)->detail_seq = 7; break;
	case 7: add(codec, ADA_EVENT_CALL, 77, codec->depth)->thread_id = THREAD_ID + 1; break;
	case 8: add(codec, ADA_EVENT_RETURN, UINT64_MAX, (uint32_t)random_below(random, 100)); break; /* an orphan */
	case 9: codec->detail_seq = random_below(random, 2) ? ADA_NO_DETAIL : (uint32_t)random_next(random); break;
	case 10:
		if (codec->depth)
			end(codec, ADA_EVENT_EXCEPTION);
		break;
	case 11: /* the end of a frame around some others */
		codec->depth = codec->depth > 5 ? codec->depth - 5 : 1;
		end(codec, random_below(random, 2) ? ADA_EVENT_RETURN : ADA_EVENT_EXCEPTION);
		break;
	case 12: /* another stack */
		codec->depth = (uint32_t)random_below(random, 400);
		call(codec, 5);
		break;
	case 14: add(codec, 1 + (uint32_t)random_below(random, 3), 9, UINT32_MAX); break;
	case 13: codec->events[codec->count - 1].timestamp_ns = random_next(random); break; /* times that fall */
	}
}

static void make_events(struct codec *codec, uint32_t count, uint64_t seed, uint32_t odd_one_in)
{
	struct random random = { seed };

	step(codec, &random);
	while (codec->count < count)
		if (odd_one_in && !random_below(&random, odd_one_in))
			odd_step(codec, &random);
		else
			step(codec, &random);
}

/* --- there and back ----------------------------------------------------------------------------------------------------- */

static void expect_same_lane(const struct atf_pack_lane *reader, const struct atf_pack_lane *writer)
{
	assert_int_equal(reader->frames.count, writer->frames.count);
	assert_int_equal(reader->after_loss, writer->after_loss);
	if (writer->after_loss)
		assert_int_equal(reader->before_loss_ns, writer->before_loss_ns);
	for (size_t i = 0; i < writer->frames.count; i++) {
		const struct atf_pack_frame *one = &reader->frames.items[i], *other = &writer->frames.items[i];

		assert_int_equal(one->function_id, other->function_id);
		assert_int_equal(one->start_ns, other->start_ns);
		assert_int_equal(one->children_ns, other->children_ns);
		assert_int_equal(one->position, other->position);
		assert_int_equal(one->depth, other->depth);
		assert_int_equal(one->across_loss, other->across_loss);
	}
}

/* As docs/format.md has it. */
static uint64_t slow_sum(const struct ada_event *events, uint32_t count)
{
	uint64_t folded = 0;

	for (unsigned int lane = 0; lane < 4; lane++) {
		uint64_t sum = 0, weighted = 0;

		for (uint32_t i = 0; i < count; i++) {
			uint64_t word;

			memcpy(&word, (const uint8_t *)&events[i] + 8 * lane, sizeof word);
			sum += word;
			weighted += (count - i) * word;
		}
		folded = (folded ^ sum) * 0x9E3779B97F4A7C15u;
		folded = (folded ^ folded >> 32 ^ weighted) * 0x9E3779B97F4A7C15u;
		folded ^= folded >> 32;
	}
	return folded;
}

static void expect_block(struct codec *codec, const struct atf_pack_bytes *block, uint32_t from, uint32_t count)
{
	AtfPackBlock head;

	memcpy(&head, block->bytes, sizeof head);
	assert_int_equal(atf_pack_block_length(block->bytes, block->length), block->length);
	assert_int_equal(block->length % 8, 0);
	assert_true(atf_pack_body_is_sound(block->bytes));
	assert_int_equal(head.event_count, count);
	assert_int_equal(head.first_seq, from);
	assert_int_equal(head.first_ns, codec->events[from].timestamp_ns);
	assert_int_equal(head.last_ns, codec->events[from + count - 1].timestamp_ns);
	assert_true(head.flags & ATF_PACK_SUMMED);
	assert_int_equal(head.events_sum, slow_sum(codec->events + from, count));
	memset(codec->back, 0xA5, count * sizeof *codec->back);
	assert_int_equal(atf_unpack_events(codec->unpacker, &codec->reader, block->bytes, codec->back), 0);
	assert_memory_equal(codec->back, codec->events + from, count * sizeof *codec->back);
}

/* Blocks of these many events; each is encoded with fewer events first, and raw. */
static void expect_roundtrip(struct codec *codec, uint32_t block_events)
{
	struct atf_pack_bytes block;

	for (uint32_t at = 0; at < codec->count; at += block_events) {
		uint32_t count = codec->count - at < block_events ? codec->count - at : block_events;
		const struct ada_event *events = codec->events + at;
		struct atf_pack_bytes raw;
		uint8_t *copy;

		assert_int_equal(atf_pack_encode(codec->packer, &codec->writer, events, (count + 1) / 2, ATF_PACK_RAW, &block), 0);
		assert_int_equal(atf_pack_lane_read(&codec->reader, block.bytes), 0);
		expect_block(codec, &block, at, (count + 1) / 2);
		assert_int_equal(atf_pack_encode(codec->packer, &codec->writer, events, count, ATF_PACK_RAW, &raw), 0);
		copy = malloc(raw.length);
		memcpy(copy, raw.bytes, raw.length);
		assert_int_equal(atf_pack_squeeze(codec->packer, copy, raw.length, &block), 0);
		assert_true(block.length <= raw.length);
		free(copy);
		expect_block(codec, &block, at, count);
		assert_int_equal(atf_pack_encode(codec->packer, &codec->writer, events, count, ATF_PACK_ZSTD, &block), 0);
		expect_block(codec, &block, at, count);
		atf_pack_accept(&codec->writer);
	}
	/* What the next block would begin with is where the lane ended. */
	assert_int_equal(atf_pack_encode(codec->packer, &codec->writer, codec->events, 1, ATF_PACK_RAW, &block), 0);
	assert_int_equal(atf_pack_lane_read(&codec->reader, block.bytes), 0);
	assert_int_equal(atf_pack_encode(codec->packer, &codec->writer, &(struct ada_event){ .event_kind = 9, .thread_id = THREAD_ID }, 1,
					 ATF_PACK_RAW, &block),
			 0);
	expect_same_lane(&codec->reader, &codec->writer);
}

static void test_plain_calls(void **state)
{
	struct codec *codec = *state;

	codec->detail_seq = 0;
	make_events(codec, 40000, 1, 0);
	expect_roundtrip(codec, 16384);
}

static void test_odd_events(void **state)
{
	static const uint32_t rarities[] = { 2, 10, 100, 1000 }, sizes[] = { 1, 7, 64, 1000, 16384 };

	for (size_t i = 0; i < 20; i++) {
		struct codec *codec;

		codec_free(state);
		codec_make(state);
		codec = *state;
		make_events(codec, sizes[i % 5] == 1 ? 500 : 20000, 100 + i, rarities[i / 5]);
		expect_roundtrip(codec, sizes[i % 5]);
	}
}

/* Calls as deep as a stack goes, over more blocks than there are between two that begin whole. */
static void test_deep_recursion(void **state)
{
	struct codec *codec = *state;

	for (uint32_t i = 0; i < 30000; i++, codec->ns += 10)
		add(codec, ADA_EVENT_CALL, ADA_FUNCTION_ID(1, i < 9000 ? i : 3), i);
	for (uint32_t i = 30000; i-- > 0; codec->ns += 10)
		add(codec, ADA_EVENT_RETURN, ADA_FUNCTION_ID(1, i < 9000 ? i : 3), i);
	expect_roundtrip(codec, 400);
}

/* Blocks begin deeper than names reach (256 calls), and end, by returns and exceptions, among calls that have none: what is called there is
 * the block's own, and has a name. Losses in between make known calls doubtful, not new. */
static void test_out_of_deep_calls(void **state)
{
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct random random = { seed };
		struct codec *codec;

		codec_free(state);
		codec_make(state);
		codec = *state;
		for (unsigned int round = 0; round < 3; round++) {
			while (codec->depth < 500)
				call(codec, ADA_FUNCTION_ID(1, random_below(&random, 4)));
			for (uint32_t depth = (uint32_t)random_below(&random, 240); codec->depth > depth;)
				end(codec, random_below(&random, 10) ? ADA_EVENT_EXCEPTION : ADA_EVENT_RETURN);
			for (unsigned int i = 0; i < 100; i++)
				if (!codec->depth || random_below(&random, 2))
					call(codec, ADA_FUNCTION_ID(1, random_below(&random, 4)));
				else if (!random_below(&random, 20))
					odd_step(codec, &random);
				else
					end(codec, random_below(&random, 3) ? ADA_EVENT_RETURN : ADA_EVENT_EXCEPTION);
		}
		expect_roundtrip(codec, 100 + (uint32_t)random_below(&random, 600));
	}
}

/* A segment's first block begins whole, and knows how long calls of the segment before have been open. */
static void test_next_segment(void **state)
{
	struct codec *codec = *state;
	struct atf_pack_bytes block;
	AtfPackBlock head;

	call(codec, 1);
	codec->ns += 100;
	call(codec, 2);
	codec->ns += 30;
	end(codec, ADA_EVENT_RETURN);
	assert_int_equal(atf_pack_encode(codec->packer, &codec->writer, codec->events, 3, ATF_PACK_ZSTD, &block), 0);
	memcpy(&head, block.bytes, sizeof head);
	assert_int_equal(head.flags, ATF_PACK_WHOLE | ATF_PACK_SUMMED);
	assert_int_equal(head.busy_ns, 130);
	assert_int_equal(head.deepest, 2);
	assert_int_equal(head.longest[1].duration_ns, 30);
	assert_int_equal(head.longest[1].function_id, 2);
	atf_pack_accept(&codec->writer);
	atf_pack_lane_segment(&codec->writer);
	codec->ns += 70;
	end(codec, ADA_EVENT_RETURN);
	assert_int_equal(atf_pack_encode(codec->packer, &codec->writer, codec->events + 3, 1, ATF_PACK_ZSTD, &block), 0);
	memcpy(&head, block.bytes, sizeof head);
	assert_int_equal(head.flags, ATF_PACK_WHOLE | ATF_PACK_SUMMED);
	assert_int_equal(head.first_seq, 0);
	assert_int_equal(head.longest[0].duration_ns, 200);
	assert_int_equal(head.longest[0].start_ns, 1000);
	assert_int_equal(atf_pack_lane_read(&codec->reader, block.bytes), 0);
	assert_int_equal(codec->reader.frames.count, 1);
	assert_int_equal(codec->reader.frames.items[0].start_ns, 1000);
	assert_int_equal(codec->reader.frames.items[0].children_ns, 30);
	assert_int_equal((int64_t)codec->reader.frames.items[0].position, -3);
	assert_int_equal(atf_unpack_events(codec->unpacker, &codec->reader, block.bytes, codec->back), 0);
	assert_memory_equal(codec->back, codec->events + 3, sizeof *codec->back);
}

/* A writer that goes on behind a file's last block. */
static void test_skipped_events(void **state)
{
	struct codec *codec = *state;
	struct atf_pack_bytes block;

	make_events(codec, 5000, 3, 20);
	assert_int_equal(atf_pack_encode(codec->packer, &codec->writer, codec->events, 5000, ATF_PACK_ZSTD, &block), 0);
	assert_int_equal(atf_pack_lane_skip(&codec->reader, codec->events, 5000), 0);
	expect_same_lane(&codec->reader, &codec->writer);
}

/* --- damage ------------------------------------------------------------------------------------------------------------- */

/* No bit of a block may turn without notice. */
static void test_flipped_bits(void **state)
{
	struct codec *codec = *state;
	struct atf_pack_bytes block;
	uint8_t *copy;

	make_events(codec, 600, 4, 30);
	assert_int_equal(atf_pack_encode(codec->packer, &codec->writer, codec->events, codec->count, ATF_PACK_ZSTD, &block), 0);
	copy = malloc(block.length);
	for (size_t bit = 0; bit < 8 * block.length; bit++) {
		memcpy(copy, block.bytes, block.length);
		copy[bit / 8] ^= 1u << bit % 8;
		assert_true(!atf_pack_block_length(copy, block.length) || !atf_pack_body_is_sound(copy));
	}
	for (size_t length = 0; length < block.length; length++)
		assert_int_equal(atf_pack_block_length(block.bytes, length), 0);
	free(copy);
}

/* Another bit in any event, and two events in each other's place, make another sum. */
static void test_sums(void **state)
{
	struct codec *codec = *state;
	uint64_t sum;

	make_events(codec, 600, 4, 10);
	sum = atf_pack_sum(codec->events, codec->count);
	assert_int_equal(sum, slow_sum(codec->events, codec->count));
	assert_int_equal(atf_pack_sum(codec->events, 0), 0);
	for (size_t bit = 0; bit < 8 * codec->count * sizeof *codec->events; bit++) {
		uint8_t *byte = (uint8_t *)codec->events + bit / 8;

		*byte ^= (uint8_t)(1u << bit % 8);
		assert_int_not_equal(atf_pack_sum(codec->events, codec->count), sum);
		*byte ^= (uint8_t)(1u << bit % 8);
	}
	for (uint32_t i = 1; i < codec->count; i++) {
		struct ada_event event = codec->events[i];

		if (!memcmp(&event, &codec->events[i - 1], sizeof event))
			continue;
		codec->events[i] = codec->events[i - 1];
		codec->events[i - 1] = event;
		assert_int_not_equal(atf_pack_sum(codec->events, codec->count), sum);
		codec->events[i - 1] = codec->events[i];
		codec->events[i] = event;
	}
}

/* Where the checksums are right and the columns nonsense, the decoder says so, or gives some events; it never looks elsewhere. */
static void test_nonsense(void **state)
{
	struct codec *codec = *state;
	struct random random = { 5 };
	struct atf_pack_bytes block;
	uint8_t *copy;

	make_events(codec, 600, 4, 10);
	assert_int_equal(atf_pack_encode(codec->packer, &codec->writer, codec->events, codec->count, ATF_PACK_RAW, &block), 0);
	copy = malloc(block.length);
	for (unsigned int i = 0; i < 20000; i++) {
		memcpy(copy, block.bytes, block.length);
		for (unsigned int j = 0; j < 3; j++)
			copy[sizeof(AtfPackBlock) + random_below(&random, block.length - sizeof(AtfPackBlock))] = (uint8_t)random_next(
				&random);
		atf_pack_place(copy, 64);
		assert_int_equal(atf_pack_block_length(copy, block.length), block.length);
		if (!atf_pack_lane_read(&codec->reader, copy))
			atf_unpack_events(codec->unpacker, &codec->reader, copy, codec->back);
	}
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CODEC_TEST(test_plain_calls),  CODEC_TEST(test_odd_events),	   CODEC_TEST(test_deep_recursion),
		CODEC_TEST(test_next_segment), CODEC_TEST(test_skipped_events),	   CODEC_TEST(test_flipped_bits),
		CODEC_TEST(test_nonsense),     CODEC_TEST(test_out_of_deep_calls), CODEC_TEST(test_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

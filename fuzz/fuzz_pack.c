/* Any bytes as a block of packed events whose checksums are right, and as a packed file: the decoder never looks outside of them, and what it
 * gives is packed into a block that gives the same once more. */
#include <assert.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include "atf/index/index.h"
#include "memory.h"
#include "mend_index.h"

#define PATH FUZZ_MEMORY "/index.atp"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static struct atf_packer *packer;
static struct atf_unpacker *unpacker;

/* --- a block ------------------------------------------------------------------------------------------------------------ */

/* Makes sizes and checksums of what may be a block right. 0: it is none. */
static size_t mend_block(uint8_t *block, size_t length)
{
	AtfPackBlock head;
	size_t body = 0, at;

	if (length < sizeof head)
		return 0;
	memcpy(&head, block, sizeof head);
	memcpy(head.magic, ATF_PACK_BLOCK_MAGIC, sizeof head.magic);
	head.event_count = head.event_count % 4096 + 1;
	head.open_bytes %= 1u << 16;
	head.flags &= ATF_PACK_FLAGS;
	head.raw[ATF_PACK_KINDS] = (head.event_count + 63) / 64 * 8;
	head.raw[ATF_PACK_TIMES] = head.event_count;
	for (unsigned int i = 0; i < ATF_PACK_COLUMNS; i++) {
		head.raw[i] %= 1u << 17;
		if (head.stored[i] > head.raw[i])
			head.stored[i] = head.raw[i];
		body += head.stored[i];
	}
	at = sizeof head + head.open_bytes;
	if (at + body > length)
		return 0;
	head.body_checksum = libdeflate_crc32(0, block + at, body);
	memcpy(block, &head, sizeof head);
	memset(block + at + body, 0, -(at + body) % 8);
	atf_pack_place(block, 64);
	return (at + body + 7) / 8 * 8;
}

/* What was decoded goes in again, and comes out the same. */
static void encode_again(const struct ada_event *events, uint32_t count)
{
	struct ada_event *again = calloc(count, sizeof *again);
	struct atf_pack_lane writer, reader;
	struct atf_pack_bytes block;

	atf_pack_lane_open(&writer, events[0].thread_id);
	atf_pack_lane_open(&reader, events[0].thread_id);
	assert(atf_pack_encode(packer, &writer, events, count, ATF_PACK_RAW, &block) == 0);
	assert(atf_pack_block_length(block.bytes, block.length) == block.length);
	assert(atf_pack_lane_read(&reader, block.bytes) == 0);
	assert(atf_unpack_events(unpacker, &reader, block.bytes, again) == 0);
	assert(!memcmp(events, again, count * sizeof *again));
	atf_pack_lane_close(&writer);
	atf_pack_lane_close(&reader);
	free(again);
}

/* Event by event it is the same, also where it fails. */
static void decode_singly(const struct atf_pack_lane *lane, const uint8_t *block, const struct ada_event *events, int expected)
{
	struct atf_pack_decoding decoding;
	struct ada_event event = { 0 };
	uint64_t first_ns = 0;
	int status = atf_pack_decode_begin(&decoding, unpacker, lane, block);

	while (!status && decoding.at < decoding.count) {
		uint32_t at = decoding.at;

		status = atf_pack_decode_one(&decoding, &event);
		assert(status || expected || !memcmp(&event, &events[at], sizeof event));
		first_ns = at ? first_ns : event.timestamp_ns;
	}
	if (!status && !atf_pack_decode_fits(&decoding, first_ns, event.timestamp_ns))
		status = -ATF_ERROR_CORRUPT;
	assert(status == expected);
}

static void read_block(const uint8_t *bytes, size_t length)
{
	uint8_t *block = calloc(1, length + 8);
	size_t mended;
	AtfPackBlock head;

	memcpy(block, bytes, length);
	mended = mend_block(block, length);
	memcpy(&head, block, sizeof head < length ? sizeof head : length);
	if (mended && atf_pack_block_length(block, length + 8) == mended) {
		struct ada_event *events = calloc(head.event_count, sizeof *events);
		struct atf_pack_lane lane;

		assert(atf_pack_body_is_sound(block));
		atf_pack_lane_open(&lane, 4711);
		if (!atf_pack_lane_read(&lane, block)) {
			int status = atf_unpack_events(unpacker, &lane, block, events);

			decode_singly(&lane, block, events, status);
			if (!status)
				encode_again(events, head.event_count);
		}
		atf_pack_lane_close(&lane);
		free(events);
	}
	free(block);
}

/* --- a file ------------------------------------------------------------------------------------------------------------- */

static void read_file(const uint8_t *bytes, size_t length)
{
	struct atf_message message;
	struct atf_index *index;
	uint64_t count, sum = 0;
	int64_t recovered;

	if (atf_index_open_bytes(&index, bytes, length, &message)) {
		assert(message.text[0]);
		return;
	}
	/* Of 256 bytes a block's head has; a gap between two may count 64 times as much. */
	count = atf_index_count(index);
	assert(count <= length / 256 * 65 * ATF_PACK_EVENTS_MAX);
	for (uint64_t at = 0, run; at < count && at < 1u << 20; at += run)
		sum += atf_index_run(index, at, &run)->timestamp_ns;
	assert(atf_index_lower_bound(index, sum) <= count);
	atf_index_close(index);
	if (count > 1u << 20)
		return;
	fuzz_file_put(PATH, bytes, length);
	recovered = fuzz_mend_index(PATH);
	assert(recovered < 0 || (uint64_t)recovered == count);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	if (!packer) {
		packer = atf_packer_new();
		unpacker = atf_unpacker_new();
	}
	if (length && length < 1u << 17) {
		if (atf_packed_is(bytes, length))
			read_file(bytes, length);
		else
			read_block(bytes, length);
	}
	return 0;
}

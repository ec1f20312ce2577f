/* The bytes of a block: its head, the open calls, and the columns as zstd makes them.
 *
 * In TIMES matches are few, short and dear, to find and to decode: its bytes get codes by how frequent they are, and no match is looked for.
 * That takes half the time of the decoder, and two thirds of the encoder's, and some percent fewer bytes (lua, python3.11, cc1: a quarter to
 * a third of a byte an event). KINDS is all matches: codes for what is left don't pay.
 */
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_c_literalCompressionMode, which the shared library knows, too */
#include "atf/pack/packer.h"

#include <libdeflate.h>
#include <stdlib.h>

#define LEVEL 1
#define LEVEL_KINDS -1
#define LEVEL_TIMES -1000 /* so far apart are the places where a match is looked for */
#define MIN_MATCH 7	  /* instead of 6: fewer and longer matches, so less to decode, in some bytes less */

static ZSTD_CCtx *coder_new(int level)
{
	ZSTD_CCtx *coder = ZSTD_createCCtx();

	if (coder && !ZSTD_isError(ZSTD_CCtx_setParameter(coder, ZSTD_c_compressionLevel, level)) &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(coder, ZSTD_c_minMatch, MIN_MATCH)))
		return coder;
	ZSTD_freeCCtx(coder);
	return NULL;
}

/* A library that doesn't know how looks for matches. */
static ZSTD_CCtx *coder_of_times(void)
{
	ZSTD_CCtx *coder = coder_new(LEVEL_TIMES);

	if (!coder || !ZSTD_isError(ZSTD_CCtx_setParameter(coder, ZSTD_c_literalCompressionMode, ZSTD_ps_enable)))
		return coder;
	ZSTD_freeCCtx(coder);
	return coder_new(LEVEL);
}

struct atf_packer *atf_packer_new(void)
{
	struct atf_packer *packer = calloc(1, sizeof *packer);

	if (!packer)
		return NULL;
	packer->coder = coder_new(LEVEL);
	packer->coder_of_kinds = coder_new(LEVEL_KINDS);
	packer->coder_of_times = coder_of_times();
	if (packer->coder && packer->coder_of_kinds && packer->coder_of_times)
		return packer;
	atf_packer_free(packer);
	return NULL;
}

void atf_packer_free(struct atf_packer *packer)
{
	if (!packer)
		return;
	for (unsigned int i = 0; i < ATF_PACK_COLUMNS; i++)
		ada_array_free(&packer->columns[i]);
	ada_array_free(&packer->open);
	ada_array_free(&packer->block);
	ZSTD_freeCCtx(packer->coder);
	ZSTD_freeCCtx(packer->coder_of_kinds);
	ZSTD_freeCCtx(packer->coder_of_times);
	free(packer);
}

/* --- writing ------------------------------------------------------------------------------------------------------------ */

static ZSTD_CCtx *coder_of(const struct atf_packer *packer, unsigned int column)
{
	switch (column) {
	case ATF_PACK_KINDS: return packer->coder_of_kinds;
	case ATF_PACK_TIMES: return packer->coder_of_times;
	default: return packer->coder;
	}
}

static uint32_t store(struct atf_packer *packer, enum atf_pack_how how, unsigned int column, const uint8_t *bytes, size_t length)
{
	atf_pack_bytes_array *block = &packer->block;
	size_t stored = length;

	if (how == ATF_PACK_ZSTD && length > 8) {
		stored = ZSTD_compress2(coder_of(packer, column), block->items + block->count, block->capacity - block->count, bytes,
					length);
		if (ZSTD_isError(stored) || stored >= length)
			stored = length;
	}
	if (stored == length && length)
		memcpy(block->items + block->count, bytes, length);
	block->count += stored;
	return (uint32_t)stored;
}

/* Head and open calls are in place, the columns behind them. */
static void finish(struct atf_packer *packer, struct atf_pack_bytes *block)
{
	size_t body = sizeof packer->head + packer->head.open_bytes;

	memcpy(packer->head.magic, ATF_PACK_BLOCK_MAGIC, sizeof packer->head.magic);
	packer->head.body_checksum = libdeflate_crc32(0, packer->block.items + body, packer->block.count - body);
	while (packer->block.count % 8)
		packer->block.items[packer->block.count++] = 0;
	memcpy(packer->block.items, &packer->head, sizeof packer->head);
	*block = (struct atf_pack_bytes){ packer->block.items, packer->block.count };
	atf_pack_place(block->bytes, 0);
}

static int reserve(struct atf_packer *packer)
{
	size_t length = sizeof packer->head + packer->head.open_bytes + 8;

	for (unsigned int i = 0; i < ATF_PACK_COLUMNS; i++)
		length += ZSTD_compressBound(packer->head.raw[i]);
	packer->block.count = 0;
	return ada_array_reserve(&packer->block, length) ? -ATF_ERROR_MEMORY : 0;
}

static void put_open(struct atf_packer *packer, const uint8_t *open)
{
	packer->block.count = sizeof packer->head;
	if (packer->head.open_bytes)
		memcpy(packer->block.items + packer->block.count, open, packer->head.open_bytes);
	packer->block.count += packer->head.open_bytes;
}

int atf_pack_assemble(struct atf_packer *packer, enum atf_pack_how how, struct atf_pack_bytes *block)
{
	packer->head.open_bytes = (uint32_t)packer->open.count;
	for (unsigned int i = 0; i < ATF_PACK_COLUMNS; i++)
		packer->head.raw[i] = (uint32_t)packer->columns[i].count;
	if (reserve(packer))
		return -ATF_ERROR_MEMORY;
	put_open(packer, packer->open.items);
	for (unsigned int i = 0; i < ATF_PACK_COLUMNS; i++)
		packer->head.stored[i] = store(packer, how, i, packer->columns[i].items, packer->columns[i].count);
	finish(packer, block);
	return 0;
}

int atf_pack_squeeze(struct atf_packer *packer, const uint8_t *bytes, size_t length, struct atf_pack_bytes *block)
{
	const uint8_t *column;

	if (!atf_pack_block_length(bytes, length))
		return -ATF_ERROR_CORRUPT;
	memcpy(&packer->head, bytes, sizeof packer->head);
	if (reserve(packer))
		return -ATF_ERROR_MEMORY;
	put_open(packer, bytes + sizeof packer->head);
	column = bytes + sizeof packer->head + packer->head.open_bytes;
	for (unsigned int i = 0; i < ATF_PACK_COLUMNS; i++) {
		uint32_t stored = packer->head.stored[i];

		/* One that is compressed goes as it is. */
		packer->head.stored[i] = store(packer, stored == packer->head.raw[i] ? ATF_PACK_ZSTD : ATF_PACK_RAW, i, column, stored);
		column += stored;
	}
	finish(packer, block);
	return 0;
}

/* --- heads -------------------------------------------------------------------------------------------------------------- */

static uint32_t head_checksum(const uint8_t *block, AtfPackBlock head)
{
	head.head_checksum = 0;
	return libdeflate_crc32(libdeflate_crc32(0, &head, sizeof head), block + sizeof head, head.open_bytes);
}

void atf_pack_place(uint8_t *block, uint64_t offset)
{
	AtfPackBlock head;

	memcpy(&head, block, sizeof head);
	head.offset = offset;
	head.head_checksum = head_checksum(block, head);
	memcpy(block, &head, sizeof head);
}

/* No column is larger than so many events can make it; a stored one is no larger than what it holds. */
static bool columns_fit(const AtfPackBlock *head)
{
	uint64_t count = head->event_count;
	const uint64_t most[ATF_PACK_COLUMNS] = {
		[ATF_PACK_KINDS] = (count + 63) / 64 * 8,
		[ATF_PACK_TIMES] = count,
		[ATF_PACK_LONGS] = 8 * count,
		[ATF_PACK_RANKS] = count,
		[ATF_PACK_NAMES] = ATF_PACK_VARINT_BYTES * count,
		[ATF_PACK_MARKS] = (1 + 4 * ATF_PACK_VARINT_BYTES) * count,
		[ATF_PACK_VERBATIM] = sizeof(struct ada_event) * count,
		[ATF_PACK_DETAILS] = 3 * ATF_PACK_VARINT_BYTES * count,
	};

	for (unsigned int i = 0; i < ATF_PACK_COLUMNS; i++)
		if (head->raw[i] > most[i] || head->stored[i] > head->raw[i])
			return false;
	return head->raw[ATF_PACK_KINDS] == most[ATF_PACK_KINDS] && head->raw[ATF_PACK_TIMES] == count;
}

size_t atf_pack_block_length(const uint8_t *bytes, size_t room)
{
	uint64_t length = sizeof(AtfPackBlock);
	AtfPackBlock head;

	if (room < sizeof head)
		return 0;
	memcpy(&head, bytes, sizeof head);
	if (memcmp(head.magic, ATF_PACK_BLOCK_MAGIC, sizeof head.magic) || !head.event_count || head.event_count > ATF_PACK_EVENTS_MAX ||
	    head.flags & ~ATF_PACK_FLAGS || head.open_bytes > room - length || !columns_fit(&head))
		return 0;
	length += head.open_bytes;
	for (unsigned int i = 0; i < ATF_PACK_COLUMNS; i++)
		length += head.stored[i];
	length = (length + 7) / 8 * 8;
	return length <= room && head_checksum(bytes, head) == head.head_checksum ? (size_t)length : 0;
}

bool atf_pack_body_is_sound(const uint8_t *block)
{
	size_t from, length = 0;
	AtfPackBlock head;

	memcpy(&head, block, sizeof head);
	from = sizeof head + head.open_bytes;
	for (unsigned int i = 0; i < ATF_PACK_COLUMNS; i++)
		length += head.stored[i];
	/* The zeros behind belong to no checksum. */
	return libdeflate_crc32(0, block + from, length) == head.body_checksum &&
	       atf_is_zero(block + from + length, (8 - (from + length) % 8) % 8);
}

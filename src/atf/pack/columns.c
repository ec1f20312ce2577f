/* The columns of a block: taken out of zstd's frames, and read. */
#include "atf/pack/decode.h"

#include <stdlib.h>

struct atf_unpacker *atf_unpacker_new(void)
{
	struct atf_unpacker *unpacker = calloc(1, sizeof *unpacker);

	if (!unpacker)
		return NULL;
	unpacker->zstd = ZSTD_createDCtx();
	if (!unpacker->zstd) {
		free(unpacker);
		return NULL;
	}
	return unpacker;
}

void atf_unpacker_free(struct atf_unpacker *unpacker)
{
	if (!unpacker)
		return;
	for (unsigned int i = 0; i < ATF_PACK_COLUMNS; i++)
		ada_array_free(&unpacker->columns[i]);
	ada_array_free(&unpacker->frames);
	ZSTD_freeDCtx(unpacker->zstd);
	free(unpacker);
}

int atf_pack_columns_load(struct atf_pack_decoding *decoding, const uint8_t *block, const AtfPackBlock *head)
{
	const uint8_t *bytes = block + sizeof *head + head->open_bytes;
	struct atf_pack_reader *readers[ATF_PACK_COLUMNS] = {
		[ATF_PACK_LONGS] = &decoding->longs, [ATF_PACK_RANKS] = &decoding->ranks,	[ATF_PACK_NAMES] = &decoding->names,
		[ATF_PACK_MARKS] = &decoding->marks, [ATF_PACK_VERBATIM] = &decoding->verbatim, [ATF_PACK_DETAILS] = &decoding->details,
	};

	for (unsigned int i = 0; i < ATF_PACK_COLUMNS; i++) {
		atf_pack_bytes_array *column = &decoding->unpacker->columns[i];
		size_t raw = head->raw[i], stored = head->stored[i];

		column->count = 0;
		if (ada_array_reserve(column, raw + 8))
			return -ATF_ERROR_MEMORY;
		if (stored < raw && ZSTD_decompressDCtx(decoding->unpacker->zstd, column->items, raw, bytes, stored) != raw)
			return -ATF_ERROR_CORRUPT;
		if (stored == raw && raw)
			memcpy(column->items, bytes, raw);
		if (readers[i])
			*readers[i] = (struct atf_pack_reader){ column->items, column->items + raw, false };
		bytes += stored;
	}
	decoding->times = decoding->unpacker->columns[ATF_PACK_TIMES].items;
	decoding->kinds = (const uint64_t *)decoding->unpacker->columns[ATF_PACK_KINDS].items;
	return 0;
}

int atf_pack_get_long(struct atf_pack_decoding *decoding, uint8_t code, uint64_t *delta)
{
	size_t length;

	if (code > ATF_PACK_LONG_8)
		return -ATF_ERROR_CORRUPT;
	length = 2u << (code - ATF_PACK_LONG_2);
	if ((size_t)(decoding->longs.end - decoding->longs.at) < length)
		return -ATF_ERROR_CORRUPT;
	*delta = 0;
	memcpy(delta, decoding->longs.at, length);
	decoding->longs.at += length;
	return 0;
}

uint32_t atf_pack_get_new(struct atf_pack_decoding *decoding, uint16_t *guess, uint8_t rank)
{
	struct atf_pack_model *model = &decoding->unpacker->model;
	uint32_t name;

	if (rank != ATF_PACK_RANK_NEW)
		return ATF_PACK_NO_NAME;
	model->new_function += atf_pack_unfold(atf_pack_get(&decoding->names));
	name = atf_pack_model_name(model, model->new_function);
	guess[ATF_PACK_WAYS - 1] = (uint16_t)name;
	return decoding->names.bad ? ATF_PACK_NO_NAME : name;
}

int atf_pack_next_stretch(struct atf_pack_decoding *decoding)
{
	while (!decoding->stretch) {
		uint64_t gap, length;

		if (!decoding->step && decoding->run) {
			decoding->detail = decoding->run_first;
			decoding->expected = decoding->run_first + decoding->run;
			decoding->stretch = decoding->run;
			decoding->step = 1;
			decoding->run = 0;
			continue;
		}
		decoding->detail = ADA_NO_DETAIL;
		decoding->step = 0;
		decoding->stretch = UINT32_MAX;
		if (decoding->details.at == decoding->details.end)
			return 0;
		gap = atf_pack_get(&decoding->details);
		decoding->run_first = decoding->expected + (uint32_t)atf_pack_unfold(atf_pack_get(&decoding->details));
		length = atf_pack_get(&decoding->details);
		if (decoding->details.bad || gap > decoding->count || !length || length > decoding->count)
			return -ATF_ERROR_CORRUPT;
		decoding->stretch = (uint32_t)gap;
		decoding->run = (uint32_t)length;
	}
	return 0;
}

int atf_pack_next_mark(struct atf_pack_decoding *decoding)
{
	uint64_t gap;

	decoding->mark_at = decoding->count;
	if (decoding->marks.at == decoding->marks.end)
		return 0;
	gap = atf_pack_get(&decoding->marks);
	if (decoding->marks.bad || gap >= decoding->count - decoding->at)
		return -ATF_ERROR_CORRUPT;
	decoding->mark_at = decoding->at + (uint32_t)gap;
	return 0;
}

/* See hash.h. Hash: each 8 bytes are mixed in by a 64x64 multiplication whose halves are folded together. Table: linear
 * probing, at most 3/4 full; there is no removal, so a probe ends at the first unused place. */
#include "base/hash.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_MULTIPLIER 0x9e3779b97f4a7c15u /* 2^64 / golden ratio, odd */
#define HASH_SEED 0xd1b54a32d192ed03u

static uint64_t hash_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_mix(uint64_t hash, uint64_t word)
{
	/* The addition keeps a word equal to the hash from sending it to 0 for good. */
	return hash_fold((hash ^ word) + HASH_SEED, HASH_MULTIPLIER) ^ (hash << 32 | hash >> 32);
}

uint64_t ada_hash_bytes(const void *bytes, size_t length)
{
	const uint8_t *at = bytes;
	uint64_t hash = HASH_SEED ^ length, word;
	size_t left = length;

	for (; left >= sizeof word; left -= sizeof word, at += sizeof word) {
		memcpy(&word, at, sizeof word);
		hash = hash_mix(hash, word);
	}
	word = 0;
	if (left)
		memcpy(&word, at, left);
	return hash_mix(hash_mix(hash, word), length);
}

static size_t table_place(const struct ada_table *table, uint64_t key)
{
	size_t mask = table->capacity - 1, place = hash_mix(HASH_SEED, key) & mask;

	while (table->used[place] && table->keys[place] != key)
		place = (place + 1) & mask;
	return place;
}

static int table_grow(struct ada_table *table)
{
	struct ada_table grown = { .capacity = table->capacity ? table->capacity * 2 : 16 };

	grown.keys = calloc(grown.capacity, sizeof *grown.keys);
	grown.values = calloc(grown.capacity, sizeof *grown.values);
	grown.used = calloc(grown.capacity, sizeof *grown.used);
	if (!grown.keys || !grown.values || !grown.used) {
		ada_table_free(&grown);
		return -ENOMEM;
	}
	for (size_t i = 0; i < table->capacity; i++)
		if (table->used[i])
			ada_table_put(&grown, table->keys[i], table->values[i]);
	ada_table_free(table);
	*table = grown;
	return 0;
}

int ada_table_put(struct ada_table *table, uint64_t key, uint64_t value)
{
	size_t place;

	if (table->count >= table->capacity / 4 * 3 && table_grow(table))
		return -ENOMEM;
	place = table_place(table, key);
	if (!table->used[place]) {
		table->used[place] = 1;
		table->keys[place] = key;
		table->count++;
	}
	table->values[place] = value;
	return 0;
}

bool ada_table_get(const struct ada_table *table, uint64_t key, uint64_t *value)
{
	size_t place;

	if (!table->count)
		return false;
	place = table_place(table, key);
	if (!table->used[place])
		return false;
	*value = table->values[place];
	return true;
}

void ada_table_free(struct ada_table *table)
{
	free(table->keys);
	free(table->values);
	free(table->used);
	memset(table, 0, sizeof *table);
}

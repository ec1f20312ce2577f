/* Non-cryptographic 64-bit hash and an open-addressing table from u64 keys to u64 values. */
#ifndef ADA_BASE_HASH_H
#define ADA_BASE_HASH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t ada_hash_bytes(const void *bytes, size_t length);

struct ada_table {
	uint64_t *keys, *values;
	uint8_t *used;
	size_t count, capacity;
};									  /* all zero = empty */
int ada_table_put(struct ada_table *table, uint64_t key, uint64_t value); /* 0 or -ENOMEM; replaces */
bool ada_table_get(const struct ada_table *table, uint64_t key, uint64_t *value);
void ada_table_free(struct ada_table *table);
#endif

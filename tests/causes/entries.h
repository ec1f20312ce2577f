/* A look-up that may fail, whose callers should ask. */
#ifndef ENTRIES_H
#define ENTRIES_H
#include "causes.h"

struct entry {
	const char *key;
	int value;
};

static struct entry table[] = { { "one", 1 }, { "two", 2 } };
static struct entry *volatile nobody_set;

OUT struct entry *look_up(const char *key)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (!strcmp(table[i].key, key))
			return &table[i];
	return NULL;
}
#endif

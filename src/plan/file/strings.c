/* The plan's strings: see strings.h. */
#include <errno.h>
#include "plan/file/strings.h"

int ada_strings_add(struct ada_strings *strings, const char *text, size_t length, uint32_t *offset)
{
	if (!strings->count) {
		if (ada_array_push(strings, 0))
			return -ENOMEM;
	}
	*offset = 0;
	if (!length)
		return 0;
	if (strings->count + length >= UINT32_MAX)
		return -EOVERFLOW;
	if (ada_array_reserve(strings, length + 1))
		return -ENOMEM;
	*offset = (uint32_t)strings->count;
	memcpy(strings->items + strings->count, text, length);
	strings->count += length;
	strings->items[strings->count++] = 0;
	return 0;
}

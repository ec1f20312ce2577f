/* Any text as a manifest: what the quick way through plain JSON takes is what json-c makes of it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "query/json_plain.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* The spelling tells whether a number is signed, unsigned or with a fraction, and the order of keys. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	char *text = malloc(length + 1);
	json_object *plain, *full;

	assert(text);
	memcpy(text, bytes, length);
	text[length] = 0;
	plain = ada_json_plain(text);
	if (plain) {
		full = json_tokener_parse(text);
		assert(full && json_object_equal(plain, full));
		assert(!strcmp(json_object_to_json_string(plain), json_object_to_json_string(full)));
		json_object_put(full);
		json_object_put(plain);
	}
	free(text);
	return 0;
}

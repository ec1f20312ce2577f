/* Any bytes as an index file: the reader never looks outside of them and never contradicts itself, verify makes up its
 * mind, and what recovery has mended is complete. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "atf/index/index.h"
#include "memory.h"
#include "mend_index.h"

#define PATH FUZZ_MEMORY "/index.atf"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void read_bytes(const uint8_t *bytes, size_t length)
{
	struct atf_message message;
	struct atf_index *index;
	struct ada_event event;
	uint64_t i, count, sum = 0;
	int status = atf_index_open_bytes(&index, bytes, length, &message);

	assert((status < 0) == !index);
	assert(!strchr(message.text, '\n'));
	if (!index) {
		assert(message.text[0]);
		return;
	}
	count = atf_index_count(index);
	assert(count <= (length - 64) / 32);
	assert((atf_index_completeness(index) == ATF_COMPLETE) == !message.text[0]);
	for (i = 0; i < count; i++) {
		assert(atf_index_get(index, i, &event) == 0);
		sum += event.timestamp_ns;
	}
	assert(atf_index_get(index, count, &event) == -ATF_ERROR_RANGE);
	assert(atf_index_lower_bound(index, sum) <= count);
	atf_index_close(index);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	uint8_t *aligned = malloc(length ? length : 1);

	if (length)
		memcpy(aligned, bytes, length);
	read_bytes(aligned, length);
	free(aligned);
	fuzz_file_put(PATH, bytes, length);
	fuzz_mend_index(PATH);
	return 0;
}

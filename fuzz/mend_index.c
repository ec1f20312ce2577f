#include "mend_index.h"
#include <assert.h>
#include "atf/index/index.h"

static void count_findings(void *context, const char *check, bool ok, const char *message)
{
	assert(ok || message[0]);
	*(int *)context += !ok;
}

int64_t fuzz_mend_index(const char *path)
{
	struct atf_message message;
	struct atf_index *index;
	int failed = 0, returned = atf_index_verify(path, count_findings, &failed);
	int64_t count;

	assert(returned == failed);
	returned = atf_index_recover(path, &message);
	assert(message.text[0]);
	if (returned)
		return -1;
	assert(atf_index_open(&index, path, &message) == 0);
	assert(atf_index_completeness(index) == ATF_COMPLETE);
	count = (int64_t)atf_index_count(index);
	atf_index_close(index);
	return count;
}

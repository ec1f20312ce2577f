/* Any bytes as a sched.atf: the reader never looks outside of them, verify makes up its mind, and what recovery has mended is complete and
 * holds the same records. */
#include <assert.h>
#include "atf/sched/sched.h"
#include "memory.h"

#define PATH FUZZ_MEMORY "/sched.atf"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void count_findings(void *context, const char *check, bool ok, const char *message)
{
	assert(ok || message[0]);
	*(int *)context += !ok;
}

static uint64_t read_file(uint64_t *sum, enum atf_completeness *completeness)
{
	const AtfSchedEvent *events;
	struct atf_message message;
	struct atf_sched *sched;
	uint64_t count;

	*completeness = ATF_DAMAGED;
	if (atf_sched_open(&sched, PATH, &message))
		return 0;
	events = atf_sched_events(sched, &count);
	for (uint64_t i = 0; i < count; i++)
		*sum += events[i].timestamp_ns ^ events[i].thread_id ^ events[i].count;
	*completeness = atf_sched_completeness(sched);
	assert((*completeness == ATF_COMPLETE) == !message.text[0]);
	atf_sched_close(sched);
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	uint64_t sum = 0, mended_sum = 0, count;
	enum atf_completeness completeness;
	struct atf_message message;
	int failed = 0, returned;

	fuzz_file_put(PATH, bytes, length);
	returned = atf_sched_verify(PATH, count_findings, &failed);
	assert(returned < 0 || returned == failed);
	count = read_file(&sum, &completeness);
	if (atf_sched_recover(PATH, &message) == 0) {
		assert(read_file(&mended_sum, &completeness) == count && sum == mended_sum && completeness == ATF_COMPLETE);
	}
	return 0;
}

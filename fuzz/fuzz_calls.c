/* Any sequence of events, as a damaged file may hold: each call begun ends exactly once, within the time of its thread. */
#include <assert.h>
#include "query/calls/calls.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

struct tally {
	uint64_t begun, ended, now;
};

static void count_begun(void *context, struct ada_call *call)
{
	struct tally *tally = context;

	tally->begun++;
	call->user = tally;
}

static void count_ended(void *context, const struct ada_call *call)
{
	struct tally *tally = context;

	tally->ended++;
	assert(call->user == tally);
	if (call->outcome != ADA_OUTCOME_UNKNOWN)
		assert(call->start_ns <= call->end_ns && call->end_ns <= tally->now);
}

/* Two bytes an event: kind and depth's high bits, function and depth's low bits. Few of each, so that they meet. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct ada_calls calls;
	struct tally tally = {};
	uint64_t begins = 0;

	ada_calls_open(&calls, &(struct ada_calls_receiver){ &tally, count_begun, NULL, count_ended });
	for (size_t i = 0; i + 1 < length; i += 2) {
		struct ada_event event = {
			.timestamp_ns = tally.now++,
			.event_kind = bytes[i] % 6,
			.function_id = bytes[i + 1] % 4,
			.call_depth = bytes[i + 1] / 4 + (bytes[i] > 250 ? UINT32_MAX - 100 : 0),
		};

		begins += event.event_kind == ADA_EVENT_CALL;
		assert(!ada_calls_feed(&calls, &event, i));
	}
	ada_calls_end(&calls, 0);
	assert(tally.begun == begins && tally.ended == begins && !calls.stack.count && !calls.aside.count);
	ada_calls_close(&calls);
	return 0;
}

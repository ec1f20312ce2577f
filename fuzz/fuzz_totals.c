/* What a thread's first segments added up to: any bytes are refused, or a tally that takes them stays inside of them, and makes totals of the
 * same state again. Checksums are mended, so that they stop nothing. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "atf/session/thread.h"
#include "query/tally/totals.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* As it is after reading them. */
static void take(const AtfTotalsHeader *totals, uint8_t **made, size_t *size)
{
	struct ada_session session = { 0 };
	struct ada_process process = { .session = &session };
	struct ada_thread thread = { .process = &process };
	struct ada_counter counter;
	struct ada_tally tally;

	assert(ada_counter_open(&counter) == 0);
	ada_counter_process(&counter, &process);
	ada_tally_open(&tally, &counter, &thread, NULL);
	assert(ada_totals_add(&tally, totals, true) == 0);
	assert(ada_totals_make(&tally, totals, made, size) == 0);
	ada_tally_close(&tally);
	ada_counter_close(&counter);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	AtfTotalsHeader *totals = malloc(length + 1), header;
	uint8_t *made[2];
	size_t size[2];

	memcpy(totals, bytes, length);
	if (length >= sizeof header) {
		memcpy(&header, totals, sizeof header);
		atf_totals_seal(&header, totals + 1, length - sizeof header);
		memcpy(totals, &header, sizeof header);
	}
	if (atf_totals_are_sound(totals, length)) {
		take(totals, &made[0], &size[0]);
		assert(atf_totals_are_sound(made[0], size[0]));
		take((AtfTotalsHeader *)made[0], &made[1], &size[1]);
		/* Once more it changes nothing. */
		assert(size[0] == size[1] && !memcmp(made[0], made[1], size[0]));
		free(made[0]);
		free(made[1]);
	}
	free(totals);
	return 0;
}

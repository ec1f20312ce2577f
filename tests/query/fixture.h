/* A synthesised session in a directory of its own, opened for reading. */
#ifndef ADA_TESTS_QUERY_FIXTURE_H
#define ADA_TESTS_QUERY_FIXTURE_H
#include <limits.h>
#include "../test.h"
#include "query/session/selection.h"
#include "query/tally/stats.h"
#include "synth.h"

struct fixture {
	char directory[PATH_MAX - 64];
	struct synth *synth;
	struct ada_session *session;
	struct ada_selection selection;
	struct ada_stats stats;
};

int fixture_setup(void **state);
int fixture_teardown(void **state);
/* The thread of a process whose one module has these functions. */
struct synth_thread *fixture_thread(struct fixture *fixture, const char *const *names, uint32_t count);
/* Threads 0, 1, ... of such a process, each of which begins in the first of the functions. */
void fixture_threads(struct fixture *fixture, const char *const *names, uint32_t functions, struct synth_thread **threads, uint32_t count);
/* Closes the synthesiser, opens the session and selects (NULL: all). */
void fixture_open(struct fixture *fixture, bool finished, const char *thread, const char *from, const char *to);
/* Opens what has changed since; the selection is of everything. */
void fixture_reopen(struct fixture *fixture);
/* Packs the files of the session, which is finished, in blocks of 1 to `most` events, and opens it again. The selection is of everything. */
void fixture_pack(struct fixture *fixture, uint32_t most);
/* The statistics of the selection, by function name; fails where there is none of it. */
void fixture_compute(struct fixture *fixture);
const struct ada_function_stats *fixture_function(struct fixture *fixture, const char *name);

#define FIXTURE_TEST(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)
#endif

/* Setting up and clearing away. */
#include "fixture.h"
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fixture_setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);
	const char *temporary = getenv("TMPDIR");

	snprintf(fixture->directory, sizeof fixture->directory, "%s/ada-query-XXXXXX", temporary ? temporary : "/tmp");
	if (!mkdtemp(fixture->directory))
		return -1;
	fixture->synth = synth_open(fixture->directory);
	*state = fixture;
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	return remove(path);
}

int fixture_teardown(void **state)
{
	struct fixture *fixture = *state;

	ada_stats_free(&fixture->stats);
	ada_selection_close(&fixture->selection);
	ada_session_close(fixture->session);
	nftw(fixture->directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(fixture);
	return 0;
}

struct synth_thread *fixture_thread(struct fixture *fixture, const char *const *names, uint32_t count)
{
	synth_process(fixture->synth, 10);
	synth_module(fixture->synth, "/bin/prog", names, count);
	return synth_thread(fixture->synth, 10, "prog");
}

void fixture_open(struct fixture *fixture, bool finished, const char *thread, const char *from, const char *to)
{
	struct ada_error error = {};

	if (fixture->synth)
		synth_close(fixture->synth, finished);
	fixture->synth = NULL;
	if (ada_session_open(&fixture->session, fixture->directory, &error))
		fail_msg("%s", error.text);
	if (ada_selection_open(&fixture->selection, fixture->session, thread, from, to, &error))
		fail_msg("%s", error.text);
}

void fixture_compute(struct fixture *fixture)
{
	struct ada_error error = {};

	if (ada_stats_compute(&fixture->stats, &fixture->selection, 2, &error))
		fail_msg("%s", error.text);
}

const struct ada_function_stats *fixture_function(struct fixture *fixture, const char *name)
{
	char buffer[ADA_NAME_BUFFER];

	for (size_t i = 0; i < fixture->stats.functions.count; i++) {
		const struct ada_function_stats *function = fixture->stats.functions.items[i];

		if (!strcmp(ada_module_function(function->module, function->function_id, buffer), name))
			return function;
	}
	fail_msg("no function %s", name);
	return NULL;
}

/* Setting up and clearing away. */
#include "fixture.h"
#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "atf/index/index.h"

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

void fixture_threads(struct fixture *fixture, const char *const *names, uint32_t functions, struct synth_thread **threads, uint32_t count)
{
	threads[0] = fixture_thread(fixture, names, functions);
	for (uint32_t i = 1; i < count; i++)
		threads[i] = synth_thread(fixture->synth, 10 + i, "worker");
	for (uint32_t i = 0; i < count; i++)
		synth_call(threads[i], 0);
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

static void pack_segment(struct atf_packer *packer, struct atf_pack_lane *lane, const char *plain, const char *packed, uint32_t most)
{
	const struct ada_event *events;
	struct atf_pack_writer *writer;
	struct atf_pack_bytes block;
	struct atf_message message;
	struct atf_index *index;
	uint64_t at = 0, count;

	assert_int_equal(atf_index_open(&index, plain, &message), 0);
	assert_int_equal(atf_index_completeness(index), ATF_COMPLETE);
	events = atf_index_events(index);
	count = atf_index_count(index);
	lane->thread_id = atf_index_header(index)->thread_id;
	atf_pack_lane_segment(lane);
	assert_int_equal(atf_pack_writer_open(&writer, packed, lane->thread_id, ATF_ARCH_X86_64), 0);
	while (at < count) {
		uint32_t some = 1 + (uint32_t)(at * 2654435761u % most);

		some = some < count - at ? some : (uint32_t)(count - at);
		assert_int_equal(atf_pack_encode(packer, lane, events + at, some, ATF_PACK_ZSTD, &block), 0);
		assert_int_equal(atf_pack_writer_add(writer, &block, events + at, some, false), 0);
		atf_pack_accept(lane);
		at += some;
	}
	assert_int_equal(atf_pack_writer_close(writer, 0), 0);
	atf_index_close(index);
	assert_int_equal(unlink(plain), 0);
}

static void pack_thread(const char *directory, uint32_t most)
{
	struct atf_packer *packer = atf_packer_new();
	char plain[PATH_MAX], packed[PATH_MAX];
	struct atf_pack_lane lane;

	assert_non_null(packer);
	atf_pack_lane_open(&lane, 0);
	for (uint32_t i = 0;; i++) {
		assert_int_equal(atf_index_path(plain, sizeof plain, directory, i), 0);
		assert_int_equal(atf_packed_path(packed, sizeof packed, directory, i), 0);
		if (access(plain, F_OK))
			break;
		pack_segment(packer, &lane, plain, packed, most);
	}
	atf_pack_lane_close(&lane);
	atf_packer_free(packer);
}

void fixture_reopen(struct fixture *fixture)
{
	ada_selection_close(&fixture->selection);
	ada_session_close(fixture->session);
	fixture_open(fixture, true, NULL, NULL, NULL);
}

void fixture_pack(struct fixture *fixture, uint32_t most)
{
	char pattern[PATH_MAX];
	glob_t found;

	ada_selection_close(&fixture->selection);
	ada_session_close(fixture->session);
	snprintf(pattern, sizeof pattern, "%s/pid_*/thread_*", fixture->directory);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		pack_thread(found.gl_pathv[i], most);
	globfree(&found);
	fixture_open(fixture, true, NULL, NULL, NULL);
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

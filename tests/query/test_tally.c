/* Statistics of random sessions: against what their generator knows, and split into tiny pieces against read in order. */
#include <errno.h>
#include <glob.h>
#include <libdeflate.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include "fixture.h"
#include "atf/session/thread.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "query/calls/timeline.h"
#include "query/tally/totals.h"
#include "synth_random.h"
#include "wild.h"

/* --- known answers ------------------------------------------------------------------------------------------------------ */

static const struct ada_function_stats *find(const struct ada_stats *stats, const char *name)
{
	char buffer[ADA_NAME_BUFFER];

	for (size_t i = 0; i < stats->functions.count; i++) {
		const struct ada_function_stats *function = stats->functions.items[i];

		if (!strcmp(ada_module_function(function->module, function->function_id, buffer), name))
			return function;
	}
	return NULL;
}

static void check_percentile(const struct ada_function_stats *function, const struct known_function *known, unsigned int permille)
{
	uint64_t exact = known_percentile(known, permille), told = ada_histogram_percentile(&function->durations, permille);
	uint64_t off = told > exact ? told - exact : exact - told;

	if (off * 100 > exact)
		fail_msg("percentile %u: %lu instead of %lu", permille, told, exact);
}

static void check_known(const struct ada_stats *stats, const struct known *known, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	size_t functions = 0;

	for (uint32_t i = 0; i < KNOWN_FUNCTIONS; i++) {
		struct known_function sum = known_function(known, i, thread, from_ns, to_ns);
		const struct ada_function_stats *function = find(stats, known_name(i));

		assert_int_equal(sum.calls > 0, function != NULL);
		if (!function)
			continue;
		functions++;
		assert_int_equal(function->calls, sum.calls);
		assert_int_equal(function->unknown, 0);
		assert_int_equal(function->total_ns, sum.total_ns);
		assert_int_equal(function->self_ns, sum.self_ns);
		assert_int_equal(function->durations.count, sum.calls);
		assert_int_equal(function->durations.sum, sum.sum_ns);
		assert_int_equal(function->durations.min, sum.durations.items[0]);
		assert_int_equal(function->durations.max, sum.durations.items[sum.calls - 1]);
		check_percentile(function, &sum, 500);
		check_percentile(function, &sum, 900);
		check_percentile(function, &sum, 990);
		ada_array_free(&sum.durations);
	}
	assert_int_equal(stats->functions.count, functions);
}

static uint64_t known_events(const struct known *known, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t events = 0, first = 0;

	for (uint32_t i = 0; i < known->threads; first += known->thread_events[i++])
		for (uint64_t j = first; (thread == UINT32_MAX || thread == i) && j < first + known->thread_events[i]; j++)
			events += known->times.items[j] >= from_ns && known->times.items[j] < to_ns;
	return events;
}

/* All of it, with pieces of different sizes; then some time of all threads and of one. */
static void check_session(struct fixture *fixture, const struct known *known, uint64_t *state)
{
	static const uint64_t pieces[] = { 1u << 20, 5, 97, 1000 };
	struct ada_selection *selection = &fixture->selection;
	uint64_t first_ns = known->times.items[0], last_ns = known->times.items[known->times.count - 1];

	for (unsigned int i = 0; i < 12; i++) {
		uint32_t thread = i % 3 == 2 ? (uint32_t)(wild_draw(state) % known->threads) : UINT32_MAX;
		struct ada_thread *all = selection->threads.items[0], *one[1];
		size_t count = selection->threads.count;
		struct ada_stats stats;

		selection->from_ns = i < 2 ? 0 : first_ns + wild_draw(state) % (last_ns - first_ns + 1);
		selection->to_ns = i < 2 || i % 4 == 3 ? UINT64_MAX : selection->from_ns + 1 + wild_draw(state) % (last_ns - first_ns + 1);
		if (thread != UINT32_MAX) {
			one[0] = &all[thread];
			selection->threads.items[0] = one[0];
			selection->threads.count = 1;
		}
		wild_compute(&stats, selection, 1 + i % 5, pieces[i % 4]);
		check_known(&stats, known, thread, selection->from_ns, selection->to_ns);
		assert_int_equal(stats.completeness.events, known_events(known, thread, selection->from_ns, selection->to_ns));
		assert_int_equal(stats.completeness.lost, 0);
		ada_stats_free(&stats);
		selection->threads.items[0] = all;
		selection->threads.count = count;
	}
}

static void check_random(void **state, uint64_t seed, uint32_t threads, uint64_t events)
{
	struct known *known;

	fixture_setup(state);
	known = synth_random(((struct fixture *)*state)->synth, seed, threads, events);
	fixture_open(*state, true, NULL, NULL, NULL);
	check_session(*state, known, &seed);
	known_free(known);
	fixture_teardown(state);
}

static void test_known_answers(void **state)
{
	for (uint64_t seed = 1; seed <= 12; seed++)
		check_random(state, seed, 1 + seed % 4, 200 * seed);
	check_random(state, 100, 1, 40000);
	check_random(state, 101, 8, 30000);
	check_random(state, 102, 64, 20000);
}

/* --- split or not ------------------------------------------------------------------------------------------------------- */

static void check_split(struct fixture *fixture, uint64_t *state)
{
	static const uint64_t pieces[] = { 1, 3, 16, 61, 250, 1000 };
	struct ada_selection *selection = &fixture->selection;

	for (unsigned int range = 0; range < 4; range++) {
		struct ada_stats whole;

		selection->from_ns = range & 1 ? SYNTH_START_NS + wild_draw(state) % 200000 : 0;
		selection->to_ns = range & 2 ? selection->from_ns + (range & 1 ? 0 : SYNTH_START_NS) + wild_draw(state) % 200000 :
					       UINT64_MAX;
		wild_compute(&whole, selection, 1, UINT64_MAX);
		for (unsigned int i = 0; i < sizeof pieces / sizeof *pieces; i++) {
			struct ada_stats split;

			wild_compute(&split, selection, 2 + i % 3, pieces[i]);
			assert_same_stats(&whole, &split);
			ada_stats_free(&split);
		}
		ada_stats_free(&whole);
	}
}

static void test_split_is_the_same(void **state)
{
	static const uint64_t odd[] = { 0, 5, 20, 100, 500, 2500 };

	for (uint64_t seed = 1; seed <= 12; seed++) {
		uint64_t random = seed;

		fixture_setup(state);
		wild_make(((struct fixture *)*state)->synth, seed * 7919, odd[seed % 6], 300 + seed * 60);
		fixture_open(*state, seed % 2, NULL, NULL, NULL);
		check_split(*state, &random);
		fixture_teardown(state);
	}
}

/* Kinds are counted as calls are, in one reading, whatever fits: as each event by itself says. */
static void check_kinds(const struct ada_thread *thread)
{
	struct ada_kinds kinds = {}, expected = {};
	const struct ada_event *event;
	struct ada_counter counter;
	struct ada_tally tally;

	for (uint64_t i = 0; i < thread->count && (event = atf_thread_get(thread->events, i)); i++) {
		expected.calls += event->event_kind == ADA_EVENT_CALL;
		expected.ends += event->event_kind == ADA_EVENT_RETURN || event->event_kind == ADA_EVENT_EXCEPTION;
		expected.gaps += event->event_kind == ADA_EVENT_LOST;
		expected.told += event->event_kind == ADA_EVENT_LOST ? event->function_id : 0;
	}
	assert_int_equal(ada_counter_open(&counter), 0);
	ada_counter_process(&counter, thread->process);
	ada_tally_open(&tally, &counter, thread, &(struct ada_work){});
	tally.kinds = &kinds;
	ada_tally_read(&tally, 0, thread->count / 2); /* within a block, if there are any */
	ada_tally_read(&tally, thread->count / 2, thread->count);
	assert_memory_equal(&kinds, &expected, sizeof expected);
	ada_tally_close(&tally);
	ada_counter_close(&counter);
}

static void test_packed_is_the_same(void **state)
{
	static const uint64_t odd[] = { 0, 5, 20, 100, 500, 2500 };
	static const uint64_t pieces[] = { UINT64_MAX, 16, 250, 1000 };

	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct ada_stats plain[4], packed;
		struct fixture *fixture;

		fixture_setup(state);
		fixture = *state;
		wild_make(fixture->synth, seed * 7919, odd[seed % 6], 300 + seed * 200);
		fixture_open(fixture, true, NULL, NULL, NULL);
		for (uint64_t range = 0; range < 4; range++) {
			fixture->selection.from_ns = range & 1 ? SYNTH_START_NS + seed * 5000 : 0;
			fixture->selection.to_ns = range & 2 ? SYNTH_START_NS + seed * 15000 : UINT64_MAX;
			wild_compute(&plain[range], &fixture->selection, 1, UINT64_MAX);
		}
		check_kinds(&fixture->session->threads.items[0]);
		fixture_pack(fixture, seed % 3 ? (uint32_t)seed * 30 : 5000);
		check_kinds(&fixture->session->threads.items[0]);
		for (uint64_t range = 0; range < 4; range++) {
			fixture->selection.from_ns = range & 1 ? SYNTH_START_NS + seed * 5000 : 0;
			fixture->selection.to_ns = range & 2 ? SYNTH_START_NS + seed * 15000 : UINT64_MAX;
			for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
				wild_compute(&packed, &fixture->selection, 1 + (unsigned int)(i + range) % 4, pieces[i]);
				assert_same_stats(&plain[range], &packed);
				ada_stats_free(&packed);
			}
			ada_stats_free(&plain[range]);
		}
		fixture_teardown(state);
	}
}

/* Changes a bit of a column in every third block, and the checksums with it: only who decodes the block can tell. The directory goes. */
static void make_contradict(const char *path, uint64_t *random)
{
	uint8_t bytes[1u << 16];
	FILE *file = fopen(path, "r+");
	size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0, at = sizeof(AtfIndexHeader), length;

	assert_in_range(size, 128, sizeof bytes - 1);
	for (size_t block = 0; (length = atf_pack_block_length(bytes + at, size - at)); at += length, block++) {
		AtfPackBlock head;
		size_t stored = 0;

		memcpy(&head, bytes + at, sizeof head);
		for (unsigned int i = 0; i < ATF_PACK_COLUMNS; i++)
			stored += head.stored[i];
		if (block % 3)
			continue;
		bytes[at + sizeof head + head.open_bytes + wild_draw(random) % stored] ^= 1u << wild_draw(random) % 8;
		head.body_checksum = libdeflate_crc32(0, bytes + at + sizeof head + head.open_bytes, stored);
		memcpy(bytes + at, &head, sizeof head);
		atf_pack_place(bytes + at, head.offset);
	}
	rewind(file);
	assert_int_equal(fwrite(bytes, 1, at, file), at);
	fclose(file);
	assert_int_equal(truncate(path, (off_t)at), 0);
}

/* Puts what is read of a packed file into a plain one in its place. */
static void make_plain(const char *packed)
{
	struct atf_index *index;
	AtfIndexHeader header;
	char plain[PATH_MAX];
	FILE *file;

	snprintf(plain, sizeof plain, "%.*satf", (int)strlen(packed) - 3, packed);
	assert_int_equal(atf_index_open(&index, packed, NULL), 0);
	file = fopen(plain, "w");
	assert_non_null(file);
	atf_header_start(&header, atf_index_header(index)->thread_id, ATF_ARCH_X86_64);
	assert_int_equal(fwrite(&header, sizeof header, 1, file), 1);
	assert_int_equal(fwrite(atf_index_events(index), sizeof(struct ada_event), atf_index_count(index), file), atf_index_count(index));
	fclose(file);
	atf_index_close(index);
	assert_int_equal(unlink(packed), 0);
}

/* A block that contradicts itself may show that only when half of it is counted: it is lost as a whole. */
static void test_contradictions_count_as_lost(void **state)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct fixture *fixture;
		struct ada_stats packed;
		uint64_t random = seed;
		char pattern[PATH_MAX];
		glob_t found;

		fixture_setup(state);
		fixture = *state;
		wild_make(fixture->synth, seed, 50, 600);
		fixture_open(fixture, true, NULL, NULL, NULL);
		fixture_pack(fixture, 90);
		snprintf(pattern, sizeof pattern, "%s/pid_*/thread_*/*.atp", fixture->directory);
		assert_int_equal(glob(pattern, 0, NULL, &found), 0);
		for (size_t i = 0; i < found.gl_pathc; i++)
			make_contradict(found.gl_pathv[i], &random);
		fixture_reopen(fixture);
		wild_compute(&packed, &fixture->selection, 1 + seed % 3, seed % 2 ? UINT64_MAX : 100);
		for (size_t i = 0; i < found.gl_pathc; i++)
			make_plain(found.gl_pathv[i]);
		fixture_reopen(fixture);
		wild_compute(&fixture->stats, &fixture->selection, 1, UINT64_MAX);
		assert_same_stats(&fixture->stats, &packed);
		ada_stats_free(&packed);
		globfree(&found);
		fixture_teardown(state);
	}
}

/* --- memory and Ctrl-C -------------------------------------------------------------------------------------------------- */

static const char *const two_names[] = { "main", "leaf" };

/* 2 million events: 64 MB. */
static void make_long(struct synth *synth)
{
	struct synth_thread *thread;

	synth_process(synth, 5);
	synth_module(synth, "/bin/long", two_names, 2);
	thread = synth_thread(synth, 5, "long");
	synth_call(thread, 0);
	for (unsigned int i = 0; i < 999999; i++) {
		synth_call(thread, 1);
		synth_pass(thread, 1);
		synth_return(thread);
	}
	synth_return(thread);
}

static long peak_kib(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_maxrss;
}

static void test_pages_are_released(void **state)
{
	struct fixture *fixture = *state;
	struct ada_timeline *timeline;
	struct ada_error error = {};
	struct ada_moment moment;
	uint64_t events = 0;
	long before;

	make_long(fixture->synth);
	fixture_open(fixture, true, NULL, NULL, NULL);
	before = peak_kib();
	/* One call of main counts, and all of the thread is read for its end. */
	fixture->selection.to_ns = SYNTH_START_NS + 1;
	wild_compute(&fixture->stats, &fixture->selection, 1, 1u << 18);
	assert_int_equal(fixture_function(fixture, "main")->durations.max, 999999);
	assert_int_equal(fixture_function(fixture, "leaf")->calls, 1);
	assert_true(peak_kib() - before < 16 << 10);
	ada_stats_free(&fixture->stats);
	fixture->selection.to_ns = UINT64_MAX;
	before = peak_kib();
	wild_compute(&fixture->stats, &fixture->selection, 2, 1u << 18);
	assert_int_equal(fixture_function(fixture, "leaf")->calls, 999999);
	assert_true(peak_kib() - before < 32 << 10);
	before = peak_kib();
	assert_int_equal(ada_timeline_open(&timeline, &fixture->selection, true, &error), 0);
	while (ada_timeline_next(timeline, &moment))
		events++;
	assert_int_equal(events, 2000000);
	assert_true(ada_timeline_completeness(timeline).complete);
	ada_timeline_close(timeline);
	assert_true(peak_kib() - before < 48 << 10);
}

/* The last test: this process is interrupted for good. */
static void test_interrupted(void **state)
{
	struct fixture *fixture = *state;
	struct ada_timeline *timeline;
	struct ada_error error = {};
	struct ada_moment moment;
	uint64_t events = 0;

	make_long(fixture->synth);
	fixture_open(fixture, true, NULL, NULL, NULL);
	ada_interrupt_catch();
	raise(SIGINT);
	assert_int_equal(ada_stats_compute(&fixture->stats, &fixture->selection, 2, &error), -EINTR);
	assert_string_equal(error.text, "interrupted");
	assert_int_equal(fixture->stats.functions.count, 0);
	assert_int_equal(ada_timeline_open(&timeline, &fixture->selection, true, &error), 0);
	while (ada_timeline_next(timeline, &moment))
		events++;
	assert_in_range(events, 1, 100000);
	assert_int_equal(ada_timeline_completeness(timeline).events, events);
	ada_timeline_close(timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_answers),	   cmocka_unit_test(test_split_is_the_same),
		cmocka_unit_test(test_packed_is_the_same), cmocka_unit_test(test_contradictions_count_as_lost),
		FIXTURE_TEST(test_pages_are_released),	   FIXTURE_TEST(test_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

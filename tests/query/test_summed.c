/* What files say that events add up to, of those that have gone (totals) and of those that are there (sums): random threads give the same
 * with them and without, to the bit. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "atf/session/thread.h"
#include "base/clock.h"
#include "base/file.h"
#include "query/tally/sums.h"
#include "query/tally/totals.h"
#include "query/verify/verify.h"
#include "wild.h"

static const uint64_t odd[] = { 0, 5, 20, 100, 500, 2500 };

/* What a thread did in its first segments goes into totals, as `ada pack --disk-limit` does it. */
static void age_thread(const struct ada_thread *thread, uint32_t border)
{
	const AtfTotalsHeader *before = atf_thread_totals(thread->events);
	AtfTotalsHeader header = before ? *before : (AtfTotalsHeader){};
	struct ada_work work = {};
	struct ada_counter counter;
	struct ada_tally tally;
	char path[PATH_MAX];
	uint8_t *bytes;
	uint64_t to = 0;
	size_t size;

	for (uint32_t i = 0; i < border; i++)
		to += atf_index_count(atf_thread_segment(thread->events, i));
	header.first_segment = border;
	if (!before)
		header.time_start_ns = to ? atf_thread_get(thread->events, 0)->timestamp_ns : 0;
	assert_int_equal(ada_counter_open(&counter), 0);
	ada_counter_process(&counter, thread->process);
	ada_tally_open(&tally, &counter, thread, &work);
	assert_int_equal(ada_totals_take(&tally, true), 0);
	ada_tally_read(&tally, 0, to);
	header.event_count += to;
	header.told = tally.lost;
	assert_int_equal(ada_totals_make(&tally, &header, &bytes, &size), 0);
	assert_true(atf_totals_are_sound(bytes, size));
	snprintf(path, sizeof path, "%s/thread_%u/totals", thread->process->path, thread->number);
	assert_int_equal(ada_file_replace(path, bytes, size, &(struct ada_error){}), 0);
	free(bytes);
	ada_tally_close(&tally);
	ada_counter_close(&counter);
}

/* Sums stay what they are, however many segments have gone, and in however many steps; the files may still be there. */
static void test_aged_is_the_same(void **state)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct ada_stats whole;
		struct fixture *fixture;

		fixture_setup(state);
		fixture = *state;
		wild_make(fixture->synth, seed * 104729, odd[seed % 6], 400 + seed * 200);
		fixture_open(fixture, true, NULL, NULL, NULL);
		wild_compute(&whole, &fixture->selection, 1, UINT64_MAX);
		for (uint32_t border = 1 + seed % 2; border < 3; border++) {
			struct ada_stats aged;

			for (size_t i = 0; i < fixture->session->threads.count; i++)
				age_thread(&fixture->session->threads.items[i], border);
			fixture_reopen(fixture);
			wild_compute(&aged, &fixture->selection, 1 + (unsigned int)seed % 3, seed % 4 ? 150 : UINT64_MAX);
			assert_in_range(aged.completeness.events, 1, whole.completeness.events - 1);
			aged.completeness.events = whole.completeness.events;
			aged.completeness.complete = whole.completeness.complete;
			assert_same_stats(&whole, &aged);
			ada_stats_free(&aged);
		}
		ada_stats_free(&whole);
		fixture_teardown(state);
	}
}

/* --- sums --------------------------------------------------------------------------------------------------------------- */

#define RANGES 4

static void select_range(struct fixture *fixture, unsigned int range, uint64_t seed)
{
	fixture->selection.from_ns = range & 1 ? SYNTH_START_NS + seed * 5000 : 0;
	fixture->selection.to_ns = range & 2 ? SYNTH_START_NS + seed * 15000 : UINT64_MAX;
}

static void write_sums(const struct fixture *fixture, uint64_t least, uint64_t until_ns)
{
	const struct ada_sums_how how = { .least = least, .piece_events = 61, .until_ns = until_ns };
	struct ada_error error;

	if (ada_sums_write(fixture->session, &how, &error))
		fail_msg("%s", error.text);
}

static char *sums_path(const struct ada_thread *thread)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/thread_%u/sums", thread->process->path, thread->number);
	return path;
}

/* How many events the thread's sums tell of; 0: it has none. */
static uint64_t summed(const struct ada_thread *thread)
{
	AtfTotalsHeader *sums;
	uint64_t position = 0, count;

	assert_int_equal(atf_thread_sums(thread->events, &sums, &position), 0);
	count = sums ? sums->event_count : 0;
	free(sums);
	return sums ? count : 0;
}

/* Of each thread the segments from `number` on hide, or come back. */
static void hide(const struct fixture *fixture, uint32_t number, bool hidden)
{
	for (size_t i = 0; i < fixture->session->threads.count; i++)
		for (uint32_t j = number; j < 3; j++) {
			const struct ada_thread *thread = &fixture->session->threads.items[i];
			char there[PATH_MAX], away[PATH_MAX + 8], directory[PATH_MAX];

			snprintf(directory, sizeof directory, "%s/thread_%u", thread->process->path, thread->number);
			assert_int_equal(atf_packed_path(there, sizeof there, directory, j), 0);
			snprintf(away, sizeof away, "%s.away", there);
			assert_int_equal(hidden ? rename(there, away) : rename(away, there), 0);
		}
}

static void check_ranges(struct fixture *fixture, const struct ada_stats *whole, uint64_t seed)
{
	static const uint64_t pieces[] = { UINT64_MAX, 16, 250 };

	for (unsigned int range = 0; range < RANGES; range++) {
		struct ada_stats stats;

		select_range(fixture, range, seed);
		for (unsigned int i = 0; i < 3; i++) {
			wild_compute(&stats, &fixture->selection, 1 + (i + range) % 3, pieces[i]);
			assert_same_stats(&whole[range], &stats);
			ada_stats_free(&stats);
		}
	}
}

/* Of the first one or two segments first, then of all: the second time on top of the first. */
static void test_summed_is_the_same(void **state)
{
	for (uint64_t seed = 1; seed <= 24; seed++) {
		struct ada_stats whole[RANGES];
		struct fixture *fixture;

		fixture_setup(state);
		fixture = *state;
		wild_make(fixture->synth, seed * 15485863, odd[seed % 6], 300 + seed * 100);
		fixture_open(fixture, true, NULL, NULL, NULL);
		fixture_pack(fixture, seed % 3 ? (uint32_t)seed * 30 : 5000);
		for (unsigned int range = 0; range < RANGES; range++) {
			select_range(fixture, range, seed);
			wild_compute(&whole[range], &fixture->selection, 1, UINT64_MAX);
		}
		hide(fixture, 1 + seed % 2, true);
		fixture_reopen(fixture);
		write_sums(fixture, 1, 0);
		hide(fixture, 1 + seed % 2, false);
		fixture_reopen(fixture);
		assert_in_range(summed(&fixture->session->threads.items[0]), 1, fixture->session->threads.items[0].count - 1);
		check_ranges(fixture, whole, seed);
		write_sums(fixture, 1, 0);
		assert_int_equal(summed(&fixture->session->threads.items[0]), fixture->session->threads.items[0].count);
		check_ranges(fixture, whole, seed);
		for (unsigned int range = 0; range < RANGES; range++)
			ada_stats_free(&whole[range]);
		fixture_teardown(state);
	}
}

/* Sums tell of events from the thread's very first one on, whatever has gone; once all that they tell of has gone they aren't asked. */
static void test_summed_and_aged(void **state)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct ada_stats whole;
		struct fixture *fixture;

		fixture_setup(state);
		fixture = *state;
		wild_make(fixture->synth, seed * 32452843, odd[seed % 6], 400 + seed * 100);
		fixture_open(fixture, true, NULL, NULL, NULL);
		fixture_pack(fixture, 100);
		hide(fixture, 2, true);
		fixture_reopen(fixture);
		write_sums(fixture, 1, 0);
		hide(fixture, 2, false);
		fixture_reopen(fixture);
		for (uint32_t border = 1; border < 3; border++) {
			const struct ada_thread *thread = &fixture->session->threads.items[0];
			struct ada_stats stats;

			for (size_t i = 0; i < fixture->session->threads.count; i++)
				age_thread(&fixture->session->threads.items[i], border);
			fixture_reopen(fixture);
			thread = &fixture->session->threads.items[0];
			assert_int_equal(summed(thread) != 0, border < 2);
			assert_int_equal(ada_stats_compute_anew(&whole, &fixture->selection, &(struct ada_error){}), 0);
			wild_compute(&stats, &fixture->selection, 2, 100);
			assert_same_stats(&whole, &stats);
			ada_stats_free(&stats);
			ada_stats_free(&whole);
		}
		fixture_teardown(state);
	}
}

static struct fixture *packed_fixture(void **state)
{
	struct fixture *fixture = *state;

	wild_make(fixture->synth, 7, 20, 1000);
	fixture_open(fixture, true, NULL, NULL, NULL);
	fixture_pack(fixture, 200);
	return fixture;
}

/* A plain thread, one of few events, and what there was no time for. */
static void test_who_has_none(void **state)
{
	struct fixture *fixture = *state;

	wild_make(fixture->synth, 7, 20, 1000);
	fixture_open(fixture, true, NULL, NULL, NULL);
	write_sums(fixture, 1, 0);
	assert_int_equal(summed(&fixture->session->threads.items[0]), 0);
	fixture_pack(fixture, 200);
	write_sums(fixture, fixture->session->threads.items[0].count + 1, 0);
	assert_int_equal(summed(&fixture->session->threads.items[0]), 0);
	write_sums(fixture, 1, ada_clock_boottime_ns());
	assert_int_equal(summed(&fixture->session->threads.items[0]), 0);
	write_sums(fixture, 1, 0);
	assert_int_not_equal(summed(&fixture->session->threads.items[0]), 0);
	assert_int_equal(ada_sums_remove(fixture->session, &(struct ada_error){}), 0);
	assert_int_equal(summed(&fixture->session->threads.items[0]), 0);
}

static void count_finding(void *context, const struct ada_finding *finding)
{
	unsigned int *counts = context;

	if (!strcmp(finding->check, "sums"))
		counts[finding->ok]++;
}

static void expect_findings(struct fixture *fixture, unsigned int wrong, unsigned int right)
{
	unsigned int counts[2] = {};
	struct ada_verify verify = { .session = fixture->session, .found = count_finding, .context = counts };

	assert_int_equal(ada_verify_session(&verify, &(struct ada_error){}), 0);
	ada_array_free(&verify.books);
	assert_int_equal(counts[false], wrong);
	assert_int_equal(counts[true], right);
}

/* Flips bits all over the file of the first thread: whatever it says then isn't believed, and verify tells. */
static void test_damaged_sums_are_no_answer(void **state)
{
	struct fixture *fixture = packed_fixture(state);
	const struct ada_thread *thread = &fixture->session->threads.items[0];
	struct ada_stats whole, stats;
	char *bytes;
	size_t size;

	wild_compute(&whole, &fixture->selection, 1, UINT64_MAX);
	expect_findings(fixture, 0, 0);
	write_sums(fixture, 1, 0);
	expect_findings(fixture, 0, 2);
	assert_int_equal(ada_file_read(sums_path(thread), &bytes, &size, &(struct ada_error){}), 0);
	for (size_t at = 0; at < size; at += at < 160 ? 1 : 37) {
		bytes[at] ^= (char)(1u << at % 8);
		assert_int_equal(ada_file_replace_at(AT_FDCWD, sums_path(thread), bytes, size, false), 0);
		wild_compute(&stats, &fixture->selection, 2, 100);
		assert_same_stats(&whole, &stats);
		ada_stats_free(&stats);
		bytes[at] ^= (char)(1u << at % 8);
	}
	expect_findings(fixture, 1, 1);
	write_sums(fixture, 1, 0); /* made anew */
	expect_findings(fixture, 0, 2);
	free(bytes);
	ada_stats_free(&whole);
}

/* Sound, but of another thread, of more events than there are, or wrong. */
static void test_sums_that_are_not_the_threads(void **state)
{
	struct fixture *fixture = packed_fixture(state);
	const struct ada_thread *threads = fixture->session->threads.items;
	AtfTotalsHeader *sums;
	uint64_t position;

	write_sums(fixture, 1, 0);
	assert_int_equal(atf_thread_sums(threads[0].events, &sums, &position), 0);
	assert_int_equal(position, threads[0].count);
	for (unsigned int wrong = 0; wrong < 3; wrong++) {
		AtfTotalsHeader header = *sums;
		size_t size = sizeof header + header.body_bytes;
		char *bytes = malloc(size);

		header.first_segment = wrong == 0;
		header.time_start_ns += wrong == 1;
		header.told += wrong == 2;
		memcpy(bytes, sums, size);
		atf_totals_seal(&header, sums + 1, header.body_bytes);
		memcpy(bytes, &header, sizeof header);
		assert_int_equal(ada_file_replace_at(AT_FDCWD, sums_path(threads), bytes, size, false), 0);
		expect_findings(fixture, 1, 1);
		free(bytes);
	}
	free(sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_aged_is_the_same),       cmocka_unit_test(test_summed_is_the_same),
		cmocka_unit_test(test_summed_and_aged),	       FIXTURE_TEST(test_who_has_none),
		FIXTURE_TEST(test_damaged_sums_are_no_answer), FIXTURE_TEST(test_sums_that_are_not_the_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

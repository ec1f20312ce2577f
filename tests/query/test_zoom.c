/* Pictures of random sessions, against the list of the calls that the generator made. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/hash.h"
#include "fixture.h"
#include "query/calls/stack.h"
#include "query/zoom/zoom.h"
#include "synth_random.h"

#define DEPTHS 4096u

static uint64_t seed;

static uint64_t some(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 20) % below;
}

static uint32_t depth_of(const struct known *known, const struct known_call *call)
{
	uint32_t depth = 0;

	for (; call->parent != KNOWN_NONE; call = &known->calls.items[call->parent])
		depth++;
	return depth;
}

static uint32_t column_of(const struct ada_zoom_view *view, uint64_t ns)
{
	return (uint32_t)((unsigned __int128)(ns - view->from_ns) * view->columns / (view->to_ns - view->from_ns));
}

struct sums {
	uint64_t calls, busy_ns, longest_ns;
};

static const struct ada_zoom_cell *cell_of(const struct ada_zoom_picture *picture, uint32_t depth, uint32_t column)
{
	assert_true(depth < picture->depths);
	return &picture->cells[(size_t)depth * picture->view.columns + column];
}

/* What is drawn is what was called: all counts, each call of a column or more, the longest of each depth. */
static void check_picture(const struct ada_zoom_picture *picture, const struct known *known, uint32_t thread)
{
	const struct ada_zoom_view *view = &picture->view;
	uint64_t column_ns = (view->to_ns - view->from_ns + view->columns - 1) / view->columns;
	struct sums wanted[64] = {}, drawn[64] = {};
	size_t before = 0;

	for (size_t i = 0; i < known->calls.count; i++) {
		const struct known_call *call = &known->calls.items[i];
		uint64_t duration_ns = call->end_ns - call->start_ns;
		uint32_t depth = depth_of(known, call);

		if (call->thread != thread || depth >= 64)
			continue;
		before += call->start_ns < view->from_ns && call->end_ns >= view->from_ns;
		if (call->start_ns < view->from_ns || call->start_ns >= view->to_ns)
			continue;
		wanted[depth].calls++;
		wanted[depth].busy_ns += duration_ns;
		if (duration_ns > wanted[depth].longest_ns)
			wanted[depth].longest_ns = duration_ns;
		if (duration_ns > column_ns) {
			const struct ada_zoom_cell *cell = cell_of(picture, depth, column_of(view, call->start_ns));

			assert_int_equal(cell->start_ns, call->start_ns);
			assert_int_equal(cell->duration_ns, duration_ns);
		}
	}
	for (uint32_t depth = 0; depth < picture->depths && depth < 64; depth++)
		for (uint32_t column = 0; column < view->columns; column++) {
			const struct ada_zoom_cell *cell = cell_of(picture, depth, column);

			drawn[depth].calls += cell->calls;
			drawn[depth].busy_ns += cell->busy_ns;
			if (cell->calls && cell->duration_ns > drawn[depth].longest_ns)
				drawn[depth].longest_ns = cell->duration_ns;
		}
	assert_memory_equal(wanted, drawn, sizeof wanted);
	assert_int_equal(picture->before.count, before);
}

/* A range that is so short that its leaves are read: each column's longest call and count. */
static void check_columns(const struct ada_zoom_picture *picture, const struct known *known, uint32_t thread)
{
	const struct ada_zoom_view *view = &picture->view;
	struct sums *wanted = calloc(64 * (size_t)view->columns, sizeof *wanted);

	for (size_t i = 0; i < known->calls.count; i++) {
		const struct known_call *call = &known->calls.items[i];
		uint32_t depth = depth_of(known, call);
		struct sums *sums;

		if (call->thread != thread || depth >= 64 || call->start_ns < view->from_ns || call->start_ns >= view->to_ns)
			continue;
		sums = &wanted[(size_t)depth * view->columns + column_of(view, call->start_ns)];
		sums->calls++;
		sums->busy_ns += call->end_ns - call->start_ns;
		if (call->end_ns - call->start_ns > sums->longest_ns)
			sums->longest_ns = call->end_ns - call->start_ns;
	}
	for (uint32_t depth = 0; depth < picture->depths && depth < 64; depth++)
		for (uint32_t column = 0; column < view->columns; column++) {
			const struct ada_zoom_cell *cell = cell_of(picture, depth, column);
			const struct sums *sums = &wanted[(size_t)depth * view->columns + column];

			assert_int_equal(cell->calls, sums->calls);
			assert_int_equal(cell->busy_ns, sums->busy_ns);
			assert_int_equal(cell->duration_ns, sums->longest_ns);
		}
	free(wanted);
}

static void check_views(const struct ada_zoom *zoom, const struct known *known, uint32_t thread)
{
	const struct ada_thread *events = zoom->threads[thread].thread;
	uint64_t first_ns = atf_thread_get(events->events, 0)->timestamp_ns, span_ns;

	span_ns = atf_thread_get(events->events, events->count - 1)->timestamp_ns + 1 - first_ns;
	for (unsigned int i = 0; i < 25; i++) {
		uint64_t length_ns = 1 + some(i % 5 ? span_ns : span_ns / 200 + 1), at_ns = first_ns + some(span_ns);
		struct ada_zoom_view view = { i ? at_ns : first_ns - 5, i ? at_ns + length_ns : first_ns + span_ns, 1 + (uint32_t)some(600),
					      DEPTHS };
		struct ada_zoom_picture picture;
		uint64_t events_in, most = 1 + some(8);
		uint32_t coarse = i % 2 ? ada_zoom_coarse(&zoom->threads[thread], &view, most) : 1;

		view.columns = (view.columns + coarse - 1) / coarse;
		assert_int_equal(ada_zoom_draw(&picture, &zoom->threads[thread], &view), 0);
		assert_false(picture.cut);
		check_picture(&picture, known, thread);
		/* A leaf that is read is a column long, or lies at an end. */
		assert_in_range(picture.leaves, 0, view.columns + 2);
		if (i % 2 && coarse < ADA_ZOOM_COARSEST)
			assert_in_range(picture.leaves, 0, most);
		events_in = atf_thread_lower_bound(events->events, view.to_ns) - atf_thread_lower_bound(events->events, view.from_ns);
		/* No leaf lies in it whole. */
		if (events_in < ADA_ZOOM_LEAF)
			check_columns(&picture, known, thread);
		ada_zoom_picture_free(&picture);
	}
}

/* Columns as one search gives them, and one that has no time for more than a leaf each time it is asked. */
static void check_found(const struct ada_zoom_thread *thread, const struct ada_zoom_view *view, const struct ada_zoom_functions *functions,
			uint64_t found)
{
	bool columns[2][50] = {};
	uint64_t first, rest, since = 0;

	assert_int_equal(ada_zoom_find(columns[0], &first, thread, view, functions, 0, UINT64_MAX), UINT64_MAX);
	assert_int_equal(first, found);
	for (first = UINT64_MAX; since != UINT64_MAX; first = first == UINT64_MAX ? rest : first) {
		uint64_t before = since;

		since = ada_zoom_find(columns[1], &rest, thread, view, functions, since, 0);
		assert_true(since > before);
	}
	assert_int_equal(first, found);
	assert_memory_equal(columns[0], columns[1], sizeof columns[0]);
	for (uint64_t i = 0; i < thread->thread->count; i++) {
		const struct ada_event *event = atf_thread_get(thread->thread->events, i);

		if (event->event_kind == ADA_EVENT_CALL && event->function_id == functions->ids[0])
			assert_true(columns[0][column_of(view, event->timestamp_ns)]);
	}
}

/* Columns with a function, and the path to a call. */
static void check_places(const struct ada_zoom *zoom, uint32_t number)
{
	const struct ada_zoom_thread *thread = &zoom->threads[number];
	uint64_t count = thread->thread->count, at = some(count), found = UINT64_MAX, id;
	struct ada_zoom_functions functions;
	const struct ada_event *event;
	struct ada_zoom_view view = { 0, UINT64_MAX / 2, 50, DEPTHS };
	struct ada_stack stack;
	ada_zoom_path path = {};

	while ((event = atf_thread_get(thread->thread->events, at))->event_kind != ADA_EVENT_CALL)
		at--;
	for (uint64_t i = 0; i < count; i++) {
		const struct ada_event *other = atf_thread_get(thread->thread->events, i);

		if (found == UINT64_MAX && other->event_kind == ADA_EVENT_CALL && other->function_id == event->function_id)
			found = i;
	}
	id = event->function_id;
	ada_zoom_functions_make(&functions, &id, 1);
	view.from_ns = atf_thread_get(thread->thread->events, 0)->timestamp_ns;
	view.to_ns = atf_thread_get(thread->thread->events, count - 1)->timestamp_ns + 1;
	check_found(thread, &view, &functions, found);
	assert_int_equal(ada_zoom_path_at(&path, thread, at), 0);
	assert_int_equal(ada_stack_at(&stack, thread->thread, at), 0);
	assert_int_equal(path.count, stack.frames.count + 1);
	for (size_t i = 0; i < stack.frames.count; i++)
		assert_int_equal(path.items[i].position, stack.frames.items[i].position);
	assert_int_equal(path.items[path.count - 1].position, at);
	assert_int_equal(ada_zoom_path_at(&path, thread, count), -ENOENT);
	ada_stack_close(&stack);
	ada_array_free(&path);
}

static void test_random_sessions(void **state)
{
	for (uint64_t number = 1; number <= 8; number++) {
		struct fixture *fixture;
		struct known *known;
		struct ada_zoom zoom;

		seed = number;
		fixture_setup(state);
		fixture = *state;
		known = synth_random(fixture->synth, number, 1 + (uint32_t)number % 3, number * number * 600);
		fixture_open(fixture, true, NULL, NULL, NULL); /* else open calls last until the last event */
		assert_int_equal(ada_zoom_open(&zoom, fixture->session), 0);
		assert_int_equal(ada_zoom_build(&zoom, 2), 0);
		assert_int_equal(zoom.done, zoom.total);
		for (uint32_t i = 0; i < known->threads; i++) {
			check_views(&zoom, known, i);
			for (unsigned int j = 0; j < 10; j++)
				check_places(&zoom, i);
		}
		ada_zoom_close(&zoom);
		known_free(known);
		fixture_teardown(state);
	}
}

/* One call among a million that is a hundred times longer is in every picture that holds it. */
static void test_a_rare_spike_is_drawn(void **state)
{
	static const char *const names[] = { "main", "leaf" };
	struct fixture *fixture = *state;
	struct synth_thread *thread = fixture_thread(fixture, names, 2);
	struct ada_zoom zoom;
	uint64_t spike_ns = 0;

	synth_call(thread, 0);
	for (unsigned int i = 0; i < 300000; i++) {
		if (i == 123456)
			spike_ns = SYNTH_START_NS + 123456 * 20ull;
		synth_leaf(thread, 1, i == 123456 ? 2000 : 10);
		synth_pass(thread, 10);
	}
	synth_return(thread);
	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_int_equal(ada_zoom_open(&zoom, fixture->session), 0);
	assert_int_equal(ada_zoom_build(&zoom, 1), 0);
	for (uint32_t columns = 1; columns < 2000; columns = columns * 3 + 1) {
		struct ada_zoom_view view = { SYNTH_START_NS, SYNTH_START_NS + 300000 * 20ull + 3000, columns, 8 };
		struct ada_zoom_picture picture;
		unsigned int spikes = 0;

		assert_int_equal(ada_zoom_draw(&picture, &zoom.threads[0], &view), 0);
		for (uint32_t i = 0; i < columns; i++)
			spikes += cell_of(&picture, 1, i)->duration_ns == 2000 && cell_of(&picture, 1, i)->start_ns == spike_ns;
		assert_int_equal(spikes, 1);
		ada_zoom_picture_free(&picture);
	}
	ada_zoom_close(&zoom);
}

#define BURSTS 6u
#define BURST_CALLS 10000u /* of 20 ns each: 10 leaves, the last of which reaches over what follows */
#define BURST_NS (BURST_CALLS * 20ull)
#define PAUSE_NS 1000000ull

/* A program that works in bursts: where a leaf is shorter than a column but for a pause, no leaf is read, and each call lies in its column. */
static void test_pauses_are_no_leaves_to_read(void **state)
{
	static const char *const names[] = { "main", "leaf" };
	struct ada_zoom_view view = { SYNTH_START_NS, SYNTH_START_NS + BURSTS * (BURST_NS + PAUSE_NS), 100, 8 };
	uint64_t column_ns = (view.to_ns - view.from_ns) / view.columns;
	struct fixture *fixture = *state;
	struct synth_thread *thread = fixture_thread(fixture, names, 2);
	struct ada_zoom_picture picture;
	struct ada_zoom zoom;
	uint32_t calls = 0;

	synth_call(thread, 0);
	for (unsigned int burst = 0; burst < BURSTS; burst++) {
		for (unsigned int i = 0; i < BURST_CALLS; i++) {
			synth_leaf(thread, 1, 10);
			synth_pass(thread, 10);
		}
		synth_pass(thread, PAUSE_NS);
	}
	synth_return(thread);
	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_int_equal(ada_zoom_open(&zoom, fixture->session), 0);
	assert_int_equal(ada_zoom_build(&zoom, 1), 0);
	assert_int_equal(ada_zoom_coarse(&zoom.threads[0], &view, 1), 1);
	assert_int_equal(ada_zoom_draw(&picture, &zoom.threads[0], &view), 0);
	assert_in_range(picture.leaves, 0, 1);
	for (uint32_t column = 0; column < view.columns; column++) {
		uint64_t from_ns = view.from_ns + column * column_ns, into_ns = (from_ns - view.from_ns) % (BURST_NS + PAUSE_NS);

		calls += cell_of(&picture, 1, column)->calls;
		if (into_ns > BURST_NS && into_ns + column_ns <= BURST_NS + PAUSE_NS)
			assert_int_equal(cell_of(&picture, 1, column)->calls, 0);
		if (into_ns + column_ns < BURST_NS)
			assert_true(cell_of(&picture, 1, column)->calls > 0);
	}
	assert_int_equal(calls, BURSTS * BURST_CALLS);
	ada_zoom_picture_free(&picture);
	ada_zoom_close(&zoom);
}

/* Losses are told, and calls whose end they took count without a length. Calls of another stack end where they end. */
static void test_losses(void **state)
{
	static const char *const names[] = { "main", "leaf" };
	struct fixture *fixture = *state;
	struct synth_thread *thread = fixture_thread(fixture, names, 2);
	struct ada_zoom_view view = { SYNTH_START_NS, SYNTH_START_NS + 1000, 10, 8 };
	struct ada_zoom_picture picture;
	struct ada_zoom zoom;

	synth_call(thread, 0);
	synth_pass(thread, 100);
	synth_call(thread, 1);
	synth_pass(thread, 100);
	synth_lost(thread, 7, 1);
	synth_pass(thread, 300);
	synth_leaf(thread, 1, 50);
	synth_return(thread);
	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_int_equal(ada_zoom_open(&zoom, fixture->session), 0);
	assert_int_equal(ada_zoom_build(&zoom, 1), 0);
	assert_int_equal(zoom.threads[0].losses.count, 1);
	assert_int_equal(zoom.threads[0].losses.items[0].from_ns, SYNTH_START_NS + 100);
	assert_int_equal(zoom.threads[0].losses.items[0].to_ns, SYNTH_START_NS + 500);
	assert_int_equal(zoom.threads[0].losses.items[0].events, 7);
	assert_int_equal(ada_zoom_draw(&picture, &zoom.threads[0], &view), 0);
	assert_int_equal(cell_of(&picture, 1, 1)->calls, 1);
	assert_true(cell_of(&picture, 1, 1)->position == UINT64_MAX);
	assert_int_equal(cell_of(&picture, 1, 5)->duration_ns, 50);
	ada_zoom_picture_free(&picture);
	ada_zoom_close(&zoom);
}

/* --- a reading that goes on ------------------------------------------------------------------------------------------------ */

/* Of the first `read` events: each call that begins there counts, and what is open lasts until the last of them. */
static void check_part(const struct ada_zoom_thread *thread, uint64_t read)
{
	const struct ada_thread *events = thread->thread;
	uint64_t first_ns = atf_thread_get(events->events, 0)->timestamp_ns;
	uint64_t last_ns = atf_thread_get(events->events, read - 1)->timestamp_ns;
	struct ada_zoom_view view = { first_ns, last_ns + 1, 1 + (uint32_t)some(300), DEPTHS };
	uint64_t wanted[64] = {}, drawn[64] = {};
	struct ada_zoom_picture picture;
	struct ada_stack stack;

	for (uint64_t i = 0; i < read; i++) {
		const struct ada_event *event = atf_thread_get(events->events, i);

		wanted[event->call_depth < 64 ? event->call_depth : 63] += event->event_kind == ADA_EVENT_CALL;
	}
	assert_int_equal(ada_zoom_draw(&picture, thread, &view), 0);
	for (uint32_t depth = 0; depth < picture.depths; depth++)
		for (uint32_t column = 0; column < view.columns; column++)
			drawn[depth < 64 ? depth : 63] += cell_of(&picture, depth, column)->calls;
	assert_memory_equal(drawn, wanted, sizeof wanted);
	assert_int_equal(ada_stack_at(&stack, events, read), 0);
	for (size_t i = 0; i < stack.frames.count; i++) {
		const struct ada_event *call = atf_thread_get(events->events, stack.frames.items[i].position);

		assert_true(cell_of(&picture, call->call_depth, column_of(&view, call->timestamp_ns))->duration_ns >=
			    last_ns - call->timestamp_ns);
	}
	ada_stack_close(&stack);
	ada_zoom_picture_free(&picture);
}

/* As of a session that is recorded meanwhile: each time it is opened again it has more events, and in the end it has all. */
static void test_a_reading_goes_on(void **state)
{
	struct fixture *fixture = *state;
	struct known *known = synth_random(fixture->synth, 5, 2, 40000);
	uint64_t counts[2], read[2] = {};
	struct ada_zoom zoom;

	seed = 5;
	fixture_open(fixture, true, NULL, NULL, NULL);
	for (int i = 0; i < 2; i++) {
		counts[i] = fixture->session->threads.items[i].count;
		fixture->session->threads.items[i].count = 0;
		fixture->session->threads.items[i].process->finalized = false;
	}
	assert_int_equal(ada_zoom_open(&zoom, fixture->session), 0);
	zoom.live = true;
	for (unsigned int round = 0; round < 12; round++) {
		for (int i = 0; i < 2; i++) {
			read[i] += some(round % 3 ? 5000 : 20);
			read[i] = read[i] < counts[i] ? read[i] : counts[i];
			fixture->session->threads.items[i].count = read[i];
		}
		assert_int_equal(ada_zoom_follow(&zoom, fixture->session), 0);
		assert_int_equal(ada_zoom_build(&zoom, 2), 0);
		assert_int_equal(zoom.done, read[0] + read[1]);
		for (int i = 0; i < 2; i++)
			if (read[i])
				check_part(&zoom.threads[i], read[i]);
	}
	for (int i = 0; i < 2; i++) {
		fixture->session->threads.items[i].count = counts[i];
		fixture->session->threads.items[i].process->finalized = true;
	}
	assert_int_equal(ada_zoom_follow(&zoom, fixture->session), 0);
	assert_int_equal(ada_zoom_build(&zoom, 2), 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(zoom.threads[i].whole);
		check_views(&zoom, known, i);
		check_places(&zoom, i);
	}
	ada_zoom_close(&zoom);
	known_free(known);
}

/* --- what is kept --------------------------------------------------------------------------------------------------------- */

static void kept_path(const struct ada_zoom *zoom, char path[PATH_MAX])
{
	assert_int_equal(ada_path(path, "%s/thread_0/" ADA_ZOOM_KEPT, zoom->threads[0].thread->process->path), 0);
}

/* The file with one byte changed, and a checksum that says nothing of it. */
static void damage(const char *path, const char *bytes, size_t length, bool resum)
{
	enum { CHECKSUM_AT = 40, HEADER = 48 + 8 * (ADA_ZOOM_LEVELS + 4) + 16 };
	char *changed = malloc(length);
	size_t at = (size_t)some(length);
	uint64_t sum;

	memcpy(changed, bytes, length);
	changed[at] = (char)(changed[at] ^ (1 << some(8)));
	if (resum) {
		sum = ada_hash_bytes(changed + HEADER, length - HEADER);
		memcpy(changed + CHECKSUM_AT, &sum, sizeof sum);
	}
	assert_int_equal(ada_file_replace_at(AT_FDCWD, path, changed, length, false), 0);
	free(changed);
}

/* What another reading kept draws the same pictures; damaged it isn't taken, or, by whoever can make checksums, does no harm. */
static void test_what_is_kept(void **state)
{
	struct ada_zoom_view view = { SYNTH_START_NS, SYNTH_START_NS + 100000000, 100, DEPTHS };
	struct fixture *fixture = *state;
	struct known *known = synth_random(fixture->synth, 3, 1, 30000);
	struct ada_zoom zoom, again;
	char path[PATH_MAX], *bytes;
	size_t length;

	seed = 3;
	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_int_equal(ada_zoom_open(&zoom, fixture->session), 0);
	assert_false(ada_zoom_take(&zoom.threads[0]));
	assert_int_equal(ada_zoom_build(&zoom, 1), 0);
	ada_zoom_keep(&zoom.threads[0]);
	kept_path(&zoom, path);
	ada_zoom_close(&zoom);
	assert_int_equal(ada_zoom_open(&again, fixture->session), 0);
	assert_true(ada_zoom_take(&again.threads[0]));
	check_views(&again, known, 0);
	check_places(&again, 0);
	ada_zoom_close(&again);
	assert_int_equal(ada_file_read(path, &bytes, &length, &(struct ada_error){}), 0);
	for (unsigned int round = 0; round < 2000; round++) {
		bool resum = round % 2;
		struct ada_zoom_picture picture;

		damage(path, bytes, length, resum);
		assert_int_equal(ada_zoom_open(&again, fixture->session), 0);
		if (ada_zoom_take(&again.threads[0])) {
			assert_true(resum);
			assert_int_equal(ada_zoom_draw(&picture, &again.threads[0], &view), 0);
			ada_zoom_picture_free(&picture);
		}
		ada_zoom_close(&again);
	}
	/* Cut short, and of files that have changed since. */
	assert_int_equal(ada_file_replace(path, bytes, length - 1, &(struct ada_error){}), 0);
	assert_int_equal(ada_zoom_open(&again, fixture->session), 0);
	assert_false(ada_zoom_take(&again.threads[0]));
	assert_int_equal(ada_file_replace(path, bytes, length, &(struct ada_error){}), 0);
	assert_true(ada_zoom_take(&again.threads[0]));
	ada_zoom_close(&again);
	assert_int_equal(ada_zoom_open(&again, fixture->session), 0);
	assert_int_equal(ada_path(path, "%s/thread_0/index.atf", again.threads[0].thread->process->path), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[2]){ { 1, 1 }, { 1, 1 } }, 0), 0);
	assert_false(ada_zoom_take(&again.threads[0]));
	ada_zoom_close(&again);
	free(bytes);
	known_free(known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_sessions),
		FIXTURE_TEST(test_a_rare_spike_is_drawn),
		FIXTURE_TEST(test_losses),
		FIXTURE_TEST(test_a_reading_goes_on),
		FIXTURE_TEST(test_what_is_kept),
		FIXTURE_TEST(test_pauses_are_no_leaves_to_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

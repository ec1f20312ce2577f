/* What is read before its turn: pictures of it are those of the whole session, wherever the reading in turn stands. */
#include <errno.h>
#include "fixture.h"
#include "query/zoom/zoom.h"
#include "synth_random.h"

#define DEPTHS 4096u

static uint64_t seed;

static uint64_t some(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 20) % below;
}

/* A session of one thread that was read up to `read` while it had no more; all of it is there now. */
static void open_read(struct ada_zoom *zoom, struct fixture *fixture, uint64_t read)
{
	struct ada_thread *thread = &fixture->session->threads.items[0];
	uint64_t count = thread->count;

	thread->count = read;
	assert_int_equal(ada_zoom_open(zoom, fixture->session), 0);
	zoom->live = true;
	thread->process->finalized = false;
	assert_int_equal(ada_zoom_build(zoom, 1), 0);
	thread->process->finalized = true;
	thread->count = count;
	assert_int_equal(ada_zoom_follow(zoom, fixture->session), 0);
	assert_int_equal(zoom->threads[0].read, read);
}

struct sums {
	uint64_t calls, longest_ns;
};

static struct sums sums_of(const struct ada_zoom_picture *picture, uint32_t depth)
{
	struct sums sums = {};

	for (uint32_t column = 0; depth < picture->depths && column < picture->view.columns; column++) {
		const struct ada_zoom_cell *cell = &picture->cells[(size_t)depth * picture->view.columns + column];

		sums.calls += cell->calls;
		sums.longest_ns = cell->duration_ns > sums.longest_ns ? cell->duration_ns : sums.longest_ns;
	}
	return sums;
}

/* All counts, each call of a column or more, the longest of each depth, and what was open before. */
static void check_same(const struct ada_zoom_picture *picture, const struct ada_zoom_picture *wanted, size_t parts)
{
	uint64_t column_ns = (wanted->view.to_ns - wanted->view.from_ns) / wanted->view.columns + 1;

	for (uint32_t depth = 0; depth < 64 && (depth < wanted->depths || depth < picture->depths); depth++) {
		struct sums drawn = sums_of(picture, depth), sums = sums_of(wanted, depth);

		assert_int_equal(drawn.longest_ns, sums.longest_ns);
		/* A call that reaches into a part is drawn in its column even if a narrow leaf counts it in the next one. */
		assert_true(drawn.calls >= sums.calls && drawn.calls <= sums.calls + parts);
		for (uint32_t column = 0; depth < wanted->depths && column < wanted->view.columns; column++) {
			const struct ada_zoom_cell *cell = &wanted->cells[(size_t)depth * wanted->view.columns + column], *own;

			if (!cell->calls || cell->duration_ns <= column_ns)
				continue;
			own = &picture->cells[(size_t)depth * wanted->view.columns + column];
			assert_int_equal(own->start_ns, cell->start_ns);
			assert_int_equal(own->duration_ns, cell->duration_ns);
			assert_int_equal(own->position, cell->position);
			assert_int_equal(own->function_id, cell->function_id);
		}
	}
	assert_int_equal(picture->before.count, wanted->before.count);
	for (size_t i = 0; i < wanted->before.count; i++) {
		assert_int_equal(picture->before.items[i].position, wanted->before.items[i].position);
		assert_int_equal(picture->before.items[i].end_ns, wanted->before.items[i].end_ns);
	}
}

static uint64_t last_ns(const struct ada_zoom *zoom)
{
	const struct ada_thread *thread = zoom->threads[0].thread;

	return atf_thread_get(thread->events, thread->count - 1)->timestamp_ns;
}

static uint64_t some_time(const struct ada_zoom *zoom)
{
	return SYNTH_START_NS + some(last_ns(zoom) - SYNTH_START_NS);
}

/* From some time to beyond the end, so that no end of a call is missing: by little and little, each time a stretch at least. */
static void check_to_the_end(const struct ada_zoom *whole, struct ada_zoom *zoom, uint64_t from_ns)
{
	struct ada_zoom_view view = { from_ns, last_ns(zoom) + 1000, 1 + (uint32_t)some(400), DEPTHS };
	struct ada_zoom_thread *thread = &zoom->threads[0];
	uint64_t from = atf_thread_lower_bound(thread->thread->events, from_ns), count = thread->thread->count;
	struct ada_zoom_picture picture, wanted;

	from = from > thread->read ? from : thread->read;
	for (int i = 0; ada_zoom_ahead_events(thread, from, count) < count - from; i++) {
		assert_true(i < 1000);
		assert_int_equal(ada_zoom_ahead(thread, &view, 1000, 0), 0);
	}
	assert_int_equal(ada_zoom_draw(&picture, thread, &view), 0);
	assert_int_equal(ada_zoom_draw(&wanted, &whole->threads[0], &view), 0);
	check_same(&picture, &wanted, thread->ahead.count);
	ada_zoom_picture_free(&picture);
	ada_zoom_picture_free(&wanted);
}

/* In the middle: each call that is a column long, and of the others as many as there are; ends may lie behind what was read. */
static void check_a_part(const struct ada_zoom *whole, struct ada_zoom *zoom)
{
	uint64_t from_ns = some_time(zoom), to_ns = from_ns + 1 + some(last_ns(zoom) / 4 - SYNTH_START_NS / 4);
	struct ada_zoom_view view = { from_ns, to_ns, 1 + (uint32_t)some(400), DEPTHS };
	struct ada_zoom_picture picture, wanted;

	for (int i = 0; i < 100; i++)
		assert_int_equal(ada_zoom_ahead(&zoom->threads[0], &view, 1000, 0), 0);
	assert_int_equal(ada_zoom_draw(&picture, &zoom->threads[0], &view), 0);
	assert_int_equal(ada_zoom_draw(&wanted, &whole->threads[0], &view), 0);
	for (uint32_t depth = 0; depth < wanted.depths && depth < 64; depth++)
		assert_true(sums_of(&picture, depth).calls >= sums_of(&wanted, depth).calls &&
			    sums_of(&picture, depth).calls <= sums_of(&wanted, depth).calls + zoom->threads[0].ahead.count);
	ada_zoom_picture_free(&picture);
	ada_zoom_picture_free(&wanted);
}

/* Calls are found wherever they are: in what was read in turn, ahead, and not at all yet. */
static void check_seeks(const struct ada_zoom_thread *thread)
{
	uint64_t count = thread->thread->count;

	for (unsigned int i = 0; i < 60; i++) {
		uint64_t from = some(count), id = atf_thread_get(thread->thread->events, some(count))->function_id, wanted = UINT64_MAX;
		bool backwards = i % 2;
		struct ada_zoom_functions functions;
		struct ada_zoom_seek seek;

		for (uint64_t at = from; wanted == UINT64_MAX && (backwards ? at > 0 : at < count); at += backwards ? UINT64_MAX : 1) {
			const struct ada_event *event = atf_thread_get(thread->thread->events, at - backwards);

			if (event->event_kind == ADA_EVENT_CALL && event->function_id == id)
				wanted = at - backwards;
		}
		ada_zoom_functions_make(&functions, &id, 1);
		ada_zoom_seek_open(&seek, thread, &functions, from, backwards);
		while (!seek.done && seek.found == UINT64_MAX)
			ada_zoom_seek_run(&seek, backwards ? 0 : UINT64_MAX, i % 3 ? 0 : UINT64_MAX);
		assert_int_equal(seek.found, wanted);
	}
}

/* Of plain files and packed ones. */
static void test_pictures_ahead_are_those_of_the_whole(void **state)
{
	for (uint64_t number = 1; number <= 8; number++) {
		struct fixture *fixture;
		struct known *known;
		struct ada_zoom whole, zoom;

		seed = number;
		fixture_setup(state);
		fixture = *state;
		known = synth_random(fixture->synth, number, 1, 40000);
		fixture_open(fixture, true, NULL, NULL, NULL);
		if (number % 2)
			fixture_pack(fixture, 5000);
		assert_int_equal(ada_zoom_open(&whole, fixture->session), 0);
		assert_int_equal(ada_zoom_build(&whole, 1), 0);
		open_read(&zoom, fixture, some(number % 3 ? 30000 : 1));
		check_seeks(&whole.threads[0]);
		check_seeks(&zoom.threads[0]);
		for (int i = 0; i < 4; i++)
			check_a_part(&whole, &zoom);
		for (int i = 0; i < 4; i++)
			check_to_the_end(&whole, &zoom, some_time(&zoom));
		check_to_the_end(&whole, &zoom, 0);
		/* The reading in turn comes there: nothing of the parts is left. */
		zoom.live = false;
		assert_int_equal(ada_zoom_build(&zoom, 1), 0);
		check_to_the_end(&whole, &zoom, some_time(&zoom));
		check_a_part(&whole, &zoom);
		assert_int_equal(zoom.threads[0].ahead.count, 0);
		ada_zoom_close(&zoom);
		ada_zoom_close(&whole);
		known_free(known);
		fixture_teardown(state);
	}
}

/* A view of more leaves than may be read has some of them, the newest among them, and says which; what is asked of their calls is answered. */
static void test_some_leaves_of_a_wide_view(void **state)
{
	struct fixture *fixture = *state;
	struct known *known = synth_random(fixture->synth, 7, 1, 200000);
	struct ada_zoom_thread *thread;
	struct ada_zoom_picture picture;
	struct ada_zoom_view view = { SYNTH_START_NS, 0, 100, DEPTHS };
	struct ada_zoom zoom;
	uint64_t calls = 0, drawn = 0, events;
	ada_zoom_path path = {};

	seed = 7;
	fixture_open(fixture, true, NULL, NULL, NULL);
	open_read(&zoom, fixture, 5000);
	thread = &zoom.threads[0];
	view.to_ns = last_ns(&zoom) + 1;
	assert_int_equal(ada_zoom_ahead(thread, &view, 4, UINT64_MAX), 0);
	events = ada_zoom_ahead_events(thread, 5000, thread->thread->count);
	assert_true(events > 3 * ADA_ZOOM_LEAF && events < 12 * ADA_ZOOM_LEAF);
	assert_true(ada_zoom_part(thread, thread->thread->count - 1) != thread);
	assert_true(ada_zoom_part(thread, 4999) == thread);
	for (uint64_t i = 0; i < thread->thread->count; i++) {
		const struct ada_event *event = atf_thread_get(thread->thread->events, i);
		bool is_read = i < 5000 || ada_zoom_part(thread, i) != thread;

		if (event->event_kind != ADA_EVENT_CALL)
			continue;
		calls += is_read;
		if (some(100) == 0) {
			assert_int_equal(ada_zoom_path_at(&path, thread, i), is_read ? 0 : -ENOENT);
			assert_true(!is_read || path.items[path.count - 1].position == i);
		}
	}
	check_seeks(thread);
	assert_int_equal(ada_zoom_draw(&picture, thread, &view), 0);
	for (uint32_t depth = 0; depth < picture.depths; depth++)
		drawn += sums_of(&picture, depth).calls;
	assert_true(drawn >= calls &&
		    drawn <= calls + known->calls.count / 1000); /* and calls that began before a part, and are open there */
	ada_zoom_picture_free(&picture);
	ada_array_free(&path);
	ada_zoom_close(&zoom);
	known_free(known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pictures_ahead_are_those_of_the_whole),
		FIXTURE_TEST(test_some_leaves_of_a_wide_view),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

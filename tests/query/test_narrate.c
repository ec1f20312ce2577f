/* What narratives rest on: open calls from checkpoints, against a reading back to the beginning and against what is known. */
#include "fixture.h"
#include <stdlib.h>
#include "query/narrate/parts.h"
#include "synth_random.h"

#define STEP 65536 /* narrate_stack.c's */

static void check_same(struct ada_story *story, const struct ada_thread *thread, uint64_t position)
{
	struct ada_stack expected, found;

	assert_int_equal(ada_stack_at(&expected, thread, position), 0);
	assert_int_equal(ada_narrate_stack(story, &found, thread, position), 0);
	assert_int_equal(found.frames.count, expected.frames.count);
	for (size_t i = 0; i < found.frames.count; i++) {
		assert_int_equal(found.frames.items[i].position, expected.frames.items[i].position);
		assert_int_equal(found.frames.items[i].function_id, expected.frames.items[i].function_id);
		assert_int_equal(found.frames.items[i].start_ns, expected.frames.items[i].start_ns);
		assert_int_equal(found.frames.items[i].depth, expected.frames.items[i].depth);
	}
	ada_stack_close(&expected);
	ada_stack_close(&found);
}

static void test_stacks_of_a_random_session(void **state)
{
	struct fixture *fixture = *state;
	struct ada_story story = {};
	struct known *known = synth_random(fixture->synth, 5, 3, 900000);
	uint64_t number = 1, checked = 0;

	fixture_open(fixture, true, NULL, NULL, NULL);
	story.session = fixture->session;
	for (size_t i = 0; i < fixture->session->threads.count; i++) {
		const struct ada_thread *thread = &fixture->session->threads.items[i];

		/* Forwards and backwards, and on both sides of each checkpoint. */
		for (int j = 0; j < 100; j++) {
			number = number * 6364136223846793005ull + 1442695040888963407ull;
			check_same(&story, thread, (number >> 11) % (thread->count + 1));
		}
		for (uint64_t position = STEP; position <= thread->count; position += STEP)
			for (uint64_t near = position - 1; near <= position + 1 && near <= thread->count; near++, checked++)
				check_same(&story, thread, near);
	}
	assert_true(checked > 6);
	ada_narrate_close_tracks(&story);
	known_free(known);
}

/* Calls that left without a word, a loss, and a stack that is deeper than the checkpoints hold. */
static void test_stacks_out_of_order(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread;
	struct ada_story story = {};

	synth_process(fixture->synth, 7);
	synth_module(fixture->synth, "/bin/deep", (const char *const[]){ "a", "b", "c" }, 3);
	thread = synth_thread(fixture->synth, 7, "deep");
	for (uint32_t i = 0; i < 100000; i++) {
		synth_call(thread, i % 3);
		if (i % 1000 == 999)
			synth_event(thread, ADA_EVENT_CALL, 1, i / 2);
	}
	synth_lost(thread, 5, 50000);
	for (uint32_t i = 0; i < 100000; i++) {
		synth_call(thread, 2);
		synth_return(thread);
	}
	for (uint32_t i = 0; i < 50000; i++)
		synth_return(thread);
	fixture_open(fixture, true, NULL, NULL, NULL);
	story.session = fixture->session;
	for (uint64_t position = 0; position <= fixture->session->threads.items[0].count; position += 9973)
		check_same(&story, &fixture->session->threads.items[0], position);
	ada_narrate_close_tracks(&story);
}

static const struct ada_sentence *find(const struct ada_narrative *narrative, const char *kind)
{
	for (size_t i = 0; i < narrative->sections.count; i++)
		for (size_t j = 0; j < narrative->sections.items[i].sentences.count; j++)
			if (!strcmp(narrative->sections.items[i].sentences.items[j].kind, kind))
				return &narrative->sections.items[i].sentences.items[j];
	return NULL;
}

/* The same sentences, whatever the number of workers; each with evidence. */
static void test_workers(void **state)
{
	struct fixture *fixture = *state;
	struct known *known = synth_random(fixture->synth, 9, 6, 30000);
	struct ada_narrative first, again;
	struct ada_error error = {};

	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_int_equal(ada_narrate(&first, &fixture->selection, &(struct ada_narrate_options){ .workers = 1 }, &error), 0);
	assert_int_equal(ada_narrate(&again, &fixture->selection, &(struct ada_narrate_options){ .workers = 7 }, &error), 0);
	assert_int_equal(first.sections.count, again.sections.count);
	for (size_t i = 0; i < first.sections.count; i++) {
		assert_int_equal(first.sections.items[i].sentences.count, again.sections.items[i].sentences.count);
		for (size_t j = 0; j < first.sections.items[i].sentences.count; j++) {
			assert_string_equal(first.sections.items[i].sentences.items[j].text,
					    again.sections.items[i].sentences.items[j].text);
			assert_true(first.sections.items[i].sentences.items[j].evidence.count > 0);
		}
	}
	assert_non_null(find(&first, "thread"));
	assert_null(find(&first, "lost"));
	ada_narrative_free(&first);
	ada_narrative_free(&again);
	known_free(known);
}

/* More losses than are kept by their place. */
static void test_many_losses(void **state)
{
	struct fixture *fixture = *state;
	const struct ada_sentence *sentence;
	struct ada_narrative narrative;
	struct ada_error error = {};
	struct synth_thread *thread;

	synth_process(fixture->synth, 7);
	synth_module(fixture->synth, "/bin/lossy", (const char *const[]){ "a" }, 1);
	thread = synth_thread(fixture->synth, 7, "lossy");
	for (uint32_t i = 0; i < 5000; i++) {
		synth_call(thread, 0);
		synth_return(thread);
		synth_pass(thread, 10);
		synth_lost(thread, i == 4500 ? 77 : 2, 0);
	}
	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_int_equal(ada_narrate(&narrative, &fixture->selection, NULL, &error), 0);
	assert_int_equal(narrative.completeness.lost, 10075);
	sentence = find(&narrative, "lost");
	assert_non_null(sentence);
	assert_string_equal(sentence->text, "Thread 0 lost 10,075 events at 5,000 places, the most at one place at #13502: 77.");
	assert_string_equal(find(&narrative, "losses")->text, "10,075 events were lost.");
	ada_narrative_free(&narrative);
}

static void test_words(void **state)
{
	struct ada_session session = { .start_ns = 1000 };
	struct ada_story story = { .session = &session };
	char text[ADA_WORDS];

	assert_string_equal(ada_format_grouped(0, text), "0");
	assert_string_equal(ada_format_grouped(999, text), "999");
	assert_string_equal(ada_format_grouped(1000, text), "1,000");
	assert_string_equal(ada_format_grouped(UINT64_MAX, text), "18,446,744,073,709,551,615");
	assert_string_equal(ada_words_time(&story, 1000, text), "+0.000000000s");
	assert_string_equal(ada_words_time(&story, 3500001000, text), "+3.500000000s");
	assert_string_equal(ada_words_time(&story, 0, text), "+0.000000000s");
	assert_string_equal(ada_words_signal(11, text), "SIGSEGV");
	assert_string_equal(ada_words_signal(999, text), "signal 999");
	assert_string_equal(ada_words_percent(0.05034, text), "5.03 %");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_stacks_of_a_random_session),
		FIXTURE_TEST(test_stacks_out_of_order),
		FIXTURE_TEST(test_workers),
		FIXTURE_TEST(test_many_losses),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

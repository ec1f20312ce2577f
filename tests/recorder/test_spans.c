/* Words of many flips, read and written by the page: in this process's own memory. */
#include "../test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "recorder/budget/spans.h"

#define PAGES 3
#define PAGE 4096

/* Each look at the clock takes a nanosecond. */
static uint64_t now_ns;

uint64_t __wrap_ada_clock_boottime_ns(void);
uint64_t __wrap_ada_clock_boottime_ns(void)
{
	return now_ns++;
}

struct fixture {
	int memory;
	uint8_t *text;
	struct ada_words words[3];
	struct ada_flip flips[3];
	struct ada_spans spans;
};

static void add_word(struct ada_words *words, uint8_t *at, uint32_t bytes, uint8_t in, uint8_t out)
{
	struct ada_word word = { .at = (uint64_t)at, .bytes = bytes };

	memset(word.in, in, bytes);
	memset(word.out, out, bytes);
	memset(at, in, bytes);
	assert_int_equal(ada_array_push(&words->items, word), 0);
}

/* The first has words in two pages, the second some between these, the third one in a page of its own. */
static int set_up(void **state)
{
	static struct fixture fixture;

	fixture.memory = open("/proc/self/mem", O_RDWR);
	fixture.text = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(fixture.words, 0, sizeof fixture.words);
	memset(fixture.text, 0x90, PAGES * PAGE);
	add_word(&fixture.words[0], fixture.text + 100, 5, 1, 2);
	add_word(&fixture.words[0], fixture.text + PAGE, 4, 1, 2);
	add_word(&fixture.words[0], fixture.text + 4000, 4, 1, 2);
	add_word(&fixture.words[1], fixture.text + 200, 2, 3, 4);
	add_word(&fixture.words[1], fixture.text + PAGE + 512, 8, 3, 4);
	add_word(&fixture.words[2], fixture.text + 2 * PAGE, 4, 5, 6);
	for (size_t i = 0; i < 3; i++)
		fixture.flips[i] = (struct ada_flip){ .words = &fixture.words[i], .out = true };
	assert_int_equal(ada_spans_open(&fixture.spans, getpid(), fixture.memory, fixture.flips, 3), 0);
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	ada_spans_close(&fixture->spans);
	for (size_t i = 0; i < 3; i++)
		ada_array_free(&fixture->words[i].items);
	munmap(fixture->text, PAGES * PAGE);
	close(fixture->memory);
	return 0;
}

static bool are(const struct fixture *fixture, size_t number, bool out)
{
	for (size_t i = 0; i < fixture->words[number].items.count; i++) {
		const struct ada_word *word = &fixture->words[number].items.items[i];

		if (memcmp((const void *)word->at, out ? word->out : word->in, word->bytes))
			return false;
	}
	return true;
}

static void change(struct fixture *fixture)
{
	ada_spans_read(&fixture->spans, fixture->flips, 3, UINT64_MAX);
	ada_spans_write(&fixture->spans, fixture->flips, 3, UINT64_MAX);
}

static void words_of_a_page_are_one_span(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(fixture->spans.items.count, 4); /* two pages, a slot, a page */
	change(fixture);
	for (size_t i = 0; i < 3; i++)
		assert_true(!fixture->flips[i].status && are(fixture, i, true));
	for (size_t i = 0; i < PAGES * PAGE; i++)
		assert_true(fixture->text[i] == 0x90 || (fixture->text[i] % 2 == 0 && fixture->text[i] <= 6));
}

static void whose_words_are_not_there_stays(void **state)
{
	struct fixture *fixture = *state;

	fixture->text[PAGE + 1] = 0xcc; /* a debugger's */
	change(fixture);
	assert_int_equal(fixture->flips[0].status, -ESTALE);
	assert_true(!fixture->flips[1].status && are(fixture, 1, true) && are(fixture, 2, true));
	assert_true(fixture->text[100] == 1 && fixture->text[4000] == 1 && fixture->text[PAGE + 1] == 0xcc);
}

static void a_page_that_has_gone_concerns_its_own_only(void **state)
{
	struct fixture *fixture = *state;

	munmap(fixture->text + PAGE, PAGE);
	change(fixture);
	assert_true(fixture->flips[0].status == -ESTALE && fixture->flips[1].status == -ESTALE && !fixture->flips[2].status);
	assert_true(fixture->text[100] == 1 && fixture->text[200] == 3 && are(fixture, 2, true));
}

static void without_time_nothing_changes(void **state)
{
	struct fixture *fixture = *state;

	ada_spans_read(&fixture->spans, fixture->flips, 3, 0);
	ada_spans_write(&fixture->spans, fixture->flips, 3, UINT64_MAX);
	for (size_t i = 0; i < 3; i++)
		assert_true(fixture->flips[i].status == -EAGAIN && !fixture->flips[i].done && are(fixture, i, false));
}

/* What has its form, of each; what says that it is done is. */
static void check_cut(const struct fixture *fixture, bool out)
{
	for (size_t i = 0; i < 3; i++) {
		const struct ada_flip *flip = &fixture->flips[i];

		assert_true(!flip->status == (flip->done == flip->words->items.count) && (!flip->status || flip->status == -EAGAIN));
		for (size_t k = 0; k < flip->done; k++) {
			const struct ada_word *word = &flip->words->items.items[k];

			assert_memory_equal((const void *)word->at, out ? word->out : word->in, word->bytes);
		}
	}
}

/* Stops whose time is used up after so many looks at the clock: each goes on where the one before was cut. Returns how many it took. */
static unsigned change_in_stops(struct fixture *fixture, bool out, uint64_t reads, uint64_t writes)
{
	unsigned stops = 0;
	bool done = false;

	for (size_t i = 0; i < 3; i++)
		fixture->flips[i] = (struct ada_flip){ .words = &fixture->words[i], .out = out };
	for (; !done; stops++) {
		assert_true(stops < 100);
		ada_spans_close(&fixture->spans);
		assert_int_equal(ada_spans_open(&fixture->spans, getpid(), fixture->memory, fixture->flips, 3), 0);
		ada_spans_read(&fixture->spans, fixture->flips, 3, reads == UINT64_MAX ? reads : now_ns + reads);
		ada_spans_write(&fixture->spans, fixture->flips, 3, now_ns + writes);
		check_cut(fixture, out);
		done = true;
		for (size_t i = 0; i < 3; i++) {
			done &= !fixture->flips[i].status;
			fixture->flips[i].first = fixture->flips[i].done;
			fixture->flips[i].status = 0;
		}
	}
	return stops;
}

/* Four spans, of which each takes one look at the clock. */
static void a_stop_is_cut_when_its_time_is_used_up(void **state)
{
	struct fixture *fixture = *state;

	for (uint64_t writes = 1; writes < 6; writes++)
		for (int out = 1; out >= 0; out--) {
			assert_int_equal(change_in_stops(fixture, out, UINT64_MAX, writes), writes < 4 ? (4 + writes - 1) / writes : 1);
			for (size_t i = 0; i < 3; i++)
				assert_true(are(fixture, i, out));
		}
	for (size_t i = 0; i < PAGES * PAGE; i++)
		assert_true(fixture->text[i] == 0x90 || (fixture->text[i] % 2 == 1 && fixture->text[i] <= 5));
}

/* However many functions there are: so many writes a stop, and no function says that it is done before it is. */
static void a_thousand_functions_take_as_many_stops_as_they_need(void **state)
{
	enum { FUNCTIONS = 1000, WRITES = 64 };
	struct fixture *fixture = *state;
	struct ada_words *words = calloc(FUNCTIONS, sizeof *words);
	struct ada_flip *flips = calloc(FUNCTIONS, sizeof *flips);
	uint8_t *text = mmap(NULL, (size_t)FUNCTIONS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t done = 0, stops = 0;

	for (size_t i = 0; i < FUNCTIONS; i++) {
		add_word(&words[i], text + i * PAGE, 5, 1, 2);
		flips[i] = (struct ada_flip){ .words = &words[i], .out = true };
	}
	for (; done < FUNCTIONS; stops++) {
		struct ada_spans spans;
		uint64_t from_ns;
		size_t before = done;

		assert_int_equal(ada_spans_open(&spans, getpid(), fixture->memory, flips + done, FUNCTIONS - done), 0);
		ada_spans_read(&spans, flips + done, FUNCTIONS - done, UINT64_MAX);
		from_ns = now_ns;
		ada_spans_write(&spans, flips + done, FUNCTIONS - done, now_ns + WRITES);
		assert_true(now_ns - from_ns <= WRITES + 1);
		for (; done < FUNCTIONS && !flips[done].status; done++)
			assert_int_equal(text[done * PAGE], 2);
		assert_true(done == FUNCTIONS || done - before == WRITES);
		for (size_t i = done; i < FUNCTIONS; i++) {
			assert_true(text[i * PAGE] == 1 && flips[i].status == -EAGAIN && !flips[i].done);
			flips[i].status = 0;
		}
		ada_spans_close(&spans);
	}
	assert_int_equal(stops, (FUNCTIONS + WRITES - 1) / WRITES);
	for (size_t i = 0; i < FUNCTIONS; i++)
		ada_array_free(&words[i].items);
	munmap(text, (size_t)FUNCTIONS * PAGE);
	free(words);
	free(flips);
}

/* What is shared, and not to be written, can't be forced. */
static void where_one_cannot_be_written_none_is(void **state)
{
	struct fixture *fixture = *state;
	int file = memfd_create("spans", 0);

	assert_int_equal(pwrite(file, fixture->text + 2 * PAGE, PAGE, 0), PAGE);
	assert_ptr_equal(mmap(fixture->text + 2 * PAGE, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0), fixture->text + 2 * PAGE);
	close(file);
	change(fixture);
	for (size_t i = 0; i < 3; i++)
		assert_true(fixture->flips[i].status < 0 && are(fixture, i, false));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(words_of_a_page_are_one_span, set_up, tear_down),
		cmocka_unit_test_setup_teardown(whose_words_are_not_there_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_page_that_has_gone_concerns_its_own_only, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_time_nothing_changes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_stop_is_cut_when_its_time_is_used_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_thousand_functions_take_as_many_stops_as_they_need, set_up, tear_down),
		cmocka_unit_test_setup_teardown(where_one_cannot_be_written_none_is, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

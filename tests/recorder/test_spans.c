/* Words of many flips, read and written by the page: in this process's own memory. */
#include "../test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "recorder/budget/spans.h"

#define PAGES 3
#define PAGE 4096

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
	ada_spans_write(&fixture->spans, fixture->flips, 3);
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
	ada_spans_write(&fixture->spans, fixture->flips, 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(fixture->flips[i].status == -EAGAIN && are(fixture, i, false));
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
		cmocka_unit_test_setup_teardown(where_one_cannot_be_written_none_is, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

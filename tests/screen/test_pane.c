/* src/cli/screen/pane.c: which row is chosen, and which one is on top. */
#include "cli/screen/pane.h"
#include "cli/screen/keys.h"
#include "../test.h"

static void expect(const struct ada_pane *pane, uint64_t cursor, uint64_t top)
{
	assert_int_equal(pane->cursor, cursor);
	assert_int_equal(pane->top, top);
}

static struct ada_pane of(uint64_t count, uint64_t height)
{
	struct ada_pane pane = {};

	ada_pane_fit(&pane, count, height);
	return pane;
}

static void test_lines(void **state)
{
	struct ada_pane pane = of(5, 3);

	assert_true(ada_pane_key(&pane, 'k'));
	expect(&pane, 0, 0);
	for (int i = 0; i < 3; i++)
		assert_true(ada_pane_key(&pane, i == 1 ? ADA_KEY_DOWN : 'j'));
	expect(&pane, 3, 1);
	for (int i = 0; i < 3; i++)
		ada_pane_key(&pane, 'j');
	expect(&pane, 4, 2);
	ada_pane_key(&pane, ADA_KEY_UP);
	ada_pane_key(&pane, 'k');
	expect(&pane, 2, 2);
	ada_pane_key(&pane, 'k');
	expect(&pane, 1, 1);
}

static void test_pages(void **state)
{
	struct ada_pane pane = of(100, 10);

	ada_pane_move(&pane, 3);
	ada_pane_key(&pane, ADA_KEY_PAGE_DOWN);
	expect(&pane, 13, 10);
	ada_pane_key(&pane, ADA_KEY_CONTROL('D'));
	expect(&pane, 18, 15);
	ada_pane_key(&pane, ADA_KEY_CONTROL('U'));
	ada_pane_key(&pane, ADA_KEY_CONTROL('B'));
	expect(&pane, 3, 0);
	ada_pane_key(&pane, ADA_KEY_PAGE_UP);
	expect(&pane, 0, 0);
	ada_pane_key(&pane, 'G');
	expect(&pane, 99, 90);
	ada_pane_key(&pane, ADA_KEY_CONTROL('F'));
	expect(&pane, 99, 90);
	ada_pane_key(&pane, ADA_KEY_HOME);
	expect(&pane, 0, 0);
	assert_false(ada_pane_key(&pane, 'x'));
}

static void test_the_list_and_the_screen_change(void **state)
{
	struct ada_pane pane = of(100, 10);

	ada_pane_key(&pane, ADA_KEY_END);
	ada_pane_fit(&pane, 20, 10);
	expect(&pane, 19, 10);
	ada_pane_fit(&pane, 20, 4);
	expect(&pane, 19, 16);
	ada_pane_fit(&pane, 20, 40);
	expect(&pane, 19, 0);
	ada_pane_fit(&pane, 0, 0);
	expect(&pane, 0, 0);
	ada_pane_key(&pane, 'j');
	ada_pane_key(&pane, 'G');
	expect(&pane, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_the_list_and_the_screen_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

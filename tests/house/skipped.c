/* For test_tools.py: one test that is skipped, and one that isn't. */
#include "../test.h"

static void skipped(void **unused)
{
	test_skip("needs another world");
}

static void passed(void **unused)
{
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(skipped), cmocka_unit_test(passed) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What is found in a file counts once the file has been read whole: one that shrinks meanwhile is looked at again. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../test.h"
#include "base/fault.h"
#include "query/verify/verify.h"

#define PAGE 4096

static unsigned int passed_on, failed;

static void found(void *context, const struct ada_finding *finding)
{
	(void)context;
	passed_on++;
	failed += !finding->ok;
}

/* Reads behind the end of a file that is cut while it is mapped. */
static void read_cut(void)
{
	FILE *file = tmpfile();
	const volatile uint8_t *bytes;

	ada_fault_catch(); /* each time: cmocka has a handler of its own */
	assert_int_equal(ftruncate(fileno(file), 2 * PAGE), 0);
	bytes = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fileno(file), 0);
	assert_true(bytes != MAP_FAILED);
	assert_int_equal(ftruncate(fileno(file), PAGE), 0);
	assert_int_equal(bytes[PAGE], 0);
	munmap((void *)bytes, 2 * PAGE);
	fclose(file);
}

/* Looks at a file that shrinks `cuts` times, and finds something wrong each time but the last. Returns how often it looked. */
static unsigned int look(unsigned int cuts)
{
	struct ada_verify verify = { .found = found };
	struct ada_verify_file file = { .verify = &verify, .file = "index.0.atf" };
	unsigned int looks = 0;

	passed_on = failed = 0;
	do {
		ada_verify_file_begin(&file);
		if (looks < cuts)
			read_cut();
		ada_verify_file_found(&file, "times", looks >= cuts, "fall");
		ada_verify_file_found(&file, "size", true, "");
		looks++;
	} while (ada_verify_file_again(&file));
	return looks;
}

static void what_is_read_whole_is_passed_on(void **state)
{
	assert_int_equal(look(0), 1);
	assert_int_equal(passed_on, 2);
	assert_int_equal(failed, 0);
}

static void what_was_found_while_it_shrank_is_forgotten(void **state)
{
	assert_int_equal(look(3), 4);
	assert_int_equal(passed_on, 2);
	assert_int_equal(failed, 0);
	assert_int_equal(ada_fault_address(), 0);
}

/* Last: the first fault that nobody holds stays the answer's. */
static void one_that_always_shrinks_is_told(void **state)
{
	assert_int_equal(look(1000), 9);
	assert_int_equal(passed_on, 2);
	assert_true(ada_fault_address() != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_read_whole_is_passed_on),
		cmocka_unit_test(what_was_found_while_it_shrank_is_forgotten),
		cmocka_unit_test(one_that_always_shrinks_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

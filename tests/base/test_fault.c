/* Files that shrink while they are mapped. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../test.h"
#include "base/fault.h"

#define PAGE 4096

/* Two pages of a file that has but one of them any more. */
static const volatile uint8_t *map_cut(void)
{
	FILE *file = tmpfile();
	int fd = fileno(file);
	uint8_t *bytes;

	ada_fault_catch(); /* each time: cmocka has a handler of its own */
	assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
	bytes = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(bytes != MAP_FAILED);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	fclose(file);
	return bytes;
}

/* First, while no other fault was seen: the first one is what the address is of. */
static void held_ones_are_told_to_whoever_holds(void **state)
{
	const volatile uint8_t *bytes = map_cut();

	ada_fault_hold();
	assert_int_equal(bytes[PAGE], 0);
	assert_true(ada_fault_release());
	assert_int_equal(ada_fault_address(), 0);
	ada_fault_hold();
	assert_int_equal(bytes[0], 0);
	assert_false(ada_fault_release());
}

static void others_are_kept_for_the_answer(void **state)
{
	const volatile uint8_t *bytes = map_cut();

	assert_int_equal(bytes[PAGE + 5], 0);
	assert_int_equal(ada_fault_address(), (uintptr_t)bytes + PAGE + 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(held_ones_are_told_to_whoever_holds),
					    cmocka_unit_test(others_are_kept_for_the_answer) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

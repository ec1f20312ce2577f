/* What every C test includes: cmocka with what it needs before it. */
#ifndef ADA_TESTS_TEST_H
#define ADA_TESTS_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Ends the test, not its set-up. The reason is told by tools/sum-tests. */
void test_skip(const char *reason);
#endif

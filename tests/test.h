/* What every C test includes: cmocka with what it needs before it. */
#ifndef ADA_TESTS_TEST_H
#define ADA_TESTS_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#endif

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/seal.h"
#include "../test.h"

static char path[] = "/tmp/ada-test-seal-XXXXXX";

static enum ada_seal check(const char *text, size_t length)
{
	uint32_t says, is;

	return ada_seal_check(text, length, &says, &is);
}

static char *sealed(const char *text, size_t *length)
{
	char *bytes = NULL;

	assert_int_equal(ada_seal_replace(path, text, strlen(text), NULL), 0);
	assert_int_equal(ada_file_read(path, &bytes, length, NULL), 0);
	return bytes;
}

static void test_every_change_shows(void **state)
{
	size_t length;
	char *text = sealed("{\n  \"format\": \"ada\",\n  \"count\": 7\n}", &length);

	assert_memory_equal(text, "{\n  \"checksum\": \"", 17);
	assert_string_equal(text + 25, "\",\n  \"format\": \"ada\",\n  \"count\": 7\n}");
	assert_int_equal(check(text, length), ADA_SEAL_SOUND);
	for (size_t at = 0; at < length; at++)
		for (int change = 1; change < 256; change++) {
			text[at] = (char)(text[at] ^ change);
			assert_int_equal(check(text, length), ADA_SEAL_BROKEN);
			text[at] = (char)(text[at] ^ change);
		}
	for (size_t shorter = 9; shorter < length; shorter++)
		assert_int_equal(check(text, shorter), ADA_SEAL_BROKEN);
	free(text);
}

/* What was read, changed and is written again: whatever spaces its writer likes. */
static void test_again(void **state)
{
	static const char *const olds[] = { "{\n  \"checksum\": \"00c0ffee\",\n  \"a\": 1 }", "{\"checksum\":\"00c0ffee\",\"a\": 1 }",
					    "  { \"checksum\" : \"00c0ffee\" , \"a\": 1 }", "{ \"a\": 1 }" };
	size_t length, expected_length;
	char *expected = sealed("{\"a\": 1 }", &expected_length);

	for (size_t i = 0; i < sizeof olds / sizeof *olds; i++) {
		char *text = sealed(olds[i], &length);

		assert_string_equal(text, expected);
		free(text);
	}
	free(expected);
}

static void test_alone(void **state)
{
	size_t length;
	char *text = sealed("{}", &length), *again = sealed(text, &length);

	assert_string_equal(again, text);
	assert_int_equal(check(again, length), ADA_SEAL_SOUND);
	assert_string_equal(again + 25, "\"\n}");
	free(text);
	free(again);
}

static void test_no_object(void **state)
{
	static const char *const texts[] = { "", "[]", "{", "  ", "null" };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_int_equal(ada_seal_replace(path, texts[i], strlen(texts[i]), NULL), -EINVAL);
}

/* Files of earlier versions, and what isn't ours at all. */
static void test_none(void **state)
{
	static const char *const texts[] = {
		"", "{", "{}", "{\n  \"format\": \"ada-manifest\",\n  \"version\": 1\n}", "{\"checksum\": \"\"}", "no JSON whatever it is"
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_int_equal(check(texts[i], strlen(texts[i])), ADA_SEAL_NONE);
}

static int setup(void **state)
{
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_change_shows), cmocka_unit_test(test_again), cmocka_unit_test(test_alone),
		cmocka_unit_test(test_no_object),	   cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

/* Files of rules, and the nearest names. */
#include "rules.h"
#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/ada-test-lines-XXXXXX";

static void write_file(const char *bytes, size_t length)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

static void lines(void **state)
{
	static const char text[] = "symbol=malloc\n\n  # of nights\n\t time=22:00-06:00@label=#1 \r\n#crash\ncrash";
	static const char *const rules[] = { "symbol=malloc", "time=22:00-06:00@label=#1", "crash" };
	static const unsigned numbers[] = { 1, 4, 6 };
	struct ada_trigger_lines all = { 0 };
	struct ada_error error = { "" };
	char origin[64];

	write_file(text, strlen(text));
	assert_int_equal(ada_trigger_file(&all, path, &error), 0);
	assert_int_equal(all.texts.count, 3);
	assert_int_equal(all.origins.count, 3);
	for (size_t i = 0; i < 3; i++) {
		snprintf(origin, sizeof origin, "%s:%u", path, numbers[i]);
		assert_string_equal(all.texts.items[i], rules[i]);
		assert_string_equal(all.origins.items[i], origin);
	}
	/* A second file goes behind. */
	assert_int_equal(ada_trigger_file(&all, path, &error), 0);
	assert_int_equal(all.texts.count, 6);
	ada_trigger_lines_free(&all);
	assert_int_equal(all.texts.count, 0);
}

static void bad_files(void **state)
{
	struct ada_trigger_lines all = { 0 };
	struct ada_error error = { "" };

	write_file("", 0);
	assert_int_equal(ada_trigger_file(&all, path, &error), 0);
	assert_int_equal(all.texts.count, 0);
	write_file("a\0b", 3);
	assert_int_equal(ada_trigger_file(&all, path, &error), -EINVAL);
	assert_non_null(strstr(error.text, "zero byte"));
	error.text[0] = '\0';
	assert_int_equal(ada_trigger_file(&all, "/nonexistent/rules", &error), -ENOENT);
	assert_non_null(strstr(error.text, "/nonexistent/rules"));
	error.text[0] = '\0';
	assert_int_equal(ada_trigger_file(&all, "/tmp", &error), -EISDIR);
	ada_trigger_lines_free(&all);
}

static void nearest_is(const char *wanted, const char *const *names, const char *expected)
{
	struct ada_nearest *nearest = ada_nearest_open(wanted);
	char text[256];

	for (size_t i = 0; names[i]; i++)
		ada_nearest_offer(nearest, names[i]);
	ada_nearest_text(nearest, text, sizeof text);
	ada_nearest_close(nearest);
	assert_string_equal(text, expected);
}

static void nearest_names(void **state)
{
	static const char *const names[] = { "malloc",
					     "calloc",
					     "free",
					     "realloc",
					     "malloc",
					     "processImage",
					     "process_image",
					     "processImages",
					     "processIma",
					     "",
					     "a",
					     "an_extremely_long_name_that_is_longer_than_what_is_compared_at_all_of_sixty_three",
					     NULL };

	nearest_is("mallc", names, "malloc");
	nearest_is("mlaloc", names, "malloc");
	nearest_is("xalloc", names, "malloc, calloc");
	nearest_is("MALLOC", names, "malloc");
	nearest_is("processImag", names, "processImage, processIma");
	nearest_is("proccessImmage", names, "processImage, process_image, processImages");
	nearest_is("something", names, "");
	nearest_is("", names, "a");
	nearest_is("an_extremely_long_name_that_is_longer_than_what_is_compared_at_all_of_sixty_three", names, "");
}

/* 100,000 names take no time worth speaking of: the test's own time limit would tell. */
static void many_names(void **state)
{
	struct ada_nearest *nearest = ada_nearest_open("function_77777");
	char name[64], text[256], small[12];

	for (unsigned i = 0; i < 100000; i++) {
		snprintf(name, sizeof name, "function_%05u%s", i, i == 77777 ? "x" : "");
		ada_nearest_offer(nearest, name);
	}
	ada_nearest_text(nearest, text, sizeof text);
	assert_true(strncmp(text, "function_77776, function_77775", 9) == 0);
	assert_non_null(strstr(text, ", "));
	ada_nearest_text(nearest, small, sizeof small);
	assert_int_equal(strlen(small), sizeof small - 1);
	ada_nearest_text(nearest, small, 0);
	ada_nearest_close(nearest);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(lines), cmocka_unit_test(bad_files), cmocka_unit_test(nearest_names),
					    cmocka_unit_test(many_names) };
	int fd = mkstemp(path), failed;

	if (fd < 0)
		return EXIT_FAILURE;
	close(fd);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}

/* docs/man/ada-triggers.7: its examples are rules, and every kind and option has one. */
#include "rules.h"
#include <stdlib.h>
#include <unistd.h>
#include "base/file.h"

static const char *page;
static struct ada_trigger_lines lines;

/* roff's escapes of what stands for itself in a rule. */
static void unescape(char *line)
{
	static const struct {
		const char *escape, *text;
	} escapes[] = { { "\\-", "-" }, { "\\(aq", "'" } };

	for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
		for (char *at; (at = strstr(line, escapes[i].escape));) {
			size_t length = strlen(escapes[i].escape);

			*at = escapes[i].text[0];
			memmove(at + 1, at + length, strlen(at + length) + 1);
		}
}

static int read_examples(void **state)
{
	struct ada_error error = { "" };
	char path[] = "/tmp/ada-test-page-XXXXXX", *bytes, *start, *end;
	size_t length;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(ada_file_read(page, &bytes, &length, &error), 0);
	start = strstr(bytes, "\n.EX\n");
	assert_non_null(start);
	end = strstr(start, "\n.EE\n");
	assert_non_null(end);
	end[1] = '\0';
	unescape(start);
	assert_int_equal(ada_file_write_all(fd, start + 5, strlen(start + 5)), 0);
	assert_int_equal(ada_trigger_file(&lines, path, &error), 0);
	unlink(path);
	close(fd);
	free(bytes);
	return 0;
}

static int drop_examples(void **state)
{
	ada_trigger_lines_free(&lines);
	return 0;
}

static void examples_are_rules(void **state)
{
	bool kinds[ADA_RULE_MANUAL + 1] = { false }, options[8] = { false };

	assert_true(lines.texts.count > 30);
	for (size_t i = 0; i < lines.texts.count; i++) {
		struct ada_trigger *trigger = good(lines.texts.items[i]);
		const bool has[8] = { trigger->nocase, trigger->pre_given, trigger->post_given,	 trigger->limit,
				      trigger->after,  trigger->every,	   trigger->over > 1000, trigger->label };

		kinds[trigger->kind] = true;
		for (size_t j = 0; j < 8; j++)
			options[j] |= has[j];
		ada_trigger_free(trigger);
	}
	for (int kind = ADA_RULE_SYMBOL; kind <= ADA_RULE_MANUAL; kind++)
		if (!kinds[kind] && kind != ADA_RULE_SPAN_BEGIN) /* the second form of a SPAN */
			fail_msg("no example of kind %d", kind);
	for (size_t j = 0; j < 8; j++)
		if (!options[j])
			fail_msg("no example of option %zu", j);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(examples_are_rules) };

	if (count != 2)
		return EXIT_FAILURE;
	page = arguments[1];
	return cmocka_run_group_tests(tests, read_examples, drop_examples);
}

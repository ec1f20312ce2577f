/* Parsing a rule in a test: what it becomes, or what is said of it. */
#ifndef ADA_TESTS_TRIGGER_RULES_H
#define ADA_TESTS_TRIGGER_RULES_H
#include "../test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "trigger/trigger.h"

static inline void note_warning(void *context, const char *text)
{
	snprintf(context, 512, "%s", text);
}

/* A rule that has to be understood, without a warning. */
static inline struct ada_trigger *good(const char *text)
{
	struct ada_error error = { "" };
	struct ada_trigger *trigger;
	char warning[512] = "";
	int status = ada_trigger_parse(&trigger, text, false, note_warning, warning, &error);

	if (status)
		fail_msg("%s: %s", text, error.text);
	assert_string_equal(warning, "");
	assert_non_null(trigger);
	assert_string_equal(trigger->text, text);
	return trigger;
}

/* A rule that has to be refused with this message. */
static inline void refused(const char *text, const char *message)
{
	struct ada_error error = { "" };
	struct ada_trigger *trigger = NULL;
	int status = ada_trigger_parse(&trigger, text, true, NULL, NULL, &error);

	if (status != -EINVAL || strcmp(error.text, message) != 0)
		fail_msg("%s\n  should be refused: %s\n  but status is %d: %s", text, message, status, error.text);
	assert_null(trigger);
}

static inline void pattern_is(const struct ada_trigger *trigger, size_t i, enum ada_pattern_kind kind, const char *text)
{
	assert_true(i < trigger->patterns.count);
	assert_int_equal(trigger->patterns.items[i].kind, kind);
	assert_string_equal(trigger->patterns.items[i].text, text);
}
#endif

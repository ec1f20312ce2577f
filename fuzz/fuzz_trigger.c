/* Rules: any text is a rule, or an error of one line that names a character of it. What is a rule makes an agent's rule that
 * keeps its bounds, matches names without trouble, and is the same rule when its text is read again. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "trigger/trigger.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void check_warning(void *context, const char *text)
{
	assert(strncmp(text, "at character ", 13) == 0 && !strchr(text, '\n'));
	++*(unsigned *)context;
}

static void check_error(const char *text, const struct ada_error *error)
{
	size_t character = 0;

	assert(sscanf(error->text, "at character %zu: ", &character) == 1);
	assert(character >= 1 && character <= strlen(text) + 1);
	assert(!strchr(error->text, '\n'));
}

static void check_rule(const struct ada_trigger *trigger)
{
	static const char *const mangled[] = { "main", "_ZN3foo3barEi", "memcpy@@GLIBC_2.14", "", "_Z" };
	const struct ada_rolls rolls = { 1000, 2, 3000, 4 };
	struct ada_names names;
	struct ada_rule rule;
	int flags = ada_trigger_flags(trigger);

	assert(trigger->kind >= ADA_RULE_SYMBOL && trigger->kind <= ADA_RULE_MANUAL);
	assert(trigger->kind_text && trigger->pattern_text);
	assert((flags != 0) == (trigger->patterns.count != 0));
	for (int type = ADA_VALUE_I64; type <= ADA_VALUE_F32; type++) {
		ada_trigger_rule(trigger, 3.1, &rolls, (enum ada_value_type)type, &rule);
		assert(rule.kind == trigger->kind && rule.type <= ADA_VALUE_F32 && rule.op <= ADA_OP_GT && rule.argument <= 6);
		assert(rule.over <= ADA_SAMPLE_BYTES * 8 && memchr(rule.name, '\0', sizeof rule.name));
		assert(!(rule.flags & ADA_RULE_GLOBAL) == (trigger->patterns.count != 0));
	}
	for (size_t i = 0; i < sizeof mangled / sizeof *mangled; i++) {
		ada_names_open(&names, mangled[i], NULL);
		ada_trigger_sides(trigger, &names);
		ada_names_close(&names);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct ada_error error = { "" }, strict_error = { "" };
	struct ada_trigger *trigger, *strict;
	char text[512];
	unsigned warnings = 0;
	int status, strict_status;

	if (length >= sizeof text)
		return 0;
	if (length)
		memcpy(text, bytes, length);
	text[length] = '\0';
	status = ada_trigger_parse(&trigger, text, false, check_warning, &warnings, &error);
	strict_status = ada_trigger_parse(&strict, text, true, NULL, NULL, &strict_error);
	assert(status == 0 || status == -EINVAL);
	assert((trigger != NULL) == (status == 0));
	if (status)
		check_error(text, &error);
	if (strict_status)
		check_error(text, &strict_error);
	assert(status || !strict_status == !warnings);
	if (trigger)
		check_rule(trigger);
	ada_trigger_free(trigger);
	ada_trigger_free(strict);
	return 0;
}

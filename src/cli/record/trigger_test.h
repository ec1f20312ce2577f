/* `ada trigger test`: a rule replayed over a stored session, printed as rows. */
#ifndef ADA_CLI_TRIGGER_TEST_H
#define ADA_CLI_TRIGGER_TEST_H
#include "cli/ground/options.h"

struct ada_trigger_test {
	const char *command;
	const struct ada_options *options;
	const char *rule;
};
int ada_trigger_test(const struct ada_trigger_test *test); /* the exit status */
#endif

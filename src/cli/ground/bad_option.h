/* What is wrong with an option that getopt refused. */
#ifndef ADA_CLI_BAD_OPTION_H
#define ADA_CLI_BAD_OPTION_H
#include <argp.h>

/* Says it in one line, with the nearest options, and ends the program. `argv` NULL-terminated, as of argp_parse; `next`: the word at which
 * getopt would have gone on. */
void ada_bad_option_fail(const struct argp *argp, char **argv, int next) __attribute__((noreturn));
#endif

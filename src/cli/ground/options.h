/* What the commands' options have in common: how they fail, and the options of every command that reads a session. */
#ifndef ADA_CLI_OPTIONS_H
#define ADA_CLI_OPTIONS_H
#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/output.h"

/* argp_parse, but bad options end the program with one line on stderr and status 125. */
void ada_options_parse(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input);
/* For a parser: one line, "ada COMMAND: MESSAGE", and status 125. */
void ada_options_fail(const struct argp_state *state, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

#define ADA_LATEST "ada_traces/latest" /* the session where the user names none */

/* Options of the reading commands. As a child of a command's own parser, each expects its struct as input. */
struct ada_reading {
	const char *session; /* SESSION as given; NULL: ADA_LATEST */
	enum ada_format format;
};
extern const struct argp ada_reading_argp; /* --format, SESSION */
/* The parser of a command whose input is a struct ada_reading, and that has no option of its own. */
error_t ada_reading_parse(int key, char *argument, struct argp_state *state);

struct ada_narrowing {
	const char *thread, *from, *to; /* as given: their meaning depends on the session */
	const char *clock;		/* of from and to, and of the times in the answer; NULL: boot */
	bool in_window;			/* only window `window` */
	uint64_t window;
	uint64_t limit; /* rows; UINT64_MAX: all */
};
#define ADA_CLOCK_OPTION                                                                                                                   \
	{                                                                                                                                  \
		"clock", ADA_OPTION_CLOCK, "CLOCK", 0, "of the times given and shown: boot (default), wall or a name of `ada anchor`", 0   \
	}
enum { ADA_OPTION_CLOCK = 0x1800 };
extern const struct argp ada_cut_argp;	     /* --thread --from --to --clock --window */
extern const struct argp ada_narrowing_argp; /* these and --limit */
#endif

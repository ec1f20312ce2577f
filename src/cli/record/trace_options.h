/* The options of `ada trace`: from words to struct ada_trace_options. */
#ifndef ADA_CLI_TRACE_OPTIONS_H
#define ADA_CLI_TRACE_OPTIONS_H
#include <argp.h>
#include "base/array.h"
#include "recorder/recorder.h"

struct ada_trace_words {
	struct ada_trace_options *options;
	struct ada_error error;
	const char *stack_bytes, *no_detail; /* as given, to find contradictions with other options */
	const char *on_window;		     /* --on-window; NULL: not given */
	bool stack_off;			     /* --detail=regs */
	ADA_ARRAY(char *) owned;	     /* lines of trigger files, and where they stand */
};

/* Sets the defaults. */
void ada_trace_words_open(struct ada_trace_words *words, struct ada_trace_options *options);
/* Judges what can only be judged when all options are read. 0, or -EINVAL and one line. */
int ada_trace_words_check(struct ada_trace_words *words);
void ada_trace_words_close(struct ada_trace_words *words);
/* Input: struct ada_trace_words. All options; the program and its arguments are the caller's. The help has a line for each, or, where it
 * need not be whole, for those that most recordings want (trace_help.c). */
extern const struct argp ada_trace_argp_whole;
const struct argp *ada_trace_argp(void);
/* As argp wants it: what follows the help's options. */
char *ada_trace_help_filter(int key, const char *text, void *input);
#endif

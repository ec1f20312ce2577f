/* What the commands' options are: one table for all but `ada trace`, which has one of its own. */
#ifndef ADA_CLI_OPTIONS_H
#define ADA_CLI_OPTIONS_H
#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"
#include "base/output.h"
#include "recorder/host/options.h"
#include "trigger/pattern.h"

#define ADA_LATEST ADA_TRACES "/latest" /* the session where the user names none */

/* What a command was asked for. What it wasn't, and what it doesn't take, is as the command has set it before: 0 or NULL. */
struct ada_options {
	const char *command; /* "ada NAME": errors begin so */
	const char *session; /* SESSION as given; NULL: ADA_LATEST */
	char **words;	     /* what else is no option, up to NULL */
	enum ada_format format;
	unsigned int narrative;				     /* narrate's: enum ada_narrative_format */
	const char *thread, *from, *to, *clock;		     /* as given: their meaning depends on the session */
	uint64_t window, limit;				     /* UINT64_MAX: any, all */
	struct ada_pattern_list functions, exclude, modules; /* empty: all, none, all */
	const char *diff, *sort, *seq, *min_percent;
	bool callers, calls, clip, cost, cpu, detail, fold, source;
	uint64_t depth, min_duration_ns;
	bool schema;
	const char *timeout;
	const char *export, *output;
	bool events, quiet;
	ADA_ARRAY(const char *) urls;
	const char *user, *password_file, *database, *cluster, *host;
	bool no_pager, no_wait, json, watch, once, all, full_names, int3, list, purge;
	const char *media_time, *host_time;
	uint64_t time_limit_ns;
	bool allow_record;
	uint64_t port; /* 0: a free one */
	bool no_browser;
	uint64_t disk_limit, max_age_ns; /* bytes; 0: any */
};

struct ada_usage {
	const char *arguments, *about; /* as --help shows them; where the first is "[SESSION]", SESSION is taken */
};
/* Takes the options of argv[0] and its arguments; ends the program for --help, and where one is bad. */
void ada_options_take(struct ada_options *options, const struct ada_usage *usage, int argc, char **argv);
const char *ada_options_word(struct ada_options *options); /* takes the first word; NULL: there is none */
/* SESSION as a path: a name alone is that of a session below ada_traces/, where nothing here has it. The word itself in all other cases. */
const char *ada_options_place(const char *word);
void ada_options_session(struct ada_options *options);	 /* takes it as SESSION, where it names a directory */
void ada_options_end(const struct ada_options *options); /* fails where one is left */
void ada_options_free(struct ada_options *options);	 /* what was taken into lists */
/* One line, "COMMAND: MESSAGE", and status 125. */
void ada_options_fail(const char *command, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

/* Set by `ada help COMMAND`: a help that `COMMAND --help` abridges is wanted whole. */
extern bool ada_options_whole_help;
/* argp_parse, but bad options end the program with one line on stderr and status 125. */
void ada_options_parse(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input);
#endif

/* The table of options.
 *
 * On a bad option getopt would say in one line what is wrong, and argp add a second one ("Try ..."). Therefore the command's parser runs as
 * a child of one that lets neither speak, and says itself what is wrong (bad_option.h); a parser that fails calls ada_options_fail.
 */
#include "cli/ground/options.h"
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "base/file.h"
#include "base/units.h"
#include "cli/ground/bad_option.h"
#include "cli/ground/live.h"
#include "cli/ground/pager.h"

/* What of a command line goes where. */
struct row {
	const char *commands; /* that take it, and show it with this help */
	const char *name;
	int key; /* its letter; 0: it has none */
	const char *argument, *help;
	enum { A_FLAG, A_TEXT, SOME_TEXTS, A_COUNT, A_SIZE, A_DURATION, A_CHOICE, SOME_NAMES } kind;
	size_t place; /* in struct ada_options: a bool, a char *, an array of them, a uint64_t twice, an unsigned int, patterns */
	union {
		struct {
			uint64_t min, max; /* of a COUNT */
		};
		const char *choices[3]; /* the first is also called "text" */
	};
};

#define TO(what, field) .kind = (what), .place = offsetof(struct ada_options, field)
#define FLAG(field) TO(A_FLAG, field)
#define TEXT(field) TO(A_TEXT, field)
#define TEXTS(field) TO(SOME_TEXTS, field)
#define COUNT(field, low, high) TO(A_COUNT, field), .min = (low), .max = (high)
#define SIZE(field) TO(A_SIZE, field)
#define DURATION(field) TO(A_DURATION, field)
#define NAMES(field) TO(SOME_NAMES, field)
#define CHOICE(field, ...) TO(A_CHOICE, field), .choices = { __VA_ARGS__ }
#define CUTTING "dump export graph narrate report"
#define LONG "dump graph narrate query report windows" /* answers that a pager shows */

static const struct row table[] = {
	{ "dump graph info recover report trigger tune verify windows", "format", 'f', "FORMAT", "text (default), json or csv",
	  CHOICE(format, "text", "json", "csv") },
	{ "query", "format", 'f', "FORMAT", "table (default), json or csv", CHOICE(format, "table", "json", "csv") },
	{ "narrate", "format", 'f', "FORMAT", "text (default), markdown or json", CHOICE(narrative, "text", "markdown", "json") },
	{ "functions status top", "format", 'f', "FORMAT", "text (default) or json", CHOICE(format, "text", "json") },
	{ "export", "format", 'f', "FORMAT",
	  "perfetto chrome speedscope folded svg ctf csv rowbinary clickhouse sqlite; list: what they are", TEXT(export) },

	/* which events */
	{ CUTTING " top tui", "thread", 't', "THREAD", "only these: numbers, OS thread ids or names", TEXT(thread) },
	{ CUTTING " tui view", "from", 0, "TIME", "from +1.5s after the session's start on, 13:40:00 or ns", TEXT(from) },
	{ CUTTING " tui view", "to", 0, "TIME", "before this time", TEXT(to) },
	{ CUTTING " view", "window", 0, "N", "only window N of `ada windows`, in its process", COUNT(window, 0, UINT64_MAX - 1) },
	{ CUTTING " top tui windows", "clock", 0, "CLOCK", "of the times given and shown: boot (default), wall or a name of `ada anchor`",
	  TEXT(clock) },
	{ "dump", "seq", 0, "FROM-TO", "only these index_seq, both included", TEXT(seq) },
	{ "dump", "function", 'F', "NAMES", "only these: names, globs, re:REGEX", NAMES(functions) },
	{ "dump", "exclude", 0, "NAMES", "not their events", NAMES(exclude) },
	{ "dump", "module", 0, "NAMES", "only functions of these modules", NAMES(modules) },
	{ "dump", "max-depth", 0, "N", "only the outermost N levels of calls", COUNT(depth, 1, UINT32_MAX) },
	{ "dump", "calls", 0, NULL, "a line a call, with its duration", FLAG(calls) },
	{ "dump", "min-duration", 0, "TIME", "only --calls of at least that: 1ms", DURATION(min_duration_ns) },
	{ "report", "function", 'F', "NAMES", "only these: names, globs, re:REGEX, with commas", NAMES(functions) },
	{ "graph", "function", 'F', "NAMES", "below these: names, globs, re:REGEX; merged", NAMES(functions) },
	{ "dump graph report top", "limit", 'n', "N", "at most N rows", COUNT(limit, 1, UINT64_MAX) },
	{ "trigger", "limit", 'n', "N", "test: print N rows at most", COUNT(limit, 1, UINT64_MAX) },

	/* what of them */
	{ "dump", "detail", 0, NULL, "arguments, registers and stack, where kept", FLAG(detail) },
	{ "dump", "source", 0, NULL, "where each function is written: file and line", FLAG(source) },
	{ "graph report", "source", 0, NULL, "file and line of each function", FLAG(source) },
	{ "report", "cpu", 0, NULL, "how long calls ran on a CPU, and how long not", FLAG(cpu) },
	{ "report", "cost", 0, NULL, "what recording itself took, by function", FLAG(cost) },
	{ "tune", "cost", 0, "PERCENT", "of the CPU time that recording may take (default 5)", TEXT(min_percent) },
	{ "graph report", "diff", 0, "SESSION", "compare with this older one (BEFORE)", TEXT(diff) },
	{ "graph", "sort", 's', "FIELD", "total (default), self or calls, largest first", TEXT(sort) },
	{ "top", "sort", 's', "FIELD", "self (default), calls, total, p99 or max; largest first", TEXT(sort) },
	{ "top", "at", 0, "TIME", "the second before this time, not the last one", TEXT(to) },
	{ "top", "once", '1', NULL, "one screen, and not again each second", FLAG(once) },
	{ "windows", "sort", 's', "FIELD", "start (default), or value: the worst first", TEXT(sort) },
	{ "report", "sort", 's', "FIELD",
	  "function, module, calls, total (default), self, min, mean, p50, p90, p99 or max;"
	  " numbers largest first, with --diff the largest change",
	  TEXT(sort) },
	{ "graph", "callers", 0, NULL, "of --function: who led to it, turned around", FLAG(callers) },
	{ "graph", "clip", 0, NULL, "of each call only what lies between --from and --to", FLAG(clip) },
	{ "graph", "fold", 0, NULL, "recursion counts in the outermost call's line", FLAG(fold) },
	{ "graph", "depth", 0, "N", "at most N calls below each other (text: 100)", COUNT(depth, 1, UINT32_MAX) },
	{ "graph", "min", 0, "PERCENT", "only branches of so much of the tree (text: 0.5)", TEXT(min_percent) },
	{ "query", "schema", 0, NULL, "list the tables, or the columns of TABLE", FLAG(schema) },
	{ "query", "timeout", 0, "DURATION", "end after this time: 500ms, 30s, 2m", TEXT(timeout) },

	/* where it goes */
	{ LONG, "no-pager", 0, NULL, "all at once, also where the terminal is shorter", FLAG(no_pager) },
	{ "export", "output", 'o', "FILE", "where to; of ctf a new directory", TEXT(output) },
	{ "export", "events", 0, NULL, "csv: a row an event, not a call", FLAG(events) },
	{ "export", "quiet", 'q', NULL, "don't say at the end what it covers", FLAG(quiet) },
	{ "export", "url", 0, "URL", "clickhouse: http://HOST:8123; may be repeated", TEXTS(urls) },
	{ "export", "user", 0, "NAME", "clickhouse: log in as", TEXT(user) },
	{ "export", "password-file", 0, "FILE", "clickhouse: its first line", TEXT(password_file) },
	{ "export", "database", 0, "NAME", "clickhouse: default ada", TEXT(database) },
	{ "export", "cluster", 0, "NAME", "clickhouse: over all its servers", TEXT(cluster) },
	{ "export", "host", 0, "NAME", "clickhouse: that recorded it", TEXT(host) },
	{ "pack", "disk-limit", 0, "SIZE", "lets the oldest segments go until the session has no more; their totals stay",
	  SIZE(disk_limit) },
	{ "pack", "max-age", 0, "DURATION", "lets segments go that ended so long before the session did; their totals stay",
	  DURATION(max_age_ns) },
	{ "mcp", "allow-record", 0, NULL, "offer the tool record, by which the assistant runs programs", FLAG(allow_record) },
	{ "mcp", "time-limit", 'T', "DURATION", "stop a tool that takes longer (default 60s)", DURATION(time_limit_ns) },

	{ "view", "export", 0, "FILE", "write the page and its answers into this file, instead of serving it", TEXT(output) },
	{ "view", "port", 'p', "PORT", "of 127.0.0.1 (default: a free one)", COUNT(port, 1, 65535) },
	{ "view", "no-browser", 0, NULL, "only print the address, open no browser", FLAG(no_browser) },

	/* of programs and of recordings under way */
	{ "functions", "json", 'j', NULL, "the same as --format=json", FLAG(json) },
	{ "narrate", "all", 'a', NULL, "Of windows all there is to tell, not only causes", FLAG(all) },
	{ "narrate report", "full-names", 0, NULL, "Names with parameters and template arguments", FLAG(full_names) },
	{ "functions", "all", 'a', NULL, "List the hooked functions too", FLAG(all) },
	{ "functions", "int3", 0, NULL, "Allow breakpoints where no jump fits", FLAG(int3) },
	{ "status", "json", 0, NULL, "the same as --format=json", FLAG(json) },
	{ "mark", "no-wait", 0, NULL, "don't wait for the window", FLAG(no_wait) },
	{ "status", "watch", 'w', NULL, "Again each second, until the session ends", FLAG(watch) },
	{ "anchor", "media-time", 0, "TIME", "what clock NAME shows at that moment: 12.5s, or ns", TEXT(media_time) },
	{ "anchor", "host-time", 0, "TIME",
	  "that moment: +1.5s after the session's start, ns of CLOCK_BOOTTIME, or 2026-11-22T13:40:00.5Z;"
	  " while the session is being recorded the default is now",
	  TEXT(host_time) },
	{ "recover", "list", 0, NULL, "what dead recorders left in /dev/shm, /tmp and $XDG_RUNTIME_DIR", FLAG(list) },
	{ "recover", "purge", 0, NULL, "remove that: what is in memory and not in a session is lost", FLAG(purge) },
};
#define ROWS (sizeof table / sizeof *table)
#define KEY_USAGE 0x2000
#define KEY(row) (table[row].key ? table[row].key : 0x1000 + (int)(row))

void ada_options_fail(const char *command, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "%s: ", command);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(ADA_EXIT_FAILED);
}

bool ada_options_whole_help;

/* Whoever reads a help knows that --output=FILE and -o FILE are one. */
static char *filter_help(int key, const char *text, void *input)
{
	return key == ARGP_KEY_HELP_DUP_ARGS_NOTE ? NULL : (char *)text;
}

/* argp's own would hide the filter above from argp. */
static const struct argp_option helps[] = {
	{ "help", '?', NULL, 0, "Give this help list", -1 },
	{ "usage", KEY_USAGE, NULL, OPTION_HIDDEN, "Give a short usage message", -1 },
	{ 0 },
};

static error_t parse_first(int key, char *argument, struct argp_state *state)
{
	const struct argp *argp = state->root_argp->children->argp;

	switch (key) {
	case '?':
		ada_pager_open();
		state->flags &= ~(unsigned int)ARGP_NO_ERRS; /* with which argp shows no help either */
		argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK);
		exit(fflush(state->out_stream) ? ADA_EXIT_FAILED : 0);
	case KEY_USAGE:
		state->flags &= ~(unsigned int)ARGP_NO_ERRS;
		argp_state_help(state, state->out_stream, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return 0;
	case ARGP_KEY_INIT: state->child_inputs[0] = state->input; return 0;
	case ARGP_KEY_ERROR: ada_bad_option_fail(argp, state->argv, state->next);
	}
	return ARGP_ERR_UNKNOWN;
}

void ada_options_parse(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input)
{
	struct argp_child children[] = { { .argp = argp }, {} };
	struct argp first = { .options = helps, .parser = parse_first, .children = children, .help_filter = filter_help };
	error_t error;

	argp_err_exit_status = ADA_EXIT_FAILED;
	error = argp_parse(&first, argc, argv, flags | ARGP_NO_HELP | ARGP_NO_ERRS, NULL, input);
	if (error)
		ada_options_fail(argv[0], "%s", strerror(error));
}

void ada_options_free(struct ada_options *options)
{
	ada_pattern_list_free(&options->functions);
	ada_pattern_list_free(&options->exclude);
	ada_pattern_list_free(&options->modules);
	ada_array_free(&options->urls);
}

static bool takes(const char *command, const struct row *row)
{
	const char *name = command + strlen("ada ");
	size_t length = strlen(name);

	for (const char *at = row->commands; (at = strstr(at, name)); at += length)
		if ((at == row->commands || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
	return false;
}

/* Which of the row's choices it is; the first is also called "text". */
static unsigned int choose(const char *command, const struct row *row, const char *argument)
{
	const char *const *choices = row->choices;
	unsigned int count = choices[2] ? 3 : 2;

	for (unsigned int i = 0; i < count; i++)
		if (!strcmp(argument, choices[i]))
			return i;
	if (strcmp(argument, "text") && count == 3)
		ada_options_fail(command, "unknown format '%s': it is %s, %s or %s", argument, choices[0], choices[1], choices[2]);
	if (strcmp(argument, "text"))
		ada_options_fail(command, "unknown format '%s': it is %s or %s", argument, choices[0], choices[1]);
	return 0;
}

static void value_take(struct ada_options *options, const struct row *row, const char *argument)
{
	void *place = (char *)options + row->place;
	struct ada_error error = {};
	int status = 0;

	switch (row->kind) {
	case A_FLAG: *(bool *)place = true; break;
	case A_TEXT: *(const char **)place = argument; break;
	case SOME_TEXTS: status = ada_array_push(&options->urls, argument); break;
	case A_COUNT: status = ada_parse_count(argument, row->min, row->max, place, &error); break;
	case A_SIZE: status = ada_parse_size(argument, place, &error); break;
	case A_DURATION: status = ada_parse_duration(argument, place, &error); break;
	case SOME_NAMES: status = ada_pattern_list_add(place, argument, &error); break;
	case A_CHOICE: *(unsigned int *)place = choose(options->command, row, argument); break;
	}
	if (status)
		ada_options_fail(options->command, "--%s: %s", row->name, *error.text ? error.text : strerror(-status));
}

static error_t parse_one(int key, char *argument, struct argp_state *state)
{
	struct ada_options *options = state->input;

	if (key == ARGP_KEY_ARGS)
		options->words = state->argv + state->next;
	for (size_t i = 0; i < ROWS; i++)
		if (key == KEY(i) && takes(options->command, &table[i])) {
			value_take(options, &table[i], argument);
			return 0;
		}
	return key == ARGP_KEY_ARGS ? 0 : ARGP_ERR_UNKNOWN;
}

void ada_options_take(struct ada_options *options, const struct ada_usage *usage, int argc, char **argv)
{
	struct argp_option shown[ROWS + 1] = {};
	struct argp argp = { .parser = parse_one, .args_doc = usage->arguments, .doc = usage->about };
	size_t count = 0;

	for (size_t i = 0; i < ROWS; i++)
		if (takes(argv[0], &table[i]))
			shown[count++] = (struct argp_option){ table[i].name, KEY(i), table[i].argument, 0, table[i].help, 0 };
	options->command = argv[0];
	options->words = argv + argc;
	options->limit = options->window = UINT64_MAX;
	if (count)
		argp.options = shown; /* of an empty list argp's help loses a byte */
	ada_options_parse(&argp, argc, argv, 0, options);
	if (!strcmp(usage->arguments, "[SESSION]")) {
		options->session = ada_options_place(ada_options_word(options));
		ada_options_end(options);
	}
	options->diff = ada_options_place(options->diff);
	options->json |= options->format == ADA_FORMAT_JSON;
	for (size_t i = 0; i < ROWS; i++)
		if (!strcmp(table[i].commands, LONG) && takes(argv[0], &table[i]) && !options->no_pager && !options->format &&
		    !options->narrative)
			ada_pager_open();
}

const char *ada_options_word(struct ada_options *options)
{
	return *options->words ? *options->words++ : NULL;
}

const char *ada_options_place(const char *word)
{
	static char places[3][PATH_MAX]; /* of SESSION, of --diff's, and of a word that may be one */
	static unsigned int count;
	char *place = places[count % 3];

	if (!word || !*word || strchr(word, '/') || !access(word, F_OK) || ada_path(place, ADA_TRACES "/%s", word) ||
	    !ada_is_directory(place))
		return word;
	count++;
	return place;
}

void ada_options_session(struct ada_options *options)
{
	const char *place = ada_options_place(*options->words);

	if (!place || !ada_is_directory(place))
		return;
	options->session = place;
	options->words++;
}

void ada_options_end(const struct ada_options *options)
{
	if (*options->words)
		ada_options_fail(options->command, "unexpected argument '%s': `%s --help` says what there may be", *options->words,
				 options->command);
}

/* A table and a parser a group, as --help shows them; each option is taken by one of the small functions above its table. */
#include "cli/record/trace_options.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/units.h"
#include "cli/ground/options.h"
#include "recorder/index/lane.h"
#include "trigger/trigger.h"

#define ROLL_NS_MAX (24 * 3600 * 1000000000ull)
#define ROLL_EVENTS_MAX 100000000u
#define SECOND_NS 1000000000ull
#define BUDGET_PERCENT 5.0 /* of --budget alone */
#define BUDGET_MIN 0.1
#define BUDGET_MAX 10000.0

enum key {
	KEY_MODULES = 256,
	KEY_FUNCTIONS,
	KEY_EXCLUDE,
	KEY_EXCLUDE_FROM,
	KEY_NO_LIBCALLS,
	KEY_NO_FOLLOW,
	KEY_INDEX_MODE,
	KEY_INDEX_BUFFER,
	KEY_ON_FULL,
	KEY_SEGMENT_SIZE,
	KEY_PACK,
	KEY_RESOLUTION,
	KEY_DETAIL,
	KEY_STACK_BYTES,
	KEY_STACK_AT,
	KEY_CAPTURE,
	KEY_REDACT,
	KEY_DETAIL_MODE,
	KEY_DETAIL_BUFFER,
	KEY_TRIGGER,
	KEY_TRIGGER_FILE,
	KEY_NO_DEFAULT_TRIGGERS,
	KEY_STRICT,
	KEY_DEBUG_POISON,
	KEY_DEBUG_UNBOUND,
	KEY_NO_WAIT,
	KEY_PRE_SEC,
	KEY_PRE_EVENTS,
	KEY_POST_SEC,
	KEY_POST_EVENTS,
	KEY_MARK_SIGNAL,
	KEY_ON_WINDOW,
	KEY_SCHED,
	KEY_BUDGET,
	KEY_KEEP,
	KEY_BUDGET_FORGET,
	KEY_DEBUG_FLIP,
	KEY_DEBUG_FILTER,
	KEY_DISK_LIMIT,
	KEY_DETAIL_LIMIT,
	KEY_MAX_AGE,
	KEY_ANNOUNCE
};

static const struct argp_option options_table[] = {
	{ "output", 'o', "DIR", 0, "Make the session in DIR (default: ada_traces)", 0 },
	{ "quiet", 'q', NULL, 0, "No progress and no summary", 0 },
	{ "no-follow", KEY_NO_FOLLOW, NULL, 0, "Not the processes that the program starts", 0 },
	{ "no-wait", KEY_NO_WAIT, NULL, 0, "When the program ends, leave what it started", 0 },
	{ NULL, 0, NULL, 0, "What is recorded (PATTERN: names, globs, re:REGEX; repeatable):", 1 },
	{ "modules", KEY_MODULES, "PATTERN", 0, "Also functions of libraries whose path fits", 0 },
	{ "functions", KEY_FUNCTIONS, "PATTERN", 0, "Only functions that fit", 0 },
	{ "exclude", KEY_EXCLUDE, "PATTERN", 0, "No functions that fit", 0 },
	{ "exclude-from", KEY_EXCLUDE_FROM, "FILE", 0, "A pattern a line (ada tune)", 0 },
	{ "no-libcalls", KEY_NO_LIBCALLS, NULL, 0, "No calls of library functions", 0 },
	{ "sched", KEY_SCHED, "auto|off", 0, "When threads ran (default: auto)", 0 },
	{ "budget", KEY_BUDGET, "PERCENT", OPTION_ARG_OPTIONAL, "Let go of functions that cost more (5 %)", 0 },
	{ "keep", KEY_KEEP, "PATTERN", 0, "But not of those that fit", 0 },
	{ "budget-forget", KEY_BUDGET_FORGET, NULL, 0, "Not what earlier runs have learnt for that", 0 },
	{ NULL, 0, NULL, 0, "What detail is kept, and around which moments (ada-triggers(7)):", 2 },
	{ "detail", KEY_DETAIL, "off|regs|stack", 0, "Registers, or also stack (default)", 0 },
	{ "stack-bytes", KEY_STACK_BYTES, "N", 0, "Of each event: 0 to 256 (default: 128)", 0 },
	{ "stack-at", KEY_STACK_AT, "call|both", 0, "Of calls, or of all returns, too (default: call)", 0 },
	{ "redact", KEY_REDACT, "F:N,...", 0, "Keep the Nth argument of F out of the recording", 0 },
	{ "capture", KEY_CAPTURE, "WHAT", 0, "What arguments point at: F:N=str|buf[M]|*BYTES, auto (default), off", 0 },
	{ "trigger", KEY_TRIGGER, "RULE", 0, "Repeatable; besides, crash and manual", 0 },
	{ "trigger-file", KEY_TRIGGER_FILE, "FILE", 0, "A rule a line", 0 },
	{ "no-default-triggers", KEY_NO_DEFAULT_TRIGGERS, NULL, 0, "Neither crash nor manual unless given", 0 },
	{ "strict", KEY_STRICT, NULL, 0, "An invalid regex in a rule is an error", 0 },
	{ "pre-roll-sec", KEY_PRE_SEC, "S", 0, "The same in seconds (default: by events)", 0 },
	{ "pre-roll-events", KEY_PRE_EVENTS, "N", 0, "Kept before a mark (default: 1000)", 0 },
	{ "post-roll-sec", KEY_POST_SEC, "S", 0, "The same in seconds (default: by events)", 0 },
	{ "post-roll-events", KEY_POST_EVENTS, "N", 0, "Kept after a mark (default: 1000)", 0 },
	{ "mark-signal", KEY_MARK_SIGNAL, "SIG", 0, "`ada trace` getting SIG is a manual mark", 0 },
	{ "on-window", KEY_ON_WINDOW, "COMMAND", 0, "Tell COMMAND of each window (its headline, as JSON)", 0 },
	{ NULL, 0, NULL, 0, "How it is buffered, for each process:", 3 },
	{ "index-buffer", KEY_INDEX_BUFFER, "SIZE", 0, "Of events (default: 64M; 1M to 16G)", 0 },
	{ "index-mode", KEY_INDEX_MODE, "MODE", 0, "streaming (default), oneshot, circular", 0 },
	{ "on-full", KEY_ON_FULL, "drop|block", 0, "When the disk can't keep up (default: drop)", 0 },
	{ "detail-buffer", KEY_DETAIL_BUFFER, "SIZE", 0, "Of detail (default: 64M; 4M to 64G)", 0 },
	{ "detail-mode", KEY_DETAIL_MODE, "MODE", 0, "circular (default), oneshot, streaming", 0 },
	{ "debug-poison", KEY_DEBUG_POISON, NULL, OPTION_HIDDEN, "Garbage in registers that nobody needs", 0 },
	{ "debug-unbound", KEY_DEBUG_UNBOUND, NULL, OPTION_HIDDEN, "No call leads to a stub of its own", 0 },
	{ "debug-flip", KEY_DEBUG_FLIP, NULL, OPTION_HIDDEN, "Take hooks out and put them back at random", 0 },
	{ "debug-filter", KEY_DEBUG_FILTER, NULL, OPTION_HIDDEN, "Leave out uncontended calls of mutexes from the first moment on", 0 },
	{ "announce", KEY_ANNOUNCE, "FD", OPTION_HIDDEN, "Write the session's path to this descriptor, once it is there", 0 },
	{ "segment-size", KEY_SEGMENT_SIZE, "SIZE", 0, "Begin a thread's next file there (64K to 1T)", 0 },
	{ "disk-limit", KEY_DISK_LIMIT, "SIZE", 0, "The oldest go, but for their sums (1M to 1P)", 0 },
	{ "detail-limit", KEY_DETAIL_LIMIT, "SIZE", 0, "Of the oldest windows detail goes (1M to 1P)", 0 },
	{ "max-age", KEY_MAX_AGE, "DURATION", 0, "The same by time (30s, 2h)", 0 },
	{ "pack", KEY_PACK, "auto|always|never", 0, "Packed files (auto: where one isn't enough)", 0 },
	{ "clock-resolution", KEY_RESOLUTION, "NS", 0, "Steps of times: 1, 2, 4 ... 1024 (default: 8)", 0 },
	{ 0 },
};

static int add_string(struct ada_strings *strings, const char *text, struct ada_error *error)
{
	return ada_array_push(strings, text) ? ada_error_system(error, ENOMEM, "%s", text) : 0;
}

static int choose(const char *option, const char *text, const char *const *choices, int *choice, struct ada_error *error)
{
	char list[128] = "";

	for (int i = 0; choices[i]; i++) {
		if (!strcmp(text, choices[i])) {
			*choice = i;
			return 0;
		}
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", choices[i]);
	}
	if (*text == '-') /* the next option was taken for it */
		return ada_error_set(error, EINVAL, "--%s takes a value, one of %s: write it like --%s=%s", option, list, option,
				     choices[0]);
	return ada_error_set(error, EINVAL, "--%s=%s: must be one of %s", option, text, list);
}

static int size_between(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *bytes, struct ada_error *error)
{
	char low[ADA_UNITS_TEXT], high[ADA_UNITS_TEXT];
	struct ada_error unreadable = { 0 };

	if (ada_parse_size(text, bytes, &unreadable))
		return ada_error_set(error, EINVAL, "--%s: %s", option, unreadable.text);
	if (*bytes < min || *bytes > max)
		return ada_error_set(error, ERANGE, "--%s=%s: must be between %s and %s", option, text, ada_format_size(min, low),
				     ada_format_size(max, high));
	return 0;
}

static int age_from(const char *text, uint64_t *ns, struct ada_error *error)
{
	struct ada_error unreadable = { 0 };

	if (ada_parse_duration(text, ns, &unreadable))
		return ada_error_set(error, EINVAL, "--max-age: %s", unreadable.text);
	return *ns < ADA_AGE_MIN_NS ? ada_error_set(error, ERANGE, "--max-age=%s: must be 1s at least", text) : 0;
}

static int count_between(const char *option, const char *text, uint64_t max, uint64_t *count, struct ada_error *error)
{
	if (ada_parse_count(text, 0, max, count, NULL))
		return ada_error_set(error, EINVAL, "--%s=%s: must be a number, 0 to %llu", option, text, (unsigned long long)max);
	return 0;
}

/* Takes seconds, with decimals; the "s" of a duration may be left out, since the option's name has it. A roll of nothing becomes 1 ns: 0
 * says that none was given, and then the default holds. */
static int take_seconds(const char *option, const char *text, uint64_t *ns, struct ada_error *error)
{
	char seconds[32];
	size_t digits = strspn(text, "0123456789.");
	int length = snprintf(seconds, sizeof seconds, "%.*ss", (int)digits, text);
	bool whole = !text[digits] || !strcmp(text + digits, "s");

	if (!whole || length >= (int)sizeof seconds || ada_parse_duration(seconds, ns, NULL))
		return ada_error_set(error, EINVAL, "--%s=%s: must be seconds, as 5 or 0.25", option, text);
	if (*ns > ROLL_NS_MAX)
		return ada_error_set(error, ERANGE, "--%s=%s: must be at most 86400, a day", option, text);
	*ns += !*ns;
	return 0;
}

static int take_events(const char *option, const char *text, uint64_t *events, uint64_t *ns, struct ada_error *error)
{
	int status = count_between(option, text, ROLL_EVENTS_MAX, events, error);

	if (!status && !*events && !*ns)
		*ns = 1;
	return status;
}

static int take_resolution(const char *text, uint64_t *ns, struct ada_error *error)
{
	if (ada_parse_count(text, 1, ADA_CLOCK_COARSEST, ns, NULL) || *ns & (*ns - 1))
		return ada_error_set(error, EINVAL, "--clock-resolution=%s: must be ns, a power of two from 1 to %u", text,
				     ADA_CLOCK_COARSEST);
	return 0;
}

/* Takes only signals that programs leave to their users; the others mean something to ada or to the terminal. */
static int take_signal(const char *text, int *number, struct ada_error *error)
{
	const char *name = strncmp(text, "SIG", 3) ? text : text + 3;
	uint64_t value;

	if (!strcmp(name, "USR1"))
		*number = SIGUSR1;
	else if (!strcmp(name, "USR2"))
		*number = SIGUSR2;
	else if (!strncmp(name, "RTMIN", 5) && (!name[5] || (name[5] == '+' && !ada_parse_count(name + 6, 0, 64, &value, NULL))))
		*number = SIGRTMIN + (name[5] ? (int)value : 0);
	else if (!strcmp(name, "RTMAX"))
		*number = SIGRTMAX;
	else if (!ada_parse_count(name, 1, 64, &value, NULL))
		*number = (int)value;
	if (*number == SIGUSR1 || *number == SIGUSR2 || (*number >= SIGRTMIN && *number <= SIGRTMAX))
		return 0;
	return ada_error_set(error, EINVAL, "--mark-signal=%s: must be USR1, USR2 or a real-time signal, as RTMIN+1", text);
}

static int take_detail(const char *text, struct ada_trace_words *words)
{
	static const char *const kinds[] = { "off", "regs", "stack", NULL };
	int kind = 0, status = choose("detail", text, kinds, &kind, &words->error);

	words->options->detail = kind != 0;
	words->no_detail = kind ? NULL : text;
	words->stack_off = kind == 1;
	return status;
}

/* A string a line of the file, and where it stands. */
static int take_lines(const char *path, struct ada_strings *texts, struct ada_strings *origins, struct ada_trace_words *words)
{
	struct ada_trigger_lines lines = { 0 };
	int status = ada_trigger_file(&lines, path, &words->error);

	for (size_t i = 0; !status && i < lines.texts.count; i++) {
		status = add_string(texts, lines.texts.items[i], &words->error);
		if (!status && origins)
			status = add_string(origins, lines.origins.items[i], &words->error);
		if (!status &&
		    (ada_array_push(&words->owned, lines.texts.items[i]) || ada_array_push(&words->owned, lines.origins.items[i])))
			status = ada_error_system(&words->error, ENOMEM, "%s", path);
	}
	if (status) {
		ada_trigger_lines_free(&lines);
		return status;
	}
	ada_array_free(&lines.texts); /* the strings are words->owned now */
	ada_array_free(&lines.origins);
	return 0;
}

static int take_sched(const char *text, struct ada_trace_words *words)
{
	static const char *const choices[] = { "off", "auto", NULL };
	int choice = 0, status = choose("sched", text, choices, &choice, &words->error);

	words->options->sched = choice == 1;
	return status;
}

static int take_budget(const char *text, struct ada_trace_words *words)
{
	char *end;
	double percent = text ? strtod(text, &end) : BUDGET_PERCENT;

	if (text && *end == '%')
		end++;
	if (text && (end == text || *end || !(percent >= BUDGET_MIN && percent <= BUDGET_MAX)))
		return ada_error_set(&words->error, EINVAL, "--budget=%s: must be percents of the program's time, 0.1 to 10000", text);
	words->options->budget = percent / 100;
	return 0;
}

static int take_recorded(int key, char *argument, struct ada_trace_words *words)
{
	struct ada_trace_options *options = words->options;

	switch (key) {
	case 'o': options->output = argument; return *argument ? 0 : ada_error_set(&words->error, EINVAL, "--output: names no directory");
	case 'q': options->quiet = true; return 0;
	case KEY_NO_FOLLOW: options->follow = false; return 0;
	case KEY_NO_WAIT: options->no_wait = true; return 0;
	case KEY_NO_LIBCALLS: options->libcalls = false; return 0;
	case KEY_MODULES: return add_string(&options->modules, argument, &words->error);
	case KEY_FUNCTIONS: return add_string(&options->functions, argument, &words->error);
	case KEY_EXCLUDE_FROM: return take_lines(argument, &options->exclude, NULL, words);
	case KEY_SCHED: return take_sched(argument, words);
	case KEY_EXCLUDE: return add_string(&options->exclude, argument, &words->error);
	case KEY_BUDGET: return take_budget(argument, words);
	case KEY_KEEP: return add_string(&options->kept, argument, &words->error);
	case KEY_BUDGET_FORGET: options->budget_forget = true; return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static int take_stack_at(const char *text, struct ada_trace_words *words)
{
	static const char *const moments[] = { "call", "both", NULL };
	int moment = 0, status = choose("stack-at", text, moments, &moment, &words->error);

	words->options->stack_at_return = moment == 1;
	return status;
}

/* For whoever started us, not for the program. */
static int take_descriptor(const char *argument, int *descriptor, struct ada_error *error)
{
	uint64_t number = 0;
	int status = count_between("announce", argument, INT_MAX, &number, error);

	*descriptor = (int)number;
	if (status || !fcntl(*descriptor, F_SETFD, FD_CLOEXEC))
		return status;
	return ada_error_system(error, errno, "--announce: %s", argument);
}

static int take_kept(int key, char *argument, struct ada_trace_words *words)
{
	struct ada_trace_options *options = words->options;
	struct ada_error *error = &words->error;
	uint64_t bytes = 0;
	int status;

	switch (key) {
	case KEY_DETAIL: return take_detail(argument, words);
	case KEY_STACK_BYTES:
		status = count_between("stack-bytes", argument, ADA_DETAIL_STACK_MAX, &bytes, error);
		options->detail_stack_bytes = (uint32_t)bytes;
		words->stack_bytes = argument;
		return status;
	case KEY_STACK_AT: return take_stack_at(argument, words);
	case KEY_CAPTURE: return add_string(&options->captures, argument, error);
	case KEY_REDACT: return add_string(&options->redactions, argument, error);
	case KEY_TRIGGER:
		return add_string(&options->triggers, argument, error) ?: add_string(&options->trigger_origins, "--trigger", error);
	case KEY_TRIGGER_FILE: return take_lines(argument, &options->triggers, &options->trigger_origins, words);
	case KEY_NO_DEFAULT_TRIGGERS: options->no_default_triggers = true; return 0;
	case KEY_STRICT: options->strict = true; return 0;
	case KEY_DEBUG_POISON: options->poison = true; return 0;
	case KEY_DEBUG_UNBOUND: options->unbound = true; return 0;
	case KEY_DEBUG_FLIP: options->flip = true; return 0;
	case KEY_DEBUG_FILTER: options->filter = true; return 0;
	case KEY_ANNOUNCE: return take_descriptor(argument, &options->announce, error);
	case KEY_PRE_SEC: return take_seconds("pre-roll-sec", argument, &options->pre_roll_ns, error);
	case KEY_POST_SEC: return take_seconds("post-roll-sec", argument, &options->post_roll_ns, error);
	case KEY_PRE_EVENTS: return take_events("pre-roll-events", argument, &options->pre_roll_events, &options->pre_roll_ns, error);
	case KEY_POST_EVENTS: return take_events("post-roll-events", argument, &options->post_roll_events, &options->post_roll_ns, error);
	case KEY_ON_WINDOW:
		words->on_window = argument;
		return *argument ? 0 : ada_error_set(error, EINVAL, "--on-window: names no command");
	case KEY_MARK_SIGNAL: return take_signal(argument, &options->mark_signal, error);
	}
	return ARGP_ERR_UNKNOWN;
}

static int take_buffered(int key, char *argument, struct ada_trace_words *words)
{
	static const char *const index_modes[] = { "streaming", "oneshot", "circular", NULL }, *const fulls[] = { "drop", "block", NULL };
	static const char *const detail_modes[] = { "circular", "oneshot", "streaming", NULL }, *const packs[] = { "auto", "always",
														   "never", NULL };
	struct ada_trace_options *options = words->options;
	struct ada_error *error = &words->error;
	int status, choice = 0;

	switch (key) {
	case KEY_INDEX_BUFFER:
		return size_between("index-buffer", argument, ADA_INDEX_BUFFER_MIN, ADA_INDEX_BUFFER_MAX, &options->index_buffer_bytes,
				    error);
	case KEY_DETAIL_BUFFER:
		return size_between("detail-buffer", argument, ADA_DETAIL_BUFFER_MIN, ADA_DETAIL_BUFFER_MAX, &options->detail_buffer_bytes,
				    error);
	case KEY_SEGMENT_SIZE:
		return size_between("segment-size", argument, ADA_SEGMENT_MIN, ADA_SEGMENT_MAX, &options->segment_bytes, error);
	case KEY_INDEX_MODE:
		status = choose("index-mode", argument, index_modes, &choice, error);
		options->index_mode = (enum ada_index_mode)choice;
		return status;
	case KEY_DETAIL_MODE:
		status = choose("detail-mode", argument, detail_modes, &choice, error);
		options->detail_mode = (enum ada_detail_mode)choice;
		return status;
	case KEY_PACK: return choose("pack", argument, packs, &options->pack, error);
	case KEY_RESOLUTION: return take_resolution(argument, &options->resolution_ns, error);
	case KEY_DISK_LIMIT:
		return size_between("disk-limit", argument, ADA_DISK_LIMIT_MIN, ADA_DISK_LIMIT_MAX, &options->disk_limit, error);
	case KEY_DETAIL_LIMIT:
		return size_between("detail-limit", argument, ADA_DISK_LIMIT_MIN, ADA_DISK_LIMIT_MAX, &options->detail_limit, error);
	case KEY_MAX_AGE: return age_from(argument, &options->max_age_ns, error);
	case KEY_ON_FULL:
		status = choose("on-full", argument, fulls, &choice, error);
		options->on_full = (enum ada_on_full)choice;
		return status;
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse_one(int key, char *argument, struct argp_state *state)
{
	struct ada_trace_words *words = state->input;
	int status = take_recorded(key, argument, words);

	if (status == ARGP_ERR_UNKNOWN)
		status = take_kept(key, argument, words);
	if (status == ARGP_ERR_UNKNOWN)
		status = take_buffered(key, argument, words);
	if (status < 0)
		ada_options_fail(state->argv[0], "%s", words->error.text);
	return status;
}

const struct argp ada_trace_argp_whole = { .options = options_table, .parser = parse_one, .help_filter = ada_trace_help_filter };

void ada_trace_words_open(struct ada_trace_words *words, struct ada_trace_options *options)
{
	*options = (struct ada_trace_options){ .output = ADA_TRACES,
					       .follow = true,
					       .libcalls = true,
					       .sched = true,
					       .detail = true,
					       .index_buffer_bytes = ADA_INDEX_BUFFER_DEFAULT,
					       .segment_bytes = ADA_SEGMENT_DEFAULT,
					       .resolution_ns = ADA_RESOLUTION_DEFAULT,
					       .detail_stack_bytes = ADA_STACK_BYTES_DEFAULT,
					       .detail_buffer_bytes = ADA_DETAIL_BUFFER_DEFAULT };
	*words = (struct ada_trace_words){ .options = options };
}

int ada_trace_words_check(struct ada_trace_words *words)
{
	struct ada_trace_options *options = words->options;
	bool manual = !options->no_default_triggers;

	if (words->no_detail && (options->triggers.count || options->mark_signal))
		return ada_error_set(&words->error, EINVAL, "--detail=off: %s marks moments whose detail is kept, and there is none",
				     options->triggers.count ? options->trigger_origins.items[0] : "--mark-signal");
	if (options->budget > 0 && options->index_mode != ADA_INDEX_STREAMING)
		return ada_error_set(&words->error, EINVAL, "--budget needs --index-mode=streaming: it counts events as they are written");
	if ((options->disk_limit || options->max_age_ns) && (options->index_mode != ADA_INDEX_STREAMING || options->pack == ADA_PACK_NEVER))
		return ada_error_set(&words->error, EINVAL, "--%s needs %s", options->disk_limit ? "disk-limit" : "max-age",
				     options->pack == ADA_PACK_NEVER ? "packed files: not --pack=never" :
								       "--index-mode=streaming: other modes write at the end");
	if (options->detail_limit && options->index_mode != ADA_INDEX_STREAMING)
		return ada_error_set(&words->error, EINVAL, "--detail-limit needs --index-mode=streaming: other modes write at the end");
	if (options->disk_limit || options->max_age_ns)
		options->pack = ADA_PACK_ALWAYS;
	if (words->stack_off && words->stack_bytes && options->detail_stack_bytes)
		return ada_error_set(&words->error, EINVAL, "--stack-bytes=%s: --detail=regs keeps no stack", words->stack_bytes);
	if (words->stack_off)
		options->detail_stack_bytes = 0;
	for (size_t i = 0; i < options->triggers.count; i++) {
		const char *text = options->triggers.items[i] + strspn(options->triggers.items[i], " \t");

		manual |= !strncmp(text, "manual", 6) && !isalnum((unsigned char)text[6]);
	}
	/* The signal is there to mark. */
	if (options->mark_signal && !manual)
		return add_string(&options->triggers, "manual", &words->error) ?:
			       add_string(&options->trigger_origins, "--mark-signal", &words->error);
	return 0;
}

void ada_trace_words_close(struct ada_trace_words *words)
{
	struct ada_trace_options *options = words->options;

	for (size_t i = 0; i < words->owned.count; i++)
		free(words->owned.items[i]);
	ada_array_free(&words->owned);
	ada_array_free(&options->modules);
	ada_array_free(&options->functions);
	ada_array_free(&options->exclude);
	ada_array_free(&options->kept);
	ada_array_free(&options->captures);
	ada_array_free(&options->redactions);
	ada_array_free(&options->triggers);
	ada_array_free(&options->trigger_origins);
}

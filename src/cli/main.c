/* ada COMMAND ...: finds the command and runs it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "cli/commands.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *does;
} commands[] = {
	{ "trace", ada_cmd_trace, "run a program and record it" },
	{ "status", ada_cmd_status, "how a recording stands that is under way" },
	{ "mark", ada_cmd_mark, "keep the detail around this moment of a recording" },
	{ "stop", ada_cmd_stop, "end a recording; the program runs on" },
	{ "trigger", ada_cmd_trigger, "list, add or remove rules; test one on a stored session" },
	{ "functions", ada_cmd_functions, "what of a program would be hooked, and what not and why" },
	{ "info", ada_cmd_info, "what a session holds: processes, threads, modules, losses" },
	{ "windows", ada_cmd_windows, "the stretches of time that kept their detail, and why" },
	{ "report", ada_cmd_report, "calls and times per function" },
	{ "dump", ada_cmd_dump, "the timeline of all threads, indented by depth" },
	{ "verify", ada_cmd_verify, "check every byte of a session that can be checked" },
};
#define COMMANDS (sizeof commands / sizeof *commands)

static void print_help(FILE *stream)
{
	fputs("Usage: ada COMMAND [OPTION]... [ARGUMENT]...\n"
	      "Records every function call and return of an unmodified program.\n\n", stream);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(stream, "  %-10s %s\n", commands[i].name, commands[i].does);
	fputs("\nCommands that read take a SESSION: its directory, one of its pid directories, or\n"
	      "nothing for ada_traces/latest. `ada COMMAND --help` lists a command's options,\n"
	      "`ada --version` prints the version.\n", stream);
}

/* Levenshtein distance; names are short, and what is longer than `right` has room for is no near miss anyway. */
static size_t distance(const char *left, const char *right)
{
	size_t row[32], width = strlen(right);

	if (width >= sizeof row / sizeof *row || strlen(left) >= sizeof row / sizeof *row)
		return SIZE_MAX;
	for (size_t j = 0; j <= width; j++)
		row[j] = j;
	for (size_t i = 0; left[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < width; j++) {
			size_t best = diagonal + (left[i] != right[j]);

			diagonal = row[j + 1];
			if (best > row[j] + 1)
				best = row[j] + 1;
			if (best > diagonal + 1)
				best = diagonal + 1;
			row[j + 1] = best;
		}
	}
	return row[width];
}

static int fail_unknown(const char *name)
{
	size_t nearest = SIZE_MAX;
	const char *guess = NULL;

	for (size_t i = 0; i < COMMANDS; i++) {
		size_t d = distance(name, commands[i].name);

		if (d < nearest) {
			nearest = d;
			guess = commands[i].name;
		}
	}
	if (guess && nearest <= 2)
		fprintf(stderr, "ada: unknown command '%s': did you mean '%s'?\n", name, guess);
	else
		fprintf(stderr, "ada: unknown command '%s': `ada --help` lists them\n", name);
	return ADA_EXIT_FAILED;
}

/* What is left in stdio's buffer (help, version) must reach its reader, or the status says that it didn't. */
static int finish(int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "ada: can't write to standard output: %m\n");
		return ADA_EXIT_FAILED;
	}
	return status;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	char full_name[64];

	if (!name) {
		print_help(stderr);
		return ADA_EXIT_FAILED;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "-?")) {
		print_help(stdout);
		return finish(0);
	}
	if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
		puts("ada " ADA_VERSION);
		return finish(0);
	}
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(name, commands[i].name)) {
			/* Messages of getopt and argp begin with argv[0]. */
			snprintf(full_name, sizeof full_name, "ada %s", name);
			argv[1] = full_name;
			return finish(commands[i].run(argc - 1, argv + 1));
		}
	if (*name == '-') {
		fprintf(stderr, "ada: unknown option '%s': `ada --help` lists the commands\n", name);
		return ADA_EXIT_FAILED;
	}
	return fail_unknown(name);
}

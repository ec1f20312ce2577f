/* ada COMMAND ...: finds the command and runs it. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "cli/ground/options.h"
#include "cli/help/complete.h"
#include "cli/live/commands.h"
#include "cli/mcp/commands.h"
#include "cli/record/commands.h"
#include "cli/show/commands.h"
#include "cli/sums/commands.h"
#include "cli/tui/commands.h"
#include "cli/view/commands.h"
#include "trigger/trigger.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *does; /* NULL: the line of the one before tells of both */
} commands[] = {
	{ "trace", ada_cmd_trace, "run a program and record it" },
	{ "status", ada_cmd_status, "how a recording under way stands, and what takes its time now" },
	{ "top", ada_cmd_top, NULL },
	{ "mark", ada_cmd_mark, "keep the detail around this moment of a recording" },
	{ "anchor", ada_cmd_anchor, "align a recording with the clock of a video or of sound" },
	{ "stop", ada_cmd_stop, "end a recording; the program runs on" },
	{ "trigger", ada_cmd_trigger, "list, add or remove rules; test one on a stored session" },
	{ "functions", ada_cmd_functions, "what of a program would be hooked, and what not and why" },
	{ "info", ada_cmd_info, "what a session holds: processes, threads, modules, losses" },
	{ "windows", ada_cmd_windows, "the stretches of time that kept their detail, and why" },
	{ "report", ada_cmd_report, "calls and times per function" },
	{ "graph", ada_cmd_graph, "the call tree: calls and times by the path that led there" },
	{ "tune", ada_cmd_tune, "which functions to leave out for a given cost of recording" },
	{ "narrate", ada_cmd_narrate, "what happened, in sentences that cite their events" },
	{ "dump", ada_cmd_dump, "the timeline of all threads, indented by depth" },
	{ "query", ada_cmd_query, "SQL over a recording" },
	{ "export", ada_cmd_export, "write a session for other programs: Perfetto, CSV, SQLite, ..." },
	{ "view", ada_cmd_view, "the timeline, calls and windows, in a browser or by keys here" },
	{ "tui", ada_cmd_tui, NULL },
	{ "mcp", ada_cmd_mcp, "serve recordings to a coding assistant (Model Context Protocol)" },
	{ "verify", ada_cmd_verify, "check every byte of a session that can be checked" },
	{ "recover", ada_cmd_recover, "finish what a recorder that was killed left" },
	{ "pack", ada_cmd_pack, "make a session small, half a byte an event; or as it was" },
	{ "unpack", ada_cmd_unpack, NULL },
};
#define COMMANDS (sizeof commands / sizeof *commands)

static void print_help(FILE *stream)
{
	fputs("Usage: ada COMMAND [OPTION]... [ARGUMENT]..., ada help COMMAND, ada --version\n"
	      "Records every function call. To begin: `ada trace ./PROGRAM`, then `ada report`.\n",
	      stream);
	for (size_t i = 0; i < COMMANDS; i++) {
		char names[32];

		if (!commands[i].does)
			continue;
		if (i + 1 < COMMANDS && !commands[i + 1].does)
			snprintf(names, sizeof names, "%s, %s", commands[i].name, commands[i + 1].name);
		else
			snprintf(names, sizeof names, "%s", commands[i].name);
		fprintf(stream, "  %-12s %s\n", names, commands[i].does);
	}
	fputs("SESSION is a session's or a process's directory; without it, ada_traces/latest.\n", stream);
}

/* What other tools call them. */
static const char *called_here(const char *name)
{
	static const char *const names[][2] = { { "record", "trace" }, { "run", "trace" }, { "timeline", "dump" },
						{ "script", "dump" },  { "sql", "query" }, { "list", "info" } };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i][0]))
			return names[i][1];
	return NULL;
}

static void spelled_like(const char *name, char *near, size_t size)
{
	struct ada_nearest *nearest = ada_nearest_open(name);

	for (size_t i = 0; i < COMMANDS; i++)
		ada_nearest_offer(nearest, commands[i].name);
	ada_nearest_text(nearest, near, size);
	ada_nearest_close(nearest);
}

static int fail_unknown(const char *name)
{
	bool is_page = !strcmp(name, "triggers"); /* cited as ada-triggers(7) */
	const char *here = called_here(name);
	char near[128] = "";

	if (here)
		snprintf(near, sizeof near, "%s", here);
	else
		spelled_like(name, near, sizeof near);
	if (is_page)
		fprintf(stderr, "ada: '%s' is no command: the rules' page is `man ada-triggers`\n", name);
	else if (near[0])
		fprintf(stderr, "ada: unknown command '%s': did you mean %s?\n", name, near);
	else
		fprintf(stderr, "ada: unknown command '%s': `ada --help` lists them\n", name);
	return ADA_EXIT_FAILED;
}

/* The rest of stdio's buffer (help, version) must reach its reader; otherwise the status says that it didn't. */
static int output_finish(int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "ada: can't write to standard output: %m\n");
		return ADA_EXIT_FAILED;
	}
	return status;
}

/* A file must not get the number of a closed standard stream, or an answer goes where nobody looks. So a descriptor that can't be written
 * to takes the place of such a stream. Not for a traced program, whose streams are its own. */
static void occupy_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return;
}

/* argv[1] is the command's name. A status, or -1: there is none of that name. */
static int run_command(int argc, char **argv)
{
	static char full_name[64];

	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name)) {
			/* argp's help and our messages begin with argv[0]. */
			snprintf(full_name, sizeof full_name, "ada %s", commands[i].name);
			argv[1] = full_name;
			if (commands[i].run != ada_cmd_trace) {
				occupy_streams();
				signal(SIGXFSZ, SIG_IGN); /* a file larger than `ulimit -f` allows is one that can't be written */
			}
			return output_finish(commands[i].run(argc - 1, argv + 1));
		}
	return -1;
}

static int complete(char **words)
{
	const char *names[COMMANDS];

	for (size_t i = 0; i < COMMANDS; i++)
		names[i] = commands[i].name;
	return output_finish(ada_complete(names, COMMANDS, words));
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	char *help[] = { argv[0], argc > 2 ? argv[2] : NULL, "--help", NULL };
	int status;

	if (!name) {
		print_help(stderr);
		return ADA_EXIT_FAILED;
	}
	if (!strcmp(name, "help") && argc == 3) { /* `ada help COMMAND` */
		ada_options_whole_help = true;
		name = argv[2];
		argv = help;
		argc = 3;
	} else if (!strcmp(name, "help")) {
		name = "--help";
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "-?")) {
		print_help(stdout);
		return output_finish(0);
	}
	if (!strcmp(name, "--version") || !strcmp(name, "-V") || !strcmp(name, "version")) {
		puts("ada " ADA_VERSION);
		return output_finish(0);
	}
	if (!strcmp(name, "complete") && argc > 2 && !strcmp(argv[2], "--"))
		return complete(argv + 3);
	status = run_command(argc, argv);
	if (status >= 0)
		return status;
	if (*name == '-') {
		fprintf(stderr, "ada: unknown option '%s': `ada --help` lists the commands\n", name);
		return ADA_EXIT_FAILED;
	}
	return fail_unknown(name);
}

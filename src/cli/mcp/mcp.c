/* ada mcp: a server of the Model Context Protocol, through which a coding assistant asks recordings. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/units.h"
#include "cli/ground/options.h"
#include "cli/mcp/commands.h"
#include "cli/mcp/server.h"

#define DEFAULT "ada_traces"

struct options {
	const char *directory;
	uint64_t limit_ns;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	struct ada_error error = {};

	switch (key) {
	case 'T':
		if (ada_parse_duration(argument, &options->limit_ns, &error))
			ada_options_fail(state, "--time-limit: %s", error.text);
		return 0;
	case ARGP_KEY_ARG:
		if (options->directory)
			ada_options_fail(state, "unexpected argument '%s': one DIRECTORY is served", argument);
		options->directory = argument;
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options =
		(const struct argp_option[]){
			{ "time-limit", 'T', "DURATION", 0, "stop a tool that takes longer (default 60s)", 0 },
			{},
		},
	.parser = parse_option,
	.args_doc = "[DIRECTORY]",
	.doc = "Serves the sessions in DIRECTORY (default ada_traces) to a coding assistant, as tools of the Model Context Protocol on"
	       " standard input and output."
	       "\vAn assistant starts it by itself, once its configuration names the command. It only reads, only below DIRECTORY, and"
	       " ends with its input.",
};

/* The directory's real path. The default directory needn't be there: an assistant may start the server before the first recording. */
static int find_root(const char *command, const char *directory, char root[PATH_MAX])
{
	const char *given = directory ? directory : DEFAULT;
	char here[PATH_MAX];
	struct stat status;

	if (realpath(given, root)) {
		if (!stat(root, &status) && S_ISDIR(status.st_mode))
			return 0;
		fprintf(stderr, "%s: %s is no directory: name the one that holds the sessions\n", command, given);
	} else if (directory || errno != ENOENT || !realpath(".", here) || ada_path(root, "%s/" DEFAULT, here)) {
		fprintf(stderr, "%s: %s: %m: name the directory that holds the sessions\n", command, given);
	} else {
		return 0;
	}
	return ADA_EXIT_FAILED;
}

int ada_cmd_mcp(int argc, char **argv)
{
	struct options options = { .limit_ns = 60000000000ull };
	struct ada_mcp_server server = {};
	char root[PATH_MAX];
	int result;

	ada_options_parse(&argp, argc, argv, 0, &options);
	result = find_root(argv[0], options.directory, root);
	if (result)
		return result;
	server.root = root;
	server.limit_ns = options.limit_ns;
	result = ada_mcp_loop(&server);
	ada_mcp_server_close(&server);
	return result;
}

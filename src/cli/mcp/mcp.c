/* ada mcp: a server of the Model Context Protocol, through which a coding assistant asks recordings. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/file.h"
#include "cli/ground/options.h"
#include "cli/mcp/commands.h"
#include "cli/mcp/server.h"

static const struct ada_usage usage = {
	"[DIRECTORY]",
	"Serves the sessions in DIRECTORY (default ada_traces) to a coding assistant, as tools of the Model Context Protocol on"
	" standard input and output."
	"\vAn assistant starts it by itself, once its configuration names the command. It reads only below DIRECTORY, marks and stops"
	" what is being recorded there, runs programs only with --allow-record, and ends with its input.",
};

/* The directory's real path. The default directory needn't be there: an assistant may start the server before the first recording. */
static int find_root(const char *command, const char *directory, char root[PATH_MAX])
{
	const char *given = directory ? directory : ADA_TRACES;
	char here[PATH_MAX];
	struct stat status;

	if (realpath(given, root)) {
		if (!stat(root, &status) && S_ISDIR(status.st_mode))
			return 0;
		fprintf(stderr, "%s: %s is no directory: name the one that holds the sessions\n", command, given);
	} else if (directory || errno != ENOENT || !realpath(".", here) || ada_path(root, "%s/" ADA_TRACES, here)) {
		fprintf(stderr, "%s: %s: %m: name the directory that holds the sessions\n", command, given);
	} else {
		return 0;
	}
	return ADA_EXIT_FAILED;
}

int ada_cmd_mcp(int argc, char **argv)
{
	struct ada_options options = { .time_limit_ns = 60000000000ull };
	struct ada_mcp_server server = {};
	const char *directory;
	char root[PATH_MAX];
	int result;

	ada_options_take(&options, &usage, argc, argv);
	directory = ada_options_word(&options);
	ada_options_end(&options);
	result = find_root(argv[0], directory, root);
	if (result)
		return result;
	server.root = root;
	server.limit_ns = options.time_limit_ns;
	server.allow_record = options.allow_record;
	result = ada_mcp_loop(&server);
	ada_mcp_server_close(&server);
	return result;
}

/* ada export: a session for other programs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "cli/ground/answer.h"
#include "cli/show/commands.h"
#include "cli/show/export_target.h"
#include "query/clickhouse/clickhouse.h"
#include "query/export/walk.h"
#include "trigger/trigger.h"

struct options {
	struct ada_reading reading;
	struct ada_narrowing narrowing;
	const struct ada_export_format *format;
	const char *output;
	bool events, quiet;
	ADA_ARRAY(const char *) urls;
	struct ada_clickhouse_options server;
};

enum { OPTION_EVENTS = 0x2000, OPTION_URL, OPTION_USER, OPTION_PASSWORD, OPTION_DATABASE, OPTION_CLUSTER, OPTION_HOST };

static size_t list_formats(char *text, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < ada_export_format_count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s",
					 !i				 ? "" :
					 i + 1 < ada_export_format_count ? ", " :
									   " or ",
					 ada_export_formats[i].name);
	return used;
}

static void fail_format(struct argp_state *state, const char *name)
{
	struct ada_nearest *nearest = ada_nearest_open(name);
	char near[128] = "", all[256];

	for (size_t i = 0; i < ada_export_format_count; i++)
		ada_nearest_offer(nearest, ada_export_formats[i].name);
	ada_nearest_text(nearest, near, sizeof near);
	ada_nearest_close(nearest);
	list_formats(all, sizeof all);
	if (near[0])
		ada_options_fail(state, "unknown format '%s': did you mean %s? There are %s", name, near, all);
	ada_options_fail(state, "unknown format '%s': it is %s", name, all);
}

static void print_formats(void)
{
	for (size_t i = 0; i < ada_export_format_count; i++)
		printf("%-10s  %s\n", ada_export_formats[i].name, ada_export_formats[i].help);
}

static const struct ada_export_format *find_format(struct argp_state *state, const char *name)
{
	for (size_t i = 0; i < ada_export_format_count; i++)
		if (!strcmp(name, ada_export_formats[i].name))
			return &ada_export_formats[i];
	fail_format(state, name);
	return NULL;
}

/* Checks which options fit together. */
static void check(struct argp_state *state, const struct options *options)
{
	const struct ada_clickhouse_options *server = &options->server;
	const struct ada_narrowing *narrowing = &options->narrowing;
	char all[256];

	list_formats(all, sizeof all);
	if (!options->format)
		ada_options_fail(state, "name a format with --format=FORMAT: %s", all);
	if (options->events && strcmp(options->format->name, "csv"))
		ada_options_fail(state, "--events is of --format=csv");
	if (options->format->kind != ADA_EXPORT_SERVER) {
		if (options->urls.count || server->user || server->password_file || server->database || server->cluster ||
		    server->host_name)
			ada_options_fail(state, "--url, --user, --password-file, --database, --cluster and --host are of "
						"--format=clickhouse");
		return;
	}
	if (!options->urls.count)
		ada_options_fail(state, "--format=%s goes to a server: name it with --url=http://HOST:8123", options->format->name);
	if (narrowing->thread || narrowing->from || narrowing->to || narrowing->in_window)
		ada_options_fail(state, "--format=%s takes whole sessions: no --thread, --from, --to or --window", options->format->name);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &options->narrowing; return 0;
	case 'f':
		if (!strcmp(argument, "list")) {
			print_formats();
			exit(fflush(stdout) ? ADA_EXIT_FAILED : 0);
		}
		options->format = find_format(state, argument);
		return 0;
	case 'o': options->output = argument; return 0;
	case 'q': options->quiet = true; return 0;
	case OPTION_EVENTS: options->events = true; return 0;
	case OPTION_URL: return -ada_array_push(&options->urls, argument);
	case OPTION_USER: options->server.user = argument; return 0;
	case OPTION_PASSWORD: options->server.password_file = argument; return 0;
	case OPTION_DATABASE: options->server.database = argument; return 0;
	case OPTION_CLUSTER: options->server.cluster = argument; return 0;
	case OPTION_HOST: options->server.host_name = argument; return 0;
	case ARGP_KEY_ARG:
		if (options->reading.session)
			ada_options_fail(state, "unexpected argument '%s': one SESSION is exported at a time", argument);
		options->reading.session = argument;
		return 0;
	case ARGP_KEY_END: check(state, options); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options =
		(const struct argp_option[]){
			{ "format", 'f', "FORMAT", 0,
			  "perfetto chrome speedscope folded ctf csv rowbinary clickhouse sqlite; list: what they are", 0 },
			{ "output", 'o', "FILE", 0, "where to; of ctf a new directory", 0 },
			{ "events", OPTION_EVENTS, NULL, 0, "csv: a row an event, not a call", 0 },
			{ "quiet", 'q', NULL, 0, "don't say at the end what it covers", 0 },
			{ "url", OPTION_URL, "URL", 0, "clickhouse: http://HOST:8123; may be repeated", 0 },
			{ "user", OPTION_USER, "NAME", 0, "clickhouse: log in as", 0 },
			{ "password-file", OPTION_PASSWORD, "FILE", 0, "clickhouse: its first line", 0 },
			{ "database", OPTION_DATABASE, "NAME", 0, "clickhouse: default ada", 0 },
			{ "cluster", OPTION_CLUSTER, "NAME", 0, "clickhouse: over all its servers", 0 },
			{ "host", OPTION_HOST, "NAME", 0, "clickhouse: that recorded it", 0 },
			{},
		},
	.parser = parse_option,
	.args_doc = "[SESSION]",
	.doc = "Writes a session in another program's format.",
	.children = (const struct argp_child[]){ { .argp = &ada_cut_argp }, {} },
};

static void tell(const char *command, const struct ada_completeness *completeness)
{
	char events[ADA_UNITS_TEXT], lost[ADA_UNITS_TEXT];

	fprintf(stderr, "%s: exported %s event%s; ", command, ada_format_grouped(completeness->events, events),
		completeness->events == 1 ? "" : "s");
	if (completeness->lost)
		fprintf(stderr, "%s %s lost in what it covers\n", ada_format_grouped(completeness->lost, lost),
			completeness->lost == 1 ? "was" : "were");
	else if (completeness->complete)
		fputs("none was lost\n", stderr);
	else
		fputs("no loss is recorded, but the recording is not complete (`ada info` says why)\n", stderr);
}

static int write_export(struct ada_export *export, const struct options *options, bool *already, struct ada_error *error)
{
	struct ada_clickhouse_options server = options->server;

	if (options->format->kind != ADA_EXPORT_SERVER)
		return options->format->write(export, error);
	server.urls = options->urls.items;
	server.url_count = options->urls.count;
	return ada_export_clickhouse(export, &server, already, error);
}

/* Makes the export; returns the exit status. Nothing is left of an export that fails. */
static int run(const char *command, struct ada_export *export, const struct options *options)
{
	struct ada_error error = {};
	struct ada_target target;
	bool already = false;
	int result;

	ada_interrupt_catch(); /* before there is anything to remove */
	result = ada_target_open(&target, options->format, options->output, &error);
	if (result)
		return ada_interrupted() ? ada_interrupt_status() : ada_answer_fail(command, &error);
	if (target.stream)
		ada_output_open(export->output, target.fd);
	else
		export->output = NULL;
	export->path = target.inside;
	ada_progress_open(export->progress, "exporting", ada_export_events(export->selection));
	result = write_export(export, options, &already, &error);
	if (!result && export->output && !ada_output_flush(export->output))
		result = ada_error_system(&error, export->output->error, "can't write %s", target.name);
	ada_progress_close(export->progress);
	if (!result)
		result = ada_target_finish(&target, &error);
	ada_target_abandon(&target);
	if (result && ada_interrupted())
		return ada_interrupt_status();
	if (result)
		return ada_answer_fail(command, &error);
	if (already && !options->quiet)
		fprintf(stderr, "%s: the session is there already: nothing was done\n", command);
	else if (!options->quiet)
		tell(command, &export->completeness);
	if (export->paths_merged && !options->quiet)
		fprintf(stderr, "%s: there are too many paths: the rest of them are merged into [other paths]\n", command);
	return 0;
}

int ada_cmd_export(int argc, char **argv)
{
	static struct ada_output output;
	struct ada_selection selection = {};
	struct ada_session *session = NULL;
	struct ada_progress progress = {};
	struct ada_export export = { .selection = &selection, .output = &output, .progress = &progress };
	struct options options = {};
	struct ada_error error = {};
	int status;

	ada_options_parse(&argp, argc, argv, 0, &options);
	status = ada_answer_open(argv[0], &options.reading, &session);
	if (status)
		return status;
	export.events = options.events;
	if (ada_answer_select(&selection, session, &options.narrowing, &error))
		status = ada_answer_fail(argv[0], &error);
	else
		status = run(argv[0], &export, &options);
	if (!status)
		status = ada_answer_finish(argv[0], &output, session);
	ada_name_list_close(&export.names);
	ada_selection_close(&selection);
	ada_session_close(session);
	ada_array_free(&options.urls);
	return status;
}

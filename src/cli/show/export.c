/* ada export: a session for other programs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "cli/ground/answer.h"
#include "cli/ground/rows.h"
#include "cli/show/commands.h"
#include "cli/show/export_formats.h"
#include "cli/show/export_target.h"
#include "query/clickhouse/clickhouse.h"
#include "query/export/walk.h"
#include "trigger/trigger.h"

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

static void __attribute__((noreturn)) fail_format(const char *command, const char *name)
{
	struct ada_nearest *nearest = ada_nearest_open(name);
	char near[128] = "", all[256];

	for (size_t i = 0; i < ada_export_format_count; i++)
		ada_nearest_offer(nearest, ada_export_formats[i].name);
	ada_nearest_text(nearest, near, sizeof near);
	ada_nearest_close(nearest);
	list_formats(all, sizeof all);
	if (near[0])
		ada_options_fail(command, "unknown format '%s': did you mean %s? There are %s", name, near, all);
	ada_options_fail(command, "unknown format '%s': it is %s", name, all);
}

static void print_formats(void)
{
	for (size_t i = 0; i < ada_export_format_count; i++)
		printf("%-10s  %s\n", ada_export_formats[i].name, ada_export_formats[i].help);
}

static const struct ada_export_format *find_format(const char *command, const char *name)
{
	char all[256];

	list_formats(all, sizeof all);
	if (!name)
		ada_options_fail(command, "name a format with --format=FORMAT: %s", all);
	if (!strcmp(name, "list")) {
		print_formats();
		exit(fflush(stdout) ? ADA_EXIT_FAILED : 0);
	}
	for (size_t i = 0; i < ada_export_format_count; i++)
		if (!strcmp(name, ada_export_formats[i].name))
			return &ada_export_formats[i];
	fail_format(command, name);
}

/* Checks which options fit together. */
static void check(const struct ada_options *options, const struct ada_export_format *format)
{
	const char *command = options->command;

	if (options->events && strcmp(format->name, "csv"))
		ada_options_fail(command, "--events is of --format=csv");
	if (format->kind != ADA_EXPORT_SERVER) {
		if (options->urls.count || options->user || options->password_file || options->database || options->cluster ||
		    options->host)
			ada_options_fail(command, "--url, --user, --password-file, --database, --cluster and --host are of "
						  "--format=clickhouse");
		return;
	}
	if (!options->urls.count)
		ada_options_fail(command, "--format=%s goes to a server: name it with --url=http://HOST:8123", format->name);
	if (options->thread || options->from || options->to || options->window != UINT64_MAX)
		ada_options_fail(command, "--format=%s takes whole sessions: no --thread, --from, --to or --window", format->name);
}

static const struct ada_usage usage = { "[SESSION]", "Writes a session in another program's format." };

static void completeness_tell(const char *command, const struct ada_completeness *completeness)
{
	uint64_t missing = ada_completeness_lost(completeness);
	char events[ADA_UNITS_TEXT], lost[ADA_UNITS_TEXT], muted[ADA_MUTED_TEXT];

	fprintf(stderr, "%s: exported %s event%s; ", command, ada_format_grouped(completeness->events, events),
		completeness->events == 1 ? "" : "s");
	if (missing)
		fprintf(stderr, "%s %s lost in what it covers", ada_format_grouped(missing, lost), missing == 1 ? "was" : "were");
	else if (completeness->overwritten)
		fprintf(stderr, "%s older ones were overwritten, as asked, none was lost",
			ada_format_grouped(completeness->overwritten, lost));
	else if (completeness->complete)
		fputs("none was lost", stderr);
	else
		fputs("no loss is recorded, but the recording is not complete (`ada info` says why)", stderr);
	fprintf(stderr, "%s\n", ada_completeness_muted(muted, completeness));
}

static int write_export(struct ada_export *export, const struct ada_options *options, const struct ada_export_format *format, bool *already,
			struct ada_error *error)
{
	struct ada_clickhouse_options server = { .urls = options->urls.items,
						 .url_count = options->urls.count,
						 .database = options->database,
						 .cluster = options->cluster,
						 .user = options->user,
						 .password_file = options->password_file,
						 .host_name = options->host };

	if (format->kind != ADA_EXPORT_SERVER)
		return format->write(export, error);
	return ada_export_clickhouse(export, &server, already, error);
}

/* Makes the export; returns the exit status. Nothing is left of an export that fails. */
static int export_run(const char *command, struct ada_export *export, const struct ada_options *options,
		      const struct ada_export_format *format)
{
	struct ada_error error = {};
	struct ada_target target;
	bool already = false;
	int result;

	ada_interrupt_catch(); /* before there is anything to remove */
	result = ada_target_open(&target, format, options->output, &error);
	if (result)
		return ada_interrupted() ? ada_interrupt_status() : ada_answer_fail(command, &error);
	if (target.stream)
		ada_output_open(export->output, target.fd);
	else
		export->output = NULL;
	export->path = target.inside;
	ada_progress_open(export->progress, "exporting", ada_export_events(export->selection));
	result = write_export(export, options, format, &already, &error);
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
		completeness_tell(command, &export->completeness);
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
	struct ada_options options = {};
	const struct ada_export_format *format;
	struct ada_error error = {};
	int status;

	ada_options_take(&options, &usage, argc, argv);
	format = find_format(argv[0], options.export);
	check(&options, format);
	status = ada_answer_open(argv[0], &options, &session);
	if (status)
		return status;
	export.events = options.events;
	if (ada_answer_select(&selection, session, &options, &error))
		status = ada_answer_fail(argv[0], &error);
	else
		status = export_run(argv[0], &export, &options, format);
	if (!status)
		status = ada_answer_finish(argv[0], &output, session);
	ada_name_list_close(&export.names);
	ada_selection_close(&selection);
	ada_session_close(session);
	ada_options_free(&options);
	return status;
}

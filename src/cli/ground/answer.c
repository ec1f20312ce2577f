/* Opening a session for a command, and ending with the right status. */
#include "cli/ground/answer.h"
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include "base/fault.h"
#include "base/output.h"
#include "trigger/trigger.h"

int ada_answer_fail(const char *command, const struct ada_error *error)
{
	fprintf(stderr, "%s: %s\n", command, error->text);
	return ADA_EXIT_FAILED;
}

int ada_answer_open(const char *command, const struct ada_options *options, struct ada_session **session)
{
	struct ada_error error = {};

	ada_fault_catch();
	return ada_session_open(session, options->session, &error) ? ada_answer_fail(command, &error) : 0;
}

int ada_answer_select(struct ada_selection *selection, struct ada_session *session, const struct ada_options *options,
		      struct ada_error *error)
{
	int result = ada_clock_view_set(session, options->clock, error) ?:
			     ada_selection_open(selection, session, options->thread, options->from, options->to, error);

	return result || options->window == UINT64_MAX ? result : ada_selection_narrow(selection, options->window, error);
}

/* The file whose mapping has this address; NULL: none of the index files. */
static const struct ada_thread *thread_at(const struct ada_session *session, uintptr_t address)
{
	for (size_t i = 0; i < session->threads.count; i++) {
		const struct ada_thread *thread = &session->threads.items[i];

		for (uint32_t j = 0; thread->events && j < atf_thread_segments(thread->events); j++)
			if (atf_index_maps(atf_thread_segment(thread->events, j), address))
				return thread;
	}
	return NULL;
}

int ada_answer_fault(const char *command, const struct ada_session *session)
{
	const struct ada_thread *thread = thread_at(session, ada_fault_address());

	if (!ada_fault_address())
		return 0;
	if (thread)
		fprintf(stderr, "%s: %s/thread_%u: became shorter, or its disk failed, while it was read: ask again\n", command,
			thread->process->directory, thread->number);
	else
		fprintf(stderr, "%s: a file became shorter, or its disk failed, while it was read: ask again\n", command);
	return ADA_EXIT_FAILED;
}

static bool means_any(const struct ada_session *session, const struct ada_pattern *pattern)
{
	for (size_t i = 0; i < session->modules.count; i++) {
		struct ada_module *module = session->modules.items[i];

		ada_module_load(module);
		for (uint32_t j = 0; j < module->symbol_count; j++) {
			char place[ADA_PLACE_TEXT];
			struct ada_names names;
			bool meant;

			if (!ada_pattern_may_match(pattern, module->symbols[j].mangled))
				continue;
			ada_module_names(&names, module, j, place);
			meant = ada_pattern_matches(pattern, &names);
			ada_names_close(&names);
			if (meant)
				return true;
		}
	}
	return false;
}

/* The functions' names that are nearest to what was asked for; "": none is near, or it isn't written as one name. */
static void find_near(const struct ada_session *session, const struct ada_pattern *pattern, char *near, size_t size)
{
	struct ada_nearest *nearest = pattern->kind == ADA_PATTERN_LITERAL ? ada_nearest_open(pattern->text) : NULL;

	*near = 0;
	if (!nearest)
		return;
	for (size_t i = 0; i < session->modules.count; i++) {
		struct ada_module *module = session->modules.items[i];

		for (uint32_t j = 0; j < module->symbol_count; j++) {
			char name[ADA_NAME_BUFFER], brief[ADA_NAME_BUFFER];

			ada_nearest_offer_function(nearest, ada_name_short(ada_module_function(module, j, name), brief));
		}
	}
	ada_nearest_text(nearest, near, size);
	ada_nearest_close(nearest);
}

static void put_unmatched(struct ada_output *output, const char *what, const struct ada_pattern *pattern, const char *near,
			  const char *behind)
{
	char *shown = ada_output_prepare(ADA_FORMAT_TEXT, pattern->text);

	ada_output_format(output, "No %s of the recording is called '%s'%s", what, shown ? shown : "", *near ? " (near it: " : "");
	ada_output_text(output, near);
	ada_output_format(output, "%s: %s\n", *near ? ")" : "", behind);
	free(shown);
}

void ada_answer_unmatched(struct ada_output *output, const char *before, const struct ada_session *session,
			  const struct ada_pattern_list *patterns)
{
	for (size_t i = 0; i < patterns->items.count; i++) {
		const struct ada_pattern *pattern = &patterns->items.items[i];
		char near[256];

		if (means_any(session, pattern))
			continue;
		find_near(session, pattern, near, sizeof near);
		ada_output_string(output, before);
		put_unmatched(output, "function", pattern, near, "`ada query \"SELECT name FROM functions\"` lists them.");
	}
}

void ada_answer_unmatched_modules(struct ada_output *output, const struct ada_session *session, const struct ada_pattern_list *patterns)
{
	for (size_t i = 0; i < patterns->items.count; i++) {
		const struct ada_pattern *pattern = &patterns->items.items[i];
		struct ada_nearest *nearest = pattern->kind == ADA_PATTERN_LITERAL ? ada_nearest_open(pattern->text) : NULL;
		char near[256] = "";
		bool met = false;

		for (size_t k = 0; k < session->modules.count && !met; k++) {
			const struct ada_module *module = session->modules.items[k];

			met = ada_pattern_fits(pattern, ada_module_name(module)) || ada_pattern_fits(pattern, module->path);
			if (nearest)
				ada_nearest_offer_library(nearest, ada_module_name(module));
		}
		if (nearest) {
			ada_nearest_text(nearest, near, sizeof near);
			ada_nearest_close(nearest);
		}
		if (!met)
			put_unmatched(output, "program or library", pattern, near, "`ada info --format=json` lists them.");
	}
}

int ada_answer_finish(const char *command, struct ada_output *output, const struct ada_session *session)
{
	int status = ada_output_finish(output, command);
	const char *first = session->problems.count ? session->problems.items[0] : NULL;
	size_t count = session->problems.count;

	/* Tables of names are read at the first question for a name: then it is too late for the answer to name problems. */
	for (size_t i = 0; i < session->modules.count; i++) {
		const struct ada_module *module = session->modules.items[i];

		if (!module->table_path || !*module->problem.text)
			continue;
		first = first ? first : module->problem.text;
		count++;
	}
	if (!status)
		status = ada_answer_fault(command, session);
	if (!count || ada_fault_address())
		return status;
	fprintf(stderr, "%s: answered without what can't be read: %s", command, first);
	if (count > 1)
		fprintf(stderr, ", and %zu more (`ada verify` lists them)", count - 1);
	fputc('\n', stderr);
	return ADA_EXIT_FAILED;
}

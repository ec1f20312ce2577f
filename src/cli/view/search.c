/* Functions by name, and where they are called. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cli/view/names.h"

#define SHOWN_MAX 100u /* functions of an answer; more are counted */

struct search {
	struct ada_question *question;
	const char *text;
	struct ada_pattern_list patterns;
	ADA_ARRAY(const struct ada_function_stats *) found;
};

/* By its whole name behind a "="; else by a pattern, as commands take it, or by a part of its name, in any case. */
static bool name_fits(const struct search *search, const struct ada_function_stats *function)
{
	char buffer[ADA_NAME_BUFFER];
	const char *name = ada_module_function(function->module, function->function_id, buffer);

	if (*search->text == '=')
		return !strcmp(name, search->text + 1);
	return (!strpbrk(search->text, "*?[") && strcasestr(name, search->text)) ||
	       ada_module_is_meant(function->module, function->function_id, &search->patterns);
}

static int compare_totals(const void *left, const void *right)
{
	const struct ada_function_stats *a = *(const struct ada_function_stats *const *)left;
	const struct ada_function_stats *b = *(const struct ada_function_stats *const *)right;

	return a->total_ns != b->total_ns ? (a->total_ns < b->total_ns ? 1 : -1) : a->key < b->key ? -1 : a->key > b->key;
}

static void put_found(struct ada_output *output, const struct ada_function_stats *function)
{
	char buffer[ADA_NAME_BUFFER];

	ada_output_string(output, "{\"function\": ");
	ada_output_json(output, ada_module_function(function->module, function->function_id, buffer));
	ada_output_string(output, ", \"module\": ");
	ada_output_json(output, ada_module_name(function->module));
	ada_view_put(output, "calls", function->calls);
	ada_view_put(output, "total_ns", function->total_ns);
	ada_view_put(output, "max_ns", function->durations.count ? function->durations.max : 0);
	ada_output_string(output, "}");
}

/* The ids that the functions found have in a process. */
static size_t ids_in_process(const struct search *search, const struct ada_process *process, uint64_t *ids)
{
	size_t count = 0;

	for (size_t i = 0; i < process->modules.count; i++) {
		const struct ada_module *module = ada_view_counted_module(search->question->view, process->modules.items[i]);

		for (size_t j = 0; module && j < search->found.count; j++)
			if (search->found.items[j]->module == module)
				ids[count++] = ADA_FUNCTION_ID(i, ADA_FUNCTION_SYMBOL(search->found.items[j]->function_id));
	}
	return count;
}

static void put_columns(struct ada_output *output, size_t thread, uint64_t first, const bool *columns, uint32_t count)
{
	bool any = false;

	ada_output_string(output, "{\"thread\": ");
	ada_output_u64(output, thread);
	ada_view_put(output, "first", first);
	ada_output_string(output, ", \"columns\": [");
	for (uint32_t column = 0; column < count; column++) {
		if (!columns[column])
			continue;
		ada_output_string(output, any ? "," : "");
		ada_output_u64(output, column);
		any = true;
	}
	ada_output_string(output, "]}");
}

/* The columns with a call, thread by thread, and the first call's index_seq. */
static int put_hits(const struct search *search, const struct ada_zoom_view *range)
{
	const struct ada_view *view = search->question->view;
	struct ada_output *output = search->question->output;
	size_t most = 0;
	bool *columns, any = false;
	uint64_t *ids, first;
	int status = 0;

	for (size_t i = 0; i < view->session->processes.count; i++)
		most += view->session->processes.items[i]->modules.count;
	columns = malloc(range->columns);
	ids = malloc((most * search->found.count + 1) * sizeof *ids);
	if (!columns || !ids)
		status = -ENOMEM;
	for (size_t i = 0; i < view->session->threads.count && !status; i++) {
		const struct ada_zoom_thread *thread = &view->zoom.threads[i];

		memset(columns, 0, range->columns);
		ada_zoom_enter(thread);
		status = ada_zoom_find(columns, &first, thread, range, ids, ids_in_process(search, thread->thread->process, ids));
		ada_zoom_leave(thread);
		if (status || first == UINT64_MAX)
			continue;
		ada_output_string(output, any ? ",\n" : "\n");
		put_columns(output, i, first, columns, range->columns);
		any = true;
	}
	free(columns);
	free(ids);
	return status;
}

static int find_functions(struct search *search)
{
	const struct ada_stats *stats = &search->question->view->stats;
	int status = 0;

	for (size_t i = 0; i < stats->functions.count && !status; i++) {
		const struct ada_function_stats *function = stats->functions.items[i];

		if (name_fits(search, function))
			status = ada_array_push(&search->found, function);
	}
	if (search->found.count)
		qsort(search->found.items, search->found.count, sizeof *search->found.items, compare_totals);
	return status;
}

/* Argument `function`. */
int ada_view_search(struct ada_question *question)
{
	struct ada_view *view = question->view;
	struct search search = { .question = question, .text = ada_question_text(question, "function") };
	struct ada_output *output = question->output;
	struct ada_zoom_view range;
	int status = ada_question_view(question, &range);

	if (!status && (!search.text || !*search.text))
		status = ada_error_set(&question->error, EINVAL, "function: a name, a part of one, or a glob");
	if (!status && !atomic_load(&view->counted))
		status = ada_error_set(&question->error, EAGAIN, "the session is being read");
	if (!status)
		status = *search.text == '=' ? 0 : ada_pattern_list_add(&search.patterns, search.text, &question->error);
	if (status)
		goto done;
	pthread_mutex_lock(&view->lock);
	status = find_functions(&search);
	ada_output_string(output, "{\"functions\": [");
	for (size_t i = 0; i < search.found.count && i < SHOWN_MAX; i++) {
		ada_output_string(output, i ? ",\n" : "\n");
		put_found(output, search.found.items[i]);
	}
	ada_output_string(output, "]");
	ada_view_put(output, "found", search.found.count);
	ada_output_string(output, ", \"hits\": [");
	if (!status)
		status = put_hits(&search, &range);
	ada_output_string(output, "]}\n");
	pthread_mutex_unlock(&view->lock);
	if (status)
		ada_error_set(&question->error, -status, "out of memory");
done:
	ada_pattern_list_free(&search.patterns);
	ada_array_free(&search.found);
	return status;
}

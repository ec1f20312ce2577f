/* Functions by name, and the columns in which they are called. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cli/view/names.h"
#include "cli/view/search.h"

#define SHOWN_MAX 100u	    /* functions of an answer; more are counted */
#define LOOK_NS 60000000ull /* for so long an answer looks, at most; then it says how far it came */

/* --- functions ---------------------------------------------------------------------------------------------------------- */

int ada_view_search_open(struct ada_view_search *search, struct ada_question *question)
{
	int status = 0;

	*search = (struct ada_view_search){ .question = question, .text = ada_question_text(question, "function") };
	if (!search->text || !*search->text)
		status = ada_error_set(&question->error, EINVAL, "function: a name, a part of one, or a glob");
	if (!status)
		status = ada_question_number(question, "for", LOOK_NS, &search->look_ns);
	if (!status && !atomic_load(&question->view->counted))
		status = ada_error_set(&question->error, EAGAIN, "the session is being read");
	if (!status && *search->text != '=')
		status = ada_pattern_list_add(&search->patterns, search->text, &question->error);
	if (search->look_ns > LOOK_NS)
		search->look_ns = LOOK_NS;
	return status;
}

void ada_view_search_close(struct ada_view_search *search)
{
	for (size_t i = 0; i < search->known.count; i++) {
		free(search->known.items[i]->ids);
		free(search->known.items[i]);
	}
	ada_array_free(&search->known);
	ada_array_free(&search->found);
	ada_pattern_list_free(&search->patterns);
}

/* By its whole name behind a "="; else by a pattern, as commands take it, or by a part of its name, in any case. */
static bool name_fits(const struct ada_view_search *search, const struct ada_function_stats *function)
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

int ada_view_search_functions(struct ada_view_search *search)
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

static int find_ids(const struct ada_view_search *search, struct ada_view_known *known)
{
	const struct ada_process *process = known->process;
	size_t count = 0;

	known->ids = malloc((process->modules.count * search->found.count + 1) * sizeof *known->ids);
	if (!known->ids)
		return -ENOMEM;
	for (size_t i = 0; i < process->modules.count; i++) {
		const struct ada_module *module = ada_view_counted_module(search->question->view, process->modules.items[i]);

		for (size_t j = 0; module && j < search->found.count; j++)
			if (search->found.items[j]->module == module)
				known->ids[count++] = ADA_FUNCTION_ID(i, ADA_FUNCTION_SYMBOL(search->found.items[j]->function_id));
	}
	ada_zoom_functions_make(&known->functions, known->ids, count);
	return 0;
}

const struct ada_zoom_functions *ada_view_search_in(struct ada_view_search *search, const struct ada_process *process)
{
	struct ada_view_known *last = search->known.count ? search->known.items[search->known.count - 1] : NULL;

	if (last && last->process == process) /* its threads lie side by side */
		return &last->functions;
	last = calloc(1, sizeof *last);
	if (!last || ada_array_push(&search->known, last)) {
		free(last);
		return NULL;
	}
	last->process = process;
	return find_ids(search, last) ? NULL : &last->functions;
}

/* --- the answer --------------------------------------------------------------------------------------------------------- */

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

/* Where a search began and, behind it, stopped: an event of a thread. */
struct place {
	uint64_t thread, seq;
};

/* The columns with a call, thread by thread, and the first call's index_seq. place->seq becomes UINT64_MAX where there was time for all. */
static int put_hits(struct ada_view_search *search, const struct ada_zoom_view *range, struct place *place)
{
	const struct ada_view *view = search->question->view;
	uint64_t until_ns = ada_view_now_ns() + search->look_ns, since = place->seq, first;
	bool *columns = malloc(range->columns), any = false;
	int status = columns ? 0 : -ENOMEM;

	place->seq = UINT64_MAX;
	for (size_t i = place->thread; i < view->session->threads.count && !status && place->seq == UINT64_MAX; i++, since = 0) {
		const struct ada_zoom_thread *thread = &view->zoom.threads[i];
		const struct ada_zoom_functions *functions = ada_view_search_in(search, thread->thread->process);

		if (!functions) {
			status = -ENOMEM;
			break;
		}
		memset(columns, 0, range->columns);
		ada_zoom_enter(thread);
		*place = (struct place){ i, ada_zoom_find(columns, &first, thread, range, functions, since, until_ns) };
		ada_zoom_leave(thread);
		if (first == UINT64_MAX)
			continue;
		ada_output_string(search->question->output, any ? ",\n" : "\n");
		put_columns(search->question->output, i, first, columns, range->columns);
		any = true;
	}
	free(columns);
	return status;
}

static int put_answer(struct ada_view_search *search, const struct ada_zoom_view *range, struct place *place)
{
	struct ada_output *output = search->question->output;
	int status = ada_view_search_functions(search);

	ada_output_string(output, "{\"functions\": [");
	for (size_t i = 0; i < search->found.count && i < SHOWN_MAX; i++) {
		ada_output_string(output, i ? ",\n" : "\n");
		put_found(output, search->found.items[i]);
	}
	ada_output_string(output, "]");
	ada_view_put(output, "found", search->found.count);
	ada_output_string(output, ", \"hits\": [");
	if (!status)
		status = put_hits(search, range, place);
	ada_output_string(output, "]");
	if (place->seq != UINT64_MAX) {
		ada_output_string(output, ", \"left\": {\"thread\": ");
		ada_output_u64(output, place->thread);
		ada_view_put(output, "seq", place->seq);
		ada_output_string(output, "}");
	}
	ada_output_string(output, "}\n");
	return status;
}

/* Argument `function`. Where there wasn't time for all, `left` says what the next question goes on with as `thread` and `seq`. */
int ada_view_search(struct ada_question *question)
{
	struct ada_view_search search = {};
	struct ada_zoom_view range;
	struct place place;
	int status = ada_question_view(question, &range);

	if (!status)
		status = ada_question_number(question, "thread", 0, &place.thread);
	if (!status)
		status = ada_question_number(question, "seq", 0, &place.seq);
	if (!status)
		status = ada_view_search_open(&search, question);
	if (!status) {
		pthread_mutex_lock(&question->view->lock);
		status = put_answer(&search, &range, &place);
		pthread_mutex_unlock(&question->view->lock);
		if (status)
			ada_error_set(&question->error, -status, "out of memory");
	}
	ada_view_search_close(&search);
	return status;
}

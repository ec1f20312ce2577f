#include "cli/live/board.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"

static const char *const names[ADA_BOARD_SORTS] = { "self", "calls", "total", "p99", "max" };

const char *ada_board_sort_name(enum ada_board_sort sort)
{
	return names[sort];
}

bool ada_board_sort_of(const char *name, enum ada_board_sort *sort)
{
	for (unsigned int i = 0; i < ADA_BOARD_SORTS; i++)
		if (!strcmp(name, names[i])) {
			*sort = (enum ada_board_sort)i;
			return true;
		}
	return false;
}

uint64_t ada_board_value(const struct ada_function_stats *function, enum ada_board_sort sort)
{
	switch (sort) {
	case ADA_BOARD_CALLS: return function->calls;
	case ADA_BOARD_TOTAL: return function->total_ns;
	case ADA_BOARD_P99: return function->durations.count ? ada_histogram_percentile(&function->durations, 990) : 0;
	case ADA_BOARD_MAX: return function->durations.max;
	default: return function->self_ns;
	}
}

/* Percentiles are looked up once a function. */
struct sorted {
	struct ada_function_stats *function;
	uint64_t value;
};

static int compare_rows(const void *left, const void *right)
{
	const struct sorted *a = left, *b = right;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return a->function->key < b->function->key ? -1 : a->function->key > b->function->key;
}

static bool is_shown(const struct ada_board *board, const struct ada_function_stats *function)
{
	char name[ADA_NAME_BUFFER];

	return !*board->filter || strcasestr(ada_module_function(function->module, function->function_id, name), board->filter);
}

int ada_board_fill(struct ada_board *board, const struct ada_scene *scene)
{
	size_t count = scene->stats.functions.count;
	struct sorted *sorted = malloc((count + 1) * sizeof *sorted);
	size_t shown = 0;

	board->rows.count = 0;
	if (!sorted || ada_array_reserve(&board->rows, count + 1)) {
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		struct ada_function_stats *function = scene->stats.functions.items[i];

		if (is_shown(board, function))
			sorted[shown++] = (struct sorted){ function, ada_board_value(function, board->sort) };
	}
	qsort(sorted, shown, sizeof *sorted, compare_rows);
	for (size_t i = 0; i < shown; i++)
		board->rows.items[board->rows.count++] = sorted[i].function;
	free(sorted);
	return 0;
}

void ada_board_close(struct ada_board *board)
{
	ada_array_free(&board->rows);
}

uint64_t ada_board_identity(const struct ada_function_stats *function)
{
	uint64_t symbol = ADA_FUNCTION_SYMBOL(function->function_id);
	uint64_t file = function->module ? ada_hash_bytes(function->module->path, strlen(function->module->path)) : 0;

	return file ^ ada_hash_bytes(&symbol, sizeof symbol);
}

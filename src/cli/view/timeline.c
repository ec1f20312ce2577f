/* The picture of some threads: slices by column, and what lanes.c adds.
 *
 * A picture that would take long has columns twice as wide, or four times, as `coarse` says: the page asks for exact ones when nobody zooms. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cli/view/names.h"

#define LEAVES 1500u	    /* that one answer reads, of all threads together: 20 us each */
#define AHEAD_NS 120000000u /* for so long an answer reads what isn't read yet: the page asks again while that comes */

/* One slice is eight numbers: depth, column, start, duration, function, calls and their time in this column, index_seq. A call without a
 * known end has index_seq -1; one that began before the view counts no calls. */
static void put_slice(struct ada_output *output, bool *first, const uint64_t numbers[7], uint64_t position)
{
	if (!*first)
		ada_output_bytes(output, ",", 1);
	ada_output_numbers(output, numbers, 7);
	if (position == UINT64_MAX)
		ada_output_string(output, "-1");
	else
		ada_output_u64(output, position);
	*first = false;
}

static void put_picture(struct ada_output *output, const struct ada_view *view, const struct ada_zoom_thread *thread,
			const struct ada_zoom_picture *picture, uint32_t coarse, struct ada_view_names *names)
{
	const struct ada_process *process = thread->thread->process;
	uint32_t columns = picture->view.columns;
	bool first = true;

	for (size_t i = 0; i < picture->before.count; i++) {
		const struct ada_zoom_open *open = &picture->before.items[i];
		uint64_t numbers[7] = { open->depth,
					0,
					ada_view_relative(view, open->start_ns),
					open->end_ns - open->start_ns,
					ada_view_name(names, process, open->function_id),
					0,
					0 };

		put_slice(output, &first, numbers, open->position);
	}
	for (uint32_t depth = 0; depth < picture->depths; depth++)
		for (uint32_t column = 0; column < columns; column++) {
			const struct ada_zoom_cell *cell = &picture->cells[(size_t)depth * columns + column];
			uint64_t numbers[7] = { depth, column * coarse, 0, cell->duration_ns, 0, cell->calls, cell->busy_ns };

			if (!cell->calls)
				continue;
			numbers[2] = ada_view_relative(view, cell->start_ns);
			numbers[4] = ada_view_name(names, process, cell->function_id);
			put_slice(output, &first, numbers, cell->position);
		}
}

/* Columns that are one lie where each would lie alone; the last may reach beyond the range. */
static struct ada_zoom_view made_coarse(const struct ada_zoom_view *range, uint32_t coarse)
{
	struct ada_zoom_view view = *range;
	unsigned __int128 end;

	view.columns = (range->columns + coarse - 1) / coarse;
	end = range->from_ns + (unsigned __int128)(range->to_ns - range->from_ns) * view.columns * coarse / range->columns;
	view.to_ns = end < UINT64_MAX ? (uint64_t)end : UINT64_MAX;
	return view;
}

/* What one thread of an answer may cost. */
struct share {
	uint64_t leaves; /* that are read for its picture */
	uint32_t samples;
	uint64_t ahead_ns;
};

static int put_thread(struct ada_question *question, size_t number, const struct ada_zoom_view *range, const struct share *share,
		      struct ada_view_names *names)
{
	struct ada_zoom_thread *thread = &question->view->zoom.threads[number];
	struct ada_output *output = question->output;
	struct ada_zoom_view drawn;
	struct ada_zoom_picture picture;
	uint32_t coarse;
	int status;

	ada_zoom_enter(thread);
	status = ada_zoom_ahead(thread, range, share->samples, ada_view_now_ns() + share->ahead_ns);
	coarse = ada_zoom_coarse(thread, range, share->leaves);
	drawn = made_coarse(range, coarse);
	status = ada_zoom_draw(&picture, thread, &drawn) ?: status;
	if (status) {
		ada_error_set(&question->error, -status, "out of memory");
	} else {
		ada_output_string(output, "{\"thread\": ");
		ada_output_u64(output, number);
		ada_output_string(output, picture.cut ? ", \"cut\": true, \"slices\": [" : ", \"cut\": false, \"slices\": [");
		put_picture(output, question->view, thread, &picture, coarse, names);
		ada_output_string(output, "]");
		ada_view_put(output, "coarse", coarse);
		status = ada_view_put_lanes(output, question->view, thread, range);
		ada_output_string(output, "}");
	}
	ada_zoom_leave(thread);
	ada_zoom_picture_free(&picture);
	return status;
}

static size_t count_numbers(const char *text)
{
	size_t count = 1;

	for (; *text; text++)
		count += *text == ',';
	return count;
}

/* Argument `threads`: numbers with commas between. With `exact` columns aren't made coarser where that would take long. */
int ada_view_timeline(struct ada_question *question)
{
	struct ada_view *view = question->view;
	const char *text = ada_question_text(question, "threads");
	struct ada_view_names names = {};
	uint64_t threads = count_numbers(text ?: ""), exact;
	struct share share = { LEAVES / threads, LEAVES / (uint32_t)threads + 1, AHEAD_NS / threads };
	struct ada_zoom_view range;
	int status = ada_question_view(question, &range);
	bool first = true;

	if (!status)
		status = ada_question_number(question, "exact", !question->connection, &exact);
	if (status)
		return status;
	if (exact)
		share.leaves = UINT64_MAX;
	ada_output_string(question->output, "{\"threads\": [");
	pthread_mutex_lock(&view->lock);
	for (char *end; text && *text && !status; text = *end ? end + 1 : end) {
		uint64_t number = strtoull(text, &end, 10);

		if (end == text || (*end && *end != ',') || number >= view->session->threads.count) {
			status = ada_error_set(&question->error, EINVAL, "threads: the session has %zu", view->session->threads.count);
			break;
		}
		ada_output_string(question->output, first ? "\n" : ",\n");
		first = false;
		status = put_thread(question, number, &range, &share, &names);
	}
	ada_output_string(question->output, "]");
	ada_view_names_put(question->output, &names);
	pthread_mutex_unlock(&view->lock);
	ada_output_string(question->output, "}\n");
	ada_view_names_free(&names);
	return status;
}

/* A lane says, for the middle of each of its columns, in which call the thread is then: the innermost one that is open. Neighbouring
 * columns in the same call are one slice with its name. So a lane costs what its columns cost, whatever lies between them. */
#include "cli/tui/lanes.h"
#include <stdio.h>
#include <string.h>
#include "cli/screen/screen.h"
#include "query/calls/stack.h"

#define HEAD 24		   /* columns: the thread's number and name */
#define LEAST_COLUMNS 20   /* of a lane, to be worth showing */
#define MOST_COLUMNS 512   /* what is further right stays empty */
#define LIST_LEAST 6	   /* rows that the calls keep */
#define BACK_EVENTS 16384u /* how far back an open call is looked for */

static int lane_columns(void)
{
	int columns = ada_screen_columns() - HEAD;

	return columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
}

int ada_tui_lanes_height(const struct ada_tui *tui, int rows)
{
	size_t threads = tui->session->threads.count;
	int most = (rows - LIST_LEAST) / 3;

	if (threads < 2 || most < 2 || lane_columns() < LEAST_COLUMNS)
		return 0;
	return 1 + (threads < (size_t)most ? (int)threads : most);
}

/* The first and the last column have their middles within the time. */
static uint64_t column_ns(const struct ada_tui_lanes *lanes, int column, int columns)
{
	return lanes->from_ns + (lanes->to_ns - lanes->from_ns) * (2 * (uint64_t)column + 1) / (2 * (uint64_t)columns);
}

enum lane_state { LANE_INSIDE, LANE_OUTSIDE, LANE_FAR };

/* What is open right before the event at `position`. */
static enum lane_state lane_at(const struct ada_thread *thread, uint64_t position, struct ada_frame *found)
{
	enum lane_state state = LANE_OUTSIDE;
	const struct ada_frame *frame = NULL;
	struct ada_lookback back;

	ada_lookback_open(&back, thread, position);
	back.floor = position > BACK_EVENTS ? position - BACK_EVENTS : 0;
	if (ada_lookback_get(&back, 0, &frame) || (!frame && back.gave_up))
		state = LANE_FAR;
	if (frame) {
		*found = *frame;
		state = LANE_INSIDE;
	}
	ada_lookback_close(&back);
	return state;
}

/* A name's byte as a column: names are strangers', and of other characters it isn't known how wide they are. */
static char plain(char byte)
{
	return byte > ' ' && byte < 0x7f ? byte : byte == ' ' ? ' ' : '?';
}

static void put_slice(char *text, int columns, const struct ada_thread *thread, uint64_t function_id)
{
	char buffer[ADA_NAME_BUFFER];
	const char *name = ada_module_function(ada_process_module(thread->process, function_id), function_id, buffer);

	*text = '|';
	for (int i = 1; i < columns; i++)
		text[i] = *name ? plain(*name++) : ' ';
}

/* '.' is outside every call, '?' where what is open began too far back. */
static void put_lane(const struct ada_thread *thread, const struct ada_tui_lanes *lanes, char *text, int columns)
{
	uint64_t position = UINT64_MAX;
	enum lane_state state = LANE_OUTSIDE;
	struct ada_frame frame = {};

	for (int i = 0, begin = 0; i < columns; i++) {
		uint64_t next = atf_thread_lower_bound(thread->events, column_ns(lanes, i, columns)), before = frame.position;
		enum lane_state was = state;

		if (next != position)
			state = lane_at(thread, next, &frame);
		position = next;
		if (state != LANE_INSIDE) {
			text[i] = state == LANE_FAR ? '?' : '.';
			continue;
		}
		if (!i || was != LANE_INSIDE || before != frame.position)
			begin = i;
		put_slice(text + begin, i + 1 - begin, thread, frame.function_id);
	}
}

/* The time from the first call above to the last one; v is the chosen one's. */
static void put_ruler(const struct ada_tui *tui, const struct ada_tui_lanes *lanes, int row, size_t first, int count, int columns)
{
	uint64_t span_ns = lanes->to_ns - lanes->from_ns;
	char line[HEAD + MOST_COLUMNS + 1], head[64];
	int at = span_ns ? (int)((double)(lanes->at_ns - lanes->from_ns) / (double)span_ns * (columns - 1)) : 0;

	snprintf(head, sizeof head, "threads %zu to %zu of %zu", first + 1, first + (size_t)count, tui->session->threads.count);
	memset(line, ' ', HEAD);
	memset(line + HEAD, '-', (size_t)columns);
	line[HEAD + columns] = 0;
	memcpy(line, head, strlen(head) < HEAD ? strlen(head) : HEAD - 1);
	line[HEAD + at] = 'v';
	ada_screen_put(row, ADA_INK_FAINT, line);
}

void ada_tui_lanes_draw(const struct ada_tui *tui, const struct ada_tui_lanes *lanes, int row, int height)
{
	size_t threads = tui->session->threads.count, count = (size_t)height - 1,
	       first = lanes->chosen > count / 2 ? lanes->chosen - count / 2 : 0;
	int columns = lane_columns();

	if (first + count > threads)
		first = threads - count;
	put_ruler(tui, lanes, row++, first, (int)count, columns);
	for (size_t i = first; i < first + count; i++) {
		const struct ada_thread *thread = &tui->session->threads.items[i];
		bool several = tui->session->processes.count > 1;
		char lane[MOST_COLUMNS + 1], head[512]; /* what is too long lies under the lane */

		snprintf(head, sizeof head, "%s%s%u %.64s", several ? thread->process->directory : "", several ? " " : "", thread->number,
			 thread->name);
		memset(lane, '.', (size_t)columns);
		lane[columns] = 0;
		if (thread->events)
			put_lane(thread, lanes, lane, columns);
		ada_screen_put(row, i == lanes->chosen ? ADA_INK_STRONG : ADA_INK_PLAIN, head);
		ada_screen_put_at(row, HEAD - 1, ADA_INK_PLAIN, " ");
		ada_screen_put_at(row++, HEAD, i == lanes->chosen ? ADA_INK_STRONG : ADA_INK_PLAIN, lane);
	}
}

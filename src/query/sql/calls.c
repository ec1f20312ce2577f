/* Table calls: the events of each thread, paired by query/calls.h; a row when a call ends.
 *
 * A range of time or index_seq begins reading there, not knowing the calls that are open. That matters only where
 *   - the caller is asked for: then the events before the range are read backwards, only as far as the innermost call around it
 *     (by the rule of query/stack.h), or
 *   - the end of an unknown call arrives while calls of the range are open that lie no higher: it may set them aside. Then
 *     the thread is read once more, with its whole stack, and what was already handed out is left away.
 * Reading goes on behind the range until its last call has ended. */
#include "base/interrupt.h"
#include "query/sql/table.h"
#include "query/stack.h"

#define PIECE (1u << 16)		/* events */

enum { THREAD, TID, INDEX_SEQ, END_INDEX_SEQ, START, END, DURATION, SELF, FUNCTION_ID, FUNCTION, CALLER, DEPTH, OUTCOME, PROCESS,
       PID, MODULE, CALLER_ID, ACROSS_LOSS };

struct calls_cursor {
	struct ada_sql_cursor cursor;
	struct ada_calls calls;
	bool opened;
	ADA_ARRAY(struct ada_call) ended;	/* calls to hand out */
	size_t at;			/* in them */
	uint64_t from_ns, to_ns;
	size_t next;			/* thread */
	const struct ada_thread *thread;	/* NULL: between threads */
	const struct ada_thread *of;		/* that `ended` is of */
	uint64_t first, end;		/* positions of the range */
	uint64_t position, kept;
	uint64_t open;			/* wanted calls that have not ended */
	uint64_t given, skip;		/* calls of this thread handed out; still to be left away */
	bool seeding, seeded;		/* the stack at the range's start is being put in, is in */
	uint32_t lowest;		/* depth of the range's events so far: no call before it that deep is open any more */
	struct { uint64_t position, function_id; uint32_t limit, depth; bool found; } outer;	/* read backwards up to there */
	bool no_memory;
};

static double count_calls(const struct ada_sql *sql)
{
	return sql->total / 2.0;
}

/* The function of the call before the range that is around what comes now; ADA_NO_FUNCTION: none is. */
static uint64_t find_outer(struct calls_cursor *cursor)
{
	uint64_t kept = cursor->outer.position;

	while (!(cursor->outer.found && cursor->outer.depth < cursor->lowest) && cursor->outer.position && cursor->outer.limit) {
		const struct ada_event *event = atf_thread_get(cursor->thread->events, --cursor->outer.position);

		if (event->event_kind < ADA_EVENT_CALL || event->event_kind > ADA_EVENT_EXCEPTION ||
		    event->call_depth >= cursor->outer.limit)
			continue;
		cursor->outer.limit = event->call_depth;
		cursor->outer.found = event->event_kind == ADA_EVENT_CALL;
		cursor->outer.depth = event->call_depth;
		cursor->outer.function_id = event->function_id;
		if (kept - cursor->outer.position > 4 * PIECE) {
			atf_thread_release(cursor->thread->events, cursor->outer.position, kept);
			kept = cursor->outer.position;
		}
	}
	return cursor->outer.found && cursor->outer.depth < cursor->lowest ? cursor->outer.function_id : ADA_NO_FUNCTION;
}

static void begun(void *context, struct ada_call *call)
{
	struct calls_cursor *cursor = context;
	struct ada_sql *sql = cursor->cursor.sql;

	if (cursor->seeding || call->position < cursor->first || call->position >= cursor->end)
		return;
	if (!cursor->cursor.query.any_function &&
	    !ada_sql_fits_function(&cursor->cursor.query,
				   ada_sql_function_of(sql, cursor->thread->process, call->function_id)))
		return;
	call->user = cursor;
	cursor->open++;
	if (call->caller_id == ADA_NO_FUNCTION && call->depth && !cursor->seeded && cursor->cursor.query.costly)
		call->caller_id = find_outer(cursor);
}

static void ended(void *context, const struct ada_call *call)
{
	struct calls_cursor *cursor = context;

	if (!call->user)
		return;
	cursor->open--;
	if (cursor->skip) {
		cursor->skip--;
		return;
	}
	cursor->given++;
	cursor->no_memory |= ada_array_push(&cursor->ended, *call) != 0;
}

/* Begins with what is open at the range's start. */
static int seed(struct calls_cursor *cursor)
{
	struct ada_stack stack;
	int result = ada_stack_at(&stack, cursor->thread, cursor->first);

	if (result)
		return SQLITE_NOMEM;
	cursor->seeding = true;
	for (size_t i = 0; i < stack.frames.count && !result; i++) {
		const struct ada_frame *frame = &stack.frames.items[i];

		result = ada_calls_feed(&cursor->calls, &(struct ada_event){ .timestamp_ns = frame->start_ns,
					.function_id = frame->function_id, .event_kind = ADA_EVENT_CALL,
					.call_depth = frame->depth }, frame->position);
	}
	cursor->seeding = false;
	cursor->seeded = true;
	ada_stack_close(&stack);
	return result ? SQLITE_NOMEM : SQLITE_OK;
}

/* Away with what the pairing still holds of a thread. */
static void drop_calls(struct calls_cursor *cursor)
{
	size_t ended_count = cursor->ended.count;

	ada_calls_end(&cursor->calls);
	cursor->ended.count = ended_count;
	cursor->open = 0;
}

static void begin_thread(struct calls_cursor *cursor)
{
	ada_sql_position_range(&cursor->cursor.query, cursor->thread, cursor->from_ns, cursor->to_ns, &cursor->first, &cursor->end);
	cursor->position = cursor->kept = cursor->first;
	cursor->given = cursor->skip = 0;
	cursor->seeded = !cursor->first;
	cursor->open = 0;
	cursor->lowest = UINT32_MAX;
	cursor->outer.position = cursor->first;
	cursor->outer.limit = UINT32_MAX;
	cursor->outer.found = false;
}

/* The end of a call that began before the range, and that may say something of those above it. */
static bool needs_stack(const struct calls_cursor *cursor, const struct ada_event *event)
{
	const struct ada_call *top;

	if (cursor->seeded || event->event_kind == ADA_EVENT_CALL || !cursor->calls.stack.count)
		return false;
	top = &cursor->calls.stack.items[cursor->calls.stack.count - 1];
	if (top->depth == event->call_depth && top->function_id == event->function_id)
		return false;
	if (event->event_kind != ADA_EVENT_RETURN && event->event_kind != ADA_EVENT_EXCEPTION)
		return false;
	if (top->depth < event->call_depth)
		return false;
	for (size_t i = cursor->calls.stack.count; i-- > 0;)
		if (cursor->calls.stack.items[i].depth == event->call_depth &&
		    cursor->calls.stack.items[i].function_id == event->function_id)
			return false;
	return true;
}

static int start_over(struct calls_cursor *cursor)
{
	uint64_t given = cursor->given;

	drop_calls(cursor);
	cursor->position = cursor->kept = cursor->first;
	cursor->given = 0;
	cursor->skip = given;
	return seed(cursor);
}

/* A piece of the thread; at its end nothing is left of it. */
static int read_piece(struct calls_cursor *cursor)
{
	uint64_t count;
	const struct ada_event *event = atf_thread_run(cursor->thread->events, cursor->position, &count);
	bool range_over = cursor->position >= cursor->end, over;

	if (count > PIECE)
		count = PIECE;
	if (!range_over && count > cursor->end - cursor->position)
		count = cursor->end - cursor->position;
	for (const struct ada_event *last = event + (event ? count : 0); event < last && !cursor->no_memory; event++) {
		if (range_over && !cursor->open)
			break;
		if (needs_stack(cursor, event))
			return start_over(cursor);
		if (event->call_depth < cursor->lowest && event->event_kind <= ADA_EVENT_EXCEPTION)
			cursor->lowest = event->call_depth;
		if (ada_calls_feed(&cursor->calls, event, cursor->position))
			cursor->no_memory = true;
		cursor->position++;
		cursor->cursor.sql->visited++;
	}
	if (cursor->no_memory)
		return SQLITE_NOMEM;
	over = cursor->position >= cursor->thread->count || (cursor->position >= cursor->end && !cursor->open);
	if (cursor->position - cursor->kept >= (over ? PIECE : 4 * PIECE)) {
		atf_thread_release(cursor->thread->events, cursor->kept, cursor->position);
		cursor->kept = cursor->position;
	}
	if (over) {
		/* Calls that are open when the recording ends; no others are wanted any more. */
		cursor->skip = 0;
		ada_calls_end(&cursor->calls);
		cursor->thread = NULL;
	}
	return cursor->no_memory ? SQLITE_NOMEM : SQLITE_OK;
}

static int find(struct calls_cursor *cursor)
{
	int result = SQLITE_OK;

	cursor->at = 0;
	cursor->ended.count = 0;
	while (!cursor->ended.count && result == SQLITE_OK) {
		if (ada_interrupted())
			return SQLITE_INTERRUPT;
		if (cursor->thread) {
			cursor->of = cursor->thread;
			result = read_piece(cursor);
			continue;
		}
		if (cursor->next == cursor->cursor.query.threads.count) {
			cursor->cursor.eof = true;
			return SQLITE_OK;
		}
		cursor->thread = cursor->cursor.query.threads.items[cursor->next++];
		begin_thread(cursor);
	}
	return result;
}

static int calls_first(struct ada_sql_cursor *base, struct ada_error *error)
{
	struct calls_cursor *cursor = (struct calls_cursor *)base;

	cursor->next = 0;
	cursor->thread = NULL;
	cursor->opened = true;
	ada_calls_open(&cursor->calls, &(struct ada_calls_receiver){ .context = cursor, .begun = begun, .ended = ended });
	ada_sql_time_range(&base->query, base->sql, &cursor->from_ns, &cursor->to_ns);
	base->eof = base->query.nothing || cursor->from_ns >= cursor->to_ns;
	return base->eof ? SQLITE_OK : find(cursor);
}

static int calls_next(struct ada_sql_cursor *base)
{
	struct calls_cursor *cursor = (struct calls_cursor *)base;

	return ++cursor->at < cursor->ended.count ? SQLITE_OK : find(cursor);
}

static void calls_reset(struct ada_sql_cursor *base)
{
	struct calls_cursor *cursor = (struct calls_cursor *)base;

	if (cursor->opened)
		ada_calls_close(&cursor->calls);
	ada_array_free(&cursor->ended);
	cursor->opened = cursor->no_memory = false;
}

static void put_caller(struct ada_sql *sql, sqlite3_context *context, int column, const struct ada_process *process,
		       const struct ada_call *call)
{
	const struct ada_sql_function *caller;

	if (call->caller_id == ADA_NO_FUNCTION)
		return;
	if (column == CALLER_ID) {
		sqlite3_result_int64(context, (int64_t)ada_process_function_key(process, call->caller_id));
		return;
	}
	caller = ada_sql_function_of(sql, process, call->caller_id);
	if (caller)
		ada_sql_result_name(context, caller);
	else
		sqlite3_result_error_nomem(context);
}

static void put_function(struct ada_sql *sql, sqlite3_context *context, int column, const struct ada_process *process,
			 const struct ada_call *call)
{
	const struct ada_sql_function *function = ada_sql_function_of(sql, process, call->function_id);

	if (!function)
		sqlite3_result_error_nomem(context);
	else if (column == FUNCTION)
		ada_sql_result_name(context, function);
	else
		sqlite3_result_text(context, function->module_name, -1, SQLITE_STATIC);
}

/* Columns of the end: null where it isn't known. */
static void put_end(sqlite3_context *context, int column, const struct ada_call *call)
{
	uint64_t duration_ns = call->end_ns - call->start_ns;

	if (call->outcome == ADA_OUTCOME_UNKNOWN || (column == END_INDEX_SEQ && call->outcome == ADA_OUTCOME_OPEN))
		return;
	if (column == END_INDEX_SEQ)
		sqlite3_result_int64(context, (int64_t)call->end_position);
	else if (column == END)
		ada_sql_result_u64(context, call->end_ns);
	else if (column == DURATION)
		ada_sql_result_u64(context, duration_ns);
	else
		ada_sql_result_u64(context, duration_ns > call->children_ns ? duration_ns - call->children_ns : 0);
}

static void calls_column(struct ada_sql_cursor *base, sqlite3_context *context, int column)
{
	static const char *const outcomes[] = { [ADA_OUTCOME_RETURN] = "return", [ADA_OUTCOME_EXCEPTION] = "exception",
						[ADA_OUTCOME_OPEN] = "open", [ADA_OUTCOME_UNKNOWN] = "unknown" };
	const struct calls_cursor *cursor = (struct calls_cursor *)base;
	const struct ada_call *call = &cursor->ended.items[cursor->at];
	const struct ada_thread *thread = cursor->of;

	switch (column) {
	case THREAD:
		sqlite3_result_int64(context, thread->number);
		break;
	case TID:
		sqlite3_result_int64(context, thread->tid);
		break;
	case INDEX_SEQ:
		sqlite3_result_int64(context, (int64_t)call->position);
		break;
	case START:
		ada_sql_result_u64(context, call->start_ns);
		break;
	case END_INDEX_SEQ:
	case END:
	case DURATION:
	case SELF:
		put_end(context, column, call);
		break;
	case FUNCTION_ID:
		sqlite3_result_int64(context, (int64_t)ada_process_function_key(thread->process, call->function_id));
		break;
	case FUNCTION:
	case MODULE:
		put_function(base->sql, context, column, thread->process, call);
		break;
	case CALLER:
	case CALLER_ID:
		put_caller(base->sql, context, column, thread->process, call);
		break;
	case DEPTH:
		sqlite3_result_int64(context, call->depth);
		break;
	case OUTCOME:
		sqlite3_result_text(context, outcomes[call->outcome], -1, SQLITE_STATIC);
		break;
	case PROCESS:
		sqlite3_result_text(context, thread->process->directory, -1, SQLITE_STATIC);
		break;
	case PID:
		sqlite3_result_int64(context, thread->process->pid);
		break;
	case ACROSS_LOSS:
		sqlite3_result_int64(context, call->across_loss);
		break;
	}
}

static int64_t calls_rowid(struct ada_sql_cursor *base)
{
	const struct calls_cursor *cursor = (struct calls_cursor *)base;

	return ada_sql_rowid(base->sql, cursor->of, cursor->ended.items[cursor->at].position);
}

const struct ada_sql_implementation ada_sql_calls = {
	.name = "calls", .cursor_bytes = sizeof(struct calls_cursor), .first = calls_first, .next = calls_next,
	.column = calls_column, .rowid = calls_rowid, .reset = calls_reset, .rows = count_calls,
	.costly = 1u << CALLER | 1u << CALLER_ID,
};

/* Table calls: the events of each thread, paired by query/calls/calls.h; a row when a call ends.
 *
 * A range of time or index_seq begins reading there, not knowing the calls that are open. That matters only where
 *   - the caller is asked for: then the events before the range are read backwards, only as far as the innermost call around it
 *     (query/calls/stack.h). What the range's events up to there say of the calls around it is kept until then, or
 *   - the end of an unknown call arrives while calls of the range are open that lie no higher: it may set them aside. Then
 *     the thread is read once more, with its whole stack, skipping what was already handed out.
 * Reading goes on behind the range until its last call has ended. */
#include "base/interrupt.h"
#include "query/calls/stack.h"
#include "query/session/sched.h"
#include "query/sql/parts.h"

#define PIECE (1u << 16) /* events */
#define LEAVING_MAX 4096

enum {
	THREAD,
	TID,
	INDEX_SEQ,
	END_INDEX_SEQ,
	START,
	END,
	DURATION,
	SELF,
	FUNCTION_ID,
	FUNCTION,
	CALLER,
	DEPTH,
	OUTCOME,
	PROCESS,
	PID,
	MODULE,
	CALLER_ID,
	ACROSS_LOSS,
	ON_CPU,
	OFF_CPU
};

/* What an event says of the calls before the range: those at its depth have left; where the event is an end, only if one of them is its
 * call. */
struct leaving {
	uint64_t function_id; /* ADA_NO_FUNCTION: of any function */
	uint32_t depth;
};

struct calls_cursor {
	struct ada_sql_cursor cursor;
	struct ada_calls calls;
	bool opened;
	ADA_ARRAY(struct ada_call) ended; /* calls to hand out */
	size_t at;			  /* in them */
	uint64_t from_ns, to_ns;
	size_t next;			 /* thread */
	const struct ada_thread *thread; /* NULL: between threads */
	const struct ada_thread *of;	 /* that `ended` is of */
	uint64_t first, end;		 /* positions of the range */
	uint64_t position, kept;
	uint64_t open;			   /* wanted calls that have not ended */
	uint64_t given, skip;		   /* calls of this thread handed out; still to be skipped */
	bool seeding, seeded;		   /* the stack at the range's start is being put in; has been put in */
	struct ada_lookback back;	   /* to the calls before the range */
	size_t left;			   /* so many of them have left since, */
	ADA_ARRAY(struct leaving) leaving; /* and whichever these show */
	bool no_memory;
};

static double count_calls(const struct ada_sql *sql)
{
	return sql->total / 2.0;
}

/* The innermost call before the range that has not left yet; NULL: none. */
static const struct ada_frame *innermost(struct calls_cursor *cursor)
{
	const struct ada_frame *frame = NULL;

	cursor->no_memory |= ada_lookback_get(&cursor->back, cursor->left, &frame) != 0;
	return frame;
}

static void leave(struct calls_cursor *cursor, const struct leaving *leaving)
{
	size_t before = cursor->left;
	const struct ada_frame *frame;

	while ((frame = innermost(cursor)) && frame->depth > leaving->depth)
		cursor->left++;
	if (frame && frame->depth == leaving->depth &&
	    (leaving->function_id == ADA_NO_FUNCTION || leaving->function_id == frame->function_id))
		cursor->left++;
	else if (leaving->function_id != ADA_NO_FUNCTION)
		cursor->left = before; /* a late end, on another stack */
}

static void leave_all(struct calls_cursor *cursor)
{
	for (size_t i = 0; i < cursor->leaving.count && !cursor->no_memory; i++)
		leave(cursor, &cursor->leaving.items[i]);
	cursor->leaving.count = 0;
}

/* An event that comes while no call of the range is open. */
static void note_leaving(struct calls_cursor *cursor, const struct ada_event *event)
{
	bool whatever = event->event_kind == ADA_EVENT_CALL || cursor->calls.after_loss;
	struct leaving leaving = { whatever ? ADA_NO_FUNCTION : event->function_id, event->call_depth };

	if (event->event_kind != ADA_EVENT_CALL && event->event_kind != ADA_EVENT_RETURN && event->event_kind != ADA_EVENT_EXCEPTION)
		return;
	while (whatever && cursor->leaving.count) {
		const struct leaving *last = &cursor->leaving.items[cursor->leaving.count - 1];

		if (last->function_id != ADA_NO_FUNCTION)
			break;
		if (last->depth <= leaving.depth)
			return;
		cursor->leaving.count--;
	}
	if (cursor->leaving.count >= LEAVING_MAX)
		leave_all(cursor);
	cursor->no_memory |= ada_array_push(&cursor->leaving, leaving) != 0;
}

/* The function of the innermost call before the range that is still open; ADA_NO_FUNCTION: none is. */
static uint64_t find_outer(struct calls_cursor *cursor)
{
	const struct ada_frame *frame;

	leave_all(cursor);
	frame = innermost(cursor);
	return frame ? frame->function_id : ADA_NO_FUNCTION;
}

static void begun(void *context, struct ada_call *call)
{
	struct calls_cursor *cursor = context;
	struct ada_sql *sql = cursor->cursor.sql;

	if (cursor->seeding || call->position < cursor->first || call->position >= cursor->end)
		return;
	if (!cursor->cursor.query.any_function &&
	    !ada_sql_fits_function(&cursor->cursor.query, ada_sql_function_of(sql, cursor->thread->process, call->function_id)))
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

/* Begins with the calls that are open at the range's start. */
static int seed(struct calls_cursor *cursor)
{
	struct ada_stack stack;
	int result = ada_stack_at(&stack, cursor->thread, cursor->first);

	if (result)
		return SQLITE_NOMEM;
	cursor->seeding = true;
	result = ada_stack_seed(&stack, &cursor->calls);
	cursor->seeding = false;
	cursor->seeded = true;
	ada_stack_close(&stack);
	return result ? SQLITE_NOMEM : SQLITE_OK;
}

/* Drops the calls that the pairing still holds of a thread. */
static void drop_calls(struct calls_cursor *cursor)
{
	size_t ended_count = cursor->ended.count;

	ada_calls_end(&cursor->calls, 0);
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
	cursor->left = cursor->leaving.count = 0;
	ada_lookback_close(&cursor->back);
	ada_lookback_open(&cursor->back, cursor->thread, cursor->first);
	cursor->calls.after_loss = cursor->back.after_loss;
}

/* Whether this ends a call that began before the range, and so may say something of the calls above it. */
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

/* Whether the event begins or ends an outermost call of the range: then calls before the range may have left. */
static bool is_outermost(const struct calls_cursor *cursor, const struct ada_event *event)
{
	const struct ada_calls *calls = &cursor->calls;

	return !calls->stack.count || (event->event_kind == ADA_EVENT_CALL && calls->stack.items[0].depth >= event->call_depth);
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

/* Reads a piece of the thread; at the thread's end drops what is left. */
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
		if (!cursor->seeded && cursor->cursor.query.costly && is_outermost(cursor, event))
			note_leaving(cursor, event);
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
		/* Calls that are open when the process ends; no others are wanted any more. */
		cursor->skip = 0;
		ada_calls_end(&cursor->calls, ada_process_end_ns(cursor->thread->process));
		cursor->thread = NULL;
	}
	return cursor->no_memory ? SQLITE_NOMEM : SQLITE_OK;
}

static int call_find(struct calls_cursor *cursor)
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
	return base->eof ? SQLITE_OK : call_find(cursor);
}

static int calls_next(struct ada_sql_cursor *base)
{
	struct calls_cursor *cursor = (struct calls_cursor *)base;

	return ++cursor->at < cursor->ended.count ? SQLITE_OK : call_find(cursor);
}

static void calls_reset(struct ada_sql_cursor *base)
{
	struct calls_cursor *cursor = (struct calls_cursor *)base;

	if (cursor->opened)
		ada_calls_close(&cursor->calls);
	ada_lookback_close(&cursor->back);
	ada_array_free(&cursor->leaving);
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
	uint64_t duration_ns = ada_call_duration(call);

	if (call->outcome == ADA_OUTCOME_UNKNOWN || (column == END_INDEX_SEQ && call->outcome == ADA_OUTCOME_OPEN))
		return;
	if (column == END_INDEX_SEQ)
		sqlite3_result_int64(context, (int64_t)call->end_position);
	else if (column == END)
		ada_sql_result_u64(context, call->end_ns);
	else if (column == DURATION)
		ada_sql_result_u64(context, duration_ns);
	else
		ada_sql_result_u64(context, ada_call_self(call));
}

/* Null where the recording has no such facts. */
static void put_cpu(sqlite3_context *context, int column, const struct ada_thread *thread, const struct ada_call *call)
{
	uint64_t off_ns;

	if (call->outcome == ADA_OUTCOME_UNKNOWN || !ada_sched_off_ns(ada_sched_of(thread), call->start_ns, call->end_ns, &off_ns))
		return;
	ada_sql_result_u64(context, column == OFF_CPU ? off_ns : call->end_ns - call->start_ns - off_ns);
}

static void calls_column(struct ada_sql_cursor *base, sqlite3_context *context, int column)
{
	static const char *const outcomes[] = { [ADA_OUTCOME_RETURN] = "return",
						[ADA_OUTCOME_EXCEPTION] = "exception",
						[ADA_OUTCOME_OPEN] = "open",
						[ADA_OUTCOME_UNKNOWN] = "unknown" };
	const struct calls_cursor *cursor = (struct calls_cursor *)base;
	const struct ada_call *call = &cursor->ended.items[cursor->at];
	const struct ada_thread *thread = cursor->of;

	switch (column) {
	case THREAD: sqlite3_result_int64(context, thread->number); break;
	case TID: sqlite3_result_int64(context, thread->tid); break;
	case INDEX_SEQ: sqlite3_result_int64(context, (int64_t)call->position); break;
	case START: ada_sql_result_u64(context, call->start_ns); break;
	case END_INDEX_SEQ:
	case END:
	case DURATION:
	case SELF: put_end(context, column, call); break;
	case FUNCTION_ID: sqlite3_result_int64(context, (int64_t)ada_process_function_key(thread->process, call->function_id)); break;
	case FUNCTION:
	case MODULE: put_function(base->sql, context, column, thread->process, call); break;
	case CALLER:
	case CALLER_ID: put_caller(base->sql, context, column, thread->process, call); break;
	case DEPTH: sqlite3_result_int64(context, call->depth); break;
	case OUTCOME: sqlite3_result_text(context, outcomes[call->outcome], -1, SQLITE_STATIC); break;
	case PROCESS: sqlite3_result_text(context, thread->process->directory, -1, SQLITE_STATIC); break;
	case PID: sqlite3_result_int64(context, thread->process->pid); break;
	case ON_CPU:
	case OFF_CPU: put_cpu(context, column, thread, call); break;
	case ACROSS_LOSS: sqlite3_result_int64(context, call->across_loss); break;
	}
}

static int64_t calls_rowid(struct ada_sql_cursor *base)
{
	const struct calls_cursor *cursor = (struct calls_cursor *)base;

	return ada_sql_rowid(base->sql, cursor->of, cursor->ended.items[cursor->at].position);
}

const struct ada_sql_implementation ada_sql_calls = { .name = "calls",
						      .cursor_bytes = sizeof(struct calls_cursor),
						      .first = calls_first,
						      .next = calls_next,
						      .column = calls_column,
						      .rowid = calls_rowid,
						      .reset = calls_reset,
						      .rows = count_calls,
						      .costly = 1u << CALLER | 1u << CALLER_ID };

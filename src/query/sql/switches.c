/* Table switches: the records of the scheduling lane as they are. */
#include "atf/sched/sched_list.h"
#include "query/session/sched.h"
#include "query/sql/parts.h"

enum { TIMESTAMP, TID, KIND, CPU, OTHER_TID, COUNT, PID };

struct switches_cursor {
	struct ada_sql_cursor cursor;
	const struct atf_sched_list *records;
	uint64_t at, end;
};

static int switches_first(struct ada_sql_cursor *base, struct ada_error *error)
{
	struct switches_cursor *cursor = (struct switches_cursor *)base;
	uint64_t from_ns, to_ns, count;

	(void)error;
	cursor->records = ada_sched_records(base->sql->session);
	count = atf_sched_list_count(cursor->records);
	ada_sql_time_range(&base->query, base->sql, &from_ns, &to_ns);
	cursor->at = ada_first_not(i, 0, count, atf_sched_list_at(cursor->records, i)->timestamp_ns < from_ns);
	cursor->end = cursor->at;
	if (!base->query.nothing)
		cursor->end = ada_first_not(i, cursor->at, count, atf_sched_list_at(cursor->records, i)->timestamp_ns < to_ns);
	base->eof = cursor->at >= cursor->end;
	return SQLITE_OK;
}

static int switches_next(struct ada_sql_cursor *base)
{
	struct switches_cursor *cursor = (struct switches_cursor *)base;

	base->eof = ++cursor->at >= cursor->end;
	return SQLITE_OK;
}

static void switches_column(struct ada_sql_cursor *base, sqlite3_context *context, int column)
{
	static const char *const kinds[] = {
		[ATF_SCHED_OFF] = "off",     [ATF_SCHED_PREEMPTED] = "preempted", [ATF_SCHED_ON] = "on",
		[ATF_SCHED_FAULT] = "fault", [ATF_SCHED_LOST] = "lost",		  [ATF_SCHED_PAUSED] = "paused"
	};
	const struct switches_cursor *cursor = (struct switches_cursor *)base;
	const AtfSchedEvent *event = atf_sched_list_at(cursor->records, cursor->at);
	bool of_thread = event->kind != ATF_SCHED_LOST && event->kind != ATF_SCHED_PAUSED;

	switch (column) {
	case TIMESTAMP: ada_sql_result_u64(context, event->timestamp_ns); break;
	case TID:
		if (of_thread)
			sqlite3_result_int64(context, event->thread_id);
		break;
	case KIND:
		if (event->kind < sizeof kinds / sizeof *kinds && kinds[event->kind])
			sqlite3_result_text(context, kinds[event->kind], -1, SQLITE_STATIC);
		break;
	case CPU: sqlite3_result_int64(context, event->cpu); break;
	case OTHER_TID:
		if (event->other_id)
			sqlite3_result_int64(context, event->other_id);
		break;
	case COUNT: ada_sql_result_u64(context, event->count); break;
	case PID:
		if (of_thread)
			sqlite3_result_int64(context, event->process_id);
		break;
	}
}

static int64_t switches_rowid(struct ada_sql_cursor *base)
{
	return (int64_t)((struct switches_cursor *)base)->at;
}

static double count_switches(const struct ada_sql *sql)
{
	return (double)atf_sched_list_count(ada_sched_records(sql->session));
}

const struct ada_sql_implementation ada_sql_switches = { .name = "switches",
							 .cursor_bytes = sizeof(struct switches_cursor),
							 .first = switches_first,
							 .next = switches_next,
							 .column = switches_column,
							 .rowid = switches_rowid,
							 .rows = count_switches };

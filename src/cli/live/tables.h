/* What `ada top` says of a scene, in text and in JSON. */
#ifndef ADA_CLI_LIVE_TABLES_H
#define ADA_CLI_LIVE_TABLES_H
#include "base/output.h"
#include "cli/live/board.h"
#include "cli/live/trend.h"
#include "cli/live/watch.h"

/* The line of the session: no newline. */
void ada_tables_head(const struct ada_watch *watch, struct ada_output *output);
/* The same where there is less room, and the time is told elsewhere. */
void ada_tables_brief(const struct ada_watch *watch, struct ada_output *output);
/* Rows [first, first + count) of the functions; trend NULL: no such column. 0 or -ENOMEM. */
struct ada_tables_trend {
	const struct ada_trend *trend;
	bool utf8;
};
int ada_tables_functions(const struct ada_scene *scene, const struct ada_board *board, uint64_t first, uint64_t count,
			 const struct ada_tables_trend *trend, enum ada_format format, struct ada_output *output);
int ada_tables_threads(const struct ada_scene *scene, uint64_t first, uint64_t count, enum ada_format format, struct ada_output *output);
#endif

/* Writing a selection in other programs' formats.
 *
 * All formats hold the same calls, by the rules of query/calls/calls.h and stats.h: a call belongs to the selection where it begins in
 * it, with its whole duration. Formats of begin and end events cut calls at the selection's end, and begin with those that are
 * open at its start (query/calls/stack.h). query/export/walk.h finds both.
 */
#ifndef ADA_QUERY_EXPORT_H
#define ADA_QUERY_EXPORT_H
#include "base/output.h"
#include "base/progress.h"
#include "query/session/name_list.h"
#include "query/session/selection.h"

struct ada_export {
	const struct ada_selection *selection;
	struct ada_name_list names;
	struct ada_output *output;	      /* of a format that is one stream */
	const char *path;		      /* of the others: the file to fill, or the directory to make */
	bool events;			      /* csv: a row an event, not a call */
	struct ada_progress *progress;	      /* of events done */
	struct ada_completeness completeness; /* filled in */
	bool paths_merged;		      /* the same: there were more than ADA_TREE_NODES */
};

struct ada_export_format {
	const char *name;
	const char *help;
	enum { ADA_EXPORT_TEXT, ADA_EXPORT_BINARY, ADA_EXPORT_FILE, ADA_EXPORT_DIRECTORY, ADA_EXPORT_SERVER } kind;
	/* 0 or -errno; -EINTR once ada_interrupted(): the caller removes what was written. The caller also handles a failed write, which
	 * is in output->error. NULL: for ADA_EXPORT_SERVER, see query/clickhouse/clickhouse.h. */
	int (*write)(struct ada_export *export, struct ada_error *error);
};

int ada_export_perfetto(struct ada_export *export, struct ada_error *error);
int ada_export_chrome(struct ada_export *export, struct ada_error *error);
int ada_export_speedscope(struct ada_export *export, struct ada_error *error);
int ada_export_folded(struct ada_export *export, struct ada_error *error);
int ada_export_svg(struct ada_export *export, struct ada_error *error);
int ada_export_ctf(struct ada_export *export, struct ada_error *error);
int ada_export_csv(struct ada_export *export, struct ada_error *error);
int ada_export_rowbinary(struct ada_export *export, struct ada_error *error);
int ada_export_sqlite(struct ada_export *export, struct ada_error *error);
#endif

/* `ada report --diff`: the functions of two recordings side by side. */
#ifndef ADA_CLI_REPORT_DIFF_H
#define ADA_CLI_REPORT_DIFF_H
#include "base/output.h"
#include "query/sums/diff.h"

enum ada_report_side { ADA_SIDE_CALLS, ADA_SIDE_TOTAL, ADA_SIDE_SELF, ADA_SIDE_MEAN, ADA_SIDE_P50, ADA_SIDE_P99, ADA_SIDE_FIELDS };

struct ada_report_diff {
	enum ada_format format;
	const char *sort;			  /* function, module, or by the change in calls, total, self, mean, p50, p99 */
	const struct ada_pattern_list *functions; /* only these; empty: all */
	uint64_t limit;				  /* rows of functions that are compared, and as many of those that aren't */
	bool source, full_names;
	bool muted; /* in one of the two functions were left out for some of the time: these aren't compared, and stand behind the others */
};

bool ada_report_diff_sorts(const char *field);
/* In JSON `"rows": [...],`. 0 or -ENOMEM. */
int ada_report_diff_put(const struct ada_report_diff *how, const struct ada_diff *diff, struct ada_output *output);
#endif

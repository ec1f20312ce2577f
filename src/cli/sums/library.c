#include "cli/sums/library.h"
#include <errno.h>
#include <stdlib.h>

#define SHARE_MIN_PERCENT 25 /* of all functions' own time */

/* Whether some process recorded its own functions. */
static bool is_traced(const struct ada_session *session, const struct ada_function_stats *function)
{
	for (size_t i = 0; i < session->processes.count; i++) {
		const struct ada_process *process = session->processes.items[i];

		if (ada_process_module(process, function->function_id) == function->module &&
		    ada_process_traces(process, function->function_id))
			return true;
	}
	return false;
}

int ada_library_put(const struct ada_stats *stats, const struct ada_session *session, struct ada_output *output)
{
	uint64_t *of_module = calloc(session->modules.count + 1, sizeof *of_module), all_ns = 0;
	const struct ada_function_stats *most = NULL;
	char glob[ADA_LIBRARY_GLOB];

	if (!of_module)
		return -ENOMEM;
	for (size_t i = 0; i < stats->functions.count; i++) {
		const struct ada_function_stats *function = stats->functions.items[i];

		all_ns += function->self_ns;
		if (!function->module || !ada_module_is_library(function->module, glob) || is_traced(session, function))
			continue;
		of_module[function->module->number] += function->self_ns;
		if (!most || of_module[function->module->number] > of_module[most->module->number])
			most = function;
	}
	if (most && of_module[most->module->number] >= all_ns / 100 * SHARE_MIN_PERCENT && ada_module_is_library(most->module, glob)) {
		ada_output_format(output, "%.0f %% of SELF is of ", 100 * (double)of_module[most->module->number] / (double)all_ns);
		ada_output_text(output, ada_module_name(most->module));
		ada_output_string(output, ", whose own calls were not recorded: `ada trace --modules='");
		ada_output_text(output, glob);
		ada_output_string(output, "'` records them, too.\n");
	}
	free(of_module);
	return 0;
}

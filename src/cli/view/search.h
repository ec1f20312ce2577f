/* Functions by name, as a question has it, and their ids in each process. */
#ifndef ADA_CLI_VIEW_SEARCH_H
#define ADA_CLI_VIEW_SEARCH_H
#include "cli/view/view.h"

struct ada_view_search {
	struct ada_question *question;
	const char *text;
	struct ada_pattern_list patterns;
	uint64_t look_ns;				    /* for so long it may look */
	ADA_ARRAY(const struct ada_function_stats *) found; /* by total time */
	ADA_ARRAY(struct ada_view_known {
		const struct ada_process *process;
		uint64_t *ids;
		struct ada_zoom_functions functions;
	} *)
	known;
};

/* Arguments `function` and `for` (ns). 0, or -errno with a message; to be closed in any case. */
int ada_view_search_open(struct ada_view_search *search, struct ada_question *question);
void ada_view_search_close(struct ada_view_search *search);

/* The view is locked from here on. */

/* Finds the functions. 0 or -ENOMEM. */
int ada_view_search_functions(struct ada_view_search *search);
/* As threads of the process know them, until the search is closed; NULL: no memory. */
const struct ada_zoom_functions *ada_view_search_in(struct ada_view_search *search, const struct ada_process *process);
#endif

/* The threads of a selection by name, as flame graphs have them: threads of one name share a frame. */
#ifndef ADA_QUERY_THREAD_GROUPS_H
#define ADA_QUERY_THREAD_GROUPS_H
#include "query/session/selection.h"

struct ada_thread_groups {
	size_t count;	  /* threads of the selection */
	char **labels;	  /* by thread: its name, or "thread TID"; of several processes: pid_N/NAME */
	uint32_t *groups; /* by thread: the first thread of the same label; for struct ada_tree_how */
};
/* 0 or -ENOMEM; to be freed in both cases. */
int ada_thread_groups_make(struct ada_thread_groups *threads, const struct ada_selection *selection);
void ada_thread_groups_free(struct ada_thread_groups *threads);
#endif

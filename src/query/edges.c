/* Callers and callees: see edges.h. */
#include "query/edges.h"

int ada_edges_compute(struct ada_edges *edges, const struct ada_selection *selection, unsigned int workers,
		      struct ada_error *error)
{
	*edges = (struct ada_edges){};
	return 0;
}

void ada_edges_free(struct ada_edges *edges)
{
	ada_array_free(&edges->edges);
}

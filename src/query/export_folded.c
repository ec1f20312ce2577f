/* Folded stacks. */
#include "query/export.h"

int ada_export_folded(struct ada_export *export, struct ada_error *error)
{
	return 0;
}

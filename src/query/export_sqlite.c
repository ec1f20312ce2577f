/* sqlite: not yet. */
#include <errno.h>
#include "query/export.h"

int ada_export_sqlite(struct ada_export *export, struct ada_error *error)
{
	return ada_error_set(error, ENOSYS, "--format=sqlite is not written yet");
}

/* Stub: the format follows. */
#include "query/export.h"
#include <errno.h>

int ada_export_perfetto(struct ada_export *export, struct ada_error *error)
{
	return ada_error_set(error, ENOSYS, "format perfetto is not there yet");
}

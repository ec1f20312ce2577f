/* Stub: the format follows. */
#include "query/export.h"
#include <errno.h>

int ada_export_chrome(struct ada_export *export, struct ada_error *error)
{
	return ada_error_set(error, ENOSYS, "format chrome is not there yet");
}

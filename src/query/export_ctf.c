/* ctf: not yet. */
#include <errno.h>
#include "query/export.h"

int ada_export_ctf(struct ada_export *export, struct ada_error *error)
{
	return ada_error_set(error, ENOSYS, "--format=ctf is not written yet");
}

/* clickhouse: not yet. */
#include <errno.h>
#include "query/clickhouse.h"

int ada_export_clickhouse(struct ada_export *export, const struct ada_clickhouse_options *options, bool *already,
			  struct ada_error *error)
{
	return ada_error_set(error, ENOSYS, "--format=clickhouse is not written yet");
}

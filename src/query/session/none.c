#include "query/session/none.h"
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <unistd.h>
#include "base/file.h"

int ada_session_none(const char *directory, struct ada_error *error)
{
	static const char *const places[] = { "latest", "ada_traces/latest" };
	char document[PATH_MAX];

	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (!ada_path(document, "%s/%s/session.json", directory, places[i]) && !access(document, F_OK))
			return ada_error_set(error, EBADMSG, "%s is no session, but holds some: name one of them, as %s/%s", directory,
					     directory, places[i]);
	return ada_error_set(error, EBADMSG,
			     "%s is no session: it holds neither session.json nor manifest.json; `ada trace PROGRAM` records one",
			     directory);
}

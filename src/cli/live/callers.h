/* Who calls a function in the time that is shown. */
#ifndef ADA_CLI_LIVE_CALLERS_H
#define ADA_CLI_LIVE_CALLERS_H
#include "query/session/selection.h"

struct ada_callee {
	struct ada_module *module;
	uint64_t function_id, key; /* as of ada_process_function_key */
};

/* Shows them over the whole screen, as `ada graph --callers` does. 0 or -errno. */
int ada_callers_read(const struct ada_selection *selection, const struct ada_callee *callee, struct ada_error *error);
#endif

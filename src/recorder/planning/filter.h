/* --functions, --exclude and --modules: which names are meant. Patterns: trigger/pattern.h. */
#ifndef ADA_RECORDER_FILTER_H
#define ADA_RECORDER_FILTER_H
#include <stdbool.h>
#include "base/error.h"
#include "plan/plan.h"
#include "recorder/host/options.h"

struct ada_filter;

/* NULL in *filter: nothing is filtered. -EINVAL: a regex that doesn't compile. */
int ada_filter_open(struct ada_filter **filter, const struct ada_strings *functions, const struct ada_strings *exclude,
		    struct ada_error *error);
bool ada_filter_passes(const struct ada_filter *filter, const char *mangled);
void ada_filter_close(struct ada_filter *filter);

/* True where a glob or name in `globs` means the module at `path`: the whole path, or its last part. */
bool ada_filter_module(const struct ada_strings *globs, const char *path);
#endif

/* --functions, --exclude and --modules: which names are meant. Patterns: trigger/pattern.h. */
#ifndef ADA_RECORDER_FILTER_H
#define ADA_RECORDER_FILTER_H
#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "plan/plan.h"
#include "recorder/host/options.h"
#include "trigger/pattern.h"

struct ada_filter;

/* NULL in *filter: nothing is filtered. -EINVAL: a regex that doesn't compile. */
int ada_filter_open(struct ada_filter **filter, const struct ada_strings *functions, const struct ada_strings *exclude,
		    struct ada_error *error);
/* One list alone, of `option`: what passes is what any of it means. */
int ada_filter_open_list(struct ada_filter **filter, const char *option, const struct ada_strings *patterns, struct ada_error *error);
/* `mangled` is empty where the function has no name: then it is called by its place (ada_place_text), as answers call it. */
bool ada_filter_passes(const struct ada_filter *filter, const char *mangled, const char *place);
/* The patterns, of --functions where `number` is 0, of --exclude where it is 1. */
const struct ada_pattern_list *ada_filter_patterns(const struct ada_filter *filter, int number);
void ada_filter_close(struct ada_filter *filter);

/* Of --modules. NULL in *filter: none is meant. */
struct ada_module_filter;
int ada_module_filter_open(struct ada_module_filter **filter, const struct ada_strings *modules, struct ada_error *error);
/* True where a pattern means the module at `path`: the whole path, or its last part. From any thread. */
bool ada_module_filter_means(struct ada_module_filter *filter, const char *path);
/* The next pattern, from *at on, that has meant no module, and the names that are nearest to it; NULL: no more. When no module comes any more. */
const struct ada_pattern *ada_module_filter_unmet(const struct ada_module_filter *filter, size_t *at, char *near, size_t size);
void ada_module_filter_close(struct ada_module_filter *filter);
#endif

/* Who calls a function in the time of a scene. */
#ifndef ADA_CLI_LIVE_CALLERS_H
#define ADA_CLI_LIVE_CALLERS_H
#include "cli/live/scene.h"

/* Shows them over the whole screen, as `ada graph --callers` does. 0 or -errno. */
int ada_callers_read(const struct ada_scene *scene, const struct ada_function_stats *function, struct ada_error *error);
#endif

/* What was noted of one process: looks, and from which to which of them each descriptor was the same. Bounded: the oldest looks go first. */
#ifndef ADA_RECORDER_NOTED_H
#define ADA_RECORDER_NOTED_H
#include "recorder/descriptors/look.h"

struct ada_noted;
struct ada_noted *ada_noted_new(void);
void ada_noted_free(struct ada_noted *noted); /* NULL is fine */
/* `paths`: those of files are noted, too. 0 or -ENOMEM. */
int ada_noted_add(struct ada_noted *noted, const struct ada_look *look, bool paths);
json_object *ada_noted_json(const struct ada_noted *noted); /* the file; NULL: no memory */
#endif

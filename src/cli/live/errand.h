/* What a key asks the recorder to do, by a thread of its own: the recorder may be busy, and keys don't wait for that. */
#ifndef ADA_CLI_LIVE_ERRAND_H
#define ADA_CLI_LIVE_ERRAND_H
#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"

struct ada_errand;
/* Marks this moment, or adds the rule. 0 or -errno. */
int ada_errand_begin(struct ada_errand **errand, const char *session, const char *rule, struct ada_error *error);
bool ada_errand_wait(struct ada_errand *errand, unsigned int ms); /* whether it has ended by then */
/* Of one that has ended: 0, and `said` what has happened; or the recorder's refusal. */
int ada_errand_result(const struct ada_errand *errand, char *said, size_t size, struct ada_error *error);
void ada_errand_close(struct ada_errand *errand); /* one that hasn't ended is left to itself; NULL: nothing */
#endif

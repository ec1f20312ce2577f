#ifndef ADA_FUZZ_MEND_INDEX_H
#define ADA_FUZZ_MEND_INDEX_H
#include <stdint.h>

/* Verifies and then recovers the index file at `path`, and aborts where either contradicts itself. How many events the recovered file
 * has; -1: recovery gave it up. */
int64_t fuzz_mend_index(const char *path);
#endif

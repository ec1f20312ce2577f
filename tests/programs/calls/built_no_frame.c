/* No unwind tables at all: nothing but symbols tells where functions are.
 *
 * flags: -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables
 * expect: sorted 1, sum 499500, names 3
 */
#include "calls/lib/built.h"

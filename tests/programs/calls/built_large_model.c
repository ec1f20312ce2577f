/* The large code model calls through registers.
 *
 * flags: -mcmodel=large
 * expect: sorted 1, sum 499500, names 3
 */
#include "calls/lib/built.h"

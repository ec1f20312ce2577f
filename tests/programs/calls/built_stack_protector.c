/* Stack protector in each frame.
 *
 * flags: -fstack-protector-all -D_FORTIFY_SOURCE=2
 * expect: sorted 1, sum 499500, names 3
 */
#include "calls/lib/built.h"

/* UBSan's checks in each function.
 *
 * flags: -fsanitize=undefined -fno-sanitize-recover
 * expect: sorted 1, sum 499500, names 3
 */
#include "calls/lib/built.h"

/* Much padding and aligned loops.
 *
 * flags: -falign-functions=64 -falign-loops=32
 * expect: sorted 1, sum 499500, names 3
 */
#include "calls/lib/built.h"

/* Functions without padding between them.
 *
 * flags: -ffunction-sections -Wl,--gc-sections -falign-functions=1
 * expect: sorted 1, sum 499500, names 3
 */
#include "calls/lib/built.h"

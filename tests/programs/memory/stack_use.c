/* How much of the program's stack a hook takes: painted stacks, on which functions are called that are hooked. A program may
 * have no more than the README says, on an alternate stack or a thread's last bytes.
 *
 * flags: -pthread -fno-optimize-sibling-calls -DMOST=384 -Wl,-z,now
 * storm: no
 * expect: the first event: fits
 * expect: new callers: fits
 * expect: new chunks: fits
 * expect: a plain call: fits
 * expect: exec: fits
 * expect: a thread: fits
 */
#include "lib/stack_use.h"

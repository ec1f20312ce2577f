/* As stack_use.c, where rules name the functions and each call marks. There a hook takes more.
 *
 * flags: -pthread -fno-optimize-sibling-calls -DMOST=512 -Wl,-z,now
 * trace: --trigger symbol=leaf --trigger return=leaf>=0 --trigger latency=function:leaf>1ns --trigger exception=x --trigger depth>10
 * storm: no
 * expect: the first event: fits
 * expect: new callers: fits
 * expect: new chunks: fits
 * expect: a plain call: fits
 * expect: exec: fits
 * expect: a thread: fits
 */
#include "lib/stack_use.h"

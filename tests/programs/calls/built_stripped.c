/* Stripped: functions are known by .eh_frame alone.
 *
 * flags: -s
 * expect: sorted 1, sum 499500, names 3
 */
#include "calls/lib/built.h"

/* Built with -pg -mfentry: each function calls __fentry__ first.
 *
 * compilers: gcc
 * flags: -pg -mfentry
 * expect: sorted 1, sum 499500, names 3
 */
#include "calls/lib/built.h"

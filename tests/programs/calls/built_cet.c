/* Built for CET, so that every entry begins with endbr64.
 *
 * flags: -fcf-protection=full
 * expect: sorted 1, sum 499500, names 3
 */
#include "calls/lib/built.h"

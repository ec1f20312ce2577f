/* Exceptions where _Unwind_* come from nongnu libunwind, linked before libgcc: it takes the CFA for the stack pointer.
 *
 * libs: -Wl,--no-as-needed -lunwind
 * expect: sum 9193, 5073 cleanups
 */
#include "lib/throws.h"

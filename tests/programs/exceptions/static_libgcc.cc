/* libgcc's unwinder is in the program: its tables are set up at the first throw.
 *
 * flags: -static-libgcc
 * expect: caught 100
 */
#include "exceptions/lib/static_runtime.h"

/* The whole C++ run-time is in the program, and its functions are hooked too.
 *
 * flags: -static-libstdc++ -static-libgcc
 * expect: caught 100
 */
#include "exceptions/lib/static_runtime.h"

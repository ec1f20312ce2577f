/* Calls through the GOT without any PLT.
 *
 * library: libmath.so lib/arguments.c
 * flags: -fno-plt -Wl,-z,now
 * libs: -lmath
 * expect: 36 36.0 72.0 21
 */
#include "loader/lib/binding.h"

/* Full RELRO: the GOT is read-only from the start.
 *
 * library: libmath.so lib/arguments.c
 * flags: -Wl,-z,now -Wl,-z,relro
 * libs: -lmath
 * expect: 36 36.0 72.0 21
 */
#include "loader/lib/binding.h"

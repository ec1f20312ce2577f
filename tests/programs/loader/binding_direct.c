/* The old hash table and symbolic binding.
 *
 * library: libmath.so lib/arguments.c
 * flags: -Wl,-Bsymbolic -Wl,--hash-style=sysv
 * libs: -lmath
 * expect: 36 36.0 72.0 21
 */
#include "loader/lib/binding.h"

/* Lazy binding: the first call of each import goes through the loader, with every argument register live.
 *
 * library: libmath.so lib/arguments.c
 * flags: -Wl,-z,lazy
 * libs: -lmath
 * expect: 36 36.0 72.0 21
 */
#include "loader/lib/binding.h"

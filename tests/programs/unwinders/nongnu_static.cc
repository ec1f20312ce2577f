/* The same from a copy of it inside the program, which nobody's exports give away.
 *
 * compilers: gcc
 * pie: no
 * libs: -static-libgcc -Wl,--whole-archive -l:libunwind.a -Wl,--no-whole-archive -llzma -lz
 * expect: sum 9193, 5073 cleanups
 */
#include "lib/throws.h"

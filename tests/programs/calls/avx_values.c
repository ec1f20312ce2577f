/* 256-bit vectors by value, as arguments and results: a hook that restores only xmm halves clears the upper parts.
 *
 * flags: -mavx
 * needs: avx
 * expect: sums right
 */
#define VECTOR_BYTES 32
#include "calls/lib/vectors.h"

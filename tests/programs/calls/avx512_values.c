/* 512-bit vectors by value, as arguments and results: a hook that restores only xmm halves clears the upper parts.
 *
 * flags: -mavx512f
 * needs: avx512f
 * expect: sums right
 */
#define VECTOR_BYTES 64
#include "calls/lib/vectors.h"

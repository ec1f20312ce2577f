/* A recursion that nothing ends: and what it calls is what no stack is left for. */
#define ROOM (256 << 10)
#include "crash_overflow.c"

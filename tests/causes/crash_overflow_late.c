/* A recursion that nothing ends, and that takes a while. */
#define BUSY_MS 1300
#include "crash_overflow.c"

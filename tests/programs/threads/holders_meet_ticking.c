/* As holders_meet.c, with a timer for each thread, whose signals end every wait for the recorder before its time: who waits in vain gives
 * up all the same.
 *
 * flags: -pthread
 * trace: --index-buffer=1M --on-full=block --detail=off
 * expect: 300 threads met
 * compilers: gcc
 * levels: -O0
 * pie: yes
 */
#define TICK_US 15000
#include "holders_meet.c"

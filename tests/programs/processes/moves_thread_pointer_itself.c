/* As moves_thread_pointer.c, by an instruction that no one sees.
 *
 * flags: -fno-stack-protector -DWRFSBASE
 * needs: fsgsbase
 * run: itself -> 0
 * run: nowhere -> 0
 * states: failed complete
 * expect: before 11, guest 5050, outer 6, after 11
 */
#include "lib/moves_thread_pointer.h"

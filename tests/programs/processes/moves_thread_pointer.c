/* A program that runs guest code with a thread pointer (FS base) of its own, as sandboxes and emulators do: whatever a tracer
 * keeps in thread-local data isn't there.
 *
 * flags: -fno-stack-protector
 * run: libc -> 0
 * run: syscall -> 0
 * run: nowhere -> 0
 * run: edge -> 0
 * states: failed complete
 * expect: before 11, guest 5050, outer 6, after 11
 */
#include "lib/moves_thread_pointer.h"

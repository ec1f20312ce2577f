/* How a thread's own stack is found from the agent's, for the recorder, which looks at all that a stopped thread may return to.
 *
 * A slow path runs on a stack of the agent's (agent/core/switch.S). At that stack's upper end stands where the program's own was left:
 *
 *   the agent's stack                 the program's stack
 *   +-----------------------+         +------------------------+
 *   | frames of a slow path |         | (what lies below is    |
 *   +-----------------------+         |  free meanwhile)       |
 *   | u64 ADA_ASIDE_MARK    |         +------------------------+
 *   | u64 stack pointer     | ------> | registers, frames, ... |
 *   +-----------------------+         +------------------------+
 */
#ifndef ADA_ABI_ASIDE_H
#define ADA_ABI_ASIDE_H

#define ADA_ASIDE_MARK 0x5fd1a0c3e2b48d97 /* a number that stands nowhere by chance */
#endif

/* Rules, for every line that runs in the traced program. Nothing of it is seen outside libada-agent.so.
 *
 *  1. Never exit, print, block (but for --on-full=block) or allocate on the hot path; no libc call while a hook may run.
 *  2. System calls directly (sys.h); errno is never touched.
 *  3. C code is built -ffreestanding -mgeneral-regs-only and links nothing; what it needs of libc are weak symbols.
 *  4. Where it can't go on: ada_core_disable(reason), and the program runs on as if untraced.
 *  5. Slow paths are noinline, named _slow, and block all signals where they change what a handler's hook reads.
 *
 * Rooms, each with one header that says what it does for those above: ground (memory, system calls), core (the process's state, a
 * thread's room, the slow path), judge (is it a mark), record (events), hook (assembly, trampolines, unwinding), talk (with the
 * recorder), patch (modules and their hooks), life (start, fork, exec, signals, seccomp). tools/check-layers holds the order.
 */
#ifndef ADA_AGENT_AGENT_H
#define ADA_AGENT_AGENT_H

#define ADA_SLOW __attribute__((noinline, cold))
#define ADA_EXPORTED __attribute__((visibility("default")))
#endif

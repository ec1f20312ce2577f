/* Exceptions where _Unwind_* come from LLVM's libunwind: it knows the handler's frame by stack pointer, which is the stub's too.
 *
 * libs: -Wl,--no-as-needed -l:libunwind.so.1 -L/usr/lib/llvm-14/lib -Wl,-rpath,/usr/lib/llvm-14/lib
 * expect: sum 9193, 5073 cleanups
 */
#include "lib/throws.h"

/* _Unwind_ForcedUnwind with a stop function that counts frames by CFA, as pthread_cancel and fibers do.
 *
 * expect: guards 11, stopped
 * libs: -lgcc_s
 */
#include <csetjmp>
#include <unwind.h>
#include "check.h"

static int guards;
static jmp_buf out;
static _Unwind_Exception exception;
struct Guard { NOINLINE ~Guard() { guards++; } };

static _Unwind_Reason_Code stop(int, _Unwind_Action actions, _Unwind_Exception_Class, _Unwind_Exception *,
				struct _Unwind_Context *, void *)
{
	if (guards == 11 || (actions & _UA_END_OF_STACK))
		longjmp(out, 1);
	return _URC_NO_REASON;
}

NOINLINE static void dive(int depth)
{
	Guard guard;
	if (!depth)
		_Unwind_ForcedUnwind(&exception, stop, nullptr);
	else
		dive(depth - 1);
	BARRIER;
}

int main()
{
	if (!setjmp(out))
		dive(10);
	printf("guards %d, stopped\n", guards);
}

/* Exceptions, forced unwinding and panics on their way through a stub frame: the personality routines of stubs.S.
 *
 * The first routine only notes that the frame is left. It must work for an unwinder that it knows nothing of: libgcc_s loaded at the
 * start or later (pthread_cancel), or a copy linked into the program. It may use only accessors of the very unwinder that called. Where
 * that one isn't known the shadow stack tells the frame: unwinding goes outward, so it is the innermost frame above the stack pointer.
 *
 * libgcc knows the handler's frame by CFA, which stubs.S makes differ. LLVM's libunwind knows that frame by stack pointer, which can't
 * differ, and so takes the stub for the handler where the caller is the handler: then a landing pad resumes the unwinding. The landing
 * pad needs LLVM's accessors; where they aren't known, LLVM's unwinder hears of no personality (stubs.S).
 *
 * Code that reads return addresses from the stack by itself (__builtin_return_address, frame pointer walks) sees stubs.
 */
#include <dlfcn.h>
#include <unwind.h>
#include "agent/hook/parts.h"
#include "agent/record/lane.h"

#pragma weak _Unwind_GetCFA
#pragma weak _Unwind_GetIP
#pragma weak _Unwind_SetGR
#pragma weak _Unwind_SetIP

#define GR_RAX 0
#define GR_RDX 1

/* How a cursor of nongnu libunwind begins, and with it its struct _Unwind_Context. */
struct cursor {
	void *argument, *space;
	uint64_t cfa, ip;
};

void ada_landing(void);
void ada_unwound_slow(uint64_t slot);
_Unwind_Reason_Code ada_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class class, struct _Unwind_Exception *exception,
				    struct _Unwind_Context *context);
_Unwind_Reason_Code ada_personality_plain(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
					  struct _Unwind_Exception *exception, struct _Unwind_Context *context);

/* Whether the accessors that we know belong to the unwinder whose code is at `caller`. */
static bool accessors_fit(uint64_t caller)
{
	struct dl_find_object own, accessor;

	return _Unwind_GetCFA && _Unwind_GetIP && _Unwind_SetGR && _Unwind_SetIP && !_dl_find_object((void *)caller, &own) &&
	       !_dl_find_object((void *)_Unwind_GetCFA, &accessor) && own.dlfo_link_map == accessor.dlfo_link_map;
}

struct leaving {
	struct ada_thread *thread;
	struct ada_moment moment;
};

static void leave(void *argument)
{
	const struct leaving *leaving = argument;

	ada_shadow_leave(leaving->thread, &leaving->moment, ADA_EVENT_EXCEPTION);
}

/* The frame at `slot` is left by unwinding. */
ADA_SLOW void ada_unwound_slow(uint64_t slot)
{
	struct leaving leaving = { ada_core_recording() ? ada_slow_begin(slot) : NULL, { NULL, slot } };

	if (!leaving.thread)
		return;
	if (leaving.thread->index && ada_core_recording())
		leaving.thread = ada_slow_run(leaving.thread, leave, &leaving);
	ada_slow_end(leaving.thread);
}

/* Slot of the innermost frame above the stack pointer, on the same stack as far as that is known; 0: none. */
static uint64_t innermost_slot(uint64_t sp)
{
	struct ada_thread *thread = ada_core_recording() ? ada_slow_begin(sp) : NULL;
	uint64_t slot = 0;

	if (!thread)
		return 0;
	if (thread->index && ada_core_recording()) {
		bool own = ada_stack_own(thread, sp);

		for (int64_t i = (int64_t)ada_frames(thread) - 1; i >= 0 && !slot; i--) {
			const struct ada_frame *frame = ada_frame_at(thread, i);
			uint64_t candidate = ada_frame_slot(frame);

			if (!ada_frame_is_unreturned(frame) && candidate > sp && ada_stack_own(thread, candidate) == own)
				slot = candidate;
		}
	}
	ada_slow_end(thread);
	return slot;
}

_Unwind_Reason_Code ada_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class class, struct _Unwind_Exception *exception,
				    struct _Unwind_Context *context)
{
	bool fit;

	if (!(actions & _UA_CLEANUP_PHASE))
		return _URC_CONTINUE_UNWIND;
	fit = accessors_fit((uint64_t)__builtin_return_address(0));
	if (fit && actions & _UA_HANDLER_FRAME) {
		_Unwind_SetGR(context, GR_RAX, (_Unwind_Word)exception);
		_Unwind_SetGR(context, GR_RDX, _Unwind_GetIP(context));
		_Unwind_SetIP(context, (_Unwind_Ptr)ada_landing);
		return _URC_INSTALL_CONTEXT;
	}
	ada_unwound_slow(fit ? _Unwind_GetCFA(context) - sizeof(uint64_t) : innermost_slot((uint64_t)__builtin_frame_address(0)));
	return _URC_CONTINUE_UNWIND;
}

/* For nongnu libunwind. The call is over, so its slot may hold what the program would find there: if the caller is the handler, the
 * landing pad's address goes into that slot. */
_Unwind_Reason_Code ada_personality_plain(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
					  struct _Unwind_Exception *exception, struct _Unwind_Context *context)
{
	const struct cursor *cursor = (const struct cursor *)context;
	uint64_t *slot = (uint64_t *)cursor->cfa - 1;

	if (!(actions & _UA_CLEANUP_PHASE) || !ada_stub_is_return(cursor->ip) || *slot != cursor->ip)
		return _URC_CONTINUE_UNWIND;
	ada_unwound_slow((uint64_t)slot);
	*slot = ada_site_return_address(cursor->ip);
	return _URC_CONTINUE_UNWIND;
}

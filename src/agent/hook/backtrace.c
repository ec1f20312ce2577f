/* _Unwind_Backtrace and backtrace as the program calls them: without the frames of stubs, of trampolines that a signal
 * interrupted, and of ourselves, so that a program which reads its own backtrace sees exactly what it would see untraced. The
 * agent exports these two, _dl_find_object (find_object.c), dl_iterate_phdr (unwinder.c) and libunwind's steps (step.c).
 */
#include <dlfcn.h>
#include <unwind.h>
#include "agent/hook/hook.h"

#pragma weak dlsym
#pragma weak dlopen

typedef _Unwind_Reason_Code walk_function(_Unwind_Trace_Fn visit, void *argument);
typedef _Unwind_Ptr ip_function(struct _Unwind_Context *context);
typedef _Unwind_Word cfa_function(struct _Unwind_Context *context);

static struct unwinder {
	walk_function *walk;
	ip_function *ip;
	cfa_function *cfa;
} unwinder;

ADA_EXPORTED int backtrace(void **addresses, int size);

/* The first unwinder behind us, or libgcc_s however it was loaded: libc's backtrace() would load it too. */
static bool unwinder_find(struct unwinder *found)
{
	void *library = RTLD_NEXT;

	*found = unwinder;
	if (found->cfa)
		return true;
	if (!dlsym || !dlopen)
		return false;
	found->walk = (walk_function *)dlsym(library, "_Unwind_Backtrace");
	if (!found->walk) {
		library = dlopen("libgcc_s.so.1", RTLD_LAZY);
		if (!library)
			return false;
		found->walk = (walk_function *)dlsym(library, "_Unwind_Backtrace");
	}
	found->ip = (ip_function *)dlsym(library, "_Unwind_GetIP");
	found->cfa = (cfa_function *)dlsym(library, "_Unwind_GetCFA");
	if (!found->walk || !found->ip || !found->cfa)
		return false;
	unwinder.walk = found->walk;
	unwinder.ip = found->ip;
	__atomic_store_n(&unwinder.cfa, found->cfa, __ATOMIC_RELEASE); /* last: what readers test */
	return true;
}

/* A walk leaves out its first frame, which is ours, and the frames of stubs and trampolines. */
struct filter {
	_Unwind_Trace_Fn visit;
	void *argument;
	ip_function *ip;
	bool begun;
};

static _Unwind_Reason_Code filter_visit(struct _Unwind_Context *context, void *argument)
{
	struct filter *filter = argument;
	uint64_t address = filter->ip(context);
	bool first = !filter->begun;

	filter->begun = true;
	if (first || ada_stub_is_return(address) || ada_region_holds(address))
		return _URC_NO_REASON;
	return filter->visit(context, filter->argument);
}

/* Part of its caller: one frame is ours. */
static inline __attribute__((always_inline)) _Unwind_Reason_Code walk_filtered(const struct unwinder *real, _Unwind_Trace_Fn visit,
									       void *argument)
{
	struct filter filter = { visit, argument, real->ip, false };

	return real->walk(filter_visit, &filter);
}

ADA_EXPORTED _Unwind_Reason_Code _Unwind_Backtrace(_Unwind_Trace_Fn visit, void *argument)
{
	struct unwinder real;
	_Unwind_Reason_Code result = _URC_END_OF_STACK;

	if (unwinder_find(&real))
		result = walk_filtered(&real, visit, argument);
	return result;
}

struct trace {
	void **addresses;
	int count, size;
	uint64_t cfa;
	struct unwinder real;
};

static _Unwind_Reason_Code trace_visit(struct _Unwind_Context *context, void *argument)
{
	struct trace *trace = argument;
	uint64_t address = trace->real.ip(context), cfa = trace->real.cfa(context);

	if (trace->count && trace->addresses[trace->count - 1] == (void *)address && trace->cfa == cfa)
		return _URC_END_OF_STACK; /* no progress: libc's says so, too */
	trace->addresses[trace->count++] = (void *)address;
	trace->cfa = cfa;
	return trace->count == trace->size ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* As libc's, with the filter. */
ADA_EXPORTED int backtrace(void **addresses, int size)
{
	struct trace trace = { .addresses = addresses, .size = size };

	if (size <= 0 || !unwinder_find(&trace.real))
		return 0;
	walk_filtered(&trace.real, trace_visit, &trace);
	if (trace.count > 1 && !addresses[trace.count - 1])
		trace.count--; /* above _start */
	return trace.count;
}

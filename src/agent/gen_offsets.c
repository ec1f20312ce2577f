/* Prints offsets.h: the constants and offsets of layout.h, for the assembly. Runs when ada is built. */
#include <stdio.h>
#include <linux/rseq.h>
#include "abi/plan.h"
#include "agent/layout.h"

#define CONSTANT(name) printf("#define %s %lld\n", #name, (long long)(name))
#define OFFSET(name, type, member) printf("#define %s %zu\n", #name, offsetof(type, member))
/* hook.S holds the address to which the trampoline's call returns, not the hook's */
#define HOOK(name, member) printf("#define %s %zu\n", #name, \
	ADA_BLOCK_BYTES - ADA_TRAMPOLINE_RETURN + offsetof(struct ada_hook, member))

/* region.S has a trampoline's address */
#define CELL(name, member) printf("#define %s %zu\n", #name, ADA_BLOCK_BYTES + offsetof(struct ada_hook, member))

int main(void)
{
	CONSTANT(ADA_CHUNK_BYTES);
	CONSTANT(ADA_EVENT_BYTES);
	CONSTANT(ADA_FRAME_BYTES);
	CONSTANT(ADA_NEAR_BYTES);
	CONSTANT(ADA_TAIL_CALLS_MAX);
	CONSTANT(ADA_STUB_COUNT);
	CONSTANT(ADA_STUB_RETURN);
	CONSTANT(ADA_SITE_HASH_BITS);
	CONSTANT(ADA_TRAMPOLINE_RETURN);
	CONSTANT(ADA_TRAMPOLINE_NO_STUB);
	printf("#define SITE_BYTES %zu\n", sizeof(struct ada_site));
	OFFSET(SITE_TARGET, struct ada_site, target);
	OFFSET(SITE_RETURN_ADDRESS, struct ada_site, return_address);
	OFFSET(SITE_ENTRY, struct ada_site, entry);
	OFFSET(SITE_FUNCTION_ID, struct ada_site, function_id);
	HOOK(HOOK_FUNCTION_ID, function_id);
	HOOK(HOOK_CACHE, cache);
	CONSTANT(ADA_TRAMPOLINE_BYTES);
	CONSTANT(ADA_TRAMPOLINE_BODY);
	CONSTANT(ADA_TRAMPOLINE_JUMP);
	OFFSET(ORIGIN_BODY, struct ada_plan_origin, body);
	OFFSET(ORIGIN_ORIGINAL, struct ada_plan_origin, original);
	OFFSET(ORIGIN_PUSHED, struct ada_plan_origin, pushed);
	printf("#define ORIGIN_BYTES %zu\n", sizeof(struct ada_plan_origin));
	CELL(CELL_START, start);
	CELL(CELL_ORIGINAL, original);
	CELL(CELL_ORIGINS, origins);
	OFFSET(EVENT_COUNTER, struct ada_event, timestamp_ns);
	OFFSET(EVENT_FUNCTION_ID, struct ada_event, function_id);
	OFFSET(EVENT_TID, struct ada_event, thread_id);
	OFFSET(EVENT_DEPTH, struct ada_event, call_depth);
	OFFSET(FRAME_SLOT, struct ada_frame, slot);
	OFFSET(FRAME_COUNTER, struct ada_frame, counter);
	OFFSET(FRAME_FUNCTION_ID, struct ada_frame, function_id);
	OFFSET(FRAME_DEPTH, struct ada_frame, depth);
	OFFSET(THREAD_INDEX, struct ada_thread, index);
	OFFSET(THREAD_SHADOW, struct ada_thread, shadow);
	OFFSET(THREAD_SHADOW_END, struct ada_thread, shadow_end);
	OFFSET(THREAD_TID_CALL, struct ada_thread, tid_call);
	OFFSET(THREAD_TID_RETURN, struct ada_thread, tid_return);
	OFFSET(THREAD_SEQUENCE, struct ada_thread, sequence);
	OFFSET(RSEQ_CS, struct rseq, rseq_cs);
	return 0;
}

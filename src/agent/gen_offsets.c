/* Prints offsets.h: the constants and offsets of layout.h, for the assembly. Runs when ada is built. */
#include <stdio.h>
#include <linux/rseq.h>
#include "abi/aside.h"
#include "abi/plan.h"
#include "agent/core/layout.h"
#include "agent/judge/judge.h"
#include "agent/patch/patch.h"

#define CONSTANT(name) printf("#define %s %lld\n", #name, (long long)(name))
#define OFFSET(name, type, member) printf("#define %s %zu\n", #name, offsetof(type, member))
/* hook.S holds the address to which the trampoline's call returns, not the hook's */
#define HOOK(name, member) printf("#define %s %zu\n", #name, ADA_HOOK_BEHIND + offsetof(struct ada_hook, member))

/* region.S has a trampoline's address */
#define CELL(name, member) printf("#define %s %zu\n", #name, ADA_BLOCK_BYTES + offsetof(struct ada_hook, member))

static void detail_offsets(void)
{
	OFFSET(SETUP_RSEQ_OFFSET, struct ada_setup, rseq_offset);
	OFFSET(SETUP_POLICY, struct ada_setup, policy);
	OFFSET(SETUP_LIMIT, struct ada_setup, detail_limit);
	OFFSET(SETUP_STACK, struct ada_setup, detail_stack);
	OFFSET(SETUP_REACH, struct ada_setup, detail_reach);
	OFFSET(SETUP_META_CALL, struct ada_setup, meta_call);
	OFFSET(SETUP_META_CALL_PLAIN, struct ada_setup, meta_call_plain);
	OFFSET(SETUP_META_RETURN, struct ada_setup, meta_return);
	OFFSET(SETUP_META_RETURN_STACK, struct ada_setup, meta_return_stack);
	OFFSET(SETUP_COMMIT_CALL, struct ada_setup, commit_call);
	OFFSET(SETUP_COMMIT_CALL_PLAIN, struct ada_setup, commit_call_plain);
	OFFSET(SETUP_COMMIT_RETURN, struct ada_setup, commit_return);
	OFFSET(SETUP_COMMIT_RETURN_STACK, struct ada_setup, commit_return_stack);
	OFFSET(SETUP_POISON, struct ada_setup, poison);
	OFFSET(DETAIL_COUNTER, struct ada_detail, counter);
	OFFSET(DETAIL_META, struct ada_detail, meta);
	OFFSET(DETAIL_LR, struct ada_detail, lr);
	OFFSET(DETAIL_FP, struct ada_detail, fp);
	OFFSET(DETAIL_SP, struct ada_detail, sp);
	OFFSET(DETAIL_X, struct ada_detail, x);
	CONSTANT(ADA_DETAIL_CALL_BYTES);
	CONSTANT(ADA_DETAIL_VECTOR_BYTES);
	CONSTANT(ADA_DETAIL_RETURN_BYTES);
	CONSTANT(ADA_DETAIL_SIZE_SHIFT);
	printf("#define ADA_DETAIL_HALF_AT %d\n", __builtin_ctzll(ADA_DETAIL_HALF) / 8);
	printf("#define ADA_DETAIL_HALF_BYTE %d\n", 1 << __builtin_ctzll(ADA_DETAIL_HALF) % 8);
	CONSTANT(ADA_COMMIT_DETAIL);
	CONSTANT(ADA_POLICY_NAMES_CALL);
	CONSTANT(ADA_POLICY_MUTED);
	CONSTANT(ADA_POLICY_RETURN);
	CONSTANT(ADA_EVENT_CALL);
	CONSTANT(ADA_EVENT_RETURN);
	printf("#define ADA_NO_DETAIL -1\n"); /* an immediate of 32 bits */
}

static void stubs_constants(void)
{
	CONSTANT(ADA_STUB_SAVING);
	CONSTANT(ADA_STUB_FLAGS);
	CONSTANT(ADA_STUB_LEAN);
	CONSTANT(ADA_STUB_COUNT);
	CONSTANT(ADA_STUB_RETURN);
	CONSTANT(ADA_STUB_BYTES);
	CONSTANT(ADA_EXIT_PASS);
	CONSTANT(ADA_NEAR_STUB_BYTES);
	CONSTANT(ADA_NEAR_STUB_DISTANCE);
	CONSTANT(ADA_NEAR_STUB_JUMP);
	CONSTANT(ADA_NEAR_STUB_PASS);
	CONSTANT(ADA_NEAR_STUB_BODY);
	CONSTANT(ADA_NEAR_STUB_END);
	printf("#define HOOK_PASSED %u\n", ADA_HOOK_BEHIND + ADA_TRAMPOLINE_DATA_PASSED);
	CONSTANT(ADA_TRAMPOLINE_PASSED);
}

/* The bit field behind `number`, the entry's set first. */
static void registers_offsets(void)
{
	CONSTANT(ADA_REGISTER_RAX);
	CONSTANT(ADA_REGISTER_RCX);
	CONSTANT(ADA_REGISTER_RDX);
	CONSTANT(ADA_REGISTER_RSI);
	CONSTANT(ADA_REGISTER_RDI);
	CONSTANT(ADA_REGISTER_R8);
	CONSTANT(ADA_REGISTER_R9);
	CONSTANT(ADA_REGISTER_R10);
	CONSTANT(ADA_REGISTER_R11);
	CONSTANT(ADA_REGISTER_FLAGS);
	CONSTANT(ADA_REGISTER_COUNT);
	printf("#define CELL_FREE %zu\n", ADA_BLOCK_BYTES + offsetof(struct ada_hook, number) + sizeof(uint32_t));
	printf("#define HOOK_FREE (CELL_FREE-%d)\n", ADA_TRAMPOLINE_RETURN);
}

static void judged_offsets(void)
{
	OFFSET(JUDGED_COUNTER, struct ada_judged, counter);
	OFFSET(JUDGED_FUNCTION_ID, struct ada_judged, function_id);
	OFFSET(JUDGED_SEQ, struct ada_judged, seq);
	OFFSET(JUDGED_START_COUNTER, struct ada_judged, start_counter);
	OFFSET(JUDGED_RETURN_ADDRESS, struct ada_judged, return_address);
	OFFSET(JUDGED_SLOT, struct ada_judged, slot);
	OFFSET(JUDGED_NUMBER, struct ada_judged, number);
	OFFSET(JUDGED_THREAD, struct ada_judged, thread);
	OFFSET(JUDGED_DEPTH, struct ada_judged, depth);
	OFFSET(JUDGED_KIND, struct ada_judged, kind);
	OFFSET(JUDGED_REGISTERS, struct ada_judged, registers);
	OFFSET(JUDGED_XMM0, struct ada_judged, xmm0);
	printf("#define JUDGED_BYTES %zu\n", sizeof(struct ada_judged));
}

static void lean_offsets(void)
{
	OFFSET(LEAN_INDEX, struct ada_lean, index);
	OFFSET(LEAN_SHADOW, struct ada_lean, shadow);
	OFFSET(LEAN_SHADOW_END, struct ada_lean, shadow_end);
	OFFSET(LEAN_DETAIL, struct ada_lean, detail);
	OFFSET(LEAN_STACK_LOW, struct ada_lean, stack_low);
	OFFSET(LEAN_STACK_HIGH, struct ada_lean, stack_high);
}

int main(void)
{
	CONSTANT(ADA_CHUNK_BYTES);
	CONSTANT(ADA_ASIDE_MARK);
	CONSTANT(ADA_EVENT_BYTES);
	CONSTANT(ADA_EVENT_FIRST);
	CONSTANT(ADA_FRAME_BYTES);
	CONSTANT(ADA_COMMIT_FRAMES);
	CONSTANT(ADA_FRAME_TAIL);
	CONSTANT(ADA_FRAME_MARKS);
	CONSTANT(ADA_NEAR_BYTES);
	CONSTANT(ADA_TAIL_CALLS_MAX);
	stubs_constants();
	CONSTANT(ADA_SITE_HASH_BITS);
	CONSTANT(ADA_REFUSED);
	CONSTANT(ADA_THREADS_MAX);
	CONSTANT(ADA_MODULES_MAX);
	CONSTANT(ADA_FUNCTIONS_MAX);
	printf("#define MODULE_BYTES %zu\n", sizeof(struct ada_module));
	CONSTANT(ADA_TRAMPOLINE_RETURN);
	CONSTANT(ADA_TRAMPOLINE_NO_STUB);
	printf("#define SITE_BYTES %zu\n", sizeof(struct ada_site));
	OFFSET(SITE_TARGET, struct ada_site, target);
	OFFSET(SITE_RETURN_ADDRESS, struct ada_site, return_address);
	OFFSET(SITE_ENTRY, struct ada_site, entry);
	OFFSET(SITE_FUNCTION_ID, struct ada_site, function_id);
	CONSTANT(ADA_HOOK_BEHIND);
	HOOK(HOOK_FUNCTION_ID, function_id);
	HOOK(HOOK_CACHE, cache);
	HOOK(HOOK_STUB, stub);
	HOOK(HOOK_NUMBER, number);
	registers_offsets();
	CONSTANT(ADA_TRAMPOLINE_BYTES);
	CONSTANT(ADA_TRAMPOLINE_BODY);
	CONSTANT(ADA_TRAMPOLINE_JUMP);
	CONSTANT(ADA_TRAMPOLINE_LEAD);
	CONSTANT(ADA_TRAMPOLINE_BELOW_NO_STUB);
	CONSTANT(ADA_RED_ZONE_BYTES);
	OFFSET(ORIGIN_BODY, struct ada_plan_origin, body);
	OFFSET(ORIGIN_ORIGINAL, struct ada_plan_origin, original);
	OFFSET(ORIGIN_PUSHED, struct ada_plan_origin, pushed);
	printf("#define ORIGIN_BYTES %zu\n", sizeof(struct ada_plan_origin));
	CONSTANT(ADA_ORIGIN_END);
	CELL(CELL_START, start);
	CELL(CELL_ORIGINAL, original);
	CELL(CELL_ORIGINS, origins);
	OFFSET(EVENT_COUNTER, struct ada_event, timestamp_ns);
	OFFSET(EVENT_FUNCTION_ID, struct ada_event, function_id);
	OFFSET(EVENT_KIND, struct ada_event, event_kind);
	OFFSET(EVENT_DEPTH, struct ada_event, call_depth);
	OFFSET(EVENT_DETAIL_SEQ, struct ada_event, detail_seq);
	OFFSET(FRAME_SLOT, struct ada_frame, slot);
	OFFSET(FRAME_COUNTER, struct ada_frame, counter);
	OFFSET(FRAME_HOOK, struct ada_frame, hook);
	OFFSET(FRAME_DEPTH, struct ada_frame, depth);
	OFFSET(CHUNK_FIRST_SEQ, struct ada_chunk, first_seq);
	OFFSET(CHUNK_THREAD, struct ada_chunk, thread);
	OFFSET(THREAD_INDEX, struct ada_thread, index);
	OFFSET(THREAD_SHADOW, struct ada_thread, shadow);
	OFFSET(THREAD_SHADOW_END, struct ada_thread, shadow_end);
	OFFSET(THREAD_DETAIL, struct ada_thread, detail);
	OFFSET(THREAD_STACK_LOW, struct ada_thread, stack_low);
	OFFSET(THREAD_STACK_HIGH, struct ada_thread, stack_high);
	lean_offsets();
	detail_offsets();
	judged_offsets();
	OFFSET(RSEQ_CS, struct rseq, rseq_cs);
	return 0;
}

/* One event of the index lane: the same 32 bytes in the shared ring and in index.atf (specs/2).
 *
 *   offset 0        8            16        20     24      28
 *          +--------+------------+---------+------+-------+------------+
 *          | time   | function   | thread  | kind | depth | detail_seq |
 *          +--------+------------+---------+------+-------+------------+
 *
 * In the ring (written by the agent, read by the recorder):
 *   time        raw counter of the CPU (x86-64: TSC)
 *   thread      anything: the chunk's header says whose events these are
 *   depth       times ADA_EVENT_DEPTH_UNIT
 *   detail_seq  ADA_NO_DETAIL where the event has none though the chunk has a detail chunk; else 0
 * In the file (written by the recorder): time is in ns of CLOCK_BOOTTIME, thread the OS thread id, detail_seq the number of the
 * event's detail record or ADA_NO_DETAIL. Everything else is copied as it is. A change of any field is a new version of both.
 */
#ifndef ADA_ABI_RECORD_H
#define ADA_ABI_RECORD_H
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define ADA_NO_DETAIL UINT32_MAX
#define ADA_EVENT_DEPTH_UNIT 32u /* of depths in the ring: bytes of a frame, which is what a hook has at hand */

enum ada_event_kind {
	ADA_EVENT_CALL = 1,
	ADA_EVENT_RETURN = 2,
	ADA_EVENT_EXCEPTION = 3, /* takes the place of RETURN where a frame is left by unwinding or a jump */
	ADA_EVENT_LOST = 4,	 /* function_id = number of events of this thread that were dropped here */
	ADA_EVENT_OBJECT = 5,	 /* of a synchronisation function's CALL: function_id = address of what it works on */
	ADA_EVENT_RECORDER = 6,	 /* function_id = ns (counter ticks in the ring) that the program waited here, for ada */
	ADA_EVENT_HOLDER = 7,	 /* of a lock's CALL: function_id = tid of the thread that holds the mutex, as the mutex says */
};
#define ADA_EVENT_KINDS 8 /* kinds from here on are a later version's */

/* An OBJECT is behind its CALL, and has its depth. A CALL may have two of them (pthread_cond_wait: the condition, then the mutex), or none
 * (its OBJECT was lost). Only events of signal handlers can lie between: so an OBJECT belongs to the last CALL before it that has its
 * depth. A HOLDER is behind the OBJECT. A RECORDER has the depth of the call that begins or ends there, or that the next event is in. */

struct ada_event {
	uint64_t timestamp_ns; /* counter ticks in the ring */
	uint64_t function_id;  /* module id << 32 | symbol index */
	uint32_t thread_id;
	uint32_t event_kind; /* enum ada_event_kind; readers skip kinds they don't know */
	uint32_t call_depth; /* of a thread's outermost call: 0; a RETURN or EXCEPTION has its CALL's */
	uint32_t detail_seq;
};
static_assert(sizeof(struct ada_event) == 32, "IndexEvent is 32 bytes");
static_assert(offsetof(struct ada_event, function_id) == 8, "function_id");
static_assert(offsetof(struct ada_event, thread_id) == 16, "thread_id");
static_assert(offsetof(struct ada_event, event_kind) == 20, "event_kind");
static_assert(offsetof(struct ada_event, call_depth) == 24, "call_depth");
static_assert(offsetof(struct ada_event, detail_seq) == 28, "detail_seq");

#define ADA_FUNCTION_ID(module, symbol) ((uint64_t)(module) << 32 | (uint32_t)(symbol))
#define ADA_FUNCTION_MODULE(id) ((uint32_t)((id) >> 32))
#define ADA_FUNCTION_SYMBOL(id) ((uint32_t)(id))
#endif

/* The marking policy in shared memory, and the marks that come of it.
 *
 * The recorder compiles rules (src/trigger) into a table; the agent reads it. There are two tables, and the recorder fills the
 * one not in force, then swaps `policy_flags` of the segment's header: RCU with one word.
 *
 *   policy area    +-------------------+
 *                  | table 0           |  header, rules, captures, masks, classes, flags, capture numbers      ADA_POLICY_TABLE_BYTES apart
 *                  | table 1           |
 *                  | states            |  one struct ada_rule_state a slot: outlives the tables
 *                  | samples           |  ADA_SAMPLE_BYTES a slot: what p99, rate and new-caller remember
 *                  | spans             |  ADA_SPAN_BYTES a slot: what has begun and not ended (abi/span.h)
 *                  +-------------------+
 *
 * Functions have dense numbers from 1 on: function_base of their module (given with its plan) + symbolIndex. Number 0 stands for
 * functions without a number; its flags are always 0. The hook tests flags[number]; a slow path asks masks[classes[number]] which rules
 * name the function.
 *
 * A reader that got hold of a table just before the recorder fills that table anew sees `generation` change: the reader reads generation
 * (even), decides, and where generation has changed by then, decides again in the table in force. So no event is marked under a mixture
 * of policies. A new table may not name a function before its pages are there: the recorder allocates before it swaps.
 *
 * A rule keeps its slot (0 to 63) through swaps, and with the slot its state. A slot given to a new rule has its state zeroed
 * and `incarnation` raised first; a table names the incarnation that it means.
 */
#ifndef ADA_ABI_POLICY_H
#define ADA_ABI_POLICY_H
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include "abi/page.h"

#define ADA_RULES_MAX 64u
#define ADA_FUNCTIONS_MAX (1u << 21) /* with a dense number, in one process; no trigger can name the rest */
#define ADA_CLASSES_MAX 65536u
#define ADA_SAMPLE_BYTES 8192u
#define ADA_SPAN_BYTES (256u << 10)
#define ADA_SPANS_A_BUCKET 8u
#define ADA_MARKS 4096u /* places of the ring */

enum ada_policy_flag {			      /* a byte a function */
		       ADA_POLICY_CALL = 1,   /* rules look at its calls */
		       ADA_POLICY_RETURN = 2, /* rules look at its returns (RETURN and EXCEPTION) */
		       /* Its calls have OBJECT events (abi/record.h), whatever the rules. As the plan says: */
		       ADA_POLICY_OBJECT = 4,	   /* ADA_FUNCTION_OBJECT */
		       ADA_POLICY_OBJECT_PAIR = 8, /* ADA_FUNCTION_OBJECT_PAIR */
		       ADA_POLICY_FUTEX = 16,	   /* ADA_FUNCTION_FUTEX */
		       ADA_POLICY_OBJECTS = 4 + 8 + 16,
		       ADA_POLICY_CAPTURE = 32, /* what its arguments point at is captured: struct ada_capture */
		       /* No rule: its hook lets calls pass, and records none (recorder/budget); calls in progress end as ever. Set and taken back
			* in the table in force, whose generation doesn't change for it. */
		       ADA_POLICY_MUTED = 64,
		       ADA_POLICY_NAMES_CALL = 1 + 4 + 8 + 16 + 32 + 64, /* any of these: the hook does not do a call alone */
};
#define ADA_POLICY_OF_PLAN 16 /* a function's flags of the plan, divided by this, are its flags of the policy */

enum ada_rule_kind {
	ADA_RULE_SYMBOL = 1, /* CALL */
	ADA_RULE_RETURN,     /* RETURN: value op operand, as `type` */
	ADA_RULE_ARG,	     /* CALL: argument number `argument` (1 to 6) op operand */
	ADA_RULE_LATENCY,    /* RETURN: duration op operand (ticks) */
	ADA_RULE_PERCENTILE, /* RETURN: more than (1 - percentile) of the last `over` durations exceed operand (ticks); marks when it begins to */
	ADA_RULE_RATE,	     /* CALL: more than operand calls within `per` ticks; marks when it begins to */
	ADA_RULE_DEPTH,	     /* CALL at a depth > operand, until that ends once; without function (ADA_RULE_GLOBAL): the first one above */
	ADA_RULE_NEW_CALLER, /* CALL from a return address not seen before */
	ADA_RULE_CPU,	     /* RETURN: the call's own thread's CPU time, in ns, op operand */
	ADA_RULE_SPAN,	     /* CALL that ends what a call with an equal argument began: ticks in between op operand */
	ADA_RULE_SPAN_BEGIN, /* CALL that begins it: the second slot of such a rule. Marks nothing */
	ADA_RULE_EXCEPTION,  /* CALL of a function that throws; `name`: glob of the type's name, "" all */
	/* Rules that name no function: the recorder marks for them; for CRASH and SIGNAL the agent's handlers do */
	ADA_RULE_CPU_SHARE,
	ADA_RULE_MEMORY_SHARE,
	ADA_RULE_MEMORY_BYTES,
	ADA_RULE_TIME,
	ADA_RULE_CRASH,
	ADA_RULE_SIGNAL,
	ADA_RULE_EXIT,
	ADA_RULE_MANUAL
};
enum ada_rule_op { ADA_OP_NONE = 0, ADA_OP_LT, ADA_OP_LE, ADA_OP_EQ, ADA_OP_NE, ADA_OP_GE, ADA_OP_GT };
enum ada_value_type { /* of what a return or argument holds */
		      ADA_VALUE_I64 = 0,
		      ADA_VALUE_I32,
		      ADA_VALUE_I16,
		      ADA_VALUE_I8,
		      ADA_VALUE_U64,
		      ADA_VALUE_U32,
		      ADA_VALUE_U16,
		      ADA_VALUE_U8,
		      ADA_VALUE_F64,
		      ADA_VALUE_F32 /* in xmm0 */
};
enum ada_rule_flag {
	ADA_RULE_GLOBAL = 1, /* names no function */
	ADA_RULE_ENABLED = 2,
};

struct ada_rule {	/* 256 bytes */
	uint32_t kind;	/* enum ada_rule_kind; 0: slot is empty */
	uint32_t flags; /* enum ada_rule_flag */
	uint32_t incarnation;
	uint8_t op, type; /* enum ada_rule_op, enum ada_value_type */
	uint8_t argument;
	uint8_t span; /* SPAN_BEGIN: the slot of its SPAN, whose table and incarnation it has */
	union {
		int64_t i;
		uint64_t u;
		double f;
	} operand;	     /* by type: f for F64 and F32, u for U*, ticks, counts */
	uint64_t percentile; /* per 100,000: p99.9 is 99,900 */
	uint64_t over;	     /* samples, at most ADA_SAMPLE_BYTES * 8 */
	uint64_t per_ticks;  /* of a rate */
	/* The first `after` matches don't mark (new-caller: these calls only teach callers); of the others the first and then every
	 * `every`-th marks (0 and 1: each) */
	uint64_t after, every;
	uint64_t limit, limit_ticks;	/* at most `limit` marks within `limit_ticks`; 0: no limit. See limit_start below */
	uint64_t pre_ticks, pre_events; /* both 0: from the mark on. Both set: whichever reaches back further */
	uint64_t post_ticks, post_events;
	uint64_t signals; /* bit n - 1: signal n */
	char name[136];	  /* of an exception's type: a glob over the mangled or plain name */
};
static_assert(sizeof(struct ada_rule) == 256, "rule");

struct ada_policy_table {      /* then masks, classes, flags: offsets below, from the table's start */
	uint64_t generation;   /* odd while it is being filled (atomic) */
	uint32_t version;      /* of the policy; 0: none yet */
	uint32_t functions;    /* numbers up to this one are in classes and flags */
	uint64_t global_calls; /* slots of ADA_RULE_DEPTH without function */
	uint64_t depth_limit;  /* the lowest of their operands; UINT64_MAX: none */
	uint64_t crash_rules;  /* slots of ADA_RULE_CRASH */
	uint64_t signal_rules; /* slots of ADA_RULE_SIGNAL */
	uint64_t signals;      /* all that they name */
	uint8_t reserved[8];
	struct ada_rule rules[ADA_RULES_MAX];
};
static_assert(sizeof(struct ada_policy_table) == 64 + 64 * 256, "policy table");

/* What is captured of a call's arguments. Settled before the program starts, so that a number means the same in both tables. */
struct ada_capture {
	uint8_t argument; /* 1 to 6, of ERRNO ATF_CAPTURED_ERRNO; 0: no more */
	uint8_t kind;	  /* enum ada_capture_kind */
	uint16_t
		bytes; /* BUFFER: the argument that says how many; WORD_STRING: offset of the word; ERRNO: enum ada_errno_result; else how many at most */
};
enum ada_capture_kind {
	ADA_CAPTURE_STRING = 1,
	ADA_CAPTURE_BUFFER = 2,
	ADA_CAPTURE_BYTES = 3,
	ADA_CAPTURE_WORD_STRING = 4, /* the text that a word points to of what the argument points to */
	ADA_CAPTURE_ERRNO = 5	     /* errno, of a return whose result says that the call failed */
};
enum ada_errno_result {
	ADA_ERRNO_NEGATIVE = 0, /* an int */
	ADA_ERRNO_NULL = 1,
	ADA_ERRNO_MINUS_ONE = 2, /* of 64 bits: a size, an offset or a pointer, whose lower half may look like anything */
};
struct ada_capture_set {
	struct ada_capture items[4];
};
static_assert(sizeof(struct ada_capture_set) == 16, "capture");
#define ADA_CAPTURE_SETS 251u						/* number 0: none */
#define ADA_POLICY_CAPTURES ((uint32_t)sizeof(struct ada_policy_table)) /* struct ada_capture_set[ADA_CAPTURE_SETS] */
static_assert(sizeof(struct ada_policy_table) + ADA_CAPTURE_SETS * sizeof(struct ada_capture_set) <= 20480, "captures");

#define ADA_POLICY_MASKS 20480u						  /* uint64_t[ADA_CLASSES_MAX]: bit = slot; class 0 = none */
#define ADA_POLICY_CLASSES (ADA_POLICY_MASKS + 8u * ADA_CLASSES_MAX)	  /* uint16_t[ADA_FUNCTIONS_MAX] */
#define ADA_POLICY_FLAGS (ADA_POLICY_CLASSES + 2u * ADA_FUNCTIONS_MAX)	  /* uint8_t[ADA_FUNCTIONS_MAX] */
#define ADA_POLICY_CAPTURE_NUMBERS (ADA_POLICY_FLAGS + ADA_FUNCTIONS_MAX) /* uint8_t[ADA_FUNCTIONS_MAX] */
#define ADA_POLICY_TABLE_BYTES (ADA_POLICY_CAPTURE_NUMBERS + ADA_FUNCTIONS_MAX)
static_assert(ADA_POLICY_MASKS >= sizeof(struct ada_policy_table) && ADA_POLICY_TABLE_BYTES % ADA_PAGE_BYTES == 0, "pages");

/* Agents change a state atomically, without locks. The recorder zeroes it when the slot gets a new rule, the new incarnation first. An
 * agent that is about to change the state for the former rule looks at the incarnation, but may come late by that one change: so the
 * recorder gives away the slot that has been empty for longest.
 *
 * incarnation and matches are one pair for cmpxchg16b, limit_start and limit_count another.
 * What is done with them: abi/rules.h. */
struct ada_rule_state { /* 128 bytes */
	uint32_t incarnation __attribute__((aligned(16)));
	uint32_t above;			   /* percentile, rate: the bound is exceeded now */
	uint64_t matches;		   /* events that fitted the rule, whatever after, every and limit made of them */
	uint64_t limit_start, limit_count; /* a span of limit_ticks begins with the first mark after the last span's end */
	uint64_t marks;			   /* how many of the matches marked */
	uint64_t samples;		   /* percentile, rate: taken so far. new-caller: addresses held */
	uint64_t exceeding;		   /* percentile: of the last `over`. rate: calls before this bucket. new-caller: calls */
	uint64_t since_counter;		   /* when the recorder made the rule: earlier events don't mark */
	uint64_t last_counter;		   /* of its last mark */
	uint64_t overlooked;		   /* samples or addresses that had no room */
	uint8_t reserved[48];
};
static_assert(sizeof(struct ada_rule_state) == 128, "rule state");
#define ADA_POLICY_STATES (2u * ADA_POLICY_TABLE_BYTES)				 /* struct ada_rule_state[ADA_RULES_MAX] */
#define ADA_POLICY_SAMPLES (ADA_POLICY_STATES + ADA_RULES_MAX * 128u)		 /* pages of a slot exist for kinds that need them */
#define ADA_POLICY_SPANS (ADA_POLICY_SAMPLES + ADA_RULES_MAX * ADA_SAMPLE_BYTES) /* likewise */
#define ADA_POLICY_BYTES (ADA_POLICY_SPANS + ADA_RULES_MAX * ADA_SPAN_BYTES)
static_assert(ADA_POLICY_SAMPLES % ADA_PAGE_BYTES == 0 && ADA_POLICY_BYTES % ADA_PAGE_BYTES == 0, "pages");

/* What has begun: abi/span.h. */
struct ada_begun {
	uint64_t counter; /* of the call that began it (atomic) */
	uint64_t key;
	uint32_t thread, incarnation;
	uint64_t reserved;
};
static_assert(sizeof(struct ada_begun) == 32, "span");

static inline struct ada_rule_state *ada_policy_state(void *area, uint32_t slot)
{
	return (struct ada_rule_state *)((char *)area + ADA_POLICY_STATES) + slot;
}

static inline uint64_t *ada_policy_samples(void *area, uint32_t slot)
{
	return (uint64_t *)((char *)area + ADA_POLICY_SAMPLES + (uint64_t)slot * ADA_SAMPLE_BYTES);
}

/* One event that fitted one or more rules. Written before the pin is widened (abi/detail.h), both before the thread goes on. */
struct ada_mark {	  /* 128 bytes */
	uint64_t ready;	  /* place number + 1 (atomic, set last) */
	uint64_t counter; /* of the marked event */
	uint64_t rules;	  /* bit = slot */
	uint32_t version; /* of the policy that marked */
	uint32_t thread;  /* its id; ADA_NONE: of no thread */
	uint64_t seq;	  /* the event's number in this thread, as the ring counts (first_seq + place); UINT64_MAX: no event */
	uint64_t function_id;
	uint64_t value; /* what was compared: duration in ticks, argument, result, ...; signal number */
	uint64_t pre_ticks, pre_events, post_ticks, post_events; /* the largest of its rules */
	/* What the mark pinned, in counters. pin_end is UINT64_MAX while a post-roll in events goes on. The agent lowers pin_end when the
	 * marked thread begins its next chunk behind the last of these events, the recorder when it has closed the window (atomic). */
	uint64_t pin_start, pin_end;
	/* Of ADA_RULE_SPAN: what was equal, and the call that began. begin_counter 0: none of its rules is of that kind */
	uint64_t key, begin_counter;
	uint32_t begin_thread;
	uint8_t reserved[4];
};
static_assert(sizeof(struct ada_mark) == 128, "mark");

struct ada_mark_control { /* all atomic */
	uint64_t head;	  /* marks written or being written; place n is marks[n % ADA_MARKS] */
	uint64_t tail;	  /* recorder: marks before this place may be overwritten */
	/* Where the ring is full a mark is counted here instead, and its interval and rules are added */
	uint64_t missed, missed_rules, missed_start, missed_end; /* start: lowest counter, 0: none; end: highest */
	uint64_t detected;					 /* marks in all: marked_events_detected */
	uint64_t evaluated_ticks;				 /* time spent deciding, a sample of 1 in 64: pattern matching statistics */
};
static_assert(sizeof(struct ada_mark_control) == 64, "mark control");
#endif

/* What a rule says of an event (layouts: abi/policy.h). There is no second answer: the judge in the traced process, the recorder's own
 * marks and the replay of a recording all ask here.
 *
 *   ada_rule_fits    does the event fit, as far as rule and event tell? Changes nothing, and may be asked twice
 *   ada_rule_marks   it fits: brings up to date, once, what the rule remembers, and says whether it marks
 *   ada_rule_pass    the last part of that: after=, every= and limit=. The recorder's own rules remember no more
 *
 * Several threads, and handlers in their midst, change a state at once, without locks: counting takes a place of the sample area, and
 * each change adds its difference to the sums. Counts (after, every, limit) are exact. Where threads sample at the very same time, the
 * answer whether a bound is exceeded may come one sample late. Only `incarnation` orders anything: the recorder writes it before it zeroes
 * the rest.
 *
 *   percentile   a bit a sample, round and round: does it exceed the operand?       exceeding = how many bits are set
 *   rate         N <= 1024: counters of the last N calls: the Nth before this one within `per` means more than N
 *                else buckets of per / 500: number in the high half, calls in the low  exceeding = calls of the older ones
 *   new-caller   open addressing, 0 = free                                          samples = callers held
 *   span         abi/span.h
 */
#ifndef ADA_ABI_RULES_H
#define ADA_ABI_RULES_H
#include <signal.h>
#include "abi/atomic.h"
#include "abi/policy.h"
#include "abi/record.h"
#include "abi/span.h"

#define ADA_SAMPLE_WORDS (ADA_SAMPLE_BYTES / 8)
#define ADA_RATE_BUCKETS 512u /* in the ring; of them make the window: */
#define ADA_RATE_BUCKETS_A_WINDOW 500u
#define ADA_CALLERS_MAX (ADA_SAMPLE_WORDS * 15 / 16) /* fuller, and looking up what is not there takes long */
#define ADA_HUNDRED_PERCENT 100000ull

struct ada_rule_event { /* what rules look at, whoever asks */
	uint64_t counter;
	uint64_t duration; /* of the call that ends */
	uint64_t caller;   /* CALL: tells callers apart; 0: not known */
	uint32_t kind;	   /* enum ada_event_kind */
	uint32_t depth;
	bool timed;	   /* the duration is known */
	uint32_t *descent; /* of rules of depth with functions: the depth of the marked call on this thread, plus 1; 0: none is open */
};

/* --- values ------------------------------------------------------------------------------------------------------------ */

/* order: -1, 0 or 1. */
static inline bool ada_order_fits(int order, enum ada_rule_op op)
{
	enum { LESS = 1, SAME = 2, MORE = 4 };
	static const uint8_t wanted[] = { [ADA_OP_LT] = LESS,	     [ADA_OP_LE] = LESS | SAME, [ADA_OP_EQ] = SAME,
					  [ADA_OP_NE] = LESS | MORE, [ADA_OP_GE] = SAME | MORE, [ADA_OP_GT] = MORE };

	return op < sizeof wanted && wanted[op] >> (order + 1) & 1;
}

static inline bool ada_unsigned_fits(uint64_t value, enum ada_rule_op op, uint64_t operand)
{
	return ada_order_fits((value > operand) - (value < operand), op);
}

static inline bool ada_signed_fits(int64_t value, enum ada_rule_op op, int64_t operand)
{
	return ada_order_fits((value > operand) - (value < operand), op);
}

/* The double of the same value as a float, by its bits; every float has one. */
static inline uint64_t ada_real_widen(uint32_t bits)
{
	const unsigned int more = 52 - 23, bias = 1023 - 127; /* bits of the fraction, and of the exponent's zero */
	uint64_t sign = (uint64_t)(bits >> 31) << 63, exponent = bits >> 23 & 0xff, fraction = bits & ((1u << 23) - 1);

	if (exponent == 0xff)
		return sign | 0x7ff0000000000000 | fraction << more;
	if (!exponent && !fraction)
		return sign;
	if (!exponent) { /* subnormal: its highest bit becomes the hidden one */
		uint32_t highest = 31 - (uint32_t)__builtin_clz((uint32_t)fraction);

		fraction ^= 1ull << highest;
		return sign | (uint64_t)(highest + 1 - 23 + bias) << 52 | fraction << (52 - highest);
	}
	return sign | (exponent + bias) << 52 | fraction << more;
}

/* The agent may not use floating-point registers, so real numbers are compared by their bits: apart from NaN, sign and magnitude order
 * them like integers. */
static inline bool ada_real_fits(uint64_t value, enum ada_rule_op op, uint64_t operand)
{
	const uint64_t sign = 1ull << 63, infinity = 0x7ff0000000000000;
	uint64_t size = value & ~sign, operand_size = operand & ~sign;

	if (size > infinity || operand_size > infinity)
		return op == ADA_OP_NE;
	return ada_signed_fits(value & sign ? -(int64_t)size : (int64_t)size, op,
			       operand & sign ? -(int64_t)operand_size : (int64_t)operand_size);
}

/* `raw` is what the register holds. */
static inline bool ada_value_fits(uint64_t raw, const struct ada_rule *rule)
{
	enum ada_rule_op op = (enum ada_rule_op)rule->op;

	switch ((enum ada_value_type)rule->type) {
	case ADA_VALUE_I64: return ada_signed_fits((int64_t)raw, op, rule->operand.i);
	case ADA_VALUE_I32: return ada_signed_fits((int32_t)raw, op, rule->operand.i);
	case ADA_VALUE_I16: return ada_signed_fits((int16_t)raw, op, rule->operand.i);
	case ADA_VALUE_I8: return ada_signed_fits((int8_t)raw, op, rule->operand.i);
	case ADA_VALUE_U64: return ada_unsigned_fits(raw, op, rule->operand.u);
	case ADA_VALUE_U32: return ada_unsigned_fits((uint32_t)raw, op, rule->operand.u);
	case ADA_VALUE_U16: return ada_unsigned_fits((uint16_t)raw, op, rule->operand.u);
	case ADA_VALUE_U8: return ada_unsigned_fits((uint8_t)raw, op, rule->operand.u);
	case ADA_VALUE_F64: return ada_real_fits(raw, op, rule->operand.u);
	case ADA_VALUE_F32: return ada_real_fits(ada_real_widen((uint32_t)raw), op, rule->operand.u);
	}
	return false;
}

/* Real numbers come and go in xmm0, whichever argument it is. */
static inline bool ada_rule_is_real(const struct ada_rule *rule)
{
	return rule->type == ADA_VALUE_F64 || rule->type == ADA_VALUE_F32;
}

/* --- signals: bit n - 1 ---------------------------------------------------------------------------------------------------- */

#define ADA_SIGNAL_BIT(number) (1ull << ((number)-1))
#define ADA_CRASH_SIGNALS                                                                                                                  \
	(ADA_SIGNAL_BIT(SIGSEGV) | ADA_SIGNAL_BIT(SIGBUS) | ADA_SIGNAL_BIT(SIGILL) | ADA_SIGNAL_BIT(SIGFPE) | ADA_SIGNAL_BIT(SIGABRT) |    \
	 ADA_SIGNAL_BIT(SIGTRAP) | ADA_SIGNAL_BIT(SIGSYS))

static inline bool ada_signals_have(uint64_t signals, uint64_t number)
{
	return number && number <= 64 && signals & ADA_SIGNAL_BIT(number);
}

/* --- does it fit? -------------------------------------------------------------------------------------------------------- */

/* Answers what only the caller can tell: the register of an argument or a result, the CPU time of a call (asked at the call's beginning,
 * too), whether the thrown type is the rule's. False: no, or not known. */
typedef bool ada_rule_ask(void *context, const struct ada_rule *rule, uint64_t *value);

#define ADA_RULE_PART static inline __attribute__((always_inline)) /* so that `ask` is no call through a pointer */

/* A call or an end at the depth of the marked call, or above, says that this has ended. However often it is said. */
ADA_RULE_PART void ada_descent_ends(const struct ada_rule_event *event)
{
	if (event->depth < *event->descent)
		*event->descent = 0;
}

ADA_RULE_PART bool ada_rule_fits_call(const struct ada_rule *rule, const struct ada_rule_event *event, ada_rule_ask *ask, void *context,
				      uint64_t *value)
{
	switch (rule->kind) {
	case ADA_RULE_SYMBOL:
	case ADA_RULE_RATE: return true;
	case ADA_RULE_ARG: return ask(context, rule, value) && ada_value_fits(*value, rule);
	case ADA_RULE_DEPTH:
		*value = event->depth;
		if (rule->flags & ADA_RULE_GLOBAL)
			return event->depth == rule->operand.u + 1;
		ada_descent_ends(event);
		return event->depth > rule->operand.u && !*event->descent;
	case ADA_RULE_NEW_CALLER: *value = event->caller; return event->caller;
	case ADA_RULE_CPU: /* no match yet: the call's beginning */ ask(context, rule, value); return false;
	case ADA_RULE_SPAN: /* the key: ada_rule_spans has the rest */
	case ADA_RULE_SPAN_BEGIN: return ask(context, rule, value);
	case ADA_RULE_EXCEPTION: return ask(context, rule, value);
	}
	return false;
}

ADA_RULE_PART bool ada_rule_fits_end(const struct ada_rule *rule, const struct ada_rule_event *event, ada_rule_ask *ask, void *context,
				     uint64_t *value)
{
	switch (rule->kind) {
	case ADA_RULE_RETURN: /* a frame left by unwinding returned nothing */
		return event->kind == ADA_EVENT_RETURN && ask(context, rule, value) && ada_value_fits(*value, rule);
	case ADA_RULE_LATENCY:
	case ADA_RULE_PERCENTILE:
		*value = event->duration;
		return event->timed &&
		       (rule->kind == ADA_RULE_PERCENTILE || ada_unsigned_fits(*value, (enum ada_rule_op)rule->op, rule->operand.u));
	case ADA_RULE_CPU: return ask(context, rule, value) && ada_unsigned_fits(*value, (enum ada_rule_op)rule->op, rule->operand.u);
	case ADA_RULE_DEPTH: /* no match */
		if (!(rule->flags & ADA_RULE_GLOBAL))
			ada_descent_ends(event);
		return false;
	}
	return false;
}

/* Only for rules of events. *value: what was compared, if anything was. */
ADA_RULE_PART bool ada_rule_fits(const struct ada_rule *rule, const struct ada_rule_event *event, ada_rule_ask *ask, void *context,
				 uint64_t *value)
{
	return event->kind == ADA_EVENT_CALL ? ada_rule_fits_call(rule, event, ask, context, value) :
					       ada_rule_fits_end(rule, event, ask, context, value);
}

/* --- what rules remember ------------------------------------------------------------------------------------------------- */

static inline void ada_rule_overlook(struct ada_rule_state *state)
{
	__atomic_fetch_add(&state->overlooked, 1, __ATOMIC_RELAXED);
}

/* True for the thread that turns it. */
static inline bool ada_rule_turns(struct ada_rule_state *state, bool above)
{
	uint32_t old = !above;

	if (__atomic_load_n(&state->above, __ATOMIC_RELAXED) == above)
		return false;
	return __atomic_compare_exchange_n(&state->above, &old, above, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) && above;
}

/* Nearest rank: of n durations the percentile is the ceil(p * n)th from below. It exceeds the operand where more than n - ceil(p * n)
 * durations do. For < and <= the other way round. */
static inline bool ada_percentile_turns(struct ada_rule_state *state, uint64_t *samples, const struct ada_rule *rule, uint64_t duration)
{
	const bool below = rule->op == ADA_OP_LT || rule->op == ADA_OP_LE;
	uint64_t over = rule->over && rule->over < ADA_SAMPLE_BYTES * 8 ? rule->over : ADA_SAMPLE_BYTES * 8;
	uint64_t share = rule->percentile < ADA_HUNDRED_PERCENT ? rule->percentile : ADA_HUNDRED_PERCENT - 1;
	uint64_t enough = (ADA_HUNDRED_PERCENT + ADA_HUNDRED_PERCENT - share - 1) / (ADA_HUNDRED_PERCENT - share);
	bool exceeds = ada_unsigned_fits(duration, (enum ada_rule_op)rule->op, rule->operand.u) != below;
	uint64_t number = __atomic_fetch_add(&state->samples, 1, __ATOMIC_RELAXED), n = number + 1 < over ? number + 1 : over;
	uint64_t place = number % over, bit = 1ull << place % 64, before;
	int64_t exceeding, spare = (int64_t)(n - (share * n + ADA_HUNDRED_PERCENT - 1) / ADA_HUNDRED_PERCENT);

	before = exceeds ? __atomic_fetch_or(&samples[place / 64], bit, __ATOMIC_RELAXED) :
			   __atomic_fetch_and(&samples[place / 64], ~bit, __ATOMIC_RELAXED);
	exceeding = (int64_t)__atomic_add_fetch(&state->exceeding, (uint64_t)exceeds - !!(before & bit), __ATOMIC_RELAXED);
	if (n < (over < enough ? over : enough))
		return false;
	return ada_rule_turns(state, (exceeding > spare) != below);
}

static inline uint64_t ada_bucket_calls(const uint64_t *buckets, uint32_t number)
{
	uint64_t bucket = __atomic_load_n(&buckets[number % ADA_RATE_BUCKETS], __ATOMIC_RELAXED);

	return bucket >> 32 == number ? (uint32_t)bucket : 0;
}

/* Counts one more call in its bucket; returns how many there are. 0: the bucket has another number by now, for the caller was held up
 * long. */
static inline uint64_t ada_bucket_count(uint64_t *bucket, uint32_t number)
{
	uint64_t old = __atomic_load_n(bucket, __ATOMIC_RELAXED), calls;

	do {
		bool same = old >> 32 == number;

		if (old && !same && (int32_t)(number - (uint32_t)(old >> 32)) < 0)
			return 0;
		calls = same ? (uint32_t)old + 1 : 1;
	} while (!__atomic_compare_exchange_n(bucket, &old, (uint64_t)number << 32 | calls, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return calls;
}

/* The window ends now and begins within the oldest bucket, of which only the share inside counts. */
static inline bool ada_rate_exceeds_coarse(struct ada_rule_state *state, uint64_t *buckets, const struct ada_rule *rule, uint64_t counter)
{
	uint64_t width = rule->per_ticks / ADA_RATE_BUCKETS_A_WINDOW + 1, into = counter % width, older = 0;
	uint32_t now = (uint32_t)(counter / width);
	uint64_t calls = ada_bucket_count(&buckets[now % ADA_RATE_BUCKETS], now);

	if (!calls) {
		ada_rule_overlook(state);
		return __atomic_load_n(&state->above, __ATOMIC_RELAXED);
	}
	if (calls == 1) {
		for (uint32_t back = 1; back < ADA_RATE_BUCKETS_A_WINDOW; back++)
			older += ada_bucket_calls(buckets, now - back);
		__atomic_store_n(&state->exceeding, older, __ATOMIC_RELAXED);
	}
	older = __atomic_load_n(&state->exceeding, __ATOMIC_RELAXED);
	return older + calls + ada_bucket_calls(buckets, now - ADA_RATE_BUCKETS_A_WINDOW) * (width - into) / width > rule->operand.u;
}

static inline bool ada_rate_turns(struct ada_rule_state *state, uint64_t *samples, const struct ada_rule *rule, uint64_t counter)
{
	uint64_t calls = rule->operand.u, number, before;

	if (calls > ADA_SAMPLE_WORDS)
		return ada_rule_turns(state, ada_rate_exceeds_coarse(state, samples, rule, counter));
	if (!calls)
		return ada_rule_turns(state, true);
	number = __atomic_fetch_add(&state->samples, 1, __ATOMIC_RELAXED);
	before = __atomic_exchange_n(&samples[number % calls], counter, __ATOMIC_RELAXED);
	return ada_rule_turns(state, number >= calls && (int64_t)(counter - before) < (int64_t)rule->per_ticks);
}

static inline bool ada_caller_is_new(struct ada_rule_state *state, uint64_t *callers, const struct ada_rule *rule, uint64_t caller)
{
	uint64_t call = __atomic_fetch_add(&state->exceeding, 1, __ATOMIC_RELAXED);
	uint32_t at = (uint32_t)(caller * 0x9E3779B97F4A7C15ull >> 54); /* 10 bits: ADA_SAMPLE_WORDS places */
	bool learned = false;

	static_assert(ADA_SAMPLE_WORDS == 1024, "the hash's bits");
	for (uint32_t tries = 0; tries < ADA_SAMPLE_WORDS; tries++, at = (at + 1) % ADA_SAMPLE_WORDS) {
		uint64_t there = __atomic_load_n(&callers[at], __ATOMIC_RELAXED);

		if (!there && !learned) {
			if (__atomic_add_fetch(&state->samples, 1, __ATOMIC_RELAXED) > ADA_CALLERS_MAX)
				break;
			learned = true;
		}
		if (!there && __atomic_compare_exchange_n(&callers[at], &there, caller, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return call >= rule->after;
		if (there == caller) {
			if (learned) /* by another thread just now */
				__atomic_fetch_sub(&state->samples, 1, __ATOMIC_RELAXED);
			return false;
		}
	}
	__atomic_fetch_sub(&state->samples, 1, __ATOMIC_RELAXED);
	ada_rule_overlook(state);
	return false;
}

/* Counts the match, if the state is still this rule's. *number: matches before this one. */
static inline bool ada_match_count(struct ada_rule_state *state, uint32_t incarnation, uint64_t *number)
{
	uint64_t old[2] = { __atomic_load_n((uint64_t *)state, __ATOMIC_RELAXED), __atomic_load_n(&state->matches, __ATOMIC_RELAXED) };

	static_assert(offsetof(struct ada_rule_state, incarnation) == 0 && offsetof(struct ada_rule_state, matches) == 8, "a pair");
	do {
		if ((uint32_t)old[0] != incarnation)
			return false;
		*number = old[1];
	} while (!ada_pair_swap(state, old, old[0], old[1] + 1));
	return true;
}

static inline bool ada_limit_allows(struct ada_rule_state *state, const struct ada_rule *rule, uint64_t counter)
{
	uint64_t old[2] = { __atomic_load_n(&state->limit_start, __ATOMIC_RELAXED),
			    __atomic_load_n(&state->limit_count, __ATOMIC_RELAXED) },
		 start, count;

	static_assert(offsetof(struct ada_rule_state, limit_start) % 16 == 0 &&
			      offsetof(struct ada_rule_state, limit_count) == offsetof(struct ada_rule_state, limit_start) + 8,
		      "a pair");
	if (!rule->limit)
		return true;
	do {
		bool over = !old[1] || (counter > old[0] && counter - old[0] >= rule->limit_ticks);

		start = over ? counter : old[0];
		count = over ? 1 : old[1] + 1;
		if (count > rule->limit)
			return false;
	} while (!ada_pair_swap(&state->limit_start, old, start, count));
	return true;
}

/* The match is counted: says whether it marks. */
static inline bool ada_rule_pass(struct ada_rule_state *state, const struct ada_rule *rule, uint64_t counter)
{
	uint64_t number, after = rule->kind == ADA_RULE_NEW_CALLER ? 0 : rule->after; /* new-caller has learned by then */

	if (!ada_match_count(state, rule->incarnation, &number))
		return false;
	if (number < after || (rule->every > 1 && (number - after) % rule->every) || !ada_limit_allows(state, rule, counter))
		return false;
	__atomic_fetch_add(&state->marks, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&state->last_counter, counter, __ATOMIC_RELAXED);
	return true;
}

/* The argument as its type has it, so that an int of one function equals a long of another. */
static inline uint64_t ada_rule_key(const struct ada_rule *rule, uint64_t raw)
{
	switch ((enum ada_value_type)rule->type) {
	case ADA_VALUE_I32: return (uint64_t)(int32_t)raw;
	case ADA_VALUE_I16: return (uint64_t)(int16_t)raw;
	case ADA_VALUE_I8: return (uint64_t)(int8_t)raw;
	case ADA_VALUE_U32: return (uint32_t)raw;
	case ADA_VALUE_U16: return (uint16_t)raw;
	case ADA_VALUE_U8: return (uint8_t)raw;
	default: return raw;
	}
}

/* For a rule of spans, an event with this key, of this thread. True: it ended one that took as long as the rule says; *span is where that
 * began. False for all that begins. `state` and `table`: of the slot that ends. */
static inline bool ada_rule_spans(struct ada_rule_state *state, uint64_t *table, const struct ada_rule *rule,
				  const struct ada_rule_event *event, uint64_t key, uint32_t thread, struct ada_begun *span)
{
	*span = (struct ada_begun){ .key = ada_rule_key(rule, key), .thread = thread, .incarnation = rule->incarnation };
	if (__atomic_load_n(&state->incarnation, __ATOMIC_ACQUIRE) != rule->incarnation)
		return false;
	if (rule->kind == ADA_RULE_SPAN_BEGIN) {
		span->counter = event->counter;
		if (!ada_span_begin(table, span))
			ada_rule_overlook(state);
		return false;
	}
	if (!ada_span_end(table, span) || event->counter < span->counter)
		return false;
	return ada_unsigned_fits(event->counter - span->counter, (enum ada_rule_op)rule->op, rule->operand.u);
}

/* The event fits. `samples`: the rule's ADA_SAMPLE_BYTES, of a kind that needs them. */
static inline bool ada_rule_marks(struct ada_rule_state *state, uint64_t *samples, const struct ada_rule *rule,
				  const struct ada_rule_event *event)
{
	if (__atomic_load_n(&state->incarnation, __ATOMIC_ACQUIRE) != rule->incarnation)
		return false; /* another rule has the slot by now */
	/* The thread may have been preempted behind the event, and may judge it by newer rules. */
	if (event->counter < __atomic_load_n(&state->since_counter, __ATOMIC_RELAXED))
		return false;
	if (rule->kind == ADA_RULE_PERCENTILE && !ada_percentile_turns(state, samples, rule, event->duration))
		return false;
	if (rule->kind == ADA_RULE_RATE && !ada_rate_turns(state, samples, rule, event->counter))
		return false;
	if (rule->kind == ADA_RULE_NEW_CALLER && !ada_caller_is_new(state, samples, rule, event->caller))
		return false;
	if (rule->kind == ADA_RULE_DEPTH && event->descent)
		*event->descent = event->depth + 1;
	return ada_rule_pass(state, rule, event->counter);
}
#endif

/* What rules remember from event to event, in shared memory, and whether that makes them mark.
 *
 * Several threads, and handlers in their midst, change a state at once, without locks: counting takes a place of the sample area, and
 * each change adds its difference to the sums. Counts (after, every, limit) are exact. Where threads sample at the very same time, the
 * answer whether a bound is exceeded may come one sample late.
 *
 *   percentile   a bit a sample, round and round: does it exceed the operand?       exceeding = how many bits are set
 *   rate         N <= 1024: counters of the last N calls: the Nth before this one within `per` means more than N
 *                else buckets of per / 500: number in the high half, calls in the low  exceeding = calls of the older ones
 *   new-caller   open addressing, 0 = free                                          samples = addresses held
 */
#include "agent/judge/parts.h"

#define SAMPLE_WORDS (ADA_SAMPLE_BYTES / 8)
#define SAMPLE_BITS (ADA_SAMPLE_BYTES * 8)
#define BUCKETS 512u /* in the ring; of them make the window: */
#define BUCKETS_A_WINDOW 500u
#define CALLERS_MAX (SAMPLE_WORDS * 15 / 16) /* fuller, and looking up what is not there takes long */
#define HUNDRED_PERCENT 100000ull

struct ada_rule_state *ada_rule_state(struct ada_shm *shm, uint32_t slot)
{
	return (struct ada_rule_state *)((char *)shm + shm->policy_offset + ADA_POLICY_STATES) + slot;
}

static uint64_t *samples_of(struct ada_shm *shm, uint32_t slot)
{
	return (uint64_t *)((char *)shm + shm->policy_offset + ADA_POLICY_SAMPLES + (uint64_t)slot * ADA_SAMPLE_BYTES);
}

static void overlook(struct ada_rule_state *state)
{
	__atomic_fetch_add(&state->overlooked, 1, __ATOMIC_RELAXED);
}

/* True for the thread that turns it. */
static bool turns_above(struct ada_rule_state *state, bool above)
{
	uint32_t old = !above;

	if (__atomic_load_n(&state->above, __ATOMIC_RELAXED) == above)
		return false;
	return __atomic_compare_exchange_n(&state->above, &old, above, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) && above;
}

/* Nearest rank: of n durations the percentile is the ceil(p * n)th from below. It exceeds the operand where more than n - ceil(p * n)
 * durations do. For < and <= the other way round. */
static bool percentile_turns(struct ada_rule_state *state, uint64_t *samples, const struct ada_rule *rule, uint64_t duration)
{
	const bool below = rule->op == ADA_OP_LT || rule->op == ADA_OP_LE;
	uint64_t over = rule->over && rule->over < SAMPLE_BITS ? rule->over : SAMPLE_BITS;
	uint64_t share = rule->percentile < HUNDRED_PERCENT ? rule->percentile : HUNDRED_PERCENT - 1;
	uint64_t enough = (HUNDRED_PERCENT + HUNDRED_PERCENT - share - 1) / (HUNDRED_PERCENT - share);
	bool exceeds = ada_value_compare(duration, rule->op, rule->operand.u) != below;
	uint64_t number = __atomic_fetch_add(&state->samples, 1, __ATOMIC_RELAXED), n = number + 1 < over ? number + 1 : over;
	uint64_t place = number % over, bit = 1ull << place % 64, before;
	int64_t exceeding, spare = n - (share * n + HUNDRED_PERCENT - 1) / HUNDRED_PERCENT;

	before = exceeds ? __atomic_fetch_or(&samples[place / 64], bit, __ATOMIC_RELAXED) :
			   __atomic_fetch_and(&samples[place / 64], ~bit, __ATOMIC_RELAXED);
	exceeding = __atomic_add_fetch(&state->exceeding, (uint64_t)exceeds - !!(before & bit), __ATOMIC_RELAXED);
	if (n < (over < enough ? over : enough))
		return false;
	return turns_above(state, (exceeding > spare) != below);
}

static uint64_t bucket_calls(const uint64_t *buckets, uint32_t number)
{
	uint64_t bucket = __atomic_load_n(&buckets[number % BUCKETS], __ATOMIC_RELAXED);

	return bucket >> 32 == number ? (uint32_t)bucket : 0;
}

/* Counts one more call in its bucket; returns how many there are. 0: the bucket has another number by now, for the caller was held up
 * long. */
static uint64_t bucket_count(uint64_t *bucket, uint32_t number)
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
static bool rate_exceeds_coarse(struct ada_rule_state *state, uint64_t *buckets, const struct ada_rule *rule, uint64_t counter)
{
	uint64_t width = rule->per_ticks / BUCKETS_A_WINDOW + 1, into = counter % width, older = 0;
	uint32_t now = counter / width;
	uint64_t calls = bucket_count(&buckets[now % BUCKETS], now);

	if (!calls) {
		overlook(state);
		return __atomic_load_n(&state->above, __ATOMIC_RELAXED);
	}
	if (calls == 1) {
		for (uint32_t back = 1; back < BUCKETS_A_WINDOW; back++)
			older += bucket_calls(buckets, now - back);
		__atomic_store_n(&state->exceeding, older, __ATOMIC_RELAXED);
	}
	older = __atomic_load_n(&state->exceeding, __ATOMIC_RELAXED);
	return older + calls + bucket_calls(buckets, now - BUCKETS_A_WINDOW) * (width - into) / width > rule->operand.u;
}

static bool rate_turns(struct ada_rule_state *state, uint64_t *samples, const struct ada_rule *rule, uint64_t counter)
{
	uint64_t calls = rule->operand.u, number, before;

	if (calls > SAMPLE_WORDS)
		return turns_above(state, rate_exceeds_coarse(state, samples, rule, counter));
	if (!calls)
		return turns_above(state, true);
	number = __atomic_fetch_add(&state->samples, 1, __ATOMIC_RELAXED);
	before = __atomic_exchange_n(&samples[number % calls], counter, __ATOMIC_RELAXED);
	return turns_above(state, number >= calls && (int64_t)(counter - before) < (int64_t)rule->per_ticks);
}

static bool caller_is_new(struct ada_rule_state *state, uint64_t *callers, const struct ada_rule *rule, uint64_t address)
{
	uint64_t call = __atomic_fetch_add(&state->exceeding, 1, __ATOMIC_RELAXED);
	uint32_t at = address * 0x9E3779B97F4A7C15ull >> 54; /* 10 bits: SAMPLE_WORDS places */
	bool learned = false;

	static_assert(SAMPLE_WORDS == 1024, "the hash's bits");
	for (uint32_t tries = 0; tries < SAMPLE_WORDS; tries++, at = (at + 1) % SAMPLE_WORDS) {
		uint64_t there = __atomic_load_n(&callers[at], __ATOMIC_RELAXED);

		if (!there && !learned) {
			if (__atomic_add_fetch(&state->samples, 1, __ATOMIC_RELAXED) > CALLERS_MAX)
				break;
			learned = true;
		}
		if (!there && __atomic_compare_exchange_n(&callers[at], &there, address, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return call >= rule->after;
		if (there == address) {
			if (learned) /* by another thread just now */
				__atomic_fetch_sub(&state->samples, 1, __ATOMIC_RELAXED);
			return false;
		}
	}
	__atomic_fetch_sub(&state->samples, 1, __ATOMIC_RELAXED);
	overlook(state);
	return false;
}

/* Counts the match, if the state is still this rule's. *number: matches before this one. */
static bool match_count(struct ada_rule_state *state, uint32_t incarnation, uint64_t *number)
{
	uint64_t old[2] = { __atomic_load_n((uint64_t *)state, __ATOMIC_RELAXED), __atomic_load_n(&state->matches, __ATOMIC_RELAXED) };

	do {
		if ((uint32_t)old[0] != incarnation)
			return false;
		*number = old[1];
	} while (!ada_swap_pair(state, old, old[0], old[1] + 1));
	return true;
}

static bool limit_allows(struct ada_rule_state *state, const struct ada_rule *rule, uint64_t counter)
{
	uint64_t old[2] = { __atomic_load_n(&state->limit_start, __ATOMIC_RELAXED),
			    __atomic_load_n(&state->limit_count, __ATOMIC_RELAXED) },
		 start, count;

	if (!rule->limit)
		return true;
	do {
		bool over = !old[1] || (counter > old[0] && counter - old[0] >= rule->limit_ticks);

		start = over ? counter : old[0];
		count = over ? 1 : old[1] + 1;
		if (count > rule->limit)
			return false;
	} while (!ada_swap_pair(&state->limit_start, old, start, count));
	return true;
}

static_assert(offsetof(struct ada_rule_state, incarnation) == 0 && offsetof(struct ada_rule_state, matches) == 8 &&
		      offsetof(struct ada_rule_state, limit_start) % 16 == 0 &&
		      offsetof(struct ada_rule_state, limit_count) == offsetof(struct ada_rule_state, limit_start) + 8,
	      "pairs");

bool ada_rule_marks(struct ada_shm *shm, const struct ada_fit *fit, const struct ada_judged *event)
{
	const struct ada_rule *rule = ada_fit_rule(fit);
	struct ada_rule_state *state = ada_rule_state(shm, fit->slot);
	uint64_t *samples = samples_of(shm, fit->slot), number, after = rule->after, every = rule->every;

	if (__atomic_load_n(&state->incarnation, __ATOMIC_ACQUIRE) != rule->incarnation)
		return false; /* its slot is another's by now */
	/* The thread may have been preempted behind the event, and may judge it by newer rules. */
	if (event->counter < __atomic_load_n(&state->since_counter, __ATOMIC_RELAXED))
		return false;
	if (rule->kind == ADA_RULE_PERCENTILE && !percentile_turns(state, samples, rule, fit->value))
		return false;
	if (rule->kind == ADA_RULE_RATE && !rate_turns(state, samples, rule, event->counter))
		return false;
	if (rule->kind == ADA_RULE_NEW_CALLER && !caller_is_new(state, samples, rule, event->return_address))
		return false;
	if (!match_count(state, rule->incarnation, &number))
		return false;
	if (rule->kind == ADA_RULE_NEW_CALLER)
		after = 0; /* it has learned by then */
	if (number < after || (every > 1 && (number - after) % every) || !limit_allows(state, rule, event->counter))
		return false;
	__atomic_fetch_add(&state->marks, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&state->last_counter, event->counter, __ATOMIC_RELAXED);
	return true;
}

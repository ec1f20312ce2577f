/* Times between two calls that belong together: latency=submit:1..complete:1>50ms (layout: abi/policy.h).
 *
 * A rule of this kind takes two slots: one names the functions that begin, the other those that end. What has begun is in the table of the
 * slot that ends: by key, the value of an argument. The call that ends a key takes it out of the table and has the time since.
 *
 *   table    bucket 0 | bucket 1 | ...         ADA_SPANS_A_BUCKET places each, found by the key's hash
 *   place    counter (0: free, 1: being written), key, thread, incarnation of the rule
 *
 * Threads and handlers begin and end at once, without locks. A place belongs to whoever turned its counter into 1; the key is there for
 * others once the counter is. Where a bucket is full the oldest gives way: its end will not be timed, which is counted (overlooked).
 * A key that begins anew before its end counts from there. */
#ifndef ADA_ABI_SPAN_H
#define ADA_ABI_SPAN_H
#include "abi/policy.h"

#define ADA_SPAN_BUSY 1u /* no event has this counter */

static inline uint64_t *ada_policy_spans(void *area, uint32_t slot)
{
	return (uint64_t *)((char *)area + ADA_POLICY_SPANS + (uint64_t)slot * ADA_SPAN_BYTES);
}

static inline struct ada_begun *ada_span_bucket(uint64_t *table, uint64_t key)
{
	static_assert(ADA_SPAN_BYTES / sizeof(struct ada_begun) / ADA_SPANS_A_BUCKET == 1u << 10, "the hash's bits");
	return (struct ada_begun *)table + (key * 0x9E3779B97F4A7C15ull >> 54) * ADA_SPANS_A_BUCKET;
}

static inline bool ada_span_claim(struct ada_begun *place, uint64_t counter)
{
	return __atomic_compare_exchange_n(&place->counter, &counter, ADA_SPAN_BUSY, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* The key's place that began last; NULL: none. *counter: as it was. */
static inline struct ada_begun *ada_span_find(struct ada_begun *bucket, const struct ada_begun *like, uint64_t *counter)
{
	struct ada_begun *found = NULL;

	*counter = 0;
	for (uint32_t i = 0; i < ADA_SPANS_A_BUCKET; i++) {
		uint64_t at = __atomic_load_n(&bucket[i].counter, __ATOMIC_ACQUIRE);

		if (at <= ADA_SPAN_BUSY || at <= *counter || __atomic_load_n(&bucket[i].key, __ATOMIC_RELAXED) != like->key ||
		    __atomic_load_n(&bucket[i].incarnation, __ATOMIC_RELAXED) != like->incarnation)
			continue;
		found = &bucket[i];
		*counter = at;
	}
	return found;
}

/* The place that is free, of a rule that is gone, or the oldest. *counter: as it was. */
static inline struct ada_begun *ada_span_oldest(struct ada_begun *bucket, const struct ada_begun *like, uint64_t *counter)
{
	struct ada_begun *found = NULL;

	*counter = UINT64_MAX;
	for (uint32_t i = 0; i < ADA_SPANS_A_BUCKET; i++) {
		uint64_t at = __atomic_load_n(&bucket[i].counter, __ATOMIC_ACQUIRE), age = at;

		if (at == ADA_SPAN_BUSY)
			continue;
		if (__atomic_load_n(&bucket[i].incarnation, __ATOMIC_RELAXED) != like->incarnation)
			age = 0;
		if (found && age >= (*counter == UINT64_MAX ? 0 : *counter))
			continue;
		found = &bucket[i];
		*counter = at;
		if (!age)
			break;
	}
	return found;
}

/* False: an older span had to give way, or there was no place. */
static inline bool ada_span_begin(uint64_t *table, const struct ada_begun *span)
{
	struct ada_begun *bucket = ada_span_bucket(table, span->key), *place;
	uint64_t counter;

	for (uint32_t tries = 0; tries < ADA_SPANS_A_BUCKET; tries++) {
		bool other;

		place = ada_span_find(bucket, span, &counter);
		if (!place)
			place = ada_span_oldest(bucket, span, &counter);
		if (!place || !ada_span_claim(place, counter))
			continue;
		other = counter && place->key != span->key && place->incarnation == span->incarnation;
		__atomic_store_n(&place->key, span->key, __ATOMIC_RELAXED);
		__atomic_store_n(&place->thread, span->thread, __ATOMIC_RELAXED);
		__atomic_store_n(&place->incarnation, span->incarnation, __ATOMIC_RELAXED);
		__atomic_store_n(&place->counter, span->counter, __ATOMIC_RELEASE);
		return !other;
	}
	return false;
}

/* `span` has key and incarnation; the beginning's counter and thread are filled in. False: nothing of that key has begun. */
static inline bool ada_span_end(uint64_t *table, struct ada_begun *span)
{
	struct ada_begun *bucket = ada_span_bucket(table, span->key), *place;

	for (uint32_t tries = 0; tries < ADA_SPANS_A_BUCKET; tries++) {
		place = ada_span_find(bucket, span, &span->counter);
		if (!place)
			return false;
		if (!ada_span_claim(place, span->counter))
			continue;
		span->thread = place->thread;
		__atomic_store_n(&place->counter, 0, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}
#endif

/* A policy that is swapped 10,000 times while threads decide by it: each decision belongs to one version, and to the one whose
 * number it bears. Also built with ThreadSanitizer. */
#include "../test.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include "policy_fixture.h"

#define SWAPS 10000
#define READERS 4
#define LIVE 5
#define KEPT 4096

/* What holds under each version, known before it comes into force. `after` is what tells rules apart. */
static struct expected {
	uint32_t rules;
	uint64_t after;
} alpha_of[SWAPS + 2], beta_of[SWAPS + 2];

struct reader {
	pthread_t thread;
	const struct ada_shm *shm;
	uint32_t alpha, beta, last;
	uint64_t decisions, wrong, versions;
	struct policy_decision kept[KEPT];
};
static bool over;

static bool right(const struct policy_decision *decision, const struct expected *expected)
{
	const struct expected *known = &expected[decision->version];

	return !decision->torn && (uint32_t)__builtin_popcountll(decision->mask) == known->rules && decision->after == known->after &&
	       decision->flags == (known->rules ? ADA_POLICY_CALL : 0);
}

static void *read_all(void *argument)
{
	struct reader *reader = argument;

	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		struct policy_decision a = policy_decide(reader->shm, reader->alpha), b = policy_decide(reader->shm, reader->beta);

		/* Who found a table just before it was filled anew may use it, whole, just before it is in force. */
		reader->wrong += !right(&a, alpha_of) + !right(&b, beta_of) + (b.version + 1 < a.version) + (a.version + 1 < reader->last);
		reader->versions += b.version != reader->last;
		reader->kept[reader->decisions++ % KEPT] = a;
		if (a.version == b.version && b.version == reader->last)
			sched_yield(); /* nothing new: whoever makes it is to have the CPU, where there are few */
		__atomic_store_n(&reader->last, b.version, __ATOMIC_RELAXED);
	}
	return NULL;
}

struct live {
	uint32_t id;
	uint64_t after;
	bool beta;
};

static void expect(uint32_t version, const struct live *live, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		alpha_of[version].rules++;
		alpha_of[version].after += live[i].after;
		if (live[i].beta) {
			beta_of[version].rules++;
			beta_of[version].after += live[i].after;
		}
	}
}

/* On a full machine some would else get no CPU until all is over. */
static void await_all(const struct reader *readers, uint32_t version)
{
	for (int i = 0; i < READERS; i++)
		while (__atomic_load_n(&readers[i].last, __ATOMIC_RELAXED) != version)
			sched_yield();
}

static void swap_all(struct ada_policy *policy, const struct reader *readers)
{
	struct live live[LIVE];
	struct ada_error error = { "" };
	size_t count = 0;
	uint32_t version = 1;
	unsigned random = 1;

	for (int i = 0; i < SWAPS; i++) {
		if (i % (SWAPS / 4) == 0)
			await_all(readers, version);
		random = random * 1103515245 + 12345;
		if (count == LIVE || (count && (random >> 16) % 2)) {
			size_t gone = (random >> 20) % count;
			uint32_t id = live[gone].id;

			live[gone] = live[--count];
			expect(++version, live, count);
			assert_int_equal(ada_policy_remove(policy, id, &error), 0);
		} else {
			char text[80];

			live[count] = (struct live){ .after = (uint64_t)i + 1, .beta = random >> 24 & 1 };
			snprintf(text, sizeof text, "symbol=ada_test_alpha%s@after=%d", live[count].beta ? ",ada_test_beta" : "", i + 1);
			expect(++version, live, count + 1);
			assert_int_equal(ada_policy_add(policy, text, &live[count].id, &error), 0);
			count++;
		}
	}
	assert_int_equal(ada_policy_version(policy), SWAPS + 1);
}

static void decisions_belong_to_one_version(void **state)
{
	static struct reader readers[READERS];
	struct ada_policy *policy = policy_open(POLICY_RULES("crash"));
	struct ada_provider *provider = policy_provider(policy, NULL);
	struct ada_plan *plan = policy_plan(false);
	struct ada_rule_info info;
	uint32_t base = ada_policy_module(policy, provider, 0, "/proc/self/exe", plan);

	for (int i = 0; i < READERS; i++) {
		readers[i] = (struct reader){ .shm = provider->segment.shm,
					      .alpha = base + policy_function(plan, "ada_test_alpha"),
					      .beta = base + policy_function(plan, "ada_test_beta") };
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_all, &readers[i]), 0);
	}
	swap_all(policy, readers);
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	for (int i = 0; i < READERS; i++) {
		pthread_join(readers[i].thread, NULL);
		assert_int_equal(readers[i].wrong, 0);
		assert_in_range(readers[i].versions, 2, SWAPS + 2);
		/* Rules that are long gone are found by what a mark says of them. */
		for (uint64_t j = 0; j < KEPT && j < readers[i].decisions; j++) {
			const struct policy_decision *kept = &readers[i].kept[j];

			if (!kept->mask)
				continue;
			assert_true(ada_policy_rule(policy, kept->version, kept->slot, &info));
			assert_int_equal(info.rule.after, kept->slot_after);
		}
	}
	policy_provider_close(policy, provider);
	ada_policy_close(policy);
	ada_plan_close(plan);
	free(provider);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(decisions_belong_to_one_version) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

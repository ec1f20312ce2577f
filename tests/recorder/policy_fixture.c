#include "../test.h"

#include "policy_fixture.h"
#include "make_segment.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline, noclone)) int ada_test_alpha(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 3 + 1;
}

__attribute__((noinline, noclone)) long ada_test_beta(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 5 + 2;
}

struct ada_policy *policy_open(const char **rules)
{
	struct ada_trace_options options = { .pre_roll_ns = 5000, .no_default_triggers = rules && rules[0] };
	struct ada_policy *policy;
	struct ada_error error = { "" };

	for (size_t i = 0; rules && rules[i]; i++)
		ada_array_push(&options.triggers, rules[i]);
	assert_int_equal(ada_policy_open(&policy, &options, 2.0, &error), 0);
	free(options.triggers.items);
	return policy;
}

struct ada_provider *policy_provider(struct ada_policy *policy, const struct ada_provider *parent)
{
	static uint32_t number;
	struct ada_segment_options options = { .index_buffer_bytes = ADA_INDEX_BUFFER_MIN, .pid = 1, .provider = number++ };
	struct ada_provider *provider = calloc(1, sizeof *provider);
	int agent_fd;

	pthread_mutex_init(&provider->lock, NULL);
	make_segment(&provider->segment, options, &agent_fd);
	close(agent_fd);
	provider->mapped = true;
	assert_int_equal(ada_policy_provider(policy, provider, parent), 0);
	return provider;
}

void policy_provider_close(struct ada_policy *policy, struct ada_provider *provider)
{
	pthread_mutex_lock(&provider->lock);
	ada_policy_leave(policy, provider);
	provider->mapped = false;
	ada_segment_destroy(&provider->segment);
	pthread_mutex_unlock(&provider->lock);
}

struct ada_plan *policy_plan(bool decode)
{
	struct ada_plan_options options = { .decode = decode, .no_cache = true };
	struct ada_plan *plan;
	struct ada_error error = { "" };

	assert_int_equal(ada_plan_open(&plan, "/proc/self/exe", &options, &error), 0);
	return plan;
}

uint32_t policy_function(const struct ada_plan *plan, const char *name)
{
	for (uint32_t i = 0; i < ada_plan_header(plan)->function_count; i++)
		if (!strcmp(ada_plan_string(plan, ada_plan_functions(plan)[i].name), name))
			return i;
	fail_msg("no function %s", name);
	return 0;
}

#define LOAD(at) __atomic_load_n(at, __ATOMIC_ACQUIRE)

static struct policy_decision look(const struct ada_policy_table *table, uint32_t number)
{
	const uint8_t *bytes = (const uint8_t *)table;
	struct policy_decision decision = { .version = LOAD(&table->version), .flags = LOAD(bytes + ADA_POLICY_FLAGS + number) };
	uint16_t class = LOAD((const uint16_t *)(bytes + ADA_POLICY_CLASSES) + number);

	decision.mask = LOAD((const uint64_t *)(bytes + ADA_POLICY_MASKS) + class);
	for (uint64_t rest = decision.mask; rest; rest &= rest - 1) {
		const struct ada_rule *rule = &table->rules[__builtin_ctzll(rest)];
		uint64_t after = LOAD(&rule->after);

		decision.after += after;
		decision.torn |= !LOAD(&rule->kind) || !LOAD(&rule->incarnation);
		if (rest == decision.mask) {
			decision.slot = (uint32_t)__builtin_ctzll(rest);
			decision.slot_after = after;
		}
	}
	return decision;
}

struct policy_decision policy_decide(const struct ada_shm *shm, uint32_t number)
{
	for (;;) {
		const uint8_t *flags = (const uint8_t *)&shm->policy_flags + LOAD(&shm->policy_flags);
		const struct ada_policy_table *table = (const void *)(flags - ADA_POLICY_FLAGS);
		uint64_t generation = LOAD(&table->generation);
		struct policy_decision decision;

		if (generation % 2)
			continue;
		decision = look(table, number);
		if (LOAD(&table->generation) == generation)
			return decision;
	}
}

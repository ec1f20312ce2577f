#include "cli/live/written.h"
#include <string.h>
#include "query/session/json.h"

static uint64_t process_key(const char *directory)
{
	return ada_hash_bytes(directory, strlen(directory));
}

static uint64_t thread_key(const char *directory, uint64_t number)
{
	const uint64_t both[] = { process_key(directory), number };

	return ada_hash_bytes(both, sizeof both);
}

int ada_written_read(struct ada_written *written, const json_object *status)
{
	const json_object *providers = ada_json_get(status, "providers");
	size_t count = ada_json_length(providers);
	int result = 0;

	*written = (struct ada_written){};
	for (size_t i = 0; i < count && !result; i++) {
		const json_object *provider = json_object_array_get_idx(providers, i), *behind = ada_json_get(provider, "behind");
		const char *directory = ada_json_text(provider, "directory", "");
		uint64_t until_ns = ada_json_u64(provider, "writtenNs", 0);

		if (!until_ns)
			continue;
		written->now_ns = until_ns > written->now_ns ? until_ns : written->now_ns;
		result = ada_table_put(&written->until, process_key(directory), until_ns);
		for (size_t j = 0; j < ada_json_length(behind) && !result; j++)
			result = ada_table_put(&written->behind,
					       thread_key(directory, json_object_get_uint64(json_object_array_get_idx(behind, j))), 1);
	}
	return result;
}

uint64_t ada_written_until(const struct ada_written *written, const struct ada_thread *thread, bool *behind)
{
	uint64_t until_ns, yes;

	*behind = ada_table_get(&written->behind, thread_key(thread->process->directory, thread->number), &yes);
	return ada_table_get(&written->until, process_key(thread->process->directory), &until_ns) ? until_ns : 0;
}

void ada_written_free(struct ada_written *written)
{
	ada_table_free(&written->until);
	ada_table_free(&written->behind);
	*written = (struct ada_written){};
}

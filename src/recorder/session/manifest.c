#include "recorder/session/manifest.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/file.h"
#include "recorder/host/disable.h"
#include "recorder/session/disk.h"
#include "recorder/session/manifest_parts.h"
#include "recorder/state/provider.h"

static json_object *strings_of(const char *bytes, size_t length)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0, step; i < length; i += step + 1) {
		step = strnlen(bytes + i, length - i);
		json_object_array_add(list, ada_json_text_of(bytes + i, step));
	}
	return list;
}

static uint64_t ns_of(const struct ada_provider *provider, uint64_t counter)
{
	return counter ? ada_clock_ns(provider->recorder->clock, counter) : 0;
}

uint64_t ada_manifest_length_ns(const struct ada_provider *provider, uint64_t ticks)
{
	struct ada_clock *clock = provider->recorder->clock;
	uint64_t now = ada_clock_counter();

	ticks = ticks < now ? ticks : now;
	return ada_clock_ns(clock, now) - ada_clock_ns(clock, now - ticks);
}

/* The files of those that have gone into totals, and that windows want. */
static json_object *kept_of(const struct ada_lane *lane)
{
	json_object *list = json_object_new_array();
	char text[32];

	for (size_t i = 0; i < lane->kept.count; i++) {
		uint32_t number = lane->kept.items[i];
		json_object *segment;

		if (number >= lane->first_segment) /* not yet */
			continue;
		segment = json_object_new_object();
		snprintf(text, sizeof text, number ? "kept.%u.atp" : "kept.atp", number);
		json_object_object_add(segment, "file", json_object_new_string(text));
		ada_json_count(segment, "events", lane->segments.items[number]);
		json_object_array_add(list, segment);
	}
	return list;
}

static json_object *thread_of(const struct ada_provider *provider, uint32_t id)
{
	static const struct ada_lane none;
	const struct ada_shm_thread *thread = &provider->thread_table[id];
	const struct ada_lane *lane = id < provider->drain.lanes.count ? &provider->drain.lanes.items[id] : &none;
	json_object *object = json_object_new_object(), *segments = json_object_new_array();
	char text[32];

	ada_json_count(object, "id", id);
	ada_json_count(object, "tid", thread->thread_id);
	json_object_object_add(object, "name", ada_json_text_of(thread->name, strnlen(thread->name, sizeof thread->name)));
	snprintf(text, sizeof text, "thread_%u", id);
	json_object_object_add(object, "directory", json_object_new_string(text));
	for (size_t i = lane->first_segment; i < lane->segments.count; i++) {
		json_object *segment = json_object_new_object();
		bool packed = ada_lane_is_packed(lane, i);

		if (i)
			snprintf(text, sizeof text, "index.%zu.%s", i, packed ? "atp" : "atf");
		else
			snprintf(text, sizeof text, "index.%s", packed ? "atp" : "atf");
		json_object_object_add(segment, "file", json_object_new_string(text));
		ada_json_count(segment, "events", lane->segments.items[i]);
		if (packed)
			json_object_object_add(segment, "packed", json_object_new_boolean(true));
		json_object_array_add(segments, segment);
	}
	json_object_object_add(object, "segments", segments);
	if (lane->kept.count)
		json_object_object_add(object, "kept", kept_of(lane));
	if (lane->first_segment) {
		ada_json_count(object, "firstSegment", lane->first_segment);
		ada_json_count(object, "aged", lane->aged);
	}
	json_object_object_add(object, "detail", ada_manifest_thread_detail(provider, id, lane->segments.count));
	ada_json_count(object, "events", lane->events);
	ada_json_count(object, "lost", lane->lost);
	ada_json_count(object, "overwritten", lane->overwritten);
	ada_json_count(object, "gaps", lane->gaps);
	ada_json_count(object, "orphans", thread->orphans);
	ada_json_count(object, "skipped", thread->skipped);
	ada_json_count(object, "unreturned", thread->unreturned);
	ada_json_count(object, "startNs", ns_of(provider, thread->start_counter));
	ada_json_pointer_set(object, thread->pointer, ns_of(provider, thread->end_counter));
	json_object_object_add(object, "ended", json_object_new_boolean(provider->ended || lane->closed));
	return object;
}

static const char *module_kind(uint32_t flags)
{
	return flags & ADA_MODULE_MAIN ? "main" : flags & ADA_MODULE_VDSO ? "vdso" : flags & ADA_MODULE_AGENT ? "agent" : "library";
}

/* Functions of a traced module: hooked + all that is skipped = functions. */
struct coverage {
	uint64_t functions, hooked, imports, bound, skipped[ADA_REFUSAL_COUNT];
};

static struct coverage coverage_of(const struct ada_module_state *state, const struct ada_shm_module *module)
{
	struct coverage coverage = { 0 };
	uint32_t hookable;

	if (!state || !state->traced || !state->planned)
		return coverage;
	hookable = state->planned->hookable + state->named_hooks;
	coverage.functions = state->planned->functions;
	coverage.hooked = module->hooked < hookable ? module->hooked : hookable;
	coverage.imports = module->imports;
	coverage.bound = module->bound;
	for (int reason = 1; reason < ADA_REFUSAL_COUNT; reason++)
		coverage.skipped[reason] = state->planned->skipped[reason];
	coverage.skipped[ADA_REFUSAL_EXCLUDED] -= state->named_hooks; /* triggers name them all the same */
	coverage.skipped[ADA_REFUSAL_BYTES_DIFFER] += hookable - coverage.hooked;
	return coverage;
}

static json_object *skipped_of(const struct coverage *coverage)
{
	json_object *object = json_object_new_object();

	for (int reason = 1; reason < ADA_REFUSAL_COUNT; reason++)
		if (coverage->skipped[reason])
			ada_json_count(object, ada_refusal_key(reason), coverage->skipped[reason]);
	return object;
}

static json_object *module_of(const struct ada_provider *provider, uint32_t id, struct coverage *total)
{
	const struct ada_shm_module *module = &provider->module_table[id];
	const struct ada_module_state *state = id < provider->modules.count ? &provider->modules.items[id] : NULL;
	struct coverage coverage = coverage_of(state, module);
	json_object *object = json_object_new_object();
	char text[ADA_BUILD_ID_MAX * 2 + 1] = "";

	ada_json_count(object, "id", id);
	json_object_object_add(object, "path", ada_json_text_of(module->path, strnlen(module->path, sizeof module->path)));
	for (uint32_t i = 0; i < module->build_id_bytes && i < ADA_BUILD_ID_MAX; i++)
		snprintf(text + 2 * i, 3, "%02x", module->build_id[i]);
	json_object_object_add(object, "buildId", *text ? json_object_new_string(text) : NULL);
	json_object_object_add(object, "base", ada_json_address_of(module->base));
	json_object_object_add(object, "kind", json_object_new_string(module_kind(module->flags)));
	json_object_object_add(object, "traced", json_object_new_boolean(state && state->traced));
	json_object_object_add(object, "problem",
			       state && *state->problem.text ? ada_json_text_of(state->problem.text, strlen(state->problem.text)) : NULL);
	ada_json_count(object, "loadNs", ns_of(provider, module->load_counter));
	json_object_object_add(object, "unloadNs",
			       module->present == 2 ? json_object_new_uint64(ns_of(provider, module->unload_counter)) : NULL);
	ada_json_count(object, "loads", module->loads);
	ada_json_count(object, "functions", coverage.functions);
	ada_json_count(object, "hooked", coverage.hooked);
	ada_json_count(object, "mismatched", module->mismatched);
	ada_json_count(object, "imports", coverage.imports);
	ada_json_count(object, "bound", coverage.bound);
	json_object_object_add(object, "skipped", skipped_of(&coverage));
	snprintf(text, sizeof text, "modules/%u.tsv", id);
	json_object_object_add(object, "symbols", state && state->symbols ? json_object_new_string(text) : NULL);
	snprintf(text, sizeof text, "%08x", state ? state->symbols_checksum : 0);
	json_object_object_add(object, "crc32", state && state->symbols ? json_object_new_string(text) : NULL);
	total->functions += coverage.functions;
	total->hooked += coverage.hooked;
	total->imports += coverage.imports;
	total->bound += coverage.bound;
	for (int reason = 1; reason < ADA_REFUSAL_COUNT; reason++)
		total->skipped[reason] += coverage.skipped[reason];
	return object;
}

static void add_modules(json_object *manifest, struct ada_provider *provider)
{
	struct coverage total = { 0 };
	json_object *list = json_object_new_array(), *hooks = json_object_new_object();

	pthread_mutex_lock(&provider->facts);
	for (uint32_t id = 0; id < provider->module_count; id++)
		json_object_array_add(list, module_of(provider, id, &total));
	pthread_mutex_unlock(&provider->facts);
	json_object_object_add(manifest, "modules", list);
	ada_json_count(hooks, "functions", total.functions);
	ada_json_count(hooks, "hooked", total.hooked);
	ada_json_count(hooks, "imports", total.imports);
	ada_json_count(hooks, "bound", total.bound);
	json_object_object_add(hooks, "skipped", skipped_of(&total));
	ada_json_count(hooks, "stubs", provider->header.sites);
	ada_json_count(hooks, "stubsRefused", provider->header.sites_refused);
	json_object_object_add(manifest, "hooks", hooks);
}

static void add_lanes(json_object *manifest, const struct ada_provider *provider)
{
	uint64_t overwritten = 0, gaps = 0, full = 0, memory = 0, aged = 0;
	json_object *threads = json_object_new_array(), *index = json_object_new_object();

	for (size_t i = 0; i < provider->drain.lanes.count; i++) {
		overwritten += provider->drain.lanes.items[i].overwritten;
		gaps += provider->drain.lanes.items[i].gaps;
		aged += provider->drain.lanes.items[i].aged;
	}
	for (uint32_t id = 0; id < provider->thread_count; id++) {
		json_object_array_add(threads, thread_of(provider, id));
		full += provider->thread_table[id].lost_full;
		memory += provider->thread_table[id].lost_memory;
	}
	json_object_object_add(index, "always_persisted",
			       json_object_new_boolean(provider->recorder->options->index_mode == ADA_INDEX_STREAMING));
	ada_json_count(index, "event_count", ada_provider_events(provider));
	ada_json_count(index, "lost", ada_provider_lost(provider));
	ada_json_count(index, "lost_buffer_full", full);
	ada_json_count(index, "lost_memory_limit", memory);
	ada_json_count(index, "overwritten", overwritten);
	ada_json_count(index, "gaps", gaps);
	if (aged)
		ada_json_count(index, "aged", aged);
	json_object_object_add(manifest, "index_lane", index);
	json_object_object_add(manifest, "detail_lane", ada_manifest_detail_lane(provider));
	json_object_object_add(manifest, "marking_policy", ada_manifest_policy(provider));
	json_object_object_add(manifest, "threads", threads);
}

static void add_buffering(json_object *manifest, const struct ada_provider *provider)
{
	static const char *const modes[] = { "streaming", "oneshot", "circular" };
	const struct ada_trace_options *options = provider->recorder->options;
	json_object *buffering = json_object_new_object(), *index = json_object_new_object();

	json_object_object_add(manifest, "metrics", ada_json_metrics_of(provider));
	json_object_object_add(index, "mode", json_object_new_string(modes[options->index_mode]));
	json_object_object_add(index, "onFull", json_object_new_string(options->on_full == ADA_ON_FULL_BLOCK ? "block" : "drop"));
	ada_json_count(index, "bufferBytes", (uint64_t)provider->header.index_chunks * ADA_CHUNK_BYTES);
	ada_json_count(index, "chunkBytes", ADA_CHUNK_BYTES);
	ada_manifest_add_memory(index, &provider->index_memory);
	ada_json_count(index, "waits", provider->header.waits);
	ada_json_count(index, "memoryWaits", provider->header.memory_waits);
	ada_json_count(index, "waitsGivenUp", provider->header.waits_given_up);
	ada_json_count(index, "waitNs", ada_manifest_length_ns(provider, provider->header.wait_ticks));
	json_object_object_add(buffering, "index", index);
	json_object_object_add(buffering, "detail", ada_manifest_detail_buffer(provider));
	json_object_object_add(manifest, "buffering", buffering);
}

json_object *ada_json_crash_of(const struct ada_crash *crash, uint64_t ns)
{
	static const char *const names[] = { "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8",
					     "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip", "rflags" };
	json_object *object, *registers;
	char stack[sizeof crash->stack * 2 + 1] = "";

	if (!crash->present)
		return NULL;
	object = json_object_new_object();
	registers = json_object_new_object();
	ada_json_count(object, "signal", crash->signal);
	json_object_object_add(object, "code", json_object_new_int(crash->code));
	ada_json_count(object, "tid", crash->thread_id);
	ada_json_count(object, "timestampNs", ns);
	json_object_object_add(object, "faultAddress", ada_json_address_of(crash->fault_address));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		json_object_object_add(registers, names[i], ada_json_address_of(crash->registers[i]));
	json_object_object_add(object, "registers", registers);
	for (uint32_t i = 0; i < crash->stack_bytes && i < sizeof crash->stack; i++)
		snprintf(stack + 2 * i, 3, "%02x", crash->stack[i]);
	json_object_object_add(object, "stack", json_object_new_string(stack));
	return object;
}

/* Whether all was recorded to the end; what the agent said, what failed here, what the user asked for. */
static void add_recording(json_object *manifest, const struct ada_provider *provider)
{
	json_object *object = json_object_new_object();
	enum ada_disable disabled = provider->header.disabled;
	const char *reason = provider->drain.failed || provider->drain.stopped_ns ? provider->drain.error.text : NULL;
	json_object *disk = ada_json_disk_of(provider);
	bool as_asked = false;
	uint32_t threads, modules;
	const char *state;
	char refused[96];

	if (!reason && disabled != ADA_DISABLE_NONE && disabled != ADA_DISABLE_STOPPED) {
		reason = ada_disable_text(disabled);
		as_asked = disabled == ADA_DISABLE_ONESHOT_FULL;
	}
	if (!reason && provider->stopped) {
		reason = provider->stopped;
		as_asked = provider->stop_as_asked;
	}
	threads = provider->header.threads_refused;
	modules = provider->header.modules_refused;
	if (!reason && (threads || modules)) {
		snprintf(refused, sizeof refused, "%u threads and %u modules had no room in the tables", threads, modules);
		reason = refused;
	}
	state = reason ? as_asked ? "stopped" : "failed" : provider->ended ? "complete" : "running";
	json_object_object_add(object, "state", json_object_new_string(state));
	json_object_object_add(object, "reason", reason ? ada_json_text_of(reason, strlen(reason)) : NULL);
	ada_json_count(object, "threadsRefused", threads);
	ada_json_count(object, "modulesRefused", modules);
	ada_json_count(object, "internalErrors", provider->header.internal_errors + provider->drain.bad_chunks);
	if (disk)
		json_object_object_add(object, "disk", disk);
	json_object_object_add(manifest, "recording", object);
}

void ada_manifest_write(struct ada_provider *provider)
{
	json_object *manifest;
	const struct ada_crash *crash;

	ada_provider_snapshot(provider);
	manifest = json_object_new_object();
	json_object_object_add(manifest, "format", json_object_new_string("ada-manifest"));
	ada_json_count(manifest, "version", 1);
	json_object_object_add(manifest, "mode", json_object_new_string(ada_manifest_mode(provider)));
	ada_json_count(manifest, "pid", (uint64_t)provider->pid);
	ada_json_count(manifest, "parentPid", (uint64_t)provider->parent_pid);
	ada_json_count(manifest, "provider", provider->number);
	json_object_object_add(manifest, "program", ada_json_text_of(provider->program, strlen(provider->program)));
	json_object_object_add(manifest, "command", strings_of(provider->command, provider->command_bytes));
	ada_json_count(manifest, "startNs", provider->start_ns);
	json_object_object_add(manifest, "endNs", provider->ended ? json_object_new_uint64(provider->end_ns) : NULL);
	add_lanes(manifest, provider);
	add_modules(manifest, provider);
	add_buffering(manifest, provider);
	json_object_object_add(manifest, "bound", ada_json_bound_of(provider->recorder));
	json_object_object_add(manifest, "ledger", ada_manifest_ledger(provider));
	json_object_object_add(manifest, "muted", ada_manifest_muted(provider));
	json_object_object_add(manifest, "clock", ada_json_clock_of(provider->recorder->clock));
	json_object_object_add(manifest, "exit", ada_json_exit_of(&provider->exit, NULL));
	crash = &provider->header.crash;
	json_object_object_add(manifest, "crash", ada_json_crash_of(crash, ns_of(provider, crash->counter)));
	add_recording(manifest, provider);
	json_object_object_add(manifest, "finalized", json_object_new_boolean(provider->finalized));
	/* Nothing of a process is drained before its first one is there. */
	ada_scribe_write(provider->recorder->scribe, &provider->manifest, manifest,
			 !ada_paper_written(&provider->manifest) && !provider->finalized);
}

/* What manifest.c takes from manifest_detail.c, manifest_ledger.c, manifest_windows.c and manifest_policy.c. */
#ifndef ADA_RECORDER_MANIFEST_PARTS_H
#define ADA_RECORDER_MANIFEST_PARTS_H
#include "recorder/detail/detail.h"
#include "recorder/policy/policy.h"
#include "recorder/session/manifest.h"

uint64_t ada_manifest_length_ns(const struct ada_provider *provider, uint64_t ticks); /* of a stretch of time */
json_object *ada_manifest_windows(const struct ada_provider *provider, const struct ada_detail_metrics *metrics);
const char *ada_manifest_mode(const struct ada_provider *provider); /* what is recorded: the lanes */
json_object *ada_manifest_detail_lane(const struct ada_provider *provider);
json_object *ada_manifest_detail_buffer(const struct ada_provider *provider); /* NULL: no detail lane */
/* memoryBytes and hugeBytes of a pool. */
void ada_manifest_add_memory(json_object *object, const struct ada_pool_memory *memory);
json_object *ada_manifest_thread_detail(const struct ada_provider *provider, uint32_t id, size_t segments);
json_object *ada_manifest_ledger(const struct ada_provider *provider);
json_object *ada_manifest_muted(const struct ada_provider *provider);
json_object *ada_manifest_policy(const struct ada_provider *provider);

/* The rule that marked in this slot. False: not known (no rule stands for the mark). */
bool ada_manifest_rule(const struct ada_provider *provider, uint32_t version, uint32_t slot, struct ada_rule_info *info);
/* "v3-0123456789abcdef"; "v0" where there was no policy. */
json_object *ada_manifest_version(const struct ada_provider *provider, uint32_t version);
#endif

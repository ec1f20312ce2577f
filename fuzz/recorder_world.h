/* A recorder for fuzzers of what agents and clients tell it: no threads, no terminal, nothing on a disk but empty directories, and
 * segments that are as new at each execution without being made anew. One at a time. */
#ifndef ADA_FUZZ_RECORDER_WORLD_H
#define ADA_FUZZ_RECORDER_WORLD_H
#include <stdint.h>
#include "recorder/state/provider.h"
#include "recorder/state/state.h"

/* What is left of an input; behind its end come zeros. */
struct fuzz_input {
	const uint8_t *at, *end;
};
uint8_t fuzz_byte(struct fuzz_input *input);
uint16_t fuzz_short(struct fuzz_input *input);
/* A byte says which: small numbers, the edges of types, times near now, or eight bytes of the input. */
uint64_t fuzz_number(struct fuzz_input *input);

/* True of one input in `inputs`, whichever ones a fuzzer prefers: for what takes longer than all else. */
bool fuzz_one_in(unsigned int inputs, const uint8_t *bytes, size_t length);

/* Options that the caller may change before fuzz_recorder_begin; rules: NULL-terminated, NULL: the defaults. */
extern struct ada_trace_options fuzz_options;
/* Whether a manifest is written where one is due, which takes longer than most that an execution does. */
extern bool fuzz_manifests;
struct ada_recorder *fuzz_recorder_begin(const char *const *rules);
void fuzz_recorder_end(void); /* finishes and releases all providers; nothing of them is left */
/* A provider of this very process, started as by its agent. */
struct ada_provider *fuzz_provider(struct ada_recorder *recorder);
/* Called with each new segment, before anyone looks at it: as if the agent was quicker than the recorder. NULL: nobody. */
extern void (*fuzz_segment_made)(struct ada_segment *segment);
/* Of a segment: these bytes are about to be written. To be told of all but the tables' beginnings (recorder_segments.c). */
void fuzz_touch(const void *at, size_t bytes);

void fuzz_check_json(json_object *object);		       /* one line of UTF-8; takes no reference */
void fuzz_check_provider(const struct ada_provider *provider); /* its counts agree with each other */
#endif

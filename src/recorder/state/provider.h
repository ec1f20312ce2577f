/* The traced process images that there are, and what any thread may ask of one. */
#ifndef ADA_RECORDER_PROVIDER_H
#define ADA_RECORDER_PROVIDER_H
#include "recorder/state/state.h"

/* By number; NULL: there are no more. Any thread. */
struct ada_provider *ada_provider_at(struct ada_recorder *recorder, size_t number);
/* By the number that agents say: that one, with ADA_READY_BIT the one of the ready segment that it took, or ADA_NONE. Any thread. */
struct ada_provider *ada_provider_numbered(struct ada_recorder *recorder, uint32_t number);
/* The provider that is recording in `pid`, or NULL. Any thread. */
struct ada_provider *ada_provider_of(struct ada_recorder *recorder, pid_t pid);
bool ada_provider_gone(const struct ada_provider *provider);	/* its process has ended. Any thread. */
void ada_provider_note_gone(struct ada_provider *provider);	/* the process, or this image, has ended, now at the latest. Any thread. */
void ada_provider_note_replaced(struct ada_provider *provider); /* another image of the process has taken its place. Any thread. */
void ada_recorder_wake(struct ada_recorder *recorder);
/* Any thread: notes a process or image that runs unrecorded. program NULL: what /proc says. */
void ada_recorder_note_unrecorded(struct ada_recorder *recorder, pid_t pid, const char *program, const char *reason);

/* What recording took of a process's CPU time: its events, each at the price that the ledger has for its kind. */
struct ada_cost {
	uint64_t events;  /* in files or lost */
	uint64_t objects; /* of these OBJECT events, as the ledger has them */
	struct ada_price price;
	uint64_t cost_ns;
	uint64_t cpu_ns; /* that it has used since this image began, when last looked at; 0: not known */
};

/* The percentage of the CPU time that recording took, where a person is to be told of it: a quarter at least, and time worth a thought. 100: all
 * of it, or more, which an estimated price may come to. 0: it isn't to be told, or not known. */
unsigned ada_cost_told(const struct ada_cost *cost);

/* Main thread. */
struct ada_cost ada_provider_cost(const struct ada_provider *provider);
/* As a budget has it: rather too much than too little. */
struct ada_price ada_provider_price_at_most(struct ada_provider *provider);
size_t ada_provider_functions_of_most(const struct ada_provider *provider); /* of the ledger: it ranks all functions */
void ada_provider_note_cpu(struct ada_provider *provider); /* looks at the CPU time of a process that isn't gone. Any thread. */
void ada_provider_snapshot(struct ada_provider *provider); /* what the manifest needs of the segment, as it is now */
uint64_t ada_provider_events(const struct ada_provider *provider);
uint64_t ada_provider_lost(const struct ada_provider *provider);
#endif

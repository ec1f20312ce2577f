/* The life of a traced process image, from its HELLO to its last manifest. */
#ifndef ADA_RECORDER_LIFE_H
#define ADA_RECORDER_LIFE_H
#include "recorder/state/state.h"

/* Server threads. Makes directory and segment; *agent_fd is what the agent gets. `parent` (may be NULL): the provider it
 * was forked from, whose modules it has. The main thread has a program's at
 * once, a fork's child's from ada_provider_settle on; the caller wakes that thread. */
int ada_provider_start(struct ada_provider **provider, struct ada_recorder *recorder, pid_t pid, pid_t thread_id, pid_t parent_pid,
		       struct ada_provider *parent, int *agent_fd, struct ada_error *error);

/* What a fork's child needn't wait for: the names of its parent's modules. From then on the main thread takes it in. */
void ada_provider_settle(struct ada_provider *provider, const struct ada_provider *parent);

/* Main thread. */
size_t ada_provider_drain(struct ada_provider *provider); /* sealed chunks taken */
void ada_provider_quiet(struct ada_provider *provider);
/* Takes what is left and writes the last manifest. `stopped`: why, where the process itself goes on. */
void ada_provider_finish(struct ada_provider *provider, const char *stopped, bool as_asked);
/* After the end: the segment's name and the notes go, once the last manifest is on the disk. True: they are gone. */
bool ada_provider_forget(struct ada_provider *provider);
/* After the end: unmaps once no process has the segment any more and no thread is busy with it (`now`: at once). True: it is
 * unmapped. */
bool ada_provider_release(struct ada_provider *provider, bool now);
void ada_provider_free(struct ada_provider *provider);
#endif

/* The life of a traced process image, from its HELLO to its last manifest. */
#ifndef ADA_RECORDER_LIFE_H
#define ADA_RECORDER_LIFE_H
#include "recorder/state/state.h"

/* A process that says HELLO. */
struct ada_newcomer {
	pid_t pid, thread_id, parent_pid;
	int pidfd;		       /* -1: to be opened. The provider's from then on, whatever becomes of it */
	struct ada_provider *parent;   /* that it was forked from, whose modules it has; NULL: none */
	const struct ada_taken *taken; /* NULL: it asks for a segment */
};
/* A segment that it has taken itself; the provider's from then on. */
struct ada_taken {
	uint32_t number; /* when it lay ready */
	struct ada_segment segment;
};

/* Server threads. Makes directory and segment; *agent_fd is what the agent gets, -1 where it has taken a segment itself. The main thread
 * has a program's provider at once, a fork's child's from ada_provider_settle on; the caller wakes that thread. Where it fails for a process
 * that has a segment, that process records no more. */
int ada_provider_start(struct ada_provider **provider, struct ada_recorder *recorder, const struct ada_newcomer *newcomer, int *agent_fd,
		       struct ada_error *error);

/* What a process needn't wait for: the directory of its modules' names, and, for a fork's child, what is known of its parent's modules and
 * their names, which is to be complete by then. From then on the main thread takes a child in. */
void ada_provider_settle(struct ada_provider *provider);

/* Main thread. */
#define ADA_DRAIN_TURN 64u /* chunks: so many at a time where there is a budget, so that all processes have theirs looked at in time */
size_t ada_provider_drain(struct ada_provider *provider); /* sealed chunks taken */
void ada_provider_quiet(struct ada_provider *provider);
/* What that thread had recorded at drain.written_ns is in its file. */
bool ada_provider_is_written(const struct ada_provider *provider, size_t thread);
/* Takes what is left and writes the last manifest. `stopped`: why, where the process itself goes on. */
void ada_provider_finish(struct ada_provider *provider, const char *stopped, bool as_asked);
/* After the end: the segment's name and the notes go, once the last manifest is on the disk. True: they are gone. */
bool ada_provider_forget(struct ada_provider *provider);
/* After the end: nobody's from here on, once no process has the segment any more and no thread is busy with it (`now`: at once): unmapped,
 * or kept for ada_provider_forget to give away. True: it is nobody's. */
bool ada_provider_release(struct ada_provider *provider, bool now);
void ada_provider_free(struct ada_provider *provider);
#endif

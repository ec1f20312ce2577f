/* An agent for tests of the recorder: speaks abi/wire.h and fills chunks with known events, without hooking anything.
 *
 * Event i of a thread: function_id i, kind CALL for even i and RETURN for odd, depth 0. So a file is right where the
 * function_ids of its events other than LOST are 0, 1, 2 ... with holes as large as the LOST records say.
 */
#ifndef ADA_TESTS_RECORDER_AGENT_H
#define ADA_TESTS_RECORDER_AGENT_H
#include <stdbool.h>
#include "abi/wire.h"

struct fake {
	int socket;	/* of the conversation, -1 once it is over */
	uint32_t flags; /* of the welcome */
	struct ada_shm *shm;
	uint64_t counter, step; /* of events, where step isn't 0: synthetic, else the CPU's */
	uint64_t recycled;	/* detail chunks that went round, as the agent counts */
};

/* Fails the program (status 99, a line on stderr) where the recorder does not do as abi/wire.h says. */
void fake_check(bool ok, const char *what);
int fake_connect(void);
void fake_hello(struct fake *fake, enum ada_hello_kind kind, uint32_t parent_pid);	  /* connects, unless fake->socket is above 0 */
void fake_module(struct fake *fake, uint32_t id, uint32_t flags, const char *path);	  /* MODULE, PLAN, APPLIED */
void fake_module_known(struct fake *fake, uint32_t id, uint32_t flags, const char *path); /* in the table alone */
void fake_done(struct fake *fake);
void fake_start(struct fake *fake);	  /* the next two, and DONE */
void fake_begin(struct fake *fake);	  /* HELLO with START */
void fake_main_module(struct fake *fake); /* module 0 */

struct fake_thread {
	struct fake *fake;
	uint32_t id;	 /* in the thread table */
	uint64_t seq;	 /* index_seq of the next event, LOST included */
	uint64_t number; /* function_id of the next event */
	struct ada_chunk *chunk;
	uint32_t chunk_number;
	uint64_t pending_lost;
	/* Detail: register 0 of each record is the event's number, its stack the number's bytes again and again */
	struct ada_detail_chunk *detail;
	uint32_t detail_number, detail_at; /* where its next record goes */
	uint64_t last_counter;
	uint32_t skip_detail; /* each so-manieth event has none, as if C code had written it; 0: all have */
	bool starve;	      /* takes no detail chunk, as if there were none */
};

void fake_thread_begin(struct fake_thread *thread, struct fake *fake, uint32_t thread_id, const char *name);
/* Writes `count` events; where there is no chunk: drops them (and marks the place later), or waits if the mode says so. */
void fake_events(struct fake_thread *thread, uint64_t count);
void fake_lose(struct fake_thread *thread, uint64_t count); /* as if there had been no chunk for them */
void fake_seal(struct fake_thread *thread);
void fake_seal_begin(struct fake_thread *thread); /* as if it was preempted before its chunk was in the ring */
void fake_seal_end(struct fake_thread *thread);
/* A mark of the thread's newest event, as the agent's judge makes it. Rolls in ticks and events. */
void fake_mark(struct fake_thread *thread, uint64_t pre_ticks, uint64_t pre_events, uint64_t post_ticks, uint64_t post_events);
struct ada_detail_chunk *fake_detail(const struct fake *fake, uint32_t number);
void fake_thread_end(struct fake_thread *thread);
struct ada_shm_thread *fake_entry(const struct fake *fake, uint32_t id);
struct ada_chunk *fake_chunk(const struct fake *fake, uint32_t number);
struct ada_ring fake_ring(const struct fake *fake); /* of sealed index chunks */
bool fake_is_free(const struct fake *fake, uint32_t chunk);
#endif

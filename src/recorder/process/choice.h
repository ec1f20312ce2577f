/* Which plan a module of a process gets; and plans made ahead: an agent asks for one after the other, but what it is going to ask for is in
 * its module table by its first question. So the next ones are made beside the first, as far as nobody has made them: a program that was
 * never traced waits for two processors' work, not for one's. */
#ifndef ADA_RECORDER_CHOICE_H
#define ADA_RECORDER_CHOICE_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "recorder/planning/plans.h"
#include "recorder/process/talk.h"

/* A copy of entry `id` of the module table that can't change any more. False: there is none. */
bool ada_choice_module(const struct ada_talk *talk, uint32_t id, struct ada_shm_module *module);
/* Where the recorder finds the file: the program may have another root, and a relative name is relative to the program. 0 or -errno. */
int ada_choice_path(const struct ada_talk *talk, const struct ada_shm_module *module, char *path);
/* `flags`: of enum ada_module_flag. */
bool ada_choice_traced(const struct ada_talk *talk, const struct ada_shm_module *module, uint32_t flags);
/* The functions of libc that threads wait in are library calls as others, but hooked in libc, for all callers (abi/object.h). */
bool ada_choice_wants_objects(const struct ada_talk *talk, const struct ada_planned *planned);
/* NULL: no memory. *named: it isn't traced, and has hooks for what triggers name or threads wait in. *refused: why such hooks can't be had,
 * else NULL. */
const struct ada_planned *ada_choice_plan(const struct ada_talk *talk, const char *path, bool traced, bool *named,
					  const struct ada_error **refused);

struct ada_choice_ahead { /* of one conversation */
	const struct ada_talk *talk;
	uint32_t first;
	bool begun, runs;
	bool end; /* atomic: no further plan is begun */
	pthread_t thread;
};

/* Makes the plans of the modules from number `first` on, in a thread of its own, unless there are all of them. The second call does nothing. */
void ada_choice_ahead_begin(struct ada_choice_ahead *ahead, const struct ada_talk *talk, uint32_t first);
/* Waits for that thread, which is done unless the conversation was broken off. */
void ada_choice_ahead_end(struct ada_choice_ahead *ahead);
#endif

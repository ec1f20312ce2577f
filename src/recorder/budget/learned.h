/* What a process's relatives by fork have out, and what its program's earlier runs had out at their ends: so that a process begins with it, once
 * it is seen to cost more than its budget. Of earlier runs a
 * file a program (its build-id) beside the plans: a function a line, as the build-id of its module, its number there, and its share. */
#ifndef ADA_RECORDER_LEARNED_H
#define ADA_RECORDER_LEARNED_H
#include "recorder/budget/lines.h"

void ada_learned_take(struct ada_budget *budget); /* what is to go out */
void ada_learned_keep(struct ada_budget *budget); /* at the end of the process */
/* A parent that forks again and again lets go of what its children did, so that the next ones begin without it: its own stops are cheap, for it
 * waits, and a server's children are often too short for theirs. */
void ada_learned_tell_parent(const struct ada_budget *child);			   /* that it's to look */
void ada_learned_leave_to_parent(const struct ada_budget *child, uint64_t now_ns); /* at the child's end */
void ada_learned_follow_children(struct ada_budget *budget,
				 uint64_t now_ns); /* the parent: what is to go out for their sake, and to stay out */
#endif

/* Which parts of the address space are the agent's, and the limit that the program sets itself (RLIMIT_AS): space.c.
 *
 * Sizes are bytes and count in whole pages. Nothing here makes a system call where the program forbids it (quiet.c).
 */
#ifndef ADA_AGENT_SPACE_H
#define ADA_AGENT_SPACE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rlimit;
struct ada_range {
	uint64_t start, end;
};

/* Called around each mapping that the agent makes; `start` 0: mapping failed, nothing is noted and `bytes` are given back. */
void ada_space_expect(uint64_t bytes);
void ada_space_note(uint64_t start, uint64_t bytes);
void ada_space_note_agent(void);		       /* its own library, as the loader mapped it */
void ada_space_forget(uint64_t start, uint64_t bytes); /* after the unmapping */
/* The agent's ranges, in the order of addresses, at most `most`; returns how many. NULL: returns about how many there are. */
size_t ada_space_ranges(struct ada_range *ranges, size_t most);

/* Bytes that the program's limit leaves; UINT64_MAX: no limit, or one that we can't ask for. */
uint64_t ada_space_left(void);
/* The limit to tell the kernel where the program asks for `asked`. False: the very same. */
bool ada_space_limit_dress(const struct rlimit *asked, struct rlimit *kernel);
void ada_space_limit_is(const struct rlimit *asked); /* the kernel has taken it */
void ada_space_limit_undress(struct rlimit *limit);  /* turns the kernel's limit into the one that the program asked for */
bool ada_space_is_limited(void);		     /* the program has set itself one */
/* Gives an image that is executed now the program's own limit. Returns whether that must be taken back where the exec fails. */
bool ada_space_limit_lend(void);
void ada_space_limit_take_back(void);
#endif

/* Sessions for query_bench. Whatever fails ends the program. */
#ifndef ADA_BENCH_QUERY_SESSION_H
#define ADA_BENCH_QUERY_SESSION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls nest as a program's: some thousand functions in three modules, each of which calls a few others in loops, down to 24 deep.
 * How often a function's loop runs is its own; in one call of `odds` it runs once more. The lower, the less can a CPU guess whether
 * a call or a return comes next. */
struct bench_mix {
	const char *name;
	unsigned int odds;
};
extern const struct bench_mix bench_regular, bench_irregular; /* 1 in 32, 1 in 4 */

void bench_make(const char *path, uint64_t events, uint32_t threads, const struct bench_mix *mix);
/* Threads of some dozen events each, in a window with detail; not finished, they are as a crash leaves them. */
void bench_make_many(const char *path, uint32_t threads, bool finished);
/* Records lua, which sorts and searches some 10,000 words: about 8 million events. Sets `path` to the session; false: no lua, or it
 * could not be recorded. `directory` is made. */
bool bench_record(char *path, size_t size, const char *directory, const char *ada);
void bench_remove(const char *path);
#endif

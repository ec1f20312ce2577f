/* Random sessions whose answers are known: the generator keeps each call that it makes, and the questions are answered from that
 * list alone. Two modules, up to two processes, several segments, exceptions, deep and shallow recursion, calls that are open at
 * the end; nothing is lost. The same seed makes the same session. */
#ifndef ADA_TESTS_SYNTH_RANDOM_H
#define ADA_TESTS_SYNTH_RANDOM_H
#include <stdio.h>
#include "base/array.h"
#include "synth.h"

#define KNOWN_FUNCTIONS 24
#define KNOWN_NONE SIZE_MAX

struct known_call {
	uint64_t start_ns, end_ns, children_ns;
	size_t parent;	 /* in the list; KNOWN_NONE: outermost */
	uint32_t thread; /* in the order of the session's threads */
	uint32_t function;
};

struct known {
	ADA_ARRAY(struct known_call) calls; /* thread by thread, in the order of their beginnings */
	ADA_ARRAY(uint64_t) times;	    /* of the events, thread by thread */
	uint64_t thread_events[SYNTH_THREADS_MAX];
	uint32_t threads;
};

struct known_function {
	uint64_t calls, total_ns, self_ns, sum_ns;
	ADA_ARRAY(uint64_t) durations; /* sorted */
};

/* Some `events` of them, over `threads` threads: at least two each. */
struct known *synth_random(struct synth *synth, uint64_t seed, uint32_t threads, uint64_t events);
const char *known_name(uint32_t function);
/* Of the calls that begin within from <= time < to; thread UINT32_MAX: all. The durations are the caller's to free. */
struct known_function known_function(const struct known *known, uint32_t function, uint32_t thread, uint64_t from_ns, uint64_t to_ns);
/* The smallest that at least so many thousandths are no greater than. */
uint64_t known_percentile(const struct known_function *function, unsigned int permille);
/* How often `caller` (KNOWN_FUNCTIONS: no one) called `callee`. */
uint64_t known_edge(const struct known *known, uint32_t caller, uint32_t callee);
/* {"events", "threads": [events], "functions": {NAME: {...}}, "edges": [{"caller": NAME or null, "callee", "calls"}]} */
void known_print(const struct known *known, FILE *file);
void known_free(struct known *known);
#endif

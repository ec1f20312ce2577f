/* synth SCENARIO DIRECTORY: makes one of the sessions below, for the tests of the command line.
 * synth random:SEED:THREADS:EVENTS DIRECTORY [EXPECTED]: a random one; what is known of it goes to EXPECTED, or
 * DIRECTORY/../expected.json. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "synth.h"
#include "synth_random.h"

static const char *const plain_names[] = { "main", "fib", "leaf", "thrower", "_ZN2ns3addEii" };
enum { MAIN, FIB, LEAF, THROWER, ADD };

/* main for 1000 ns: leaf 100, leaf 200; thrower left by an exception after 50; ns::add 10. One thread. */
static void make_plain(struct synth *synth)
{
	struct synth_thread *thread;

	synth_process(synth, 100);
	synth_module(synth, "/usr/bin/prog", plain_names, 5);
	thread = synth_thread(synth, 100, "prog");
	synth_call(thread, MAIN);
	for (unsigned int i = 1; i <= 2; i++) {
		synth_call(thread, LEAF);
		synth_pass(thread, 100 * i);
		synth_return(thread);
	}
	synth_call(thread, THROWER);
	synth_pass(thread, 50);
	synth_exception(thread);
	synth_call(thread, ADD);
	synth_pass(thread, 10);
	synth_return(thread);
	synth_pass(thread, 640);
	synth_return(thread);
}

/* One function with each kind of name that needs quoting. */
static void make_names(struct synth *synth)
{
	static const char *const names[] = { "a,b",	    "say \"hi\"",  "tab\there", "line\nbreak", "back\\slash", "bad\xff\xfeutf8",
					     "caf\xc3\xa9", "\x1b[31mred", "" };
	struct synth_thread *thread;

	synth_process(synth, 7);
	synth_module(synth, "/opt/odd, name/pr,og", names, 9);
	thread = synth_thread(synth, 7, "odd");
	for (uint64_t i = 0; i < 9; i++) {
		synth_call(thread, i);
		synth_pass(thread, 10);
		synth_return(thread);
	}
	synth_call(thread, ADA_FUNCTION_ID(0, 77)); /* in no table */
	synth_return(thread);
}

/* 3 calls of leaf; one lost in the middle, one open at the end; a second segment. */
static void make_lossy(struct synth *synth)
{
	struct synth_thread *thread;

	synth_process(synth, 100);
	synth_module(synth, "/usr/bin/prog", plain_names, 5);
	thread = synth_thread(synth, 100, "prog");
	synth_call(thread, MAIN);
	synth_call(thread, LEAF);
	synth_pass(thread, 30);
	synth_return(thread);
	synth_call(thread, LEAF);
	synth_pass(thread, 5);
	synth_lost(thread, 12, 1);
	synth_roll(thread);
	synth_pass(thread, 5);
	synth_call(thread, LEAF);
	synth_pass(thread, 60);
	synth_return(thread);
}

/* main calls leaf for 100 ns, then fib, which never returns; 3.2 s later another thread calls leaf for 50 ns, and the process ends. */
static void make_hung(struct synth *synth)
{
	struct synth_thread *thread, *other;

	synth_process(synth, 100);
	synth_module(synth, "/usr/bin/prog", plain_names, 5);
	thread = synth_thread(synth, 100, "prog");
	other = synth_thread(synth, 101, "other");
	synth_call(thread, MAIN);
	synth_call(thread, LEAF);
	synth_pass(thread, 100);
	synth_return(thread);
	synth_call(thread, FIB);
	synth_pass(other, 3200000100);
	synth_call(other, LEAF);
	synth_pass(other, 50);
	synth_return(other);
}

/* Two forked processes and an exec'd image of the first, of the same program. */
static void make_processes(struct synth *synth)
{
	static const uint32_t pids[] = { 50, 51, 50 };

	for (unsigned int i = 0; i < 3; i++) {
		struct synth_thread *thread;

		synth_process(synth, pids[i]);
		synth_module(synth, "/usr/bin/prog", plain_names, 5);
		thread = synth_thread(synth, pids[i], "prog");
		synth_pass(thread, i * 1000);
		synth_call(thread, MAIN);
		synth_pass(thread, 100);
		synth_return(thread);
	}
}

/* A million calls of leaf over four threads, below main. */
static void make_large(struct synth *synth)
{
	synth_process(synth, 100);
	synth_module(synth, "/usr/bin/prog", plain_names, 5);
	for (uint32_t number = 0; number < 4; number++) {
		struct synth_thread *thread = synth_thread(synth, 100 + number, "worker");

		synth_call(thread, MAIN);
		for (uint32_t i = 0; i < 250000; i++) {
			synth_call(thread, LEAF);
			synth_pass(thread, 10 + i % 100);
			synth_return(thread);
		}
		synth_return(thread);
	}
}

/* For rules. Below main: 20 calls of leaf, 10, 20, ... 200 ns long with 100 ns after each; fib five deep, the deepest calls leaf
 * (10 ns), then an exception leaves two of the five, with a call of leaf in between; thrower left by an exception after 50. */
static void make_rules(struct synth *synth)
{
	struct synth_thread *thread;

	synth_process(synth, 100);
	synth_module(synth, "/usr/bin/prog", plain_names, 5);
	thread = synth_thread(synth, 100, "prog");
	synth_call(thread, MAIN);
	for (unsigned int i = 1; i <= 20; i++) {
		synth_call(thread, LEAF);
		synth_pass(thread, 10 * i);
		synth_return(thread);
		synth_pass(thread, 100);
	}
	for (unsigned int i = 0; i < 5; i++)
		synth_call(thread, FIB);
	synth_call(thread, LEAF);
	synth_pass(thread, 10);
	synth_return(thread);
	synth_exception(thread);
	synth_call(thread, LEAF);
	synth_return(thread);
	synth_exception(thread);
	for (unsigned int i = 0; i < 3; i++)
		synth_return(thread);
	synth_call(thread, THROWER);
	synth_pass(thread, 50);
	synth_exception(thread);
	synth_return(thread);
}

/* main calls leaf six times, 100 ns each and 10 ns apart. Detail from the second one on; windows around the third (records 4 to
 * 5 of events 5, 6), which leaves nothing to the other thread, and from the fourth into the next segment (events 7, 8 and 0, 1). */
static void make_detail(struct synth *synth)
{
	struct synth_thread *thread, *quiet;

	synth_process(synth, 100);
	synth_module(synth, "/usr/bin/prog", plain_names, 5);
	thread = synth_thread(synth, 100, "prog");
	quiet = synth_thread(synth, 101, "quiet");
	synth_pass(quiet, 5000);
	synth_capture(quiet, true);
	synth_call(quiet, LEAF);
	synth_return(quiet);
	synth_call(thread, MAIN);
	for (unsigned int i = 1; i <= 6; i++) {
		synth_pass(thread, 10);
		synth_capture(thread, i > 1);
		if (i == 3 || i == 4)
			synth_window(thread);
		synth_call(thread, LEAF);
		synth_pass(thread, 100);
		synth_return(thread);
		if (i == 3 || i == 5)
			synth_window_end(thread);
		if (i == 4)
			synth_roll(thread);
	}
	synth_return(thread);
}

/* Two processes at the same time, each with a window around its only call; the second one's begins and ends 5 ns later. */
static void make_pair(struct synth *synth)
{
	for (uint32_t pid = 60; pid <= 61; pid++) {
		struct synth_thread *thread;

		synth_process(synth, pid);
		synth_module(synth, "/usr/bin/prog", plain_names, 5);
		thread = synth_thread(synth, pid, "prog");
		synth_pass(thread, 5 * (pid - 60));
		synth_capture(thread, true);
		synth_window(thread);
		synth_call(thread, LEAF);
		synth_pass(thread, 100);
		synth_return(thread);
		synth_window_end(thread);
	}
}

/* For narratives. Thread 0: below main 200 calls of leaf of 100 to 109 ns; one of 51 us, in whose last 50 us a window begins, which
 * holds its return, a call of fib that calls leaf (its first other caller) and is left by an exception, and 3 calls of leaf. Where
 * `lossy`, 3 events are lost in the long call, before the window. Thread 1 is in ns::add below main all the while. */
static void tell_story(struct synth *synth, bool lossy)
{
	struct synth_thread *thread, *other;

	synth_process(synth, 100);
	synth_module(synth, "/usr/bin/prog", plain_names, 5);
	thread = synth_thread(synth, 100, "prog");
	other = synth_thread(synth, 101, "other");
	synth_pass(other, 10);
	synth_call(other, MAIN);
	synth_pass(other, 20);
	synth_call(other, ADD);
	synth_call(thread, MAIN);
	for (unsigned int i = 0; i < 200; i++) {
		synth_call(thread, LEAF);
		synth_pass(thread, 100 + i % 10);
		synth_return(thread);
		synth_pass(thread, 10);
	}
	synth_call(thread, LEAF);
	synth_pass(thread, 1000);
	if (lossy)
		synth_lost(thread, 3, 2);
	synth_capture(thread, true);
	synth_window(thread);
	synth_pass(thread, 50000);
	synth_return(thread);
	synth_call(thread, FIB);
	synth_call(thread, LEAF);
	synth_pass(thread, 100);
	synth_return(thread);
	synth_exception(thread);
	for (unsigned int i = 0; i < 3; i++) {
		synth_pass(thread, 5);
		synth_call(thread, LEAF);
		synth_pass(thread, 100);
		synth_return(thread);
	}
	synth_window_end(thread);
	synth_capture(thread, false);
	synth_pass(thread, 100);
	synth_return(thread);
	synth_pass(other, 100000);
	synth_return(other);
	synth_return(other);
}

static void make_story(struct synth *synth)
{
	tell_story(synth, false);
}

static void make_lossy_story(struct synth *synth)
{
	tell_story(synth, true);
}

/* 30 threads, the one with number n began at n ns and made n + 1 calls of leaf below main; thread 0 then has a window. */
static void make_crowd(struct synth *synth)
{
	struct synth_thread *first = NULL;

	synth_process(synth, 100);
	synth_module(synth, "/usr/bin/prog", plain_names, 5);
	for (uint32_t number = 0; number < 30; number++) {
		struct synth_thread *thread = synth_thread(synth, 100 + number, "worker");

		synth_pass(thread, number);
		synth_call(thread, MAIN);
		for (uint32_t i = 0; i <= number; i++) {
			synth_call(thread, LEAF);
			synth_pass(thread, 10);
			synth_return(thread);
		}
		if (!number)
			first = thread;
	}
	synth_pass(first, 1000);
	synth_capture(first, true);
	synth_window(first);
	synth_call(first, LEAF);
	synth_pass(first, 10);
	synth_return(first);
	synth_window_end(first);
}

/* main starts a fiber (start for 10 ns, work for 10), leaves it for leaf (30), and then lets it end: work after 60, start after 70.
 * A call of add leaves without a word at 90, when main has 10 to go. */
static void make_fibers(struct synth *synth)
{
	static const char *const names[] = { "main", "start", "work", "leaf", "add" };
	static const struct {
		uint64_t function;
		uint32_t kind, depth, pass;
	} events[] = { { 0, ADA_EVENT_CALL, 0, 0 },	  { 1, ADA_EVENT_CALL, 1, 10 },	  { 2, ADA_EVENT_CALL, 2, 10 },
		       { 3, ADA_EVENT_CALL, 1, 30 },	  { 3, ADA_EVENT_RETURN, 1, 20 }, { 2, ADA_EVENT_RETURN, 2, 10 },
		       { 1, ADA_EVENT_EXCEPTION, 1, 10 }, { 4, ADA_EVENT_CALL, 1, 10 },	  { 0, ADA_EVENT_RETURN, 0, 0 } };
	struct synth_thread *thread;

	synth_process(synth, 100);
	synth_module(synth, "/usr/bin/prog", names, 5);
	thread = synth_thread(synth, 100, "prog");
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		synth_event(thread, events[i].kind, events[i].function, events[i].depth);
		synth_pass(thread, events[i].pass);
	}
}

/* More paths than are told apart: root, and below it each of three functions after each other. */
static void make_paths(struct synth *synth)
{
	enum { FUNCTIONS = 102 };
	static char texts[FUNCTIONS + 1][8];
	const char *names[FUNCTIONS + 1];
	struct synth_thread *thread;

	for (int i = 0; i <= FUNCTIONS; i++) {
		snprintf(texts[i], sizeof texts[i], "f%d", i);
		names[i] = texts[i];
	}
	synth_process(synth, 100);
	synth_module(synth, "/usr/bin/prog", names, FUNCTIONS + 1);
	thread = synth_thread(synth, 100, "prog");
	synth_call(thread, FUNCTIONS);
	for (uint64_t a = 0; a < FUNCTIONS; a++) {
		synth_call(thread, a);
		for (uint64_t b = 0; b < FUNCTIONS; b++) {
			synth_call(thread, b);
			for (uint64_t c = 0; c < FUNCTIONS; c++)
				synth_leaf(thread, c, 1);
			synth_return(thread);
		}
		synth_return(thread);
	}
	synth_return(thread);
}

static void make_empty(struct synth *synth)
{
}

static int make_random(const char *scenario, const char *directory, const char *expected)
{
	unsigned long long seed, events;
	char path[PATH_MAX], end;
	struct synth *synth;
	struct known *known;
	unsigned int threads;
	FILE *file;

	if (sscanf(scenario, "random:%llu:%u:%llu%c", &seed, &threads, &events, &end) != 3 || !threads || threads > SYNTH_THREADS_MAX)
		return 2;
	synth = synth_open(directory);
	known = synth_random(synth, seed, threads, events);
	synth_close(synth, true);
	snprintf(path, sizeof path, expected ? "%s" : "%s/../expected.json", expected ? expected : directory);
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		return 1;
	}
	known_print(known, file);
	known_free(known);
	return fclose(file) ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(struct synth *synth);
		bool finished;
	} scenarios[] = { { "plain", make_plain, true },
			  { "hung", make_hung, true },
			  { "running", make_plain, false },
			  { "names", make_names, true },
			  { "lossy", make_lossy, true },
			  { "processes", make_processes, true },
			  { "large", make_large, true },
			  { "empty", make_empty, true },
			  { "rules", make_rules, true },
			  { "detail", make_detail, true },
			  { "pair", make_pair, true },
			  { "story", make_story, true },
			  { "lossy_story", make_lossy_story, true },
			  { "crowd", make_crowd, true },
			  { "fibers", make_fibers, true },
			  { "paths", make_paths, true } };

	if ((argc == 3 || argc == 4) && !strncmp(argv[1], "random:", 7))
		return make_random(argv[1], argv[2], argv[3]);
	for (size_t i = 0; argc == 3 && i < sizeof scenarios / sizeof *scenarios; i++)
		if (!strcmp(argv[1], scenarios[i].name)) {
			struct synth *synth = synth_open(argv[2]);

			scenarios[i].make(synth);
			synth_close(synth, scenarios[i].finished);
			return 0;
		}
	fprintf(stderr, "usage: synth SCENARIO DIRECTORY, or synth random:SEED:THREADS:EVENTS DIRECTORY [EXPECTED]\n");
	return 2;
}

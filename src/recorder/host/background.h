/* The main thread in the background of a machine that is full.
 *
 * A program that wakes up while a turn of the recorder has its CPU goes to another one, and there shares with its own client for some ms. Where
 * the recorder's thread is SCHED_IDLE, its CPU counts as an idle one: the program has it at once. Such a thread has only the time that nobody
 * else wants, which may be none. So it comes to the front again as soon as it is late, or anybody may wait for it:
 *
 *   main thread      ada_background_turn, before it sleeps: goes back where that is wanted, for it came in time so far
 *   others           ada_background_hurry: something begins in which somebody may wait for it; a second long it stays in front
 *   a watch          ada_background_watch, by a thread that is never in the background: if it is late it stays in front for three seconds
 *
 * Workers of io_uring, which do what the main thread submits, go with it, and the threads of the scheduling lane and of the samples. */
#ifndef ADA_RECORDER_BACKGROUND_H
#define ADA_RECORDER_BACKGROUND_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ada_background {
	bool may; /* the system lets the thread come back from there */
	pid_t thread;
	/* Atomic */
	bool back;
	uint64_t hurries; /* how often it was wanted in front */
	uint64_t due_ns;  /* when its next turn is to begin */
	uint64_t late_ns; /* when it was late last */
	/* The thread's own */
	uint64_t heeded;     /* of the hurries */
	uint64_t hurried_ns; /* when it saw the last of them; 0: there was none */
	uint64_t swept_ns;   /* when others that go with it were last looked for */
	/* The watch's own */
	uint64_t watched_ns;
};

/* The calling thread is the one. `raised`: it could lower its own niceness; who can't, or has another policy than SCHED_OTHER, stays in front. */
void ada_background_open(struct ada_background *background, bool raised);
/* It sleeps for so long next. `wanted`: in the background, if it may. */
void ada_background_turn(struct ada_background *background, bool wanted, uint64_t now_ns, int sleep_ms);
void ada_background_hurry(struct ada_background *background);
/* To be called each ADA_BACKGROUND_WATCH_NS or more often. Behind a longer while (the recorder was stopped) nobody is late. */
void ada_background_watch(struct ada_background *background, uint64_t now_ns);
#define ADA_BACKGROUND_WATCH_NS 100000000ull
/* Around what must not be kept from the CPU in the midst, such as to hold a program still: in front while it lasts. The thread's own. */
void ada_background_leave(const struct ada_background *background);
void ada_background_return(struct ada_background *background);
#endif

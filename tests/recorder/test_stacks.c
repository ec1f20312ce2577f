/* Where a stopped thread may come back to. A child stands in a handler that interrupted `target`, on one stack or another; its frame
 * must be found wherever it lies, and nothing where there is none. */
#include "../test.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "recorder/late/late_stacks.h"

#define STACK_BYTES (1 << 20) /* further than is looked from any place */
#define STACKS 24
#define WAIT_NS 60000000000ull

/* The fault is behind its first instruction, as between those that a patch replaces. */
void target(void);
__asm__(".text\n.p2align 4\n.type target,@function\ntarget:\n	nop\n	nop\n	ud2\n	ret\n.size target, .-target\n");

enum place {
	PLACE_NONE,  /* not interrupted */
	PLACE_SAME,  /* the handler is on the thread's stack */
	PLACE_OTHER, /* on an alternate stack */
	PLACE_UNDER, /* on the thread's stack, and interrupted by another, on an alternate stack */
	PLACE_ASIDE, /* on the thread's stack, and then in a slow path of the agent's */
	PLACE_FAR,   /* behind more stacks than anyone has */
};

static enum place place;
static int ready[2];
static struct {
	_Alignas(16) char bytes[STACK_BYTES];
} stacks[STACKS];

static void stand(void)
{
	if (write(ready[1], "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* The agent's own (agent/core/switch.S). */
void ada_switch(void *argument, void (*work)(void *), uint64_t stack, uint64_t *left) __asm__("__morestack");

/* From one stack to the next, so many times. */
static void stand_aside(void *argument)
{
	int *count = argument;
	uint64_t left;

	if (--*count < 0)
		stand();
	ada_switch(count, stand_aside, (uint64_t)&stacks[*count].bytes[STACK_BYTES / 2], &left);
}

static void handle(int number)
{
	if (place == PLACE_UNDER && number == SIGILL)
		raise(SIGUSR1);
	else if (place == PLACE_ASIDE)
		stand_aside(&(int){ 2 });
	else if (place == PLACE_FAR)
		stand_aside(&(int){ STACKS });
	else
		stand();
}

static void child(void)
{
	struct sigaction action = { .sa_handler = handle };

	sigaltstack(&(stack_t){ .ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES }, NULL);
	action.sa_flags = place == PLACE_OTHER ? SA_ONSTACK : 0;
	sigaction(SIGILL, &action, NULL);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, NULL);
	if (place == PLACE_NONE)
		stand();
	target();
	_exit(1);
}

static void note(void *context, uint64_t word)
{
	*(bool *)context |= word == (uint64_t)target + 2;
}

static bool meets(enum place where, int expected)
{
	struct ada_error error = { "" };
	struct ada_hold hold = { .deadline_ns = ada_clock_boottime_ns() + WAIT_NS, .error = &error };
	bool met = false;
	struct ada_stacks_look look = { { (uint64_t)target + 1, (uint64_t)target + 4 }, 0, note, &met };
	char byte;

	place = where;
	assert_int_equal(pipe(ready), 0);
	hold.pid = fork();
	if (!hold.pid)
		child();
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(ada_hold_all(&hold), 0);
	assert_int_equal(hold.threads.count, 1);
	assert_int_equal(ada_stacks_look(&hold, &hold.threads.items[0], &look), expected);
	if (!expected) { /* in no time there is none for the whole */
		look.deadline_ns = 1;
		assert_int_equal(ada_stacks_look(&hold, &hold.threads.items[0], &look), -EAGAIN);
	}
	ada_hold_release(&hold);
	kill(hold.pid, SIGKILL);
	waitpid(hold.pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	return met;
}

static void finds_handlers_wherever_they_stand(void **state)
{
	assert_false(meets(PLACE_NONE, 0));
	assert_true(meets(PLACE_SAME, 0));
	assert_true(meets(PLACE_OTHER, 0));
	assert_true(meets(PLACE_UNDER, 0));
	assert_true(meets(PLACE_ASIDE, 0));
}

static void says_where_it_does_not_see_the_end(void **state)
{
	meets(PLACE_FAR, -EAGAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_handlers_wherever_they_stand),
		cmocka_unit_test(says_where_it_does_not_see_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What tells agents that the recorder lives: true of a recorder that is stopped, and of no dead one, however it died and whether or
 * not its parent has noticed; and no agent can write it. */
#include "../test.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "recorder/host/presence.h"

/* A process that holds it as a recorder does: its page, mapped as by an agent, and its pid. */
struct world {
	pid_t pid;
	const struct ada_presence *page;
	int channel[2];
};

static void wait_for(const struct world *world, bool (*condition)(const struct world *))
{
	for (int i = 0; i < 20000 && !condition(world); i++)
		poll(NULL, 0, 1);
	assert_true(condition(world));
}

static bool is_beating(const struct world *world)
{
	return __atomic_load_n(&world->page->beats, __ATOMIC_RELAXED) >= 2;
}

static bool is_dead(const struct world *world)
{
	return __atomic_load_n(&world->page->owner, __ATOMIC_RELAXED) == ADA_PRESENCE_DIED;
}

static bool is_ended(const struct world *world)
{
	return !__atomic_load_n(&world->page->owner, __ATOMIC_RELAXED);
}

static void *end_by_exit(void *argument)
{
	exit(0);
}

/* Does what it is told by a letter. */
static _Noreturn void hold(int channel, const struct rlimit *no_core)
{
	struct ada_presence_held presence;
	pthread_t thread;
	char word = 0;

	setrlimit(RLIMIT_CORE, no_core);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (ada_presence_open(&presence, NULL) || write(channel, &presence.fd, sizeof presence.fd) < 0)
		_exit(1);
	while (read(channel, &word, 1) == 1)
		if (word == 'c') {
			ada_presence_close(&presence);
			_exit(0);
		} else if (word == 'a') {
			abort();
		} else if (word == 'x') {
			execl("/bin/sleep", "sleep", "100", NULL);
		} else if (word == 'e') {
			pthread_create(&thread, NULL, end_by_exit, NULL);
		} else if (word == 'f') { /* a child is none, and takes nothing with it */
			pid_t child = fork();

			if (!child)
				_exit(0);
			waitpid(child, NULL, 0);
			if (write(channel, &word, 1) != 1)
				_exit(1);
		}
	_exit(1);
}

static void begin(struct world *world)
{
	char path[64];
	int number, fd;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, world->channel), 0);
	fflush(stdout); /* one of its ends is exit(), which would print again what is in the buffer */
	world->pid = fork();
	if (!world->pid)
		hold(world->channel[1], &(struct rlimit){ 0, 0 });
	close(world->channel[1]);
	assert_int_equal(read(world->channel[0], &number, sizeof number), sizeof number);
	snprintf(path, sizeof path, "/proc/%d/fd/%d", world->pid, number);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_true(mmap(NULL, ADA_PRESENCE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	assert_int_equal(write(fd, "x", 1), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	world->page = mmap(NULL, ADA_PRESENCE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(world->page != MAP_FAILED);
	close(fd);
	wait_for(world, is_beating);
}

static void tell(const struct world *world, char word)
{
	assert_int_equal(write(world->channel[0], &word, 1), 1);
}

/* The process has not been waited for when this looks. */
static void end(struct world *world, bool (*condition)(const struct world *))
{
	siginfo_t info;

	wait_for(world, condition);
	kill(world->pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)world->pid, &info, WEXITED), 0);
	assert_true(condition(world));
	munmap((void *)world->page, ADA_PRESENCE_BYTES);
	close(world->channel[0]);
}

static void killed(void **state)
{
	struct world world;

	begin(&world);
	kill(world.pid, SIGKILL);
	end(&world, is_dead);
}

static void otherwise_dead(void **state)
{
	for (const char *way = "aex"; *way; way++) {
		struct world world;

		begin(&world);
		tell(&world, *way);
		end(&world, is_dead);
	}
}

static void ended_in_order(void **state)
{
	struct world world;

	begin(&world);
	tell(&world, 'c');
	end(&world, is_ended);
}

static void stopped_and_killed(void **state)
{
	struct world world;
	siginfo_t info;
	uint64_t beats;

	begin(&world);
	kill(world.pid, SIGSTOP);
	assert_int_equal(waitid(P_PID, (id_t)world.pid, &info, WSTOPPED), 0);
	beats = world.page->beats;
	poll(NULL, 0, 3 * ADA_PRESENCE_BEAT_MS);
	assert_int_equal(__atomic_load_n(&world.page->beats, __ATOMIC_RELAXED), beats);
	assert_int_equal(world.page->owner & ADA_PRESENCE_DIED, 0);
	assert_true(world.page->owner);
	kill(world.pid, SIGKILL);
	end(&world, is_dead);
}

static void a_child_takes_nothing_with_it(void **state)
{
	struct world world;
	char word;

	begin(&world);
	tell(&world, 'f');
	assert_int_equal(read(world.channel[0], &word, 1), 1);
	assert_false(is_dead(&world) || is_ended(&world));
	kill(world.pid, SIGKILL);
	end(&world, is_dead);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(killed), cmocka_unit_test(otherwise_dead), cmocka_unit_test(ended_in_order),
					    cmocka_unit_test(stopped_and_killed), cmocka_unit_test(a_child_takes_nothing_with_it) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

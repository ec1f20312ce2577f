/* fake_program SCENARIO [ARGUMENT]...: a program whose agent is the one of agent.h. Each scenario prints nothing and says by
 * its exit status what went wrong; what the recorder must have made of it is in test_recorder.py. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "agent.h"

#define PATIENCE_MS 60000 /* a full machine, and one that sanitizes */

static struct fake fake;

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* But for those that are being written. */
static int count_files(const char *path)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;
	int count = 0;

	while (directory && (entry = readdir(directory)))
		count += strstr(entry->d_name, "-names.") || strstr(entry->d_name, "-full.");
	if (directory)
		closedir(directory);
	return count;
}

static uint64_t number(char **arguments, int i)
{
	return strtoull(arguments[i], NULL, 10);
}

struct work {
	uint64_t events;
	bool end;
};

static void *work(void *argument)
{
	const struct work *given = argument;
	struct fake_thread thread;

	fake_thread_begin(&thread, &fake, (uint32_t)syscall(SYS_gettid), "worker");
	fake_events(&thread, given->events);
	if (given->end)
		fake_thread_end(&thread);
	return NULL;
}

/* events THREADS EVENTS: threads write at the same time, and end in order. */
static void scenario_events(char **arguments)
{
	static pthread_t threads[256];
	struct work given = { number(arguments, 1), true };

	fake_start(&fake);
	for (uint64_t i = 0; i < number(arguments, 0); i++)
		pthread_create(&threads[i], NULL, work, &given);
	for (uint64_t i = 0; i < number(arguments, 0); i++)
		pthread_join(threads[i], NULL);
}

static struct fake_thread main_thread(void)
{
	struct fake_thread thread;

	fake_start(&fake);
	fake_thread_begin(&thread, &fake, (uint32_t)getpid(), "main");
	return thread;
}

/* killed EVENTS: SIGKILL behind the last commit, chunks sealed and open, an event begun but not committed. */
static void scenario_killed(char **arguments)
{
	struct fake_thread thread = main_thread();

	fake_events(&thread, number(arguments, 0));
	if (ada_chunk_end(thread.chunk) < ADA_CHUNK_BYTES)
		((struct ada_event *)((char *)thread.chunk + ada_chunk_end(thread.chunk)))->function_id = 12345;
	kill(getpid(), SIGKILL);
}

/* lost: marked losses in the middle, and one that the thread did not live to mark. */
static void scenario_lost(char **arguments)
{
	struct fake_thread thread = main_thread();

	fake_events(&thread, 100);
	fake_lose(&thread, 7);
	fake_events(&thread, 5000);
	fake_lose(&thread, 11);
	fake_events(&thread, 1);
	fake_lose(&thread, 5);
	fake_thread_end(&thread);
}

/* A hole in the numbers that no LOST record tells of: the recorder must mark it. */
static void scenario_hole(char **arguments)
{
	struct fake_thread thread = main_thread();

	fake_events(&thread, 100);
	fake_seal(&thread);
	thread.seq += 9;
	thread.number += 9;
	fake_events(&thread, 100);
	fake_thread_end(&thread);
}

/* Chunks of two threads, sealed in another order than filled; one thread's stay in order. */
static void scenario_order(char **arguments)
{
	struct fake_thread one = main_thread(), two;

	fake_thread_begin(&two, &fake, (uint32_t)getpid() + 1000000, "other");
	for (int i = 0; i < 200; i++) {
		fake_events(&one, 10);
		fake_events(&two, 20);
		fake_seal(&two);
		fake_seal(&one);
	}
	fake_thread_end(&one);
	fake_thread_end(&two);
}

/* fill EVENTS: as fast as it goes, in whatever mode. */
static void scenario_fill(char **arguments)
{
	struct fake_thread thread = main_thread();

	fake_events(&thread, number(arguments, 0));
	fake_thread_end(&thread);
}

/* A thread dies with an open chunk: the recorder takes it and gives it back while the program goes on. */
static void scenario_dead_thread(char **arguments)
{
	struct work given = { 50, false };
	pthread_t other;
	uint32_t chunk;

	fake_start(&fake);
	pthread_create(&other, NULL, work, &given);
	pthread_join(other, NULL);
	chunk = fake_entry(&fake, 0)->chunk;
	fake_check(!fake_is_free(&fake, chunk), "the chunk is taken");
	for (int i = 0; i < PATIENCE_MS && !fake_is_free(&fake, chunk); i++)
		nap();
	fake_check(fake_is_free(&fake, chunk), "the dead thread's chunk did not come back");
}

/* quiet FILE: a few events, then waits until FILE is there (the test makes it once the events are on disk). */
static void scenario_quiet(char **arguments)
{
	struct fake_thread thread = main_thread();

	fake_events(&thread, 10);
	for (int i = 0; i < PATIENCE_MS && access(arguments[0], F_OK); i++)
		nap();
	fake_events(&thread, 10);
}

/* A conversation that stops half-way must not keep another from its answers. */
static void scenario_hang(char **arguments)
{
	struct fake hanging = { 0 };
	struct fake_thread thread;

	for (int i = 0; i < 20; i++)
		fake_connect();
	fake_hello(&hanging, ADA_HELLO_START, 0);
	thread = main_thread();
	fake_events(&thread, 10);
	fake_thread_end(&thread);
}

/* ahead LIBRARY PLANS: the table has two modules, and the plan of the second one is in the directory PLANS before anybody asked for it. */
static void scenario_ahead(char **arguments)
{
	fake_begin(&fake);
	fake_module_known(&fake, 1, 0, arguments[0]);
	fake_main_module(&fake);
	for (int i = 0; i < PATIENCE_MS && count_files(arguments[1]) < 2; i++)
		nap();
	fake_check(count_files(arguments[1]) == 2, "the second plan isn't made ahead");
	fake_module(&fake, 1, 0, arguments[0]);
	fake_done(&fake);
}

static void send_bytes(const void *bytes, size_t length)
{
	char answer[256];
	int fd = fake_connect();

	send(fd, bytes, length, MSG_NOSIGNAL);
	recv(fd, answer, sizeof answer, 0);
	close(fd);
}

/* Messages and headers that make no sense, then honest work. */
static void scenario_nonsense(char **arguments)
{
	static char junk[70000];
	struct ada_hello hello = { .head = { ADA_MESSAGE_HELLO, 8 }, .wire_version = ADA_WIRE_VERSION, .kind = ADA_HELLO_START };
	struct fake_thread thread;
	uint64_t *free_map;
	struct ada_chunk *chunk;
	struct ada_ring ring;

	send_bytes(junk, 1);
	send_bytes(junk, sizeof junk);
	send_bytes(&hello, sizeof hello);
	hello.head.bytes = sizeof hello;
	hello.kind = 77;
	send_bytes(&hello, sizeof hello);
	hello.kind = ADA_HELLO_FORK;
	hello.parent_pid = 1;
	send_bytes(&hello, sizeof hello);
	hello.kind = ADA_HELLO_RESUME;
	send_bytes(&hello, sizeof hello);
	thread = main_thread();
	fake_events(&thread, 10);
	free_map = (uint64_t *)((char *)fake.shm + fake.shm->free_offset);
	__atomic_fetch_and(free_map, ~(3ull << 20), __ATOMIC_ACQUIRE);
	chunk = fake_chunk(&fake, 20);
	*chunk = (struct ada_chunk){ .commit = UINT32_MAX, .status = ADA_CHUNK_SEALED };
	chunk = fake_chunk(&fake, 21);
	*chunk = (struct ada_chunk){ .commit = 96, .thread = 500, .status = ADA_CHUNK_SEALED };
	fake_seal(&thread);
	ring = fake_ring(&fake);
	ada_ring_put(&ring, 0x7fffffff);
	fake_events(&thread, 10);
	fake_thread_end(&thread);
}

/* exec PROGRAM ARGUMENT...: the same pid again, with another image. */
static void scenario_exec(char **arguments)
{
	struct fake_thread thread = main_thread();

	fake_events(&thread, 30);
	execv(arguments[0], arguments);
	fake_check(false, "exec");
}

/* escape FILE: what exec of a static program looks like to the recorder. Ends once FILE is there. */
static void scenario_escape(char **arguments)
{
	struct fake_thread thread = main_thread();

	fake_events(&thread, 12);
	munmap(fake.shm, fake.shm->total_bytes);
	for (int i = 0; i < PATIENCE_MS && access(arguments[0], F_OK); i++)
		nap();
}

/* fork MILLISECONDS: a child that goes on after its parent has ended, and says HELLO late. */
static void scenario_fork(char **arguments)
{
	struct fake_thread thread = main_thread();
	pid_t parent = getpid();
	struct fake child = { 0 };

	fake_events(&thread, 40);
	if (fork())
		_exit(7);
	while (getppid() == parent)
		nap();
	for (uint64_t i = 0; i < number(arguments, 0); i++)
		nap();
	fake_hello(&child, ADA_HELLO_FORK, (uint32_t)parent);
	if (!child.shm)
		_exit(0);
	fake_check(child.shm->module_count == 1, "the child has its parent's modules");
	fake_done(&child);
	fake_thread_begin(&thread, &child, (uint32_t)getpid(), "child");
	fake_events(&thread, 60);
	_exit(0);
}

static int end_of(pid_t child)
{
	int status;

	return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

/* fork-early: a child that the recorder hears of while its parent still tells of a module that the child has, too. */
static void scenario_fork_early(char **arguments)
{
	struct fake_thread thread = main_thread();
	struct fake child = { 0 }, again = { .socket = -1 };
	struct ada_shm_module *modules = (struct ada_shm_module *)((char *)fake.shm + fake.shm->modules_offset);
	pid_t parent = getpid(), pid;
	int heard[2];
	char byte;

	fake_events(&thread, 40);
	fake_hello(&again, ADA_HELLO_RESUME, 0);
	again.shm = fake.shm;
	modules[1] = modules[0];
	__atomic_store_n(&fake.shm->module_count, 2, __ATOMIC_RELEASE);
	fake_check(!pipe(heard), "pipe");
	pid = fork();
	if (!pid) {
		fake_hello(&child, ADA_HELLO_FORK, (uint32_t)parent);
		fake_check(child.shm && child.shm->module_count == 2, "the child has its parent's modules");
		fake_check(write(heard[1], "", 1) == 1, "write");
		fake_done(&child);
		_exit(0);
	}
	close(heard[1]);
	fake_check(read(heard[0], &byte, 1) == 1, "the child was heard of");
	fake_module(&again, 1, modules[0].flags, modules[0].path);
	fake_done(&again);
	fake_check(!end_of(pid), "the child");
}

/* fork-fork: a child of a child, that says HELLO while its parent has only connected. */
static void scenario_fork_fork(char **arguments)
{
	struct fake_thread thread = main_thread();
	struct fake child = { 0 };
	pid_t parent = getpid(), pid;

	fake_events(&thread, 40);
	pid = fork();
	if (!pid) {
		child.socket = fake_connect();
		pid = fork();
		if (!pid)
			child.socket = -1;
		for (int i = 0; pid && i < 100; i++)
			nap(); /* its child's word may be there by then */
		fake_hello(&child, ADA_HELLO_FORK, (uint32_t)(pid ? parent : getppid()));
		fake_check(child.shm && child.shm->module_count == 1, "its parent's modules");
		fake_done(&child);
		_exit(pid && end_of(pid) ? 99 : 0);
	}
	fake_check(!end_of(pid), "the children");
}

/* crash: a crash record, then the signal's own work. */
static void scenario_crash(char **arguments)
{
	struct fake_thread thread = main_thread();
	struct ada_crash *crash;

	fake_events(&thread, 3);
	crash = &fake.shm->crash;
	crash->signal = SIGSEGV;
	crash->code = 1;
	crash->thread_id = (uint32_t)getpid();
	crash->fault_address = 0xdead;
	crash->registers[16] = 0x1234;
	crash->stack_bytes = 2;
	crash->stack[0] = 0xab;
	__atomic_store_n(&crash->present, 1, __ATOMIC_RELEASE);
	raise(SIGKILL);
}

/* disabled REASON: the agent gives up. */
static void scenario_disabled(char **arguments)
{
	struct fake_thread thread = main_thread();

	fake_events(&thread, 3);
	__atomic_store_n(&fake.shm->disabled, (uint32_t)number(arguments, 0), __ATOMIC_RELEASE);
}

/* gives-up: as an agent that can't map the segment. */
static void scenario_gives_up(char **arguments)
{
	struct ada_failed failed = { .head = { ADA_MESSAGE_FAILED, sizeof failed }, .reason = ADA_DISABLE_NO_MEMORY };

	fake_hello(&fake, ADA_HELLO_START, 0);
	fake_check(send(fake.socket, &failed, sizeof failed, 0) == sizeof failed, "send");
}

/* hurries: as an agent that gives up, and closes, before the recorder has answered its HELLO. */
static void scenario_hurries(char **arguments)
{
	struct ada_hello hello = { .head = { ADA_MESSAGE_HELLO, sizeof hello },
				   .wire_version = ADA_WIRE_VERSION,
				   .kind = ADA_HELLO_START,
				   .thread_id = (uint32_t)getpid(),
				   .provider = ADA_NONE,
				   .heir = ADA_NONE };
	struct ada_failed failed = { .head = { ADA_MESSAGE_FAILED, sizeof failed }, .reason = ADA_DISABLE_NO_ANSWER };
	int fd = fake_connect();

	fake_check(send(fd, &hello, sizeof hello, 0) == sizeof hello && send(fd, &failed, sizeof failed, 0) == sizeof failed, "send");
	close(fd);
}

/* unread FILE: leaves an answer of the recorder's unread behind its last word. Says "ready" on stdout; then, once FILE is there,
 * "closed". */
static void scenario_unread(char **arguments)
{
	struct ada_module_message again = { .head = { ADA_MESSAGE_MODULE, sizeof again }, .flags = ADA_MODULE_MAIN };
	struct pollfd answered;
	struct fake_thread thread;

	fake_hello(&fake, ADA_HELLO_START, 0);
	fake_module(&fake, 0, ADA_MODULE_MAIN, "/proc/self/exe");
	fake_check(send(fake.socket, &again, sizeof again, 0) == sizeof again, "send");
	answered = (struct pollfd){ .fd = fake.socket, .events = POLLIN };
	fake_check(poll(&answered, 1, PATIENCE_MS) == 1, "an answer");
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < PATIENCE_MS && access(arguments[0], F_OK); i++)
		nap();
	fake_done(&fake);
	puts("closed");
	fflush(stdout);
	fake_thread_begin(&thread, &fake, (uint32_t)getpid(), "main");
	fake_events(&thread, 10);
	fake_thread_end(&thread);
}

/* vanishes: it ends in the midst of its start, before the recorder could look. */
static void scenario_vanishes(char **arguments)
{
	fake_hello(&fake, ADA_HELLO_START, 0);
	_exit(0);
}

/* flood SECONDS: events until the recorder says stop. */
static void scenario_flood(char **arguments)
{
	struct fake_thread thread = main_thread();

	while (!__atomic_load_n(&fake.shm->stop, __ATOMIC_RELAXED))
		fake_events(&thread, 1000);
}

static void say_interrupted(int signal)
{
	(void)!write(1, "interrupted\n", 12);
}

/* Runs until told to end by SIGTERM. Says "ready" on stdout, and at each SIGINT "interrupted". */
static void scenario_stay(char **arguments)
{
	sigset_t set;
	int signal;
	struct fake_thread thread;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGINT, &(struct sigaction){ .sa_handler = say_interrupted }, NULL);
	thread = main_thread();
	fake_events(&thread, 25);
	puts("ready");
	fflush(stdout);
	sigwait(&set, &signal);
	_exit(17);
}

static const struct {
	const char *name;
	void (*run)(char **arguments);
} scenarios[] = { { "events", scenario_events },
		  { "killed", scenario_killed },
		  { "lost", scenario_lost },
		  { "hole", scenario_hole },
		  { "order", scenario_order },
		  { "fill", scenario_fill },
		  { "dead-thread", scenario_dead_thread },
		  { "quiet", scenario_quiet },
		  { "hang", scenario_hang },
		  { "nonsense", scenario_nonsense },
		  { "exec", scenario_exec },
		  { "escape", scenario_escape },
		  { "fork", scenario_fork },
		  { "fork-early", scenario_fork_early },
		  { "fork-fork", scenario_fork_fork },
		  { "crash", scenario_crash },
		  { "disabled", scenario_disabled },
		  { "flood", scenario_flood },
		  { "stay", scenario_stay },
		  { "gives-up", scenario_gives_up },
		  { "vanishes", scenario_vanishes },
		  { "hurries", scenario_hurries },
		  { "unread", scenario_unread },
		  { "ahead", scenario_ahead } };

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof *scenarios; i++)
		if (!strcmp(argv[1], scenarios[i].name)) {
			scenarios[i].run(argv + 2);
			return 0;
		}
	return 98;
}

/* Threads that wait in system calls of all kinds while the process is patched: none may notice. */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "program.h"

#define WAIT_MS 1500

static int pipes[2], pair[2], readable[2]; /* nobody reads the last one */
static sem_t semaphore;
static uint32_t word;

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void *read_pipe(void *argument)
{
	char byte;

	check(read(pipes[0], &byte, 1) == 1 && byte == 'x', "read");
	return NULL;
}

static void *receive(void *argument)
{
	char byte;

	check(recv(pair[0], &byte, 1, 0) == 1 && byte == 'y', "recv");
	return NULL;
}

static void *sleep_relative(void *argument)
{
	uint64_t start = now_ms();

	check(!nanosleep(&(struct timespec){ .tv_sec = WAIT_MS / 1000, .tv_nsec = WAIT_MS % 1000 * 1000000 }, NULL), "nanosleep");
	check(now_ms() - start >= WAIT_MS, "nanosleep was too short");
	return NULL;
}

static void *poll_timeout(void *argument)
{
	uint64_t start = now_ms();

	check(poll(NULL, 0, WAIT_MS) == 0, "poll");
	check(now_ms() - start >= WAIT_MS, "poll was too short");
	return NULL;
}

static void *poll_forever(void *argument)
{
	struct pollfd fd = { .fd = readable[0], .events = POLLIN };

	check(poll(&fd, 1, -1) == 1, "poll");
	return NULL;
}

static void *wait_semaphore(void *argument)
{
	check(!sem_wait(&semaphore), "sem_wait");
	return NULL;
}

static void *futex_timeout(void *argument)
{
	uint64_t start = now_ms();
	struct timespec timeout = { .tv_sec = WAIT_MS / 1000, .tv_nsec = WAIT_MS % 1000 * 1000000 };

	check(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &timeout, NULL, 0) == -1 && errno == ETIMEDOUT, "futex");
	check(now_ms() - start >= WAIT_MS, "futex was too short");
	return NULL;
}

/* With a mask of its own while it waits. */
static void *ppoll_masked(void *argument)
{
	sigset_t set;

	sigfillset(&set);
	check(ppoll(NULL, 0, &(struct timespec){ .tv_sec = 1 }, &set) == 0, "ppoll");
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	check(!sigismember(&set, SIGUSR1), "ppoll left its mask");
	return NULL;
}

static void *epoll_forever(void *argument)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(0);

	check(!epoll_ctl(fd, EPOLL_CTL_ADD, readable[0], &event), "epoll_ctl");
	check(epoll_wait(fd, &event, 1, -1) == 1, "epoll_wait");
	return NULL;
}

void late_blocked(void)
{
	static void *(*const waits[])(void *) = { read_pipe,	  receive,	 sleep_relative, poll_timeout, poll_forever,
						  wait_semaphore, futex_timeout, ppoll_masked,	 epoll_forever };
	enum { COUNT = sizeof waits / sizeof *waits };
	pthread_t threads[COUNT];
	char line[64];

	check(!pipe(pipes) && !pipe(readable) && !socketpair(AF_UNIX, SOCK_STREAM, 0, pair) && !sem_init(&semaphore, 0, 0), "set up");
	for (int i = 0; i < COUNT; i++)
		check(!pthread_create(&threads[i], NULL, waits[i], NULL), "thread");
	puts("ready");
	fflush(stdout);
	check(fgets(line, sizeof line, stdin) != NULL, "stdin"); /* patched meanwhile, this thread waits too */
	check(late_target(5, 1) == 16, "target");
	check(write(pipes[1], "x", 1) == 1 && sem_post(&semaphore) == 0, "wake");
	check(write(pair[1], "y", 1) == 1 && write(readable[1], "z", 1) == 1, "wake");
	for (int i = 0; i < COUNT; i++)
		pthread_join(threads[i], NULL);
	puts("done");
}

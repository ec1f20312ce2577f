/* locks: until its input ends, eight threads in mutexes of every kind, of which each guards a count that would go wrong if two were in at once;
 * beside signals, exceptions, cancelled threads, and threads that die with a mutex. Now and then `keep` holds a mutex for a while, and `want`
 *  * waits for it. "wrong 0 rounds N": all was right. locks calls ROUNDS: as often takes a mutex that nobody else wants, and gives it back. */
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <pthread.h>
#include <stdexcept>
#include <sys/time.h>
#include <unistd.h>

#define THREADS 8
#define OUT __attribute__((noinline, noclone))
#define KEEP_US 8000

static std::atomic<bool> over;
static std::atomic<unsigned long> wrong, rounds, handled;

struct guarded {
	pthread_mutex_t mutex;
	volatile unsigned long count, twice; /* always equal where nobody is in */
};
enum { NORMAL, RECURSIVE, ERRORCHECK, ADAPTIVE, ROBUST, INHERIT, KINDS };
static guarded all[KINDS];
static pthread_mutex_t kept = PTHREAD_MUTEX_INITIALIZER, handlers = PTHREAD_MUTEX_INITIALIZER;
static std::atomic<int> turn; /* 1: kept is held, and wanted */

static void check(bool right)
{
	wrong += !right;
}

static void make(int kind)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, kind == RECURSIVE	? PTHREAD_MUTEX_RECURSIVE :
					       kind == ERRORCHECK	? PTHREAD_MUTEX_ERRORCHECK :
					       kind == ADAPTIVE ? PTHREAD_MUTEX_ADAPTIVE_NP :
									  PTHREAD_MUTEX_NORMAL);
	if (kind == ROBUST)
		pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	if (kind == INHERIT)
		pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	check(!pthread_mutex_init(&all[kind].mutex, &attributes));
}

static void count(guarded *one)
{
	check(one->count == one->twice);
	one->count = one->count + 1;
	for (int i = 0; i < 200; i++)
		__asm__ volatile("" ::: "memory");
	one->twice = one->twice + 1;
}

/* Who takes it over from a thread that died puts it right. */
static bool took(guarded *one, int status)
{
	if (status == EOWNERDEAD) {
		one->twice = one->count;
		status = pthread_mutex_consistent(&one->mutex);
	}
	return !status;
}

static bool take(guarded *one, unsigned long way)
{
	struct timespec until;
	int status;

	switch (way % 4) {
	case 0:
		status = pthread_mutex_trylock(&one->mutex);
		check(!status || status == EBUSY || status == EOWNERDEAD);
		return status != EBUSY && took(one, status);
	case 1:
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 60;
		status = pthread_mutex_timedlock(&one->mutex, &until);
		break;
	default: status = pthread_mutex_lock(&one->mutex);
	}
	check(took(one, status));
	return true;
}

struct hold {
	guarded *one;
	~hold() { check(!pthread_mutex_unlock(&one->mutex)); }
};

static OUT void round_of(int kind, unsigned long way)
{
	guarded *one = &all[kind];

	if (!take(one, way))
		return;
	hold held = { one };
	count(one);
	if (kind == RECURSIVE) {
		check(!pthread_mutex_lock(&one->mutex) && !pthread_mutex_trylock(&one->mutex));
		check(!pthread_mutex_unlock(&one->mutex) && !pthread_mutex_unlock(&one->mutex));
	}
	if (kind == ERRORCHECK)
		check(pthread_mutex_lock(&one->mutex) == EDEADLK);
	if (way % 16 == 3)
		throw std::runtime_error("thrown");
}

static void *work(void *number)
{
	unsigned long way = (unsigned long)number * 7;

	while (!over) {
		for (int kind = 0; kind < KINDS; kind++, way += 5)
			try {
				round_of(kind, way);
			} catch (const std::runtime_error &) {
				rounds++;
			}
		check(pthread_mutex_unlock(&all[ERRORCHECK].mutex) == EPERM);
		rounds++;
		usleep(50);
	}
	return nullptr;
}

static void *die(void *)
{
	check(took(&all[ROBUST], pthread_mutex_lock(&all[ROBUST].mutex)));
	all[ROBUST].count = all[ROBUST].count + 1;
	return nullptr;
}

static void give_back(void *one)
{
	pthread_mutex_unlock(&static_cast<guarded *>(one)->mutex);
}

static void *be_cancelled(void *)
{
	pthread_mutex_lock(&all[NORMAL].mutex);
	pthread_cleanup_push(give_back, &all[NORMAL]);
	pause();
	pthread_cleanup_pop(1);
	return nullptr;
}

static OUT void keep()
{
	pthread_mutex_lock(&kept);
	turn = 1;
	usleep(KEEP_US);
	pthread_mutex_unlock(&kept);
}

static OUT void want()
{
	while (turn != 1 && !over)
		usleep(100);
	pthread_mutex_lock(&kept);
	pthread_mutex_unlock(&kept);
	turn = 0;
}

static void *keeper(void *)
{
	while (!over) {
		keep();
		while (turn && !over)
			usleep(100);
	}
	return nullptr;
}

static void *wanter(void *)
{
	while (!over)
		want();
	return nullptr;
}

static void *others(void *)
{
	while (!over) {
		pthread_t thread;

		pthread_create(&thread, nullptr, die, nullptr);
		pthread_join(thread, nullptr);
		pthread_create(&thread, nullptr, be_cancelled, nullptr);
		usleep(1000);
		pthread_cancel(thread);
		pthread_join(thread, nullptr);
	}
	return nullptr;
}

static void on_signal(int)
{
	if (!pthread_mutex_trylock(&handlers)) { /* of another thread's handler */
		handled++;
		pthread_mutex_unlock(&handlers);
	}
}

static OUT unsigned long calls(unsigned long left)
{
	unsigned long sum = 0;

	for (; left; left--) {
		check(!pthread_mutex_lock(&kept));
		sum++;
		check(!pthread_mutex_unlock(&kept));
	}
	return sum;
}

int main(int argc, char **argv)
{
	void *(*const of[])(void *) = { keeper, wanter, others };
	pthread_t threads[THREADS + 3];
	struct itimerval timer = { { 0, 500 }, { 0, 500 } };
	char byte;

	if (argc == 3) {
		printf("sum %lu wrong %lu\n", calls(strtoul(argv[2], nullptr, 10)), wrong.load());
		return 0;
	}
	for (int kind = 0; kind < KINDS; kind++)
		make(kind);
	signal(SIGALRM, on_signal);
	setitimer(ITIMER_REAL, &timer, nullptr);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], nullptr, work, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[THREADS + i], nullptr, of[i], nullptr);
	puts("ready");
	fflush(stdout);
	for (ssize_t got; (got = read(0, &byte, 1)) > 0 || (got < 0 && errno == EINTR);)
		;
	over = true;
	for (pthread_t thread : threads)
		pthread_join(thread, nullptr);
	timer = {};
	setitimer(ITIMER_REAL, &timer, nullptr);
	for (int kind = 0; kind < KINDS; kind++)
		check(all[kind].count == all[kind].twice || kind == ROBUST);
	printf("wrong %lu rounds %lu\n", wrong.load(), rounds.load());
	return 0;
}

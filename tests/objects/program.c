/* Says which synchronisation functions it called on what, thread by thread: "TID NAME ADDRESS [ADDRESS]" a line, at the end. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define LINES 100000
#define ON(name, object, ...) (say(#name, object, NULL), name(__VA_ARGS__))
#define ON_TWO(name, one, two, ...) (say(#name, one, two), name(__VA_ARGS__))

static struct line {
	pid_t tid;
	const char *name;
	const void *one, *two;
} lines[LINES];
static unsigned int line_count;
static __thread pid_t own_tid;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t semaphore;
static mtx_t c11_mutex;
static cnd_t c11_condition;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static once_flag c11_once = ONCE_FLAG_INIT;
static int futex;
static volatile int ready;

static void say(const char *name, const void *one, const void *two)
{
	unsigned int number = __atomic_fetch_add(&line_count, 1, __ATOMIC_RELAXED);

	if (!own_tid)
		own_tid = (pid_t)syscall(SYS_gettid);
	if (number < LINES)
		lines[number] = (struct line){ own_tid, name, one, two };
}

static struct timespec soon(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	time.tv_nsec += 1000000;
	time.tv_sec += time.tv_nsec / 1000000000;
	time.tv_nsec %= 1000000000;
	return time;
}

static void *partner(void *unused)
{
	ON(pthread_barrier_wait, &barrier, &barrier);
	ON(pthread_mutex_lock, &mutex, &mutex);
	ready = 1;
	ON(pthread_cond_signal, &condition, &condition);
	ON(pthread_mutex_unlock, &mutex, &mutex);
	return NULL;
}

static int partner_c11(void *unused)
{
	ON(mtx_lock, &c11_mutex, &c11_mutex);
	ready = 2;
	ON(cnd_signal, &c11_condition, &c11_condition);
	ON(mtx_unlock, &c11_mutex, &c11_mutex);
	return 0;
}

static void mutexes(void)
{
	struct timespec time = soon(CLOCK_REALTIME), monotonic = soon(CLOCK_MONOTONIC);

	ON(pthread_mutex_lock, &mutex, &mutex);
	ON(pthread_mutex_trylock, &mutex, &mutex);
	ON(pthread_mutex_timedlock, &mutex, &mutex, &time);
	ON(pthread_mutex_clocklock, &mutex, &mutex, CLOCK_MONOTONIC, &monotonic);
	ON(pthread_mutex_lock, &other, &other);
	ON(pthread_mutex_unlock, &other, &other);
	ON(pthread_mutex_unlock, &mutex, &mutex);
	ON(pthread_spin_lock, (void *)&spin, &spin);
	ON(pthread_spin_trylock, (void *)&spin, &spin);
	ON(pthread_spin_unlock, (void *)&spin, &spin);
}

static void rwlocks(void)
{
	struct timespec time = soon(CLOCK_REALTIME), monotonic = soon(CLOCK_MONOTONIC);

	ON(pthread_rwlock_rdlock, &rwlock, &rwlock);
	ON(pthread_rwlock_tryrdlock, &rwlock, &rwlock);
	ON(pthread_rwlock_trywrlock, &rwlock, &rwlock);
	ON(pthread_rwlock_timedwrlock, &rwlock, &rwlock, &time);
	ON(pthread_rwlock_clockwrlock, &rwlock, &rwlock, CLOCK_MONOTONIC, &monotonic);
	ON(pthread_rwlock_unlock, &rwlock, &rwlock);
	ON(pthread_rwlock_unlock, &rwlock, &rwlock);
	ON(pthread_rwlock_wrlock, &rwlock, &rwlock);
	time = soon(CLOCK_REALTIME);
	ON(pthread_rwlock_timedrdlock, &rwlock, &rwlock, &time);
	ON(pthread_rwlock_clockrdlock, &rwlock, &rwlock, CLOCK_MONOTONIC, &monotonic);
	ON(pthread_rwlock_unlock, &rwlock, &rwlock);
}

static void semaphores(void)
{
	struct timespec time = soon(CLOCK_REALTIME), monotonic = soon(CLOCK_MONOTONIC);

	ON(sem_post, &semaphore, &semaphore);
	ON(sem_wait, &semaphore, &semaphore);
	ON(sem_trywait, &semaphore, &semaphore);
	ON(sem_timedwait, &semaphore, &semaphore, &time);
	ON(sem_clockwait, &semaphore, &semaphore, CLOCK_MONOTONIC, &monotonic);
	ON(syscall, &futex, SYS_futex, &futex, FUTEX_WAKE, 1, NULL, NULL, 0);
	(void)syscall(SYS_getppid); /* of no object */
}

static void conditions(void)
{
	struct timespec time = soon(CLOCK_REALTIME), monotonic = soon(CLOCK_MONOTONIC);
	pthread_t thread;

	pthread_create(&thread, NULL, partner, NULL);
	ON(pthread_mutex_lock, &mutex, &mutex);
	ON_TWO(pthread_cond_timedwait, &condition, &mutex, &condition, &mutex, &time);
	ON_TWO(pthread_cond_clockwait, &condition, &mutex, &condition, &mutex, CLOCK_MONOTONIC, &monotonic);
	ON(pthread_barrier_wait, &barrier, &barrier);
	while (!ready)
		ON_TWO(pthread_cond_wait, &condition, &mutex, &condition, &mutex);
	ON(pthread_cond_broadcast, &condition, &condition);
	ON(pthread_mutex_unlock, &mutex, &mutex);
	ON(pthread_join, (void *)thread, thread, NULL);
}

static void begin_once(void)
{
}

static void onces(void)
{
	for (int i = 0; i < 2; i++) {
		ON(pthread_once, &once, &once, begin_once);
		ON(call_once, &c11_once, &c11_once, begin_once);
	}
}

static void c11(void)
{
	struct timespec time = soon(CLOCK_REALTIME);
	thrd_t thread;
	int status;

	ON(mtx_lock, &c11_mutex, &c11_mutex);
	ON(mtx_trylock, &c11_mutex, &c11_mutex);
	ON_TWO(cnd_timedwait, &c11_condition, &c11_mutex, &c11_condition, &c11_mutex, &time);
	thrd_create(&thread, partner_c11, NULL);
	while (ready < 2)
		ON_TWO(cnd_wait, &c11_condition, &c11_mutex, &c11_condition, &c11_mutex);
	ON(cnd_broadcast, &c11_condition, &c11_condition);
	ON(mtx_unlock, &c11_mutex, &c11_mutex);
	ON(thrd_join, (void *)thread, thread, &status);
}

/* --- signals, jumps, cancellation, forks ------------------------------------------------------------------------------- */

static sigjmp_buf back;
static volatile sig_atomic_t jumps;

static void on_signal(int number)
{
	static int odd;

	ON(sem_post, &semaphore, &semaphore);
	ON(sem_trywait, &semaphore, &semaphore);
	if (jumps && odd++ % 16 == 15)
		siglongjmp(back, 1);
}

static void storm(int rounds)
{
	struct itimerval timer = { { 0, 100 }, { 0, 100 } }, none = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (int i = 0; i < rounds; i++) {
		pthread_spin_trylock(&spin); /* a jump may have left it locked */
		pthread_spin_unlock(&spin);
		sigsetjmp(back, 1);
	}
	jumps = 0;
	setitimer(ITIMER_REAL, &none, NULL);
}

static void put_back(void *unused)
{
	ON(pthread_mutex_unlock, &mutex, &mutex);
}

static void *wait_for_ever(void *condition_or_semaphore)
{
	if (condition_or_semaphore == &semaphore) {
		ON(sem_wait, &semaphore, &semaphore);
		return NULL;
	}
	ON(pthread_mutex_lock, &mutex, &mutex);
	pthread_cleanup_push(put_back, NULL);
	for (;;)
		ON_TWO(pthread_cond_wait, &condition, &mutex, &condition, &mutex);
	pthread_cleanup_pop(0);
}

static void cancel(void *what)
{
	void *result;
	pthread_t thread;

	pthread_create(&thread, NULL, wait_for_ever, what);
	usleep(20000);
	pthread_cancel(thread);
	ON(pthread_join, (void *)thread, thread, &result);
	if (result != PTHREAD_CANCELED)
		exit(2);
}

static void forks(void)
{
	int status;
	pid_t child = fork();

	if (!child) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		_exit(7);
	}
	if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
		exit(3);
	child = vfork();
	if (!child)
		_exit(pthread_mutex_trylock(&other) ?: pthread_mutex_unlock(&other) ?: 8);
	if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 8)
		exit(4);
}

static void *churn(void *rounds)
{
	for (long i = 0; i < (long)rounds; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

int main(int count, char **words)
{
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	say("pthread_spin_unlock", (void *)&spin, NULL); /* which in glibc is the same function */
	pthread_barrier_init(&barrier, NULL, 2);
	sem_init(&semaphore, 0, 0);
	mtx_init(&c11_mutex, mtx_plain);
	cnd_init(&c11_condition);
	if (!strcmp(words[1], "all")) {
		mutexes();
		rwlocks();
		semaphores();
		conditions();
		c11();
		onces();
	} else if (!strcmp(words[1], "storm") || !strcmp(words[1], "jumps")) {
		jumps = *words[1] == 'j';
		storm(atoi(words[2]));
	} else if (!strcmp(words[1], "cancel")) {
		cancel(&condition);
		cancel(&semaphore);
	} else if (!strcmp(words[1], "forks")) {
		forks();
	} else {
		pthread_t threads[4];

		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, churn, (void *)atol(words[2]));
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	}
	for (unsigned int i = 0; i < line_count && i < LINES; i++) {
		printf("%d %s %p", lines[i].tid, lines[i].name, lines[i].one);
		if (lines[i].two)
			printf(" %p", lines[i].two);
		puts("");
	}
	return line_count > LINES;
}

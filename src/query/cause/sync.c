/* Which functions take and give back objects, wake or wait: by their names in libc, and in libstdc++ where these are all one sees. */
#include <stdlib.h>
#include <string.h>
#include "query/cause/internal.h"

struct known {
	const char *name;
	enum ada_does does;
};

/* Sorted by name. */
static const struct known functions[] = {
	{ "_ZNSt18condition_variable10notify_allEv", ADA_DOES_SIGNAL },
	{ "_ZNSt18condition_variable10notify_oneEv", ADA_DOES_SIGNAL },
	{ "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", ADA_DOES_COND_WAIT },
	{ "_ZNSt6thread4joinEv", ADA_DOES_JOIN },
	{ "_Znam", ADA_DOES_ALLOCATE },
	{ "_Znwm", ADA_DOES_ALLOCATE },
	{ "__fgets_chk", ADA_DOES_STREAM_4 },
	{ "__fprintf_chk", ADA_DOES_STREAM_1 },
	{ "__poll_chk", ADA_DOES_POLL },
	{ "__pread64_chk", ADA_DOES_IO },
	{ "__pread_chk", ADA_DOES_IO },
	{ "__read_chk", ADA_DOES_IO },
	{ "__recv_chk", ADA_DOES_MESSAGE },
	{ "__recvfrom_chk", ADA_DOES_MESSAGE },
	{ "accept", ADA_DOES_ACCEPT },
	{ "accept4", ADA_DOES_ACCEPT },
	{ "call_once", ADA_DOES_ONCE },
	{ "calloc", ADA_DOES_ALLOCATE },
	{ "clock_nanosleep", ADA_DOES_SLEEP },
	{ "close", ADA_DOES_CLOSE },
	{ "close_range", ADA_DOES_CLOSE_ANY },
	{ "closedir", ADA_DOES_CLOSE_ANY },
	{ "closefrom", ADA_DOES_CLOSE_ANY },
	{ "cnd_broadcast", ADA_DOES_SIGNAL },
	{ "cnd_signal", ADA_DOES_SIGNAL },
	{ "cnd_timedwait", ADA_DOES_COND_WAIT },
	{ "cnd_wait", ADA_DOES_COND_WAIT },
	{ "connect", ADA_DOES_CONNECT },
	{ "copy_file_range", ADA_DOES_IO },
	{ "creat", ADA_DOES_OPEN },
	{ "creat64", ADA_DOES_OPEN },
	{ "dup", ADA_DOES_MAKE_DESCRIPTOR },
	{ "dup2", ADA_DOES_REPLACE },
	{ "dup3", ADA_DOES_REPLACE },
	{ "epoll_create", ADA_DOES_MAKE_DESCRIPTOR },
	{ "epoll_create1", ADA_DOES_MAKE_DESCRIPTOR },
	{ "epoll_pwait", ADA_DOES_MESSAGE },
	{ "epoll_pwait2", ADA_DOES_MESSAGE },
	{ "epoll_wait", ADA_DOES_MESSAGE },
	{ "eventfd", ADA_DOES_MAKE_COUNTER },
	{ "eventfd_read", ADA_DOES_COUNTER_WAIT },
	{ "eventfd_write", ADA_DOES_COUNTER_WRITE },
	{ "fallocate", ADA_DOES_IO },
	{ "fclose", ADA_DOES_CLOSE_STREAM },
	{ "fcntl", ADA_DOES_MAKE_DESCRIPTOR },
	{ "fcntl64", ADA_DOES_MAKE_DESCRIPTOR },
	{ "fdatasync", ADA_DOES_IO },
	{ "fflush", ADA_DOES_STREAM_1 },
	{ "fgetc", ADA_DOES_STREAM_1 },
	{ "fgets", ADA_DOES_STREAM_3 },
	{ "flock", ADA_DOES_IO },
	{ "flockfile", ADA_DOES_LOCK },
	{ "fopen", ADA_DOES_IO_OTHER },
	{ "fprintf", ADA_DOES_STREAM_1 },
	{ "fputc", ADA_DOES_STREAM_2 },
	{ "fputs", ADA_DOES_STREAM_2 },
	{ "fread", ADA_DOES_STREAM_4 },
	{ "free", ADA_DOES_ALLOCATE },
	{ "fsync", ADA_DOES_IO },
	{ "ftruncate", ADA_DOES_IO },
	{ "ftrylockfile", ADA_DOES_TRY },
	{ "funlockfile", ADA_DOES_UNLOCK },
	{ "fwrite", ADA_DOES_STREAM_4 },
	{ "getaddrinfo", ADA_DOES_MESSAGE_OTHER },
	{ "getline", ADA_DOES_STREAM_3 },
	{ "inotify_init", ADA_DOES_MAKE_DESCRIPTOR },
	{ "inotify_init1", ADA_DOES_MAKE_DESCRIPTOR },
	{ "lockf", ADA_DOES_IO },
	{ "lockf64", ADA_DOES_IO },
	{ "malloc", ADA_DOES_ALLOCATE },
	{ "memfd_create", ADA_DOES_MAKE_DESCRIPTOR },
	{ "mkostemp", ADA_DOES_MAKE_DESCRIPTOR },
	{ "mkstemp", ADA_DOES_MAKE_DESCRIPTOR },
	{ "mq_open", ADA_DOES_MAKE_DESCRIPTOR },
	{ "mq_receive", ADA_DOES_MESSAGE_OTHER },
	{ "mq_send", ADA_DOES_MESSAGE_OTHER },
	{ "msgrcv", ADA_DOES_MESSAGE_OTHER },
	{ "msync", ADA_DOES_IO_OTHER },
	{ "mtx_lock", ADA_DOES_LOCK },
	{ "mtx_timedlock", ADA_DOES_TRY_LOCK },
	{ "mtx_trylock", ADA_DOES_TRY },
	{ "mtx_unlock", ADA_DOES_UNLOCK },
	{ "nanosleep", ADA_DOES_SLEEP },
	{ "open", ADA_DOES_OPEN },
	{ "open64", ADA_DOES_OPEN },
	{ "open_by_handle_at", ADA_DOES_MAKE_DESCRIPTOR },
	{ "openat", ADA_DOES_OPEN_AT },
	{ "openat64", ADA_DOES_OPEN_AT },
	{ "pause", ADA_DOES_MESSAGE_OTHER },
	{ "pclose", ADA_DOES_CLOSE_COMMAND },
	{ "pidfd_open", ADA_DOES_MAKE_DESCRIPTOR },
	{ "poll", ADA_DOES_POLL },
	{ "popen", ADA_DOES_OPEN_COMMAND },
	{ "posix_memalign", ADA_DOES_ALLOCATE },
	{ "posix_openpt", ADA_DOES_MAKE_DESCRIPTOR },
	{ "ppoll", ADA_DOES_POLL },
	{ "pread", ADA_DOES_IO },
	{ "pread64", ADA_DOES_IO },
	{ "preadv", ADA_DOES_IO },
	{ "pselect", ADA_DOES_MESSAGE_OTHER },
	{ "pthread_barrier_wait", ADA_DOES_BARRIER },
	{ "pthread_clockjoin_np", ADA_DOES_JOIN },
	{ "pthread_cond_broadcast", ADA_DOES_SIGNAL },
	{ "pthread_cond_clockwait", ADA_DOES_COND_WAIT },
	{ "pthread_cond_signal", ADA_DOES_SIGNAL },
	{ "pthread_cond_timedwait", ADA_DOES_COND_WAIT },
	{ "pthread_cond_wait", ADA_DOES_COND_WAIT },
	{ "pthread_join", ADA_DOES_JOIN },
	{ "pthread_mutex_clocklock", ADA_DOES_TRY_LOCK },
	{ "pthread_mutex_lock", ADA_DOES_LOCK },
	{ "pthread_mutex_timedlock", ADA_DOES_TRY_LOCK },
	{ "pthread_mutex_trylock", ADA_DOES_TRY },
	{ "pthread_mutex_unlock", ADA_DOES_UNLOCK },
	{ "pthread_once", ADA_DOES_ONCE },
	{ "pthread_rwlock_clockrdlock", ADA_DOES_TRY_LOCK },
	{ "pthread_rwlock_clockwrlock", ADA_DOES_TRY_LOCK },
	{ "pthread_rwlock_rdlock", ADA_DOES_LOCK },
	{ "pthread_rwlock_timedrdlock", ADA_DOES_TRY_LOCK },
	{ "pthread_rwlock_timedwrlock", ADA_DOES_TRY_LOCK },
	{ "pthread_rwlock_tryrdlock", ADA_DOES_TRY },
	{ "pthread_rwlock_trywrlock", ADA_DOES_TRY },
	{ "pthread_rwlock_unlock", ADA_DOES_UNLOCK },
	{ "pthread_rwlock_wrlock", ADA_DOES_LOCK },
	{ "pthread_spin_lock", ADA_DOES_LOCK },
	{ "pthread_spin_trylock", ADA_DOES_TRY },
	{ "pthread_spin_unlock", ADA_DOES_UNLOCK },
	{ "pthread_timedjoin_np", ADA_DOES_JOIN },
	{ "putc", ADA_DOES_STREAM_2 },
	{ "pwrite", ADA_DOES_IO },
	{ "pwrite64", ADA_DOES_IO },
	{ "read", ADA_DOES_IO },
	{ "readv", ADA_DOES_IO },
	{ "realloc", ADA_DOES_ALLOCATE },
	{ "recv", ADA_DOES_MESSAGE },
	{ "recvfrom", ADA_DOES_MESSAGE },
	{ "recvmmsg", ADA_DOES_MESSAGE },
	{ "recvmsg", ADA_DOES_MESSAGE },
	{ "select", ADA_DOES_MESSAGE_OTHER },
	{ "sem_clockwait", ADA_DOES_SEM_WAIT },
	{ "sem_post", ADA_DOES_SEM_POST },
	{ "sem_timedwait", ADA_DOES_SEM_WAIT },
	{ "sem_wait", ADA_DOES_SEM_WAIT },
	{ "send", ADA_DOES_MESSAGE },
	{ "sendfile", ADA_DOES_IO },
	{ "sendmsg", ADA_DOES_MESSAGE },
	{ "sendto", ADA_DOES_MESSAGE },
	{ "shm_open", ADA_DOES_MAKE_DESCRIPTOR },
	{ "signalfd", ADA_DOES_MAKE_DESCRIPTOR },
	{ "sigsuspend", ADA_DOES_MESSAGE_OTHER },
	{ "sigtimedwait", ADA_DOES_MESSAGE_OTHER },
	{ "sigwait", ADA_DOES_MESSAGE_OTHER },
	{ "sigwaitinfo", ADA_DOES_MESSAGE_OTHER },
	{ "sleep", ADA_DOES_SLEEP },
	{ "socket", ADA_DOES_MAKE_DESCRIPTOR },
	{ "sync", ADA_DOES_IO_OTHER },
	{ "syscall", ADA_DOES_FUTEX },
	{ "system", ADA_DOES_COMMAND },
	{ "thrd_join", ADA_DOES_JOIN },
	{ "thrd_sleep", ADA_DOES_SLEEP },
	{ "timerfd_create", ADA_DOES_MAKE_DESCRIPTOR },
	{ "userfaultfd", ADA_DOES_MAKE_DESCRIPTOR },
	{ "usleep", ADA_DOES_SLEEP },
	{ "vfprintf", ADA_DOES_STREAM_1 },
	{ "wait", ADA_DOES_CHILD },
	{ "wait3", ADA_DOES_CHILD },
	{ "wait4", ADA_DOES_CHILD },
	{ "waitid", ADA_DOES_CHILD },
	{ "waitpid", ADA_DOES_CHILD },
	{ "write", ADA_DOES_WRITE },
	{ "writev", ADA_DOES_IO },
};

static int compare_known(const void *key, const void *item)
{
	return strcmp(key, ((const struct known *)item)->name);
}

enum ada_does ada_does_of_name(const char *name)
{
	char plain[64];
	size_t length = strcspn(name, "@");
	const struct known *known;

	if (length >= sizeof plain)
		return ADA_DOES_NOTHING;
	memcpy(plain, name, length);
	plain[length] = 0;
	known = bsearch(plain, functions, sizeof functions / sizeof *functions, sizeof *functions, compare_known);
	return known ? known->does : ADA_DOES_NOTHING;
}

enum ada_cause_kind ada_does_wait(enum ada_does does)
{
	switch (does) {
	case ADA_DOES_LOCK:
	case ADA_DOES_TRY_LOCK:
	case ADA_DOES_FUTEX:
	case ADA_DOES_ONCE:
	case ADA_DOES_ALLOCATE: return ADA_CAUSE_LOCK;
	case ADA_DOES_COND_WAIT:
	case ADA_DOES_SEM_WAIT:
	case ADA_DOES_BARRIER:
	case ADA_DOES_JOIN: return ADA_CAUSE_CONDITION;
	case ADA_DOES_SLEEP: return ADA_CAUSE_SLEEP;
	case ADA_DOES_IO:
	case ADA_DOES_WRITE:
	case ADA_DOES_OPEN:
	case ADA_DOES_OPEN_AT:
	case ADA_DOES_CLOSE_STREAM:
	case ADA_DOES_STREAM_1:
	case ADA_DOES_STREAM_2:
	case ADA_DOES_STREAM_3:
	case ADA_DOES_STREAM_4:
	case ADA_DOES_IO_OTHER: return ADA_CAUSE_IO;
	case ADA_DOES_CONNECT:
	case ADA_DOES_ACCEPT:
	case ADA_DOES_MESSAGE:
	case ADA_DOES_COUNTER_WAIT:
	case ADA_DOES_COUNTER_WRITE:
	case ADA_DOES_MESSAGE_OTHER:
	case ADA_DOES_POLL: return ADA_CAUSE_MESSAGE;
	case ADA_DOES_COMMAND:
	case ADA_DOES_CLOSE_COMMAND:
	case ADA_DOES_CHILD: return ADA_CAUSE_CHILD;
	default: return ADA_CAUSE_UNKNOWN;
	}
}

bool ada_does_attempt(enum ada_does does)
{
	return does == ADA_DOES_TRY || does == ADA_DOES_TRY_LOCK;
}

bool ada_does_to_descriptor(enum ada_does does)
{
	return does == ADA_DOES_IO || does == ADA_DOES_WRITE || does == ADA_DOES_MESSAGE || does == ADA_DOES_COUNTER_WAIT ||
	       does == ADA_DOES_COUNTER_WRITE || does == ADA_DOES_CONNECT || does == ADA_DOES_ACCEPT || does == ADA_DOES_POLL;
}

bool ada_does_to_stream(enum ada_does does)
{
	return does >= ADA_DOES_STREAM_1 && does <= ADA_DOES_STREAM_4;
}

const char *ada_cause_kind_name(enum ada_cause_kind kind)
{
	static const char *const names[] = {
		[ADA_CAUSE_UNKNOWN] = "unknown",     [ADA_CAUSE_LOCK] = "lock",	      [ADA_CAUSE_DEADLOCK] = "deadlock",
		[ADA_CAUSE_CONDITION] = "condition", [ADA_CAUSE_SLEEP] = "sleep",     [ADA_CAUSE_IO] = "io",
		[ADA_CAUSE_CHILD] = "child",	     [ADA_CAUSE_MESSAGE] = "message", [ADA_CAUSE_CPU] = "cpu",
		[ADA_CAUSE_PREEMPTED] = "preempted", [ADA_CAUSE_FAULT] = "fault",     [ADA_CAUSE_RECORDER] = "recorder",
		[ADA_CAUSE_RUNQUEUE] = "runqueue",   [ADA_CAUSE_STEAL] = "steal",     [ADA_CAUSE_THROTTLED] = "throttled"
	};

	return names[kind];
}

/* System calls without libc: sys.h. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <linux/futex.h>
#include <time.h>
#include "agent/ground/space.h"
#include "agent/ground/sys.h"

static bool future_locked;

uint64_t ada_sys_signals_block(void)
{
	/* Not SIGSYS: where a filter was installed past libc, the program's handler may do what it likes with our system calls. */
	uint64_t all = ~(1ull << (SIGSYS - 1)), old = 0;

	ada_sys4(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&old, sizeof all);
	return old;
}

void ada_sys_signals_restore(uint64_t mask)
{
	ada_sys4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof mask);
}

bool ada_sys_future_locked(bool locked)
{
	return __atomic_exchange_n(&future_locked, locked, __ATOMIC_SEQ_CST);
}

/* Memory that can't be accessed is locked, but not filled. */
static long map_unlocked(void *wish, size_t bytes, int protection, int flags, int fd)
{
	long memory = ada_sys6(SYS_mmap, (long)wish, bytes, PROT_NONE, flags, fd, 0), status;

	if (ada_sys_failed(memory))
		return memory;
	ada_sys4(SYS_munlock, memory, bytes, 0, 0);
	status = ada_sys_protect((void *)memory, bytes, protection);
	if (!ada_sys_failed(status))
		return memory;
	ada_sys4(SYS_munmap, memory, bytes, 0, 0);
	return status;
}

static void *map(void *wish, size_t bytes, int protection, int flags, int fd)
{
	long memory;

	ada_space_expect(bytes);
	if (__atomic_load_n(&future_locked, __ATOMIC_RELAXED) && !ada_quiet_filtered())
		memory = map_unlocked(wish, bytes, protection, flags, fd);
	else
		memory = ada_sys6(SYS_mmap, (long)wish, bytes, protection, flags, fd, 0);
	if (ada_sys_failed(memory))
		memory = 0;
	ada_space_note(memory, bytes);
	return (void *)memory;
}

void *ada_sys_map(size_t bytes)
{
	return map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

void *ada_sys_map_whole(size_t bytes)
{
	void *memory = ada_sys_map(bytes);

	if (memory)
		ada_sys_advise(memory, bytes, MADV_POPULATE_WRITE);
	return memory;
}

void *ada_sys_map_at(void *wish, size_t bytes, int protection)
{
	void *memory = map(wish, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1);

	if (memory && memory != wish) { /* a kernel that doesn't know the flag took it as a hint */
		ada_sys_unmap(memory, bytes);
		return NULL;
	}
	return memory;
}

void *ada_sys_map_fd(int fd, size_t bytes, int protection, bool shared)
{
	return map(NULL, bytes, protection, shared ? MAP_SHARED : MAP_PRIVATE, fd);
}

long ada_sys_unmap(void *start, size_t bytes)
{
	long result = ada_sys4(SYS_munmap, (long)start, bytes, 0, 0);

	if (!ada_sys_failed(result))
		ada_space_forget((uint64_t)start, bytes);
	return result;
}

long ada_sys_protect(void *start, size_t bytes, int protection)
{
	return ada_sys4(SYS_mprotect, (long)start, bytes, protection, 0);
}

long ada_sys_advise(void *start, size_t bytes, int advice)
{
	return ada_sys4(SYS_madvise, (long)start, bytes, advice, 0);
}

extern char ada_state[] __attribute__((visibility("hidden"))), ada_state_end[] __attribute__((visibility("hidden")));

bool ada_state_open(void)
{
	return !ada_sys_failed(ada_sys_protect(ada_state, ada_state_end - ada_state, PROT_READ | PROT_WRITE));
}

uint32_t ada_sys_pid(void)
{
	return ada_sys4(SYS_getpid, 0, 0, 0, 0);
}

uint32_t ada_sys_tid(void)
{
	return ada_sys4(SYS_gettid, 0, 0, 0, 0);
}

long ada_sys_open(const char *path)
{
	return ada_sys4(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
}

long ada_sys_read(int fd, void *buffer, size_t bytes, uint64_t offset)
{
	long result;

	do
		result = ada_sys4(SYS_pread64, fd, (long)buffer, bytes, offset);
	while (result == -EINTR);
	return result;
}

long ada_sys_read_file(const char *path, void *buffer, size_t bytes)
{
	long fd = ada_sys_open(path), result;

	if (ada_sys_failed(fd))
		return fd;
	result = ada_sys_read(fd, buffer, bytes, 0);
	ada_sys_close(fd);
	return result;
}

void ada_sys_close(int fd)
{
	ada_sys4(SYS_close, fd, 0, 0, 0);
}

long ada_sys_read_link(const char *path, char *buffer, size_t bytes)
{
	return ada_sys4(SYS_readlinkat, AT_FDCWD, (long)path, (long)buffer, bytes);
}

uint64_t (*ada_sys_constants)(uint64_t address);

long ada_sys_peek(void *buffer, uint64_t address, size_t bytes)
{
	struct iovec local = { buffer, bytes }, remote = { (void *)address, bytes };

	return ada_sys6(SYS_process_vm_readv, ada_sys_pid(), (long)&local, 1, (long)&remote, 1, 0);
}

long ada_sys_futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	struct timespec timeout = { timeout_ns / 1000000000, timeout_ns % 1000000000 };

	return ada_sys4(SYS_futex, (long)word, FUTEX_WAIT, value, (long)&timeout);
}

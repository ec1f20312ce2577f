// Programs that a tracer of returns breaks. Everything here is compiled with NOP pads and hooked; each case must
// give its result, lose nothing, close each call once, and leave the thread's frames as they were.
//   UNTRACED=1 hooks nothing (the test of the test)
//   correct STACK: with the detail lane, which captures so many bytes of the stack. Each event is compared with its record
#include <boost/context/fiber.hpp>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <execinfo.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>
#include "agent/core/layout.h"
#include "fake.h"

#define NOINLINE __attribute__((noinline))
#define UNHOOKED __attribute__((noinline, patchable_function_entry(0, 0)))

#define POOL_CHUNKS 1000
#define TAIL_CALLS 3000000

static int failures, number;
struct Guard { int &count; NOINLINE ~Guard() { count++; } };

UNHOOKED static fake_counts counts()
{
	fake_drain();
	return fake_count();
}

// \left: frames of this thread that stay, of suspended coroutines, and of fibers, whose first function never returns
UNHOOKED static void check(const char *name, long got, long expected, unsigned left, const fake_counts &before, unsigned frames)
{
	fake_counts after = counts();
	unsigned frames_after = fake_frames();
	bool balanced = after.calls - before.calls == after.returns - before.returns + after.exceptions - before.exceptions + left;
	bool good = got == expected && (getenv("UNTRACED") || (frames_after == frames + left && balanced && !after.lost && !after.errors));

	failures += !good;
	printf("%s %d - %s\n", good ? "ok" : "not ok", ++number, name);
	printf("# got %ld of %ld; calls +%lu returns +%lu exceptions +%lu frames %u -> %u lost %lu errors %lu\n", got, expected,
		after.calls - before.calls, after.returns - before.returns, after.exceptions - before.exceptions, frames,
		frames_after, after.lost, after.errors);
	fflush(stdout);
}
#define CASE(name, expression, expected) CASE_LEFT(name, expression, expected, 0)
#define CASE_LEFT(name, expression, expected, left) do { fake_counts before_ = counts(); unsigned frames_ = fake_frames(); \
	long got_ = (expression); check(name, got_, expected, left, before_, frames_); } while (0)

// exceptions
NOINLINE static int throw_at(int depth, int &count) { Guard guard{count}; if (!depth) throw std::runtime_error("x"); return throw_at(depth - 1, count) + 1; }
NOINLINE static int catch_from(int depth) { int count = 0; try { throw_at(depth, count); } catch (const std::exception &) { return count; } return -1; }
NOINLINE static int rethrow_at(int depth) { int count = 0; if (!depth) throw 7; try { return rethrow_at(depth - 1); } catch (int) { Guard guard{count}; throw; } }
NOINLINE static int rethrow_from(int depth) { try { rethrow_at(depth); } catch (int value) { return value; } return -1; }
struct Thrower { ~Thrower() noexcept(false) { try { int count = 0; throw_at(3, count); } catch (...) { } } };
NOINLINE static int throw_while_unwinding() { try { Thrower thrower; throw 5; } catch (int value) { return value; } return -1; }
NOINLINE static int throw_deep(int depth) { if (!depth) throw 9; int r = throw_deep(depth - 1); BARRIER; return r + 1; }
NOINLINE static int catch_deep(int depth) { try { return throw_deep(depth); } catch (int value) { return value; } }
NOINLINE static int throw_often(int times) { int n = 0; for (int i = 0; i < times; i++) n += catch_from(i & 15) == (i & 15) + 1; return n; }
static void *throw_in_thread(void *times) { return (void *)(long)throw_often((long)times); }
NOINLINE static int throw_in_threads()
{
	pthread_t thread[2];
	long sum = 0;
	for (auto &t : thread) pthread_create(&t, nullptr, throw_in_thread, (void *)2000);
	for (auto &t : thread) { void *n; pthread_join(t, &n); sum += (long)n; }
	return sum;
}

// tail calls
NOINLINE static int tail_last(int n) { if (n == 13) throw 13; BARRIER; return n * 2; }
NOINLINE static int tail_middle(int n) { BARRIER; return tail_last(n + 1); }
NOINLINE static int tail_first(int n) { BARRIER; return tail_middle(n + 1); }
NOINLINE static int tail_throw() { try { return tail_first(11) + 1; } catch (int value) { return value; } }
NOINLINE static int tail_odd(int n);
NOINLINE static int tail_even(int n) { BARRIER; return n ? tail_odd(n - 1) : 1; }
NOINLINE static int tail_odd(int n) { BARRIER; return n ? tail_even(n - 1) : 0; }
NOINLINE static int tail_plain() { int r = 0; for (int i = 0; i < 100; i++) r += tail_first(20) == 44; return r; }

// jumps and stacks
static jmp_buf jump_target;
static sigjmp_buf signal_target;
NOINLINE static void jump_from(int depth) { if (!depth) longjmp(jump_target, 1); jump_from(depth - 1); BARRIER; }
NOINLINE static int jump_often(int times) { volatile int n = 0; for (volatile int i = 0; i < times; i = i + 1) { if (!setjmp(jump_target)) jump_from(20); else n = n + 1; } return n; }
NOINLINE static void jump_signal(int) { siglongjmp(signal_target, 1); }
NOINLINE static int jump_from_handler(int times)
{
	volatile int n = 0;
	signal(SIGUSR1, jump_signal);
	for (volatile int i = 0; i < times; i = i + 1) { if (!sigsetjmp(signal_target, 1)) raise(SIGUSR1); else n = n + 1; }
	return n;
}
static ucontext_t main_context, coroutine_context[2];
NOINLINE static int yield(int which, int value) { swapcontext(&coroutine_context[which], &main_context); BARRIER; return value + 1; }
NOINLINE static int yield_deep(int which, int depth) { int r = depth ? yield_deep(which, depth - 1) : yield(which, 0); BARRIER; return r + 1; }
static void coroutine(int which) { for (int i = 0; i < 100; i++) yield_deep(which, 5); for (;;) yield(which, 0); }
NOINLINE static int resume(int which) { swapcontext(&main_context, &coroutine_context[which]); BARRIER; return 1; }
NOINLINE static int interleave(int count, bool adjacent)
{
	static char stacks[2][1 << 16];
	int n = 0;
	for (int i = 0; i < count; i++) {
		void *stack = adjacent ? stacks[i] : mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		getcontext(&coroutine_context[i]);
		coroutine_context[i].uc_stack.ss_sp = stack;
		coroutine_context[i].uc_stack.ss_size = 1 << 16;
		makecontext(&coroutine_context[i], (void (*)())coroutine, 1, i);
	}
	for (int i = 0; i < 100; i++)
		for (int which = 0; which < count; which++)
			n += resume(which);
	return n;
}
namespace context = boost::context;
NOINLINE static int fiber_yield(context::fiber &other) { other = std::move(other).resume(); BARRIER; return 1; }
NOINLINE static int fibers(bool exceptions)
{
	int n = 0;
	context::fiber fiber{[&](context::fiber &&other) {
		for (int i = 0; i < 50; i++) {
			if (exceptions) { try { int count = 0; throw_at(i, count); } catch (std::exception &) { n += fiber_yield(other); } }
			n += fiber_yield(other);
		}
		return std::move(other);
	}};
	while (fiber) { if (exceptions) catch_from(3); fiber = std::move(fiber).resume(); }
	return n;
}
NOINLINE static int fiber_dropped()	// the fiber's destructor unwinds its stack with a forced exception
{
	int n = 0;
	{ context::fiber fiber{[&](context::fiber &&other) { Guard guard{n}; for (;;) fiber_yield(other); return std::move(other); }}; fiber = std::move(fiber).resume(); }
	return n;
}

// threads and processes
static int unwound;
NOINLINE static void wait_at(int depth) { Guard guard{unwound}; if (depth) wait_at(depth - 1); else for (;;) pause(); BARRIER; }
static void *wait_thread(void *) { wait_at(10); return nullptr; }
NOINLINE static int cancelled() { pthread_t t; unwound = 0; pthread_create(&t, nullptr, wait_thread, nullptr); usleep(30000); pthread_cancel(t); pthread_join(t, nullptr); return unwound; }
NOINLINE static void exit_at(int depth) { Guard guard{unwound}; if (!depth) pthread_exit(nullptr); exit_at(depth - 1); BARRIER; }
static void *exit_thread(void *) { exit_at(10); return nullptr; }
NOINLINE static int exited() { pthread_t t; unwound = 0; pthread_create(&t, nullptr, exit_thread, nullptr); pthread_join(t, nullptr); return unwound; }
NOINLINE static void exec_at(int depth) { if (!depth) { execl("/bin/true", "true", (char *)nullptr); _exit(1); } exec_at(depth - 1); BARRIER; }
NOINLINE static int vfork_often(int times)
{
	int n = 0, status;
	for (int i = 0; i < times; i++) { pid_t pid = vfork(); if (!pid) { exec_at(5); } waitpid(pid, &status, 0); n += status == 0; }
	return n;
}
extern char **environ;
NOINLINE static int spawned() { pid_t pid; int status; char name[] = "true", *arguments[] = {name, nullptr}; posix_spawn(&pid, "/bin/true", nullptr, nullptr, arguments, environ); waitpid(pid, &status, 0); return status; }

// signals
static volatile long signals;
NOINLINE static long leaf(long x) { BARRIER; return x * 3; }
NOINLINE static void on_alarm(int) { signals = signals + 1; for (int i = 0; i < 3; i++) leaf(i); int c = 0; try { throw_at(2, c); } catch (...) { } }
NOINLINE static long work(long calls) { long sum = 0; for (long i = 0; i < calls; i++) sum += leaf(i); return sum == 3 * (calls * (calls - 1) / 2); }
NOINLINE static long interrupted(bool alternate, bool above)
{
	static char low[1 << 16];
	void *high = mmap((void *)0x7ffffff00000, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {};
	struct sigaction action = {};
	struct itimerval timer = {{0, 300}, {0, 300}}, off = {};
	stack.ss_sp = above ? high : low;
	stack.ss_size = 1 << 16;
	if (alternate) sigaltstack(&stack, nullptr);
	action.sa_handler = on_alarm;
	action.sa_flags = SA_RESTART | (alternate ? SA_ONSTACK : 0);
	sigaction(SIGALRM, &action, nullptr);
	signals = 0;
	setitimer(ITIMER_REAL, &timer, nullptr);
	long good = work(5000000);
	setitimer(ITIMER_REAL, &off, nullptr);
	return good && signals > 3;
}
static void *interrupted_thread(void *above) { return (void *)interrupted(true, above); }
NOINLINE static long interrupted_in_thread(bool above)
{
	pthread_t t;
	void *good;
	sigset_t set;
	pthread_create(&t, nullptr, interrupted_thread, (void *)(long)above);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, nullptr);
	pthread_join(t, &good);
	pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
	return (long)good;
}

// unwinder and registers
static _Unwind_Reason_Code count_frame(struct _Unwind_Context *, void *count) { ++*(int *)count; return _URC_NO_REASON; }
NOINLINE static int walk_at(int depth) { int n = 0; if (depth) { n = walk_at(depth - 1); BARRIER; return n; } _Unwind_Backtrace(count_frame, &n); return n >= 31; }
NOINLINE static long plain_leaf(long x) { return x + 1; }
UNHOOKED static int registers_kept()
{
	static uint64_t in[16][2], out[16][2], saved[7];
	uint64_t flags_in = 0xcd5 & ~0x400, flags_out;
	int good = 1;
	for (int i = 0; i < 32; i++) in[i / 2][i % 2] = 0x0123456789abcdefull * (i + 3);
	__asm__ volatile(
		".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n movups \\n*16(%[in]),%%xmm\\n\n .endr\n"
		"mov $0x1001,%%ecx; mov $0x1002,%%edx; mov $0x1003,%%esi; mov $0x1004,%%r8d; mov $0x1005,%%r9d; mov $0x1006,%%r10d; mov $0x1007,%%r11d\n"
		"mov $41,%%edi; push %[flags]; popf; call *%[leaf]; pushf; pop %%rdi\n"
		"mov %%rcx,(%[saved]); mov %%rdx,8(%[saved]); mov %%rsi,16(%[saved]); mov %%r8,24(%[saved]); mov %%r9,32(%[saved]); mov %%r10,40(%[saved]); mov %%r11,48(%[saved])\n"
		".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n movups %%xmm\\n,\\n*16(%[out])\n .endr\n"
		: "=&D"(flags_out) : [in] "r"(in), [out] "r"(out), [saved] "r"(saved), [flags] "r"(flags_in), [leaf] "r"(plain_leaf)
		: "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc",
		  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	static const int numbers[] = { ADA_REGISTER_RCX, ADA_REGISTER_RDX, ADA_REGISTER_RSI, ADA_REGISTER_R8,
				       ADA_REGISTER_R9,	 ADA_REGISTER_R10, ADA_REGISTER_R11 };
	int free = fake_free_at_entry | fake_free_at_exit;
	for (int i = 0; i < 7; i++)
		good &= saved[i] == 0x1001u + i || (free >> numbers[i] & 1);
	good &= !memcmp(in, out, sizeof in);
	good &= (flags_out & 0x8d5) == (flags_in & 0x8d5) || (free >> ADA_REGISTER_FLAGS & 1);
	return good;
}

// what is recorded of an exception, in order: kind and depth, relative to the first
static char trail[256];
static unsigned trail_depth;
UNHOOKED static void trail_see(uint32_t, const ada_event *event)
{
	static const char kinds[] = "?cre!";
	size_t length = strlen(trail);
	if (!length) trail_depth = event->call_depth;
	snprintf(trail + length, sizeof trail - length, "%c%u ", kinds[event->event_kind], event->call_depth - trail_depth);
}
UNHOOKED static int exception_trail()
{
	fake_drain();
	trail[0] = 0;
	fake_see = trail_see;
	catch_deep(3);
	fake_drain();
	fake_see = nullptr;
	return !strcmp(trail, "c0 c1 c2 c3 c4 e4 e3 e2 e1 r0 ");
}

UNHOOKED static void cases()
{
	CASE("events of an exception", exception_trail(), !getenv("UNTRACED"));
	CASE("throw 50 deep", catch_from(50), 51);
	CASE("rethrow 50 deep", rethrow_from(50), 7);
	CASE("throw while unwinding", throw_while_unwinding(), 5);
	CASE("throw 20,000 deep", catch_deep(20000), 9);
	CASE("throw in two threads", throw_in_threads(), 4000);
	CASE("tail calls", tail_plain(), 100);
	CASE("throw through tail calls", tail_throw(), 13);
	CASE("tail call loop, 3 million", tail_even(TAIL_CALLS), 1);
	CASE("longjmp", jump_often(1000), 1000);
	CASE("siglongjmp out of a handler", jump_from_handler(1000), 1000);
	CASE_LEFT("swapcontext", interleave(1, false), 100, 8);
	CASE_LEFT("swapcontext, two coroutines", interleave(2, false), 200, 16);
	CASE_LEFT("swapcontext, adjacent stacks", interleave(2, true), 200, 16);
	CASE_LEFT("fibers", fibers(false), 50, 1);
	CASE_LEFT("fibers with exceptions", fibers(true), 100, 1);
	CASE_LEFT("fiber dropped half-way", fiber_dropped(), 1, 1);
	CASE("pthread_cancel", cancelled(), 11);
	CASE("pthread_exit", exited(), 11);
	CASE("vfork and exec", vfork_often(20), 20);
	CASE("posix_spawn", spawned(), 0);
	CASE("signals", interrupted(false, false), 1);
	CASE("signals, sigaltstack below", interrupted(true, false), 1);
	CASE("signals, sigaltstack above", interrupted(true, true), 1);
	CASE("thread, sigaltstack below", interrupted_in_thread(false), 1);
	CASE("thread, sigaltstack above", interrupted_in_thread(true), 1);
	CASE("unwinder sees all frames", walk_at(30), 1);
	CASE("registers and flags kept", registers_kept(), 1);
}

// A recorder that doesn't come to the pool before it is full: on a busy machine it may be held up anywhere above.
UNHOOKED static void *come_late(void *shm)
{
	while (!__atomic_load_n(&((const ada_shm *)shm)->waits, __ATOMIC_ACQUIRE))
		usleep(100);
	fake_drain_start();
	return nullptr;
}
UNHOOKED static uint64_t bare(const fake_counts &all) { return all.events - all.detailed - all.waits; }
UNHOOKED static long held_up(ada_shm *shm)
{
	fake_counts before = counts(), after;
	pthread_t late;
	long good;
	sigset_t all, old;

	fake_drain_stop();
	__atomic_store_n(&shm->waits, 0, __ATOMIC_RELEASE);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_create(&late, nullptr, come_late, shm);
	pthread_sigmask(SIG_SETMASK, &old, nullptr);
	good = work(POOL_CHUNKS * (long)ADA_CHUNK_EVENTS);	// twice as many events as there is room for
	pthread_join(late, nullptr);
	after = counts();
	return good && after.waits > before.waits && (!before.detailed || bare(after) == bare(before));
}

// Who has none: exceptions, waits for the recorder, and the frames of the endless tail call, which are closed before their time
UNHOOKED static void detail_case(const ada_shm *shm, bool detail)
{
	fake_counts all = counts();
	uint64_t dropped = 0;
	for (uint32_t i = 0; i < shm->thread_count; i++)
		dropped += ((ada_shm_thread *)((char *)shm + shm->threads_offset))[i].detail_dropped;
	uint64_t early = bare(all) - dropped - all.exceptions;	// of the loop's calls all but those that share its last slot
	bool good = detail ? !dropped && early > TAIL_CALLS - ADA_TAIL_CALLS_MAX && early <= TAIL_CALLS && all.detailed > 50000000 : !all.detailed;
	failures += !good;
	printf("%s %d - detail of every event\n# %lu events, %lu with detail, %lu dropped, %lu exceptions, %lu waits, %lu early\n", good ? "ok" : "not ok", ++number,
		all.events, all.detailed, dropped, all.exceptions, all.waits, early);
}

extern "C" void *__start___patchable_function_entries[], *__stop___patchable_function_entries[];
UNHOOKED int main(int count, char **arguments)
{
	int hooked = 0;

	if (count > 1) {
		fake_detail = { 1024, (uint32_t)atoi(arguments[1]), ADA_DETAIL_STREAMING, false };
		fake_detail_checked = true;
	}
	ada_shm *shm = fake_begin(POOL_CHUNKS, ADA_INDEX_STREAMING, ADA_ON_FULL_BLOCK);	// so detail waits with it, too
	fake_drain_start();
	if (!getenv("UNTRACED"))
		hooked = fake_hook(__start___patchable_function_entries, __stop___patchable_function_entries);
	printf("# hooked %d functions\n", hooked);
	cases();
	if (hooked)
		CASE("a recorder that comes late", held_up(shm), 1);
	detail_case(shm, count > 1 && !getenv("UNTRACED"));
	printf("1..%d\n", number);
	return failures != 0;
}

/* Seccomp: what the program's own filters leave us.
 *
 * A filter may end the program for a system call that only a slow path of ours makes. So we try out each filter before it is installed
 * (restraint.c), on the calls that we might make, by the rules of the kernel's own interpreter. A filter that we don't understand counts
 * as forbidding.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include "abi/page.h"
#include "agent/life/life.h"

#define FORBIDDEN SECCOMP_RET_KILL_THREAD

#define PROGRAM_MAX 4096 /* instructions, as the kernel has it */

/* The system calls that recording needs, also for crash records and ends of threads. Pointers mean nothing to a filter: 0 will do. */
static const struct seccomp_data needs[] = {
	{ .nr = SYS_rt_sigprocmask, .args = { SIG_BLOCK, 0, 0, 8 } },
	{ .nr = SYS_rt_sigprocmask, .args = { SIG_SETMASK, 0, 0, 8 } },
	{ .nr = SYS_rt_sigprocmask, .args = { -1ul, 0, 0, 8 } },
	{ .nr = SYS_rt_sigreturn },
	{ .nr = SYS_mmap, .args = { 0, ADA_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1ul } },
	{ .nr = SYS_madvise, .args = { 0, ADA_PAGE_BYTES, MADV_POPULATE_WRITE } },
	{ .nr = SYS_munmap, .args = { 0, ADA_PAGE_BYTES } },
	{ .nr = SYS_mprotect, .args = { 0, ADA_PAGE_BYTES, PROT_READ | PROT_WRITE } },
	{ .nr = SYS_mprotect, .args = { 0, ADA_PAGE_BYTES, PROT_READ | PROT_EXEC } },
	{ .nr = SYS_prctl, .args = { PR_GET_NAME } },
	{ .nr = SYS_prlimit64, .args = { 0, RLIMIT_STACK } },
	{ .nr = SYS_gettid },
	{ .nr = SYS_getpid },
	{ .nr = SYS_sched_yield },
	{ .nr = SYS_sigaltstack },
	{ .nr = SYS_kill },
	{ .nr = SYS_futex, .args = { 0, FUTEX_WAIT } },
	{ .nr = SYS_futex, .args = { 0, FUTEX_WAKE } },
	{ .nr = SYS_process_vm_readv, .args = { 0, 0, 1, 0, 1 } },
	{ .nr = SYS_rt_sigaction, .args = { SIGSEGV, 0, 0, 8 } },
	{ .nr = SYS_rt_tgsigqueueinfo },
	{ .nr = SYS_tgkill }
};

static bool load(const struct seccomp_data *data, uint32_t offset, uint32_t *value)
{
	if (offset % 4 || offset + 4 > sizeof *data)
		return false;
	*value = *(const uint32_t *)((const char *)data + offset);
	return true;
}

static bool compute(uint16_t code, uint32_t *a, uint32_t operand)
{
	switch (BPF_OP(code)) {
	case BPF_ADD: *a += operand; return true;
	case BPF_SUB: *a -= operand; return true;
	case BPF_MUL: *a *= operand; return true;
	case BPF_OR: *a |= operand; return true;
	case BPF_AND: *a &= operand; return true;
	case BPF_XOR: *a ^= operand; return true;
	case BPF_LSH: *a = operand < 32 ? *a << operand : 0; return operand < 32;
	case BPF_RSH: *a = operand < 32 ? *a >> operand : 0; return operand < 32;
	case BPF_NEG: *a = -*a; return true;
	}
	return false;
}

static bool holds(uint16_t code, uint32_t a, uint32_t operand)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ: return a == operand;
	case BPF_JGT: return a > operand;
	case BPF_JGE: return a >= operand;
	default: return a & operand;
	}
}

/* What the filter answers. Jumps lead forward only, so the loop ends. */
static uint32_t filter_run(const struct sock_filter *program, uint32_t length, const struct seccomp_data *data)
{
	uint32_t a = 0, x = 0, memory[BPF_MEMWORDS] = { 0 };

	for (uint64_t at = 0; at < length; at++) {
		const struct sock_filter *step = &program[at];
		uint32_t operand = BPF_SRC(step->code) == BPF_X ? x : step->k;

		switch (BPF_CLASS(step->code)) {
		case BPF_LD:
			if (step->code == (BPF_LD | BPF_IMM))
				a = step->k;
			else if (step->code == (BPF_LD | BPF_MEM) && step->k < BPF_MEMWORDS)
				a = memory[step->k];
			else if (step->code == (BPF_LD | BPF_W | BPF_LEN))
				a = sizeof *data;
			else if (step->code != (BPF_LD | BPF_W | BPF_ABS) || !load(data, step->k, &a))
				return FORBIDDEN;
			break;
		case BPF_LDX:
			if (step->code == (BPF_LDX | BPF_IMM))
				x = step->k;
			else if (step->code == (BPF_LDX | BPF_MEM) && step->k < BPF_MEMWORDS)
				x = memory[step->k];
			else
				return FORBIDDEN;
			break;
		case BPF_ST:
		case BPF_STX:
			if (step->k >= BPF_MEMWORDS)
				return FORBIDDEN;
			memory[step->k] = BPF_CLASS(step->code) == BPF_ST ? a : x;
			break;
		case BPF_ALU:
			if (!compute(step->code, &a, operand))
				return FORBIDDEN;
			break;
		case BPF_JMP: at += BPF_OP(step->code) == BPF_JA ? step->k : holds(step->code, a, operand) ? step->jt : step->jf; break;
		case BPF_RET: return BPF_RVAL(step->code) == BPF_A ? a : step->k;
		case BPF_MISC: *(BPF_MISCOP(step->code) == BPF_TAX ? &x : &a) = BPF_MISCOP(step->code) == BPF_TAX ? a : x; break;
		}
	}
	return FORBIDDEN;
}

static bool allows(const struct sock_filter *program, uint32_t length)
{
	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
		struct seccomp_data data = needs[i];
		uint32_t action;

		data.arch = AUDIT_ARCH_X86_64;
		action = filter_run(program, length, &data) & SECCOMP_RET_ACTION_FULL;
		if (action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG)
			return false;
	}
	return true;
}

/* The program may give us any pointer, and must get the kernel's answer to it. */
enum ada_filter_verdict ada_filter_try(uint64_t address)
{
	const size_t bytes = PROGRAM_MAX * sizeof(struct sock_filter);
	struct sock_filter *copy = ada_sys_map(bytes);
	struct sock_fprog program = { 0 };
	enum ada_filter_verdict verdict = copy ? ADA_FILTER_REFUSED : ADA_FILTER_FORBIDS;

	if (copy && ada_sys_peek(&program, address, sizeof program) == sizeof program && program.len && program.len <= PROGRAM_MAX) {
		long length = program.len * sizeof *copy;

		if (ada_sys_peek(copy, (uint64_t)program.filter, length) == length)
			verdict = allows(copy, program.len) ? ADA_FILTER_ALLOWS : ADA_FILTER_FORBIDS;
	}
	if (copy)
		ada_sys_unmap(copy, bytes);
	return verdict;
}

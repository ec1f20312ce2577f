/* Where the thread's own stack lies.
 *
 * The stack of a thread that libc made is told by its thread control block, which libc puts at the stack's upper end: in it stand where the
 * memory begins, its size, and the guard's below the stack, one behind the other. At which offset differs by libc, so we search for three
 * words that fit, and ask the kernel whether the guard is where they say.
 *
 * All else we look up in /proc/self/maps: while the file is open, a descriptor that another thread of the program opens gets another number
 * than it would untraced. So the first thread looks when it begins, and others only where their control block doesn't tell (a stack of the
 * program's own, without a guard), and a decision needs it. The first thread's stack is the mapping that the kernel names [stack], down to
 * its limit (the kernel keeps that room free). Any other thread's is the mapping that holds its control block. For a thread that runs
 * elsewhere just then we look again, but not often.
 */
#include <sys/resource.h>
#include "abi/page.h"
#include "agent/core/state.h"

#define TRIES_MAX 8
#define CONTROL_ALIGNED 64
#define CONTROL_BYTES 2304 /* how far into libc's control block we look; it may be shorter, so each further page is asked for first */
#define LINE_BYTES 128	   /* enough for the part of a line that we want; longer paths are cut */

struct mapping {
	uint64_t start, end;
	bool named, stack;
};

static const char *parse_hex(const char *text, uint64_t *number)
{
	for (*number = 0;; text++) {
		uint32_t digit = *text - '0';

		if (digit > 9) {
			digit = *text - 'a';
			if (digit > 5)
				return text;
			digit += 10;
		}
		*number = *number << 4 | digit;
	}
}

/* start-end perms offset device inode path */
static void line_parse(const char *line, struct mapping *mapping)
{
	const char *at = parse_hex(line, &mapping->start);

	at = parse_hex(*at == '-' ? at + 1 : at, &mapping->end);
	for (int fields = 0; fields < 4; fields++) {
		while (*at == ' ')
			at++;
		while (*at && *at != ' ')
			at++;
	}
	while (*at == ' ')
		at++;
	mapping->named = *at != 0;
	mapping->stack = ada_string_equal(at, "[stack]");
}

static uint64_t stack_limit(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	ada_sys4(SYS_prlimit64, 0, RLIMIT_STACK, 0, (long)&limit);
	return limit.rlim_cur;
}

/* Looks at one mapping after the other; true when the thread's stack is known. */
static bool mapping_consider(struct ada_thread *thread, const struct mapping *mapping, uint64_t *before_end, bool first)
{
	uint64_t control_block = (uint64_t)__builtin_thread_pointer(), limit;

	if (first && mapping->stack) {
		limit = stack_limit();
		thread->stack_high = mapping->end;
		thread->stack_low = *before_end;
		if (mapping->end - *before_end > limit)
			thread->stack_low = mapping->end - limit;
		return true;
	}
	if (!first && !mapping->named && control_block - mapping->start < mapping->end - mapping->start) {
		thread->stack_low = mapping->start;
		thread->stack_high = control_block;
		return true;
	}
	*before_end = mapping->end;
	return false;
}

static void stack_find(struct ada_thread *thread)
{
	char buffer[512], line[LINE_BYTES];
	uint64_t offset = 0, before_end = 0;
	uint32_t used = 0;
	bool first = thread->tid == ada_sys_pid(), found = false;
	long fd = ada_sys_open("/proc/self/maps"), bytes;

	if (ada_sys_failed(fd))
		return;
	while (!found && (bytes = ada_sys_read(fd, buffer, sizeof buffer, offset)) > 0) {
		offset += bytes;
		for (long i = 0; i < bytes && !found; i++) {
			struct mapping mapping;

			if (buffer[i] != '\n') {
				if (used < LINE_BYTES - 1)
					line[used++] = buffer[i];
				continue;
			}
			line[used] = 0;
			used = 0;
			line_parse(line, &mapping);
			found = mapping_consider(thread, &mapping, &before_end, first);
		}
	}
	ada_sys_close(fd);
}

/* Whether a stack that ends at the control block lies in `memory`: where it begins, its size, the guard's. */
static bool is_stack(const uint64_t memory[3], uint64_t control_block)
{
	uint64_t used = control_block - memory[0];

	if ((memory[0] | memory[1] | memory[2]) % ADA_PAGE_BYTES || memory[0] >= control_block || used >= memory[1])
		return false;
	return memory[2] && memory[2] < used && ada_stack_readable(memory[0] + memory[2]) &&
	       !ada_stack_readable(memory[0] + memory[2] - sizeof(uint64_t));
}

static bool control_block_tells(struct ada_thread *thread)
{
	uint64_t control_block = (uint64_t)__builtin_thread_pointer();

	/* A thread that libc didn't make may have anything there. */
	if (control_block % CONTROL_ALIGNED || !ada_stack_readable(control_block))
		return false;
	for (uint64_t at = control_block; at < control_block + CONTROL_BYTES; at += sizeof(uint64_t)) {
		uint64_t last = at + 2 * sizeof(uint64_t);

		if (last % ADA_PAGE_BYTES < sizeof(uint64_t) && !ada_stack_readable(last))
			return false;
		if (is_stack((const uint64_t *)at, control_block)) {
			thread->stack_low = ((const uint64_t *)at)[0] + ((const uint64_t *)at)[2];
			thread->stack_high = control_block;
			return true;
		}
	}
	return false;
}

void ada_stack_begin(struct ada_thread *thread)
{
	if (!control_block_tells(thread) && thread->tid == ada_sys_pid() && stack_limit() != RLIM_INFINITY)
		stack_find(thread);
}

bool ada_stack_own(struct ada_thread *thread, uint64_t slot)
{
	if (!thread->stack_high && thread->stack_tries < TRIES_MAX) {
		thread->stack_tries++;
		stack_find(thread);
	}
	return slot >= thread->stack_low && slot < thread->stack_high;
}

/* Asks the kernel by a call that every sandbox allows, and that does nothing: it reads the mask before it looks at `how`. */
bool ada_stack_readable(uint64_t address)
{
	return ada_sys4(SYS_rt_sigprocmask, -1, address, 0, sizeof(uint64_t)) != -EFAULT;
}

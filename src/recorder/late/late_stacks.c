#include "recorder/late/late_stacks.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include "abi/aside.h"
#include "abi/page.h"
#include "base/clock.h"

#define STACK_LOOKED_AT (512u << 10) /* from the stack pointer up */
#define PIECE_PAGES 16u
#define PIECE_WORDS (PIECE_PAGES * ADA_PAGE_BYTES / 8)
#define RED_ZONE_BYTES 128u
#define STACKS_MAX 16u

/* A signal's frame keeps the segment registers of what it interrupted in one word, behind stack pointer, program counter and flags
 * (REG_RSP, REG_RIP, REG_EFL, REG_CSGSFS). In 64-bit programs that word is the same in all frames. */
#define SEGMENTS 0x002b000000000033ull
#define STACK_POINTER_BEFORE 3u

struct walk {
	const struct ada_stacks_look *look;
	uint64_t starts[STACKS_MAX]; /* of stacks: that far down each is in use */
	unsigned count;
	bool overflow;
	uint64_t before[STACK_POINTER_BEFORE]; /* the words below the next one, the nearest last */
	uint64_t piece[PIECE_WORDS];
};

/* Another stack, where it isn't one that is known. */
static void walk_add(struct walk *walk, uint64_t stack_pointer)
{
	uint64_t start = (stack_pointer - RED_ZONE_BYTES) & ~7ull;

	for (unsigned i = 0; i < walk->count; i++)
		if (start - walk->starts[i] < STACK_LOOKED_AT)
			return;
	if (walk->count == STACKS_MAX)
		walk->overflow = true;
	else
		walk->starts[walk->count++] = start;
}

static void walk_word(struct walk *walk, uint64_t word)
{
	const struct ada_late_range *span = &walk->look->span;

	if (word - span->start < span->end - span->start)
		walk->look->met(walk->look->context, word);
	if (word == SEGMENTS)
		walk_add(walk, walk->before[0]);
	else if (walk->before[STACK_POINTER_BEFORE - 1] == ADA_ASIDE_MARK)
		walk_add(walk, word);
	for (unsigned i = 0; i + 1 < STACK_POINTER_BEFORE; i++)
		walk->before[i] = walk->before[i + 1];
	walk->before[STACK_POINTER_BEFORE - 1] = word;
}

/* Up to PIECE_WORDS words from `at` on, no further than what is mapped. */
static size_t read_piece(struct walk *walk, pid_t pid, uint64_t at)
{
	struct iovec mine = { walk->piece, 0 }, its[PIECE_PAGES];
	ssize_t got;

	for (unsigned i = 0; i < PIECE_PAGES; i++) { /* an iovec is read wholly or not at all */
		size_t bytes = ADA_PAGE_BYTES - (at + mine.iov_len) % ADA_PAGE_BYTES;

		its[i] = (struct iovec){ (void *)(at + mine.iov_len), bytes };
		mine.iov_len += bytes;
	}
	got = process_vm_readv(pid, &mine, 1, its, PIECE_PAGES, 0);
	return got > 0 ? (size_t)got / 8 : 0;
}

/* From its start to its end. False: there is no time left. */
static bool walk_stack(struct walk *walk, pid_t pid, uint64_t start)
{
	uint64_t at = start, deadline_ns = walk->look->deadline_ns;
	size_t count = 1;

	for (unsigned i = 0; i < STACK_POINTER_BEFORE; i++)
		walk->before[i] = 0;
	while (count && at < start + STACK_LOOKED_AT) {
		if (deadline_ns && ada_clock_boottime_ns() > deadline_ns)
			return false;
		count = read_piece(walk, pid, at);
		for (size_t i = 0; i < count; i++)
			walk_word(walk, walk->piece[i]);
		at += count * 8;
	}
	return true;
}

int ada_stacks_look(const struct ada_hold *hold, const struct ada_held *thread, const struct ada_stacks_look *look)
{
	struct walk *walk;
	int status = 0;

	if (!thread->stopped)
		return 0;
	walk = malloc(sizeof *walk);
	if (!walk)
		return -ENOMEM;
	walk->look = look;
	walk->count = 0;
	walk->overflow = false;
	walk_add(walk, thread->registers.rsp);
	for (unsigned i = 0; i < walk->count && !status; i++)
		if (!walk_stack(walk, hold->pid, walk->starts[i]) || walk->overflow)
			status = -EAGAIN;
	free(walk);
	return status;
}

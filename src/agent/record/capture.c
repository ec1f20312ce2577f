/* What arguments of a call point at (--capture), and errno of a return that failed, as a record behind the event's in the detail chunk (abi/detail.h).
 *
 * A pointer may be anything, and another thread may unmap what it leads to at any moment. So the bytes are copied by the kernel
 * (process_vm_readv, 1.3 us), which answers where there is no memory. Only what is surely there is read as it is: the thread's own stack above
 * the call, and the main program's constants. Where no system call may be made (seccomp) nothing else is captured.
 *
 *   1 copy, into memory of this thread (the judge's: handlers that come in between have another)
 *   2 one critical section of rseq: from there behind the last record, if chunk and commit word are still those that were looked at; the
 *     counter last; then one store of the commit word, which moves only the place of the next record
 *
 * A handler that comes in between has its events first, and 2 is tried anew behind them: so nothing is ever written over what is
 * committed. Where the call's chunk is no longer the thread's, or full, the capture is lost, and counted.
 */
#include <linux/rseq.h>
#include <sys/uio.h>
#include "abi/page.h"
#include "agent/ground/mem.h"
#include "agent/record/lane.h"

#define TRIES 64
#define RSEQ_CS offsetof(struct rseq, rseq_cs)

struct captured { /* as it is written */
	uint64_t counter, meta;
	uint8_t entries[ATF_DETAIL_CAPTURED_MAX];
};
static_assert(sizeof(struct captured) == ADA_DETAIL_CAPTURED_ROOM && sizeof(struct captured) <= ADA_JUDGE_ROOM, "captured");

/* --- copies ---------------------------------------------------------------------------------------------------------------- */

/* In two parts, since the kernel may refuse a part whole where a page of it isn't there. */
static uint32_t memory_copy(uint8_t *to, uint64_t from, uint32_t bytes)
{
	uint32_t first = ADA_PAGE_BYTES - from % ADA_PAGE_BYTES < bytes ? ADA_PAGE_BYTES - from % ADA_PAGE_BYTES : bytes;
	long got = ada_sys_peek(to, from, first);

	if (got != first)
		return got > 0 ? (uint32_t)got : 0;
	if (first < bytes) {
		got = ada_sys_peek(to + first, from + first, bytes - first);
		first += got > 0 ? (uint32_t)got : 0;
	}
	return first;
}

static uint32_t string_length(const uint8_t *bytes, uint32_t count)
{
	uint32_t length = 0;

	while (length < count && bytes[length])
		length++;
	return length;
}

/* Of the program's constants nobody takes the pages away, unless the program does so itself: one cheap question a page. */
static bool is_readable(uint64_t from, uint32_t bytes)
{
	uint64_t last = (from + bytes - 1) & ~7ull;

	return ada_stack_readable(from & ~7ull) && (from / ADA_PAGE_BYTES == last / ADA_PAGE_BYTES || ada_stack_readable(last));
}

/* Copies what is surely there. */
static uint32_t sure_copy(const struct ada_thread *thread, uint64_t slot, uint8_t *to, uint64_t from, uint32_t bytes, bool ask)
{
	bool stack = slot >= thread->stack_low && from > slot && from < thread->stack_high;
	uint64_t sure = stack ? thread->stack_high - from : ada_sys_constants ? ada_sys_constants(from) : 0;

	bytes = sure < bytes ? (uint32_t)sure : bytes;
	if (!bytes || (!stack && ask && !is_readable(from, bytes)))
		return 0;
	memcpy(to, (const void *)from, bytes);
	return bytes;
}

static uint32_t bytes_copy(const struct ada_thread *thread, uint64_t slot, uint8_t *to, uint64_t from, uint32_t bytes, bool string)
{
	bool may_ask = ada_quiet_enter();
	uint32_t got = sure_copy(thread, slot, to, from, bytes, may_ask);

	if (!may_ask)
		return got;
	if (got < bytes && !(string && string_length(to, got) < got))
		got = memory_copy(to, from, bytes);
	ada_quiet_leave();
	return got;
}

/* --- what is captured -------------------------------------------------------------------------------------------------------- */

static uint64_t argument_of(const struct ada_registers *registers, uint32_t number)
{
	switch (number) {
	case 1: return registers->rdi;
	case 2: return registers->rsi;
	case 3: return registers->rdx;
	case 4: return registers->rcx;
	case 5: return registers->r8;
	default: return registers->r9;
	}
}

/* Where what is to be captured begins; 0: the word that says so can't be read. */
static uint64_t address_of(const struct ada_thread *thread, const struct ada_judged *call, const struct ada_capture *what)
{
	uint64_t address = argument_of(call->registers, what->argument), word = 0;

	if (what->kind != ADA_CAPTURE_WORD_STRING)
		return address;
	return bytes_copy(thread, call->slot, (uint8_t *)&word, address + what->bytes, sizeof word, false) == sizeof word ? word : 0;
}

static uint64_t bytes_of(const struct ada_judged *call, const struct ada_capture *what)
{
	if (what->kind == ADA_CAPTURE_BUFFER)
		return argument_of(call->registers, what->bytes);
	return what->kind == ADA_CAPTURE_WORD_STRING ? ATF_DETAIL_CAPTURE_BYTES : what->bytes;
}

static bool has_failed(uint64_t result, uint32_t how)
{
	switch (how) {
	case ADA_ERRNO_NULL: return !result;
	case ADA_ERRNO_MINUS_ONE: return result == UINT64_MAX;
	default: return (int32_t)result < 0;
	}
}

/* Of a call the arguments, of a return that failed errno. */
static bool is_wanted(const struct ada_judged *event, const struct ada_capture *what)
{
	if (what->kind != ADA_CAPTURE_ERRNO || event->kind != ADA_EVENT_RETURN)
		return what->argument && what->kind != ADA_CAPTURE_ERRNO && event->kind == ADA_EVENT_CALL;
	return ada_setup.errno_offset && has_failed(event->registers->rax, what->bytes);
}

static uint32_t errno_make(uint8_t *at)
{
	const uint8_t *from = (const uint8_t *)__builtin_thread_pointer() + ada_setup.errno_offset;
	AtfDetailCaptured entry = { .address = (uint64_t)from, .argument = ATF_CAPTURED_ERRNO, .length = sizeof(int) };

	memcpy(at, &entry, sizeof entry);
	memset(at + sizeof entry, 0, ATF_CAPTURED_ROOM(sizeof(int)));
	memcpy(at + sizeof entry, from, sizeof(int));
	return (uint32_t)sizeof entry + ATF_CAPTURED_ROOM(sizeof(int));
}

/* Returns the entry's bytes. */
static uint32_t entry_make(const struct ada_thread *thread, const struct ada_judged *call, const struct ada_capture *what, uint8_t *at)
{
	AtfDetailCaptured entry = { .address = address_of(thread, call, what), .argument = what->argument };
	uint64_t wanted = bytes_of(call, what);
	uint32_t bytes = wanted < ATF_DETAIL_CAPTURE_BYTES ? (uint32_t)wanted : ATF_DETAIL_CAPTURE_BYTES;
	bool string = what->kind == ADA_CAPTURE_STRING || what->kind == ADA_CAPTURE_WORD_STRING;
	uint32_t got = bytes_copy(thread, call->slot, at + sizeof entry, entry.address, bytes, string);

	entry.length = (uint16_t)got;
	entry.flags = got < bytes ? ATF_CAPTURED_BAD : got < wanted ? ATF_CAPTURED_CUT : 0;
	if (string) {
		entry.length = (uint16_t)string_length(at + sizeof entry, got);
		if (entry.length < got)
			entry.flags = ATF_CAPTURED_STRING;
		else
			entry.flags = ATF_CAPTURED_STRING | (got < bytes ? ATF_CAPTURED_BAD : ATF_CAPTURED_CUT);
	}
	memcpy(at, &entry, sizeof entry);
	memset(at + sizeof entry + entry.length, 0, ATF_CAPTURED_ROOM(entry.length) - entry.length);
	return (uint32_t)sizeof entry + ATF_CAPTURED_ROOM(entry.length);
}

static const struct ada_capture_set *set_of(const struct ada_judged *call)
{
	static const struct ada_capture_set none;
	const uint8_t *table = ada_policy_flags() - ADA_POLICY_FLAGS;
	uint32_t number = table[ADA_POLICY_CAPTURE_NUMBERS + call->number];

	return number && number < ADA_CAPTURE_SETS ? (const struct ada_capture_set *)(table + ADA_POLICY_CAPTURES) + number : &none;
}

static bool wants_any(const struct ada_judged *call, const struct ada_capture_set *set)
{
	bool any = false;

	for (uint32_t i = 0; i < sizeof set->items / sizeof *set->items; i++)
		any |= is_wanted(call, &set->items[i]);
	return any;
}

static void captured_make(const struct ada_thread *thread, const struct ada_judged *call, const struct ada_capture_set *set,
			  struct captured *captured)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < sizeof set->items / sizeof *set->items; i++) {
		if (!is_wanted(call, &set->items[i]))
			continue;
		bytes += call->kind == ADA_EVENT_RETURN ? errno_make(captured->entries + bytes) :
							  entry_make(thread, call, &set->items[i], captured->entries + bytes);
	}
	if (bytes % ADA_DETAIL_UNIT)
		memset(captured->entries + bytes, 0, ADA_DETAIL_UNIT - bytes % ADA_DETAIL_UNIT);
	captured->counter = call->counter;
	captured->meta = ADA_DETAIL_META(ADA_DETAIL_CAPTURED, ADA_DETAIL_NONE_BYTES + ADA_DETAIL_ROOM(bytes)) | bytes;
}

/* --- where it goes ------------------------------------------------------------------------------------------------------------ */

struct place {
	uint64_t chunk, state;
	uint64_t to;	/* address */
	uint64_t next;	/* what the commit word is to be */
	uint64_t words; /* of 8 bytes, without the counter */
};

/* False: the call's record lies in another chunk, or too far before; or there is no room. */
static bool place_find(const struct ada_thread *thread, const struct ada_judged *call, const struct captured *captured, struct place *place)
{
	uint64_t bytes = (captured->meta >> ADA_DETAIL_SIZE_SHIFT) * ADA_DETAIL_UNIT, cursor, seq, detail;
	uint32_t begin, at;

	place->chunk = __atomic_load_n(&thread->index, __ATOMIC_RELAXED);
	if (!place->chunk || place->chunk == (uint64_t)&thread->parked)
		return false;
	place->state = __atomic_load_n((const uint64_t *)place->chunk, __ATOMIC_RELAXED);
	detail = __atomic_load_n(&thread->detail, __ATOMIC_RELAXED); /* last: where it is another chunk's, the state has changed, too */
	begin = ada_chunk_begin(ada_core->index.count, thread->chunk);
	at = ada_state_event(place->state);
	seq = ((const struct ada_chunk *)place->chunk)->first_seq + at / ADA_EVENT_BYTES - ADA_EVENT_FIRST; /* of the next event */
	cursor = (place->state >> ADA_COMMIT_DETAIL) * ADA_DETAIL_UNIT;
	if (!detail || seq - call->seq > (at - begin) / ADA_EVENT_BYTES || seq - call->seq > ADA_DETAIL_CAPTURED_FAR ||
	    cursor + bytes + ADA_DETAIL_NONE_BYTES > ada_core->detail.chunk_bytes)
		return false;
	place->to = detail + cursor;
	place->next = place->state + (bytes / ADA_DETAIL_UNIT << ADA_COMMIT_DETAIL);
	place->words = bytes / 8 - 1;
	return true;
}

/* False: something else came first. */
static bool place_commit(const struct ada_thread *thread, const struct place *place, const struct captured *captured)
{
	uint64_t cs = (uint64_t)ada_setup.rseq_offset + RSEQ_CS;

	__asm__ goto(".pushsection .data.rel.local,\"aw\"\n"
		     "\t.balign 32\n"
		     "7:\t.long 0,0\n"
		     "\t.quad 1f, 2f-1f, 3f\n"
		     "\t.popsection\n"
		     "\tlea 7b(%%rip),%%rax\n"
		     "\tmov %%rax,%%fs:(%[cs])\n"
		     "1:\tmov (%[place]),%%rax\n"
		     "\tcmp %c[index](%[thread]),%%rax\n"
		     "\tjne %l[other]\n"
		     "\tmov 8(%[place]),%%rdx\n"
		     "\tcmp (%%rax),%%rdx\n"
		     "\tjne %l[other]\n"
		     "\tmov 16(%[place]),%%rdi\n"
		     "\tmov %%rdi,%%rdx\n"
		     "\tadd $8,%%rdi\n"
		     "\tlea 8(%[from]),%%rsi\n"
		     "\tmov 32(%[place]),%%rcx\n"
		     "\trep movsq\n"
		     "\tmov (%[from]),%%rcx\n"
		     "\tmov %%rcx,(%%rdx)\n"
		     "\tmov 24(%[place]),%%rcx\n"
		     "\tmov %%rcx,(%%rax)\n"
		     "2:\tjmp 4f\n"
		     "\t.long 0x53053053\n"
		     "3:\tjmp %l[other]\n"
		     "4:\n"
		     :
		     : [cs] "r"(cs), [thread] "r"(thread), [place] "r"(place), [from] "r"(captured),
		       [index] "i"(offsetof(struct ada_thread, index))
		     : "rax", "rcx", "rdx", "rsi", "rdi", "cc", "memory"
		     : other);
	return true;
other:
	return false;
}

static void place_fill(struct ada_thread *thread, const struct place *place, const struct captured *captured)
{
	memcpy((void *)(place->to + 8), &captured->meta, place->words * 8);
	__atomic_store_n((uint64_t *)place->to, captured->counter, __ATOMIC_RELEASE);
	ada_state_set(thread, place->next);
}

static bool captured_write(struct ada_thread *thread, const struct ada_judged *call, const struct captured *captured, bool alone)
{
	struct place place;

	for (uint32_t tries = 0; tries < TRIES && place_find(thread, call, captured, &place); tries++) {
		if (!alone && !place_commit(thread, &place, captured))
			continue;
		if (alone)
			place_fill(thread, &place, captured);
		return true;
	}
	return false;
}

void ada_capture(struct ada_thread *thread, const struct ada_judged *call, bool alone)
{
	const struct ada_capture_set *set;
	struct captured *captured;
	bool written = false;

	if (!thread->index || !thread->detail || !call->registers)
		return;
	set = set_of(call);
	if (!wants_any(call, set))
		return;
	__atomic_exchange_n(&thread->entry->writing, 1, __ATOMIC_SEQ_CST); /* the recorder waits with windows that end here */
	captured = ada_judge_room();
	if (captured) {
		captured_make(thread, call, set, captured);
		written = captured_write(thread, call, captured, alone);
		ada_judge_room_return(captured);
	}
	__atomic_store_n(&thread->entry->writing, 0, __ATOMIC_RELEASE);
	if (!written)
		__atomic_fetch_add(&ada_core->shm->detail.captures_lost, 1, __ATOMIC_RELAXED);
}

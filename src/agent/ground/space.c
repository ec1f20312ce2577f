/* Which parts of the address space are the agent's: space.h.
 *
 * We note each mapping of ours, so that mlockall leaves it out (lock.c). An address finds its place in the table without locks; a mapping
 * without a free place nearby is only counted.
 *
 * A limit of address space that the program sets itself also counts what the agent has mapped by then. So the kernel gets the program's
 * figure plus what is ours, and the program gets its own figure back. What the agent maps later raises the soft limit by as much; the
 * hard limit, which can't be raised again, has a reserve for that. Where the kernel's hard limit is in the way, our mappings count as the
 * program's.
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include "agent/ground/space.h"
#include "abi/page.h"
#include "agent/ground/sys.h"

#define PLACE_BITS 17
#define CLUSTER_BITS 8 /* the places of 1 MiB of addresses are in one page of the table: each page costs a start its first touch */
#define PROBES 64u
#define TAKEN 1ull		    /* a place that is about to be filled */
#define RESERVE_BYTES (64ull << 20) /* of a hard limit, for what comes later */

extern const char __ehdr_start[] __attribute__((visibility("hidden"))), _end[] __attribute__((visibility("hidden")));

static struct ada_range *table;
static uint64_t mapped, mapped_most; /* bytes; the most that it has ever been */
static uint32_t noted;		     /* places in use, about */
static struct rlimit own;	     /* what the program has asked for */
static bool limited;

static uint64_t whole(uint64_t bytes)
{
	return (bytes + ADA_PAGE_BYTES - 1) & ~(ADA_PAGE_BYTES - 1);
}

static uint64_t plus(uint64_t limit, uint64_t bytes)
{
	return limit > RLIM_INFINITY - bytes ? RLIM_INFINITY : limit + bytes;
}

static uint64_t less(uint64_t one, uint64_t two)
{
	return one < two ? one : two;
}

/* --- the program's limit -------------------------------------------------------------------------------------------------- */

static bool limit_ask(struct rlimit *limit)
{
	return !ada_quiet() && !ada_quiet_filtered() && !ada_sys_failed(ada_sys4(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)limit));
}

static void limit_set(const struct rlimit *limit)
{
	ada_sys4(SYS_prlimit64, 0, RLIMIT_AS, (long)limit, 0);
}

/* Whether `now` is the limit that we told the kernel in place of the program's. If not, someone has set another since, from outside. */
static bool is_ours(const struct rlimit *now)
{
	uint64_t most = __atomic_load_n(&mapped_most, __ATOMIC_RELAXED) + RESERVE_BYTES;

	return limited && now->rlim_cur >= own.rlim_cur && now->rlim_cur <= plus(own.rlim_cur, most) && now->rlim_max >= own.rlim_max &&
	       now->rlim_max <= plus(own.rlim_max, most);
}

/* Makes the soft limit follow what is mapped. A thread that maps meanwhile comes here, too. */
static void limit_follow(void)
{
	struct rlimit now;
	uint64_t bytes;

	if (!limited)
		return;
	do {
		bytes = __atomic_load_n(&mapped, __ATOMIC_SEQ_CST);
		if (!limit_ask(&now) || !is_ours(&now))
			return;
		now.rlim_cur = less(plus(own.rlim_cur, bytes), now.rlim_max);
		limit_set(&now);
	} while (bytes != __atomic_load_n(&mapped, __ATOMIC_SEQ_CST));
}

bool ada_space_limit_dress(const struct rlimit *asked, struct rlimit *kernel)
{
	uint64_t bytes = __atomic_load_n(&mapped, __ATOMIC_RELAXED), hard = plus(asked->rlim_max, bytes + RESERVE_BYTES), was;
	struct rlimit now;

	if (asked->rlim_cur > asked->rlim_max || !limit_ask(&now))
		return false;
	was = is_ours(&now) ? own.rlim_max : now.rlim_max;
	if (asked->rlim_max == was)
		hard = now.rlim_max;
	else if (asked->rlim_max < was)
		hard = less(hard, now.rlim_max);
	else if (hard <= now.rlim_max) /* more than it has: let the kernel judge that */
		hard = plus(now.rlim_max, ADA_PAGE_BYTES);
	*kernel = (struct rlimit){ less(plus(asked->rlim_cur, bytes), hard), hard };
	return true;
}

void ada_space_limit_is(const struct rlimit *asked)
{
	own = *asked;
	limited = own.rlim_cur != RLIM_INFINITY || own.rlim_max != RLIM_INFINITY;
	limit_follow();
}

void ada_space_limit_undress(struct rlimit *limit)
{
	if (is_ours(limit))
		*limit = own;
}

bool ada_space_is_limited(void)
{
	return limited && !ada_quiet() && !ada_quiet_filtered();
}

bool ada_space_limit_lend(void)
{
	struct rlimit now;

	if (!limited || !limit_ask(&now) || !is_ours(&now))
		return false;
	limit_set(&own);
	return true;
}

void ada_space_limit_take_back(void)
{
	limit_follow();
}

/* The first number of a file that begins with one; 0 where it can't be read. */
static uint64_t number_read(const char *path)
{
	char text[32];
	long bytes = ada_sys_read_file(path, text, sizeof text);
	uint64_t number = 0;

	for (long i = 0; i < bytes && text[i] >= '0' && text[i] <= '9'; i++)
		number = number * 10 + (text[i] - '0');
	return number;
}

uint64_t ada_space_left(void)
{
	struct rlimit limit;
	uint64_t used;

	if (!limit_ask(&limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	used = number_read("/proc/self/statm") * ADA_PAGE_BYTES;
	return used < limit.rlim_cur ? limit.rlim_cur - used : 0;
}

/* --- what is mapped -------------------------------------------------------------------------------------------------------- */

static struct ada_range *place_at(uint64_t start, uint32_t probe)
{
	uint64_t page = start / ADA_PAGE_BYTES, cluster = (page >> CLUSTER_BITS) * 0x9e3779b97f4a7c15u >> (64 - PLACE_BITS + CLUSTER_BITS);

	return &table[((cluster << CLUSTER_BITS) + page % (1u << CLUSTER_BITS) + probe) % (1u << PLACE_BITS)];
}

static void place_fill(uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		struct ada_range *place = place_at(start, i);
		uint64_t none = 0;

		if (!__atomic_compare_exchange_n(&place->start, &none, TAKEN, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		place->end = end;
		__atomic_store_n(&place->start, start, __ATOMIC_RELEASE);
		__atomic_add_fetch(&noted, 1, __ATOMIC_RELAXED);
		return;
	}
}

static void place_clear(uint64_t start)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		struct ada_range *place = place_at(start, i);
		uint64_t found = start;

		if (!__atomic_compare_exchange_n(&place->start, &found, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		__atomic_sub_fetch(&noted, 1, __ATOMIC_RELAXED);
		return;
	}
}

void ada_space_expect(uint64_t bytes)
{
	uint64_t now = __atomic_add_fetch(&mapped, whole(bytes), __ATOMIC_SEQ_CST);

	if (now > mapped_most) /* a little too low where two threads come at once: RESERVE_BYTES covers that */
		mapped_most = now;
	limit_follow();
}

/* There is one thread when the first mapping is noted. */
static void table_make(void)
{
	const uint64_t bytes = sizeof *table << PLACE_BITS;
	long memory = ada_sys6(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (ada_sys_failed(memory))
		return;
	table = (struct ada_range *)memory;
	ada_space_expect(bytes);
	place_fill(memory, memory + bytes);
}

void ada_space_note(uint64_t start, uint64_t bytes)
{
	if (!start) {
		ada_space_forget(0, bytes);
		return;
	}
	if (!table)
		table_make();
	if (table)
		place_fill(start, start + whole(bytes));
}

void ada_space_note_agent(void)
{
	uint64_t start = (uint64_t)__ehdr_start & ~(ADA_PAGE_BYTES - 1), bytes = (uint64_t)_end - start;

	ada_space_expect(bytes);
	ada_space_note(start, bytes);
}

void ada_space_forget(uint64_t start, uint64_t bytes)
{
	__atomic_sub_fetch(&mapped, whole(bytes), __ATOMIC_SEQ_CST);
	if (start && table)
		place_clear(start);
	limit_follow();
}

/* Restores the order of a heap from `at` down; its root is the range with the highest address. */
static void sift(struct ada_range *ranges, size_t at, size_t count)
{
	struct ada_range range = ranges[at];

	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && ranges[child + 1].start > ranges[child].start)
			child++;
		if (ranges[child].start <= range.start)
			break;
		ranges[at] = ranges[child];
	}
	ranges[at] = range;
}

static void sort(struct ada_range *ranges, size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		sift(ranges, i, count);
	for (size_t last = count; last-- > 1;) {
		struct ada_range largest = ranges[0];

		ranges[0] = ranges[last];
		ranges[last] = largest;
		sift(ranges, 0, last);
	}
}

size_t ada_space_ranges(struct ada_range *ranges, size_t most)
{
	size_t count = 0;

	if (!ranges)
		return __atomic_load_n(&noted, __ATOMIC_RELAXED);
	for (uint32_t i = 0; table && i < 1u << PLACE_BITS && count < most; i++) {
		uint64_t start = __atomic_load_n(&table[i].start, __ATOMIC_ACQUIRE);

		if (start > TAKEN)
			ranges[count++] = (struct ada_range){ start, table[i].end };
	}
	sort(ranges, count);
	return count;
}

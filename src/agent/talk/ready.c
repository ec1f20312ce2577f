/* A fork's child takes a segment that lies ready (abi/ready.h). What keeps it from that makes it ask, as if nothing lay ready. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include "agent/ground/mem.h"
#include "agent/ground/sys.h"
#include "agent/talk/talk.h"

#define PATH_BYTES 48
#define SECOND_NS 1000000000ull

/* Behind this the recorder's change of a policy, or our taking of a segment, was seen by the other. */
static void fence(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static const struct ada_policy_table *table_in_force(const struct ada_shm *shm)
{
	uint64_t flags = __atomic_load_n(&shm->policy_flags, __ATOMIC_ACQUIRE);

	return (const struct ada_policy_table *)((const char *)&shm->policy_flags + flags - ADA_POLICY_FLAGS);
}

static struct ada_policy_table *table_first(struct ada_shm *shm)
{
	return (struct ada_policy_table *)((char *)shm + shm->policy_offset);
}

/* Rules that name functions come with tables that the recorder alone lays out. */
static bool rules_name_functions(const struct ada_policy_table *table)
{
	for (uint32_t slot = 0; slot < ADA_RULES_MAX; slot++)
		if (table->rules[slot].kind && !(table->rules[slot].flags & ADA_RULE_GLOBAL))
			return true;
	return false;
}

static void states_begin(struct ada_shm *to, const struct ada_shm *from)
{
	const struct ada_policy_table *table = table_first(to);

	for (uint32_t slot = 0; slot < ADA_RULES_MAX; slot++) {
		struct ada_rule_state *state = ada_policy_state((char *)to + to->policy_offset, slot);

		if (!table->rules[slot].kind)
			continue;
		state->incarnation = table->rules[slot].incarnation;
		state->since_counter = ada_policy_state((char *)from + from->policy_offset, slot)->since_counter;
	}
}

/* The parent's table in force, whole: the recorder may be filling it anew. False: it names functions, or has too many, or changed. */
static bool policy_copy(struct ada_shm *to, const struct ada_shm *from)
{
	const struct ada_policy_table *table = table_in_force(from);
	struct ada_policy_table *own = table_first(to);
	uint64_t generation = __atomic_load_n(&table->generation, __ATOMIC_ACQUIRE);
	uint32_t functions = table->functions;

	if (generation & 1 || functions >= to->ready.functions)
		return false;
	memcpy(&own->version, &table->version, sizeof *own - offsetof(struct ada_policy_table, version));
	memcpy((char *)own + ADA_POLICY_FLAGS, (const char *)table + ADA_POLICY_FLAGS, functions + 1);
	own->functions = functions;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&table->generation, __ATOMIC_RELAXED) != generation || table_in_force(from) != table ||
	    rules_name_functions(own))
		return false;
	states_begin(to, from);
	return true;
}

static char *text_add(char *to, const char *text)
{
	while (*text)
		*to++ = *text++;
	*to = 0;
	return to;
}

static bool is_segment(long status, const struct stat *file, const struct ada_ready *ready)
{
	return !ada_sys_failed(status) && S_ISREG(file->st_mode) && file->st_dev == ready->device && file->st_ino == ready->inode;
}

/* Looks before it opens: a descriptor's number that is used again may be anything, and in another namespace the process another. -1: it is
 * not the segment. */
static long segment_open(uint32_t recorder, const struct ada_ready *ready)
{
	char path[PATH_BYTES];
	struct stat file = { 0 };
	uint32_t state = ADA_READY_NONE;
	long fd;

	text_add(ada_heir_number(text_add(ada_heir_number(text_add(path, "/proc/"), recorder), "/fd/"), ready->fd), "");
	if (!is_segment(ada_sys4(SYS_stat, (long)path, (long)&file, 0, 0), &file, ready))
		return -1;
	fd = ada_sys4(SYS_open, (long)path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0, 0);
	if (ada_sys_failed(fd))
		return -1;
	/* A brother may have it: mapping it all to see that would take longer. */
	if (is_segment(ada_sys4(SYS_fstat, fd, (long)&file, 0, 0), &file, ready) &&
	    ada_sys_read(fd, &state, sizeof state, offsetof(struct ada_shm, ready.state)) == sizeof state && state == ADA_READY_LIES)
		return fd;
	ada_sys_close(fd);
	return -1;
}

static bool state_change(struct ada_shm *shm, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&shm->ready.state, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* Takes that one, where it is still there. */
static struct ada_shm *segment_take(const struct ada_shm *parent, const struct ada_ready *place, uint32_t recorder)
{
	struct ada_ready ready = { .fd = place->fd, .device = place->device, .inode = place->inode };
	struct ada_shm *shm = NULL;
	long fd;

	ready.number = __atomic_load_n(&place->number, __ATOMIC_ACQUIRE);
	if (!ready.number || ada_sys_failed(fd = segment_open(recorder, &ready)))
		return NULL;
	if (ada_segment_map(fd, parent->total_bytes, &shm))
		shm = NULL;
	ada_sys_close(fd);
	if (shm && (shm->ready.number != ready.number || !state_change(shm, ADA_READY_LIES, ADA_READY_TAKEN))) {
		ada_sys_unmap(shm, parent->total_bytes);
		shm = NULL;
	}
	return shm;
}

/* A limit of addresses is the recorder's to look at. */
static bool space_is_unlimited(void)
{
	struct rlimit limit = { 0 };

	return !ada_sys_failed(ada_sys4(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&limit)) && limit.rlim_cur == RLIM_INFINITY;
}

static uint64_t boottime_ns(void)
{
	struct timespec now = { 0 };

	ada_sys4(SYS_clock_gettime, CLOCK_BOOTTIME, (long)&now, 0, 0);
	return now.tv_sec * SECOND_NS + now.tv_nsec;
}

static void sign(struct ada_shm *shm, const struct ada_shm *parent, uint64_t now_ns)
{
	shm->pid = ada_process.pid;
	shm->provider = ADA_READY_BIT | shm->ready.number;
	shm->recorder_pid = parent->recorder_pid;
	shm->ready.parent_pid = parent->pid;
	shm->ready.parent = parent->provider;
	shm->ready.taken_ns = now_ns;
}

struct ada_shm *ada_ready_take(const struct ada_shm *parent, uint64_t *bytes)
{
	const struct ada_presence *page = ada_presence_page();
	uint64_t now_ns = boottime_ns();
	struct ada_shm *shm = NULL;

	if (!page || !__atomic_load_n(&parent->ready.children, __ATOMIC_ACQUIRE) || rules_name_functions(table_in_force(parent)) ||
	    __atomic_load_n(&parent->stop, __ATOMIC_RELAXED) || ada_presence_gone() || !space_is_unlimited())
		return NULL;
	/* Brothers that begin at once begin at different places. */
	for (uint32_t i = 0; i < ADA_READY_PLACES && !shm; i++)
		shm = segment_take(parent, &page->ready[(ada_process.pid + i) % ADA_READY_PLACES], page->recorder_pid);
	if (!shm)
		return NULL;
	ada_segment_own(shm);
	sign(shm, parent, now_ns);
	/* A policy that came before the recorder could see that this segment is taken is copied here; for later ones the recorder waits. */
	fence();
	if (!policy_copy(shm, parent)) {
		ada_ready_leave(shm, parent->total_bytes);
		return NULL;
	}
	*bytes = parent->total_bytes;
	return shm;
}

void ada_ready_leave(struct ada_shm *shm, uint64_t bytes)
{
	__atomic_store_n(&shm->ready.state, ADA_READY_LEFT, __ATOMIC_RELEASE);
	ada_sys_unmap(shm, bytes);
}

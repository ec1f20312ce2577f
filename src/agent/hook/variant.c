/* Which hook a function gets: the one that saves least of what its plan doesn't call free.
 *
 * The table is all that knows of the variants: a row's hook may be used where its scratch set is a subset of the function's free set.
 * The rows are in order, the cheapest first, and the last fits every function. lean.S says what each touches.
 *
 * The hooks of lean.S need the distances of `ada_lean` and of the thread's rseq area from the thread pointer in their instructions. The
 * first distance is the same in all threads, since the agent's thread-local data is there when the program starts. So is the second where
 * libc registered the area; where the program may register the area itself, later, there are no lean hooks.
 */
#include <linux/rseq.h>
#include <sys/mman.h>
#include "abi/page.h"
#include "abi/plan.h"
#include "agent/hook/parts.h"

#define BIT(name) (1u << ADA_REGISTER_##name)
#define REGISTERS_LEAN (BIT(RAX) | BIT(RCX) | BIT(RDX) | BIT(R10) | BIT(R11) | BIT(FLAGS))

/* --- lean.S: entries for processes without detail; with; and for functions that read vector arguments. Exits without and with. */
#define ENTRY_HOOKS(name)                                                                                                                  \
	extern const uint8_t ada_entry_##name##_0[], ada_entry_##name##_1[], ada_entry_##name##_2[], ada_below_##name##_0[],               \
		ada_below_##name##_1[], ada_below_##name##_2[], ada_known_##name##_0[], ada_known_##name##_1[], ada_known_##name##_2[]
#define EXIT_HOOKS(name) extern uint8_t ada_exit_##name##_0[], ada_exit_##name##_1[]
ENTRY_HOOKS(lean);
ENTRY_HOOKS(lean_arguments);
ENTRY_HOOKS(lean_values);
ENTRY_HOOKS(lean_rax);
ENTRY_HOOKS(lean_flags);
EXIT_HOOKS(lean);
EXIT_HOOKS(lean_flags);
extern const uint8_t ada_lean_begin[], ada_lean_end[];
extern const int32_t ada_bound_lean[] ADA_HIDDEN, ada_bound_lean_end[] ADA_HIDDEN, ada_bound_rseq[] ADA_HIDDEN,
	ada_bound_rseq_end[] ADA_HIDDEN;
#define UNBOUND 0x70000000 /* as in lean.S */

struct entry {
	uint32_t scratch;
	const uint8_t *hooks[ADA_WAYS][3];
};
struct exit { /* of a class of stubs: counted from the end */
	uint32_t scratch;
	uint8_t *hook, *detail; /* where the class's stubs jump to, and from there in a process with detail */
};

#define HOOKS(name)                                                                                                                        \
	{                                                                                                                                  \
		{ ada_entry_##name##_0, ada_entry_##name##_1, ada_entry_##name##_2 },                                                      \
			{ ada_below_##name##_0, ada_below_##name##_1, ada_below_##name##_2 },                                              \
			{ ada_known_##name##_0, ada_known_##name##_1, ada_known_##name##_2 },                                              \
	}
#define SAME(hook)                                                                                                                         \
	{                                                                                                                                  \
		(const uint8_t *)hook, (const uint8_t *)hook, (const uint8_t *)hook                                                        \
	}
static const struct entry entries[] = {
	{ REGISTERS_LEAN, HOOKS(lean) },
	{ BIT(RAX) | BIT(R10) | BIT(R11) | BIT(FLAGS), HOOKS(lean_arguments) },
	{ BIT(R10) | BIT(R11) | BIT(FLAGS), HOOKS(lean_values) },
	{ BIT(RAX) | BIT(FLAGS), HOOKS(lean_rax) },
	{ BIT(FLAGS), HOOKS(lean_flags) },
	{ 0, { SAME(ada_entry), SAME(ada_entry_below), SAME(ada_entry_near) } },
};
static const struct exit exits[] = {
	{ BIT(RSI) | BIT(R8) | BIT(R10) | BIT(R11) | BIT(FLAGS), ada_exit_lean_0, ada_exit_lean_1 },
	{ BIT(FLAGS), ada_exit_lean_flags_0, ada_exit_lean_flags_1 },
	{ 0, ada_exit, NULL },
};
#define ENTRIES (sizeof entries / sizeof *entries)
#define EXITS (sizeof exits / sizeof *exits)
static_assert(ADA_REGISTER_COUNT == 10, "bits of struct ada_hook");

static void words_bind(const int32_t *word, const int32_t *end, int32_t distance)
{
	for (; word < end; word++) {
		int32_t bound;

		memcpy(&bound, (const char *)word + *word, sizeof bound);
		bound += distance - UNBOUND;
		memcpy((char *)word + *word, &bound, sizeof bound);
	}
}

static void jump(uint8_t *from, const uint8_t *to)
{
	int32_t distance = to - (from + 5);

	*from = 0xe9;
	memcpy(from + 1, &distance, sizeof distance);
}

static bool bind(void)
{
	int64_t lean = (int64_t)&ada_lean - (int64_t)__builtin_thread_pointer(),
		rseq = ada_setup.rseq_offset + offsetof(struct rseq, rseq_cs);
	uint64_t start = (uint64_t)ada_lean_begin & -ADA_PAGE_BYTES, end = ((uint64_t)ada_lean_end + ADA_PAGE_BYTES - 1) & -ADA_PAGE_BYTES;

	if (!ada_rseq_is_fixed() || lean != (int32_t)lean || rseq != (int32_t)rseq ||
	    ada_sys_failed(ada_sys_protect((void *)start, end - start, PROT_READ | PROT_WRITE | PROT_EXEC)))
		return false;
	ada_sys_advise((void *)start, end - start, MADV_POPULATE_WRITE); /* nearly all of these pages change, a fault each */
	words_bind(ada_bound_lean, ada_bound_lean_end, (int32_t)lean);
	words_bind(ada_bound_rseq, ada_bound_rseq_end, (int32_t)rseq);
	for (size_t i = 0; i < EXITS - 1 && ada_lean_has_detail(); i++)
		jump(exits[i].hook, exits[i].detail);
	ada_sys_protect((void *)start, end - start, PROT_READ | PROT_EXEC);
	return true;
}

/* Whether there are lean hooks. The first hook that is made asks first: nobody runs a lean hook yet. */
static bool lean(void)
{
	static enum { UNKNOWN, NO, YES } state;

	if (state == UNKNOWN)
		state = bind() ? YES : NO;
	return state == YES && !ada_setup.poison;
}

static uint32_t kind_of(bool reads_vectors)
{
	return !ada_lean_has_detail() ? 0 : reads_vectors ? 2 : 1;
}

static const struct entry *entry_of(uint32_t free)
{
	const struct entry *entry = &entries[lean() ? 0 : ENTRIES - 1];

	while (entry->scratch & ~free)
		entry++;
	return entry;
}

uint64_t ada_variant_entry(enum ada_way way, uint32_t free, bool reads_vectors)
{
	return (uint64_t)entry_of(free)->hooks[way][kind_of(reads_vectors)];
}

uint32_t ada_variant_stub_class(uint32_t free)
{
	size_t i = lean() ? 0 : EXITS - 1;

	while (exits[i].scratch & ~free)
		i++;
	return (uint32_t)(EXITS - 1 - i);
}

bool ada_variant_is_entry(enum ada_way way, uint64_t hook)
{
	for (size_t i = 0; i < ENTRIES; i++)
		for (uint32_t kind = 0; kind < 3; kind++)
			if (hook == (uint64_t)entries[i].hooks[way][kind])
				return true;
	return false;
}

/* Writes a short jump in one store: a thread that is behind the first instruction goes on in unchanged code. */
static bool pass(uint8_t *hook, const uint8_t *instead)
{
	uint8_t *page = (uint8_t *)((uint64_t)hook & -ADA_PAGE_BYTES);
	int64_t distance = instead - (hook + 2);

	if (distance != (int8_t)distance || ada_sys_failed(ada_sys_protect(page, ADA_PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC)))
		return false;
	__atomic_store_n((uint16_t *)hook, 0xeb | (uint16_t)((uint8_t)distance << 8), __ATOMIC_RELEASE);
	ada_sys_protect(page, ADA_PAGE_BYTES, PROT_READ | PROT_EXEC);
	return true;
}

bool ada_variant_pass_exits(void)
{
	bool all = pass(ada_exit, ada_pass_exit);

	for (size_t i = 0; i < EXITS - 1; i++)
		all = pass(exits[i].hook, exits[i].hook - ADA_EXIT_PASS) && all;
	return all;
}

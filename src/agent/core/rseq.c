/* Restartable sequences: which area the kernel knows on a thread. The hooks of hook.S need one, at the same offset on all threads.
 *
 * libc registers one on each thread, unless told not to (GLIBC_TUNABLES=glibc.pthread.rseq=0): then the kernel's only slot belongs to the
 * program, and we never take it. A program that registers its own area through libc's syscall() lends us that one. The first such area,
 * if it lies in thread-local data that every thread has, says at which offset. A thread without an area, or with one elsewhere or with
 * another signature, records each event by the slow path (aside.c).
 */
#include <link.h>
#include "agent/core/state.h"

#define RSEQ_SIGNATURE 0x53053053
#define RSEQ_BYTES 32
#define AS_LIBC 0ull /* as the thread began */
#define NONE 1ull

extern const ptrdiff_t __rseq_offset __attribute__((weak, visibility("default")));
extern int *__errno_location(void) __attribute__((weak, visibility("default")));

#define ERRNO_FAR (1 << 20) /* from the thread pointer: else libc was loaded later, and each thread's lies elsewhere */
extern const unsigned int __rseq_size __attribute__((weak, visibility("default")));

static __thread uint64_t area;						       /* its address, AS_LIBC or NONE */
static __thread char nowhere[RSEQ_BYTES] __attribute__((aligned(RSEQ_BYTES))); /* what hooks write to where there is no area */
static bool libc_has, adopted;
static size_t modules_max; /* of modules whose data lies at the same offset on all threads */

static uint64_t thread_pointer(void)
{
	return (uint64_t)__builtin_thread_pointer();
}

static int module_count(struct dl_phdr_info *info, size_t bytes, void *unused)
{
	if (info->dlpi_tls_modid > modules_max)
		modules_max = info->dlpi_tls_modid;
	return 0;
}

struct search {
	uint64_t address;
	bool found;
};

static int module_visit(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct search *search = argument;
	uint64_t data = (uint64_t)info->dlpi_tls_data;

	if (!data || info->dlpi_tls_modid > modules_max)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS && search->address - data < info->dlpi_phdr[i].p_memsz)
			search->found = true;
	return search->found;
}

void ada_rseq_choose(void)
{
	libc_has = &__rseq_size && &__rseq_offset && __rseq_size;
	ada_setup.rseq_offset = libc_has ? __rseq_offset : (int64_t)((uint64_t)nowhere - thread_pointer());
	if (!libc_has && ada_above.visit_modules)
		ada_above.visit_modules(module_count, NULL);
}

/* As rseq's area: libc's variables of threads lie at the same place behind each thread pointer. */
void ada_errno_choose(void)
{
	int64_t offset = &__errno_location ? (int64_t)((uint64_t)__errno_location() - thread_pointer()) : 0;

	if (offset < 0 && offset > -ERRNO_FAR)
		ada_setup.errno_offset = offset;
}

bool ada_rseq_is_fixed(void)
{
	return libc_has;
}

bool ada_rseq_usable(void)
{
	if (area == AS_LIBC)
		return libc_has;
	return area != NONE && area == thread_pointer() + ada_setup.rseq_offset;
}

/* Other threads write through the offset, too, though the kernel doesn't know of an area there. Nobody has used the offset before. */
static void adopt(uint64_t address)
{
	struct search search = { .address = address };

	if (libc_has || !ada_above.visit_modules)
		return;
	ada_above.visit_modules(module_visit, &search);
	if (search.found && !__atomic_exchange_n(&adopted, true, __ATOMIC_ACQ_REL))
		__atomic_store_n(&ada_setup.rseq_offset, (int64_t)(address - thread_pointer()), __ATOMIC_RELEASE);
}

void ada_rseq_registered(uint64_t address, uint32_t signature)
{
	area = NONE;
	if (signature == RSEQ_SIGNATURE) {
		adopt(address);
		area = address;
	}
}

uint64_t ada_rseq_unregister(void)
{
	uint64_t before = area;

	area = NONE;
	return before;
}

void ada_rseq_restore(uint64_t before)
{
	area = before;
}

/* The agent's beginning and end in a process.
 *
 * libada-agent.so is linked with -z initfirst: its constructor runs when everything is relocated and before any other
 * constructor. One thread, no hook yet. In this order:
 *   1. take our variables out of the environment; without them this isn't a process of ours
 *   2. connect, and get the segment
 *   3. plan and apply, module by module; then the imports, which need the tables of all
 *   4. watch what changes a process's life: the loader, fork, exec, fatal signals
 * A failure leaves the program alone from there on: the hooks that are in place pass through.
 */
#include "agent/ground/space.h"
#include "agent/life/life.h"

extern const char *gnu_get_libc_version(void) __attribute__((weak));

/* 0, or -errno: then nothing is recorded. */
static int life_begin(struct ada_conversation *conversation, const uint64_t *auxiliary)
{
	uint64_t bytes;
	struct ada_shm *shm = ada_connect_segment(conversation, &bytes);
	int status;

	ada_process_start();
	ada_process_attach(shm, bytes, ada_connect_flags(conversation));
	if (!ada_core_shm()) {
		ada_sys_unmap(shm, bytes);
		return -ENOMEM;
	}
	if (!ada_module_move_agent_last())
		ada_count_error();
	status = ada_module_scan(conversation, auxiliary);
	if (status) {
		ada_core_disable(ada_connect_reason(status));
		return 0; /* which says so */
	}
	ada_module_scan_imports();
	ada_core_thread_start_hook();
	ada_process_watch_forks();
	ada_loader_watch(ada_base_follow);
	if (ada_intercept_is_active(ADA_INTERCEPT_sigaction))
		ada_crash_watch();
	else
		ada_count_error();
	ada_late_attach(shm);
	ada_aside_start();
	ada_base_follow();
	ada_price_take(shm);
	return 0;
}

static void tell_rooms_below(void)
{
	ada_above = (struct ada_above){
		ada_stubs,	ada_region_pass_calls, ada_region_near_known, ada_module_text_is_hookable, ada_process_forked_slow,
		dl_iterate_phdr
	};
	ada_apply_replacement = ada_intercept_replacement;
	ada_sys_constants = ada_module_constants_at;
}

__attribute__((constructor)) static void agent_start(int argument_count, char **arguments, char **environment)
{
	struct ada_conversation *conversation;
	char **end = environment;
	uint64_t mask, bytes;
	bool unwindable;
	int status = 0;

	tell_rooms_below();
	unwindable = ada_find_object_start(ada_module_find_symbol("_dl_find_object"));
	ada_unwinder_start();
	while (*end) /* before it is shortened: the kernel's vector lies behind */
		end++;
	/* musl, someone's loader, a glibc before 2.35: nothing that is known here about libc would hold */
	if (!ada_environment_take(environment) || !gnu_get_libc_version || !unwindable)
		return;
	mask = ada_sys_signals_block();
	ada_space_note_agent();
	if (!ada_connect(&conversation, ADA_HELLO_START, NULL)) {
		if (ada_connect_segment(conversation, &bytes))
			status = life_begin(conversation, (const uint64_t *)(end + 1));
		if (status)
			ada_connect_fail(conversation, status);
		else
			ada_connect_end(conversation);
	}
	ada_sys_signals_restore(mask);
}

__attribute__((destructor)) static void agent_end(void)
{
	struct ada_shm *shm = ada_core_shm();

	if (shm && shm->disabled != ADA_DISABLE_CONFINED && ada_process_is_own())
		__atomic_store_n(&shm->exit_seen, 1, __ATOMIC_RELEASE);
}

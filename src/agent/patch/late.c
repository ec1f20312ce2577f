/* Hooks put in while the program runs: the agent's side of a late patch (abi/wire.h).
 *
 * The recorder has stopped every thread and borrows one: it sets the thread's registers to late_entry and late_stack, lets that thread
 * run alone until the thread says that it is done, and puts everything back. So nothing here may wait for another thread, or touch libc
 * or the core's thread-local state. Whatever another thread was in the midst of stays as it is: where that is our own table of modules,
 * or the loader's, nothing can be done now, and the answer is -EAGAIN.
 */
#include <time.h>
#include "agent/patch/patch.h"

#define STACK_BYTES 65536
#define PAUSE_NS 1000000

static uint64_t stack_top;

static bool same_functions(const struct ada_plan_header *one, const struct ada_plan_header *two)
{
	return one->function_count == two->function_count && one->build_id_bytes == two->build_id_bytes &&
	       !memcmp(one->build_id, two->build_id, one->build_id_bytes);
}

static bool same_hooks(const struct ada_plan_header *one, const struct ada_plan_header *two)
{
	return same_functions(one, two) && one->flags == two->flags && one->hook_count == two->hook_count;
}

/* Chooses the plan that counts from now on: the present one, if it is as good, since trampolines and numbers refer to it. */
static bool plan_choose(struct ada_module *module, const struct ada_plan_header *plan)
{
	bool same;

	if (!module->plan || (same_functions(module->plan, plan) && !(module->plan->flags & ADA_PLAN_DECODED))) {
		module->plan = plan; /* the one before stays mapped: origins of its bodies lie in it */
		return true;
	}
	same = same_hooks(module->plan, plan);

	ada_sys_unmap((void *)plan, plan->total_bytes);
	return same;
}

/* Takes the module's plan, for which the conversation has asked. */
static int plan_take(struct ada_conversation *conversation, uint32_t id)
{
	struct ada_module *module = ada_module_at(id), job;
	struct ada_shm_module *entry = ada_module_entry(id);
	struct ada_plan_reply reply;
	const struct ada_plan_header *plan;
	const uint8_t *filter;
	int status = ada_connect_plan(conversation, id, &reply, &plan, &filter);

	if (status)
		return status;
	if (plan && plan_choose(module, plan)) {
		if (!module->function_base)
			entry->function_base = module->function_base = reply.function_base;
		job = *module; /* its own filter and reply are needed where its imports still wait */
		job.reply = reply.flags;
		job.filter = filter;
		job.filter_bytes = reply.filter_bytes;
		if (reply.flags && ada_apply(&job, id, true))
			ada_count_error();
		module->applied = job.applied;
		module->entries = job.entries;
		module->bound = job.bound;
	}
	return ada_connect_applied(conversation, id);
}

int ada_late_module(struct ada_conversation *conversation, uint32_t id, uint32_t flags)
{
	int status = ada_connect_ask(conversation, id, ada_module_at(id)->flags | flags);

	return status ? status : plan_take(conversation, id);
}

static bool is_due(const struct ada_module *module)
{
	return (module->state == ADA_MODULE_PLANNED || module->state == ADA_MODULE_DONE) && module->start < module->end &&
	       !(module->flags & (ADA_MODULE_AGENT | ADA_MODULE_VDSO));
}

/* As ask_from of scan.c, for modules that are known. */
static uint32_t ask_from(struct ada_conversation *conversation, uint32_t id, int *status)
{
	while (id < ada_module_count() && !is_due(ada_module_at(id)))
		id++;
	if (id < ada_module_count() && !*status)
		*status = ada_connect_ask(conversation, id, ada_module_at(id)->flags | ADA_MODULE_LATE);
	return id;
}

/* 0, or -errno. */
__attribute__((used)) static long late_run(void)
{
	struct ada_shm *shm = ada_core_shm();
	struct ada_conversation *conversation;
	uint32_t id;
	int status;

	if (!shm || __atomic_load_n(&shm->disabled, __ATOMIC_ACQUIRE) || !ada_process_is_own())
		return -ESHUTDOWN;
	if (ada_life_busy || !ada_module_settled())
		return -EAGAIN;
	if (ada_process_is_confined())
		return -EPERM;
	status = ada_connect(&conversation, ADA_HELLO_RESUME, NULL);
	if (status)
		return status;
	id = ask_from(conversation, 0, &status);
	while (id < ada_module_count() && !status) {
		uint32_t next = ask_from(conversation, id + 1, &status);

		if (!status)
			status = plan_take(conversation, id);
		id = next;
	}
	ada_connect_end(conversation);
	return status;
}

/* From here the recorder takes the thread, and gives it its own registers back. Returns where the recorder is dead: then the thread must
 * do that itself, and the kernel lets go of all threads. Sleeps where a conversation has shown that system calls may be made. It doesn't
 * sleep on a futex: that would overwrite what the kernel keeps to restart the program's own call (restart_syscall). */
__attribute__((used)) static void late_end(struct ada_late_frame *frame, long status)
{
	__atomic_store_n(&frame->ended, 1 - status, __ATOMIC_RELEASE);
	while (!ada_presence_gone()) {
		struct timespec pause = { .tv_nsec = PAUSE_NS };

		if (status)
			__builtin_ia32_pause();
		else
			ada_sys4(SYS_ppoll, 0, 0, (long)&pause, 0);
	}
}

/* Begins at a struct ada_late_frame, on an aligned stack, with arbitrary registers. */
__attribute__((naked)) static void ada_late_slow(void)
{
	__asm__("cld\n\t"
		"xor %ebp,%ebp\n\t"
		"mov %rsp,%rbx\n\t"
		"call late_run\n\t"
		"mov %rbx,%rdi\n\t"
		"mov %rax,%rsi\n\t"
		"call late_end\n\t"
		"mov $14,%eax\n\t" /* rt_sigprocmask */
		"mov $2,%edi\n\t"  /* SIG_SETMASK */
		"mov %rbx,%rsi\n\t"
		"xor %edx,%edx\n\t"
		"mov $8,%r10d\n\t"
		"syscall\n\t"
		"lea 8(%rbx),%rsp\n\t"
		"pop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbp\n\tpop %rbx\n\tpop %r11\n\tpop %r10\n\t"
		"pop %r9\n\tpop %r8\n\tpop %rax\n\tpop %rcx\n\tpop %rdx\n\tpop %rsi\n\tpop %rdi\n\t"
		"iretq");
}

void ada_late_forbid(void)
{
	struct ada_shm *shm = ada_core_shm();

	if (shm)
		__atomic_store_n(&shm->late_entry, 0, __ATOMIC_RELEASE);
}

void ada_late_attach(struct ada_shm *shm)
{
	if (!stack_top) {
		void *stack = ada_sys_map(STACK_BYTES);

		stack_top = stack ? (uint64_t)stack + STACK_BYTES : 0;
	}
	for (uint32_t id = 0; id < ada_module_count(); id++) {
		const struct ada_module *module = ada_module_at(id);
		const Elf64_Phdr *text = ada_module_segment(module, (uint64_t)ada_late_slow);

		if (!(module->flags & ADA_MODULE_AGENT) || !text)
			continue;
		shm->agent_text_start = module->bias + text->p_vaddr;
		shm->agent_text_end = shm->agent_text_start + text->p_memsz;
	}
	shm->late_stack = stack_top;
	if (stack_top && shm->agent_text_end)
		__atomic_store_n(&shm->late_entry, (uint64_t)ada_late_slow, __ATOMIC_RELEASE);
}

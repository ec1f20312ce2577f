/* dlopen and dlclose, seen through the loader's own call to its debugger hook.
 *
 * r_debug.r_brk (_dl_debug_state) is called with the loader's lock held whenever the list of modules begins or ends to
 * change; it is a lone `ret` with padding behind, which becomes a jump to loader_changed. When the list is consistent again,
 * new modules are mapped but neither relocated nor executed: the moment for their entries. Their imports have to wait until
 * they are relocated, so DT_INIT of each, which the loader calls right after and before any other constructor of it, leads
 * through us. A module without DT_INIT gets its imports when the next one comes by.
 */
#include <sys/mman.h>
#include "abi/page.h"
#include "agent/patch/patch.h"

#define JUMP_BYTES 5

extern struct r_debug _r_debug __attribute__((weak));

static void (*changed)(void);

static void imports_follow(void *unused)
{
	ada_module_scan_imports();
}

/* Runs in place of a module's DT_INIT: this module, and all that came with it, are relocated now. */
static void init_called(int argument_count, char **arguments, char **environment, const struct ada_module *module)
{
	uint64_t mask;

	if (!ada_quiet_enter())
		goto out;
	mask = ada_sys_signals_block();
	__atomic_fetch_add(&ada_life_busy, 1, __ATOMIC_RELAXED);
	ada_aside(imports_follow, NULL);
	__atomic_fetch_sub(&ada_life_busy, 1, __ATOMIC_RELAXED);
	ada_sys_signals_restore(mask);
	ada_quiet_leave();
out:
	((void (*)(int, char **, char **))module->init)(argument_count, arguments, environment);
}

/* mov $module,%rcx; jmp *0(%rip): a DT_INIT gets three arguments, and needs a fourth to say whose it is. */
struct __attribute__((packed)) init_thunk {
	uint8_t load[2];
	uint64_t module;
	uint8_t jump[6];
	uint64_t target;
};

static void thunk_write(struct init_thunk *thunk, const struct ada_module *module)
{
	*thunk = (struct init_thunk){
		.load = { 0x48, 0xb9 }, .module = (uint64_t)module, .jump = { 0xff, 0x25 }, .target = (uint64_t)init_called
	};
}

/* The loader protects the entry only after relocation. */
static Elf64_Dyn *init_entry(const struct ada_module *module)
{
	const Elf64_Phdr *segment = ada_module_segment(module, (uint64_t)module->map->l_ld);

	if (module->state != ADA_MODULE_PLANNED || !(module->reply & ADA_PLAN_REPLY_IMPORTS) || !segment || !(segment->p_flags & PF_W))
		return NULL;
	for (Elf64_Dyn *entry = module->map->l_ld; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_INIT)
			return entry;
	return NULL;
}

/* Each module's thunk is made once, however often the module is loaded. */
static void thunks_make(uint32_t count)
{
	size_t bytes = count * sizeof(struct init_thunk);
	struct init_thunk *thunks = count ? ada_sys_map(bytes) : NULL;
	uint32_t used = 0;

	if (!thunks)
		return;
	for (uint32_t id = 0; id < ada_module_count(); id++) {
		struct ada_module *module = ada_module_at(id);

		if (!module->fresh || module->thunk || !init_entry(module) || used == count)
			continue;
		thunk_write(&thunks[used], module);
		module->thunk = &thunks[used++];
	}
	if (!ada_sys_failed(ada_sys_protect(thunks, bytes, PROT_READ | PROT_EXEC)))
		return;
	for (uint32_t id = 0; id < ada_module_count(); id++)
		if ((uint64_t)ada_module_at(id)->thunk - (uint64_t)thunks < bytes)
			ada_module_at(id)->thunk = NULL;
}

static void watch_init(void)
{
	uint32_t count = 0;

	for (uint32_t id = 0; id < ada_module_count(); id++)
		count += ada_module_at(id)->fresh && !ada_module_at(id)->thunk && init_entry(ada_module_at(id));
	thunks_make(count);
	for (uint32_t id = 0; id < ada_module_count(); id++) {
		struct ada_module *module = ada_module_at(id);
		Elf64_Dyn *entry = module->fresh && module->thunk ? init_entry(module) : NULL;

		module->fresh = false;
		if (!entry)
			continue;
		module->init = module->bias + entry->d_un.d_ptr;
		entry->d_un.d_ptr = (uint64_t)module->thunk - module->bias;
	}
}

/* Without a conversation new modules stay unhooked for good, and the program goes on. */
static void modules_changed(void *unused)
{
	struct ada_conversation *conversation = NULL;
	struct ada_shm *shm = ada_core_shm();
	int status;

	if (!shm || __atomic_load_n(&shm->disabled, __ATOMIC_ACQUIRE) || ada_presence_gone() || !ada_process_is_own())
		return;
	ada_module_scan_imports();
	if (!ada_module_changed())
		return;
	status = ada_process_is_confined() ? -EPERM : ada_connect(&conversation, ADA_HELLO_RESUME, NULL);
	if (status && status != -EAGAIN) /* a wait in vain has been counted already */
		ada_count_error();
	if (ada_module_scan(conversation, NULL))
		ada_count_error();
	watch_init();
	if (changed)
		changed();
	if (conversation)
		ada_connect_end(conversation);
}

/* Called with the loader's lock held, from the program's own dlopen or dlclose. */
static void loader_changed(void)
{
	uint64_t mask;

	if (_r_debug.r_state != RT_CONSISTENT || !ada_quiet_enter())
		return;
	mask = ada_sys_signals_block();
	__atomic_fetch_add(&ada_life_busy, 1, __ATOMIC_RELAXED);
	ada_aside(modules_changed, NULL);
	__atomic_fetch_sub(&ada_life_busy, 1, __ATOMIC_RELAXED);
	ada_sys_signals_restore(mask);
	ada_quiet_leave();
}

static bool is_padding(const uint8_t *code)
{
	static const uint8_t nops[][4] = { { 0x66, 0x66, 0x2e, 0x0f }, { 0x66, 0x2e, 0x0f, 0x1f }, { 0x0f, 0x1f, 0x84, 0x00 },
					   { 0x0f, 0x1f, 0x80, 0x00 }, { 0x0f, 0x1f, 0x44, 0x00 }, { 0x0f, 0x1f, 0x40, 0x00 },
					   { 0x90, 0x90, 0x90, 0x90 }, { 0xcc, 0xcc, 0xcc, 0xcc } };

	for (size_t i = 0; i < sizeof nops / sizeof nops[0]; i++)
		if (!memcmp(code, nops[i], sizeof nops[i]))
			return true;
	return false;
}

void ada_loader_watch(void (*to_call)(void))
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint64_t at = &_r_debug ? _r_debug.r_brk : 0, page;
	struct ada_module *loader = at ? ada_module_of(at) : NULL;
	const Elf64_Phdr *segment = loader ? ada_module_segment(loader, at) : NULL;
	int64_t distance;

	changed = to_call;
	if (segment && !memcmp((void *)at, endbr64, sizeof endbr64))
		at += sizeof endbr64;
	distance = (uint64_t)loader_changed - (at + JUMP_BYTES);
	if (!segment || !(segment->p_flags & PF_X) || (segment->p_flags & PF_W) || distance != (int32_t)distance ||
	    *(uint8_t *)at != 0xc3 || !is_padding((uint8_t *)at + 1)) {
		ada_count_error();
		return;
	}
	page = at & -ADA_PAGE_BYTES;
	if (ada_sys_failed(ada_sys_protect((void *)page, 2 * ADA_PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC))) {
		ada_count_error();
		return;
	}
	*(uint8_t *)at = 0xe9;
	*(int32_t *)(at + 1) = distance;
	ada_sys_protect((void *)page, 2 * ADA_PAGE_BYTES, PROT_READ | PROT_EXEC);
}

/* Calls into libraries that are not traced themselves, caught in the caller's GOT slots.
 *
 * A slot is changed only where its true target is certain: the slot is bound already, or we find the symbol that the loader would bind
 * the way the loader does. All other slots stay. A call is recorded under the callee's own number in its module; an ifunc under the name
 * that callers use, not the implementation's.
 */
#include <sys/mman.h>
#include "abi/page.h"
#include "agent/patch/patch.h"

struct target {
	uint64_t address; /* where the call goes */
	uint64_t function_id;
	uint32_t policy_number;
};

struct binding { /* a symbol and the module that defines it */
	const Elf64_Sym *symbol;
	struct ada_module *module;
};

static const struct ada_plan_import *import_at(const struct ada_plan_header *plan, uint32_t number)
{
	return (const struct ada_plan_import *)((const char *)plan + plan->imports_offset) + number;
}

static uint64_t symbol_address(const struct binding *binding)
{
	return binding->module->bias + binding->symbol->st_value;
}

static bool is_ifunc(const struct binding *binding)
{
	return ELF64_ST_TYPE(binding->symbol->st_info) == STT_GNU_IFUNC;
}

/* The agent is preloaded, so it stands before every library, wherever the list of modules has it. */
static bool agent_defines(const char *name, const char *version)
{
	for (uint32_t id = 0; id < ada_module_count(); id++)
		if (ada_module_at(id)->flags & ADA_MODULE_AGENT)
			return ada_symbols_find(&ada_module_at(id)->symbols, name, version);
	return false;
}

/* What the loader would bind. For a module there from the start that is the first definition in the order of loading. A module that
 * dlopen brought may have a scope of its own, which only the loader knows: then a definition counts only if there is no other.
 */
static bool symbol_bind(struct binding *found, const struct ada_module *importer, const char *name, const char *version)
{
	*found = (struct binding){ 0 };
	for (uint32_t id = 0; id < ada_module_count(); id++) {
		struct ada_module *module = ada_module_at(id);
		const Elf64_Sym *symbol;

		if (module->state == ADA_MODULE_GONE || (module->flags & ADA_MODULE_VDSO))
			continue;
		if (importer->initial && !module->initial)
			continue;
		symbol = ada_symbols_find(&module->symbols, name, version);
		if (!symbol)
			continue;
		if (importer->initial && !(module->flags & (ADA_MODULE_MAIN | ADA_MODULE_AGENT)) && agent_defines(name, version))
			return false;
		if (found->symbol)
			return false;
		*found = (struct binding){ symbol, module };
		if (importer->initial)
			break;
	}
	return found->symbol;
}

/* Whether the slot is still bound to its own PLT entry: [endbr64] push number; [bnd] jmp PLT0. */
static bool is_lazy(const struct ada_module *module, uint64_t value)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const uint8_t *code = (const uint8_t *)value;
	const Elf64_Phdr *segment = ada_module_segment(module, value);

	if (!segment || !(segment->p_flags & PF_X) || value + 16 > module->end)
		return false;
	if (!memcmp(code, endbr64, sizeof endbr64))
		code += sizeof endbr64;
	return code[0] == 0x68 && (code[5] == 0xe9 || (code[5] == 0xf2 && code[6] == 0xe9));
}

/* libc's and libm's resolvers only look at the CPU. Another module's may need constructors that haven't run: we don't call it. */
static bool resolver_is_safe(const struct ada_module *module)
{
	return ada_module_name_begins(module, "libc.so.") || ada_module_name_begins(module, "libm.so.");
}

static uint64_t lazy_address(const struct binding *binding)
{
	uint64_t address = symbol_address(binding);

	if (!is_ifunc(binding))
		return address;
	return resolver_is_safe(binding->module) ? ((uint64_t(*)(void))address)() : 0;
}

/* The function that a bound slot leads to: by name where that agrees with the address, else by the address alone. */
static uint32_t bound_number(struct ada_module *module, const struct binding *binding, uint64_t value)
{
	if (binding->symbol && binding->module == module && (is_ifunc(binding) || symbol_address(binding) == value))
		return ada_plan_find(module->plan, binding->symbol->st_value, is_ifunc(binding));
	return ada_plan_find(module->plan, value - module->bias, false);
}

/* Whether the function's own hook records the call. Asked by address: an ifunc's implementation may be hooked under its own name. */
static bool entry_is_hooked(const struct ada_module *module, uint64_t value)
{
	uint32_t number = ada_plan_find(module->plan, value - module->bias, false);

	return number != ADA_PLAN_NONE && ada_module_applied(module, number) &&
	       !(ada_plan_function_at(module->plan, number)->flags & ADA_FUNCTION_INTERCEPT);
}

static bool target_find(struct target *target, const struct ada_module *importer, const struct ada_plan_import *import)
{
	const char *name = ada_plan_name(importer->plan, import->name), *version = ada_plan_name(importer->plan, import->version);
	uint64_t value = *(const uint64_t *)(importer->bias + import->slot);
	struct ada_module *module;
	struct binding binding;
	uint32_t number;

	if (!value)
		return false; /* a weak function that nobody defines */
	symbol_bind(&binding, importer, name, import->version ? version : "");
	if ((import->flags & ADA_IMPORT_JUMP_SLOT) && is_lazy(importer, value))
		value = binding.symbol ? lazy_address(&binding) : 0;
	module = value ? ada_module_of(value) : NULL;
	if (!module || !module->plan || (module->flags & (ADA_MODULE_AGENT | ADA_MODULE_TRACED)))
		return false; /* a traced module's entries record by themselves */
	number = bound_number(module, &binding, value);
	if (number == ADA_PLAN_NONE || entry_is_hooked(module, value) ||
	    ada_plan_function_at(module->plan, number)->flags & ADA_FUNCTION_CALLER)
		return false;
	*target = (struct target){ value, ADA_FUNCTION_ID(module - ada_module_at(0), number), ada_module_number(module, number) };
	return true;
}

/* Opens, or closes again, the pages that the loader made read-only after relocation. */
static int relro_protect(const struct ada_module *module, bool open)
{
	for (uint32_t i = 0; i < module->segment_count; i++) {
		const Elf64_Phdr *segment = &module->segments[i];
		uint64_t start = (module->bias + segment->p_vaddr) & -ADA_PAGE_BYTES;
		uint64_t end = (module->bias + segment->p_vaddr + segment->p_memsz) & -ADA_PAGE_BYTES;
		long status;

		if (segment->p_type != PT_GNU_RELRO || start >= end)
			continue;
		status = ada_sys_protect((void *)start, end - start, open ? PROT_READ | PROT_WRITE : PROT_READ);
		if (ada_sys_failed(status))
			return status;
	}
	return 0;
}

static bool slot_is_usable(const struct ada_module *module, const struct ada_plan_import *import)
{
	uint64_t slot = module->bias + import->slot;
	const Elf64_Phdr *segment = ada_module_segment(module, slot);

	return !(import->flags & ADA_IMPORT_REFUSED) && segment && (segment->p_flags & PF_W) && slot % 8 == 0;
}

/* A slot that the loader has bound meanwhile, in another thread, stays as it is. */
static bool slot_write(uint64_t slot, uint64_t before, uint64_t entry)
{
	return __atomic_compare_exchange_n((uint64_t *)slot, &before, entry, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static uint64_t entry_of(const struct target *targets, const uint64_t *entries, uint32_t count, uint64_t address)
{
	for (uint32_t i = 0; i < count; i++)
		if (targets[i].address == address && entries[i])
			return entries[i];
	return 0;
}

static int trampolines_build(struct ada_module *module, struct target *targets, uint64_t *entries, uint32_t wanted)
{
	uint32_t count = module->plan->import_count;
	struct ada_region *region;
	int status = wanted ? ada_region_reserve(&region, module->start, module->end, wanted) : 0;

	for (uint32_t i = 0; i < count && !status; i++) {
		const struct ada_plan_import *import = import_at(module->plan, i);
		struct ada_hook_spec spec = { .function_id = targets[i].function_id,
					      .target = targets[i].address,
					      .number = targets[i].policy_number,
					      .free_at_entry = import->free_at_entry,
					      .free_at_exit = import->free_at_exit,
					      .reads_vectors = true };
		uint8_t *body;

		if (!targets[i].address || entries[i])
			continue;
		entries[i] = entry_of(targets, entries, i, targets[i].address);
		if (!entries[i])
			status = ada_region_hook(region, &spec, &entries[i], &body);
	}
	return status || !wanted ? status : ada_region_seal(region);
}

/* Takes the trampolines that the module had when it was loaded before, where the slot leads to the same function again. */
static uint32_t entries_reuse(const struct target *targets, uint64_t *entries, const struct target *kept, uint32_t count)
{
	const uint64_t *kept_entries = (const uint64_t *)(kept + count);
	uint32_t reused = 0;

	for (uint32_t i = 0; i < count; i++)
		if (targets[i].address && targets[i].address == kept[i].address && targets[i].function_id == kept[i].function_id &&
		    targets[i].policy_number == kept[i].policy_number) {
			entries[i] = kept_entries[i];
			reused++;
		}
	return reused;
}

void ada_got_apply(struct ada_module *module, uint32_t id)
{
	uint32_t count = module->plan->import_count, wanted = 0, hooked = 0, reused;
	size_t bytes = count * (sizeof(struct target) + 2 * sizeof(uint64_t));
	struct target *targets = count ? ada_sys_map(bytes) : NULL;
	uint64_t *entries = (uint64_t *)(targets + count), *before = entries + count;

	if (!targets)
		return;
	for (uint32_t i = 0; i < count; i++) {
		const struct ada_plan_import *import = import_at(module->plan, i);

		if (!slot_is_usable(module, import) || !ada_module_filter(module, module->plan->hook_count + i))
			continue;
		before[i] = *(uint64_t *)(module->bias + import->slot);
		wanted += target_find(&targets[i], module, import);
	}
	reused = module->imports ? entries_reuse(targets, entries, module->imports, count) : 0;
	if (wanted && trampolines_build(module, targets, entries, wanted - reused) == 0 && relro_protect(module, true) == 0) {
		for (uint32_t i = 0; i < count; i++)
			if (targets[i].address)
				hooked += slot_write(module->bias + import_at(module->plan, i)->slot, before[i], entries[i]);
		if (relro_protect(module, false))
			ada_count_error();
	} else if (wanted) {
		ada_module_refuse(module);
	}
	ada_module_entry(id)->imports = hooked;
	if (module->imports)
		ada_sys_unmap(module->imports, bytes);
	module->imports = targets;
}

/* The slots stay as they are: a caller that has read one already takes the same way. */
static void slot_forward(const struct ada_module *from, const struct ada_plan_import *import, const struct ada_module *to, uint32_t id,
			 const uint64_t *entries)
{
	uint64_t function_id, *target;
	uint32_t function, hook;

	if (!slot_is_usable(from, import))
		return;
	target = ada_region_target(*(const uint64_t *)(from->bias + import->slot), &function_id);
	function = target ? (uint32_t)function_id : 0;
	if (!target || function_id != ADA_FUNCTION_ID(id, function) || function >= to->plan->function_count)
		return;
	hook = ada_plan_function_at(to->plan, function)->hook;
	if (hook < to->plan->hook_count && entries[hook])
		__atomic_store_n(target, ada_region_body(entries[hook]), __ATOMIC_RELEASE);
}

void ada_got_forward(const struct ada_module *to, uint32_t id, const uint64_t *entries)
{
	for (uint32_t from = 0; from < ada_module_count(); from++) {
		const struct ada_module *module = ada_module_at(from);

		if (module->state != ADA_MODULE_DONE || !(module->reply & ADA_PLAN_REPLY_IMPORTS))
			continue;
		for (uint32_t i = 0; i < module->plan->import_count; i++)
			slot_forward(module, import_at(module->plan, i), to, id, entries);
	}
}

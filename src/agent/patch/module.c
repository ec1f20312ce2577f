/* The modules of this process: the table behind the segment's. scan.c fills it. */
#include "agent/patch/patch.h"

static uint32_t module_count;
uint32_t ada_life_busy;

struct ada_module *ada_module_at(uint32_t id)
{
	return &ada_modules[id];
}

struct ada_shm_module *ada_module_entry(uint32_t id)
{
	struct ada_shm *shm = ada_core_shm();

	return (struct ada_shm_module *)((char *)shm + shm->modules_offset) + id;
}

uint32_t ada_module_count(void)
{
	return module_count;
}

void ada_module_add(struct ada_shm *shm)
{
	module_count++;
	__atomic_store_n(&shm->module_count, module_count, __ATOMIC_RELEASE);
}

bool ada_module_name_begins(const struct ada_module *module, const char *begin)
{
	const char *path = module->map->l_name, *name = path;

	for (; *path; path++)
		if (*path == '/')
			name = path + 1;
	return ada_string_begins(name, begin);
}

struct ada_module *ada_module_of(uint64_t address)
{
	for (uint32_t id = 0; id < module_count; id++) {
		struct ada_module *module = &ada_modules[id];

		if (module->state != ADA_MODULE_GONE && address - module->start < module->end - module->start)
			return module;
	}
	return NULL;
}

const Elf64_Phdr *ada_module_segment(const struct ada_module *module, uint64_t address)
{
	for (uint32_t i = 0; i < module->segment_count; i++) {
		const Elf64_Phdr *segment = &module->segments[i];

		if (segment->p_type == PT_LOAD && address - module->bias - segment->p_vaddr < segment->p_memsz)
			return segment;
	}
	return NULL;
}

/* The main program is the first module, and never unloaded. */
uint64_t ada_module_constants_at(uint64_t address)
{
	const struct ada_module *module = ada_module_of(address);
	const Elf64_Phdr *segment = module && module == ada_module_at(0) ? ada_module_segment(module, address) : NULL;

	if (!segment || segment->p_flags & PF_W || !(segment->p_flags & PF_R) || segment->p_filesz < segment->p_memsz)
		return 0;
	return module->bias + segment->p_vaddr + segment->p_filesz - address;
}

bool ada_module_filter(const struct ada_module *module, uint32_t bit)
{
	return !module->filter || (bit / 8 < module->filter_bytes && module->filter[bit / 8] >> bit % 8 & 1);
}

bool ada_module_applied(const struct ada_module *module, uint32_t function)
{
	return module->applied && module->applied[function / 8] >> function % 8 & 1;
}

void ada_module_refuse(struct ada_module *module)
{
	ada_count_error();
	if (!module->refused)
		__atomic_fetch_add(&ada_core_shm()->modules_refused, 1, __ATOMIC_RELAXED);
	module->refused = true;
}

void ada_module_copy_table(struct ada_shm *to, const struct ada_shm *from)
{
	uint32_t count = module_count < from->module_count ? module_count : from->module_count;

	memcpy((char *)to + to->modules_offset, (const char *)from + from->modules_offset, count * sizeof(struct ada_shm_module));
	to->modules_refused = ada_places_refused();
	for (uint32_t id = 0; id < count; id++)
		to->modules_refused += ada_modules[id].refused && ada_modules[id].state != ADA_MODULE_GONE;
	__atomic_store_n(&to->module_count, count, __ATOMIC_RELEASE);
}

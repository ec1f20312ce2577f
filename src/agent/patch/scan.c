/* Compares the loader's link map with the table: new modules get their place, plan and hooks; modules that are gone are marked.
 *
 * We read the loader's list where it can't change: at the start, and in the loader's own call when the list is consistent. A module's
 * parts (segments, notes, symbols) are read from memory; a list entry whose ELF header isn't readable is left out.
 */
#include <sys/auxv.h>
#include "agent/patch/patch.h"

/* Whether the module is unloaded, and the one now at its place may be the same again. */
static bool may_be_again(const struct ada_module *module, const struct link_map *map)
{
	return module->state == ADA_MODULE_GONE && module->bias == map->l_addr;
}

bool ada_module_move_agent_last(void)
{
	struct link_map *map = (struct link_map *)ada_places_list(), *last;

	while (map && map->l_ld != _DYNAMIC)
		map = map->l_next;
	if (!map || !map->l_prev)
		return false;
	for (last = map; last->l_next; last = last->l_next)
		;
	if (last == map)
		return true;
	map->l_prev->l_next = map->l_next;
	map->l_next->l_prev = map->l_prev;
	map->l_prev = last;
	map->l_next = NULL;
	last->l_next = map;
	return true;
}

uint64_t ada_module_find_symbol(const char *name)
{
	struct ada_symbols symbols;
	bool behind = false;

	for (const struct link_map *map = ada_places_list(); map; map = map->l_next) {
		const Elf64_Sym *symbol = NULL;

		if (behind) {
			ada_symbols_read(&symbols, map->l_ld, map->l_addr);
			symbol = ada_symbols_find(&symbols, name, "");
		}
		if (symbol)
			return map->l_addr + symbol->st_value;
		behind |= map->l_ld == _DYNAMIC;
	}
	return 0;
}

/* Program headers: the main program's as the kernel said, others' behind the ELF header that begins each mapping. */
static bool segments_find(struct ada_module *module, const uint64_t *auxiliary)
{
	union {
		Elf64_Ehdr elf;
		uint8_t bytes[sizeof(Elf64_Ehdr)];
	} header;

	if (module->flags & ADA_MODULE_MAIN) {
		for (; auxiliary && auxiliary[0] != AT_NULL; auxiliary += 2) {
			if (auxiliary[0] == AT_PHDR)
				module->segments = (const Elf64_Phdr *)auxiliary[1];
			if (auxiliary[0] == AT_PHNUM)
				module->segment_count = auxiliary[1];
		}
		return module->segments && module->segment_count;
	}
	if (ada_sys_peek(&header, module->bias, sizeof header) != sizeof header || memcmp(header.bytes, ELFMAG, SELFMAG) ||
	    header.elf.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	module->segments = (const Elf64_Phdr *)(module->bias + header.elf.e_phoff);
	module->segment_count = header.elf.e_phnum;
	return true;
}

static void span_find(struct ada_module *module)
{
	module->start = UINT64_MAX;
	for (uint32_t i = 0; i < module->segment_count; i++) {
		const Elf64_Phdr *segment = &module->segments[i];
		uint64_t start = module->bias + segment->p_vaddr, end = start + segment->p_memsz;

		if (segment->p_type != PT_LOAD)
			continue;
		if (start < module->start)
			module->start = start;
		if (end > module->end)
			module->end = end;
	}
}

static void build_id_find(const struct ada_module *module, struct ada_shm_module *entry)
{
	for (uint32_t i = 0; i < module->segment_count; i++) {
		const Elf64_Phdr *segment = &module->segments[i];
		uint64_t at = module->bias + segment->p_vaddr, end = at + segment->p_memsz;

		while (segment->p_type == PT_NOTE && at + sizeof(Elf64_Nhdr) <= end) {
			const Elf64_Nhdr *note = (const void *)at;
			uint64_t name = at + sizeof *note, contents = name + ((note->n_namesz + 3) & ~3u);

			at = contents + ((note->n_descsz + 3) & ~3u);
			if (at > end || note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4 || memcmp((void *)name, "GNU", 4))
				continue;
			entry->build_id_bytes = note->n_descsz < ADA_BUILD_ID_MAX ? note->n_descsz : ADA_BUILD_ID_MAX;
			memcpy(entry->build_id, (void *)contents, entry->build_id_bytes);
			return;
		}
	}
}

static void path_find(const struct ada_module *module, struct ada_shm_module *entry)
{
	size_t used = 0;
	long bytes;

	if (module->flags & ADA_MODULE_MAIN) {
		bytes = ada_sys_read_link("/proc/self/exe", entry->path, sizeof entry->path - 1);
		if (!ada_sys_failed(bytes)) {
			entry->path[bytes] = 0;
			return;
		}
	} else if (module->map->l_name[0] != '/' && !(module->flags & ADA_MODULE_VDSO)) {
		bytes = ada_sys_read_link("/proc/self/cwd", entry->path, sizeof entry->path - 2);
		if (!ada_sys_failed(bytes)) {
			entry->path[bytes] = '/';
			used = bytes + 1;
		}
	}
	ada_string_copy(entry->path + used, sizeof entry->path - used, module->map->l_name);
}

/* Adds an entry to both tables, and returns its number. A module that can't be read has no span, and is never asked for. */
static uint32_t module_add(const struct link_map *map, struct ada_shm *shm, const uint64_t *auxiliary)
{
	struct ada_module *module = &ada_modules[ada_module_count()];
	struct ada_shm_module *entry = ada_module_entry(ada_module_count());
	bool initial = auxiliary != NULL;

	*module = (struct ada_module){ .map = map, .bias = map->l_addr, .initial = initial, .state = ADA_MODULE_KNOWN };
	if (map == ada_places_list())
		module->flags |= ADA_MODULE_MAIN;
	if (map->l_ld == _DYNAMIC)
		module->flags |= ADA_MODULE_AGENT;
	if (ada_string_begins(map->l_name, "linux-vdso.so"))
		module->flags |= ADA_MODULE_VDSO;
	if (segments_find(module, auxiliary)) {
		span_find(module);
		ada_symbols_read(&module->symbols, map->l_ld, module->bias);
		build_id_find(module, entry);
	} else {
		module->state = ADA_MODULE_DONE;
		ada_count_error();
	}
	path_find(module, entry);
	entry->base = module->bias;
	entry->load_counter = ada_sys_counter();
	entry->flags = module->flags;
	entry->loads = 1;
	module->fresh = true;
	__atomic_store_n(&entry->present, 1, __ATOMIC_RELEASE); /* after all that a reader looks at */
	ada_module_add(shm);
	return ada_module_count() - 1;
}

static bool is_same_file(const struct ada_module *module, const struct ada_shm_module *entry, const struct ada_shm_module *known)
{
	size_t at = 0;

	while (entry->path[at] && entry->path[at] == known->path[at])
		at++;
	return module->segment_count && entry->build_id_bytes && entry->build_id_bytes == known->build_id_bytes &&
	       !memcmp(entry->build_id, known->build_id, entry->build_id_bytes) && entry->path[at] == known->path[at];
}

/* The former module at the same place that is this one; NULL: none is. */
static struct ada_module *module_before(struct ada_module *found)
{
	struct ada_shm_module entry = { .present = 0 };
	uint32_t id = 0;

	while (id < ada_module_count() && !may_be_again(&ada_modules[id], found->map))
		id++;
	if (id == ada_module_count() || !segments_find(found, NULL))
		return NULL;
	span_find(found);
	build_id_find(found, &entry);
	path_find(found, &entry);
	for (; id < ada_module_count(); id++)
		if (may_be_again(&ada_modules[id], found->map) && found->end == ada_modules[id].end &&
		    is_same_file(found, &entry, ada_module_entry(id)))
			return &ada_modules[id];
	return NULL;
}

/* The number of the module that this one was before it was unloaded: the same file at the same place. ADA_NONE: none. */
static uint32_t module_again(const struct link_map *map, struct ada_conversation *conversation)
{
	struct ada_module found = { .map = map, .bias = map->l_addr };
	struct ada_module *module = conversation ? module_before(&found) : NULL;
	uint32_t id;

	if (!module)
		return ADA_NONE;
	id = module - ada_modules;
	module->map = map;
	module->segments = found.segments;
	module->segment_count = found.segment_count;
	ada_symbols_read(&module->symbols, map->l_ld, module->bias);
	module->fresh = true;
	module->state = module->flags & ADA_MODULE_TRACED ? ADA_MODULE_PLANNED : ADA_MODULE_DONE;
	ada_module_entry(id)->loads++;
	__atomic_store_n(&ada_module_entry(id)->present, 1, __ATOMIC_RELEASE);
	if (ada_apply_again(module) ||
	    (module->start < module->end && ada_late_module(conversation, id, ADA_MODULE_LATE | ADA_MODULE_AGAIN)))
		ada_count_error();
	return id;
}

static bool build_id_equal(const struct ada_plan_header *plan, const struct ada_shm_module *entry)
{
	return !plan->build_id_bytes || !entry->build_id_bytes ||
	       (plan->build_id_bytes == entry->build_id_bytes && !memcmp(plan->build_id, entry->build_id, entry->build_id_bytes));
}

/* Keeps the filter, which is needed again when the imports' time comes. */
static int filter_keep(struct ada_module *module, const uint8_t *filter, uint32_t bytes)
{
	uint8_t *copy = filter ? ada_sys_map(bytes) : NULL;

	if (copy)
		memcpy(copy, filter, bytes);
	module->filter = copy;
	module->filter_bytes = bytes;
	return filter && !copy ? -ENOMEM : 0;
}

/* Takes the module's plan, for which it has asked, and hooks its entries. Nothing is left half done: a module is hooked or it is not. */
static int module_plan(struct ada_conversation *conversation, uint32_t id)
{
	struct ada_shm_module *entry = ada_module_entry(id);
	struct ada_module *module = &ada_modules[id];
	struct ada_plan_reply reply;
	const struct ada_plan_header *plan;
	const uint8_t *filter;
	int status = ada_connect_plan(conversation, id, &reply, &plan, &filter);

	if (status)
		return status;
	module->state = ADA_MODULE_DONE;
	if (plan && !build_id_equal(plan, entry)) /* the file was replaced after it was loaded */
		ada_count_error();
	else if (plan && !(module->flags & ADA_MODULE_AGENT)) {
		module->plan = plan;
		module->reply = reply.flags;
		entry->function_base = module->function_base = reply.function_base;
		if (filter_keep(module, filter, reply.filter_bytes) || ada_apply(module, id, false))
			ada_module_refuse(module);
		else if (reply.flags & ADA_PLAN_REPLY_TRACE) {
			module->state = ADA_MODULE_PLANNED;
			entry->flags = module->flags |= ADA_MODULE_TRACED;
		}
	}
	return ada_connect_applied(conversation, id);
}

/* Asks for the first plan from module `id` on that is due. Returns that module's number; ada_module_count(): none is due. */
static uint32_t ask_from(struct ada_conversation *conversation, uint32_t id, int *status)
{
	while (id < ada_module_count() && ada_modules[id].state != ADA_MODULE_KNOWN)
		id++;
	if (id < ada_module_count() && !*status)
		*status = ada_connect_ask(conversation, id, ada_modules[id].flags);
	return id;
}

static int modules_plan(struct ada_conversation *conversation, uint32_t first)
{
	int status = 0;
	uint32_t id = ask_from(conversation, first, &status);

	while (id < ada_module_count() && !status) {
		uint32_t next = ask_from(conversation, id + 1, &status);

		if (!status)
			status = module_plan(conversation, id);
		id = next;
	}
	return status;
}

/* Notes what is in the loader's list, and forgets what was. */
static void modules_remove_gone(struct ada_conversation *conversation)
{
	static uint32_t round;
	struct ada_place *place;

	round++;
	for (const struct link_map *map = ada_places_list(); map; map = map->l_next)
		if ((place = ada_place_of(map)))
			place->round = round;
	for (uint32_t id = 0; id < ada_module_count(); id++) {
		place = ada_modules[id].state == ADA_MODULE_GONE ? NULL : ada_place_find(ada_modules[id].map);
		if (ada_modules[id].state == ADA_MODULE_GONE || (place && place->round == round))
			continue;
		ada_modules[id].state = ADA_MODULE_GONE;
		ada_modules[id].segment_count = 0; /* they lay in its memory */
		ada_module_entry(id)->unload_counter = ada_sys_counter();
		__atomic_store_n(&ada_module_entry(id)->present, 2, __ATOMIC_RELEASE);
		if (conversation)
			ada_connect_unload(conversation, id);
	}
	ada_places_keep(round);
}

/* A module that is known is planned already, or never will be: code that may be running by now is not patched any more. */
int ada_module_scan(struct ada_conversation *conversation, const uint64_t *auxiliary)
{
	struct ada_shm *shm = ada_core_shm();
	uint32_t first;
	int status = 0;

	modules_remove_gone(conversation);
	first = ada_module_count();
	for (const struct link_map *map = ada_places_list(); map && !status; map = map->l_next) {
		uint32_t id;

		if (ada_place_find(map))
			continue;
		id = module_again(map, conversation);
		if (id == ADA_NONE && ada_module_count() < ADA_MODULES_MAX)
			id = module_add(map, shm, auxiliary);
		if (id == ADA_NONE)
			__atomic_fetch_add(&shm->modules_refused, 1, __ATOMIC_RELAXED);
		status = ada_place_put(map, id) ? 0 : -ENOMEM;
	}
	if (status)
		ada_core_disable(ADA_DISABLE_NO_MEMORY);
	/* All modules are in the table before the first is hooked: an event may only name a module that the segment holds. */
	if (conversation && !status)
		status = modules_plan(conversation, first);
	ada_text_publish();
	return status;
}

void ada_module_scan_imports(void)
{
	for (uint32_t id = 0; id < ada_module_count(); id++) {
		if (ada_modules[id].state != ADA_MODULE_PLANNED)
			continue;
		ada_modules[id].state = ADA_MODULE_DONE;
		if (ada_modules[id].reply & ADA_PLAN_REPLY_IMPORTS)
			ada_got_apply(&ada_modules[id], id);
	}
}

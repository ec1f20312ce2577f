/* See apply.h. Trampoline: saves flags below the red zone, counts twice (all, this hook), restores, runs the body. */
#include "apply.h"
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "tables.h"

#define SLOT_BYTES 352u /* trampoline up to 96, body up to 255 */
#define BODY_AT 96u

static uint64_t *counters;

/* Memory within reach of the library: tried downwards from its start. */
static uint8_t *map_near(uint64_t near, size_t bytes)
{
	for (uint64_t at = (near - bytes) & ~0xfffull; at > 0x10000 && near - at < 1u << 30; at -= 1 << 20) {
		void *memory = mmap((void *)at, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (memory != MAP_FAILED)
			return memory;
	}
	return NULL;
}

static uint8_t *emit_count(uint8_t *at, const uint64_t *counter)
{
	int32_t distance;

	*at++ = 0x48, *at++ = 0xff, *at++ = 0x05; /* incq counter(%rip) */
	distance = (int32_t)((intptr_t)counter - (intptr_t)(at + 4));
	memcpy(at, &distance, 4);
	return at + 4;
}

static void emit_jump(uint8_t *at, const uint8_t *to)
{
	int32_t distance = (int32_t)(to - (at + 5));

	*at = 0xe9;
	memcpy(at + 1, &distance, 4);
}

static void build(uint8_t *slot, const struct ada_plan *plan, const struct ada_plan_hook *hook, uint64_t bias, uint64_t *counter)
{
	static const uint8_t before[] = { 0x48, 0x8d, 0xa4, 0x24, 0x80, 0xff, 0xff, 0xff, 0x9c }; /* lea -128(%rsp),%rsp; pushfq */
	static const uint8_t after[] = { 0x9d, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0x00, 0x00, 0x00 };  /* popfq; lea 128(%rsp),%rsp */
	const struct ada_plan_reloc *reloc = relocs_of(plan, hook);
	uint8_t *at = slot, *body = slot + BODY_AT;

	memcpy(at, before, sizeof before);
	at = emit_count(at + sizeof before, counters);
	at = emit_count(at, counter);
	memcpy(at, after, sizeof after);
	emit_jump(at + sizeof after, body);
	memcpy(body, body_of(plan, hook), hook->body_bytes);
	for (unsigned i = 0; i < hook->reloc_count; i++, reloc++) {
		uint64_t value = reloc->target + bias + (uint64_t)reloc->addend;
		uint32_t field = reloc->kind == ADA_RELOC_REL32 ? (uint32_t)(value - (uint64_t)(body + reloc->offset)) :
				 reloc->kind == ADA_RELOC_LOW32 ? (uint32_t)value :
								  (uint32_t)(value >> 32);

		memcpy(body + reloc->offset, &field, 4);
	}
}

static bool bytes_fit(const struct ada_plan_hook *hook, uint64_t bias)
{
	bool fit = !memcmp((uint8_t *)(hook->patch_address + bias), hook->expected, hook->patch_bytes) &&
		   (hook->form != ADA_PATCH_ISLAND || !memcmp((uint8_t *)(hook->island_address + bias), hook->island_expected, 5));

	if (!fit)
		fprintf(stderr, "bytes differ at 0x%llx\n", (unsigned long long)hook->patch_address);
	return fit;
}

static void patch(const struct ada_plan_hook *hook, uint64_t bias, const uint8_t *slot)
{
	uint8_t *at = (uint8_t *)(hook->patch_address + bias), *island = (uint8_t *)(hook->island_address + bias);

	if (hook->form != ADA_PATCH_ISLAND) {
		emit_jump(at, slot);
		return;
	}
	emit_jump(island, slot);
	at[0] = 0xeb;
	at[1] = (uint8_t)(island - (at + 2));
}

static int unprotect(uint64_t bias, const struct ada_plan_header *header)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t start, end;
	int result = 0;
	char mode[5];

	while (maps && fgets(line, sizeof line, maps))
		if (sscanf(line, "%lx-%lx %4s", &start, &end, mode) == 3 && mode[2] == 'x' && start >= bias + header->address_start &&
		    end <= ((bias + header->address_end + 0xfff) & ~0xfffull))
			result |= mprotect((void *)start, end - start, PROT_READ | PROT_WRITE | PROT_EXEC);
	if (maps)
		fclose(maps);
	return result;
}

void *apply_load(const char *path, uint64_t **calls, struct ada_plan **plan)
{
	struct ada_plan_options options = { .decode = true, .no_cache = true };
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct ada_plan_header *header;
	struct ada_error error = { 0 };
	struct link_map *map = NULL;
	uint8_t *slots;

	if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map)) {
		fprintf(stderr, "%s\n", dlerror());
		return NULL;
	}
	if (ada_plan_open(plan, map->l_name, &options, &error)) {
		fprintf(stderr, "%s\n", error.text);
		return NULL;
	}
	header = ada_plan_header(*plan);
	slots = map_near(map->l_addr, (size_t)header->hook_count * (SLOT_BYTES + 8) + 4096);
	if (!slots || unprotect(map->l_addr, header))
		return NULL;
	counters = (uint64_t *)(slots + (size_t)header->hook_count * SLOT_BYTES);
	for (uint32_t i = 0; i < header->hook_count; i++)
		build(slots + (size_t)i * SLOT_BYTES, *plan, &ada_plan_hooks(*plan)[i], map->l_addr, &counters[1 + i]);
	for (uint32_t i = 0; i < header->hook_count; i++)
		if (!bytes_fit(&ada_plan_hooks(*plan)[i], map->l_addr))
			return NULL;
	for (uint32_t i = 0; i < header->hook_count; i++)
		patch(&ada_plan_hooks(*plan)[i], map->l_addr, slots + (size_t)i * SLOT_BYTES);
	*calls = counters;
	return library;
}

uint64_t apply_count(uint32_t hook)
{
	return counters[1 + hook];
}

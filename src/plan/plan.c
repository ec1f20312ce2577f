/* Opens a plan from the cache, or makes it anew and puts it there. plan.h says where the cache lies. */
#include "plan/plan.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/directory.h"
#include "base/file.h"
#include "base/hash.h"
#include "plan/file/file.h"
#include "plan/planner.h"
#include "planner_hash.h"

struct ada_plan {
	const uint8_t *memory;
	uint64_t bytes;
	int fd;
};

/* A number that differs between files of one build-id (one stripped, one not, one edited, debug information installed
 * since) and between planners. */
static uint64_t file_identity(const struct ada_elf *elf)
{
	struct ada_elf *debug = ada_elf_section_named(elf, ".symtab") ? NULL : ada_elf_open_debug(elf);
	uint64_t words[] = { elf->length, 0, 0, debug ? debug->length : 0, ADA_PLANNER_HASH };
	const uint64_t headers = ada_read64(elf->bytes + offsetof(Elf64_Ehdr, e_shoff));

	words[1] = ada_hash_bytes(elf->bytes, elf->length < 4096 ? elf->length : 4096);
	if (headers < elf->length)
		words[2] = ada_hash_bytes(elf->bytes + headers, elf->length - headers < 4096 ? elf->length - headers : 4096);
	ada_elf_close(debug);
	return ada_hash_bytes(words, sizeof words);
}

/* The directory of plans, and this plan's name there; without a build-id the name comes from the contents. */
struct cache {
	int directory;
	char name[2 * ADA_ELF_BUILD_ID_MAX + 48];
};

static void cache_name(const struct ada_elf *elf, const struct ada_plan_options *options, struct cache *cache)
{
	size_t at = 0, room = sizeof cache->name;

	if (elf->build_id_bytes)
		for (uint32_t i = 0; i < elf->build_id_bytes; i++)
			at += (size_t)snprintf(cache->name + at, room - at, "%02x", elf->build_id[i]);
	else
		at += (size_t)snprintf(cache->name, room, "hash-%016llx", (unsigned long long)ada_hash_bytes(elf->bytes, elf->length));
	snprintf(cache->name + at, room - at, "-%s%s.%u", options->decode ? "full" : "names", options->int3 ? "-int3" : "",
		 ADA_PLAN_VERSION);
}

/* Another user's home (root with that user's environment) has no cache for us: we leave nothing in it. */
int ada_plan_cache(const char *name)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char path[PATH_MAX];
	int status = -ENOENT;

	if (base && base[0] == '/')
		status = ada_path(path, "%s/ada/%s", base, name);
	else if (home && home[0] == '/')
		status = ada_path(path, "%s/.cache/ada/%s", home, name);
	return status ? status : ada_directory_open(path, ADA_DIRECTORY_MAKE | ADA_DIRECTORY_OURS, NULL, NULL);
}

static int cache_open(struct cache *cache)
{
	cache->directory = ada_plan_cache("plans");
	return cache->directory < 0 ? cache->directory : 0;
}

static void set_identity(uint8_t *bytes, uint64_t identity)
{
	memcpy(bytes + offsetof(struct ada_plan_header, reserved), &identity, sizeof identity);
}

/* 0 if the cached file is this plan; the plan is then mapped. */
static int open_cached(struct ada_plan *plan, const struct cache *cache, uint64_t identity)
{
	int fd = openat(cache->directory, cache->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	void *memory;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 022) ||
	    status.st_size < (off_t)sizeof(struct ada_plan_header))
		goto unusable;
	memory = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (memory == MAP_FAILED)
		goto unusable;
	if (memcmp((uint8_t *)memory + offsetof(struct ada_plan_header, reserved), &identity, sizeof identity) ||
	    ada_plan_check(memory, (uint64_t)status.st_size, NULL)) {
		munmap(memory, (size_t)status.st_size);
		goto unusable;
	}
	plan->memory = memory;
	plan->bytes = (uint64_t)status.st_size;
	plan->fd = fd;
	return 0;
unusable:
	close(fd);
	return -EBADMSG;
}

static int open_memory(struct ada_plan *plan, const uint8_t *bytes, uint64_t length, const char *name, struct ada_error *error)
{
	int fd = memfd_create("ada-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *memory;

	if (fd < 0 || ada_file_write_all(fd, bytes, length) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0 ||
	    (memory = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED) {
		int code = errno;

		if (fd >= 0)
			close(fd);
		return ada_error_system(error, code, "%s: no memory for its plan", name);
	}
	plan->memory = memory;
	plan->bytes = length;
	plan->fd = fd;
	return 0;
}

/* `cache` may be NULL. */
static int plan_make(struct ada_plan *plan, const struct ada_elf *elf, const struct ada_plan_options *options, const struct cache *cache,
		     uint64_t identity, struct ada_error *error)
{
	uint8_t *bytes = NULL;
	uint64_t length;
	int status = ada_planner_run(elf, options, &bytes, &length, error);

	if (status)
		return status;
	set_identity(bytes, identity);
	/* A program waits for its plan, and should not wait for a disk: a file that a power failure cut fails its checks. */
	if (!cache || ada_file_replace_at(cache->directory, cache->name, bytes, length, false) || open_cached(plan, cache, identity))
		status = open_memory(plan, bytes, length, elf->path, error);
	free(bytes);
	return status;
}

int ada_plan_open(struct ada_plan **plan, const char *path, const struct ada_plan_options *options, struct ada_error *error)
{
	struct ada_plan *opened = calloc(1, sizeof *opened);
	struct cache cache = { .directory = -1 };
	struct ada_elf *elf = NULL;
	uint64_t identity;
	bool use_cache;
	int status;

	*plan = NULL;
	if (!opened)
		return ada_error_set(error, ENOMEM, "%s: out of memory", path);
	opened->fd = -1;
	status = ada_elf_open(&elf, path, error);
	if (status)
		goto out;
	if (elf->kind == ADA_ELF_DEBUG) {
		status = ada_error_set(error, ENOEXEC, "%s: debug information only, no program", path);
		goto out;
	}
	use_cache = !options->no_cache && !cache_open(&cache);
	if (use_cache)
		cache_name(elf, options, &cache);
	identity = file_identity(elf);
	if (!use_cache || open_cached(opened, &cache, identity))
		status = plan_make(opened, elf, options, use_cache ? &cache : NULL, identity, error);
out:
	if (cache.directory >= 0)
		close(cache.directory);
	ada_elf_close(elf);
	if (status)
		ada_plan_close(opened);
	else
		*plan = opened;
	return status;
}

void ada_plan_close(struct ada_plan *plan)
{
	if (!plan)
		return;
	if (plan->memory)
		munmap((void *)plan->memory, plan->bytes);
	if (plan->fd >= 0)
		close(plan->fd);
	free(plan);
}

int ada_plan_fd(const struct ada_plan *plan)
{
	return plan->fd;
}

uint64_t ada_plan_bytes(const struct ada_plan *plan)
{
	return plan->bytes;
}

const struct ada_plan_header *ada_plan_header(const struct ada_plan *plan)
{
	return (const void *)plan->memory;
}

const struct ada_plan_function *ada_plan_functions(const struct ada_plan *plan)
{
	return (const void *)(plan->memory + ada_plan_header(plan)->functions_offset);
}

const struct ada_plan_hook *ada_plan_hooks(const struct ada_plan *plan)
{
	return (const void *)(plan->memory + ada_plan_header(plan)->hooks_offset);
}

const struct ada_plan_import *ada_plan_imports(const struct ada_plan *plan)
{
	return (const void *)(plan->memory + ada_plan_header(plan)->imports_offset);
}

uint32_t ada_plan_copied(const struct ada_plan *plan, const struct ada_plan_hook *hook)
{
	const struct ada_plan_header *header = ada_plan_header(plan);
	const struct ada_plan_origin *origin = (const void *)((const char *)header + header->origins_offset);
	const struct ada_plan_reloc *reloc = (const void *)((const char *)header + header->relocs_offset);
	uint32_t copied;

	if (hook->patch_bytes < sizeof hook->expected)
		return hook->patch_bytes;
	/* Many instructions in a row have one origin, if they are copied as they are. */
	for (origin += hook->origin_first; origin[1].body != ADA_ORIGIN_END; origin++)
		continue;
	copied = origin->original + hook->body_bytes - origin->body;
	/* A jump back behind them is no copy. */
	reloc += hook->reloc_first;
	for (unsigned i = 0; i < hook->reloc_count; i++)
		if (reloc[i].offset + sizeof(int32_t) == hook->body_bytes && reloc[i].kind == ADA_RELOC_REL32 &&
		    reloc[i].target == hook->patch_address + copied - ADA_JUMP_BYTES)
			return copied - ADA_JUMP_BYTES;
	return copied;
}

const char *ada_plan_string(const struct ada_plan *plan, uint32_t offset)
{
	const struct ada_plan_header *header = ada_plan_header(plan);

	return offset < header->strings_bytes ? (const char *)plan->memory + header->strings_offset + offset : "";
}

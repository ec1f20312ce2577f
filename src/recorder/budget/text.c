#include "recorder/budget/text.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "abi/trampoline.h"

#define CALL_THROUGH_MEMORY 0x15ffu /* how a trampoline begins, read as a number */
#define BLOCK_BYTES (4 * ADA_PAGE_BYTES)
#define SETS 512u
#define WAYS 4u /* a module's text, its trampolines and its near stubs lie side by side in a set, wherever the kernel put them */

/* What was read of the memory, by block: one costs little more than a word, and functions that go out together are called from the same
 * blocks. */
struct block {
	uint64_t number, time; /* of the block; of all times that something was remembered */
	uint32_t count;	       /* bytes that are there: a mapping may end in it */
	uint8_t bytes[BLOCK_BYTES];
};
static struct block (*blocks)[WAYS]; /* all texts', SETS of them; NULL: there was no memory for it */

static bool get_now(const struct ada_text *text, uint64_t at, void *bytes, size_t count)
{
	return pread(text->memory, bytes, count, (off_t)at) == (ssize_t)count;
}

/* Where the block is, or is to be read to: a place that nobody needs any more comes first, so that no more memory is touched than is of use. */
static struct block *block_of(uint64_t number, uint64_t time)
{
	struct block *set = blocks[number % SETS], *place = NULL;

	for (unsigned way = 0; way < WAYS; way++) {
		if (set[way].time == time && set[way].number == number)
			return &set[way];
		if (!place && set[way].time != time)
			place = &set[way];
	}
	return place ? place : &set[number / SETS % WAYS];
}

/* As it was when it was first looked at since ada_text_remember. */
bool ada_text_get(const struct ada_text *text, uint64_t at, void *bytes, size_t count)
{
	uint64_t number = at / BLOCK_BYTES, offset = at % BLOCK_BYTES;
	struct block *block = text->time ? block_of(number, text->time) : NULL;
	ssize_t got;

	if (block && (block->number != number || block->time != text->time)) {
		got = pread(text->memory, block->bytes, sizeof block->bytes, (off_t)(at - offset));
		block->number = number;
		block->time = text->time;
		block->count = got > 0 ? (uint32_t)got : 0;
	}
	if (!block || offset + count > block->count)
		return get_now(text, at, bytes, count);
	memcpy(bytes, block->bytes + offset, count);
	return true;
}

void ada_text_forget(struct ada_text *text)
{
	text->time = 0;
}

/* From the kernel, since most of it is never touched: an allocator may have to clear all of it. And for good: to clear it each time took as
 * long as to read. */
void ada_text_remember(struct ada_text *text)
{
	static uint64_t time;
	void *memory = blocks ? blocks : mmap(NULL, SETS * sizeof *blocks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	blocks = memory == MAP_FAILED ? NULL : memory;
	text->time = blocks ? ++time : 0;
}

bool ada_text_is_hook(const struct ada_text *text, uint64_t code, uint64_t function_id)
{
	uint64_t id;

	return ada_text_get(text, code + ADA_TRAMPOLINE_DATA + ADA_TRAMPOLINE_DATA_FUNCTION, &id, sizeof id) && id == function_id;
}

/* A process that has executed something else, or whose fork hasn't taken its own segment yet, has not this segment there. What an image
 * has once been found to have, it has as long as its memory is open here. */
static bool has_segment(const struct ada_text *text, const struct ada_shm *shm)
{
	uint64_t at = __atomic_load_n(&shm->at, __ATOMIC_ACQUIRE);
	struct ada_shm there;

	return at && get_now(text, at, &there, sizeof there) && !memcmp(there.magic, shm->magic, sizeof there.magic) && there.at == at &&
	       there.pid == shm->pid && there.provider == shm->provider && there.ready.number == shm->ready.number;
}

int ada_text_open(struct ada_text *text, const struct ada_provider *provider)
{
	char path[40];

	*text = (struct ada_text){ .memory = -1 };
	snprintf(path, sizeof path, "/proc/%d/mem", provider->pid);
	text->memory = open(path, O_RDWR | O_CLOEXEC);
	if (text->memory < 0)
		return -errno;
	if (has_segment(text, provider->segment.shm))
		return 0;
	ada_text_close(text);
	return -EAGAIN;
}

void ada_text_close(struct ada_text *text)
{
	if (text->memory >= 0)
		close(text->memory);
	text->memory = -1;
	ada_text_forget(text);
	ada_array_free(&text->modules);
	ada_array_free(&text->slots);
	ada_array_free(&text->mutexes);
	ada_array_free(&text->calls);
}

static int compare_slots(const void *left, const void *right)
{
	const struct ada_text_slot *a = left, *b = right;

	return (a->function_id > b->function_id) - (a->function_id < b->function_id);
}

static void look_at_slot(struct ada_text *text, uint64_t at)
{
	struct ada_text_slot slot = { .at = at };
	uint16_t begin;
	uint64_t data;

	if (at % sizeof slot.trampoline || !ada_text_get(text, at, &slot.trampoline, sizeof slot.trampoline) ||
	    slot.trampoline % ADA_TEXT_CELL_BYTES || !ada_text_get(text, slot.trampoline, &begin, sizeof begin) ||
	    begin != CALL_THROUGH_MEMORY)
		return;
	data = slot.trampoline + ADA_TRAMPOLINE_DATA;
	if (ada_text_get(text, data + ADA_TRAMPOLINE_DATA_FUNCTION, &slot.function_id, sizeof slot.function_id) &&
	    ada_text_get(text, data + ADA_TRAMPOLINE_DATA_TARGET, &slot.target, sizeof slot.target) && slot.target &&
	    ADA_FUNCTION_MODULE(slot.function_id) < text->modules.count)
		ada_array_push(&text->slots, slot); /* without memory: one that stays as it is */
}

/* A process has at most a few: those of libc. */
static void look_for_mutexes(struct ada_text *text, uint32_t id)
{
	const struct ada_plan *plan = text->modules.items[id].plan;

	for (uint32_t i = 0; plan && i < ada_plan_header(plan)->function_count; i++)
		if (ada_plan_functions(plan)[i].flags & ADA_FUNCTION_MUTEX)
			ada_array_push(&text->mutexes, ADA_FUNCTION_ID(id, i)); /* without memory: one that --debug-flip leaves alone */
}

void ada_text_look(struct ada_text *text, struct ada_provider *provider)
{
	uint32_t count = ada_segment_module_count(&provider->segment);

	text->modules.count = text->slots.count = text->mutexes.count = 0;
	if (ada_array_reserve(&text->modules, count))
		return;
	ada_text_remember(text);
	pthread_mutex_lock(&provider->facts);
	for (uint32_t id = 0; id < count; id++) {
		const struct ada_shm_module *module = &provider->segment.modules[id];
		const struct ada_module_state *state = id < provider->modules.count ? &provider->modules.items[id] : NULL;
		bool there = state && state->planned && state->planned->plan && __atomic_load_n(&module->present, __ATOMIC_ACQUIRE) == 1;

		text->modules.items[text->modules.count++] = (struct ada_text_module){
			.plan = there ? state->planned->plan : NULL,
			.base = module->base,
			.traced = there && state->traced && ada_plan_header(state->planned->plan)->flags & ADA_PLAN_DECODED
		};
	}
	pthread_mutex_unlock(&provider->facts);
	for (uint32_t id = 0; id < count; id++) {
		const struct ada_text_module *module = &text->modules.items[id];

		for (uint32_t i = 0; module->traced && i < ada_plan_header(module->plan)->import_count; i++)
			look_at_slot(text, module->base + ada_plan_imports(module->plan)[i].slot);
		look_for_mutexes(text, id);
	}
	if (text->slots.count)
		qsort(text->slots.items, text->slots.count, sizeof *text->slots.items, compare_slots);
	ada_text_forget(text);
}

int ada_text_copy(struct ada_text *text, const struct ada_text *from)
{
	if (ada_array_reserve(&text->modules, from->modules.count) || ada_array_reserve(&text->slots, from->slots.count) ||
	    ada_array_reserve(&text->mutexes, from->mutexes.count) || ada_array_reserve(&text->calls, from->calls.count))
		return -ENOMEM;
	text->modules.count = text->slots.count = text->mutexes.count = text->calls.count = 0;
	for (size_t i = 0; i < from->modules.count; i++)
		text->modules.items[text->modules.count++] = from->modules.items[i];
	for (size_t i = 0; i < from->slots.count; i++)
		text->slots.items[text->slots.count++] = from->slots.items[i];
	for (size_t i = 0; i < from->mutexes.count; i++)
		text->mutexes.items[text->mutexes.count++] = from->mutexes.items[i];
	for (size_t i = 0; i < from->calls.count; i++)
		text->calls.items[text->calls.count++] = from->calls.items[i];
	return 0;
}

const struct ada_text_module *ada_text_module_of(const struct ada_text *text, uint64_t function_id,
						 const struct ada_plan_function **function)
{
	uint32_t id = ADA_FUNCTION_MODULE(function_id), symbol = ADA_FUNCTION_SYMBOL(function_id);
	const struct ada_text_module *module = id < text->modules.count ? &text->modules.items[id] : NULL;

	if (!module || !module->plan || symbol >= ada_plan_header(module->plan)->function_count)
		return NULL;
	*function = &ada_plan_functions(module->plan)[symbol];
	return module;
}

bool ada_text_may_pass(const struct ada_text *text, uint64_t function_id)
{
	const struct ada_plan_function *function;
	const struct ada_text_module *module = ada_text_module_of(text, function_id, &function);

	if (!module || function->flags & (ADA_FUNCTION_MUTEX | ADA_FUNCTION_OBJECTS | ADA_FUNCTION_INTERCEPT))
		return false;
	if (!module->traced) {
		size_t at = ada_array_below(&text->slots, function_id, function_id);

		return at < text->slots.count && text->slots.items[at].function_id == function_id;
	}
	return function->hook < ada_plan_header(module->plan)->hook_count;
}

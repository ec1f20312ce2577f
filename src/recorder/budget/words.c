#include "recorder/budget/words.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "abi/trampoline.h"

#define WORDS_MAX 20000u
#define NEAR_BYTES 256u /* a jump of two bytes reaches no further */
#define CELL_BYTES 64u
#define CALL_THROUGH_MEMORY 0x15ffu /* how a trampoline begins, read as a number */

static struct ada_text_blocks *blocks; /* all texts'; NULL: there was no memory for it */

static bool is_in_one_page(uint64_t at, uint32_t bytes)
{
	return at / ADA_PAGE_BYTES == (at + bytes - 1) / ADA_PAGE_BYTES;
}

static bool get_now(const struct ada_text *text, uint64_t at, void *bytes, size_t count)
{
	return pread(text->memory, bytes, count, (off_t)at) == (ssize_t)count;
}

/* As it was when it was first looked at since ada_text_remember. */
static bool get(const struct ada_text *text, uint64_t at, void *bytes, size_t count)
{
	uint64_t number = at / ADA_TEXT_BLOCK_BYTES, offset = at % ADA_TEXT_BLOCK_BYTES;
	struct ada_text_block *block = text->time ? &blocks->items[number % ADA_TEXT_BLOCKS] : NULL;
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
	void *memory = blocks ? blocks : mmap(NULL, sizeof *blocks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	blocks = memory == MAP_FAILED ? NULL : memory;
	text->time = blocks ? ++time : 0;
}

/* Whether the trampoline or near stub at that address is the function's. */
static bool is_hook_of(const struct ada_text *text, uint64_t code, uint64_t function_id)
{
	uint64_t id;

	return get(text, code + ADA_TRAMPOLINE_DATA + ADA_TRAMPOLINE_DATA_FUNCTION, &id, sizeof id) && id == function_id;
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

	if (at % sizeof slot.trampoline || !get(text, at, &slot.trampoline, sizeof slot.trampoline) || slot.trampoline % CELL_BYTES ||
	    !get(text, slot.trampoline, &begin, sizeof begin) || begin != CALL_THROUGH_MEMORY)
		return;
	data = slot.trampoline + ADA_TRAMPOLINE_DATA;
	if (get(text, data + ADA_TRAMPOLINE_DATA_FUNCTION, &slot.function_id, sizeof slot.function_id) &&
	    get(text, data + ADA_TRAMPOLINE_DATA_TARGET, &slot.target, sizeof slot.target) && slot.target &&
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
	    ada_array_reserve(&text->mutexes, from->mutexes.count))
		return -ENOMEM;
	text->modules.count = text->slots.count = text->mutexes.count = 0;
	for (size_t i = 0; i < from->modules.count; i++)
		text->modules.items[text->modules.count++] = from->modules.items[i];
	for (size_t i = 0; i < from->slots.count; i++)
		text->slots.items[text->slots.count++] = from->slots.items[i];
	for (size_t i = 0; i < from->mutexes.count; i++)
		text->mutexes.items[text->mutexes.count++] = from->mutexes.items[i];
	return 0;
}

/* The function's module, and the function; NULL: its plan isn't known. */
static const struct ada_text_module *module_of(const struct ada_text *text, uint64_t function_id, const struct ada_plan_function **function)
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
	const struct ada_text_module *module = module_of(text, function_id, &function);

	if (!module || function->flags & (ADA_FUNCTION_MUTEX | ADA_FUNCTION_OBJECTS | ADA_FUNCTION_INTERCEPT))
		return false;
	if (!module->traced) {
		size_t at = ada_array_below(&text->slots, function_id, function_id);

		return at < text->slots.count && text->slots.items[at].function_id == function_id;
	}
	return function->hook < ada_plan_header(module->plan)->hook_count;
}

static bool is_host(const struct ada_plan *plan, uint32_t number)
{
	const struct ada_plan_hook *hooks = ada_plan_hooks(plan);
	uint32_t count = ada_plan_header(plan)->hook_count, first = number, end = number + 1;

	while (first && hooks[number].patch_address - hooks[first - 1].patch_address < NEAR_BYTES)
		first--;
	while (end < count && hooks[end].patch_address - hooks[number].patch_address < NEAR_BYTES)
		end++;
	for (uint32_t i = first; i < end; i++)
		if (hooks[i].host && (int64_t)i + hooks[i].host == number)
			return true;
	return false;
}

/* A thread may be in such a call when the patch comes back. */
static bool returns_into(const struct ada_plan *plan, const struct ada_plan_hook *hook)
{
	const struct ada_plan_header *header = ada_plan_header(plan);
	const struct ada_plan_reloc *reloc = (const struct ada_plan_reloc *)((const char *)header + header->relocs_offset);

	reloc += hook->reloc_first;
	for (uint32_t i = 0; i < hook->reloc_count; i++)
		if (reloc[i].kind == ADA_RELOC_LOW32 &&
		    reloc[i].target + (uint64_t)reloc[i].addend - (hook->patch_address + 1) < ADA_JUMP_BYTES - 1)
			return true;
	return false;
}

/* Where the 5-byte jump at that address leads; 0: there is none. */
static uint64_t jump_target(const struct ada_text *text, uint64_t at)
{
	uint8_t bytes[ADA_JUMP_BYTES];
	int32_t distance;

	if (!get(text, at, bytes, sizeof bytes) || bytes[0] != ADA_JUMP_OPCODE)
		return 0;
	memcpy(&distance, bytes + 1, sizeof distance);
	return at + sizeof bytes + (uint64_t)(int64_t)distance;
}

static enum ada_fixed find_patch(struct ada_words *words, const struct ada_text *text, const struct ada_text_module *module,
				 uint32_t number, uint64_t function_id)
{
	const struct ada_plan_hook *hook = &ada_plan_hooks(module->plan)[number];
	bool by_island = hook->form == ADA_PATCH_ISLAND;
	struct ada_word word = { .at = module->base + hook->patch_address, .bytes = by_island ? ADA_SHORT_BYTES : ADA_JUMP_BYTES };
	uint64_t jump = word.at;

	if (hook->form < ADA_PATCH_JUMP || hook->form > ADA_PATCH_NOP || hook->patch_bytes < word.bytes)
		return ADA_FIXED_UNKNOWN;
	if (is_host(module->plan, number))
		return ADA_FIXED_HOST;
	if (returns_into(module->plan, hook))
		return ADA_FIXED_CALL;
	if (!is_in_one_page(word.at, word.bytes))
		return ADA_FIXED_PAGES;
	memcpy(word.out, hook->expected, word.bytes);
	if (!get(text, word.at, word.in, word.bytes))
		return ADA_FIXED_UNKNOWN;
	if (by_island) {
		jump = module->base + hook->island_address;
		if (word.in[0] != ADA_SHORT_OPCODE || word.at + ADA_SHORT_BYTES + (uint64_t)(int64_t)(int8_t)word.in[1] != jump)
			return ADA_FIXED_UNKNOWN;
	}
	jump = jump_target(text, jump);
	if (!jump || !is_hook_of(text, jump, function_id))
		return ADA_FIXED_UNKNOWN;
	words->patch = true;
	words->copied = ada_plan_copied(module->plan, hook);
	words->copied = words->copied > word.bytes ? words->copied : word.bytes;
	return ada_array_push(&words->items, word) ? ADA_FIXED_UNKNOWN : ADA_FIXED_NOT;
}

/* Of the near stub at that address; one that can't be read has not. */
static bool was_called(const struct ada_text *text, uint64_t code)
{
	uint64_t stub;
	uint8_t passed;

	code += ADA_TRAMPOLINE_DATA;
	return get(text, code + ADA_TRAMPOLINE_DATA_STUB, &stub, sizeof stub) &&
	       get(text, code + ADA_TRAMPOLINE_DATA_PASSED, &passed, sizeof passed) && (stub || passed & ADA_TRAMPOLINE_PASSED);
}

static enum ada_fixed find_call(struct ada_words *words, const struct ada_text *text, uint64_t behind, uint64_t function,
				uint64_t function_id)
{
	int32_t plain = (int32_t)(function - behind), distance;
	struct ada_word word = { .at = behind - sizeof distance, .bytes = sizeof distance };

	if (!get(text, word.at, &distance, sizeof distance))
		return ADA_FIXED_UNKNOWN;
	if (distance == plain)
		return ADA_FIXED_NOT; /* it isn't bound */
	if (!is_in_one_page(word.at, word.bytes))
		return ADA_FIXED_PAGES;
	if (words->items.count == WORDS_MAX)
		return ADA_FIXED_MANY;
	if (!is_hook_of(text, behind + (uint64_t)(int64_t)distance, function_id))
		return ADA_FIXED_UNKNOWN;
	if (!was_called(text, behind + (uint64_t)(int64_t)distance))
		return ADA_FIXED_NOT;
	memcpy(word.in, &distance, sizeof distance);
	memcpy(word.out, &plain, sizeof plain);
	return ada_array_push(&words->items, word) ? ADA_FIXED_UNKNOWN : ADA_FIXED_NOT;
}

static enum ada_fixed find_calls(struct ada_words *words, const struct ada_text *text, const struct ada_text_module *module,
				 uint32_t number, uint64_t function_id)
{
	const struct ada_plan_header *header = ada_plan_header(module->plan);
	const struct ada_plan_call *calls = (const struct ada_plan_call *)((const char *)header + header->calls_offset);
	uint64_t function = module->base + ada_plan_functions(module->plan)[ADA_FUNCTION_SYMBOL(function_id)].address;
	enum ada_fixed fixed = ADA_FIXED_NOT;

	for (uint64_t i = ada_first_not(n, 0, header->call_count, calls[n].hook < number);
	     i < header->call_count && calls[i].hook == number && !fixed; i++)
		fixed = find_call(words, text, module->base + header->address_start + calls[i].behind, function, function_id);
	return fixed;
}

static enum ada_fixed find_slots(struct ada_words *words, const struct ada_text *text, uint64_t function_id)
{
	for (size_t i = ada_array_below(&text->slots, function_id, function_id);
	     i < text->slots.count && text->slots.items[i].function_id == function_id; i++) {
		const struct ada_text_slot *slot = &text->slots.items[i];
		struct ada_word word = { .at = slot->at, .bytes = sizeof slot->target };

		memcpy(word.in, &slot->trampoline, sizeof slot->trampoline);
		memcpy(word.out, &slot->target, sizeof slot->target);
		if (ada_array_push(&words->items, word))
			return ADA_FIXED_UNKNOWN;
	}
	return words->items.count ? ADA_FIXED_NOT : ADA_FIXED_UNKNOWN;
}

/* Where the patch of the function whose trampoline begins there may lead instead; 0: it has no filter. */
static uint64_t filter_of(const struct ada_text *text, uint64_t trampoline, uint64_t function_id)
{
	uint64_t filter;

	if (!get(text, trampoline + ADA_TRAMPOLINE_DATA + ADA_TRAMPOLINE_DATA_FILTER, &filter, sizeof filter) || !filter ||
	    !is_hook_of(text, filter / CELL_BYTES * CELL_BYTES, function_id))
		return 0;
	return filter;
}

/* The jump alone changes, wherever its patch has it, and stays a jump: so no thread can be in its way. */
static enum ada_fixed find_filter(struct ada_words *words, const struct ada_text *text, const struct ada_text_module *module,
				  uint32_t number, uint64_t function_id)
{
	const struct ada_plan_hook *hook = &ada_plan_hooks(module->plan)[number];
	bool by_island = hook->form == ADA_PATCH_ISLAND;
	struct ada_word word = { .at = module->base + (by_island ? hook->island_address : hook->patch_address), .bytes = ADA_JUMP_BYTES };
	uint64_t jump = jump_target(text, word.at), filter = jump ? filter_of(text, jump, function_id) : 0;
	int64_t distance = (int64_t)(filter - (word.at + ADA_JUMP_BYTES));
	int32_t field = (int32_t)distance;

	if (!filter || distance != field)
		return ADA_FIXED_OBJECTS;
	if (!is_in_one_page(word.at, word.bytes))
		return ADA_FIXED_PAGES;
	if (!is_hook_of(text, jump, function_id) || !get(text, word.at, word.in, word.bytes))
		return ADA_FIXED_UNKNOWN;
	word.out[0] = ADA_JUMP_OPCODE;
	memcpy(word.out + 1, &field, sizeof field);
	words->filters = true;
	return ada_array_push(&words->items, word) ? ADA_FIXED_UNKNOWN : find_calls(words, text, module, number, function_id);
}

enum ada_fixed ada_words_find(struct ada_words *words, const struct ada_text *text, uint64_t function_id)
{
	const struct ada_plan_function *function;
	const struct ada_text_module *module = module_of(text, function_id, &function);
	enum ada_fixed fixed;

	words->items.count = 0;
	words->patch = words->filters = false;
	if (!module)
		return ADA_FIXED_UNKNOWN;
	if (function->flags & ADA_FUNCTION_MUTEX && function->hook < ada_plan_header(module->plan)->hook_count)
		return find_filter(words, text, module, function->hook, function_id);
	if (function->flags & ADA_FUNCTION_OBJECTS)
		return ADA_FIXED_OBJECTS;
	if (function->flags & ADA_FUNCTION_INTERCEPT)
		return ADA_FIXED_UNKNOWN;
	if (!module->traced)
		return find_slots(words, text, function_id);
	if (function->hook >= ada_plan_header(module->plan)->hook_count)
		return ADA_FIXED_UNKNOWN;
	fixed = find_patch(words, text, module, function->hook, function_id);
	return fixed ? fixed : find_calls(words, text, module, function->hook, function_id);
}

static bool has_word(const struct ada_words *words, uint64_t at)
{
	for (size_t i = 0; i < words->items.count; i++)
		if (words->items.items[i].at == at)
			return true;
	return false;
}

static void add_slots(struct ada_words *words, const struct ada_text *text, uint64_t function_id)
{
	struct ada_words slots = { .patch = false };

	if (!find_slots(&slots, text, function_id))
		for (size_t i = 0; i < slots.items.count; i++)
			if (!has_word(words, slots.items.items[i].at))
				ada_array_push(&words->items, slots.items.items[i]);
	ada_array_free(&slots.items);
}

void ada_words_add(struct ada_words *words, const struct ada_text *text, uint64_t function_id)
{
	uint32_t id = ADA_FUNCTION_MODULE(function_id), symbol = ADA_FUNCTION_SYMBOL(function_id);
	const struct ada_text_module *module = id < text->modules.count ? &text->modules.items[id] : NULL;
	size_t count = words->items.count;

	if (!words->patch)
		add_slots(words, text, function_id);
	else if (module && module->traced && find_calls(words, text, module, ada_plan_functions(module->plan)[symbol].hook, function_id))
		words->items.count = count;
}

bool ada_words_are(const struct ada_words *words, const struct ada_text *text, bool out)
{
	uint8_t now[sizeof words->items.items->in];

	for (size_t i = 0; i < words->items.count; i++) {
		const struct ada_word *word = &words->items.items[i];

		if (!get(text, word->at, now, word->bytes) || memcmp(now, out ? word->out : word->in, word->bytes))
			return false;
	}
	return true;
}

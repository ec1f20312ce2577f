#include "recorder/budget/words.h"
#include "abi/trampoline.h"

#define NEAR_BYTES 256u /* a jump of two bytes reaches no further */

static bool is_in_one_page(uint64_t at, uint32_t bytes)
{
	return at / ADA_PAGE_BYTES == (at + bytes - 1) / ADA_PAGE_BYTES;
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

	if (!ada_text_get(text, at, bytes, sizeof bytes) || bytes[0] != ADA_JUMP_OPCODE)
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
	if (!ada_text_get(text, word.at, word.in, word.bytes))
		return ADA_FIXED_UNKNOWN;
	if (by_island) {
		jump = module->base + hook->island_address;
		if (word.in[0] != ADA_SHORT_OPCODE || word.at + ADA_SHORT_BYTES + (uint64_t)(int64_t)(int8_t)word.in[1] != jump)
			return ADA_FIXED_UNKNOWN;
	}
	jump = jump_target(text, jump);
	if (!jump || !ada_text_is_hook(text, jump, function_id))
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
	return ada_text_get(text, code + ADA_TRAMPOLINE_DATA_STUB, &stub, sizeof stub) &&
	       ada_text_get(text, code + ADA_TRAMPOLINE_DATA_PASSED, &passed, sizeof passed) && (stub || passed & ADA_TRAMPOLINE_PASSED);
}

/* An earlier run made it, so this one will. */
static bool is_expected(const struct ada_text *text, uint64_t behind)
{
	size_t at = ada_first_not(n, 0, text->calls.count, text->calls.items[n] < behind);

	return at < text->calls.count && text->calls.items[at] == behind;
}

bool ada_word_leads(const struct ada_word *word, const struct ada_text *text, uint64_t function_id)
{
	int32_t distance;

	return ada_text_get(text, word->at, &distance, sizeof distance) && !memcmp(&distance, word->in, sizeof distance) &&
	       ada_text_is_hook(text, word->at + sizeof distance + (uint64_t)(int64_t)distance, function_id);
}

static enum ada_fixed find_call(struct ada_words *words, const struct ada_text *text, uint64_t behind, uint64_t function,
				uint64_t function_id)
{
	int32_t plain = (int32_t)(function - behind), distance;
	struct ada_word word = { .at = behind - sizeof distance, .bytes = sizeof distance };

	if (!ada_text_get(text, word.at, &distance, sizeof distance))
		return ADA_FIXED_UNKNOWN;
	if (distance == plain)
		return ADA_FIXED_NOT; /* it isn't bound */
	if (!is_in_one_page(word.at, word.bytes))
		return ADA_FIXED_PAGES;
	if (words->items.count == ADA_WORDS_MAX)
		return ADA_FIXED_MANY;
	if (!ada_text_is_hook(text, behind + (uint64_t)(int64_t)distance, function_id))
		return ADA_FIXED_UNKNOWN;
	if (!was_called(text, behind + (uint64_t)(int64_t)distance) && !is_expected(text, behind))
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

	if (!ada_text_get(text, trampoline + ADA_TRAMPOLINE_DATA + ADA_TRAMPOLINE_DATA_FILTER, &filter, sizeof filter) || !filter ||
	    !ada_text_is_hook(text, filter / ADA_TEXT_CELL_BYTES * ADA_TEXT_CELL_BYTES, function_id))
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
	if (!ada_text_is_hook(text, jump, function_id) || !ada_text_get(text, word.at, word.in, word.bytes))
		return ADA_FIXED_UNKNOWN;
	word.out[0] = ADA_JUMP_OPCODE;
	memcpy(word.out + 1, &field, sizeof field);
	words->filters = true;
	return ada_array_push(&words->items, word) ? ADA_FIXED_UNKNOWN : find_calls(words, text, module, number, function_id);
}

enum ada_fixed ada_words_find(struct ada_words *words, const struct ada_text *text, uint64_t function_id)
{
	const struct ada_plan_function *function;
	const struct ada_text_module *module = ada_text_module_of(text, function_id, &function);
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

bool ada_words_have(const struct ada_words *words, uint64_t at)
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
			if (!ada_words_have(words, slots.items.items[i].at))
				ada_array_push(&words->items, slots.items.items[i]);
	ada_array_free(&slots.items);
}

void ada_words_add(struct ada_words *words, const struct ada_text *text, uint64_t function_id)
{
	const struct ada_plan_function *function;
	const struct ada_text_module *module = ada_text_module_of(text, function_id, &function);
	size_t count = words->items.count;

	if (!words->patch)
		add_slots(words, text, function_id);
	else if (module && module->traced && find_calls(words, text, module, function->hook, function_id))
		words->items.count = count;
}

bool ada_words_are(const struct ada_words *words, const struct ada_text *text, bool out)
{
	uint8_t now[sizeof words->items.items->in];

	for (size_t i = 0; i < words->items.count; i++) {
		const struct ada_word *word = &words->items.items[i];

		if (!ada_text_get(text, word->at, now, word->bytes) || memcmp(now, out ? word->out : word->in, word->bytes))
			return false;
	}
	return true;
}

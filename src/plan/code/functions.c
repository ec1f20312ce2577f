/* What is a function. Symbols tell first. Code that only .eh_frame knows is a function where its unwind rules begin like a
 * called function's. Aliases are one function; parts that only jumps reach (.cold), PLT stubs and ifunc resolvers are none. */
#include <errno.h>
#include <stdlib.h>
#include "plan/code/code.h"
#include "plan/code/walk.h"

#define PAD_MAX_BYTES 4096 /* branches into the bytes between functions are noted up to here */

struct candidate {
	uint64_t address, size;
	const char *name;
	uint8_t kind, binding;
	bool exported, cold;
};
struct candidates {
	struct candidate *items;
	size_t count, capacity;
};

static int code_order(const void *a, const void *b)
{
	const struct ada_code *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int add_code(struct ada_planner *planner, uint64_t address, uint64_t bytes, const char *name)
{
	struct ada_code code = { .start = address, .end = address + bytes };

	code.data = ada_elf_at(planner->elf, address, bytes);
	code.plt = !strncmp(name, ".plt", 4);
	code.no_functions = code.plt || !strcmp(name, ".bolt.org.text");
	return code.data && bytes ? ada_array_push(&planner->codes, code) : 0;
}

/* Executable sections, or executable segments where there are no such sections. */
static int find_code(struct ada_planner *planner, struct ada_error *error)
{
	const struct ada_elf *elf = planner->elf;
	uint64_t end = 0;

	for (size_t i = 0; i < elf->sections.count; i++) {
		const struct ada_elf_section *section = &elf->sections.items[i];

		if (section->executable && section->loaded && section->data &&
		    add_code(planner, section->address, section->bytes, section->name))
			return -ENOMEM;
	}
	for (size_t i = 0; !planner->codes.count && i < elf->segments.count; i++)
		if (elf->segments.items[i].executable &&
		    add_code(planner, elf->segments.items[i].address, elf->segments.items[i].data_bytes, ""))
			return -ENOMEM;
	if (!planner->codes.count)
		return 0;
	ada_array_sort(&planner->codes, code_order);
	for (size_t i = 0; i < planner->codes.count; i++) {
		if (planner->codes.items[i].start < end)
			return ada_error_set(error, ENOEXEC, "%s: corrupt ELF file: code sections overlap", elf->path);
		end = planner->codes.items[i].end;
	}
	planner->text_start = planner->codes.items[0].start;
	planner->text_end = end;
	if (end - planner->text_start > 64 * (uint64_t)elf->length)
		return ada_error_set(error, ENOEXEC, "%s: its code sections lie too far apart to be planned", elf->path);
	planner->near_entry = calloc(1, (end - planner->text_start) / 8 + 16);
	planner->is_start = calloc(1, (end - planner->text_start) / 8 + 16);
	return planner->near_entry && planner->is_start ? 0 : -ENOMEM;
}

static int candidate_order(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int read_candidates(struct ada_planner *planner, struct candidates *candidates)
{
	if (ada_elf_symbols_read(planner->elf, &planner->symbols))
		return -ENOMEM;
	if (!ada_elf_section_named(planner->elf, ".symtab"))
		planner->debug = ada_elf_open_debug(planner->elf);
	if (planner->debug && ada_elf_symbols_read(planner->debug, &planner->symbols))
		return -ENOMEM;
	if (ada_array_reserve(candidates, planner->symbols.count))
		return -ENOMEM;
	for (size_t i = 0; i < planner->symbols.count; i++) {
		const struct ada_elf_symbol *symbol = &planner->symbols.items[i];

		if (symbol->kind == ADA_SYMBOL_DATA || !symbol->name[0] || !ada_code_of(planner, symbol->address))
			continue;
		candidates->items[candidates->count++] = (struct candidate){
			.address = symbol->address,
			.size = symbol->size,
			.name = symbol->name,
			.kind = symbol->kind,
			.binding = symbol->binding,
			.exported = symbol->exported,
			.cold = ada_name_is_cold(symbol->name),
		};
	}
	ada_array_sort(candidates, candidate_order);
	return 0;
}

/* Whether people know the function by alias `a` rather than `b`: exported before internal, few leading underscores, global, short. */
static bool is_better_name(const struct candidate *a, const struct candidate *b)
{
	size_t a_under = !strncmp(a->name, "_Z", 2) || !strncmp(a->name, "_R", 2) ? 0 : strspn(a->name, "_");
	size_t b_under = !strncmp(b->name, "_Z", 2) || !strncmp(b->name, "_R", 2) ? 0 : strspn(b->name, "_");

	if (a->exported != b->exported)
		return a->exported;
	if (a_under != b_under)
		return a_under < b_under;
	if (!ada_name_objects(a->name) != !ada_name_objects(b->name)) /* pthread_spin_unlock, which is pthread_spin_init, too */
		return ada_name_objects(a->name);
	if ((a->binding == STB_LOCAL) != (b->binding == STB_LOCAL))
		return b->binding == STB_LOCAL;
	if (strcspn(a->name, "@") != strcspn(b->name, "@"))
		return strcspn(a->name, "@") < strcspn(b->name, "@");
	return strcmp(a->name, b->name) < 0;
}

/* False for section boundaries, and for notes of compilers about where they were: these names mean no instruction. */
static bool names_instruction(const char *name)
{
	static const char *const others[] = { ".", "__start_", "__stop_", "__hot_", "etext", "_etext", "__etext", "__executable_start" };

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strncmp(name, others[i], strlen(others[i])))
			return false;
	return true;
}

/* A program may compare a fault's instruction pointer with a label, even with one at a function's start. */
static int add_labels(struct ada_planner *planner, const struct candidate *group, size_t count)
{
	struct ada_label label = { .address = group->address, .alone = true };
	const char *name = NULL;

	for (const struct candidate *symbol = group; symbol < group + count; symbol++) {
		size_t length = strcspn(symbol->name, "@");

		if (symbol->kind != ADA_SYMBOL_LABEL)
			label.alone = false;
		else if (names_instruction(symbol->name) && !name)
			name = symbol->name;
		else if (names_instruction(symbol->name) && (strncmp(symbol->name, name, length) || strcspn(name, "@") != length))
			label.alone = false;
	}
	return name ? ada_array_push(&planner->labels, label) : 0;
}

/* All symbols of one address become one function, or none. */
static int add_group(struct ada_planner *planner, const struct candidate *group, size_t count)
{
	struct ada_function function = { .address = group->address, .hook = ADA_PLAN_NONE, .host = ADA_PLAN_NONE };
	const struct candidate *best = NULL;
	uint64_t size = 0;
	bool is_function = false;

	for (const struct candidate *symbol = group; symbol < group + count; symbol++) {
		enum ada_refusal refusal = ada_name_refusal(symbol->name);

		if (symbol->cold)
			return 0;
		if (symbol->kind == ADA_SYMBOL_IFUNC)
			function.flags |= ADA_FUNCTION_IFUNC;
		if (symbol->kind == ADA_SYMBOL_LABEL)
			continue;
		is_function = true;
		if (symbol->exported)
			function.flags |= ADA_FUNCTION_EXPORTED;
		if (symbol->exported && ada_name_is_intercept(symbol->name))
			function.flags |= ADA_FUNCTION_INTERCEPT;
		if (symbol->exported)
			function.flags |= ada_name_objects(symbol->name);
		if (symbol->size > size)
			size = symbol->size;
		if (!function.refusal)
			function.refusal = (uint16_t)refusal;
		/* The resolver has a name of its own; the name that callers use counts. */
		if (!best || (symbol->kind == ADA_SYMBOL_IFUNC) > (best->kind == ADA_SYMBOL_IFUNC) ||
		    (symbol->kind == best->kind && is_better_name(symbol, best)))
			best = symbol;
	}
	if (!is_function || ada_code_of(planner, group->address)->no_functions)
		return 0;
	if (function.flags & ADA_FUNCTION_IFUNC)
		function.refusal = ADA_REFUSAL_IFUNC_RESOLVER;
	else if (function.flags & ADA_FUNCTION_INTERCEPT)
		function.refusal = ADA_REFUSAL_NONE;
	function.name = best->name;
	function.size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
	return ada_array_push(&planner->functions, function);
}

static const struct candidate *candidate_at(const struct candidates *candidates, uint64_t address)
{
	struct candidate key = { .address = address };
	const struct candidate *found = NULL;

	if (candidates->count)
		found = bsearch(&key, candidates->items, candidates->count, sizeof key, candidate_order);
	while (found && found > candidates->items && found[-1].address == address)
		found--;
	return found;
}

static int function_order(const void *a, const void *b)
{
	const struct ada_function *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* Adds functions that only .eh_frame knows, and completes those that symbols name by what .eh_frame knows of them. */
static int merge_frames(struct ada_planner *planner, const struct candidates *candidates)
{
	size_t known = planner->functions.count, at = 0;
	uint64_t covered = 0; /* end of the symbols before the frame */

	for (size_t i = 0; i < planner->frames.count; i++) {
		const struct ada_elf_frame *frame = &planner->frames.items[i];
		const struct ada_code *code = ada_code_of(planner, frame->start);
		struct ada_function function = {
			.address = frame->start, .hook = ADA_PLAN_NONE, .host = ADA_PLAN_NONE, .name = "", .by_frame = true
		};
		const struct candidate *symbol;
		struct ada_function *named;

		for (; at < known && planner->functions.items[at].address < frame->start; at++) {
			named = &planner->functions.items[at];
			if (named->address + named->size > covered)
				covered = named->address + named->size;
		}
		named = at < known && planner->functions.items[at].address == frame->start ? &planner->functions.items[at] : NULL;
		if (named) {
			if (frame->size > named->size && frame->size <= UINT32_MAX)
				named->size = (uint32_t)frame->size;
			continue;
		}
		symbol = candidate_at(candidates, frame->start);
		if (!frame->entry || !code || code->no_functions || frame->start < covered || (symbol && symbol->cold))
			continue;
		if (symbol && symbol->kind == ADA_SYMBOL_LABEL)
			function.name = symbol->name;
		else
			function.flags = ADA_FUNCTION_NAMELESS;
		function.refusal = (uint16_t)ada_name_refusal(function.name);
		function.size = frame->size > UINT32_MAX ? UINT32_MAX : (uint32_t)frame->size;
		if (ada_array_push(&planner->functions, function))
			return -ENOMEM;
	}
	for (size_t i = 0; i < known; i++) {
		struct ada_function *named = &planner->functions.items[i];

		/* An entry that only jumps reach may have more than its return address on the stack. */
		if (!named->refusal && !ada_elf_frames_entry_at(planner->elf, &planner->frames, named->address))
			named->refusal = ADA_REFUSAL_NO_ENTRY_CFI;
	}
	ada_array_sort(&planner->functions, function_order);
	return 0;
}

static int address_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int add_start(struct ada_planner *planner, struct ada_elf_addresses *starts, uint64_t address)
{
	return ada_code_holds(planner, address) ? ada_array_push(starts, address) : 0;
}

/* The starts of functions, unwind entries, cold parts and sections. A piece lies between two neighbouring starts. */
static int find_starts(struct ada_planner *planner, const struct candidates *candidates, struct ada_elf_addresses *starts)
{
	int status = 0;
	size_t kept = 0;

	for (size_t i = 0; i < planner->functions.count && !status; i++)
		status = add_start(planner, starts, planner->functions.items[i].address);
	for (size_t i = 0; i < planner->frames.count && !status; i++)
		status = add_start(planner, starts, planner->frames.items[i].start);
	for (size_t i = 0; i < candidates->count && !status; i++)
		if (candidates->items[i].kind != ADA_SYMBOL_LABEL)
			status = add_start(planner, starts, candidates->items[i].address);
	for (size_t i = 0; i < planner->codes.count && !status; i++)
		status = add_start(planner, starts, planner->codes.items[i].start);
	if (status || !starts->count)
		return status;
	ada_array_sort(starts, address_order);
	for (size_t i = 0; i < starts->count; i++)
		if (!kept || starts->items[kept - 1] != starts->items[i])
			starts->items[kept++] = starts->items[i];
	starts->count = kept;
	return 0;
}

static void set_bits(uint8_t *bits, uint64_t from, uint64_t to)
{
	for (; from < to; from++)
		bits[from / 8] |= (uint8_t)(1 << from % 8);
}

/* Finds the ends of functions and pieces, and fills the bitmaps that tell the sweep what is worth noting. */
static int find_pieces(struct ada_planner *planner, const struct ada_elf_addresses *starts)
{
	size_t function = 0, frame = 0;
	uint64_t covered = 0;

	for (size_t i = 0; i < starts->count; i++) {
		uint64_t start = starts->items[i], next = i + 1 < starts->count ? starts->items[i + 1] : planner->text_end;
		struct ada_piece piece = { .start = start, .function = ADA_PLAN_NONE };
		const struct ada_code *code = ada_code_of(planner, start);
		uint64_t end = 0;

		if (next > code->end)
			next = code->end;
		while (frame < planner->frames.count && planner->frames.items[frame].start < start)
			frame++;
		if (frame < planner->frames.count && planner->frames.items[frame].start == start)
			end = start + planner->frames.items[frame].size;
		if (function < planner->functions.count && planner->functions.items[function].address == start) {
			struct ada_function *here = &planner->functions.items[function];

			here->end = here->size ? start + here->size : next;
			if (here->end > code->end)
				here->end = code->end;
			piece.function = (uint32_t)function++;
			if (here->end > end)
				end = here->end;
			planner->is_start[(start - planner->text_start) / 8] |= (uint8_t)(1 << (start - planner->text_start) % 8);
			set_bits(planner->near_entry, start - planner->text_start,
				 start - planner->text_start + (code->end - start < ADA_ENTRY_REACH ? code->end - start : ADA_ENTRY_REACH));
		}
		/* Bytes that an outer function still covers are code too. */
		if (end > covered)
			covered = end;
		piece.end = covered > next ? next : covered > start ? covered : start;
		set_bits(planner->near_entry, piece.end - planner->text_start,
			 (next - piece.end < PAD_MAX_BYTES ? next : piece.end + PAD_MAX_BYTES) - planner->text_start);
		if (ada_array_push(&planner->pieces, piece))
			return -ENOMEM;
	}
	return 0;
}

int ada_functions_find(struct ada_planner *planner, struct ada_error *error)
{
	struct candidates candidates = { 0 };
	struct ada_elf_addresses starts = { 0 };
	int status = find_code(planner, error);

	if (status)
		return status;
	status = ada_elf_frames_read(planner->elf, &planner->frames);
	if (!status)
		status = read_candidates(planner, &candidates);
	for (size_t i = 0, count; i < candidates.count && !status; i += count) {
		for (count = 1; i + count < candidates.count; count++)
			if (candidates.items[i + count].address != candidates.items[i].address)
				break;
		status = add_group(planner, &candidates.items[i], count);
		if (!status)
			status = add_labels(planner, &candidates.items[i], count);
	}
	if (!status)
		status = merge_frames(planner, &candidates);
	if (!status)
		status = find_starts(planner, &candidates, &starts);
	if (!status)
		status = find_pieces(planner, &starts);
	if (!status)
		ada_runtimes_refuse(planner);
	ada_array_free(&candidates);
	ada_array_free(&starts);
	return status;
}

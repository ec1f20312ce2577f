/* plan-again FILE...: holds the plan of each file against the file, knowing nothing of how it was made.
 *
 * Each body is relocated to a made-up address, decoded again, and compared with the original instructions one by one: same
 * mnemonic, same operands, same places that branches, calls and rip-relative operands mean. Nothing overlaps, the expected
 * bytes are the file's, and no direct branch of any function leads strictly inside a patch, but for those that were copied.
 * Prints one line a file; exit status 1 if anything is wrong.
 */
#include <Zydis/Zydis.h>
#include <stdio.h>
#include <stdlib.h>
#include "elf/file/elf.h"
#include "plan/file/file.h"
#include "plan/plan.h"
#include "tables.h"

struct subject {
	const char *path;
	struct ada_elf *elf;
	struct ada_plan *plan;
	ZydisDecoder decoder;
	uint64_t *copied_end; /* of each hook */
	unsigned *dead_bytes; /* of each hook: its jump, and an island that it hosts */
	unsigned wrong;
};

struct instruction {
	ZydisDecodedInstruction i;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t address, body; /* the original's, the copy's */
};

struct body {
	uint8_t bytes[256];
	uint64_t address, at;
	const struct ada_plan_hook *hook;
};

static void report(struct subject *subject, uint64_t address, const char *what)
{
	if (subject->wrong++ < 20)
		fprintf(stderr, "%s: 0x%llx: %s\n", subject->path, (unsigned long long)address, what);
}

static bool decode(const struct subject *subject, const uint8_t *bytes, size_t length, uint64_t address, struct instruction *out)
{
	out->address = address;
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&subject->decoder, bytes, length, &out->i, out->operands));
}

static bool decode_original(const struct subject *subject, uint64_t address, struct instruction *out)
{
	uint64_t rest;
	const uint8_t *bytes = ada_elf_rest(subject->elf, address, &rest);

	return bytes && decode(subject, bytes, rest, address, out);
}

static bool next_of_body(const struct subject *subject, struct body *body, struct instruction *out)
{
	if (body->at >= body->hook->body_bytes ||
	    !decode(subject, body->bytes + body->at, body->hook->body_bytes - body->at, body->address + body->at, out))
		return false;
	body->at += out->i.length;
	return true;
}

static uint64_t meaning(const struct instruction *instruction, const ZydisDecodedOperand *operand)
{
	uint64_t address = 0;

	ZydisCalcAbsoluteAddress(&instruction->i, operand, instruction->address, &address);
	return address;
}

static bool is_relative(const struct instruction *instruction)
{
	return instruction->i.operand_count_visible && instruction->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	       instruction->operands[0].imm.is_relative;
}

static bool same_operand(const struct instruction *a, const struct instruction *b, unsigned n, int64_t rsp_moved)
{
	const ZydisDecodedOperand *x = &a->operands[n], *y = &b->operands[n];

	if (x->type != y->type || x->size != y->size)
		return false;
	switch (x->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER: return x->reg.value == y->reg.value;
	case ZYDIS_OPERAND_TYPE_IMMEDIATE: return x->imm.value.u == y->imm.value.u;
	case ZYDIS_OPERAND_TYPE_MEMORY:
		if (x->mem.base != y->mem.base || x->mem.index != y->mem.index || x->mem.scale != y->mem.scale ||
		    x->mem.segment != y->mem.segment)
			return false;
		if (x->mem.base == ZYDIS_REGISTER_RIP)
			return meaning(a, x) == meaning(b, y);
		return x->mem.disp.value + (x->mem.base == ZYDIS_REGISTER_RSP ? rsp_moved : 0) == y->mem.disp.value;
	default: return false;
	}
}

static bool same_operands(const struct instruction *a, const struct instruction *b, int64_t rsp_moved)
{
	if (a->i.operand_count_visible != b->i.operand_count_visible)
		return false;
	for (unsigned n = 0; n < a->i.operand_count_visible; n++)
		if (!same_operand(a, b, n, rsp_moved))
			return false;
	return true;
}

/* push low half; mov high half, dword [rsp + 4]. */
static bool pushes(const struct subject *subject, struct body *body, uint64_t value)
{
	struct instruction push, move;

	return next_of_body(subject, body, &push) && next_of_body(subject, body, &move) && push.i.mnemonic == ZYDIS_MNEMONIC_PUSH &&
	       push.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && (uint32_t)push.operands[0].imm.value.u == (uint32_t)value &&
	       move.i.mnemonic == ZYDIS_MNEMONIC_MOV && move.operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY && move.operands[0].size == 32 &&
	       move.operands[0].mem.base == ZYDIS_REGISTER_RSP && move.operands[0].mem.index == ZYDIS_REGISTER_NONE &&
	       move.operands[0].mem.disp.value == 4 && (uint32_t)move.operands[1].imm.value.u == value >> 32;
}

struct branch {
	uint64_t original, copied; /* targets */
};

/* One instruction of the original against what the body does instead. NULL: the same; else what differs. */
static const char *compare_one(const struct subject *subject, struct body *body, const struct instruction *original, struct branch *branch)
{
	struct instruction copy, over;
	bool is_loop = false;

	branch->original = branch->copied = 0;
	if (original->i.mnemonic == ZYDIS_MNEMONIC_CALL) {
		if (!pushes(subject, body, original->address + original->i.length))
			return "a call does not push its return address";
		if (!next_of_body(subject, body, &copy) || copy.i.mnemonic != ZYDIS_MNEMONIC_JMP)
			return "a call does not become a jump";
		if (!is_relative(original))
			return same_operands(original, &copy, 8) ? NULL : "a call through memory goes elsewhere";
		branch->original = meaning(original, &original->operands[0]);
		branch->copied = meaning(&copy, &copy.operands[0]);
		return NULL;
	}
	if (!next_of_body(subject, body, &copy))
		return "the body ends too early";
	if (copy.i.mnemonic != original->i.mnemonic)
		return "another mnemonic";
	if (!is_relative(original))
		return same_operands(original, &copy, 0) && copy.i.length == original->i.length ? NULL : "other operands";
	branch->original = meaning(original, &original->operands[0]);
	is_loop = original->i.opcode >= 0xe0 && original->i.opcode <= 0xe3 && original->i.length <= 3;
	if (is_loop) {
		uint64_t taken = meaning(&copy, &copy.operands[0]), jump_at;

		if (original->i.address_width != copy.i.address_width)
			return "a loop counts in another width";
		if (!next_of_body(subject, body, &over) || over.i.mnemonic != ZYDIS_MNEMONIC_JMP)
			return "a loop without its way round";
		jump_at = body->address + body->at;
		if (taken != jump_at || !next_of_body(subject, body, &copy) || copy.i.mnemonic != ZYDIS_MNEMONIC_JMP ||
		    meaning(&over, &over.operands[0]) != body->address + body->at)
			return "a loop that goes astray";
	}
	branch->copied = meaning(&copy, &copy.operands[0]);
	return NULL;
}

static void relocate(const struct subject *subject, struct body *body)
{
	const struct ada_plan_reloc *relocs = relocs_of(subject->plan, body->hook);

	memcpy(body->bytes, body_of(subject->plan, body->hook), body->hook->body_bytes);
	for (unsigned i = 0; i < body->hook->reloc_count; i++) {
		uint64_t value = relocs[i].target + (uint64_t)relocs[i].addend;
		uint32_t field = relocs[i].kind == ADA_RELOC_REL32 ? (uint32_t)(value - (body->address + relocs[i].offset)) :
				 relocs[i].kind == ADA_RELOC_LOW32 ? (uint32_t)value :
								     (uint32_t)(value >> 32);

		memcpy(body->bytes + relocs[i].offset, &field, 4);
	}
}

static bool ends_flow(const struct instruction *instruction)
{
	switch (instruction->i.mnemonic) {
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_JMP:
	case ZYDIS_MNEMONIC_CALL: /* as copied */
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT: return true;
	default: return false;
	}
}

static unsigned patch_bytes(const struct ada_plan_hook *hook)
{
	return hook->form == ADA_PATCH_ISLAND ? 2 : hook->form == ADA_PATCH_INT3 ? 1 : 5;
}

/* Branches that stay inside the copy must lead to the copy of their target. */
static void check_branches(struct subject *subject, const struct body *body, const struct instruction *list, unsigned count,
			   const struct branch *branches, uint64_t end)
{
	for (unsigned i = 0; i < count; i++) {
		bool inside = branches[i].copied >= body->address && branches[i].copied < body->address + body->hook->body_bytes;
		bool found = false;

		if (branches[i].original == branches[i].copied)
			continue;
		for (unsigned k = 0; k < count && inside; k++)
			found |= list[k].address == branches[i].original && list[k].body == branches[i].copied;
		if (!found || branches[i].original < body->hook->patch_address || branches[i].original >= end)
			report(subject, list[i].address, "a branch leads elsewhere");
	}
}

/* The body's instructions in [from, body->at) stand for the original one at `original`; behind its push, those of a call do so
 * with another stack pointer. */
static void check_origins(struct subject *subject, const struct body *body, uint64_t from, const struct instruction *original)
{
	struct body rest = *body;
	struct instruction copy;

	for (rest.at = from; rest.at < body->at;) {
		const struct ada_plan_origin *origin = origins_of(subject->plan, body->hook);
		unsigned pushed = original->i.mnemonic == ZYDIS_MNEMONIC_CALL && rest.at > from ? 8 : 0;

		while (origin[1].body <= rest.at)
			origin++;
		if (body->hook->patch_address + origin->original + rest.at - origin->body != original->address || origin->pushed != pushed)
			report(subject, original->address, "another origin");
		if (!next_of_body(subject, &rest, &copy))
			return;
	}
}

static uint64_t compare_hook(struct subject *subject, const struct ada_plan_hook *hook)
{
	struct body body = { .address = (subject->elf->address_end + 0x20001234) & ~15ull, .hook = hook };
	struct instruction list[128], last;
	struct branch branches[128];
	uint64_t at = hook->patch_address;
	unsigned count = 0;

	relocate(subject, &body);
	if (hook->form == ADA_PATCH_NOP)
		while (decode_original(subject, at, &last) && at < hook->patch_address + 5) {
			if (last.i.mnemonic != ZYDIS_MNEMONIC_NOP)
				report(subject, at, "NOP form over something else");
			at += last.i.length;
		}
	for (; count < 128; count++) {
		struct body rest = body;
		const char *wrong;

		/* The jump back, and nothing behind it. */
		if (at >= hook->patch_address + patch_bytes(hook) && next_of_body(subject, &rest, &last) && rest.at == hook->body_bytes &&
		    last.i.mnemonic == ZYDIS_MNEMONIC_JMP && is_relative(&last) && meaning(&last, &last.operands[0]) == at) {
			last.address = hook->form == ADA_PATCH_NOP ? hook->patch_address : at;
			check_origins(subject, &rest, body.at, &last);
			break;
		}
		if (!decode_original(subject, at, &list[count])) {
			report(subject, at, "does not decode");
			return at;
		}
		list[count].body = body.address + body.at;
		wrong = compare_one(subject, &body, &list[count], &branches[count]);
		if (wrong) {
			report(subject, at, wrong);
			return at;
		}
		check_origins(subject, &body, list[count].body - body.address, &list[count]);
		at += list[count].i.length;
		if (body.at == hook->body_bytes) {
			if (!ends_flow(&list[count]))
				report(subject, at, "the body falls off its end");
			count++;
			break;
		}
	}
	if (count && list[count - 1].i.mnemonic == ZYDIS_MNEMONIC_CALL && at < hook->patch_address + patch_bytes(hook))
		report(subject, at, "a call returns into the patch");
	check_branches(subject, &body, list, count, branches, at);
	return at;
}

/* Everything that is written to: patches and islands, none over another, islands in no function. */
struct range {
	uint64_t start, end;
};

static int range_order(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void check_ranges(struct subject *subject)
{
	const struct ada_plan_header *header = ada_plan_header(subject->plan);
	const struct ada_plan_hook *hooks = ada_plan_hooks(subject->plan);
	const struct ada_plan_function *functions = ada_plan_functions(subject->plan);
	struct range *ranges = calloc(2 * header->hook_count + 1, sizeof *ranges);
	size_t count = 0;

	for (uint32_t i = 0; i < header->hook_count; i++) {
		const uint8_t *bytes = ada_elf_at(subject->elf, hooks[i].patch_address, hooks[i].patch_bytes);
		const uint8_t *island = ada_elf_at(subject->elf, hooks[i].island_address, 5);

		ranges[count++] = (struct range){ hooks[i].patch_address, hooks[i].patch_address + patch_bytes(&hooks[i]) };
		if (!bytes || memcmp(bytes, hooks[i].expected, hooks[i].patch_bytes))
			report(subject, hooks[i].patch_address, "expected bytes are not the file's");
		if (hooks[i].form != ADA_PATCH_ISLAND)
			continue;
		ranges[count++] = (struct range){ hooks[i].island_address, hooks[i].island_address + 5 };
		if (!island || memcmp(island, hooks[i].island_expected, 5))
			report(subject, hooks[i].island_address, "expected bytes of an island are not the file's");
		if ((uint64_t)(int64_t)(int8_t)(hooks[i].island_address - hooks[i].patch_address - 2) !=
		    hooks[i].island_address - hooks[i].patch_address - 2)
			report(subject, hooks[i].patch_address, "an island out of reach");
	}
	qsort(ranges, count, sizeof *ranges, range_order);
	for (size_t i = 1; i < count; i++)
		if (ranges[i].start < ranges[i - 1].end)
			report(subject, ranges[i].start, "two patches overlap");
	for (uint32_t i = 0, k = 0; i < header->function_count; i++) {
		while (k < count && ranges[k].start < functions[i].address)
			k++;
		if (k && ranges[k - 1].end > functions[i].address)
			report(subject, functions[i].address, "a patch reaches into the next function");
	}
	free(ranges);
}

/* How many hooks patch below the address. */
static size_t hooks_below(const struct subject *subject, uint64_t address)
{
	const struct ada_plan_hook *hooks = ada_plan_hooks(subject->plan);
	size_t low = 0, high = ada_plan_header(subject->plan)->hook_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (hooks[middle].patch_address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void check_branch(struct subject *subject, uint64_t source, uint64_t target)
{
	const struct ada_plan_hook *hooks = ada_plan_hooks(subject->plan);
	size_t low = hooks_below(subject, target);

	if (!low || target >= hooks[low - 1].patch_address + subject->dead_bytes[low - 1])
		return;
	/* A copied branch is dead where it was. */
	if (source < hooks[low - 1].patch_address || source >= subject->copied_end[low - 1])
		report(subject, source, "a branch leads into a patch");
}

static void check_all_branches(struct subject *subject)
{
	const struct ada_plan_header *header = ada_plan_header(subject->plan);
	const struct ada_plan_function *functions = ada_plan_functions(subject->plan);
	ZydisDecodedInstruction instruction;

	for (uint32_t i = 0; i < header->function_count; i++) {
		const uint8_t *bytes = ada_elf_at(subject->elf, functions[i].address, functions[i].size);

		for (uint64_t at = 0; bytes && at < functions[i].size; at += instruction.length) {
			uint64_t address = functions[i].address + at;

			if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&subject->decoder, NULL, bytes + at, functions[i].size - at,
									&instruction)))
				break;
			if (instruction.raw.imm[0].is_relative)
				check_branch(subject, address, address + instruction.length + (uint64_t)instruction.raw.imm[0].value.s);
		}
	}
}

/* Each call is one in the file, of its hook's function, and no patch compares or overwrites it. */
static void check_calls(struct subject *subject)
{
	const struct ada_plan_header *header = ada_plan_header(subject->plan);
	const struct ada_plan_hook *hooks = ada_plan_hooks(subject->plan);

	for (uint32_t i = 0; i < header->call_count; i++) {
		const struct ada_plan_call *call = &calls_of(subject->plan)[i];
		uint64_t behind = header->address_start + call->behind, start = behind - ADA_CALL_BYTES;
		struct instruction called;
		size_t below;

		if (!decode_original(subject, start, &called) || called.i.opcode != 0xe8 || called.i.length != ADA_CALL_BYTES ||
		    meaning(&called, &called.operands[0]) != ada_plan_functions(subject->plan)[hooks[call->hook].function].address)
			report(subject, start, "no call of the hook's function");
		below = hooks_below(subject, behind);
		for (size_t k = below > 15 ? below - 15 : 0; k < below; k++)
			if (hooks[k].patch_address + hooks[k].patch_bytes > start)
				report(subject, start, "a call in the bytes of a patch");
	}
}

/* A jump at the end may be longer in the copy, and a patch may take padding behind the function's last instruction. */
static bool is_said_to_be_copied(const struct subject *subject, uint32_t number)
{
	const struct ada_plan_hook *hook = &ada_plan_hooks(subject->plan)[number];
	uint64_t said = hook->patch_address + ada_plan_copied(subject->plan, hook), end = subject->copied_end[number];

	return said >= end && (said <= end + 3 || said == hook->patch_address + hook->patch_bytes);
}

static int check_file(const char *path)
{
	struct subject subject = { .path = path };
	struct ada_plan_options options = { .decode = true, .no_cache = true };
	struct ada_error error = { 0 };
	const struct ada_plan_header *header;

	ZydisDecoderInit(&subject.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (ada_elf_open(&subject.elf, path, &error) || ada_plan_open(&subject.plan, path, &options, &error)) {
		fprintf(stderr, "plan-again: %s\n", error.text);
		return 1;
	}
	header = ada_plan_header(subject.plan);
	if (ada_plan_check(header, header->total_bytes, &error))
		report(&subject, 0, error.text);
	subject.copied_end = calloc(header->hook_count + 1, sizeof *subject.copied_end);
	subject.dead_bytes = calloc(header->hook_count + 1, sizeof *subject.dead_bytes);
	for (uint32_t i = 0; i < header->hook_count; i++)
		subject.dead_bytes[i] = patch_bytes(&ada_plan_hooks(subject.plan)[i]);
	for (uint32_t i = 0; i < header->hook_count; i++)
		if (ada_plan_hooks(subject.plan)[i].host)
			subject.dead_bytes[i + (uint32_t)ada_plan_hooks(subject.plan)[i].host] = 10;
	for (uint32_t i = 0; i < header->hook_count; i++)
		subject.copied_end[i] = compare_hook(&subject, &ada_plan_hooks(subject.plan)[i]);
	for (uint32_t i = 0; i < header->hook_count; i++)
		if (subject.copied_end[i] < ada_plan_hooks(subject.plan)[i].patch_address + subject.dead_bytes[i] &&
		    ada_plan_hooks(subject.plan)[i].form == ADA_PATCH_JUMP && subject.dead_bytes[i] > 5)
			report(&subject, ada_plan_hooks(subject.plan)[i].patch_address, "an island in bytes that are alive");
	for (uint32_t i = 0; i < header->hook_count; i++)
		if (!is_said_to_be_copied(&subject, i))
			report(&subject, subject.copied_end[i], "the copied instructions end here, and not where ada_plan_copied says");
	check_ranges(&subject);
	check_all_branches(&subject);
	check_calls(&subject);
	printf("%s: %u functions, %u hooks, %u calls, %u wrong\n", path, header->function_count, header->hook_count, header->call_count,
	       subject.wrong);
	free(subject.copied_end);
	free(subject.dead_bytes);
	ada_plan_close(subject.plan);
	ada_elf_close(subject.elf);
	return subject.wrong != 0;
}

int main(int argc, char **argv)
{
	int status = argc < 2;

	for (int i = 1; i < argc; i++)
		status |= check_file(argv[i]);
	return status;
}

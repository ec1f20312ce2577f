/* Makes basic blocks of the instructions of a run, once the run is read: only then it is known where its branches lead. */
#include "plan/registers/blocks.h"
#include <errno.h>
#include "plan/registers/registers.h"

static uint64_t bits_at(const struct ada_planner *planner, uint64_t word)
{
	uint64_t bits;

	memcpy(&bits, planner->is_start + word * 8, sizeof bits); /* 16 bytes are behind the last */
	return bits;
}

static int count_starts(struct ada_planner *planner)
{
	uint64_t words = (planner->text_end - planner->text_start + 63) / 64;
	uint32_t *before = malloc((words / 8 + 1) * sizeof *before), total = 0;

	planner->registers->starts_before = before;
	if (!before)
		return -ENOMEM;
	for (uint64_t i = 0; i < words; i++) {
		if (i % 8 == 0)
			before[i / 8] = total;
		total += (uint32_t)__builtin_popcountll(bits_at(planner, i));
	}
	return 0;
}

/* The number of the function that begins at `place`. */
static uint32_t function_at(const struct ada_planner *planner, uint64_t place)
{
	uint32_t number = planner->registers->starts_before[place / 512];

	for (uint64_t word = place / 512 * 8; word < place / 64; word++)
		number += (uint32_t)__builtin_popcountll(bits_at(planner, word));
	return number + (uint32_t)__builtin_popcountll(bits_at(planner, place / 64) & ((1ull << place % 64) - 1));
}

int ada_registers_begin(struct ada_planner *planner)
{
	/* Places are counted in 32 bits. Where that isn't enough nothing is free. */
	if (planner->text_end - planner->text_start > UINT32_MAX)
		return 0;
	planner->registers = calloc(1, sizeof *planner->registers);
	if (!planner->registers)
		return -ENOMEM;
	planner->registers->effects = ada_effects_new();
	if (!planner->registers->effects || ada_array_reserve(&planner->registers->blocks, (planner->text_end - planner->text_start) / 10))
		return -ENOMEM;
	return count_starts(planner);
}

void ada_registers_free(struct ada_registers *registers)
{
	if (!registers)
		return;
	ada_effects_free(registers->effects);
	ada_array_free(&registers->notes);
	ada_array_free(&registers->blocks);
	ada_array_free(&registers->runs);
	ada_array_free(&registers->endless);
	ada_array_free(&registers->run_of_block);
	free(registers->order);
	free(registers->note_at);
	free(registers->starts_before);
	free(registers->fates);
	free(registers->run_of);
	free(registers);
}

static bool is_slot(const struct ada_planner *planner, uint64_t address)
{
	size_t at = ada_array_below(&planner->slots, address, address);

	return at < planner->slots.count && planner->slots.items[at].address == address;
}

/* Where an indirect call or jump leads. */
static void note_indirect(const struct ada_planner *planner, struct ada_note *note, const ZydisDecodedInstruction *instruction,
			  uint64_t address)
{
	bool near = instruction->opcode == 0xff && (instruction->raw.modrm.reg == 2 || instruction->raw.modrm.reg == 4);

	note->end = near ? ADA_END_POINTER : ADA_END_UNKNOWN;
	note->target = address + instruction->length + (uint64_t)instruction->raw.disp.value;
	if (near && ada_is_rip_relative(instruction) && is_slot(planner, note->target))
		note->end = ADA_END_IMPORT;
}

static void note_end(const struct ada_planner *planner, struct ada_note *note, const ZydisDecodedInstruction *instruction, uint64_t address)
{
	const struct ada_code *code;

	note->calls = ada_is_call(instruction);
	if (ada_branch_target(instruction, address, &note->target)) {
		note->end = ADA_END_OUT;
		note->goes_on = instruction->mnemonic != ZYDIS_MNEMONIC_JMP;
		code = ada_code_of(planner, note->target);
		if (!code)
			note->end = ADA_END_UNKNOWN;
		else if (code->plt)
			note->end = ADA_END_IMPORT;
		return;
	}
	note->goes_on = note->calls;
	switch (instruction->mnemonic) {
	case ZYDIS_MNEMONIC_CALL:
	case ZYDIS_MNEMONIC_JMP: note_indirect(planner, note, instruction, address); break;
	case ZYDIS_MNEMONIC_RET:
		note->end = instruction->opcode == 0xc3 || instruction->opcode == 0xc2 ? ADA_END_RETURN : ADA_END_UNKNOWN;
		break;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT: note->end = ADA_END_STOP; break;
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT:
	case ZYDIS_MNEMONIC_XABORT: note->end = ADA_END_UNKNOWN; break;
	default: note->goes_on = true; break;
	}
}

int ada_registers_note(struct ada_planner *planner, const ZydisDecodedInstruction *instruction, const uint8_t *bytes, uint64_t address)
{
	struct ada_registers *registers = planner->registers;
	struct ada_effect effect;
	struct ada_note *note;

	if (!registers)
		return 0;
	if (ada_array_reserve(&registers->notes, 1))
		return -ENOMEM;
	effect = ada_effect_of(registers->effects, &planner->decoder, instruction, bytes);
	note = &registers->notes.items[registers->notes.count++];
	*note = (struct ada_note){ .start = (uint32_t)(address - planner->text_start),
				   .reads = effect.reads,
				   .writes = effect.writes,
				   .restores = effect.restores,
				   .goes_on = true };
	if (instruction->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE || instruction->meta.category == ZYDIS_CATEGORY_CALL ||
	    instruction->meta.category == ZYDIS_CATEGORY_RET || !effect.writes)
		note_end(planner, note, instruction, address);
	return 0;
}

int ada_registers_note_undecodable(struct ada_planner *planner, uint64_t address)
{
	struct ada_note note = { .start = (uint32_t)(address - planner->text_start), .end = ADA_END_UNKNOWN };

	return planner->registers ? ada_array_push(&planner->registers->notes, note) : 0;
}

struct ada_effect ada_effect_of_stretch(const struct ada_planner *planner, uint32_t start, uint32_t end)
{
	struct ada_effect whole = { 0 };
	ZydisDecodedInstruction instruction;

	for (uint64_t at = start; at < end; at += instruction.length) {
		struct ada_effect effect;
		uint64_t rest;

		if (!ada_decode(planner, planner->text_start + at, planner->text_end, &instruction))
			return (struct ada_effect){ .reads = ADA_PARTS_ALL };
		effect = ada_effect_of(planner->registers->effects, &planner->decoder, &instruction,
				       ada_code_at(planner, planner->text_start + at, &rest));
		whole.reads |= effect.reads & ~whole.writes;
		whole.writes |= effect.writes;
		whole.restores = (whole.restores & ~effect.writes) | effect.restores;
	}
	return whole;
}

/* --- a run that is read */

static bool is_start(const struct ada_planner *planner, uint64_t address)
{
	uint64_t place = address - planner->text_start;

	return address >= planner->text_start && address < planner->text_end && planner->is_start[place / 8] >> place % 8 & 1;
}

static int find_notes(struct ada_registers *registers, uint32_t start, uint32_t end)
{
	if (end - start > registers->note_places) {
		free(registers->note_at);
		registers->note_places = 2 * (size_t)(end - start);
		registers->note_at = calloc(registers->note_places, sizeof *registers->note_at);
		if (!registers->note_at)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < registers->notes.count; i++)
		registers->note_at[registers->notes.items[i].start - start] = i;
	return 0;
}

/* A jump that stays in the run marks where it leads. What leads elsewhere leads to a function or anywhere. */
static void resolve(const struct ada_planner *planner, struct ada_note *note, uint64_t start, uint64_t end)
{
	struct ada_registers *registers = planner->registers;

	if (!note->calls && note->target >= start && note->target < end) {
		uint32_t place = (uint32_t)(note->target - planner->text_start);
		uint32_t at = registers->note_at[note->target - start];

		if (at < registers->notes.count && registers->notes.items[at].start == place) {
			registers->notes.items[at].entered = true;
			note->end = ADA_END_LOCAL;
			note->target = at;
		} else {
			note->end = ADA_END_UNKNOWN; /* into the midst of an instruction */
		}
	} else if (is_start(planner, note->target)) {
		note->end = ADA_END_FUNCTION;
		note->target = function_at(planner, note->target - planner->text_start);
	} else {
		note->target -= planner->text_start;
	}
}

static int add_blocks(struct ada_registers *registers)
{
	struct ada_block *block = NULL;

	for (size_t i = 0; i < registers->notes.count; i++) {
		struct ada_note *note = &registers->notes.items[i];

		if (!block || note->entered) {
			if (ada_array_push(&registers->blocks, (struct ada_block){ .start = note->start, .goes_on = true }))
				return -ENOMEM;
			block = &registers->blocks.items[registers->blocks.count - 1];
		}
		note->block = (uint32_t)registers->blocks.count - 1;
		block->reads |= note->reads & ~block->writes;
		block->restores = (block->restores & ~note->writes) | note->restores;
		block->writes |= note->writes;
		block->end = note->end;
		block->target = (uint32_t)note->target;
		block->calls = note->calls;
		block->goes_on = note->goes_on;
		block->next = note->block + 1;
		if (note->end != ADA_END_NONE)
			block = NULL;
	}
	return 0;
}

/* A call that ends what the unwind table knows as one function doesn't return: compilers leave out only what can't be reached. */
static int note_endless(struct ada_planner *planner, uint64_t start, uint64_t end)
{
	const struct ada_elf_frame *frame = ada_elf_frames_find(&planner->frames, start);
	struct ada_block *last = &planner->registers->blocks.items[planner->registers->blocks.count - 1];

	if (!last->calls || !frame || frame->size != end - start)
		return 0;
	last->goes_on = false;
	return last->end == ADA_END_IMPORT ? ada_array_push(&planner->registers->endless, last->target) : 0;
}

int ada_registers_end_run(struct ada_planner *planner, uint64_t start, uint64_t end, uint32_t function)
{
	struct ada_registers *registers = planner->registers;
	struct ada_run run = { .start = (uint32_t)(start - planner->text_start),
			       .end = (uint32_t)(end - planner->text_start),
			       .function = function };

	if (!registers || !registers->notes.count)
		return 0;
	run.first = (uint32_t)registers->blocks.count;
	if (find_notes(registers, run.start, run.end))
		return -ENOMEM;
	for (size_t i = 0; i < registers->notes.count; i++)
		if (registers->notes.items[i].end == ADA_END_OUT)
			resolve(planner, &registers->notes.items[i], start, end);
	if (add_blocks(registers))
		return -ENOMEM;
	for (size_t i = run.first; i < registers->blocks.count; i++)
		if (registers->blocks.items[i].end == ADA_END_LOCAL)
			registers->blocks.items[i].target = registers->notes.items[registers->blocks.items[i].target].block;
	registers->notes.count = 0;
	if (note_endless(planner, start, end))
		return -ENOMEM;
	if (registers->blocks.items[registers->blocks.count - 1].goes_on &&
	    ada_array_push(&registers->blocks, (struct ada_block){ .start = run.end, .end = ADA_END_BEHIND }))
		return -ENOMEM;
	run.count = (uint32_t)registers->blocks.count - run.first;
	return ada_array_push(&registers->runs, run);
}

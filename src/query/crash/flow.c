/* Whether a null value, or a pointer, reaches an instruction: follows the machine code from where the value is in some registers, over moves between
 * registers and words of the stack, to where a register is asked for. Nothing else carries it, calls lose what they may change, and a
 * jump that asks whether the value is null goes where null goes. Other jumps go both ways, and each way that arrives has to bring it: which
 * way was gone nobody recorded.
 *
 * A pointer is asked for no such way: a jump goes both. What was loaded through it is followed, too, over moves between registers.
 *
 * The code is the file's, so that hooks aren't in the way. */
#include <stdlib.h>
#include <string.h>
#include "query/crash/internal.h"
#include "query/session/source.h"

#define STEPS_MAX 4096
#define SEEN_MAX 512 /* places jumped to, and what was known there */
#define SLOTS 16
#define GIVEN 8
#define CALL_CHANGES 0x0fc7 /* rax rcx rdx, rsi rdi, r8 to r11 */

struct slot {
	uint8_t base; /* rsp or rbp */
	int64_t at;
};

struct state { /* where the value is */
	uint64_t address;
	uint32_t registers;
	uint32_t loaded; /* registers that have what lay where the value points */
	struct slot slots[SLOTS];
	uint32_t slot_count;
	struct slot given[GIVEN]; /* words whose address was taken: a call may write there */
	uint32_t given_count;
	bool compared; /* the last instruction compared it with null */
};

enum arrival { NEVER, BRINGS, LACKS }; /* LACKS: or nobody knows */

struct walk {
	const struct ada_crash_cause *cause;
	const struct ada_crash_flow *flow;
	ZydisDecoder decoder;
	uint32_t steps;
	struct state seen[SEEN_MAX];
	uint32_t seen_count;
};

struct step {
	ZydisDecodedInstruction instruction;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

/* 0 to 15 of a general register, -1: another; *whole: all 64 bits of it, or the lower 32, which clear the rest. */
static int number_of(ZydisRegister name, bool *whole)
{
	ZydisRegister full = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);

	*whole = name == full;
	return full >= ZYDIS_REGISTER_RAX && full <= ZYDIS_REGISTER_R15 ? (int)(full - ZYDIS_REGISTER_RAX) : -1;
}

static bool holds(const struct state *state, ZydisRegister name)
{
	bool whole;
	int number = number_of(name, &whole);

	return number >= 0 && state->registers >> number & 1;
}

static bool slot_of(const ZydisDecodedOperand *operand, struct slot *slot)
{
	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || operand->mem.index != ZYDIS_REGISTER_NONE ||
	    (operand->mem.base != ZYDIS_REGISTER_RSP && operand->mem.base != ZYDIS_REGISTER_RBP))
		return false;
	*slot = (struct slot){ (uint8_t)(operand->mem.base - ZYDIS_REGISTER_RAX), operand->mem.disp.value };
	return true;
}

static bool is_same(const struct slot *one, const struct slot *other)
{
	return one->base == other->base && one->at == other->at;
}

static uint32_t slot_find(const struct state *state, const struct slot *slot)
{
	uint32_t i = 0;

	while (i < state->slot_count && !is_same(&state->slots[i], slot))
		i++;
	return i;
}

static void slot_put(struct state *state, const struct slot *slot, bool has)
{
	uint32_t i = slot_find(state, slot);

	if (has && i == state->slot_count && i < SLOTS)
		state->slots[state->slot_count++] = *slot;
	else if (!has && i < state->slot_count)
		state->slots[i] = state->slots[--state->slot_count];
}

/* Drops the words found from a register that has changed. */
static void slots_leave(struct state *state, int base)
{
	for (uint32_t i = state->slot_count; i-- > 0;)
		if (state->slots[i].base == base)
			state->slots[i] = state->slots[--state->slot_count];
}

/* Whether what is moved is the value, in all its bits. */
static bool has_value(const struct state *state, const struct step *step)
{
	const ZydisDecodedOperand *from = &step->operands[1];
	struct slot slot;

	if (step->instruction.mnemonic == ZYDIS_MNEMONIC_LEA) /* a member's address: null and a little */
		return from->mem.index == ZYDIS_REGISTER_NONE && holds(state, from->mem.base);
	if (step->instruction.mnemonic != ZYDIS_MNEMONIC_MOV || step->operands[0].size != 64)
		return false;
	if (from->type == ZYDIS_OPERAND_TYPE_REGISTER)
		return holds(state, from->reg.value);
	return slot_of(from, &slot) && slot_find(state, &slot) < state->slot_count;
}

/* Whether what is moved lay where the value points, or was moved on from there. */
static bool has_loaded(const struct state *state, const struct step *step)
{
	const ZydisDecodedOperand *from = &step->operands[1];
	bool whole;
	int number;

	if (step->instruction.mnemonic != ZYDIS_MNEMONIC_MOV || step->operands[0].size != 64)
		return false;
	if (from->type == ZYDIS_OPERAND_TYPE_MEMORY)
		return from->mem.index == ZYDIS_REGISTER_NONE && from->mem.segment != ZYDIS_REGISTER_FS &&
		       from->mem.segment != ZYDIS_REGISTER_GS && holds(state, from->mem.base);
	number = from->type == ZYDIS_OPERAND_TYPE_REGISTER ? number_of(from->reg.value, &whole) : -1;
	return number >= 0 && state->loaded >> number & 1;
}

/* Of more words than can be kept any may be one: given_count says so by being larger. */
static void note_given(struct state *state, const struct step *step)
{
	struct slot slot;

	if (step->instruction.mnemonic != ZYDIS_MNEMONIC_LEA || !slot_of(&step->operands[1], &slot))
		return;
	for (uint32_t i = 0; i < state->given_count && i < GIVEN; i++)
		if (is_same(&state->given[i], &slot))
			return;
	if (state->given_count < GIVEN)
		state->given[state->given_count] = slot;
	state->given_count += state->given_count <= GIVEN;
}

/* What the instruction writes has the value afterwards, or no longer. */
static void write_all(struct state *state, const struct step *step)
{
	bool value = has_value(state, step), loaded = has_loaded(state, step), whole;

	note_given(state, step);
	for (unsigned i = 0; i < step->instruction.operand_count; i++) {
		const ZydisDecodedOperand *operand = &step->operands[i];
		struct slot slot;
		int number;

		if (!(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (slot_of(operand, &slot))
			slot_put(state, &slot, value && !i);
		number = operand->type == ZYDIS_OPERAND_TYPE_REGISTER ? number_of(operand->reg.value, &whole) : -1;
		if (number < 0)
			continue;
		slots_leave(state, number);
		state->registers &= ~(1u << number);
		state->loaded &= ~(1u << number);
		if (value && !i && whole)
			state->registers |= 1u << number;
		if (loaded && !i && whole)
			state->loaded |= 1u << number;
	}
	if (step->instruction.mnemonic == ZYDIS_MNEMONIC_CALL) {
		for (uint32_t i = 0; i < state->given_count && i < GIVEN; i++)
			slot_put(state, &state->given[i], false);
		state->slot_count = state->given_count > GIVEN ? 0 : state->slot_count;
		state->registers &= ~CALL_CHANGES;
		state->loaded &= ~CALL_CHANGES;
	}
}

/* test r, r and cmp r, 0 of a register that has the value. */
static bool compares(const struct state *state, const struct step *step)
{
	const ZydisDecodedOperand *one = &step->operands[0], *other = &step->operands[1];
	bool test = step->instruction.mnemonic == ZYDIS_MNEMONIC_TEST, cmp = step->instruction.mnemonic == ZYDIS_MNEMONIC_CMP;
	struct slot slot;
	bool has;

	if (!test && !cmp)
		return false;
	has = one->type == ZYDIS_OPERAND_TYPE_REGISTER ? holds(state, one->reg.value) :
							 slot_of(one, &slot) && slot_find(state, &slot) < state->slot_count;
	if (test)
		return has && other->type == ZYDIS_OPERAND_TYPE_REGISTER && one->reg.value == other->reg.value;
	return has && other->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && !other->imm.value.u;
}

static bool decode(struct walk *walk, uint64_t address, struct step *step)
{
	const struct ada_crash_cause *cause = walk->cause;
	uint64_t bytes, place = address - walk->flow->start;
	const uint8_t *code = place < walk->flow->bytes ? ada_process_constant(cause->process, address, cause->ns, &bytes) : NULL;

	return code && ZYAN_SUCCESS(ZydisDecoderDecodeFull(&walk->decoder, code, bytes, &step->instruction, step->operands));
}

/* Whether an access by that register is one by the value or, of a pointer, by what was loaded through it. */
static bool is_address(const struct ada_crash_flow *flow, const struct state *state, ZydisRegister base)
{
	bool whole;
	int number = number_of(base, &whole);

	return holds(state, base) || (flow->points && number >= 0 && state->loaded >> number & 1);
}

/* Whether there is a jump by a word of the file's global offset table: an entry of the procedure linkage table. */
static bool is_linkage(struct walk *walk, uint64_t address)
{
	uint64_t bytes;
	const uint8_t *code = ada_process_constant(walk->cause->process, address, walk->cause->ns, &bytes);
	struct step step;

	for (int i = 0; code && i < 2; i++) { /* before it may be endbr64 */
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&walk->decoder, code, bytes, &step.instruction, step.operands)))
			return false;
		if (step.instruction.mnemonic != ZYDIS_MNEMONIC_ENDBR64)
			return step.instruction.mnemonic == ZYDIS_MNEMONIC_JMP && step.operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			       step.operands[0].mem.base == ZYDIS_REGISTER_RIP;
		code += step.instruction.length;
		bytes -= step.instruction.length;
	}
	return false;
}

/* Whether the instruction jumps to the function asked for, or to another module's, of which the code doesn't say which it is. */
static bool jumps_there(struct walk *walk, const struct state *state, const struct step *step)
{
	const ZydisDecodedOperand *operand = &step->operands[0];
	uint64_t to;

	if (step->instruction.mnemonic != ZYDIS_MNEMONIC_JMP)
		return false;
	if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) /* without a linkage table (-fno-plt) */
		return operand->mem.base == ZYDIS_REGISTER_RIP;
	return operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	       ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&step->instruction, operand, state->address, &to)) &&
	       (to == walk->flow->to || (to - walk->flow->start >= walk->flow->bytes && is_linkage(walk, to)));
}

/* Whether the instruction is the one asked for; *reached: and has the value. */
static bool is_goal(struct walk *walk, const struct state *state, const struct step *step, bool *reached)
{
	const struct ada_crash_flow *flow = walk->flow;

	*reached = false;
	if (flow->jumped) {
		*reached = state->registers & flow->registers;
		return jumps_there(walk, state, step);
	}
	if (flow->registers || flow->called) { /* the call behind which the address is */
		const ZydisDecodedOperand *pointer = &step->operands[0];
		struct slot slot;

		*reached = flow->called ? (pointer->type == ZYDIS_OPERAND_TYPE_REGISTER ?
						   holds(state, pointer->reg.value) :
						   slot_of(pointer, &slot) && slot_find(state, &slot) < state->slot_count) :
					  state->registers & flow->registers;
		return step->instruction.mnemonic == ZYDIS_MNEMONIC_CALL && state->address + step->instruction.length == flow->to;
	}
	for (unsigned i = 0; i < step->instruction.operand_count; i++)
		*reached |= step->operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY && is_address(flow, state, step->operands[i].mem.base);
	return state->address == flow->to;
}

static bool is_seen(struct walk *walk, const struct state *state)
{
	for (uint32_t i = 0; i < walk->seen_count; i++)
		if (!memcmp(&walk->seen[i], state, sizeof *state))
			return true;
	if (walk->seen_count < SEEN_MAX)
		walk->seen[walk->seen_count++] = *state;
	return false;
}

static enum arrival walk_on(struct walk *walk, struct state state);

/* Where the jump leads; *end: it leads nowhere else. */
static enum arrival jump(struct walk *walk, const struct state *state, const struct step *step, bool *end)
{
	ZydisMnemonic mnemonic = step->instruction.mnemonic;
	struct state other = *state;

	*end = mnemonic == ZYDIS_MNEMONIC_JMP || (state->compared && mnemonic == ZYDIS_MNEMONIC_JZ);
	if (state->compared && mnemonic == ZYDIS_MNEMONIC_JNZ)
		return NEVER;
	if (step->operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
	    !ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&step->instruction, &step->operands[0], state->address, &other.address)))
		return LACKS;
	if (other.address - walk->flow->start >= walk->flow->bytes) /* another function's, or a part that is kept elsewhere */
		return NEVER;
	return is_seen(walk, &other) ? NEVER : walk_on(walk, other);
}

static enum arrival walk_on(struct walk *walk, struct state state)
{
	enum arrival best = NEVER;
	struct step step;
	bool reached;

	while (walk->steps++ < STEPS_MAX && decode(walk, state.address, &step)) {
		ZydisInstructionCategory category = step.instruction.meta.category;
		bool branch = category == ZYDIS_CATEGORY_COND_BR || category == ZYDIS_CATEGORY_UNCOND_BR, end = false;

		if (is_goal(walk, &state, &step, &reached))
			return reached ? BRINGS : LACKS;
		if (branch) {
			enum arrival there = jump(walk, &state, &step, &end);

			best = there > best ? there : best;
		}
		if (end || best == LACKS || category == ZYDIS_CATEGORY_RET)
			return best;
		if (!branch) {
			state.compared = !walk->flow->points && compares(&state, &step);
			write_all(&state, &step);
		}
		state.address += step.instruction.length;
	}
	return LACKS;
}

bool ada_crash_flows(const struct ada_crash_cause *cause, const struct ada_crash_flow *flow)
{
	struct walk *walk = calloc(1, sizeof *walk);
	struct state state = {};
	bool brings;

	if (!walk)
		return false;
	walk->cause = cause;
	walk->flow = flow;
	state.address = flow->from;
	state.registers = flow->has;
	brings = ZYAN_SUCCESS(ZydisDecoderInit(&walk->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
		 walk_on(walk, state) == BRINGS;
	free(walk);
	return brings;
}

/* registers.S has functions whose registers are known: those that a hook may have at their entry and behind their return. And of
 * all kinds of instructions the planner must say what Zydis says of their operands. argv[1]: the library built from registers.S. */
#include <string.h>
#include "../test.h"
#include "base/error.h"
#include "plan/plan.h"
#include "plan/registers/effect.h"

#define RAX (1 << ADA_REGISTER_RAX)
#define RCX (1 << ADA_REGISTER_RCX)
#define RDX (1 << ADA_REGISTER_RDX)
#define RSI (1 << ADA_REGISTER_RSI)
#define RDI (1 << ADA_REGISTER_RDI)
#define R8 (1 << ADA_REGISTER_R8)
#define R9 (1 << ADA_REGISTER_R9)
#define R10 (1 << ADA_REGISTER_R10)
#define R11 (1 << ADA_REGISTER_R11)
#define FLAGS (1 << ADA_REGISTER_FLAGS)
/* What another module may write, but for the results; and for r9, which holds_r9 shows that functions called through pointers may leave
 * as it was. */
#define CALLED (RCX | RSI | RDI | R8 | R10 | R11 | FLAGS)

struct expectation {
	const char *name;
	unsigned entry, exit;
};

static const struct expectation expectations[] = {
	{ "writes_first", RAX | RCX | FLAGS, RCX | FLAGS },
	{ "one_path", RAX | FLAGS, FLAGS },
	{ "both_paths", RAX | R8 | FLAGS, R8 | FLAGS },
	{ "reads_then_writes", RAX, 0 },
	{ "pushes", 0, 0 },
	{ "spills", 0, 0 },
	{ "moves_away", R11, R11 },
	{ "swaps", 0, 0 },
	{ "counts_back", FLAGS, FLAGS },
	{ "pops_constant", RCX, RCX },
	{ "writes_parts", 0, 0 },
	{ "reads_its_byte", RAX | FLAGS, FLAGS },
	{ "writes_byte_reads_all", RAX, 0 },
	{ "reads_high_byte", RAX, RCX },
	{ "moves_perhaps", FLAGS, FLAGS },
	{ "shifts_by_count", RCX, RCX | RDI },
	{ "shifts_by_nothing", RCX, RCX | RDI },
	{ "counts_up", 0, 0 },
	{ "adds_with_carry", 0, RDI | FLAGS },
	{ "zeroes", RDX | R8 | R9 | FLAGS, R8 | FLAGS },
	{ "finds_bit", 0, 0 },
	{ "asks_cpu", RAX | RDX, RCX },
	{ "asks_kernel", RAX | RCX | R11, RCX | R11 },
	{ "copies", RCX, RCX },
	{ "keeps_flags", 0, 0 },
	{ "idles", 0, 0 },
	{ "counts_down", RCX, RCX },
	{ "loops", RAX | RCX | FLAGS, RCX | R10 | FLAGS },
	{ "takes_chain", RAX, R10 },
	{ "calls_import", R10 | R11 | FLAGS, CALLED },
	{ "looks_behind_import", R10 | R11 | FLAGS, CALLED },
	{ "calls_slot", R10 | R11 | FLAGS, CALLED },
	{ "calls_pointer", FLAGS, FLAGS },
	{ "jumps_to_pointer", RAX | FLAGS, FLAGS },
	{ "jumps_to_import", RDI | R10 | R11 | FLAGS, CALLED },
	{ "writes_r11", R11, R11 },
	{ "calls_known", RCX | R11, RCX | R11 },
	{ "jumps_to_known", RCX | R11, RCX | R11 },
	{ "hands_over", RAX, R8 },
	{ "hands_its_own", RAX | R8, R8 },
	{ "recurs", RCX | FLAGS, RCX | FLAGS },
	{ "recurs_again", RCX | FLAGS, RCX | FLAGS },
	{ "leaves_r10", R9 | R10, 0 },
	{ "passes_r10_on", RCX | R9 | R10, RCX },
	{ "jumps_with_r10", RCX | R9 | R10, RCX | R10 },
	{ "takes_r10", RAX | RCX | R9 | R10, RCX | R10 },
	{ "calls_by_address", RAX, 0 },
	{ "holds_r9", RAX | R9, 0 },
	{ "preserves_most", R11 | FLAGS, R11 | FLAGS },
	{ "preserves_by_mov", R11 | FLAGS, CALLED & ~(R8 | R10) },
	{ "describes_thread_data", 0, 0 },
	{ "uses_descriptor", RAX | RCX, RCX },
	{ "traps", FLAGS, FLAGS },
	{ "aborts", R10 | R11 | FLAGS, R10 | R11 | FLAGS },
	{ "aborts_inside", RAX | R11 | FLAGS, R11 | FLAGS },
	{ "goes_on_elsewhere", R8 | R9 | FLAGS, R8 | FLAGS },
	{ "cannot_be_decoded", 0, 0 },
	{ "finds_itself", RCX, RCX },
};

static const char *library;

static const struct ada_plan_hook *find(const struct ada_plan *plan, const char *name)
{
	const struct ada_plan_function *function = ada_plan_functions(plan);

	for (uint32_t i = 0; i < ada_plan_header(plan)->function_count; i++, function++)
		if (!strcmp(ada_plan_string(plan, function->name), name) && function->hook != ADA_PLAN_NONE)
			return &ada_plan_hooks(plan)[function->hook];
	return NULL;
}

static struct ada_plan *library_plan(void)
{
	struct ada_plan_options options = { .decode = true, .no_cache = true };
	struct ada_error error = { 0 };
	struct ada_plan *plan;

	assert_int_equal(ada_plan_open(&plan, library, &options, &error), 0);
	return plan;
}

static void test_sets(void **unused)
{
	struct ada_plan *plan = library_plan();
	bool right = true;

	for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++) {
		const struct expectation *expected = &expectations[i];
		const struct ada_plan_hook *hook = find(plan, expected->name);

		if (!hook || hook->free_at_entry != expected->entry || hook->free_at_exit != expected->exit) {
			print_error("%s: entry %#x, exit %#x instead of %#x, %#x\n", expected->name, hook ? hook->free_at_entry : ~0u,
				    hook ? hook->free_at_exit : ~0u, expected->entry, expected->exit);
			right = false;
		}
	}
	assert_true(right);
	ada_plan_close(plan);
}

/* r8 is what looks_behind_import looks at: of the other functions' sets that says nothing. */
static void test_imports(void **unused)
{
	struct ada_plan *plan = library_plan();

	assert_true(ada_plan_header(plan)->import_count >= 2);
	for (uint32_t i = 0; i < ada_plan_header(plan)->import_count; i++) {
		assert_int_equal(ada_plan_imports(plan)[i].free_at_entry, R11 | FLAGS);
		assert_int_equal(ada_plan_imports(plan)[i].free_at_exit, CALLED & ~R8);
	}
	ada_plan_close(plan);
}

static void test_vectors(void **unused)
{
	struct ada_plan *plan = library_plan();

	assert_false(find(plan, "writes_first")->flags & ADA_HOOK_READS_VECTORS);
	assert_false(find(plan, "leaves_vectors")->flags & ADA_HOOK_READS_VECTORS);
	assert_true(find(plan, "reads_vector")->flags & ADA_HOOK_READS_VECTORS);
	assert_true(find(plan, "converts_into_vector")->flags & ADA_HOOK_READS_VECTORS);
	assert_true(find(plan, "calls_import")->flags & ADA_HOOK_READS_VECTORS);
	assert_true(find(plan, "cannot_be_decoded")->flags & ADA_HOOK_READS_VECTORS);
	ada_plan_close(plan);
}

/* --- instructions: against Zydis, with all operands */

static ada_parts parts_of(ZydisRegister name, bool written)
{
	static const int numbers[16] = { 0, 1, 2, -1, -1, -1, 3, 4, 5, 6, 7, 8, -1, -1, -1, -1 };
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
	ZydisRegisterWidth width = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, name);
	int number;

	if (ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_ZMM)
		return ZydisRegisterGetId(whole) < 8 ? 1u << (24 + ZydisRegisterGetId(whole)) : 0;
	if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64)
		return 0;
	number = numbers[ZydisRegisterGetId(whole)];
	if (number < 0)
		return 0;
	if (name >= ZYDIS_REGISTER_AH && name <= ZYDIS_REGISTER_BH)
		return written ? 0 : ADA_PARTS_OF(number);
	return width == 8 || (written && width == 16) ? 1u << number : ADA_PARTS_OF(number);
}

/* What the operands read at least, and write at most. */
static struct ada_effect effect_by_operands(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands)
{
	struct ada_effect effect = { 0 };

	for (unsigned i = 0; i < instruction->operand_count; i++) {
		const ZydisDecodedOperand *operand = &operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY && instruction->mnemonic != ZYDIS_MNEMONIC_NOP)
			effect.reads |= parts_of(operand->mem.base, false) | parts_of(operand->mem.index, false);
		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			effect.reads |= parts_of(operand->reg.value, false);
		if (operand->actions & ZYDIS_OPERAND_ACTION_WRITE)
			effect.writes |= parts_of(operand->reg.value, true);
	}
	return effect;
}

/* Whether the registers' old values don't matter although they are named. */
static bool is_constant(const ZydisDecodedInstruction *instruction)
{
	switch (instruction->mnemonic) {
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_ENDBR64:
	case ZYDIS_MNEMONIC_ENDBR32:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VXORPS:
	case ZYDIS_MNEMONIC_VXORPD: return true;
	default: return false;
	}
}

static bool agrees(struct ada_effects *effects, const ZydisDecoder *decoder, const uint8_t *bytes, size_t length)
{
	ZydisDecodedInstruction instruction;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	struct ada_effect expected, found;
	bool kernel;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, bytes, length, &instruction, operands)))
		return true;
	expected = effect_by_operands(&instruction, operands);
	assert_true(ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, bytes, length, &instruction)));
	found = ada_effect_of(effects, decoder, &instruction, bytes);
	kernel = instruction.mnemonic == ZYDIS_MNEMONIC_SYSCALL; /* which says itself what it writes */
	if ((is_constant(&instruction) || !(expected.reads & ~found.reads)) &&
	    (kernel || !(found.writes & ~ADA_PARTS_FLAGS & ~expected.writes)) && !(found.restores & ~found.writes))
		return true;
	print_error("%s:", ZydisMnemonicGetString(instruction.mnemonic));
	for (unsigned i = 0; i < instruction.length; i++)
		print_error(" %02x", bytes[i]);
	print_error(": reads %#x, writes %#x instead of %#x, %#x\n", found.reads, found.writes, expected.reads, expected.writes);
	return false;
}

static void test_effects(void **unused)
{
	struct ada_effects *effects = ada_effects_new();
	ZydisDecoder decoder;
	uint64_t state = 1;
	unsigned wrong = 0;

	assert_non_null(effects);
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (unsigned round = 0; round < 1000000 && wrong < 20; round++) {
		uint8_t bytes[16];
		unsigned at = 0;

		for (unsigned i = 0; i < sizeof bytes; i++) {
			state = state * 6364136223846793005ull + 1442695040888963407ull;
			bytes[i] = (uint8_t)(state >> 56);
		}
		/* Half of them begin with a REX prefix, or the two-byte form of VEX; half of the rest with 0f. */
		if (round % 4 == 0)
			bytes[at++] = 0x40 | (bytes[15] & 15);
		if (round % 4 == 1)
			bytes[at++] = 0xc5;
		if (round % 2)
			bytes[at] = round % 4 == 3 ? 0x0f : bytes[at];
		wrong += !agrees(effects, &decoder, bytes, sizeof bytes - 1);
	}
	assert_int_equal(wrong, 0);
	ada_effects_free(effects);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_imports),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_effects),
	};

	library = argc > 1 ? argv[1] : "";
	return cmocka_run_group_tests(tests, NULL, NULL);
}

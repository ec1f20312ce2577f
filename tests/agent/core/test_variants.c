/* The hooks of functions that leave registers to them: what each touches, that nothing is lost by them, that an unwinder finds its way
 * at every instruction, and how many instructions they have. */
#include <Zydis/Zydis.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unwind.h>
#include "abi/plan.h"
#include "agent/record/lane.h"
#include "fake.h"
#include "probe.h"
#include "../../test.h"

#define NOINLINE __attribute__((noinline, noclone))
#define BIT(name) (1 << ADA_REGISTER_##name)
#define FLAGS BIT(FLAGS)
#define VALUES (BIT(R10) | BIT(R11) | FLAGS)
#define EVERY ((1 << ADA_REGISTER_COUNT) - 1)
#define RESULTS (BIT(RAX) | BIT(RDX))

static struct ada_shm *shm;
static struct probe in, out;
static bool with_detail, below; /* below: hooks as of what may be part of a leaf */
static uint32_t handled;
static void *probed_near; /* where its call goes when it is bound */

HOOKED static long leaf(long x)
{
	BARRIER;
	return x + 1;
}

static void hook(void *function)
{
	void *functions[] = { function };

	memset(function, 0x90, 5); /* as it was before its first hook */
	assert_int_equal(fake_hook(functions, functions + 1), 1);
}

/* Both probes and what a handler calls, hooked anew. */
static void begin(uint16_t entry, uint16_t exit)
{
	extern void *__start___patchable_function_entries[], *__stop___patchable_function_entries[];
	static bool hooked;

	fake_detail = (struct fake_detail){ with_detail ? 320 : 0, 128, ADA_DETAIL_STREAMING, true };
	fake_detail_checked = with_detail;
	fake_red_zone = below;
	shm = fake_begin(256, ADA_INDEX_STREAMING, ADA_ON_FULL_BLOCK);
	fake_free_at_entry = entry;
	fake_free_at_exit = exit;
	if (!hooked)
		assert_true(fake_hook(__start___patchable_function_entries, __stop___patchable_function_entries) >= 3);
	hooked = true;
	hook(probed);
	hook(probe_tail);
	fake_red_zone = true;
	hook(probe_part);
	fake_red_zone = below;
	fake_free_at_entry = fake_free_at_exit = FLAGS;
	hook(leaf);
	probed_near = fake_near(probed, probe_return);
}

static void inputs_make(uint64_t seed)
{
	uint64_t *words = (uint64_t *)&in;

	for (size_t i = 0; i < sizeof in / 8; i++)
		words[i] = 0x0123456789abcdefull * (i + 3 + seed);
	in.flags = 0x2 | (seed % 2 ? 0 : PROBE_FLAGS);
	for (uint32_t i = 0; i < 6; i++)
		probe_results[i] = 0x1122334455667788ull * (i + 5 + seed);
}

/* A bit an enum ada_register: what the call has changed of these. Of all else nothing has. */
static uint32_t changed(void)
{
	struct probe expected = in;
	uint32_t set = 0;

	expected.flags &= PROBE_FLAGS;
	out.flags &= PROBE_FLAGS;
	for (uint32_t i = 0; i < ADA_REGISTER_COUNT; i++) {
		uint64_t *before = (uint64_t *)((char *)&expected + probe_places[i]), *after = (uint64_t *)((char *)&out + probe_places[i]);

		if (!(RESULTS >> i & 1) && *before != *after) {
			set |= 1u << i;
			*before = *after;
		}
	}
	expected.rax = probe_results[0];
	expected.rdx = probe_results[1];
	memcpy(expected.xmm[0], &probe_results[2], 16);
	memcpy(expected.xmm[1], &probe_results[4], 16);
	expected.rsp = out.rsp;
	expected.unused = out.unused;
	assert_memory_equal(&out, &expected, sizeof out);
	return set;
}

static const struct {
	uint16_t entry, exit;
} sets[] = {
	{ 0, 0 },
	{ FLAGS, 0 },
	{ 0, FLAGS },
	{ FLAGS, FLAGS },
	{ VALUES, VALUES },
	{ VALUES | BIT(RAX), VALUES | BIT(RSI) },
	{ VALUES | BIT(RAX) | BIT(RCX) | BIT(RDX), VALUES | BIT(RSI) | BIT(R8) },
	{ VALUES | BIT(RAX) | BIT(RDX), VALUES | BIT(R8) },
	{ EVERY, EVERY & ~RESULTS },
	{ EVERY & ~FLAGS, EVERY & ~FLAGS & ~RESULTS },
};

static void calls(uint32_t count, void *target, uint32_t free)
{
	probe_target = target;
	for (uint32_t i = 0; i < count; i++) {
		inputs_make(i);
		probe_call(&in, &out, NULL, 0, NULL);
		assert_int_equal(changed() & ~free, 0);
	}
}

/* Slow paths among them: the first, each chunk's first. */
static void only_what_is_free_is_touched(void **state)
{
	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
		const uint32_t count = 2 * ADA_CHUNK_EVENTS, free = sets[i].entry | sets[i].exit;

		begin(sets[i].entry, sets[i].exit);
		calls(count, probed, free);
		calls(count, probe_tail, free);
		calls(count, probed_near, free);
		fake_drain();
		assert_int_equal(fake_count().calls, 4 * count);
		assert_int_equal(fake_count().returns, 4 * count);
		assert_int_equal(fake_count().errors + fake_count().lost + fake_count().exceptions, 0);
		assert_int_equal(fake_frames(), 0);
	}
}

/* Where a lean hook leads what it doesn't know, and the byte that a trap stands for there. */
extern uint8_t ada_entry[], ada_entry_near[], ada_entry_below[], ada_exit_known[];
static uint8_t *const others[] = { ada_entry, ada_entry_near, ada_entry_below, ada_exit_known };
#define OTHERS (sizeof others / sizeof *others)
static uint8_t first_bytes[OTHERS];
static volatile sig_atomic_t fallen;

static void traps(bool on)
{
	for (size_t i = 0; i < OTHERS; i++) {
		if (on)
			first_bytes[i] = *others[i];
		*others[i] = on ? 0xcc : first_bytes[i];
	}
}

static void on_fallen(int number, siginfo_t *info, void *context)
{
	traps(false);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]--;
	fallen++;
}

static void tail_calls_stay_with_the_lean_hooks(void **state)
{
	struct sigaction action = { .sa_sigaction = on_fallen, .sa_flags = SA_SIGINFO };
	const uint32_t count = 100;

	sigaction(SIGTRAP, &action, NULL);
	for (size_t i = 0; i < OTHERS; i++)
		assert_int_equal(mprotect((void *)((uint64_t)others[i] & -4096ull), 4096, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	for (size_t i = 3; i < sizeof sets / sizeof *sets - 1; i++) { /* whose flags are free */
		begin(sets[i].entry, sets[i].exit);
		calls(2, probe_tail, sets[i].entry | sets[i].exit);
		traps(true);
		calls(count, probe_tail, sets[i].entry | sets[i].exit);
		if (!fallen)
			traps(false);
		assert_int_equal(fallen, 0);
		fake_drain();
		assert_int_equal(fake_count().calls, 2 * (count + 2));
		assert_int_equal(fake_count().returns, 2 * (count + 2));
		assert_int_equal(fake_count().errors + fake_count().lost + fake_count().exceptions, 0);
		assert_int_equal(fake_frames(), 0);
	}
}

static void on_alarm(int number)
{
	for (int i = 0; i < 3; i++)
		leaf(i);
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED); /* the thread that drains may have taken the signal */
}

static void storm(bool on)
{
	struct itimerval timer = { { 0, on ? 50 : 0 }, { 0, on ? 50 : 0 } };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

	handled = on ? 0 : handled;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Sections are aborted, and start anew with registers that nobody has put back. */
static void signals_cost_nothing(void **state)
{
	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
		uint32_t count = 0;
		void *targets[3];

		begin(sets[i].entry, sets[i].exit);
		targets[0] = probed;
		targets[1] = probe_tail;
		targets[2] = probed_near;
		fake_drain_start();
		storm(true);
		for (; handled < 500 || count < 50001; count++)
			calls(1, targets[count % 3], sets[i].entry | sets[i].exit);
		storm(false);
		fake_drain_stop();
		fake_drain();
		assert_int_equal(fake_count().calls, count + (count + 1) / 3 + 3 * handled);
		assert_int_equal(fake_count().returns, fake_count().calls);
		assert_int_equal(fake_count().errors + fake_count().lost + fake_count().exceptions, 0);
	}
}

/* Also where signal handlers use the stack meanwhile; but for the lowest word: docs/inside/regions.md. */
static void a_red_zone_stays(void **state)
{
	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
		uint32_t count = 0;

		begin(sets[i].entry, sets[i].exit);
		fake_drain_start();
		storm(true);
		for (; handled < 50 || count < 5000; count++) {
			calls(1, probe_leaf, sets[i].entry | sets[i].exit);
			for (uint64_t k = 1; k <= 15; k++)
				assert_int_equal(probe_red_zone[k], 0x5a000000 + 8 * k);
			assert_true(sets[i].entry & BIT(RAX) || probe_red_zone[0] == in.rax);
		}
		storm(false);
		fake_drain_stop();
		fake_drain();
		assert_int_equal(fake_count().calls, count + 3 * handled);
		assert_int_equal(fake_count().returns, fake_count().calls);
		assert_int_equal(fake_count().errors + fake_count().lost + fake_count().exceptions, 0);
	}
}

/* --- calls that are to pass --------------------------------------------------------------------------------------------------- */

static uint8_t *flags_of(void *function)
{
	return (uint8_t *)shm + shm->policy_offset + ADA_POLICY_FLAGS + ADA_FUNCTION_SYMBOL(fake_id(function));
}

/* By each way into a function: before its caller has a return stub, and when it has; with nothing else that a policy asks for, and with. */
static void what_is_muted_passes(void **state)
{
	const uint32_t count = 100;
	uint32_t passed = 0;

	for (size_t i = 0; i < 2 * sizeof sets / sizeof *sets; i++) {
		const uint32_t free = sets[i / 2].entry | sets[i / 2].exit, rules = i % 2 ? ADA_POLICY_CALL | ADA_POLICY_RETURN : 0;
		const struct ada_hook *near;

		begin(sets[i / 2].entry, sets[i / 2].exit);
		near = (struct ada_hook *)((uint8_t *)probed_near + ADA_BLOCK_BYTES);
		assert_false(near->passed);
		for (int known = 0; known < 2; known++) {
			*flags_of(probed) = (uint8_t)(ADA_POLICY_MUTED | rules);
			calls(count, probed, free);
			calls(count, probed_near, free);
			assert_true(near->passed || near->stub);
			passed += near->passed;
			assert_int_equal(fake_count().calls, known * 3 * count);
			calls(count, probe_tail, free); /* which is recorded, and ends with a call of probed */
			*flags_of(probed) = 0;
			calls(count, probed, free);
			calls(count, probed_near, free);
			fake_drain();
			assert_int_equal(fake_count().calls, (known + 1) * 3 * count);
			assert_int_equal(fake_count().returns, (known + 1) * 3 * count);
		}
		assert_int_equal(fake_count().errors + fake_count().lost + fake_count().exceptions, 0);
		assert_int_equal(fake_frames(), 0);
	}
	assert_int_not_equal(passed, 0);
}

/* --- a rule looks at a call ------------------------------------------------------------------------------------------------ */

static uint32_t judged;

__attribute__((target("general-regs-only"))) static void judge(const struct ada_judged *event)
{
	const struct ada_registers *registers = event->registers;

	if (event->kind == ADA_EVENT_CALL)
		judged += registers->rdi == in.rdi && registers->rsi == in.rsi && registers->rdx == in.rdx && registers->rcx == in.rcx &&
			  registers->r8 == in.r8 && registers->r9 == in.r9;
	else
		judged += registers->rax == probe_results[0] && registers->rdx == probe_results[1];
}

static void a_rule_sees_arguments_and_results(void **state)
{
	const uint32_t count = 100;

	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
		begin(sets[i].entry, sets[i].exit);
		*flags_of(probed) = ADA_POLICY_CALL | ADA_POLICY_RETURN;
		judged = 0;
		fake_judge = judge;
		calls(count, probed, sets[i].entry | sets[i].exit);
		calls(count, probed_near, sets[i].entry | sets[i].exit);
		fake_judge = NULL;
		assert_int_equal(judged, 4 * count);
	}
}

/* --- poison ---------------------------------------------------------------------------------------------------------------- */

static void poison_changes_all_that_is_free(void **state)
{
	fake_poison = true;
	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
		uint32_t free = (sets[i].entry | sets[i].exit) & ~RESULTS;

		begin(sets[i].entry, sets[i].exit);
		for (uint32_t k = 0; k < 20; k++) {
			inputs_make(k);
			probe_target = k < 10 ? probed : probed_near;
			probe_call(&in, &out, NULL, 0, NULL);
			assert_int_equal(changed(), free);
		}
	}
	fake_poison = false;
}

/* --- unwinding ------------------------------------------------------------------------------------------------------------- */

extern const char steps_begin[], steps_end[];
static volatile uint32_t steps, missed;
static long (*volatile leaf_called)(long);

/* leaf returns to it. */
NOINLINE static long stepped(long x)
{
	long sum = leaf_called(x);

	BARRIER;
	return sum + 1;
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *found)
{
	*(bool *)found |= _Unwind_GetRegionStart(context) == (uintptr_t)stepped;
	return _URC_NO_REASON;
}

static void on_trap(int number, siginfo_t *info, void *context)
{
	uint64_t ip = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	bool found = false;

	_Unwind_Backtrace(visit, &found);
	missed += !found && (ip < (uint64_t)steps_begin || ip > (uint64_t)steps_end);
	steps++;
}

/* Single steps lead through what lies around a section; the section itself is left at its first. */
static void every_instruction_can_be_unwound(void **state)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &action, NULL);
	for (size_t i = 0; i < 4 * sizeof sets / sizeof *sets; i++) {
		const bool near = i & 1, muted = i & 2;

		begin(sets[i / 4].entry, sets[i / 4].exit);
		fake_free_at_entry = sets[i / 4].entry;
		fake_free_at_exit = sets[i / 4].exit;
		hook(leaf);
		leaf_called = near ? (long (*)(long))fake_near(leaf, NULL) : leaf;
		for (int call = 0; call < 2 && i < 2 * sizeof sets / sizeof *sets; call++) /* else the first call has a slow path */
			assert_int_equal(stepped(1), 3);
		*flags_of(leaf) = muted ? ADA_POLICY_MUTED : 0;
		steps = missed = 0;
		__asm__ volatile("lea -128(%%rsp),%%rsp; mov $5,%%edi; pushf; orl $0x100,(%%rsp)\n"
				 "steps_begin: popf; call *%0; pushf; andl $~0x100,(%%rsp); popf\n"
				 "steps_end: lea 128(%%rsp),%%rsp"
				 :
				 : "b"(stepped)
				 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
		assert_true(steps > (muted ? 25 : 60));
		assert_int_equal(missed, 0);
		*flags_of(leaf) = 0;
	}
}

static uint8_t *trapped, original;

static void on_breakpoint(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	bool found = false;

	_Unwind_Backtrace(visit, &found);
	missed += !found;
	steps++;
	*trapped = original;
	interrupted->uc_mcontext.gregs[REG_RIP]--;
}

/* Single steps take the way without a return stub, so each place of a near stub gets a breakpoint. */
static void every_place_of_a_near_stub_can_be_unwound(void **state)
{
	static const uint8_t stops[] = { 0, ADA_TRAMPOLINE_RETURN, ADA_NEAR_STUB_JUMP, ADA_NEAR_STUB_PASS, ADA_NEAR_STUB_BODY };
	struct sigaction action = { .sa_sigaction = on_breakpoint, .sa_flags = SA_SIGINFO };
	struct ada_hook *near;
	uint8_t *stub;

	begin(FLAGS, FLAGS);
	stub = fake_near(leaf, NULL);
	near = (struct ada_hook *)(stub + ADA_BLOCK_BYTES);
	leaf_called = (long (*)(long))stub;
	assert_int_equal(stepped(1), 3);
	assert_int_equal(mprotect((void *)((uint64_t)stub & -4096ull), 4096, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	sigaction(SIGTRAP, &action, NULL);
	steps = missed = 0;
	for (size_t i = 0; i < sizeof stops; i++) {
		if (stops[i] == ADA_NEAR_STUB_PASS)
			near->stub = (uint64_t)stub + ADA_NEAR_STUB_PASS; /* as where hooks only pass */
		trapped = stub + stops[i];
		original = *trapped;
		*trapped = 0xcc;
		assert_int_equal(stepped(1), 3);
		assert_int_equal(steps, i + 1);
	}
	assert_int_equal(missed, 0);
}

/* --- the budget ------------------------------------------------------------------------------------------------------------ */

#define STACK 28 /* of them for 128 bytes of the stack */
#define BELOW 3	 /* where a red zone is left alone: finds the hook, and has where to go on in the slot */
#define REACH 5	 /* and of a return that has them, and jumps over them where it hasn't */

/* Instructions up to the return, where each condition is the usual one: no branch is taken but an exit's over what shares its slot. */
static uint32_t instructions(const void *hook)
{
	extern const uint8_t ada_lean_begin[], ada_lean_end[];
	const bool lean = (const uint8_t *)hook >= ada_lean_begin && (const uint8_t *)hook < ada_lean_end;
	const uint8_t *at = hook;
	ZydisDecoder decoder;
	ZydisDecodedInstruction instruction;
	uint32_t count = 0;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	do {
		assert_true(ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, at, 16, &instruction)));
		at += instruction.length;
		if (instruction.mnemonic == ZYDIS_MNEMONIC_JMP || (lean && instruction.mnemonic == ZYDIS_MNEMONIC_JZ))
			at += instruction.raw.imm[0].value.s;
		count++;
	} while (instruction.mnemonic != ZYDIS_MNEMONIC_RET);
	return count;
}

static void hooks_keep_to_their_budget(void **state)
{
	extern const char ada_entry_lean_0[], ada_entry_lean_arguments_0[], ada_entry_lean_values_0[], ada_entry_lean_rax_0[],
		ada_entry_lean_flags_0[], ada_entry_lean_1[], ada_entry_lean_2[], ada_entry_lean_flags_1[];
	extern const char ada_below_lean_0[], ada_below_lean_flags_0[], ada_below_lean_2[];
	extern const char ada_known_lean_0[], ada_known_lean_arguments_0[], ada_known_lean_values_0[], ada_known_lean_rax_0[],
		ada_known_lean_flags_0[], ada_known_lean_1[], ada_known_lean_2[], ada_known_lean_flags_1[];
	extern const char ada_exit[], ada_exit_lean_0[], ada_exit_lean_flags_0[], ada_exit_lean_1[], ada_exit_lean_flags_1[];
	const struct {
		const char *hook;
		uint32_t instructions;
	} budget[] = {
		{ ada_entry_lean_0, 42 },
		{ ada_entry_lean_arguments_0, 46 },
		{ ada_entry_lean_values_0, 48 },
		{ ada_entry_lean_rax_0, 50 },
		{ ada_entry_lean_flags_0, 52 },
		{ ada_entry_lean_1, 72 + STACK },
		{ ada_entry_lean_flags_1, 78 + STACK },
		{ ada_entry_lean_2, 80 + STACK },
		{ ada_below_lean_0, 42 + BELOW },
		{ ada_below_lean_flags_0, 52 + BELOW },
		{ ada_below_lean_2, 80 + STACK + BELOW },
		{ ada_known_lean_0, 36 },
		{ ada_known_lean_arguments_0, 40 },
		{ ada_known_lean_values_0, 42 },
		{ ada_known_lean_rax_0, 44 },
		{ ada_known_lean_flags_0, 46 },
		{ ada_known_lean_1, 66 + STACK },
		{ ada_known_lean_flags_1, 72 + STACK },
		{ ada_known_lean_2, 74 + STACK },
		{ (const char *)ada_entry, 72 },
		{ ada_exit_lean_0, with_detail ? 1 + 61 + STACK + REACH : 35 }, /* begins with a jump to the other */
		{ ada_exit_lean_flags_0, with_detail ? 1 + 69 + STACK + REACH : 43 },
		{ ada_exit_lean_1, 61 + STACK + REACH },
		{ ada_exit_lean_flags_1, 69 + STACK + REACH },
		{ ada_exit, 67 },
	};

	for (size_t i = 0; i < sizeof budget / sizeof *budget; i++)
		if (instructions(budget[i].hook) != budget[i].instructions)
			fail_msg("hook %zu has %u instructions, not %u", i, instructions(budget[i].hook), budget[i].instructions);
}

/* detail: hooks that write records, too. What a process begins with it keeps. below: hooks that leave a red zone alone. */
int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_free_is_touched),
		cmocka_unit_test(tail_calls_stay_with_the_lean_hooks),
		cmocka_unit_test(signals_cost_nothing),
		cmocka_unit_test(a_red_zone_stays),
		cmocka_unit_test(what_is_muted_passes),
		cmocka_unit_test(a_rule_sees_arguments_and_results),
		cmocka_unit_test(poison_changes_all_that_is_free),
		cmocka_unit_test(every_instruction_can_be_unwound),
		cmocka_unit_test(every_place_of_a_near_stub_can_be_unwound),
		cmocka_unit_test(hooks_keep_to_their_budget),
	};

	for (int i = 1; i < count; i++) {
		with_detail |= !strcmp(arguments[i], "detail");
		below |= !strcmp(arguments[i], "below");
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

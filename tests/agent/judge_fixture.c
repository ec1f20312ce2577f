/* The segment of judge_fixture.h. */
#include <sys/mman.h>
#include "judge_fixture.h"

#define PAGE_UP(bytes) (((bytes) + 4095) & ~4095ull)

struct ada_shm *shm;
static uint64_t shm_bytes;

struct ada_shm *ada_core_shm(void)
{
	return shm;
}

char *policy(void)
{
	return (char *)shm + shm->policy_offset;
}

struct ada_policy_table *table(uint32_t number)
{
	return (struct ada_policy_table *)(policy() + (uint64_t)number * ADA_POLICY_TABLE_BYTES);
}

void force(uint32_t number)
{
	uint64_t flags = (uint64_t)table(number) + ADA_POLICY_FLAGS - (uint64_t)&shm->policy_flags;

	__atomic_store_n(&shm->policy_flags, flags, __ATOMIC_RELEASE);
}

struct ada_mark *marks(void)
{
	return (struct ada_mark *)((char *)shm + shm->marks_offset);
}

uint64_t marked(void)
{
	return shm->marks.detected;
}

int begin(void **state)
{
	shm_bytes = 4096 + ADA_MARKS * sizeof(struct ada_mark) + PAGE_UP(ADA_POLICY_BYTES);
	shm = mmap(NULL, shm_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	shm->marks_offset = 4096;
	shm->policy_offset = 4096 + ADA_MARKS * sizeof(struct ada_mark);
	shm->detail.pin.start = ADA_PIN_NONE;
	for (uint32_t i = 0; i < 2; i++) {
		table(i)->depth_limit = UINT64_MAX;
		table(i)->functions = 100;
		table(i)->version = 1;
	}
	force(0);
	return 0;
}

int end(void **state)
{
	munmap(shm, shm_bytes);
	return 0;
}

void name_in(struct ada_policy_table *in, uint32_t number, uint64_t mask)
{
	((uint16_t *)((char *)in + ADA_POLICY_CLASSES))[number] = 3;
	((uint64_t *)((char *)in + ADA_POLICY_MASKS))[3] = mask;
}

struct ada_rule *rule_put(uint32_t slot, enum ada_rule_kind kind)
{
	struct ada_rule *rule = &table(0)->rules[slot];
	uint64_t *mask = (uint64_t *)((char *)table(0) + ADA_POLICY_MASKS) + 3;

	*rule = (struct ada_rule){ .kind = kind, .flags = ADA_RULE_ENABLED, .incarnation = 1 };
	name_in(table(0), FUNCTION, *mask | 1ull << slot);
	ada_policy_state(policy(), slot)->incarnation = 1;
	return rule;
}

struct ada_registers registers;

struct ada_judged call_at(uint64_t counter)
{
	return (struct ada_judged){ .kind = ADA_EVENT_CALL,
				    .counter = counter,
				    .number = FUNCTION,
				    .function_id = 0x1234,
				    .seq = 5,
				    .thread = 2,
				    .depth = 1,
				    .return_address = 0x4000,
				    .slot = 0x7000,
				    .registers = &registers };
}

struct ada_judged return_at(uint64_t start, uint64_t counter)
{
	struct ada_judged event = call_at(counter);

	event.kind = ADA_EVENT_RETURN;
	event.start_counter = start;
	return event;
}

bool marks_for(const struct ada_judged *event)
{
	uint64_t before = marked();

	ada_judge(event);
	return marked() > before;
}

bool call_marks(uint64_t counter)
{
	struct ada_judged event = call_at(counter);

	return marks_for(&event);
}

bool return_marks(uint64_t start, uint64_t counter)
{
	struct ada_judged event = return_at(start, counter);

	return marks_for(&event);
}

bool c_compare(double a, enum ada_rule_op op, double b)
{
	switch (op) {
	case ADA_OP_LT: return a < b;
	case ADA_OP_LE: return a <= b;
	case ADA_OP_EQ: return a == b;
	case ADA_OP_NE: return a != b;
	case ADA_OP_GE: return a >= b;
	case ADA_OP_GT: return a > b;
	default: return false;
	}
}

/* One judgement at a time has it. */
static __thread struct {
	_Alignas(16) char bytes[ADA_JUDGE_ROOM];
	bool taken;
} judge_room;

void *ada_judge_room(void)
{
	if (judge_room.taken)
		return NULL;
	judge_room.taken = true;
	return judge_room.bytes;
}

void ada_judge_room_return(void *room)
{
	judge_room.taken = false;
}

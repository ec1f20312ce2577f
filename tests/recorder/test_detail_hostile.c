/* A pool that the traced program has written anything into. */
#include "detail_world.h"

#include <stdlib.h>

static void spoil(struct world *world, unsigned *random)
{
	struct ada_shm *shm = world->segment.shm;
	struct ada_detail_chunk *chunk = fake_detail(&world->fake, rand_r(random) % world->segment.detail_ready);
	uint64_t value = rand_r(random) % 3 ? (uint64_t)rand_r(random) % 2000 : (uint64_t)rand_r(random) << 40 | (uint64_t)rand_r(random);

	switch (rand_r(random) % 12) {
	case 0: chunk->status = (uint32_t)value; break;
	case 1: chunk->thread = (uint32_t)value; break;
	case 2: chunk->first_seq = value; break;
	case 3: chunk->last_counter = value; break;
	case 4: chunk->first_counter = value; break;
	case 5: shm->detail.sealed_tail = value; break;
	case 6: shm->detail.horizon = value; break;
	case 7: shm->detail.pin.start = value; break;
	case 8: shm->detail.pin.end = value; break;
	case 9: fake_chunk(&world->fake, (uint32_t)value % world->segment.chunks_ready)->detail = (uint32_t)rand_r(random) % 40; break;
	case 10: fake_chunk(&world->fake, (uint32_t)value % world->segment.chunks_ready)->first_seq = value; break;
	default:
		for (int i = 0; i < 100; i++)
			((uint8_t *)chunk)[(uint32_t)rand_r(random) % world->segment.detail_chunk_bytes] = (uint8_t)rand_r(random);
	}
}

/* It costs this provider's detail, and nothing else. */
static void a_hostile_pool_harms_nobody(void **state)
{
	unsigned random = 7;

	for (int round = 0; round < 12; round++) {
		struct world world;
		struct world_options options = { .detail_bytes = 4 << 20, .threads = 4 };

		options.index_mode = round % 4 == 3 ? ADA_INDEX_CIRCULAR : ADA_INDEX_STREAMING;
		options.detail_mode = round % 4 == 2 ? ADA_DETAIL_STREAMING : ADA_DETAIL_CIRCULAR;
		world_make(&world, &options);
		for (int i = 0; i < 150; i++) {
			/* The fake agent believes its own ring: what it reads of it is right again when it runs. */
			struct ada_detail_control control = world.segment.shm->detail;

			spoil(&world, &random);
			world_turn(&world);
			world.segment.shm->detail.sealed_tail = control.sealed_tail;
			world.segment.shm->detail.sealed_head = control.sealed_head;
			world_run(&world, (uint32_t)i % 4, 150);
			if (i % 10 == 0)
				fake_mark(&world.threads[i % 4], 500 * TICK, 100, 100 * TICK, 100);
		}
		world_finish(&world);
		world_end(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_hostile_pool_harms_nobody) };

	return world_run_tests("detail hostile", tests);
}

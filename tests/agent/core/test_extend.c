/* Memory that the agent makes for a pool by itself: what it takes, what it may take, and what becomes of it where there is none. */
#include <errno.h>
#include <string.h>
#include "agent/record/lane.h"
#include "../../test.h"

#define CHUNKS 100u
#define BYTES 32768u
#define STEP 8u

static uint64_t free_words[2], touched[2];
static uint32_t front;
static struct ada_shm shm;
static struct ada_pool pool;
static uint64_t made_from, made_bytes;
static long answer;
static void (*meanwhile)(void);

long ada_sys_advise(void *start, size_t bytes, int advice)
{
	made_from = (uint64_t)start;
	made_bytes = bytes;
	if (meanwhile)
		meanwhile();
	return answer;
}

static int begin(void **state)
{
	memset(free_words, 0, sizeof free_words);
	memset(touched, 0, sizeof touched);
	shm = (struct ada_shm){ .allowed_bytes = UINT64_MAX };
	front = 10;
	pool = (struct ada_pool){ .chunk_bytes = BYTES,
				  .count = CHUNKS,
				  .free_words = free_words,
				  .front = &front,
				  .step = STEP,
				  .share = 1,
				  .touched = touched };
	answer = 0;
	meanwhile = NULL;
	return 0;
}

static void takes_a_step(void **state)
{
	uint32_t number;

	assert_false(ada_pool_take(&pool, 0, &number));
	assert_int_equal(ada_pool_extend(&pool, &shm, &number), ADA_LACK_NONE);
	assert_int_equal(number, 10);
	assert_int_equal(front, 18);
	assert_int_equal(made_from, 10 * BYTES);
	assert_int_equal(made_bytes, STEP * BYTES);
	assert_int_equal(shm.taken_bytes, STEP * BYTES);
	assert_int_equal(touched[0], 0xffull << 10);
	for (uint32_t next = 11; next < 18; next++)
		assert_true(ada_pool_take(&pool, 0, &number) && number == next);
	assert_false(ada_pool_take(&pool, 0, &number));
}

static void up_to_the_end(void **state)
{
	uint32_t number;

	front = CHUNKS - 3;
	assert_int_equal(ada_pool_extend(&pool, &shm, &number), ADA_LACK_NONE);
	assert_int_equal(number, CHUNKS - 3);
	assert_int_equal(front, CHUNKS);
	assert_int_equal(made_bytes, 3 * BYTES);
	assert_int_equal(ada_pool_extend(&pool, &shm, &number), ADA_LACK_FULL);
	front = UINT32_MAX; /* as the recorder may have set it */
	assert_int_equal(ada_pool_extend(&pool, &shm, &number), ADA_LACK_FULL);
}

static void within_what_is_allowed(void **state)
{
	uint32_t number;

	shm.allowed_bytes = 2 * STEP * BYTES + 1;
	assert_int_equal(ada_pool_extend(&pool, &shm, &number), ADA_LACK_NONE);
	assert_int_equal(ada_pool_extend(&pool, &shm, &number), ADA_LACK_NONE);
	made_bytes = 0;
	assert_int_equal(ada_pool_extend(&pool, &shm, &number), ADA_LACK_MEMORY);
	assert_int_equal(made_bytes, 0);
	assert_int_equal(front, 26);
	assert_int_equal(shm.taken_bytes, 2 * STEP * BYTES);
	shm.allowed_bytes = 3 * STEP * BYTES;
	assert_int_equal(ada_pool_extend(&pool, &shm, &number), ADA_LACK_NONE);
	pool.share = 4; /* a lane that leaves the rest to others */
	shm.allowed_bytes = 15 * STEP * BYTES;
	assert_int_equal(ada_pool_extend(&pool, &shm, &number), ADA_LACK_MEMORY);
	shm.allowed_bytes = 16 * STEP * BYTES;
	assert_int_equal(ada_pool_extend(&pool, &shm, &number), ADA_LACK_NONE);
}

static void another_goes_on(void)
{
	front += STEP;
}

static void nothing_is_kept_where_there_is_none(void **state)
{
	uint32_t number;

	answer = -EFAULT;
	assert_int_equal(ada_pool_extend(&pool, &shm, &number), ADA_LACK_MEMORY);
	assert_int_equal(front, 10);
	assert_int_equal(shm.taken_bytes, 0);
	assert_int_equal(free_words[0] | free_words[1] | touched[0] | touched[1], 0);
	meanwhile = another_goes_on; /* then it can't be put back */
	assert_int_equal(ada_pool_extend(&pool, &shm, &number), ADA_LACK_MEMORY);
	assert_int_equal(front, 26);
	assert_int_equal(free_words[0] | free_words[1], 0);
	meanwhile = NULL;
	answer = 0;
	assert_int_equal(ada_pool_extend(&pool, &shm, &number), ADA_LACK_NONE);
	assert_int_equal(number, 26);
}

static void not_where_the_kernel_could_kill(void **state)
{
	uint32_t number;

	answer = -EINVAL;
	assert_int_equal(ada_pool_extend(&pool, &shm, &number), ADA_LACK_MEMORY);
	answer = 0;
	made_bytes = 0;
	assert_int_equal(ada_pool_extend(&pool, &shm, &number), ADA_LACK_MEMORY);
	assert_int_equal(made_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test_setup(takes_a_step, begin), cmocka_unit_test_setup(up_to_the_end, begin),
					    cmocka_unit_test_setup(within_what_is_allowed, begin),
					    cmocka_unit_test_setup(nothing_is_kept_where_there_is_none, begin),
					    cmocka_unit_test_setup(not_where_the_kernel_could_kill, begin) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Segments that lie ready: each is taken once, is its process's from then on, and the others go with the stock. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "recorder/process/stock.h"
#include "../test.h"

#define PATIENCE_US 10000000 /* where memory is limited nothing ever lies ready */
#define STEP_US 1000

static const struct ada_trace_options asked = { .index_buffer_bytes = 1 << 20 };
static struct ada_recorder recorder;
static struct ada_stock *stock;

static int open_stock(void **state)
{
	recorder = (struct ada_recorder){ .options = &asked, .shared.directory = -1 };
	return ada_shared_open(&recorder.shared, NULL) || ada_stock_open(&stock, &recorder, NULL);
}

static int close_stock(void **state)
{
	ada_stock_close(stock);
	ada_shared_remove(&recorder.shared);
	return 0;
}

static struct ada_segment_options wanted(uint32_t provider)
{
	struct ada_segment_options options = ada_stock_options(&recorder);

	options.pid = 70 + provider;
	options.provider = provider;
	options.named = true;
	return options;
}

static void take(const struct ada_segment_options *options, struct ada_segment *segment, int *agent_fd)
{
	int waited = 0, status;

	if (!recorder.shared.own)
		test_skip("needs the right to mount");
	while ((status = ada_stock_take(stock, options, segment, agent_fd)) == -ENOENT && waited < PATIENCE_US) {
		usleep(STEP_US);
		waited += STEP_US;
	}
	if (status == -ENOENT)
		test_skip("memory is limited here");
	assert_int_equal(status, 0);
}

static void each_is_taken_once(void **state)
{
	struct ada_segment segments[6];
	int agent_fds[6];

	for (uint32_t i = 0; i < 6; i++) {
		struct ada_segment_options options = wanted(i);
		char name[ADA_SHARED_NAME_BYTES];

		take(&options, &segments[i], &agent_fds[i]);
		ada_stock_refill(stock, i % 2);
		assert_int_equal(segments[i].shm->pid, 70 + i);
		assert_int_equal(segments[i].shm->provider, i);
		assert_true(ada_segment_in_use(&segments[i]));
		ada_shared_segment_name(name, i);
		assert_int_equal(faccessat(recorder.shared.directory, name, F_OK, 0), 0);
	}
	for (uint32_t i = 0; i < 6; i++) {
		close(agent_fds[i]);
		assert_false(ada_segment_in_use(&segments[i]));
		ada_segment_destroy(&segments[i]);
	}
}

static void another_kind_is_not_there(void **state)
{
	struct ada_segment_options options = wanted(1);
	struct ada_segment segment;
	int agent_fd;

	options.scarce = true;
	assert_int_equal(ada_stock_take(stock, &options, &segment, &agent_fd), -ENOENT);
	options = wanted(1);
	options.index_buffer_bytes *= 2;
	assert_int_equal(ada_stock_take(stock, &options, &segment, &agent_fd), -ENOENT);
	options = wanted(1);
	assert_int_equal(ada_stock_take(NULL, &options, &segment, &agent_fd), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(each_is_taken_once, open_stock, close_stock),
					    cmocka_unit_test_setup_teardown(another_kind_is_not_there, open_stock, close_stock) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

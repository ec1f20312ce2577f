/* Segments on their way out: each is taken back once it has gone, in the order of the sending, while others are on their way still; a
 * thread's never overtake one another, also where one can't go. And no limit that can't be kept is waited for. */
#include "../test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/file.h"
#include "recorder/bound/bound.h"

#define MIB (1ull << 20)
#define LATER_NS 3600000000000ull /* an hour from now whatever failed may come again */

static char root[] = "/tmp/ada-bound-XXXXXX";

static struct {
	sem_t entered, may_go; /* of each fold, where `waits` */
	bool waits;
	const char *fails; /* a directory's end: the thread's sums can't be written now */
} folding;

static int fold(const char *directory, uint32_t border, struct ada_folded *folded, struct ada_error *error)
{
	size_t length = strlen(directory);

	if (folding.waits) {
		sem_post(&folding.entered);
		while (sem_wait(&folding.may_go))
			;
	}
	if (folding.fails && !strcmp(directory + length - strlen(folding.fails), folding.fails))
		return ada_error_system(error, ENOSPC, "%s", directory);
	*folded = (struct ada_folded){ .aged = border, .until_ns = border };
	return 0;
}

static int begin(void **state)
{
	strcpy(root + strlen(root) - 6, "XXXXXX");
	memset(&folding, 0, sizeof folding);
	return !mkdtemp(root) || sem_init(&folding.entered, 0, 0) || sem_init(&folding.may_go, 0, 0);
}

static int end(void **state)
{
	char command[64];

	snprintf(command, sizeof command, "rm -r %s", root);
	return system(command);
}

static struct ada_bound *limit(uint64_t bytes)
{
	struct ada_bound *bound;

	assert_int_equal(ada_bound_open(&bound, &(struct ada_bound_options){ .session = root, .disk_limit = bytes, .fold = fold }), 0);
	return bound;
}

static void directory_of(uint32_t thread, char directory[PATH_MAX])
{
	assert_int_equal(ada_path(directory, "%s/thread_%u", root, thread), 0);
}

/* A file of a megabyte. */
static void make_segment(uint32_t thread, uint32_t segment)
{
	char directory[PATH_MAX], path[PATH_MAX];
	int fd;

	directory_of(thread, directory);
	assert_true(!mkdir(directory, 0700) || errno == EEXIST);
	assert_int_equal(ada_path(path, segment ? "%s/index.%u.atp" : "%s/index.atp", directory, segment), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(posix_fallocate(fd, 0, MIB), 0);
	close(fd);
}

static void close_segment(struct ada_bound *bound, uint32_t thread, uint32_t segment, uint64_t end_ns)
{
	make_segment(thread, segment);
	ada_bound_closed(bound, &(struct ada_bound_segment){
					.start_ns = end_ns - 5, .end_ns = end_ns, .bytes = MIB, .thread = thread, .segment = segment });
}

static bool is_there(uint32_t thread, uint32_t segment)
{
	char directory[PATH_MAX], path[PATH_MAX];

	directory_of(thread, directory);
	return !ada_path(path, segment ? "%s/index.%u.atp" : "%s/index.atp", directory, segment) && !access(path, F_OK);
}

#define until(condition)                                                                                                                   \
	do {                                                                                                                               \
		uint64_t limit_ns = ada_clock_boottime_ns() + 30000000000ull;                                                              \
                                                                                                                                           \
		while (!(condition)) {                                                                                                     \
			if (ada_clock_boottime_ns() > limit_ns)                                                                            \
				fail_msg("it doesn't come: %s", #condition);                                                               \
			usleep(100);                                                                                                       \
		}                                                                                                                          \
	} while (0)

/* All that has to go now is sent; returns how many jobs that are. */
static int send_due(struct ada_bound *bound)
{
	const struct ada_bound_segment *segment;
	char directory[PATH_MAX];
	int count = 0;

	for (; (segment = ada_bound_next(bound, ada_clock_boottime_ns() + LATER_NS)); count++) {
		directory_of(segment->thread, directory);
		ada_bound_go(bound, directory, 100 + segment->thread);
	}
	ada_bound_send(bound);
	return count;
}

static const struct ada_bound_job *take(struct ada_bound *bound)
{
	const struct ada_bound_job *job;

	until((job = ada_bound_done(bound)));
	return job;
}

static void wait_for_fold(void)
{
	while (sem_wait(&folding.entered))
		;
}

/* One has gone, and is taken, while the next is on its way; its bytes are no longer counted; one more can be sent. */
static void each_is_taken_once_it_has_gone(void **state)
{
	struct ada_bound *bound = limit(MIB);

	folding.waits = true;
	for (uint32_t thread = 0; thread < 8; thread++)
		close_segment(bound, thread, 0, 1000 + thread);
	until(ada_bound_state(bound).bytes >= 8 * MIB);
	assert_int_equal(send_due(bound), 8);
	wait_for_fold();
	assert_null(ada_bound_done(bound));
	sem_post(&folding.may_go);
	assert_int_equal(take(bound)->segments[0].thread, 0);
	wait_for_fold();
	assert_false(is_there(0, 0));
	assert_true(is_there(1, 0));
	assert_true(ada_bound_state(bound).bytes >= 7 * MIB && ada_bound_state(bound).bytes < 7 * MIB + MIB / 2);
	assert_int_equal(ada_bound_state(bound).segments, 1);
	assert_null(ada_bound_done(bound));

	ada_bound_wrote(bound, MIB);
	close_segment(bound, 8, 0, 2000);
	assert_int_equal(send_due(bound), 1);
	folding.waits = false;
	sem_post(&folding.may_go);
	for (uint32_t thread = 1; thread <= 8; thread++)
		assert_int_equal(take(bound)->segments[0].thread, thread);
	assert_null(ada_bound_done(bound));
	ada_bound_wait(bound);
	assert_int_equal(ada_bound_state(bound).segments, 9);
	assert_true(ada_bound_state(bound).bytes < MIB / 2);
	ada_bound_close(bound);
}

/* More than there are places for, in any rhythm of sending and taking: each goes, and is taken, once. */
static void all_go_in_order(void **state)
{
	struct ada_bound *bound = limit(MIB);
	const struct ada_bound_job *job;
	uint32_t taken = 0;

	for (uint32_t thread = 0; thread < 50; thread++)
		close_segment(bound, thread, 0, 1000 + thread);
	until(ada_bound_state(bound).bytes >= 50 * MIB);
	while (taken < 50) {
		send_due(bound);
		if (taken % 7 == 3)
			ada_bound_wait(bound);
		for (uint32_t most = 1 + taken % 5; most && (job = ada_bound_done(bound)); most--) {
			assert_int_equal(job->status, 0);
			assert_int_equal(job->segments[0].thread, taken);
			assert_false(is_there(taken++, 0));
		}
	}
	assert_null(ada_bound_done(bound));
	assert_int_equal(ada_bound_state(bound).segments, 50);
	ada_bound_close(bound);
}

/* Eight of a thread are two jobs. Where the first can't go, the second doesn't either; then they come again, the first first. */
static void a_thread_never_overtakes_itself(void **state)
{
	struct ada_bound *bound = limit(MIB);
	const struct ada_bound_job *job;
	uint32_t border = 0, failed = 0, others = 0;

	folding.waits = true;
	folding.fails = "/thread_0";
	for (uint32_t segment = 0; segment < 8; segment++)
		close_segment(bound, 0, segment, 1000 + segment / 3); /* also where they end at one time */
	close_segment(bound, 1, 0, 1002);
	until(ada_bound_state(bound).bytes >= 9 * MIB);
	assert_int_equal(send_due(bound), 3);
	wait_for_fold();
	sem_post(&folding.may_go);
	wait_for_fold(); /* of thread 1, or of the second job */
	folding.fails = NULL;
	folding.waits = false;
	sem_post(&folding.may_go);
	for (int i = 0; i < 3; i++) {
		job = take(bound);
		failed += job->status != 0;
		others += !job->status && job->segments[0].thread == 1;
		if (job->segments[0].thread == 0)
			assert_int_equal(job->status, -ENOSPC);
	}
	assert_int_equal(failed, 2);
	assert_int_equal(others, 1);
	for (uint32_t segment = 0; segment < 8; segment++)
		assert_true(is_there(0, segment));
	ada_bound_wait(bound);
	assert_int_equal(send_due(bound), 2);
	while (border < 8) {
		job = take(bound);
		assert_int_equal(job->status, 0);
		assert_int_equal(job->segments[0].segment, border);
		border = job->border;
		for (uint32_t segment = 0; segment < border; segment++)
			assert_false(is_there(0, segment));
	}
	ada_bound_close(bound);
}

/* What is on its way is there until it is taken: the scheduling facts around it stay. */
static void what_is_on_its_way_has_not_gone(void **state)
{
	struct ada_bound *bound = limit(MIB);

	folding.waits = true;
	close_segment(bound, 0, 0, 1000);
	ada_bound_closed(bound, &(struct ada_bound_segment){ .start_ns = 400, .end_ns = 2000, .bytes = MIB, .thread = 1 });
	make_segment(1, 0);
	until(ada_bound_state(bound).bytes >= 2 * MIB);
	assert_int_equal(send_due(bound), 2);
	wait_for_fold();
	sem_post(&folding.may_go);
	assert_int_equal(take(bound)->segments[0].thread, 0);
	assert_null(ada_bound_done(bound));
	assert_int_equal(ada_bound_gone_ns(bound), 400);
	wait_for_fold();
	sem_post(&folding.may_go);
	assert_int_equal(take(bound)->segments[0].thread, 1);
	assert_null(ada_bound_done(bound));
	assert_int_equal(ada_bound_gone_ns(bound), 2000);
	ada_bound_close(bound);
}

/* So do those around what a window keeps, until it is given up. */
static void what_is_kept_has_not_gone(void **state)
{
	const struct ada_bound_segment *kept;
	struct ada_bound *bound = limit(4 * MIB);
	char directory[PATH_MAX];

	for (uint32_t thread = 0; thread < 8; thread++)
		close_segment(bound, thread, 0, 1000 + 10 * thread);
	until(ada_bound_state(bound).bytes >= 8 * MIB);
	for (int i = 0; i < 3; i++) {
		kept = ada_bound_next(bound, ada_clock_boottime_ns());
		directory_of(kept->thread, directory);
		ada_bound_go(bound, directory, 100 + (uint32_t)i)->keeps[0] = i == 1;
	}
	ada_bound_send(bound);
	for (int i = 0; i < 3; i++)
		assert_int_equal(take(bound)->keeps[0], i == 1);
	assert_null(ada_bound_done(bound));
	assert_int_equal(ada_bound_gone_ns(bound), 1005);
	kept = ada_bound_kept(bound, 0);
	assert_int_equal(kept->thread, 1);
	directory_of(1, directory);
	assert_true(ada_bound_drop(bound, ADA_BOUND_DROP, kept, directory, 101));
	ada_bound_send(bound);
	assert_int_equal(take(bound)->what, ADA_BOUND_DROP);
	assert_null(ada_bound_done(bound));
	assert_int_equal(ada_bound_gone_ns(bound), 1020);
	ada_bound_close(bound);
}

static void make_names(uint64_t bytes)
{
	char path[PATH_MAX];
	int fd;

	assert_int_equal(ada_path(path, "%s/names.tsv", root), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(posix_fallocate(fd, 0, (off_t)bytes), 0);
	close(fd);
}

/* What names take can't go: events have a quarter at least, and a limit that leaves it isn't touched. */
static void a_limit_that_cant_be_kept_is_raised(void **state)
{
	struct ada_bound *bound = limit(MIB);

	make_names(MIB / 2);
	make_segment(0, 0);
	until(ada_bound_state(bound).lasting >= MIB / 2 && ada_bound_state(bound).bytes >= MIB + MIB / 2);
	assert_true(ada_bound_is_full(bound, 0));
	assert_false(ada_bound_raise(bound));
	make_names(MIB);
	until(ada_bound_state(bound).lasting >= MIB);
	assert_true(ada_bound_raise(bound));
	assert_int_equal(ada_bound_state(bound).disk_limit, 2 * MIB);
	assert_false(ada_bound_raise(bound));
	make_names(7 * MIB);
	until(ada_bound_state(bound).lasting >= 7 * MIB);
	assert_true(ada_bound_raise(bound));
	assert_int_equal(ada_bound_state(bound).disk_limit, 16 * MIB);
	assert_false(ada_bound_is_full(bound, 0));
	ada_bound_close(bound);
}

/* A hundred threads' files need more than a megabyte, once events wait for room; as many that don't go on writing don't. */
static void files_of_many_threads_have_room(void **state)
{
	struct ada_bound *bound = limit(MIB);

	ada_bound_share(bound, 100, 100);
	assert_false(ada_bound_raise(bound));
	make_segment(0, 0);
	make_segment(1, 0);
	until(ada_bound_state(bound).bytes >= 2 * MIB);
	ada_bound_share(bound, 100, 2);
	assert_false(ada_bound_raise(bound));
	ada_bound_share(bound, 100, 100);
	assert_true(ada_bound_raise(bound));
	assert_int_equal(ada_bound_state(bound).disk_limit, 4 * MIB);
	ada_bound_close(bound);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_is_taken_once_it_has_gone, begin, end),
		cmocka_unit_test_setup_teardown(all_go_in_order, begin, end),
		cmocka_unit_test_setup_teardown(a_thread_never_overtakes_itself, begin, end),
		cmocka_unit_test_setup_teardown(what_is_on_its_way_has_not_gone, begin, end),
		cmocka_unit_test_setup_teardown(what_is_kept_has_not_gone, begin, end),
		cmocka_unit_test_setup_teardown(a_limit_that_cant_be_kept_is_raised, begin, end),
		cmocka_unit_test_setup_teardown(files_of_many_threads_have_room, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

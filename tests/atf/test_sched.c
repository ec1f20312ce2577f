/* sched.atf: the golden files (golden/make.py wrote them from the specification) are read and written alike, no damage goes unseen, and what
 * a crash left is finished. Argument: the golden files' directory. */
#include "atf/sched/sched.h"
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *golden_directory;

/* As SCHED in golden/make.py. */
static const AtfSchedEvent golden_events[] = {
	{ 1000000007, 1, 4242, 4240, 0, ATF_SCHED_ON, 0 },
	{ 1000000100, 24, 4242, 4240, 0, ATF_SCHED_FAULT, 0 },
	{ 1000000200, 1, 4242, 4240, 4243, ATF_SCHED_PREEMPTED, 0 },
	{ 1000000200, 1, 4243, 4240, 0, ATF_SCHED_ON, 0 },
	{ 1000000300, 7, 0, 0, 0, ATF_SCHED_LOST, 1 },
	{ 1000000400, 1, 4242, 4240, 0, ATF_SCHED_ON, UINT16_MAX },
	{ UINT64_MAX - 1, 1, 4242, 4240, 0, ATF_SCHED_OFF, UINT16_MAX },
};
#define COUNT (sizeof golden_events / sizeof *golden_events)

static struct bytes golden(const char *name)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%s", golden_directory, name);
	return bytes_read(path);
}

static void expect_events(const char *path, enum atf_completeness completeness)
{
	struct atf_message message;
	struct atf_sched *sched;
	uint64_t count;

	assert_int_equal(atf_sched_open(&sched, path, &message), 0);
	assert_int_equal(atf_sched_completeness(sched), completeness);
	assert_int_equal(completeness == ATF_COMPLETE, !*message.text);
	assert_memory_equal(atf_sched_events(sched, &count), golden_events, sizeof golden_events);
	assert_int_equal(count, COUNT);
	atf_sched_close(sched);
}

static void ignore(void *context, const char *check, bool ok, const char *message)
{
}

static void expect_same_bytes(const char *path, const char *name)
{
	struct bytes file = bytes_read(path), expected = golden(name);

	assert_int_equal(file.length, expected.length);
	assert_memory_equal(file.bytes, expected.bytes, expected.length);
	free(file.bytes);
	free(expected.bytes);
}

static void test_written_as_it_is_read(void **state)
{
	const char *path = ((struct fixture *)*state)->path;
	struct atf_sched_writer *writer;
	AtfSchedEvent events[COUNT];

	memcpy(events, golden_events, sizeof events);
	assert_int_equal(atf_sched_writer_open(&writer, path, 2, ATF_SCHED_KERNEL_FAULTS), 0);
	assert_int_equal(atf_sched_writer_append(writer, events, 3), 0);
	assert_int_equal(atf_sched_writer_append(writer, events + 3, COUNT - 3), 0);
	assert_int_equal(atf_sched_writer_close(writer), 0);
	expect_same_bytes(path, "sched-v1.atf");
	expect_events(path, ATF_COMPLETE);
	assert_int_equal(atf_sched_verify(path, ignore, NULL), 0);
	assert_int_equal(atf_sched_writer_open(&writer, path, 2, 0), -ATF_ERROR_SYSTEM); /* is there already */
}

static void write_within(const char *path, rlim_t limit)
{
	struct rlimit before, within;
	struct atf_sched_writer *writer;
	AtfSchedEvent events[COUNT];

	memcpy(events, golden_events, sizeof events);
	getrlimit(RLIMIT_FSIZE, &before);
	within = (struct rlimit){ limit, before.rlim_max };
	setrlimit(RLIMIT_FSIZE, &within);
	assert_int_equal(atf_sched_writer_open(&writer, path, 2, ATF_SCHED_KERNEL_FAULTS), 0);
	atf_sched_writer_append(writer, events, 3);
	atf_sched_writer_append(writer, events + 3, COUNT - 3);
	atf_sched_writer_close(writer);
	setrlimit(RLIMIT_FSIZE, &before);
}

/* The room ends at any byte: of a batch, of the footer, or behind it. */
static void test_no_room_from_anywhere_on(void **state)
{
	const char *path = ((struct fixture *)*state)->path;

	signal(SIGXFSZ, SIG_IGN);
	for (uint64_t room = 0; room <= sizeof golden_events + sizeof(AtfSchedFooter); room++) {
		uint64_t expected = room >= sizeof golden_events ? COUNT : room >= 3 * sizeof *golden_events ? 3 : 0, count;
		bool has_footer = room >= expected * sizeof *golden_events + sizeof(AtfSchedFooter);
		const AtfSchedEvent *events;
		struct atf_message message;
		struct atf_sched *sched;

		write_within(path, ATF_EVENTS_OFFSET + room);
		assert_int_equal(atf_sched_verify(path, ignore, NULL), 0);
		assert_int_equal(atf_sched_open(&sched, path, &message), 0);
		assert_int_equal(atf_sched_completeness(sched), has_footer ? ATF_COMPLETE : ATF_NO_FOOTER);
		events = atf_sched_events(sched, &count);
		assert_int_equal(count, expected);
		assert_memory_equal(events, golden_events, count * sizeof *golden_events);
		atf_sched_close(sched);
		assert_int_equal(unlink(path), 0);
	}
}

static void test_what_a_crash_left_is_finished(void **state)
{
	const char *path = ((struct fixture *)*state)->path;
	struct bytes unfinished = golden("sched-v1-unfinished.atf");
	struct atf_message message;

	bytes_write(path, unfinished.bytes, unfinished.length);
	free(unfinished.bytes);
	expect_events(path, ATF_NO_FOOTER);
	assert_int_equal(atf_sched_verify(path, ignore, NULL), 0);
	for (int i = 0; i < 2; i++) { /* twice: the second time there is nothing to do */
		assert_int_equal(atf_sched_recover(path, &message), 0);
		expect_same_bytes(path, "sched-v1.atf");
	}
}

/* Any other bit is seen: by the reader, or by the checks. */
static void test_damage_is_seen(void **state)
{
	const char *path = ((struct fixture *)*state)->path;
	struct bytes whole = golden("sched-v1.atf");
	/* Nothing says twice: flags, cpus, other bits of the header that mean nothing yet. */
	static const struct {
		size_t from, to;
	} free_bytes[] = { { 6, 24 }, { 28, 32 } };

	for (size_t i = 0; i < whole.length; i++) {
		bool is_free = false;

		for (size_t k = 0; k < sizeof free_bytes / sizeof *free_bytes; k++)
			is_free |= i >= free_bytes[k].from && i < free_bytes[k].to;
		whole.bytes[i] ^= 0x10;
		bytes_write(path, whole.bytes, whole.length);
		whole.bytes[i] ^= 0x10;
		if (!is_free && !atf_sched_verify(path, ignore, NULL))
			fail_msg("byte %zu", i);
	}
	free(whole.bytes);
}

static void test_cut_anywhere(void **state)
{
	const char *path = ((struct fixture *)*state)->path;
	struct bytes whole = golden("sched-v1.atf");

	for (size_t length = 0; length < whole.length; length++) {
		const AtfSchedEvent *events;
		struct atf_message message;
		struct atf_sched *sched;
		uint64_t count;
		int status;

		bytes_write(path, whole.bytes, length);
		status = atf_sched_open(&sched, path, &message);
		assert_int_equal(status, length < 64 ? -ATF_ERROR_NOT_ATF : 0);
		if (status)
			continue;
		assert_int_equal(atf_sched_completeness(sched), ATF_DAMAGED);
		events = atf_sched_events(sched, &count);
		assert_memory_equal(events, golden_events, count * sizeof *golden_events);
		assert_int_equal(count, (length - 64) / 32 < COUNT ? (length - 64) / 32 : COUNT);
		atf_sched_close(sched);
		assert_int_equal(atf_sched_recover(path, &message), -ATF_ERROR_CORRUPT);
	}
	free(whole.bytes);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_written_as_it_is_read),
		FIXTURE_TEST(test_no_room_from_anywhere_on),
		FIXTURE_TEST(test_what_a_crash_left_is_finished),
		FIXTURE_TEST(test_damage_is_seen),
		FIXTURE_TEST(test_cut_anywhere),
	};

	golden_directory = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}

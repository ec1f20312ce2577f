/* Reading in stretches: every event once, in order, over the bounds of segments, with no more of it mapped than the last one. */
#include <stdio.h>
#include <string.h>
#include "fixture.h"
#include "query/session/stretch.h"

static const char *const names[] = { "main", "leaf" };

static void make_long(struct synth *synth, unsigned int rounds, unsigned int a_segment)
{
	struct synth_thread *thread;

	synth_process(synth, 5);
	synth_module(synth, "/bin/long", names, 2);
	thread = synth_thread(synth, 5, "long");
	for (unsigned int i = 0; i < rounds; i++) {
		if (i && a_segment && i % a_segment == 0)
			synth_roll(thread);
		synth_call(thread, 1);
		synth_pass(thread, 1);
		synth_return(thread);
	}
}

/* Checks what [from, to) gives; returns in how many stretches. */
static unsigned int read_all(const struct ada_thread *thread, uint64_t from, uint64_t to)
{
	struct ada_stretch stretch = { .thread = thread, .next = from, .to = to };
	uint64_t end = to < thread->count ? to : thread->count;
	unsigned int stretches = 0;

	while (ada_stretch_next(&stretch)) {
		assert_int_equal(stretch.position, from);
		assert_in_range(stretch.count, 1, ADA_STRETCH_EVENTS);
		for (uint64_t i = 0; i < stretch.count; i++)
			assert_memory_equal(&stretch.events[i], atf_thread_get(thread->events, from + i), sizeof *stretch.events);
		from += stretch.count;
		stretches++;
	}
	assert_false(ada_stretch_next(&stretch));
	assert_true(from >= end);
	return stretches;
}

static void test_every_event_once(void **state)
{
	struct fixture *fixture = *state;
	const struct ada_thread *thread;

	make_long(fixture->synth, 1000, 300);
	fixture_open(fixture, true, NULL, NULL, NULL);
	thread = &fixture->session->threads.items[0];
	assert_int_equal(thread->count, 2000);
	assert_int_equal(read_all(thread, 0, thread->count), 4); /* segments */
	assert_int_equal(read_all(thread, 599, 601), 2);
	assert_int_equal(read_all(thread, 600, 1200), 1);
	assert_int_equal(read_all(thread, 1999, UINT64_MAX), 1);
	assert_int_equal(read_all(thread, 700, 700), 0);
	assert_int_equal(read_all(thread, 2000, UINT64_MAX), 0);
}

/* How much of the session's files is mapped and there, in KiB: the process's own size would say what a sanitizer and the machine do, too. */
static unsigned long resident_kib(void)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	unsigned long from, to, kib, sum = 0;
	bool counts = false;
	char line[1024];

	assert_non_null(file);
	while (fgets(line, sizeof line, file)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			counts = strstr(line, "/index.atf");
		if (counts && sscanf(line, "Rss: %lu kB", &kib) == 1)
			sum += kib;
	}
	fclose(file);
	return sum;
}

/* Of 64 MB of events, no more than a stretch and what the kernel maps around it. */
static void test_pages_are_released(void **state)
{
	struct fixture *fixture = *state;
	struct ada_stretch stretch;
	unsigned long most = 0;
	uint64_t leaves = 0;

	make_long(fixture->synth, 1000000, 0);
	fixture_open(fixture, true, NULL, NULL, NULL);
	stretch = (struct ada_stretch){ .thread = &fixture->session->threads.items[0], .to = UINT64_MAX };
	while (ada_stretch_next(&stretch)) {
		unsigned long now;

		for (uint64_t i = 0; i < stretch.count; i++)
			leaves += stretch.events[i].function_id == 1;
		now = resident_kib();
		most = now > most ? now : most;
		assert_in_range(now, 0, 3 << 10);
	}
	assert_int_equal(leaves, 2000000);
	assert_in_range(most, 64, 3 << 10);
	assert_in_range(resident_kib(), 0, 1 << 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = { FIXTURE_TEST(test_every_event_once), FIXTURE_TEST(test_pages_are_released) };

	return cmocka_run_group_tests_name("stretch", tests, NULL, NULL);
}

/* The arena: blocks that are taken and given back, notes that count whole or not at all, and that from file, blocks and note together
 * comes what a lane was given. */
#include "../test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "recorder/index/arena.h"
#include "recorder/index/lane.h"
#include "recorder/index/packed_lane.h"
#include "recorder/index/packers.h"
#include "recorder/index/sink.h"

#define KIB 1024ul

static struct ada_shared shared;
static struct ada_arena_writer *arena;
static struct ada_arena_map map; /* another mapping of it, as whoever recovers has */
static char directory[64];

static void open_arena(uint64_t space_bytes)
{
	struct ada_arena_options options = { .space_bytes = space_bytes, .start_ns = 11, .segment_events = 22, .index_mode = 2 };
	struct ada_error error = { "" };

	assert_int_equal(ada_arena_open(&arena, &shared, &options, &error), 0);
	assert_int_equal(ada_arena_attach(&map, ada_arena_fd(arena), &error), 0);
}

static int set_up(void **state)
{
	arena = NULL;
	return !mkdtemp(strcpy(directory, "/tmp/ada-arena-XXXXXX")) || ada_shared_open(&shared, NULL) ? -1 : 0;
}

static int tear_down(void **state)
{
	char command[96];

	ada_arena_detach(&map);
	ada_arena_close(arena);
	ada_shared_remove(&shared);
	snprintf(command, sizeof command, "rm -r %s", directory);
	return system(command);
}

/* With so little memory; false: the system lets nobody mount. */
static bool confine(const char *size)
{
	int context = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC), fd = -1;

	if (context >= 0 && !syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "size", size, 0) &&
	    !syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	close(context);
	if (fd < 0)
		return false;
	ada_shared_remove(&shared);
	shared = (struct ada_shared){ .directory = fd, .named = true, .own = true };
	return true;
}

static uint64_t resident(void)
{
	struct stat info;

	assert_int_equal(fstat(ada_arena_fd(arena), &info), 0);
	return (uint64_t)info.st_blocks * 512;
}

static uint8_t *take(uint64_t offset, size_t expected)
{
	size_t bytes = 256 * KIB;
	uint8_t *block = ada_arena_block_take(arena, 1, 0, offset, &bytes);

	assert_non_null(block);
	assert_int_equal(bytes, expected);
	memset(block, 0xab, bytes);
	return block;
}

static uint32_t taken(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < map.header->blocks_used; i++)
		count += map.blocks[i].taken;
	return count;
}

static void a_block_is_noted_and_free_again(void **state)
{
	size_t bytes = 256 * KIB;
	uint8_t *block;

	open_arena(UINT64_MAX);
	assert_int_equal(ada_arena_lane_take(arena, 3, 4), 1);
	block = ada_arena_block_take(arena, 1, 5, 512 * KIB, &bytes);
	assert_int_equal(map.header->blocks_used, 1);
	assert_int_equal(map.blocks[0].taken, 1);
	assert_int_equal(map.blocks[0].kind, ADA_ARENA_PLAIN);
	assert_int_equal(map.blocks[0].lane, 0);
	assert_int_equal(map.blocks[0].segment, 5);
	assert_int_equal(map.blocks[0].offset, 512 * KIB);
	assert_int_equal(map.blocks[0].bytes, 256 * KIB);
	strcpy((char *)block + bytes - 8, "the end");
	assert_string_equal((char *)ada_arena_bytes(&map, 0) + bytes - 8, "the end");
	ada_arena_block_give(arena, block);
	assert_int_equal(map.blocks[0].taken, 0);
	assert_ptr_equal(take(0, 4 * KIB), block); /* what there is goes before what was never used */
}

/* A thread with few events costs little: a block is as large as what the file has already. */
static void a_file_begins_with_small_blocks(void **state)
{
	static const uint64_t offsets[] = { 0, 4, 8, 16, 32, 64, 128, 256, 512, 768 };
	static const size_t sizes[] = { 4, 4, 8, 16, 32, 64, 128, 256, 256, 256 };
	size_t small = 2048;
	uint64_t before;

	open_arena(UINT64_MAX);
	ada_arena_lane_take(arena, 0, 0);
	before = resident();
	for (size_t i = 0; i < 100; i++)
		take(0, 4 * KIB);
	assert_in_range(resident() - before, 400 * KIB, 400 * KIB + 128 * KIB);
	for (size_t i = 0; i < 10; i++)
		take(offsets[i] * KIB, sizes[i] * KIB);
	assert_null(ada_arena_block_take(arena, 1, 0, 0, &small));
}

static void the_last_one_given_is_the_first_one_taken(void **state)
{
	uint8_t *blocks[10];

	open_arena(UINT64_MAX);
	ada_arena_lane_take(arena, 0, 0);
	for (size_t i = 0; i < 10; i++)
		blocks[i] = take(1 << 20, 256 * KIB);
	for (size_t i = 0; i < 10; i++)
		ada_arena_block_give(arena, blocks[i]);
	for (size_t i = 10; i--;)
		assert_ptr_equal(take(1 << 20, 256 * KIB), blocks[i]);
	assert_int_equal(map.header->blocks_used, 10);
}

/* What a burst took goes back to the system, but for some. */
static void free_blocks_keep_little_memory(void **state)
{
	static uint8_t *blocks[400]; /* 100 MiB */

	open_arena(UINT64_MAX);
	ada_arena_lane_take(arena, 0, 0);
	for (size_t i = 0; i < 400; i++)
		blocks[i] = take(1 << 20, 256 * KIB);
	assert_true(resident() > 100ul << 20);
	for (size_t i = 0; i < 400; i++)
		ada_arena_block_give(arena, blocks[i]);
	assert_true(resident() < 40ul << 20);
	for (size_t i = 0; i < 400; i++)
		take(1 << 20, 256 * KIB);
	assert_int_equal(taken(), 400);
	assert_int_equal(map.header->blocks_used, 400);
}

static void none_left(void **state)
{
	uint32_t count = 0;
	uint8_t *last = NULL;

	open_arena(64ul << 20);
	assert_in_range(map.header->blocks, 16, 32);
	ada_arena_lane_take(arena, 0, 0);
	for (;; count++) {
		size_t bytes = 256 * KIB;
		uint8_t *block = ada_arena_block_take(arena, 1, 0, 0, &bytes);

		if (!block)
			break;
		last = block;
	}
	assert_int_equal(count, map.header->blocks);
	assert_int_equal(map.header->blocks_refused, 1);
	ada_arena_block_give(arena, last);
	assert_ptr_equal(take(0, 4 * KIB), last);
}

/* An error of ours, no SIGBUS: and with memory again it goes on. */
static void no_memory(void **state)
{
	static uint8_t *blocks[100];
	size_t count = 0, bytes;

	if (!confine("4m"))
		skip();
	open_arena(UINT64_MAX);
	ada_arena_lane_take(arena, 0, 0);
	while ((bytes = 256 * KIB, blocks[count] = ada_arena_block_take(arena, 1, 0, 1 << 20, &bytes)))
		memset(blocks[count++], 1, bytes);
	assert_in_range(count, 10, 16);
	assert_int_equal(map.header->blocks_refused, 1);
	for (size_t i = 0; i < count; i++)
		ada_arena_block_give(arena, blocks[i]);
	for (size_t i = 0; i < count; i++)
		take(1 << 20, 256 * KIB);
}

static void no_memory_for_notes(void **state)
{
	uint32_t note, count = 0;

	if (!confine("1m"))
		skip();
	open_arena(UINT64_MAX);
	while ((note = ada_arena_lane_take(arena, 0, count)))
		count++;
	assert_in_range(count, 1000, 2048);
	assert_int_equal(map.header->lanes_used, count);
	assert_int_equal(map.header->lanes_refused, 1);
	ada_arena_lane_free(arena, 7);
	assert_int_equal(map.lanes[6].used, 0);
	assert_int_equal(ada_arena_lane_take(arena, 8, 9), 7);
	assert_int_equal(map.lanes[6].provider, 8);
	ada_arena_note_provider(arena, 0, &(struct ada_arena_provider){ .pid = 1 }); /* nor for those: no harm */
	assert_int_equal(map.header->providers_used, 0);
}

/* What is noted holds until the next note does. */
static void a_note_counts_whole(void **state)
{
	struct ada_arena_lane_state before = { .next_seq = 10, .segment = 1 }, after = { .next_seq = 20, .segment = 2 }, found;
	uint32_t note;
	const struct ada_arena_lane *lane;

	open_arena(UINT64_MAX);
	note = ada_arena_lane_take(arena, 3, 4);
	lane = &map.lanes[note - 1];
	assert_int_equal(lane->used, 1);
	assert_int_equal(lane->provider, 3);
	assert_int_equal(lane->id, 4);
	ada_arena_lane_state(lane, &found);
	assert_int_equal(found.segment, ADA_NONE);
	for (int i = 0; i < 3; i++) {
		ada_arena_lane_note(arena, note, &before);
		ada_arena_lane_state(lane, &found);
		assert_memory_equal(&found, &before, sizeof found);
		ada_arena_lane_note(arena, note, &after);
		assert_memory_equal(&lane->slots[!lane->current], &before, sizeof before); /* untouched */
		ada_arena_lane_state(lane, &found);
		assert_memory_equal(&found, &after, sizeof found);
	}
	ada_arena_lane_last(arena, note, &(struct ada_shm_thread){ .thread_id = 99 });
	assert_int_equal(lane->last.thread_id, 99);
}

static void without_an_arena(void **state)
{
	size_t bytes = 256 * KIB;
	struct ada_clock *clock;

	assert_int_equal(ada_clock_begin(&clock), 0);
	ada_arena_note_clock(NULL, clock);
	ada_clock_close(clock);
	ada_arena_note_provider(NULL, 0, &(struct ada_arena_provider){ 0 });
	ada_arena_note_provider_state(NULL, 0, ADA_ARENA_STARTED);
	assert_int_equal(ada_arena_lane_take(NULL, 0, 0), 0);
	ada_arena_lane_note(NULL, 0, NULL);
	ada_arena_lane_last(NULL, 0, NULL);
	ada_arena_lane_free(NULL, 0);
	assert_null(ada_arena_block_take(NULL, 1, 0, 0, &bytes));
	assert_int_equal(ada_arena_fd(NULL), -1);
	ada_arena_end(NULL);
}

static void providers_and_clock(void **state)
{
	struct ada_arena_provider note = { .pid = 12,
					   .parent_pid = 1,
					   .name = "pid_12",
					   .index_bytes = 64 << 20,
					   .detail_bytes = 1 << 20,
					   .stack_bytes = 128,
					   .no_small = 1 };
	struct ada_clock *clock, *again;
	uint64_t counter;

	open_arena(UINT64_MAX);
	assert_int_equal(ada_arena_clock(&map, &again), -EINVAL); /* not noted yet */
	ada_arena_note_provider(arena, 0, &note);
	ada_arena_note_provider(arena, 1, &note);
	assert_int_equal(map.header->providers_used, 2);
	assert_int_equal(map.providers[1].state, ADA_ARENA_STARTING);
	assert_string_equal(map.providers[1].name, "pid_12");
	ada_arena_note_provider_state(arena, 1, ADA_ARENA_FINISHED);
	ada_arena_note_provider_state(arena, 2, ADA_ARENA_FINISHED); /* there is none */
	assert_int_equal(map.providers[0].state, ADA_ARENA_STARTING);
	assert_int_equal(map.providers[1].state, ADA_ARENA_FINISHED);

	assert_int_equal(ada_clock_begin(&clock), 0);
	assert_int_equal(ada_clock_settle(clock), 0);
	for (int i = 0; i < 5; i++) {
		ada_clock_round(clock, 1u << i);
		ada_arena_note_clock(arena, clock);
		assert_int_equal(ada_arena_clock(&map, &again), 0);
		counter = ada_clock_counter();
		for (uint64_t ahead = 0; ahead < 1000; ahead++)
			assert_int_equal(ada_clock_ns(again, counter + ahead * 12345), ada_clock_ns(clock, counter + ahead * 12345));
		ada_clock_close(again);
		ada_clock_calibrate(clock);
	}
	ada_clock_close(clock);
}

static void attach_fails(int code)
{
	struct ada_arena_map other;
	struct ada_error error = { "" };

	assert_int_equal(ada_arena_attach(&other, ada_arena_fd(arena), &error), -code);
	assert_null(other.header);
}

static void a_damaged_header_is_refused(void **state)
{
	uint8_t *bytes;
	uint32_t *counts[3];

	open_arena(UINT64_MAX);
	bytes = (uint8_t *)map.header;
	for (size_t i = 0; i < offsetof(struct ada_arena, start_ns); i++) {
		bytes[i] ^= 0x10;
		attach_fails(EINVAL);
		bytes[i] ^= 0x10;
	}
	counts[0] = &map.header->providers_used;
	counts[1] = &map.header->lanes_used;
	counts[2] = &map.header->blocks_used;
	for (size_t i = 0; i < 3; i++) {
		*counts[i] = 1u << 30;
		attach_fails(EINVAL);
		*counts[i] = 0;
	}
	memset(bytes, 0, 8);
	attach_fails(ENODATA);
	memcpy(bytes, ADA_ARENA_MAGIC, 8);
	ada_arena_detach(&map);
	assert_int_equal(ftruncate(ada_arena_fd(arena), 1 << 20), 0);
	attach_fails(EINVAL);
	assert_int_equal(ftruncate(ada_arena_fd(arena), 0), 0);
	attach_fails(ENODATA);
	assert_int_equal(ftruncate(ada_arena_fd(arena), 1ul << 33), 0); /* for the writer's own mapping */
}

static void addresses_that_are_limited(void **state)
{
	struct ada_arena_options options = { .space_bytes = 8ul << 20 };
	struct ada_error error = { "" };

	assert_int_equal(ada_arena_open(&arena, &shared, &options, &error), -ENOMEM);
	assert_null(arena);
	assert_int_equal(faccessat(shared.directory, ADA_SHARED_ARENA, F_OK, 0), -1);
	for (uint64_t space = 64ul << 20; space < 1ul << 40; space *= 2) {
		open_arena(space);
		assert_true(map.bytes <= space / 8 + (1 << 20));
		assert_int_equal(ada_arena_lane_take(arena, 0, 0), 1);
		take(0, 4 * KIB);
		ada_arena_detach(&map);
		ada_arena_close(arena);
		ada_shared_unlink(&shared, ADA_SHARED_ARENA);
	}
	arena = NULL;
}

static void who_has_it_lives(void **state)
{
	int fd;

	open_arena(UINT64_MAX);
	ada_arena_detach(&map);
	assert_false(ada_shared_is_dead(shared.directory, &fd));
	close(fd);
	ada_arena_end(arena);
	ada_arena_close(arena);
	arena = NULL;
	assert_true(ada_shared_is_dead(shared.directory, &fd));
	assert_int_equal(ada_arena_attach(&map, fd, NULL), 0);
	assert_int_equal(map.header->state, ADA_ARENA_ENDED);
	assert_int_equal(map.header->start_ns, 11);
	assert_int_equal(map.header->segment_events, 22);
	close(fd);
}

/* --- a lane's files ----------------------------------------------------------------------------------------------------- */

/* What the note says of the file: that on the disk, all blocks laid over it, cut. */
static struct ada_event *rebuild(const struct ada_arena_lane_state *state, uint32_t note)
{
	char path[128], thread[96];
	size_t length = sizeof(AtfIndexHeader) + state->segment_events * sizeof(struct ada_event);
	uint8_t *bytes = calloc(1, length);
	int fd;
	struct ada_event *events;

	assert_non_null(bytes);
	snprintf(thread, sizeof thread, "%s/thread_0", directory);
	assert_int_equal(atf_index_path(path, sizeof path, thread, state->segment), 0);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0 && read(fd, bytes, length) >= 64);
	close(fd);
	for (uint32_t i = 0; i < map.header->blocks_used; i++) {
		const struct ada_arena_block *block = &map.blocks[i];
		size_t rest;

		if (!block->taken || block->lane != note - 1 || block->segment != state->segment || block->offset >= length)
			continue;
		rest = length - block->offset;
		memcpy(bytes + block->offset, ada_arena_bytes(&map, i), rest < block->bytes ? rest : block->bytes);
	}
	events = calloc(state->segment_events + 1, sizeof *events);
	memcpy(events, bytes + sizeof(AtfIndexHeader), length - sizeof(AtfIndexHeader));
	free(bytes);
	return events;
}

/* Of a first segment that is packed: the arena's runs have no event but those that the note counts, none twice, and all that the file hasn't. */
static void check_runs(const struct ada_arena_lane_state *state, uint32_t note, uint64_t first)
{
	uint64_t in_file, missing;
	char path[128];
	struct atf_index *index;

	snprintf(path, sizeof path, "%s/thread_0/index.atp", directory);
	assert_int_equal(atf_index_open(&index, path, NULL), 0);
	in_file = atf_index_count(index);
	atf_index_close(index);
	missing = state->segment_events - in_file;
	for (uint32_t i = 0; i < map.header->blocks_used; i++) {
		const struct ada_arena_block *block = &map.blocks[i];
		const struct ada_event *events = (const struct ada_event *)ada_arena_bytes(&map, i);
		uint64_t from = block->offset / sizeof *events, to = from + block->bytes / sizeof *events;

		if (!block->taken || block->lane != note - 1 || block->segment != state->segment)
			continue;
		for (uint64_t number = from; number < to && number < state->segment_events; number++) {
			assert_int_equal(events[number - from].function_id, first + number);
			missing -= number >= in_file;
		}
	}
	assert_int_equal(missing, 0);
}

static void check_note(const struct ada_lane *lane, uint64_t expected)
{
	struct ada_arena_lane_state state;
	struct ada_event *events;

	assert_int_not_equal(lane->note, 0);
	ada_arena_lane_state(&map.lanes[lane->note - 1], &state);
	assert_int_equal(state.next_seq, expected);
	assert_int_equal(state.events, expected);
	if (state.flags & ADA_ARENA_LANE_PACKED) {
		check_runs(&state, lane->note, expected - state.segment_events);
		return;
	}
	events = rebuild(&state, lane->note);
	for (uint32_t i = 0; i < state.segment_events; i++)
		assert_int_equal(events[i].function_id, expected - state.segment_events + i);
	free(events);
}

static bool held;	      /* what is flushed is on its way until what comes next has been looked at */
#define HELD_MOST (8ul << 20) /* bytes on their way: with twice that the lane waits, for what is held */

static int work(struct atf_packer *packer, const struct ada_packed_job *job, bool pressed)
{
	while (__atomic_load_n(&held, __ATOMIC_ACQUIRE))
		sched_yield();
	return ada_packed_lane_work(packer, job, pressed);
}

/* Odd pieces, flushes now and then, several segments: at each note all that it counts is there. */
static void write_lane(uint64_t segment_events, uint64_t events, bool heap_allowed, enum ada_pack pack)
{
	static struct ada_event some[3000];
	struct ada_lane lane = { .id = 0, .thread_id = 7 };
	struct ada_lane_options options = { .arena = arena, .provider = 5, .segment_events = segment_events, .pack = pack };
	struct ada_error error = { "" };
	struct ada_sink *sink;
	uint64_t done = 0;
	uint32_t random = 1;
	struct ada_arena_lane_state state;

	assert_int_equal(ada_clock_begin(&options.clock), 0);
	assert_int_equal(ada_clock_settle(options.clock), 0);
	assert_int_equal(ada_sink_open(&sink, false), 0);
	ada_sink_use_arena(sink, arena);
	options.sink = ada_sink_atf(sink);
	if (pack != ADA_PACK_NEVER)
		assert_int_equal(ada_packers_open(&options.packers, work, 1), 0);
	while (done < events) {
		struct ada_lane_detail none = { .chunk = ADA_NONE };
		size_t count;
		bool hold;

		random = random * 1664525 + 1013904223;
		count = random >> 8 & 1 ? 1022 : (random >> 9) % 2999 + 1;
		for (size_t i = 0; i < count; i++)
			some[i] = (struct ada_event){
				.timestamp_ns = ada_clock_counter(), .function_id = done + i, .event_kind = ADA_EVENT_CALL, .thread_id = 7
			};
		assert_int_equal(ada_lane_append(&lane, &options, directory, done, some, count, none, &error), 0);
		done += count;
		ada_lane_note(&lane, &options);
		if (!heap_allowed && (held || (random >> 24) % 32 == 0))
			check_note(&lane, done);
		hold = (random >> 20) % 16 == 0 && done < events && (!options.packers || ada_packers_queued(options.packers) < HELD_MOST);
		__atomic_store_n(&held, hold, __ATOMIC_RELEASE);
		if (held)
			assert_int_equal(ada_lane_flush(&lane, directory, &error), 0);
		ada_sink_poll(sink);
	}
	if (!heap_allowed)
		check_note(&lane, done);
	assert_true(heap_allowed || taken());
	assert_int_equal(ada_lane_close(&lane, &options, directory, &error), 0);
	ada_lane_note(&lane, &options);
	assert_int_equal(taken(), 0);
	ada_arena_lane_state(&map.lanes[lane.note - 1], &state);
	assert_int_equal(state.flags & ~ADA_ARENA_LANE_PACKED, ADA_ARENA_LANE_CLOSED);
	check_note(&lane, done);
	ada_lane_forget(&lane, &options);
	assert_int_equal(map.lanes[0].used, 0);
	ada_lane_free(&lane);
	ada_packers_close(options.packers);
	assert_int_equal(ada_sink_close(sink), 0);
	ada_clock_close(options.clock);
}

static void a_lane_in_one_file(void **state)
{
	open_arena(UINT64_MAX);
	write_lane(0, 300000, false, ADA_PACK_NEVER);
	assert_int_equal(map.header->blocks_refused, 0);
	assert_in_range(map.header->blocks_used, 2, 10);
}

static void a_lane_in_many_files(void **state)
{
	open_arena(UINT64_MAX);
	write_lane(20000, 200000, false, ADA_PACK_NEVER);
}

/* Runs that end early, because the thread was quiet for a while, are followed by others. */
static void a_packed_lane(void **state)
{
	open_arena(UINT64_MAX);
	write_lane(0, 900000, false, ADA_PACK_ALWAYS);
}

/* The heap does it, too. */
static void a_lane_without_memory(void **state)
{
	if (!confine("640k"))
		skip();
	open_arena(UINT64_MAX);
	write_lane(0, 200000, true, ADA_PACK_NEVER);
	assert_true(map.header->blocks_refused > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(a_block_is_noted_and_free_again),
					    TEST(a_file_begins_with_small_blocks),
					    TEST(the_last_one_given_is_the_first_one_taken),
					    TEST(free_blocks_keep_little_memory),
					    TEST(none_left),
					    TEST(no_memory),
					    TEST(no_memory_for_notes),
					    TEST(a_note_counts_whole),
					    TEST(without_an_arena),
					    TEST(providers_and_clock),
					    TEST(a_damaged_header_is_refused),
					    TEST(addresses_that_are_limited),
					    TEST(who_has_it_lives),
					    TEST(a_lane_in_one_file),
					    TEST(a_lane_in_many_files),
					    TEST(a_packed_lane),
					    TEST(a_lane_without_memory) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

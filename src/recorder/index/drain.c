#include "recorder/index/drain.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/directory.h"
#include "base/file.h"
#include "base/hash.h"
#include "recorder/index/drain_hold.h"

#define CATCH_UP 64u /* chunks sealed while it is looked at threads: so many are taken, */
#define ROUNDS 2     /* so often */
#define RESTING 64u  /* lanes that give their descriptors back at once where there is none left */

int ada_drain_open(struct ada_drain *drain, struct ada_segment *segment, const char *directory, pid_t pid,
		   const struct ada_lane_options *options)
{
	*drain = (struct ada_drain){ .segment = segment, .options = *options, .pid = pid };
	drain->consumed = calloc(segment->numbers, sizeof *drain->consumed);
	return drain->consumed ? ada_path(drain->directory, "%s", directory) : -ENOMEM;
}

/* The lane of the thread that has this entry now; NULL: no thread has, or the id makes no sense. */
static struct ada_lane *lane_of(struct ada_drain *drain, uint32_t entry)
{
	const struct ada_shm_thread *thread = &drain->segment->threads[entry];
	uint32_t status = __atomic_load_n(&thread->status, __ATOMIC_ACQUIRE), id = __atomic_load_n(&thread->id, __ATOMIC_RELAXED);
	struct ada_lane *lane;

	/* No more than ADA_THREADS_MAX can have begun since the last thread that we met. */
	if (status == ADA_THREAD_UNUSED || id >= ADA_THREADS_EVER || id >= drain->lanes.count + ADA_THREADS_MAX)
		return NULL;
	while (drain->lanes.count <= id) {
		struct ada_lane next = { .id = (uint32_t)drain->lanes.count, .entry = ADA_NONE };

		if (ada_array_push(&drain->lanes, next))
			return NULL;
	}
	lane = &drain->lanes.items[id];
	if (lane->given_back)
		return NULL;
	lane->entry = entry;
	lane->thread_id = thread->thread_id;
	return lane;
}

/* The lane of the thread that filled this chunk: a thread that has the entry, or had it. */
static struct ada_lane *lane_of_chunk(struct ada_drain *drain, const struct ada_chunk *chunk)
{
	uint32_t id = chunk->thread, entry = chunk->entry;
	struct ada_lane *lane;

	if (id < drain->lanes.count && (drain->lanes.items[id].entry == entry || drain->lanes.items[id].given_back))
		return &drain->lanes.items[id];
	lane = entry < ada_segment_thread_count(drain->segment) ? lane_of(drain, entry) : NULL;
	return lane && lane->id == id ? lane : NULL;
}

void ada_drain_meet(struct ada_drain *drain)
{
	uint32_t count = ada_segment_thread_count(drain->segment);

	for (uint32_t entry = 0; entry < count; entry++)
		lane_of(drain, entry);
}

const struct ada_shm_thread *ada_drain_thread(const struct ada_drain *drain, uint32_t id)
{
	const struct ada_lane *lane = id < drain->lanes.count ? &drain->lanes.items[id] : NULL;

	if (!lane || (lane->entry == ADA_NONE && !lane->given_back))
		return NULL;
	return lane->given_back ? &lane->last : &drain->segment->threads[lane->entry];
}

const struct ada_shm_thread *ada_drain_entry(struct ada_drain *drain, uint32_t id)
{
	if (id < ada_segment_threads_seen(drain->segment) &&
	    (id >= drain->lanes.count || (drain->lanes.items[id].entry == ADA_NONE && !drain->lanes.items[id].given_back)))
		ada_drain_meet(drain);
	return id < drain->lanes.count && drain->lanes.items[id].given_back ? NULL : ada_drain_thread(drain, id);
}

/* The first failure: tells the agent to record no more; the message stays for the manifest. */
static void drain_fail(struct ada_drain *drain)
{
	drain->failed = true;
	__atomic_store_n(&drain->segment->shm->stop, 1, __ATOMIC_RELAXED);
}

/* Counts events that reach no file: a LOST event counts for those that it tells of. */
static void lose(struct ada_drain *drain, struct ada_lane *lane, uint64_t seq, const struct ada_event *events, size_t count)
{
	uint64_t lost = seq > lane->next_seq ? seq - lane->next_seq : 0;

	for (size_t i = lane->next_seq > seq ? lane->next_seq - seq : 0; i < count; i++) {
		uint64_t told = events[i].event_kind == ADA_EVENT_LOST ? events[i].function_id : 0;

		lane->told_lost += told;
		lost += events[i].event_kind == ADA_EVENT_LOST ? told : 1;
	}
	lane->lost += lost;
	if (drain->options.details)
		drain->options.listener->lost(drain->options.details, lane->last_ns, UINT64_MAX, lost);
	lane->next_seq = seq + count;
}

/* Copies what is committed and not yet in the file. `partial`: only if these events are the thread's next. True: all of them went. False:
 * that chunk makes no sense, or the disk doesn't take its events now (drain->holding). */
static bool chunk_take(struct ada_drain *drain, uint32_t number, bool partial)
{
	struct ada_chunk *chunk = ada_segment_chunk(drain->segment, number);
	uint32_t end = ada_chunk_end(chunk);
	uint32_t begin = drain->consumed[number] ? drain->consumed[number] : ada_segment_chunk_begin(drain->segment, number);
	struct ada_lane *lane = lane_of_chunk(drain, chunk);
	struct ada_error error = { "" };
	uint64_t seq;
	const struct ada_event *events;
	size_t count;
	struct ada_lane_detail detail;
	int status;

	if (end < begin || end > ADA_CHUNK_BYTES || end % sizeof(struct ada_event) || !lane) {
		drain->bad_chunks++;
		return false;
	}
	if (end == begin)
		return true;
	seq = chunk->first_seq + (begin - ADA_CHUNK_HEADER_BYTES) / sizeof(struct ada_event);
	count = (end - begin) / sizeof(struct ada_event);
	if (partial && seq != lane->next_seq)
		return false;
	if (seq < lane->next_seq) {
		drain->bad_chunks++;
		return false;
	}
	events = (const struct ada_event *)((const uint8_t *)chunk + begin);
	detail = (struct ada_lane_detail){ chunk->detail, ada_segment_chunk_seq(drain->segment, number) };
	if (detail.chunk >= drain->segment->detail_numbers)
		detail.chunk = ADA_NONE;
	status = drain->failed ? 0 : ada_lane_append(lane, &drain->options, drain->directory, seq, events, count, detail, &error);
	if (ada_drain_later(drain, status)) {
		uint64_t taken = lane->next_seq > seq ? lane->next_seq - seq : 0;

		ada_lane_note(lane, &drain->options);
		drain->consumed[number] = begin + (uint32_t)(taken * sizeof(struct ada_event));
		ada_drain_holds(drain);
		return false;
	}
	if (status && !ada_lane_short_of_files(status)) {
		drain->error = drain->stopped_ns ? drain->error : error;
		drain_fail(drain);
	}
	if (drain->failed || status) /* a lack of descriptors costs this thread alone */
		lose(drain, lane, seq, events, count);
	ada_lane_note(lane, &drain->options);
	drain->consumed[number] = end;
	return true;
}

static void give_back(struct ada_drain *drain, uint32_t number)
{
	drain->consumed[number] = 0;
	ada_segment_chunk_return(drain->segment, number);
}

size_t ada_drain_sealed(struct ada_drain *drain)
{
	/* Leaves what comes meanwhile: a program that is faster than the disk would keep us here for good. */
	uint64_t head = __atomic_load_n(&drain->segment->shm->sealed_head, __ATOMIC_ACQUIRE);
	uint64_t sealed = head > drain->tail ? head - drain->tail : 0;

	return ada_drain_some(drain, sealed < drain->segment->numbers ? sealed : drain->segment->numbers);
}

size_t ada_drain_some(struct ada_drain *drain, size_t most)
{
	struct ada_shm *shm = drain->segment->shm;
	size_t count = 0;

	if (drain->options.circular)
		return 0;
	while (count < most && !ada_drain_holds(drain)) {
		uint32_t number;

		if (!ada_ring_at(&drain->segment->ring, drain->tail, &number))
			break;
		if (!ada_segment_chunk_reach(drain->segment, number)) {
			drain->bad_chunks++;
		} else {
			if (!chunk_take(drain, number, false) && drain->holding)
				break;
			if (shm->index_mode == ADA_INDEX_STREAMING)
				give_back(drain, number);
		}
		drain->tail++;
		count++;
		/* Last: it tells threads that wait for a chunk that one is on its way. */
		__atomic_store_n(&shm->sealed_tail, drain->tail, __ATOMIC_RELEASE);
	}
	return count;
}

/* The chunk that the thread of an entry fills, or has sealed last, if that chunk has this status; else UINT32_MAX. */
static uint32_t chunk_of(const struct ada_drain *drain, uint32_t entry, enum ada_chunk_status status)
{
	uint32_t number = __atomic_load_n(&drain->segment->threads[entry].chunk, __ATOMIC_ACQUIRE);
	const struct ada_chunk *chunk;

	if (!ada_segment_chunk_reach(drain->segment, number))
		return UINT32_MAX;
	chunk = ada_segment_chunk(drain->segment, number);
	if (__atomic_load_n(&chunk->status, __ATOMIC_ACQUIRE) != status || chunk->entry != entry)
		return UINT32_MAX;
	return number;
}

static uint32_t open_chunk(const struct ada_drain *drain, uint32_t entry)
{
	return chunk_of(drain, entry, ADA_CHUNK_OPEN);
}

static bool thread_gone(const struct ada_drain *drain, const struct ada_table *newest, uint32_t i)
{
	const struct ada_shm_thread *thread = &drain->segment->threads[i];
	uint64_t last;

	if (__atomic_load_n(&thread->status, __ATOMIC_ACQUIRE) == ADA_THREAD_ENDED)
		return true;
	if (ada_table_get(newest, thread->thread_id, &last) && last != i)
		return true; /* its id belongs to another thread by now */
	return drain->tids_known && syscall(SYS_tgkill, drain->pid, thread->thread_id, 0) && errno == ESRCH;
}

/* Drops that no LOST record stands for: the thread ended before it could write one. False: not now. */
static bool mark_untold(struct ada_drain *drain, struct ada_lane *lane)
{
	const struct ada_shm_thread *thread = ada_drain_thread(drain, lane->id);
	uint64_t lost = thread ? __atomic_load_n(&thread->lost, __ATOMIC_ACQUIRE) : 0;
	uint64_t untold = lost > lane->told_lost ? lost - lane->told_lost : 0;
	struct ada_error error = { "" };
	int status = 0;

	if (untold && !drain->failed)
		status = ada_lane_mark_lost(lane, &drain->options, drain->directory, untold, thread->start_counter, &error);
	if (ada_drain_later(drain, status))
		return false;
	if (status) {
		drain->error = error;
		drain_fail(drain);
	}
	if (drain->failed)
		lane->lost += untold; /* no record tells of it */
	lane->told_lost += untold;
	return true;
}

/* Counts what the thread sealed and nobody has seen: in circular mode others' events may have replaced all of it. */
static void count_unseen(struct ada_drain *drain, struct ada_lane *lane)
{
	const struct ada_shm_thread *thread = ada_drain_thread(drain, lane->id);
	uint64_t sealed = thread ? __atomic_load_n(&thread->sealed_events, __ATOMIC_ACQUIRE) : 0;
	uint64_t unseen = sealed > lane->next_seq ? sealed - lane->next_seq : 0;

	lane->lost += unseen;
	if (drain->options.circular)
		lane->overwritten += unseen;
	lane->next_seq += unseen;
}

/* False: not now. */
static bool close_lane(struct ada_drain *drain, struct ada_lane *lane)
{
	struct ada_error error = { "" };
	int status;

	lane->ends = true;
	count_unseen(drain, lane);
	status = mark_untold(drain, lane) ? ada_lane_close(lane, &drain->options, drain->directory, &error) : -EAGAIN;
	if (!ada_drain_later(drain, status) && status) {
		drain->error = drain->failed || drain->stopped_ns ? drain->error : error;
		drain_fail(drain);
	}
	ada_lane_note(lane, &drain->options);
	return lane->closed;
}

/* The thread is gone, and no event of its still needs its entry. */
static void give_entry_back(struct ada_drain *drain, struct ada_lane *lane)
{
	uint32_t entry = lane->entry, status = __atomic_load_n(&drain->segment->threads[entry].status, __ATOMIC_ACQUIRE);

	/* First: a free entry may be another thread's at once. */
	ada_lane_note_last(lane, &drain->options, &drain->segment->threads[entry]);
	if (!ada_segment_thread_free(drain->segment, entry, status, &lane->last))
		return;
	lane->given_back = true;
	lane->entry = ADA_NONE;
	ada_lane_note_last(lane, &drain->options, &lane->last);
	ada_lane_note(lane, &drain->options);
}

/* Takes what a thread that is gone left in its open chunk; then its file is complete. */
static void end_thread(struct ada_drain *drain, uint32_t id, uint32_t entry)
{
	uint32_t number, sealed;

	/* What it sealed before it ended is in the ring by now, and comes first. */
	ada_drain_sealed(drain);
	if (ada_drain_holds(drain))
		return;
	number = open_chunk(drain, entry);
	sealed = chunk_of(drain, entry, ADA_CHUNK_SEALED);
	if (number != UINT32_MAX && !chunk_take(drain, number, true))
		return;
	if (number != UINT32_MAX && drain->segment->shm->index_mode == ADA_INDEX_STREAMING)
		give_back(drain, number);
	/* But a thread that was killed with its process may have had no time to put its chunk there. We don't give that chunk back:
	 * should it be in the ring all the same, its turn comes. */
	if (sealed != UINT32_MAX && !chunk_take(drain, sealed, true))
		return;
	if (close_lane(drain, &drain->lanes.items[id]))
		give_entry_back(drain, &drain->lanes.items[id]);
}

/* Whether the lane was given all that its thread had committed when this was called, and what it dropped. */
static bool is_level(const struct ada_drain *drain, const struct ada_lane *lane)
{
	const struct ada_shm_thread *thread = &drain->segment->threads[lane->entry];

	return __atomic_load_n(&thread->sealed_events, __ATOMIC_ACQUIRE) <= lane->next_seq &&
	       __atomic_load_n(&thread->lost, __ATOMIC_ACQUIRE) <= lane->told_lost;
}

static void look_at(struct ada_drain *drain, const struct ada_table *newest, uint32_t entry)
{
	struct ada_lane *lane = lane_of(drain, entry);
	struct ada_error error = { "" };
	bool gone, level;
	uint32_t number;
	int status;

	if (!lane)
		return;
	lane->behind = true;
	gone = thread_gone(drain, newest, entry);
	if (drain->options.circular || lane->closed) {
		if (gone)
			give_entry_back(drain, lane);
		return;
	}
	if (gone) {
		end_thread(drain, lane->id, entry);
		return;
	}
	number = open_chunk(drain, entry);
	level = (number == UINT32_MAX || chunk_take(drain, number, true)) && is_level(drain, lane);
	status = drain->failed ? 0 : ada_lane_flush(lane, drain->directory, &error);
	if (status && !ada_drain_later(drain, status)) {
		drain->error = error;
		drain_fail(drain);
	}
	lane->behind = !level || status;
}

/* Threads that were busy meanwhile have sealed chunks which come before those that they fill now. */
static void catch_up(struct ada_drain *drain, const struct ada_table *newest, uint32_t count)
{
	bool any = true;

	for (int round = 0; round < ROUNDS && any && !ada_drain_holds(drain); round++) {
		any = false;
		ada_drain_some(drain, CATCH_UP);
		for (uint32_t i = 0; i < count && !ada_drain_holds(drain); i++) {
			const struct ada_lane *lane = lane_of(drain, i);

			if (!lane || lane->closed || !lane->behind)
				continue;
			any = true;
			look_at(drain, newest, i);
		}
	}
}

/* What threads do is recorded: who stands still in the files does so. */
static bool goes_on(const struct ada_drain *drain)
{
	const struct ada_shm *shm = drain->segment->shm;

	return !drain->options.circular && !drain->failed && !drain->stopped_ns && !__atomic_load_n(&shm->stop, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&shm->disabled, __ATOMIC_RELAXED);
}

/* Which entry a thread id belongs to, where the kernel has given that id again. */
static int note_newest(const struct ada_drain *drain, struct ada_table *newest, uint32_t entry)
{
	const struct ada_shm_thread *threads = drain->segment->threads;
	uint64_t other;

	if (__atomic_load_n(&threads[entry].status, __ATOMIC_ACQUIRE) == ADA_THREAD_UNUSED ||
	    (ada_table_get(newest, threads[entry].thread_id, &other) && threads[other].id > threads[entry].id))
		return 0;
	return ada_table_put(newest, threads[entry].thread_id, entry);
}

void ada_drain_quiet(struct ada_drain *drain)
{
	struct ada_table newest = { 0 };
	uint32_t count = ada_segment_thread_count(drain->segment);
	uint64_t begun_ns = ada_clock_boottime_ns();
	int status = 0;

	for (uint32_t i = 0; i < count && !status; i++)
		status = note_newest(drain, &newest, i);
	for (uint32_t i = 0; i < count && !status && !ada_drain_holds(drain); i++)
		look_at(drain, &newest, i);
	if (!status)
		catch_up(drain, &newest, count);
	if (!status && !ada_drain_holds(drain) && goes_on(drain))
		drain->written_ns = begun_ns;
	ada_table_free(&newest);
}

/* Drains all that is committed by now; events that aren't their thread's next wait for the next look at the ring. */
void ada_drain_open_chunks(struct ada_drain *drain)
{
	uint32_t count = ada_segment_thread_count(drain->segment);

	if (drain->options.circular)
		return;
	for (uint32_t i = 0; i < count && !ada_drain_holds(drain); i++) {
		uint32_t number = open_chunk(drain, i);
		const struct ada_lane *lane = number == UINT32_MAX ? NULL : lane_of(drain, i);

		if (lane && !lane->closed)
			chunk_take(drain, number, true);
	}
}

struct place {
	uint64_t first_seq;
	uint32_t thread, chunk;
};

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->first_seq > b->first_seq) - (a->first_seq < b->first_seq);
}

void ada_drain_roll(struct ada_drain *drain, struct ada_lane *lane)
{
	struct ada_error error = { "" };
	int status = drain->failed || lane->closed ? 0 : ada_lane_roll(lane, &drain->options, drain->directory, &error);

	if (status && !ada_drain_later(drain, status)) {
		drain->error = error;
		drain_fail(drain);
	}
}

bool ada_drain_rest(struct ada_drain *drain)
{
	size_t rested = 0;

	for (size_t looked = 0; looked < drain->lanes.count && rested < RESTING; looked++) {
		drain->rest_next = drain->rest_next < drain->lanes.count ? drain->rest_next : 0;
		rested += ada_lane_rest(&drain->lanes.items[drain->rest_next++]);
	}
	return rested;
}

void ada_drain_finish(struct ada_drain *drain)
{
	ADA_ARRAY(struct place) places = { 0 };

	ada_drain_sealed(drain);
	for (uint32_t number = 0; number < ada_segment_chunk_end(drain->segment);
	     number = ada_segment_chunk_after(drain->segment, number)) {
		const struct ada_chunk *chunk;
		uint32_t status;

		if (ada_segment_chunk_is_free(drain->segment, number) || !ada_segment_chunk_is_there(drain->segment, number) ||
		    !ada_segment_chunk_reach(drain->segment, number))
			continue; /* no need even to look at its memory */
		chunk = ada_segment_chunk(drain->segment, number);
		status = __atomic_load_n(&chunk->status, __ATOMIC_ACQUIRE);
		if (status != ADA_CHUNK_OPEN && status != ADA_CHUNK_SEALED)
			continue;
		if (ada_array_push(&places, (struct place){ ada_segment_chunk_seq(drain->segment, number), chunk->thread, number })) {
			char shown[PATH_MAX];

			ada_error_set(&drain->error, ENOMEM, "%s: out of memory at the end", ada_directory_shown(drain->directory, shown));
			drain_fail(drain);
			break;
		}
	}
	if (places.count)
		qsort(places.items, places.count, sizeof *places.items, compare_places);
	for (size_t i = 0; i < places.count; i++)
		chunk_take(drain, places.items[i].chunk, false);
	ada_array_free(&places);
	ada_drain_meet(drain);
	for (size_t i = 0; i < drain->lanes.count; i++)
		close_lane(drain, &drain->lanes.items[i]);
}

void ada_drain_close(struct ada_drain *drain)
{
	for (size_t i = 0; i < drain->lanes.count; i++)
		ada_lane_free(&drain->lanes.items[i]);
	ada_array_free(&drain->lanes);
	free(drain->consumed);
	drain->consumed = NULL;
}

/* A provider's shared memory, into which the traced program may have written anything: the recorder drains it, reads marks into
 * windows, writes their detail, tells of it in manifest and status, and ends. Nothing it reads leads it out of its bounds, and what
 * it counts agrees with itself.
 *
 * An input begins with the modes and is then a list of steps: of an agent that does as it should, of one that writes a number
 * somewhere, and of the recorder. */
#include <assert.h>
#include <string.h>
#include "recorder/control/control.h"
#include "recorder/detail/detail.h"
#include "recorder/policy/fire.h"
#include "recorder/process/heir.h"
#include "recorder/process/life.h"
#include "recorder/process/names.h"
#include "recorder/session/manifest.h"
#include "recorder_world.h"

#define STEPS_MAX 64
#define THREADS 4u /* of the agent that does as it should */
#define FILLED_MAX 2u
#define SOME 8u /* as many of everything are written into */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

struct agent {
	struct ada_segment *segment;
	uint64_t counter;
	uint32_t filled; /* chunks written from end to end */
	struct writer {
		uint32_t chunk, detail, detail_at;
		uint64_t seq;
	} threads[THREADS];
};

static void begin_threads(struct agent *agent)
{
	for (uint32_t i = 0; i < THREADS; i++) {
		struct ada_shm_thread *thread = &agent->segment->threads[i];

		agent->threads[i] = (struct writer){ ADA_NONE, ADA_NONE, 0, 0 };
		thread->thread_id = 1 + i;
		thread->chunk = ADA_NONE;
		thread->start_counter = agent->counter;
		thread->status = ADA_THREAD_LIVE;
	}
	agent->segment->shm->thread_count = THREADS;
}

static uint32_t take_bit(uint64_t *map, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (map[i / 64] >> i % 64 & 1) {
			map[i / 64] &= ~(1ull << i % 64);
			return i;
		}
	return ADA_NONE;
}

static struct ada_detail_chunk *detail_of(const struct agent *agent, const struct writer *writer)
{
	return writer->detail == ADA_NONE ? NULL : ada_segment_detail_chunk(agent->segment, writer->detail);
}

static bool open_chunk(struct agent *agent, uint32_t i, bool with_detail)
{
	struct writer *writer = &agent->threads[i];
	struct ada_chunk *chunk;

	writer->chunk = take_bit(agent->segment->free_map, agent->segment->chunks);
	if (writer->chunk == ADA_NONE)
		return false;
	if (with_detail && agent->segment->detail_chunks)
		writer->detail = take_bit(agent->segment->detail_free_map, agent->segment->detail_chunks);
	writer->detail_at = ADA_DETAIL_RECORDS_BEGIN;
	if (detail_of(agent, writer)) {
		fuzz_touch(detail_of(agent, writer), sizeof(struct ada_detail_chunk));
		*detail_of(agent, writer) = (struct ada_detail_chunk){ .status = ADA_DETAIL_OPEN,
								       .thread = i,
								       .first_seq = writer->seq,
								       .first_counter = agent->counter,
								       .index_chunk = writer->chunk };
	}
	chunk = ada_segment_chunk(agent->segment, writer->chunk);
	fuzz_touch(chunk, sizeof *chunk);
	*chunk = (struct ada_chunk){
		.commit = ADA_CHUNK_HEADER_BYTES, .first_seq = writer->seq, .thread = i, .status = ADA_CHUNK_OPEN, .detail = writer->detail
	};
	agent->segment->threads[i].chunk = writer->chunk;
	return true;
}

/* Not ada_ring_put, which goes on until it finds a place: these are overwritten at will. */
static void put_in(const struct ada_ring *ring, uint32_t number)
{
	uint64_t place = (*ring->head)++;

	ring->entries[place % ring->count] = ada_ring_entry(place, ring->count, number);
}

static void seal(struct agent *agent, uint32_t i)
{
	struct ada_segment *segment = agent->segment;
	struct writer *writer = &agent->threads[i];
	struct ada_detail_chunk *detail = detail_of(agent, writer);

	if (writer->chunk == ADA_NONE)
		return;
	if (detail) {
		detail->status = ADA_DETAIL_SEALED;
		detail->last_counter = agent->counter;
		detail->records = (uint32_t)(writer->seq - detail->first_seq);
		put_in(&segment->detail_ring, writer->detail);
	}
	ada_segment_chunk(segment, writer->chunk)->status = ADA_CHUNK_SEALED;
	put_in(&segment->ring, writer->chunk);
	writer->chunk = writer->detail = ADA_NONE;
}

/* The next record, of so many bytes; beyond the chunk's end none is written. */
static void write_record(const struct agent *agent, struct writer *writer, const struct ada_event *event, uint32_t kind, uint32_t bytes)
{
	struct ada_detail_chunk *chunk = detail_of(agent, writer);
	struct ada_detail *record;

	if (!chunk || writer->detail_at + bytes > agent->segment->detail_chunk_bytes)
		return;
	record = (struct ada_detail *)((uint8_t *)chunk + writer->detail_at);
	fuzz_touch(record, bytes);
	memset(record, 0, bytes);
	record->counter = event->timestamp_ns;
	record->meta = ADA_DETAIL_META(kind, bytes) | event->function_id;
	writer->detail_at += bytes;
}

/* What the agent believes of its chunk may have been overwritten: then it writes elsewhere in it, never outside. */
static void write_events(struct agent *agent, uint32_t i, uint32_t count, bool with_detail)
{
	struct writer *writer = &agent->threads[i];
	struct ada_chunk *chunk;

	if (writer->chunk == ADA_NONE && !open_chunk(agent, i, with_detail))
		return;
	chunk = ada_segment_chunk(agent->segment, writer->chunk);
	while (count--) {
		uint32_t offset = ada_chunk_end(chunk) & (ADA_CHUNK_BYTES - 32);
		struct ada_event *event = (struct ada_event *)((uint8_t *)chunk + offset);

		if (offset < ADA_CHUNK_HEADER_BYTES) { /* full */
			seal(agent, i);
			return;
		}
		fuzz_touch(event, sizeof *event);
		*event = (struct ada_event){ .timestamp_ns = agent->counter++,
					     .function_id = count,
					     .event_kind = count % 2 ? ADA_EVENT_CALL : ADA_EVENT_RETURN,
					     .detail_seq = writer->detail == ADA_NONE ? ADA_NO_DETAIL : 0 };
		write_record(agent, writer, event, event->event_kind, ADA_DETAIL_CALL_BYTES + agent->segment->detail_room);
		chunk->commit = offset + 32 == ADA_CHUNK_BYTES ? 0 : offset + 32;
		writer->seq++;
		if (!chunk->commit) {
			chunk->commit = ADA_CHUNK_BYTES;
			seal(agent, i);
			return;
		}
	}
}

/* To shortly before the end of its chunk: what lies before are events of zeros. */
static void skip_events(struct agent *agent, uint32_t i, bool with_detail)
{
	struct writer *writer = &agent->threads[i];

	if (writer->chunk == ADA_NONE && !open_chunk(agent, i, with_detail))
		return;
	ada_segment_chunk(agent->segment, writer->chunk)->commit = ADA_CHUNK_BYTES - 8 * sizeof(struct ada_event);
	for (uint32_t n = 0; n < ADA_CHUNK_EVENTS - 8; n++)
		write_record(agent, writer, &(struct ada_event){ .timestamp_ns = agent->counter }, 0, ADA_DETAIL_NONE_BYTES);
	writer->seq += ADA_CHUNK_EVENTS - 8;
}

static void mark(struct agent *agent, uint32_t i, struct fuzz_input *input)
{
	struct ada_segment *segment = agent->segment;
	uint64_t place = segment->shm->marks.head++;

	fuzz_touch(&segment->marks[place % ADA_MARKS], sizeof *segment->marks);
	segment->marks[place % ADA_MARKS] = (struct ada_mark){ .counter = agent->counter,
							       .rules = 1,
							       .version = 1,
							       .thread = i,
							       .seq = agent->threads[i].seq - 1,
							       .pre_ticks = fuzz_number(input),
							       .pre_events = fuzz_number(input),
							       .post_ticks = fuzz_number(input),
							       .post_events = fuzz_number(input),
							       .pin_start = agent->counter - fuzz_short(input),
							       .pin_end = UINT64_MAX,
							       .ready = place + 1 };
	segment->shm->detail.pin.start = ada_pin_start(agent->counter - 100000);
	segment->shm->detail.pin.end = UINT64_MAX;
}

static void put(void *base, uint64_t offset, uint64_t bytes, uint64_t number)
{
	uint8_t *at = (uint8_t *)base + offset % bytes / 4 * 4;

	fuzz_touch(at, 8);
	memcpy(at, &number, offset % 8 && offset % bytes + 8 <= bytes ? 8 : 4);
}

/* One number somewhere. */
static void scribble(struct ada_segment *segment, struct fuzz_input *input)
{
	uint8_t where = fuzz_byte(input);
	uint32_t which = fuzz_byte(input) % SOME;
	uint64_t offset = fuzz_short(input), number = fuzz_number(input);
	uint32_t chunk = where & 64 ? ada_small_first(segment->chunks) + which : which;
	uint32_t detail = where & 64 && segment->detail_small_chunks ? ada_small_first(segment->detail_chunks) + which : which;

	switch (where % 12) {
	case 0: put(segment->shm, offset, sizeof *segment->shm, number); break;
	case 1: put(&segment->shm->disabled, offset, 256, number); break;
	case 2: put(&segment->threads[which], offset, sizeof *segment->threads, number); break;
	case 3: put(&segment->modules[which], offset, sizeof *segment->modules, number); break;
	case 4: put(&segment->heirs[which], offset, sizeof *segment->heirs, number); break;
	case 5: put(ada_segment_chunk(segment, chunk), offset, offset & 0x8000 ? ADA_CHUNK_BYTES : 256, number); break;
	case 6:
		put(segment->ring.entries, offset, SOME * 8,
		    which & 1 ? number : ada_ring_entry(offset % SOME, segment->numbers, (uint32_t)number));
		break;
	case 7: put(segment->free_map, offset, 8, number); break;
	case 8: put(&segment->marks[which], offset, sizeof *segment->marks, number); break;
	case 9: put(segment->policy + ADA_POLICY_STATES, offset, 4096, number); break;
	default:
		if (!segment->detail_chunks)
			break;
		if (where % 12 == 10)
			put(ada_segment_detail_chunk(segment, detail), offset,
			    offset & 0x8000 ? ada_segment_detail_small_bytes(segment) : 64, number);
		else if (which & 1)
			put(segment->detail_ring.entries, offset, SOME * 8, number);
		else
			put(segment->detail_free_map, offset, 8, number);
	}
	/* Many of them are slow, no more. */
	segment->shm->thread_count %= 40;
	segment->shm->module_count %= 16;
	if (segment->shm->heirs_unlisted < 65536)
		segment->shm->heirs_unlisted %= 8;
	for (uint32_t i = 0; i < SOME; i++)
		if (segment->threads[i].id < 2 * ADA_THREADS_MAX)
			segment->threads[i].id %= 64;
}

static unsigned int status_told;

static void look_at(struct ada_provider *provider, uint8_t what)
{
	struct ada_pace pace = { 0 };
	struct ada_error error = { "" };
	json_object *status;
	size_t processes;

	switch (what % 8) {
	case 0: ada_provider_drain(provider); break;
	case 1: ada_provider_quiet(provider); break;
	case 2: ada_names_look(provider); break;
	case 3:
		ada_heirs_collect(provider, what & 8);
		ada_heirs_own(provider);
		break;
	case 4: ada_segment_grow(&provider->segment); break;
	case 5: ada_manifest_write(provider); break;
	case 6: /* as text it takes longer than all else */
		if (status_told++)
			break;
		status = ada_status_of(provider->recorder, &pace, ada_clock_boottime_ns());
		fuzz_check_json(status);
		json_object_put(status);
		break;
	default:
		ada_fire_manual(provider->recorder, NULL, &processes, &error);
		if (provider->details)
			ada_details_advice(provider->details);
	}
}

static void choose_modes(uint8_t byte)
{
	fuzz_options.index_mode = byte % 3;
	fuzz_options.on_full = byte >> 2 & 1;
	fuzz_options.detail = byte >> 3 & 1;
	fuzz_options.detail_mode = byte / 16 % 3;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct fuzz_input input = { bytes, bytes + length };
	struct ada_recorder *recorder;
	struct ada_provider *provider;
	struct agent agent = { .counter = ada_clock_counter() - 10000000 };

	choose_modes(fuzz_byte(&input));
	fuzz_manifests = fuzz_one_in(32, bytes, length);
	status_told = !fuzz_one_in(8, bytes, length);
	recorder = fuzz_recorder_begin(NULL);
	provider = fuzz_provider(recorder);
	agent.segment = &provider->segment;
	begin_threads(&agent);
	for (int i = 0; i < STEPS_MAX && input.at < input.end; i++) {
		uint8_t step = fuzz_byte(&input);
		uint32_t thread = step / 8 % THREADS;

		switch (step % 8) {
		case 0: write_events(&agent, thread, fuzz_byte(&input), step & 64); break;
		case 1: /* mostly short, for it is what takes longest */
			if ((step & 160) == 128)
				skip_events(&agent, thread, step & 64);
			write_events(&agent, thread, (step & 160) == 160 && agent.filled++ < FILLED_MAX ? ADA_CHUNK_EVENTS : 8, step & 64);
			seal(&agent, thread);
			break;
		case 2: seal(&agent, thread); break;
		case 3: mark(&agent, thread, &input); break;
		case 4: agent.counter += fuzz_short(&input); break;
		case 5: look_at(provider, step / 8); break;
		default: scribble(agent.segment, &input);
		}
	}
	ada_provider_drain(provider);
	ada_heirs_name(recorder);
	fuzz_recorder_end();
	return 0;
}

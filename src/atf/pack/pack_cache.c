/* Blocks of a packed file, decoded as they are asked for.
 *
 * Each block has a word: who uses its events, and its state.
 *
 *   absent --a reader wants it--> BUSY --decoded--> READY --nobody uses it any more--> absent (its buffer goes to the next block)
 *
 * The state and the other readers' bits change under `lock`; a reader whose own bit is set in a READY block needs no lock, for only this
 * reader takes that bit away. A reader is a thread of the process: it has one of 60 numbers as long as it lives. Threads beyond that
 * share the number NO_ONE, whose blocks stay until the file is closed.
 */
#include "atf/pack/cache.h"

#include <stdlib.h>

#define NO_ONE ATF_PACKED_READERS
#define READY (1ull << 62)
#define BUSY (1ull << 63)
#define USERS (READY - 1)

/* --- readers -------------------------------------------------------------------------------------------------------------- */

static _Atomic uint64_t readers_taken;
static pthread_key_t reader_key;
static pthread_once_t reader_once = PTHREAD_ONCE_INIT;
static _Thread_local uint32_t reader_number = ATF_PACKED_NO_BLOCK;

static void reader_leave(void *number)
{
	atomic_fetch_and(&readers_taken, ~(1ull << ((uintptr_t)number - 1)));
}

static void reader_start(void)
{
	pthread_key_create(&reader_key, reader_leave);
}

static uint32_t reader_take(void)
{
	uint64_t taken = atomic_load(&readers_taken);
	uint32_t number;

	pthread_once(&reader_once, reader_start);
	do {
		number = ~taken ? (uint32_t)__builtin_ctzll(~taken) : NO_ONE;
		if (number >= ATF_PACKED_READERS)
			return NO_ONE;
	} while (!atomic_compare_exchange_weak(&readers_taken, &taken, taken | 1ull << number));
	if (pthread_setspecific(reader_key, (void *)(uintptr_t)(number + 1))) {
		reader_leave((void *)(uintptr_t)(number + 1));
		return NO_ONE;
	}
	return number;
}

static uint32_t reader_self(void)
{
	if (reader_number == ATF_PACKED_NO_BLOCK)
		reader_number = reader_take();
	return reader_number;
}

/* --- open and close ------------------------------------------------------------------------------------------------------- */

static int copy_tail(struct atf_packed *packed)
{
	const struct atf_packed_entry *last;

	if (packed->layout.completeness == ATF_COMPLETE || !packed->layout.entries.count)
		return 0;
	last = &packed->layout.entries.items[packed->layout.entries.count - 1];
	packed->tail = malloc(last->length ? last->length : 1);
	if (!packed->tail)
		return -ATF_ERROR_MEMORY;
	memcpy(packed->tail, packed->bytes + last->offset, last->length);
	return 0;
}

int atf_packed_open(struct atf_packed **packed_out, const uint8_t *bytes, uint64_t size, struct atf_message *message)
{
	struct atf_packed_layout layout;
	struct atf_packed *packed;
	int status = atf_packed_layout_read(&layout, bytes, size, message);

	*packed_out = NULL;
	if (status)
		return status;
	packed = calloc(1, sizeof *packed + layout.entries.count * sizeof *packed->slots);
	if (!packed) {
		atf_packed_layout_free(&layout);
		return atf_fail(message, ATF_ERROR_MEMORY, "out of memory");
	}
	packed->layout = layout;
	packed->bytes = bytes;
	packed->size = size;
	pthread_mutex_init(&packed->lock, NULL);
	pthread_cond_init(&packed->ready, NULL);
	for (size_t i = 0; i < layout.entries.count; i++)
		if (layout.entries.items[i].count > packed->buffer_events)
			packed->buffer_events = layout.entries.items[i].count;
	if (copy_tail(packed)) {
		atf_packed_close(packed);
		return atf_fail(message, ATF_ERROR_MEMORY, "out of memory");
	}
	*packed_out = packed;
	return 0;
}

void atf_packed_close(struct atf_packed *packed)
{
	struct atf_packed_buffer *buffer;

	if (!packed)
		return;
	atf_packed_decoders_free(packed);
	while ((buffer = packed->buffers)) {
		packed->buffers = buffer->next;
		free(buffer);
	}
	for (size_t i = 0; i < packed->layout.entries.count; i++)
		free(packed->slots[i].events);
	for (size_t i = 0; i < ATF_PACKED_READERS; i++)
		free(packed->kept[i]);
	pthread_mutex_destroy(&packed->lock);
	pthread_cond_destroy(&packed->ready);
	atf_packed_layout_free(&packed->layout);
	free(packed->tail);
	free(packed->all);
	free(packed);
}

const struct atf_packed_layout *atf_packed_layout(const struct atf_packed *packed)
{
	return &packed->layout;
}

uint64_t atf_packed_damaged(const struct atf_packed *packed)
{
	return atomic_load(&packed->damaged);
}

/* --- decoding ------------------------------------------------------------------------------------------------------------- */

static void fill_lost(const struct atf_packed *packed, uint32_t number, struct ada_event *events)
{
	const struct atf_packed_entry *entry = &packed->layout.entries.items[number];

	for (uint32_t i = 0; i < entry->count; i++)
		events[i] = (struct ada_event){ entry->first_ns, 1, packed->layout.header.thread_id, ADA_EVENT_LOST, 0, ADA_NO_DETAIL };
}

/* 0 or -ATF_ERROR_MEMORY. */
static int decode(struct atf_packed *packed, struct atf_packed_decoder *decoder, uint32_t number, struct ada_event *events)
{
	const uint8_t *block = atf_packed_decoder_at(packed, decoder, number);
	int status = block ? atf_unpack_events(decoder->unpacker, &decoder->lane, block, events) : -ATF_ERROR_CORRUPT;

	if (status == -ATF_ERROR_MEMORY)
		return status;
	if (status) {
		atomic_fetch_add(&packed->damaged, packed->layout.entries.items[number].count);
		fill_lost(packed, number, events);
	}
	return 0;
}

static struct ada_event *buffer_take(struct atf_packed *packed)
{
	struct atf_packed_buffer *buffer = packed->buffers;

	if (!buffer)
		return malloc(packed->buffer_events * sizeof(struct ada_event));
	packed->buffers = buffer->next;
	return (struct ada_event *)buffer;
}

static void buffer_give(struct atf_packed *packed, struct ada_event *events)
{
	struct atf_packed_buffer *buffer = (struct atf_packed_buffer *)events;

	buffer->next = packed->buffers;
	packed->buffers = buffer;
}

/* Makes the block READY. Under the lock, which is left meanwhile. */
static int load(struct atf_packed *packed, uint32_t number)
{
	struct atf_packed_slot *slot = &packed->slots[number];
	struct atf_packed_decoder *decoder = atf_packed_decoder_take(packed, number);
	struct ada_event *events = buffer_take(packed);
	int status = decoder && events ? 0 : -ATF_ERROR_MEMORY;

	atomic_store(&slot->word, BUSY);
	pthread_mutex_unlock(&packed->lock);
	if (!status)
		status = decode(packed, decoder, number, events);
	pthread_mutex_lock(&packed->lock);
	atf_packed_decoder_give(packed, decoder);
	if (status) {
		if (events)
			buffer_give(packed, events);
	} else {
		slot->events = events;
	}
	atomic_store(&slot->word, status ? 0 : READY);
	pthread_cond_broadcast(&packed->ready);
	return status;
}

/* --- who uses what -------------------------------------------------------------------------------------------------------- */

/* The reader doesn't use the block any more. Under the lock. */
static void drop(struct atf_packed *packed, uint32_t number, uint32_t reader)
{
	struct atf_packed_slot *slot = &packed->slots[number];
	uint64_t word = atomic_load(&slot->word) & ~(1ull << reader);

	if (word & BUSY)
		return;
	if (word == READY) {
		buffer_give(packed, slot->events);
		slot->events = NULL;
		word = 0;
	}
	atomic_store(&slot->word, word);
}

/* Notes that the reader uses the block now, and no longer the one that it has left alone for longest. Under the lock. */
static void keep(struct atf_packed *packed, uint32_t number, uint32_t reader)
{
	struct atf_packed_kept *kept;

	if (reader == NO_ONE)
		return;
	kept = packed->kept[reader];
	if (!kept) {
		kept = packed->kept[reader] = malloc(sizeof *kept);
		if (!kept)
			return;
		kept->next = 0;
		memset(kept->blocks, 0xFF, sizeof kept->blocks);
	}
	if (kept->blocks[kept->next] != ATF_PACKED_NO_BLOCK)
		drop(packed, kept->blocks[kept->next], reader);
	kept->blocks[kept->next] = number;
	kept->next = (kept->next + 1) % ATF_PACKED_KEPT;
}

static __attribute__((noinline)) int use(struct atf_packed *packed, uint32_t number, uint32_t reader)
{
	struct atf_packed_slot *slot = &packed->slots[number];
	int status = 0;

	pthread_mutex_lock(&packed->lock);
	while (!status && !(atomic_load(&slot->word) & READY))
		if (atomic_load(&slot->word) & BUSY)
			pthread_cond_wait(&packed->ready, &packed->lock);
		else
			status = load(packed, number);
	if (!status) {
		atomic_fetch_or(&slot->word, 1ull << reader);
		keep(packed, number, reader);
	}
	pthread_mutex_unlock(&packed->lock);
	return status;
}

uint32_t atf_packed_number(const struct atf_packed *packed, uint64_t index_seq)
{
	const struct atf_packed_entry *entries = packed->layout.entries.items;
	uint64_t guess = index_seq / entries[0].count;

	if (guess < packed->layout.entries.count && index_seq - entries[guess].first_seq < entries[guess].count)
		return (uint32_t)guess;
	return (uint32_t)ada_first_not(i, 1, packed->layout.entries.count, entries[i].first_seq <= index_seq) - 1;
}

uint64_t atf_packed_block(const struct atf_packed *packed, uint64_t index_seq)
{
	return packed->layout.entries.items[atf_packed_number(packed, index_seq)].first_seq;
}

void atf_packed_place(const struct atf_packed *packed, uint64_t from, uint64_t to, const uint8_t **begin, const uint8_t **end)
{
	const struct atf_packed_entry *entries = packed->layout.entries.items;
	uint32_t next = atf_packed_number(packed, to - 1) + 1;
	uint64_t first = entries[atf_packed_number(packed, from)].offset;
	uint64_t behind = next < packed->layout.entries.count ? entries[next].offset : packed->layout.end;

	/* One that is missing lies at 0; what was a tail may lie anywhere. */
	*begin = packed->bytes + first;
	*end = first && first < behind ? packed->bytes + behind : *begin;
}

uint64_t atf_packed_calls_from(const struct atf_packed *packed, uint64_t index_seq)
{
	const struct atf_packed_entry *entries = packed->layout.entries.items;

	while (index_seq) {
		uint32_t number = atf_packed_number(packed, index_seq - 1);

		if (!entries[number].calls)
			break;
		index_seq = entries[number].first_seq;
	}
	return index_seq;
}

const struct ada_event *atf_packed_run(struct atf_packed *packed, uint64_t index_seq, uint64_t *count)
{
	uint32_t number = atf_packed_number(packed, index_seq), reader = reader_self();
	const struct atf_packed_entry *entry = &packed->layout.entries.items[number];
	const uint64_t wanted = READY | 1ull << reader;
	struct atf_packed_slot *slot = &packed->slots[number];

	*count = 0;
	if ((atomic_load_explicit(&slot->word, memory_order_acquire) & wanted) != wanted && use(packed, number, reader))
		return NULL;
	*count = entry->first_seq + (uint64_t)entry->count - index_seq;
	return slot->events + (index_seq - entry->first_seq);
}

void atf_packed_release(struct atf_packed *packed, uint64_t from, uint64_t to)
{
	uint32_t reader = reader_self();
	struct atf_packed_kept *kept = reader == NO_ONE ? NULL : packed->kept[reader];

	if (!kept)
		return;
	pthread_mutex_lock(&packed->lock);
	for (unsigned int i = 0; i < ATF_PACKED_KEPT; i++) {
		const struct atf_packed_entry *entry;

		if (kept->blocks[i] == ATF_PACKED_NO_BLOCK)
			continue;
		entry = &packed->layout.entries.items[kept->blocks[i]];
		if (entry->first_seq < from || entry->first_seq + (uint64_t)entry->count >= to)
			continue;
		drop(packed, kept->blocks[i], reader);
		kept->blocks[i] = ATF_PACKED_NO_BLOCK;
	}
	pthread_mutex_unlock(&packed->lock);
}

/* --- all ------------------------------------------------------------------------------------------------------------------ */

const struct ada_event *atf_packed_all(struct atf_packed *packed)
{
	struct ada_event *all;
	uint64_t at = 0, run;

	pthread_mutex_lock(&packed->lock);
	all = packed->all;
	pthread_mutex_unlock(&packed->lock);
	if (all)
		return all;
	all = malloc(packed->layout.count ? packed->layout.count * sizeof *all : 1);
	while (all && at < packed->layout.count) {
		const struct ada_event *events = atf_packed_run(packed, at, &run);

		if (!events) {
			free(all);
			return NULL;
		}
		memcpy(all + at, events, run * sizeof *all);
		at += run;
	}
	pthread_mutex_lock(&packed->lock);
	if (packed->all) {
		free(all);
		all = packed->all;
	}
	packed->all = all;
	pthread_mutex_unlock(&packed->lock);
	return all;
}

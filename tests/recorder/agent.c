#include "agent.h"
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include <x86intrin.h>

void fake_check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fake agent: %s: %m\n", what);
	_exit(99);
}

int fake_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = getenv(ADA_ENV_SOCKET);
	int fd;

	fake_check(path && strcspn(path, "#") < sizeof address.sun_path, "no " ADA_ENV_SOCKET);
	memcpy(address.sun_path, path, strcspn(path, "#"));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	fake_check(!connect(fd, (struct sockaddr *)&address, sizeof address), "connect");
	return fd;
}

static void tell(int fd, const struct ada_message *message)
{
	fake_check(send(fd, message, message->bytes, MSG_NOSIGNAL) == message->bytes, "send");
}

static int hear(int fd, void *message, size_t bytes)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec part = { message, bytes };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
	ssize_t got;
	int passed;
	bool more;

	do {
		uint32_t type;

		header.msg_controllen = sizeof control;
		got = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
		fake_check(got >= (ssize_t)sizeof(struct ada_message), "an answer");
		fake_check(((struct ada_message *)message)->bytes == (size_t)got, "an answer's size");
		passed = -1;
		if (header.msg_controllen >= CMSG_LEN(sizeof(int)))
			memcpy(&passed, CMSG_DATA(&control.head), sizeof passed);
		type = ((struct ada_message *)message)->type;
		more = type == ADA_MESSAGE_WAIT || type == ADA_MESSAGE_PRESENCE;
		if (more && passed >= 0)
			close(passed);
	} while (more);
	return passed;
}

void fake_hello(struct fake *fake, enum ada_hello_kind kind, uint32_t parent_pid)
{
	struct ada_hello hello = { .head = { ADA_MESSAGE_HELLO, sizeof hello },
				   .wire_version = ADA_WIRE_VERSION,
				   .kind = kind,
				   .parent_pid = parent_pid,
				   .thread_id = (uint32_t)syscall(SYS_gettid),
				   .counter = __rdtsc(),
				   .provider = ADA_NONE,
				   .heir = ADA_NONE };
	struct ada_welcome welcome;
	int fd;

	if (fake->socket <= 0)
		fake->socket = fake_connect();
	tell(fake->socket, &hello.head);
	fd = hear(fake->socket, &welcome, sizeof welcome);
	fake_check(welcome.head.type == ADA_MESSAGE_WELCOME && welcome.wire_version == ADA_WIRE_VERSION, "WELCOME");
	fake->flags = welcome.flags;
	if (fd < 0)
		return;
	fake->shm = mmap(NULL, welcome.shm_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	fake_check(fake->shm != MAP_FAILED && !memcmp(fake->shm->magic, ADA_SHM_MAGIC, 8), "the segment");
	fake_check(fake->shm->total_bytes == welcome.shm_bytes && fake->shm->pid == (uint32_t)getpid(), "the segment's header");
	close(fd);
}

void fake_module_known(struct fake *fake, uint32_t id, uint32_t flags, const char *path)
{
	struct ada_shm_module *module = (struct ada_shm_module *)((char *)fake->shm + fake->shm->modules_offset) + id;

	snprintf(module->path, sizeof module->path, "%s", path);
	module->base = 0x10000;
	module->flags = flags;
	module->load_counter = __rdtsc();
	__atomic_store_n(&module->present, 1, __ATOMIC_RELEASE);
	if (fake->shm->module_count <= id)
		__atomic_store_n(&fake->shm->module_count, id + 1, __ATOMIC_RELEASE);
}

void fake_module(struct fake *fake, uint32_t id, uint32_t flags, const char *path)
{
	struct ada_module_message message = { .head = { ADA_MESSAGE_MODULE, sizeof message }, .module_id = id, .flags = flags };
	struct ada_applied applied = { .head = { ADA_MESSAGE_APPLIED, sizeof applied }, .module_id = id };
	int fd;
	struct {
		struct ada_plan_reply reply;
		uint8_t filter[ADA_FILTER_BYTES_MAX];
	} answer;

	fake_module_known(fake, id, flags, path);
	tell(fake->socket, &message.head);
	fd = hear(fake->socket, &answer, sizeof answer);
	fake_check(answer.reply.head.type == ADA_MESSAGE_PLAN && answer.reply.module_id == id, "PLAN");
	fake_check((fd >= 0) == (answer.reply.plan_bytes != 0), "a plan's descriptor");
	if (fd >= 0)
		close(fd);
	tell(fake->socket, &applied.head);
}

void fake_done(struct fake *fake)
{
	struct ada_done done = { .head = { ADA_MESSAGE_DONE, sizeof done } };

	tell(fake->socket, &done.head);
	close(fake->socket);
	fake->socket = -1;
}

void fake_begin(struct fake *fake)
{
	fake_hello(fake, ADA_HELLO_START, 0);
	fake_check(fake->shm != NULL, "no segment");
}

void fake_main_module(struct fake *fake)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

	fake_check(length > 0, "/proc/self/exe");
	path[length] = 0;
	fake_module(fake, 0, ADA_MODULE_MAIN, path);
}

void fake_start(struct fake *fake)
{
	fake_begin(fake);
	fake_main_module(fake);
	fake_done(fake);
}

struct ada_shm_thread *fake_entry(const struct fake *fake, uint32_t id)
{
	return (struct ada_shm_thread *)((char *)fake->shm + fake->shm->threads_offset) + id;
}

struct ada_chunk *fake_chunk(const struct fake *fake, uint32_t number)
{
	return (struct ada_chunk *)((char *)fake->shm + fake->shm->index_offset + (uint64_t)number * ADA_CHUNK_BYTES);
}

static uint64_t *free_map(const struct fake *fake)
{
	return (uint64_t *)((char *)fake->shm + fake->shm->free_offset);
}

bool fake_is_free(const struct fake *fake, uint32_t chunk)
{
	return ada_map_has(free_map(fake), chunk);
}

static uint64_t now(const struct fake *fake)
{
	return fake->step ? fake->counter : __rdtsc();
}

void fake_thread_begin(struct fake_thread *thread, struct fake *fake, uint32_t thread_id, const char *name)
{
	struct ada_shm_thread *entry;

	*thread = (struct fake_thread){ .fake = fake };
	thread->id = __atomic_fetch_add(&fake->shm->threads_seen, 1, __ATOMIC_ACQ_REL);
	entry = fake_entry(fake, __atomic_fetch_add(&fake->shm->thread_count, 1, __ATOMIC_ACQ_REL));
	entry->id = thread->id;
	entry->thread_id = thread_id;
	entry->chunk = UINT32_MAX;
	entry->start_counter = now(thread->fake);
	snprintf(entry->name, sizeof entry->name, "%s", name);
	__atomic_store_n(&entry->status, ADA_THREAD_LIVE, __ATOMIC_RELEASE);
}

struct ada_ring fake_ring(const struct fake *fake)
{
	struct ada_shm *shm = fake->shm;

	return (struct ada_ring){ .entries = (uint64_t *)((char *)shm + shm->sealed_offset),
				  .head = &shm->sealed_head,
				  .tail = &shm->sealed_tail,
				  .count = ada_chunk_numbers(shm->index_chunks, shm->small_chunks) };
}

static bool take_free(const struct fake *fake, uint32_t *chunk)
{
	return ada_map_take(free_map(fake), 0, fake->shm->index_chunks, chunk);
}

/* Circular: the oldest sealed chunk, once the whole pool has been handed out. */
static bool take_oldest(const struct fake *fake, uint32_t *chunk)
{
	struct ada_ring ring = fake_ring(fake);

	return fake->shm->index_mode == ADA_INDEX_CIRCULAR && ada_ring_take_oldest(&ring, chunk);
}

/* --- detail chunks, as src/agent/record/detail.c takes and seals them ---------------------------------------------------------- */

struct ada_detail_chunk *fake_detail(const struct fake *fake, uint32_t number)
{
	return (struct ada_detail_chunk *)((char *)fake->shm + fake->shm->detail_offset + (uint64_t)number * fake->shm->detail_chunk_bytes);
}

static struct ada_ring detail_ring(const struct fake *fake)
{
	struct ada_shm *shm = fake->shm;

	return (struct ada_ring){ .entries = (uint64_t *)((char *)shm + shm->detail_sealed_offset),
				  .head = &shm->detail.sealed_head,
				  .tail = &shm->detail.sealed_tail,
				  .count = shm->detail_chunks };
}

static bool recycle_detail(struct fake *fake, uint32_t *number)
{
	struct ada_detail_control *control = &fake->shm->detail;
	struct ada_ring ring = detail_ring(fake);

	while (ada_ring_take_oldest(&ring, number)) {
		struct ada_detail_chunk *chunk = fake_detail(fake, *number);
		struct ada_pin pin;

		ada_detail_claim(chunk);
		pin = ada_pin_read(&control->pin);
		if (!ada_pin_holds(pin.start, pin.end, chunk->first_counter, chunk->last_counter)) {
			ada_horizon_raise(control, chunk->last_counter);
			control->discarded++;
			fake->recycled++;
			return true;
		}
		ada_detail_status_set(chunk, ADA_DETAIL_HELD);
	}
	return false;
}

static bool take_detail(struct fake *fake, uint32_t *number)
{
	uint64_t *map = (uint64_t *)((char *)fake->shm + fake->shm->detail_free_offset);
	struct ada_detail_control *control = &fake->shm->detail;
	uint32_t chunks = fake->shm->detail_chunks;
	bool circular = fake->shm->detail_mode == ADA_DETAIL_CIRCULAR;

	if (circular && control->sealed_head - control->sealed_tail >= chunks - chunks / 4 && recycle_detail(fake, number))
		return true;
	return ada_map_take(map, 0, chunks, number) || (circular && recycle_detail(fake, number));
}

static void open_detail(struct fake_thread *thread, struct ada_chunk *index)
{
	struct fake *fake = thread->fake;
	struct ada_detail_chunk *chunk;

	index->detail = ADA_NONE;
	thread->detail = NULL;
	if (!fake->shm->detail_chunks)
		return;
	if (thread->starve || !take_detail(fake, &thread->detail_number)) {
		fake->shm->detail.starved++;
		return;
	}
	chunk = fake_detail(fake, thread->detail_number);
	*chunk = (struct ada_detail_chunk){ .status = chunk->status,
					    .thread = thread->id,
					    .first_seq = thread->seq,
					    .first_counter = now(fake),
					    .previous_counter = thread->last_counter,
					    .index_chunk = thread->chunk_number };
	ada_detail_status_set(chunk, ADA_DETAIL_OPEN);
	index->detail = thread->detail_number;
	thread->detail = chunk;
	thread->detail_at = ADA_DETAIL_RECORDS_BEGIN;
}

static void close_detail(struct fake_thread *thread)
{
	struct ada_ring ring = detail_ring(thread->fake);

	if (!thread->detail)
		return;
	thread->detail->last_counter = thread->last_counter;
	thread->detail->records = (ada_chunk_end(thread->chunk) - ADA_CHUNK_HEADER_BYTES) / sizeof(struct ada_event);
	ada_detail_status_set(thread->detail, ADA_DETAIL_SEALED);
	ada_ring_put(&ring, thread->detail_number);
	thread->detail = NULL;
}

/* False: the event has no detail. */
static bool put_detail(struct fake_thread *thread, const struct ada_event *event)
{
	struct ada_shm *shm = thread->fake->shm;
	uint32_t stack = (uint32_t)(event->function_id % (shm->detail_stack_bytes + 1)) & ~7u;
	bool call = event->event_kind == ADA_EVENT_CALL;
	uint32_t fixed = call ? ADA_DETAIL_LARGEST(0) : ADA_DETAIL_RETURN_BYTES;
	struct ada_detail *record;
	uint8_t *behind;

	if (!thread->detail)
		return false;
	record = (struct ada_detail *)((char *)thread->detail + thread->detail_at);
	record->counter = event->timestamp_ns;
	record->meta = ADA_DETAIL_META(0, ADA_DETAIL_NONE_BYTES);
	thread->detail_at += ADA_DETAIL_NONE_BYTES;
	if (event->event_kind == ADA_EVENT_LOST || (thread->skip_detail && thread->number % thread->skip_detail == 0))
		return false;
	thread->detail_at += fixed + ADA_DETAIL_ROOM(stack) - ADA_DETAIL_NONE_BYTES;
	record->meta = ADA_DETAIL_META(event->event_kind, fixed + ADA_DETAIL_ROOM(stack)) | event->function_id |
		       (call ? ADA_DETAIL_VECTORS : 0) | (stack % ADA_DETAIL_UNIT ? ADA_DETAIL_HALF : 0);
	record->lr = thread->seq;
	record->fp = thread->id;
	record->sp = event->function_id * 8;
	behind = memset((uint8_t *)record + fixed, (int)(event->function_id & 0xff), stack);
	for (int i = 0; i < (call ? 8 : 4); i++)
		record->x[i] = event->function_id + (uint64_t)i;
	for (int i = 0; i < 8 && call; i++)
		((uint64_t *)(behind - ADA_DETAIL_VECTOR_BYTES))[i] = event->function_id * 3 + (uint64_t)i;
	return true;
}

/* Every record has room, however large. */
static bool has_room(const struct fake_thread *thread)
{
	const struct ada_shm *shm = thread->fake->shm;

	return ada_chunk_end(thread->chunk) < ADA_CHUNK_BYTES &&
	       (!thread->detail || thread->detail_at + ADA_DETAIL_LARGEST(shm->detail_stack_bytes) <= shm->detail_chunk_bytes);
}

/* When the event `back` before the newest one was, or when its thread's oldest chunk in the pool begins. */
static uint64_t counter_back(const struct fake_thread *thread, uint64_t back)
{
	uint64_t wanted = back < thread->seq ? thread->seq - 1 - back : 0, oldest = thread->last_counter;

	for (uint32_t i = 0; i < thread->fake->shm->detail_chunks; i++) {
		const struct ada_detail_chunk *chunk = fake_detail(thread->fake, i);

		if (chunk->status == ADA_DETAIL_FREE || chunk->thread != thread->id)
			continue;
		if (wanted >= chunk->first_seq && wanted - chunk->first_seq < ADA_CHUNK_EVENTS)
			return chunk->first_counter;
		oldest = chunk->first_counter < oldest ? chunk->first_counter : oldest;
	}
	return oldest;
}

void fake_mark(struct fake_thread *thread, uint64_t pre_ticks, uint64_t pre_events, uint64_t post_ticks, uint64_t post_events)
{
	struct ada_shm *shm = thread->fake->shm;
	uint64_t number = __atomic_fetch_add(&shm->marks.head, 1, __ATOMIC_ACQ_REL);
	struct ada_mark *mark = (struct ada_mark *)((char *)shm + shm->marks_offset) + number % ADA_MARKS;
	uint64_t counter = thread->last_counter, start = counter - pre_ticks;
	uint64_t events_start = pre_events ? counter_back(thread, pre_events) : start;

	*mark = (struct ada_mark){ .counter = counter,
				   .rules = 1,
				   .version = 1,
				   .thread = thread->id,
				   .seq = thread->seq - 1,
				   .function_id = thread->number - 1,
				   .pre_ticks = pre_ticks,
				   .pre_events = pre_events,
				   .post_ticks = post_ticks,
				   .post_events = post_events,
				   .pin_start = events_start < start ? events_start : start,
				   .pin_end = post_events ? UINT64_MAX : counter + post_ticks };
	__atomic_fetch_add(&shm->marks.detected, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&mark->ready, number + 1, __ATOMIC_RELEASE);
	ada_pin_widen(&shm->detail.pin, mark->pin_start, mark->pin_end, UINT32_MAX);
}

static bool take_chunk(struct fake_thread *thread)
{
	struct ada_shm *shm = thread->fake->shm;
	uint32_t returned = __atomic_load_n(&shm->returned, __ATOMIC_ACQUIRE);
	struct ada_chunk *chunk;
	struct timespec patience = { .tv_nsec = 100000000 }; /* chunks that are allocated late wake no one */

	while (!take_free(thread->fake, &thread->chunk_number) && !take_oldest(thread->fake, &thread->chunk_number)) {
		if (shm->on_full != ADA_ON_FULL_BLOCK || __atomic_load_n(&shm->stop, __ATOMIC_RELAXED))
			return false;
		__atomic_fetch_add(&shm->waits, 1, __ATOMIC_RELAXED);
		syscall(SYS_futex, &shm->returned, FUTEX_WAIT, returned, &patience, NULL, 0);
		returned = __atomic_load_n(&shm->returned, __ATOMIC_ACQUIRE);
	}
	chunk = fake_chunk(thread->fake, thread->chunk_number);
	chunk->status = ADA_CHUNK_FREE;
	chunk->commit = ADA_CHUNK_HEADER_BYTES;
	chunk->first_seq = thread->seq;
	chunk->thread = thread->id;
	chunk->entry = thread->id; /* these threads keep theirs */
	open_detail(thread, chunk);
	__atomic_store_n(&chunk->status, ADA_CHUNK_OPEN, __ATOMIC_RELEASE);
	__atomic_store_n(&fake_entry(thread->fake, thread->id)->chunk, thread->chunk_number, __ATOMIC_RELEASE);
	thread->chunk = chunk;
	return true;
}

void fake_seal_begin(struct fake_thread *thread)
{
	close_detail(thread);
	__atomic_store_n(&thread->chunk->status, ADA_CHUNK_SEALED, __ATOMIC_RELEASE);
	thread->chunk = NULL;
}

void fake_seal_end(struct fake_thread *thread)
{
	struct ada_ring ring = fake_ring(thread->fake);

	ada_ring_put(&ring, thread->chunk_number);
	__atomic_store_n(&fake_entry(thread->fake, thread->id)->chunk, UINT32_MAX, __ATOMIC_RELEASE);
}

void fake_seal(struct fake_thread *thread)
{
	if (!thread->chunk)
		return;
	fake_seal_begin(thread);
	fake_seal_end(thread);
}

static void put(struct fake_thread *thread, uint32_t kind, uint64_t function_id)
{
	uint32_t offset = ada_chunk_end(thread->chunk);
	struct ada_event *event = (struct ada_event *)((char *)thread->chunk + offset);

	*event = (struct ada_event){
		.timestamp_ns = now(thread->fake), .function_id = function_id, .event_kind = kind, .thread_id = UINT32_MAX
	};
	if (!put_detail(thread, event) && thread->fake->shm->detail_chunks)
		event->detail_seq = ADA_NO_DETAIL;
	thread->last_counter = event->timestamp_ns;
	thread->fake->counter += thread->fake->step;
	/* All but the offset is the agent's own: the recorder must not mind it. */
	__atomic_store_n(&thread->chunk->commit, (thread->seq << 16) | (offset + sizeof *event), __ATOMIC_RELEASE);
	thread->seq++;
}

static bool room(struct fake_thread *thread)
{
	if (thread->chunk && !has_room(thread))
		fake_seal(thread);
	return thread->chunk || take_chunk(thread);
}

void fake_lose(struct fake_thread *thread, uint64_t count)
{
	thread->pending_lost += count;
	thread->number += count;
	__atomic_fetch_add(&fake_entry(thread->fake, thread->id)->lost, count, __ATOMIC_RELAXED);
}

void fake_events(struct fake_thread *thread, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		if (thread->pending_lost && room(thread)) {
			put(thread, ADA_EVENT_LOST, thread->pending_lost);
			thread->pending_lost = 0;
		}
		if (thread->pending_lost || !room(thread)) {
			fake_lose(thread, 1);
			continue;
		}
		put(thread, thread->number % 2 ? ADA_EVENT_RETURN : ADA_EVENT_CALL, thread->number);
		thread->number++;
	}
}

void fake_thread_end(struct fake_thread *thread)
{
	fake_seal(thread);
	__atomic_store_n(&fake_entry(thread->fake, thread->id)->status, ADA_THREAD_ENDED, __ATOMIC_RELEASE);
}

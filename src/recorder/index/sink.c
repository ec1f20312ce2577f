/* Blocks to files.
 *
 * Whole blocks (multiples of 4096) are queued on the ring, neighbours as one request (batch.h), and written through a second descriptor
 * with O_DIRECT, once a file is large enough to be worth it. Everything else (flushed remainders, small files) is a pwrite to the page
 * cache, done at once: a buffered write of part of a page must never be in flight beside a direct write of that page, because its
 * write-back would bring the page's older content. A buffered write that has finished before the next direct write begins is coherent
 * with that.
 *
 * Disk space is allocated ahead of large files with FALLOC_FL_KEEP_SIZE: the size always says what was written.
 */
#include "recorder/index/sink.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/array.h"
#include "base/clock.h"
#include "recorder/index/arena.h"
#include "recorder/index/batch.h"
#include "recorder/index/packers.h"
#include "recorder/index/trouble.h"

#define RING_ENTRIES 128
#define DIRECT_FROM (1 << 20) /* file offset from which O_DIRECT pays */
#define ALLOCATE_STEP (32 << 20)
#define ALIGNMENT 4096
#define PAUSE_MS 1
#define RETRY_MS 20		  /* between tries where it insists */
#define RETRY_BLOCKS 16		  /* written at a time once the disk takes them again */
#define SLOW_NS 100000000ull	  /* of so much time */
#define SLOW_SHARE_NS 40000000ull /* so much waiting for the disk says that it is too slow */
#define MUCH_NS 200000000ull	  /* in so much time */
#define MUCH_BYTES (32u << 20)	  /* so much is what few disks take for long: 160 MB/s */

struct sink_file {
	int direct; /* -1 not opened (yet), -2 refused */
	unsigned in_flight;
	off_t allocated;
	off_t failed;		 /* where the first write that failed stopped; 0: none (the header lies there) */
	struct ada_batch *batch; /* the newest; it may still grow if `turn` is the sink's */
	unsigned turn;
};

struct ada_sink {
	struct atf_sink atf;
	struct io_uring ring;
	bool has_ring;
	unsigned in_flight, queued;
	unsigned turn;	  /* counts submissions: what was queued in earlier turns is the kernel's */
	unsigned closing; /* of those in flight: fsyncs, whose descriptors are still open */
	int error;	  /* of the first fsync that failed */
	bool patient, insists;
	struct ada_trouble trouble;
	bool wrote; /* packers wrote something since the last trouble began */
	bool holds_up;
	uint64_t slow_from_ns, waited_ns;  /* since then */
	uint64_t much_from_ns, bytes;	   /* written since then */
	struct ada_arena_writer *arena;	   /* NULL: blocks are in the heap */
	struct ada_packers *packers;	   /* NULL: there are none */
	ADA_ARRAY(struct sink_file) files; /* by descriptor */
};

static struct ada_sink *of(struct atf_sink *atf)
{
	return (struct ada_sink *)atf; /* its first member */
}

static int write_now(struct atf_block *block)
{
	while (block->length) {
		ssize_t done = pwrite(block->fd, block->bytes, block->length, block->offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? -errno : -EIO;
		block->bytes += done;
		block->length -= (size_t)done;
		block->offset += done;
	}
	return 0;
}

/* Blocks behind a failed one may be written all the same: the file ends where the hole begins, but not before its header's end: that was
 * written when the file was made. */
static void block_finish(struct ada_sink *sink, struct atf_block *block, int error)
{
	struct sink_file *file = &sink->files.items[block->fd];
	off_t stopped = block->offset < ATF_EVENTS_OFFSET ? ATF_EVENTS_OFFSET : block->offset;

	if (error && (!file->failed || stopped < file->failed))
		file->failed = stopped;
	if (!error)
		ada_trouble_wrote(&sink->trouble);
	atf_block_done(block, error);
}

static bool waits_for(const struct ada_sink *sink, int error)
{
	return sink->patient && !sink->insists && ada_trouble_is(error);
}

/* The block as far as it was not written, by pwrite. Where the sink insists: again, until the trouble is too old. */
static int write_rest(struct ada_sink *sink, struct atf_block *block)
{
	int status = write_now(block);

	while (sink->patient && sink->insists && ada_trouble_is(status)) {
		ada_trouble_begin(&sink->trouble, status);
		if (!ada_trouble_is_young(&sink->trouble))
			break;
		poll(NULL, 0, RETRY_MS);
		status = write_now(block);
		if (!status)
			ada_trouble_end(&sink->trouble, false);
	}
	return status;
}

/* The block is written, or failed; or it is kept for a later try. */
static void block_settle(struct ada_sink *sink, struct atf_block *block, int error)
{
	if (waits_for(sink, error) && !ada_array_push(&sink->trouble.held, block))
		ada_trouble_begin(&sink->trouble, error);
	else
		block_finish(sink, block, error);
}

/* Tries again what is held, of one file or (fd -1) of all. Where the sink insists, blocks fail that can't be written. Returns how many are
 * done. */
static size_t held_retry(struct ada_sink *sink, int fd, size_t most)
{
	struct ada_trouble *trouble = &sink->trouble;
	size_t kept = 0, done = 0, count = trouble->held.count;
	int error = 0;

	for (size_t i = 0; i < count; i++) {
		struct atf_block *block = trouble->held.items[i];
		bool now = done < most && !error && (fd < 0 || block->fd == fd);
		int status = now ? write_rest(sink, block) : 0;

		if (!now || waits_for(sink, status)) {
			error = status ? status : error;
			trouble->held.items[kept++] = block;
			continue;
		}
		block_finish(sink, block, status);
		done++;
	}
	trouble->held.count = kept;
	if (error)
		ada_trouble_begin(trouble, error);
	else if (done && kept)
		trouble->next_ns = 0; /* the next ones in the next turn */
	return done;
}

static void trouble_begin(struct ada_sink *sink, int error)
{
	sink->wrote = false;
	ada_trouble_begin(&sink->trouble, error);
}

/* What the packers met. */
static void look_at_packers(struct ada_sink *sink)
{
	bool wrote = false;
	int error = ada_packers_trouble(sink->packers, &wrote);

	if (error && sink->patient && !sink->trouble.error)
		trouble_begin(sink, error);
	else if (wrote && !error)
		ada_trouble_wrote(&sink->trouble);
	sink->wrote |= wrote;
}

void ada_sink_retry(struct ada_sink *sink)
{
	struct ada_trouble *trouble = &sink->trouble;
	bool any = trouble->held.count;
	int error;

	if (!ada_trouble_due(trouble))
		return;
	held_retry(sink, -1, RETRY_BLOCKS);
	if (trouble->held.count)
		return;
	error = ada_packers_retry(sink->packers);
	if (error) {
		ada_trouble_begin(trouble, error);
		return;
	}
	look_at_packers(sink);
	ada_trouble_end(trouble, !any && !sink->wrote);
}

static void open_direct(struct sink_file *file, int fd)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	file->direct = open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
	if (file->direct < 0)
		file->direct = -2;
}

/* Results that say nothing of the disk: no memory or no place for the request, a signal to the worker. */
static bool is_transient(int result)
{
	return result == -EAGAIN || result == -EINTR || result == -EBUSY || result == -ENOMEM || result == -ECANCELED;
}

static void reap(struct ada_sink *sink);

/* The kernel may have no memory for it just now, or want completions to be taken first. */
static void submit(struct ada_sink *sink)
{
	sink->turn++;
	while (sink->queued) {
		int count = io_uring_submit(&sink->ring);

		if (count > 0) {
			sink->queued -= (unsigned)count < sink->queued ? (unsigned)count : sink->queued;
			continue;
		}
		assert(!count || is_transient(count)); /* anything else is a misuse of the ring */
		reap(sink);
		if (count != -EINTR)
			poll(NULL, 0, PAUSE_MS);
	}
}

/* `result`: how many of its bytes are written, or -errno. */
static void block_complete(struct ada_sink *sink, struct atf_block *block, int result)
{
	if (result > 0) {
		block->bytes += result;
		block->length -= (size_t)result;
		block->offset += result;
	}
	if (is_transient(result))
		result = 0; /* without the ring, then */
	block_settle(sink, block, result < 0 && waits_for(sink, result) ? result : write_rest(sink, block));
}

static void fsync_complete(struct ada_sink *sink, int fd, int result)
{
	if (is_transient(result))
		result = fsync(fd) ? -errno : 0;
	if (result < 0 && !sink->error)
		sink->error = result;
	close(fd);
	sink->closing--;
}

/* A completion is a batch (its address) or the fsync of a descriptor (odd). */
static void complete(struct ada_sink *sink, uint64_t tag, int result)
{
	struct ada_batch *batch = (struct ada_batch *)(uintptr_t)tag;
	struct sink_file *file;

	sink->in_flight--;
	if (tag & 1) {
		fsync_complete(sink, (int)(tag >> 1), result);
		return;
	}
	file = &sink->files.items[batch->blocks[0]->fd];
	file->in_flight--;
	if (result == -EINVAL && file->direct >= 0) {
		close(file->direct); /* the disk asks for more alignment than ours: never again for this file */
		file->direct = -2;
		result = 0;
	}
	for (unsigned i = 0; i < batch->count; i++)
		block_complete(sink, batch->blocks[i], ada_batch_share(batch, i, &result));
	free(batch);
}

static void reap(struct ada_sink *sink)
{
	struct io_uring_cqe *cqe;

	while (!io_uring_peek_cqe(&sink->ring, &cqe)) {
		uint64_t tag = cqe->user_data;
		int result = cqe->res;

		io_uring_cqe_seen(&sink->ring, cqe);
		complete(sink, tag, result);
	}
}

static void reap_one(struct ada_sink *sink)
{
	struct io_uring_cqe *cqe;
	int status;

	submit(sink);
	while ((status = io_uring_wait_cqe(&sink->ring, &cqe)) == -EINTR)
		;
	if (status)
		poll(NULL, 0, PAUSE_MS);
	reap(sink);
}

static struct io_uring_sqe *next_entry(struct ada_sink *sink)
{
	struct io_uring_sqe *entry;

	while (sink->in_flight >= RING_ENTRIES || !(entry = io_uring_get_sqe(&sink->ring)))
		reap_one(sink);
	sink->in_flight++;
	sink->queued++;
	return entry;
}

static int open_with(struct ada_sink *sink, const char *path, int flags)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);

	if (fd < 0)
		return -errno;
	while (sink->files.count <= (size_t)fd)
		if (ada_array_push(&sink->files, (struct sink_file){ .direct = -1 })) {
			close(fd);
			return -ENOMEM;
		}
	sink->files.items[fd] = (struct sink_file){ .direct = -1 };
	return fd;
}

static int sink_open_file(struct atf_sink *atf, const char *path)
{
	return open_with(of(atf), path, O_CREAT | O_EXCL);
}

static int sink_reopen_file(struct atf_sink *atf, const char *path)
{
	return open_with(of(atf), path, 0);
}

/* Only helps: where it fails, the write itself tells. */
static void allocate_ahead(struct sink_file *file, int fd, off_t from, off_t end)
{
	if (end > file->allocated)
		file->allocated = fallocate(fd, FALLOC_FL_KEEP_SIZE, from, ALLOCATE_STEP) ? end : from + ALLOCATE_STEP;
}

/* Disks take more for some seconds than they do for good, and then nothing for a second: nobody has room for what comes meanwhile. */
static void note_bytes(struct ada_sink *sink, size_t bytes)
{
	uint64_t now = ada_clock_boottime_ns();

	if (now - sink->much_from_ns > MUCH_NS) {
		sink->much_from_ns = now;
		sink->bytes = 0;
	}
	sink->bytes += bytes;
	sink->holds_up |= sink->bytes > MUCH_BYTES;
}

static int sink_write(struct atf_sink *atf, struct atf_block *block)
{
	struct ada_sink *sink = of(atf);
	off_t end = block->offset + (off_t)block->length;
	struct ada_batch *batch;
	struct io_uring_sqe *entry;
	struct sink_file *file;

	note_bytes(sink, block->length);
	if (ada_sink_troubled(sink))
		return ada_array_push(&sink->trouble.held, block);
	if (!sink->has_ring || block->length % ALIGNMENT || end < DIRECT_FROM) {
		block_settle(sink, block, write_rest(sink, block));
		return 0;
	}
	file = &sink->files.items[block->fd];
	if (file->batch && file->turn == sink->turn && ada_batch_goes_on(file->batch, block)) {
		allocate_ahead(file, block->fd, block->offset, end);
		ada_batch_add(file->batch, block);
		return 0;
	}
	batch = malloc(sizeof *batch);
	if (!batch) {
		block_settle(sink, block, write_rest(sink, block));
		return 0;
	}
	entry = next_entry(sink);
	if (file->direct == -1)
		open_direct(file, block->fd);
	allocate_ahead(file, block->fd, block->offset, end);
	ada_batch_begin(batch, entry, file->direct >= 0 ? file->direct : block->fd, block);
	file->batch = batch;
	file->turn = sink->turn;
	file->in_flight++;
	return 0;
}

/* A wait from `since_ns` up to now. */
static void note_wait(struct ada_sink *sink, uint64_t since_ns)
{
	uint64_t now = ada_clock_boottime_ns();

	if (since_ns - sink->slow_from_ns > SLOW_NS) {
		sink->slow_from_ns = since_ns;
		sink->waited_ns = 0;
	}
	sink->waited_ns += now - since_ns;
	sink->holds_up |= sink->waited_ns > SLOW_SHARE_NS;
}

static int sink_wait(struct atf_sink *atf, int fd)
{
	struct ada_sink *sink = of(atf);
	unsigned before = sink->files.items[fd].in_flight;
	uint64_t since_ns = ada_clock_boottime_ns();

	if (sink->insists && held_retry(sink, fd, SIZE_MAX))
		return 0;
	if (!before && sink->trouble.held.count)
		return -EAGAIN;
	while (before && sink->files.items[fd].in_flight >= before)
		reap_one(sink);
	note_wait(sink, since_ns);
	return 0;
}

static bool sink_later(struct atf_sink *atf, int error)
{
	return ada_sink_trouble(of(atf), error);
}

static int sink_close_file(struct atf_sink *atf, int fd, bool sync)
{
	struct ada_sink *sink = of(atf);
	struct sink_file *file = &sink->files.items[fd];
	struct stat info;
	int status;

	look_at_packers(sink); /* they may have written the last of it: what is told of the disk then is up to date */
	if (file->direct >= 0)
		close(file->direct);
	file->direct = -1;
	if (!fstat(fd, &info) && (file->allocated || file->failed)) {
		off_t size = file->failed && file->failed < info.st_size ? file->failed : info.st_size;

		if (ftruncate(fd, size) && !sink->error) /* else the space ahead stays allocated, or a hole stays */
			sink->error = -errno;
	}
	if (sync && sink->has_ring) {
		struct io_uring_sqe *entry = next_entry(sink);

		io_uring_prep_fsync(entry, fd, 0);
		io_uring_sqe_set_data64(entry, (uint64_t)fd << 1 | 1);
		sink->closing++;
		return 0;
	}
	status = sync && fsync(fd) ? -errno : 0;
	close(fd);
	return status;
}

static uint8_t *sink_take(struct atf_sink *atf, uint64_t owner, off_t offset, size_t *bytes)
{
	return ada_arena_block_take(of(atf)->arena, (uint32_t)(owner >> 32), (uint32_t)owner, (uint64_t)offset, bytes);
}

static void sink_give(struct atf_sink *atf, uint8_t *bytes)
{
	ada_arena_block_give(of(atf)->arena, bytes);
}

/* What is written doesn't interrupt the main thread's sleep, where the kernel can do without (5.19). */
static bool open_ring(struct io_uring *ring)
{
	return !io_uring_queue_init(RING_ENTRIES, ring, IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG) ||
	       !io_uring_queue_init(RING_ENTRIES, ring, 0);
}

int ada_sink_open(struct ada_sink **result, bool no_ring)
{
	struct ada_sink *sink = calloc(1, sizeof *sink);

	*result = sink;
	if (!sink)
		return -ENOMEM;
	sink->atf = (struct atf_sink){ sink_open_file,	 sink_write, sink_wait, sink_close_file,
				       sink_reopen_file, sink_take,  sink_give, sink_later };
	sink->has_ring = !no_ring && open_ring(&sink->ring);
	if (sink->has_ring)
		io_uring_ring_dontfork(&sink->ring);
	return 0;
}

void ada_sink_use_arena(struct ada_sink *sink, struct ada_arena_writer *arena)
{
	sink->arena = arena;
}

void ada_sink_use_packers(struct ada_sink *sink, struct ada_packers *packers)
{
	sink->packers = packers;
}

bool ada_sink_holds_up(const struct ada_sink *sink)
{
	return sink && sink->holds_up;
}

struct atf_sink *ada_sink_atf(struct ada_sink *sink)
{
	return &sink->atf;
}

void ada_sink_be_patient(struct ada_sink *sink)
{
	sink->patient = true;
}

bool ada_sink_troubled(const struct ada_sink *sink)
{
	return sink && sink->trouble.error && !sink->insists;
}

bool ada_sink_trouble(struct ada_sink *sink, int error)
{
	if (!sink || !waits_for(sink, error))
		return false;
	trouble_begin(sink, error);
	return true;
}

void ada_sink_insist(struct ada_sink *sink, bool insists)
{
	if (!sink)
		return;
	sink->insists = insists;
	ada_packers_insist(sink->packers, insists);
}

const struct ada_trouble *ada_sink_story(const struct ada_sink *sink)
{
	static const struct ada_trouble none;

	return sink ? &sink->trouble : &none;
}

void ada_sink_poll(struct ada_sink *sink)
{
	look_at_packers(sink);
	if (!sink->has_ring)
		return;
	submit(sink);
	reap(sink);
}

bool ada_sink_release(struct ada_sink *sink)
{
	bool any = sink->closing;

	while (sink->closing)
		reap_one(sink);
	return any;
}

int ada_sink_close(struct ada_sink *sink)
{
	int status;

	while (sink->in_flight)
		reap_one(sink);
	ada_sink_insist(sink, true);
	held_retry(sink, -1, SIZE_MAX);
	ada_array_free(&sink->trouble.held);
	status = sink->error;
	if (sink->has_ring)
		io_uring_queue_exit(&sink->ring);
	ada_array_free(&sink->files);
	free(sink);
	return status;
}

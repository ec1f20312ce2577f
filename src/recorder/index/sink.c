/* Blocks to files.
 *
 * Whole blocks (multiples of 4096) are queued on the ring and written through a second descriptor with O_DIRECT, once a file is large
 * enough to be worth it. Everything else (flushed remainders, small files) is a pwrite to the page cache, done at once: a buffered write
 * of part of a page must never be in flight beside a direct write of that page, because its write-back would bring the page's older
 * content. A buffered write that has finished before the next direct write begins is coherent with that.
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
#include "recorder/index/arena.h"

#define RING_ENTRIES 128
#define DIRECT_FROM (1 << 20) /* file offset from which O_DIRECT pays */
#define ALLOCATE_STEP (32 << 20)
#define ALIGNMENT 4096
#define PAUSE_MS 1

struct sink_file {
	int direct; /* -1 not opened (yet), -2 refused */
	unsigned in_flight;
	off_t allocated;
	off_t failed; /* where the first write that failed stopped; 0: none (the header lies there) */
};

struct ada_sink {
	struct atf_sink atf;
	struct io_uring ring;
	bool has_ring;
	unsigned in_flight, queued;
	unsigned closing;		   /* of those in flight: fsyncs, whose descriptors are still open */
	int error;			   /* of the first fsync that failed */
	struct ada_arena_writer *arena;	   /* NULL: blocks are in the heap */
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

/* Blocks behind a failed one may be written all the same: the file ends where the hole begins. */
static void block_finish(struct ada_sink *sink, struct atf_block *block, int error)
{
	struct sink_file *file = &sink->files.items[block->fd];
	off_t stopped = block->offset ? block->offset : 1;

	if (error && (!file->failed || stopped < file->failed))
		file->failed = stopped;
	atf_block_done(block, error);
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

/* A completion is a block (its address) or the fsync of a descriptor (odd). */
static void complete(struct ada_sink *sink, uint64_t tag, int result)
{
	struct atf_block *block;
	struct sink_file *file;

	sink->in_flight--;
	if (tag & 1) {
		int fd = (int)(tag >> 1);

		if (is_transient(result))
			result = fsync(fd) ? -errno : 0;
		if (result < 0 && !sink->error)
			sink->error = result;
		close(fd);
		sink->closing--;
		return;
	}
	block = (struct atf_block *)(uintptr_t)tag;
	file = &sink->files.items[block->fd];
	file->in_flight--;
	if (result > 0) {
		block->bytes += result;
		block->length -= (size_t)result;
		block->offset += result;
	} else if (result == -EINVAL && file->direct >= 0) {
		close(file->direct); /* the disk asks for more alignment than ours: never again for this file */
		file->direct = -2;
		result = 0;
	}
	if (is_transient(result))
		result = 0; /* without the ring, then */
	block_finish(sink, block, result < 0 ? result : write_now(block));
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

static int sink_write(struct atf_sink *atf, struct atf_block *block)
{
	struct ada_sink *sink = of(atf);
	off_t end = block->offset + (off_t)block->length;
	struct io_uring_sqe *entry;
	struct sink_file *file;

	if (!sink->has_ring || block->length % ALIGNMENT || end < DIRECT_FROM) {
		block_finish(sink, block, write_now(block));
		return 0;
	}
	entry = next_entry(sink);
	file = &sink->files.items[block->fd];
	if (file->direct == -1)
		open_direct(file, block->fd);
	if (end > file->allocated) {
		/* Only helps: where it fails, the write itself tells. */
		if (!fallocate(block->fd, FALLOC_FL_KEEP_SIZE, block->offset, ALLOCATE_STEP))
			file->allocated = block->offset + ALLOCATE_STEP;
		else
			file->allocated = end;
	}
	file->in_flight++;
	io_uring_prep_write(entry, file->direct >= 0 ? file->direct : block->fd, block->bytes, (unsigned)block->length,
			    (uint64_t)block->offset);
	io_uring_sqe_set_data64(entry, (uintptr_t)block);
	return 0;
}

static int sink_wait(struct atf_sink *atf, int fd)
{
	struct ada_sink *sink = of(atf);
	unsigned before = sink->files.items[fd].in_flight;

	while (before && sink->files.items[fd].in_flight >= before)
		reap_one(sink);
	return 0;
}

static int sink_close_file(struct atf_sink *atf, int fd, bool sync)
{
	struct ada_sink *sink = of(atf);
	struct sink_file *file = &sink->files.items[fd];
	struct stat info;
	int status;

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

int ada_sink_open(struct ada_sink **result, bool no_ring)
{
	struct ada_sink *sink = calloc(1, sizeof *sink);

	*result = sink;
	if (!sink)
		return -ENOMEM;
	sink->atf = (struct atf_sink){ sink_open_file, sink_write, sink_wait, sink_close_file, sink_reopen_file, sink_take, sink_give };
	sink->has_ring = !no_ring && !io_uring_queue_init(RING_ENTRIES, &sink->ring, 0);
	if (sink->has_ring)
		io_uring_ring_dontfork(&sink->ring);
	return 0;
}

void ada_sink_use_arena(struct ada_sink *sink, struct ada_arena_writer *arena)
{
	sink->arena = arena;
}

struct atf_sink *ada_sink_atf(struct ada_sink *sink)
{
	return &sink->atf;
}

void ada_sink_poll(struct ada_sink *sink)
{
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
	status = sink->error;
	if (sink->has_ring)
		io_uring_queue_exit(&sink->ring);
	ada_array_free(&sink->files);
	free(sink);
	return status;
}

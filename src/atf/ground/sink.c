/* The default sink: pwrite(2), each block done when write returns. */
#include "atf/ground/ground.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int pwrite_open(struct atf_sink *sink, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? -errno : fd;
}

static int pwrite_write(struct atf_sink *sink, struct atf_block *block)
{
	atf_block_done(block, ada_file_write_at(block->fd, block->bytes, block->length, block->offset));
	return 0;
}

static int pwrite_wait(struct atf_sink *sink, int fd)
{
	return -EINVAL; /* nothing is ever in flight */
}

static int pwrite_close(struct atf_sink *sink, int fd, bool sync)
{
	int status = sync && fsync(fd) < 0 ? -errno : 0;

	if (close(fd) < 0 && !status && errno != EINTR)
		status = -errno;
	return status;
}

static int pwrite_reopen(struct atf_sink *sink, const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

struct atf_sink atf_sink_pwrite = {
	.open = pwrite_open, .write = pwrite_write, .wait = pwrite_wait, .close = pwrite_close, .reopen = pwrite_reopen
};

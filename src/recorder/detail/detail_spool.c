#include "recorder/detail/detail_spool.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/array.h"
#include "base/file.h"

struct kept {
	uint64_t first_seq;
	uint32_t thread, number;
};

struct detail_spool {
	int fd;
	uint32_t chunk_bytes; /* a multiple of the page */
	ADA_ARRAY(struct kept) kept;
	bool sorted;
	uint8_t *memory; /* the whole file; NULL: not mapped */
	size_t mapped;
};

static int make_file(const char *directory)
{
	char path[PATH_MAX];
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	if (ada_path(path, "%s/.detail-XXXXXX", directory))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

int ada_spool_open(struct detail_spool **spool, const char *directory, uint32_t chunk_bytes)
{
	struct detail_spool *new = calloc(1, sizeof *new);

	if (!new)
		return -ENOMEM;
	*new = (struct detail_spool){ .fd = make_file(directory), .chunk_bytes = chunk_bytes };
	if (new->fd < 0) {
		int status = new->fd;

		free(new);
		return status;
	}
	*spool = new;
	return 0;
}

static void unmap(struct detail_spool *spool)
{
	if (spool->memory)
		munmap(spool->memory, spool->mapped);
	spool->memory = NULL;
}

int ada_spool_put(struct detail_spool *spool, const struct ada_detail_chunk *chunk, uint32_t bytes)
{
	struct kept kept = { chunk->first_seq, chunk->thread, (uint32_t)spool->kept.count };
	off_t offset = (off_t)kept.number * spool->chunk_bytes;
	int status;

	/* Up to the end of a place, so that the file holds all that is mapped. */
	if (ftruncate(spool->fd, offset + spool->chunk_bytes))
		return -errno;
	status = ada_file_write_at(spool->fd, chunk, bytes, offset);
	if (status)
		return status;
	unmap(spool);
	spool->sorted = false;
	return ada_array_push(&spool->kept, kept);
}

static int records_compare(const void *left, const void *right)
{
	const struct kept *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->first_seq > b->first_seq) - (a->first_seq < b->first_seq);
}

const uint8_t *ada_spool_chunk(struct detail_spool *spool, uint32_t thread, uint64_t first_seq)
{
	struct kept key = { first_seq, thread, 0 };
	const struct kept *found;

	if (!spool->kept.count)
		return NULL;
	if (!spool->sorted) {
		qsort(spool->kept.items, spool->kept.count, sizeof key, records_compare);
		spool->sorted = true;
	}
	found = bsearch(&key, spool->kept.items, spool->kept.count, sizeof key, records_compare);
	if (!found)
		return NULL;
	if (!spool->memory) {
		void *memory;

		spool->mapped = spool->kept.count * spool->chunk_bytes;
		memory = mmap(NULL, spool->mapped, PROT_READ, MAP_SHARED, spool->fd, 0);
		if (memory == MAP_FAILED)
			return NULL;
		spool->memory = memory;
	}
	return spool->memory + (size_t)found->number * spool->chunk_bytes;
}

void ada_spool_close(struct detail_spool *spool)
{
	if (!spool)
		return;
	unmap(spool);
	close(spool->fd);
	ada_array_free(&spool->kept);
	free(spool);
}

/* What the reading of a long thread found, kept beside its index for the next one.
 *
 *   view.zoom   [header][nodes, level by level][cells][open][strays][losses]     as they are in memory
 *
 * The file is a copy that may go at any time: no other command reads it, and it is of use only where the files of the thread are those of
 * which it was made (`key`: their names, sizes and times), and the program that reads it has the layout of the one that wrote it. It may
 * come from a stranger, with the session: each number that leads to another place is looked at before it is followed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/hash.h"
#include "query/zoom/internal.h"

#define MAGIC "ADAZOOM2" /* the digit is the layout's: what follows, and what a node and a cell mean */

struct header {
	char magic[8];
	uint64_t sizes; /* of the structs behind it */
	uint64_t key, events, end_ns;
	uint64_t checksum; /* of all behind the header */
	uint64_t nodes[ADA_ZOOM_LEVELS];
	uint64_t cells, open, strays, losses;
	uint64_t read_ns;
	uint32_t level_count, depths;
};

/* One part of the file, and where it lies in memory. */
struct part {
	void **items;
	size_t *count, *capacity;
	uint64_t *written; /* how many, in the header */
	size_t size;
};
#define PARTS (ADA_ZOOM_LEVELS + 4)
#define PART_OF(array, number)                                                                                                             \
	((struct part){ (void **)&(array)->items, &(array)->count, &(array)->capacity, number, sizeof *(array)->items })

static void list_parts(struct part parts[PARTS], struct ada_zoom_thread *zoomed, struct header *header)
{
	for (unsigned int level = 0; level < ADA_ZOOM_LEVELS; level++)
		parts[level] = PART_OF(&zoomed->levels[level].nodes, &header->nodes[level]);
	parts[ADA_ZOOM_LEVELS] = PART_OF(&zoomed->cells, &header->cells);
	parts[ADA_ZOOM_LEVELS + 1] = PART_OF(&zoomed->open, &header->open);
	parts[ADA_ZOOM_LEVELS + 2] = PART_OF(&zoomed->strays, &header->strays);
	parts[ADA_ZOOM_LEVELS + 3] = PART_OF(&zoomed->losses, &header->losses);
}

static int thread_directory(const struct ada_zoom_thread *zoomed, char path[PATH_MAX])
{
	return ada_path(path, "%s/thread_%u", zoomed->thread->process->path, zoomed->thread->number);
}

/* Which files they are: none of them is read for it. False: one can't be asked. */
static bool find_key(const struct ada_zoom_thread *zoomed, const char *directory, uint64_t *key)
{
	uint32_t segments = atf_thread_segments(zoomed->thread->events);
	char path[PATH_MAX];
	struct stat file;

	*key = segments;
	for (uint32_t i = zoomed->first_segment; i < segments; i++) {
		uint64_t facts[5];

		if (atf_index_find(path, sizeof path, directory, i) || stat(path, &file))
			return false;
		facts[0] = *key;
		facts[1] = (uint64_t)path[strlen(path) - 1]; /* .atf or .atp */
		facts[2] = (uint64_t)file.st_size;
		facts[3] = (uint64_t)file.st_mtim.tv_sec;
		facts[4] = (uint64_t)file.st_mtim.tv_nsec;
		*key = ada_hash_bytes(facts, sizeof facts);
	}
	return true;
}

static bool header_make(struct header *header, const struct ada_zoom_thread *zoomed, const char *directory)
{
	*header = (struct header){ .magic = MAGIC,
				   .sizes = sizeof(struct ada_zoom_node) << 32 | sizeof(struct ada_zoom_cell) << 16 |
					    sizeof(struct ada_zoom_open) << 8 | sizeof(struct ada_zoom_loss),
				   .events = zoomed->thread->count,
				   .end_ns = ada_process_end_ns(zoomed->thread->process) };
	return find_key(zoomed, directory, &header->key);
}

void ada_zoom_keep(const struct ada_zoom_thread *thread)
{
	struct ada_zoom_thread zoomed = *thread;
	size_t length = sizeof(struct header);
	char path[PATH_MAX], *bytes = NULL;
	struct part parts[PARTS];
	struct header header;
	int directory;

	if (thread_directory(thread, path) || !header_make(&header, thread, path))
		return;
	list_parts(parts, &zoomed, &header);
	for (size_t i = 0; i < PARTS; i++)
		length += *parts[i].count * parts[i].size;
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bytes = directory < 0 ? NULL : malloc(length);
	if (bytes) {
		char *at = bytes + sizeof header;

		for (size_t i = 0; i < PARTS; i++) {
			if (*parts[i].count)
				memcpy(at, *parts[i].items, *parts[i].count * parts[i].size);
			at += *parts[i].count * parts[i].size;
			*parts[i].written = *parts[i].count;
		}
		header.read_ns = thread->read_ns;
		header.level_count = thread->level_count;
		header.depths = thread->depths;
		header.checksum = ada_hash_bytes(bytes + sizeof header, length - sizeof header);
		memcpy(bytes, &header, sizeof header);
		(void)!ada_file_replace_at(directory, ADA_ZOOM_KEPT, bytes, length, false);
	}
	free(bytes);
	if (directory >= 0)
		close(directory);
}

/* --- taking it ------------------------------------------------------------------------------------------------------------ */

/* Levels as they lie above so many events. */
static bool levels_fit(const struct header *header)
{
	uint64_t wanted = (header->events + ADA_ZOOM_LEAF - 1) / ADA_ZOOM_LEAF;
	unsigned int level = 0;

	for (; level < ADA_ZOOM_LEVELS && wanted; level++) {
		if (header->nodes[level] != wanted)
			return false;
		wanted = wanted > 1 ? (wanted + ADA_ZOOM_FAN - 1) / ADA_ZOOM_FAN : 0;
	}
	if (wanted || header->level_count != level)
		return false;
	while (level < ADA_ZOOM_LEVELS)
		if (header->nodes[level++])
			return false;
	return true;
}

static bool nodes_fit(const struct ada_zoom_thread *zoomed)
{
	for (unsigned int level = 0; level < zoomed->level_count; level++)
		for (size_t i = 0; i < zoomed->levels[level].nodes.count; i++) {
			const struct ada_zoom_node *node = &zoomed->levels[level].nodes.items[i];

			if (node->cell > zoomed->cells.count || node->cells > zoomed->cells.count - node->cell || node->cut > 1 ||
			    (node->open != ADA_ZOOM_NONE && node->open >= zoomed->open.count))
				return false;
		}
	return true;
}

static bool places_fit(const struct ada_zoom_thread *zoomed, uint64_t events)
{
	for (size_t i = 0; i < zoomed->cells.count; i++)
		if (zoomed->cells.items[i].position != UINT64_MAX && zoomed->cells.items[i].position >= events)
			return false;
	/* A caller was entered before: so no chain of them comes back to where it began. */
	for (size_t i = 0; i < zoomed->open.count; i++)
		if (zoomed->open.items[i].position >= events ||
		    (zoomed->open.items[i].caller != ADA_ZOOM_NONE && zoomed->open.items[i].caller >= i))
			return false;
	for (size_t i = 0; i < zoomed->strays.count; i++)
		if (zoomed->strays.items[i].position >= events)
			return false;
	return true;
}

/* Copies the parts out of the file's bytes. False: they aren't there, or there is no memory. */
static bool copy_parts(const struct part parts[PARTS], const char *bytes, size_t length)
{
	for (size_t i = 0; i < PARTS; i++) {
		size_t count = *parts[i].written;

		if (count > length / parts[i].size)
			return false;
		if (count && ada_array_grow(parts[i].items, parts[i].capacity, count, parts[i].size))
			return false;
		if (count)
			memcpy(*parts[i].items, bytes, count * parts[i].size);
		*parts[i].count = count;
		bytes += count * parts[i].size;
		length -= count * parts[i].size;
	}
	return !length;
}

bool ada_zoom_take(struct ada_zoom_thread *thread)
{
	struct header header, wanted;
	struct ada_error ignored = {};
	char path[PATH_MAX], *bytes = NULL;
	struct part parts[PARTS];
	bool taken = false;
	size_t length;

	if (thread_directory(thread, path) || !header_make(&wanted, thread, path) ||
	    ada_path(path, "%s/thread_%u/" ADA_ZOOM_KEPT, thread->thread->process->path, thread->thread->number) ||
	    ada_file_read_regular(path, &bytes, &length, &ignored))
		return false;
	if (length >= sizeof header) {
		memcpy(&header, bytes, sizeof header);
		list_parts(parts, thread, &header);
		taken = !memcmp(&header, &wanted, offsetof(struct header, checksum)) && levels_fit(&header) &&
			header.checksum == ada_hash_bytes(bytes + sizeof header, length - sizeof header) &&
			copy_parts(parts, bytes + sizeof header, length - sizeof header);
		thread->level_count = header.level_count;
		taken = taken && nodes_fit(thread) && places_fit(thread, header.events);
	}
	if (taken) {
		thread->read = header.events;
		thread->read_ns = header.read_ns;
		thread->depths = header.depths;
		thread->whole = true;
	} else if (length >= sizeof header) {
		thread->level_count = 0;
		for (size_t i = 0; i < PARTS; i++)
			ada_array_release(parts[i].items, parts[i].count, parts[i].capacity);
	}
	free(bytes);
	return taken;
}

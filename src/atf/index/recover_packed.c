/* Recovery of a packed file: its whole blocks count. They stay where they are, and get their directory and footer.
 *
 * Where blocks between them are damaged, or missing, the file is written anew beside, with LOST events in their place, and takes the other
 * one's name.
 */
#include "atf/index/verify.h"
#include "base/file.h"

#include <errno.h>
#include <libdeflate.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* False: some aren't those that were encoded. */
static bool sum_events(const struct atf_index *index, struct atf_summary *summary)
{
	uint64_t at = 0, count;
	bool fits = true;

	*summary = (struct atf_summary){ .count = index->layout.count };
	for (; at < index->layout.count; at += count) {
		const struct ada_event *events = atf_index_run(index, at, &count);

		if (!at)
			summary->time_start_ns = events[0].timestamp_ns;
		summary->time_end_ns = events[count - 1].timestamp_ns;
		summary->checksum = libdeflate_crc32(summary->checksum, events, count * sizeof *events);
		fits &= atf_index_sum_fits(index, at, events, count);
		atf_index_release(index, at, at + count);
	}
	return fits;
}

static int finish_in_place(int fd, const struct atf_index *index, const struct atf_summary *summary, uint32_t flags)
{
	const struct atf_packed_layout *layout = atf_packed_layout(index->packed);
	AtfPackBlock *blocks = malloc((layout->entries.count + 1) * sizeof *blocks);
	AtfIndexHeader header = layout->header;
	int status = blocks ? 0 : -ENOMEM;

	for (size_t i = 0; i < layout->entries.count && !status; i++)
		if (pread(fd, &blocks[i], sizeof *blocks, (off_t)layout->entries.items[i].offset) != sizeof *blocks)
			status = -EIO;
	header.flags |= flags;
	if (!status)
		status = atf_pack_finish(fd, &header, summary, blocks, layout->entries.count, layout->end);
	if (!status && fsync(fd) < 0)
		status = -errno;
	free(blocks);
	return status;
}

static int write_anew(const char *path, const struct atf_index *index, uint32_t flags, struct atf_message *message)
{
	struct atf_index_packer packer;
	char anew[PATH_MAX];
	int status;

	if (snprintf(anew, sizeof anew, "%s.tmp", path) >= (int)sizeof anew)
		return atf_fail(message, ATF_ERROR_RANGE, "path is too long");
	if (atf_index_packer_open(&packer))
		return atf_fail(message, ATF_ERROR_MEMORY, "out of memory");
	unlink(anew);
	status = atf_index_pack_as_is(&packer, index, anew, index->layout.header.flags | flags, NULL, NULL, message);
	atf_index_packer_close(&packer);
	if (!status && rename(anew, path))
		status = atf_fail(message, ATF_ERROR_SYSTEM, "%s", strerror(errno));
	if (status)
		unlink(anew);
	return status;
}

int atf_index_recover_packed(int fd, const char *path, const struct atf_index *index, uint64_t *lost, struct atf_message *message)
{
	uint32_t flags = atf_has_detail_file(path) ? ATF_FLAG_HAS_DETAIL : 0;
	struct atf_summary summary;
	bool sound;
	int status;

	sound = sum_events(index, &summary);
	*lost = atf_packed_damaged(index->packed);
	if (*lost)
		return write_anew(path, index, flags, message);
	if (!sound)
		return atf_fail(message, ATF_ERROR_CORRUPT, "damaged: blocks decode to other events than were recorded");
	if (index->layout.footer_offset && atf_index_is_checked(index) && index->layout.footer.checksum != summary.checksum)
		return atf_fail(message, ATF_ERROR_CORRUPT, "damaged: the events do not have the footer's CRC32");
	status = finish_in_place(fd, index, &summary, flags);
	errno = -status;
	return status ? atf_fail(message, ATF_ERROR_SYSTEM, "%s", strerror(errno)) : 0;
}

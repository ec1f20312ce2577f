/* Appends to a packed file without a footer, as its writer would have gone on. */
#include "atf/index/index.h"
#include "base/file.h"

#include <errno.h>

/* Takes the lane behind the file's last event; the next block's open calls stand whole. */
static int lane_to_end(struct atf_pack_lane *lane, const struct atf_index *index)
{
	const struct atf_packed_layout *layout = atf_packed_layout(index->packed);
	size_t last = layout->entries.count, from;
	const struct ada_event *events;
	uint64_t count;
	int status;

	if (!last)
		return 0;
	from = --last;
	while (from && !layout->entries.items[from].whole)
		from--;
	for (; from <= last; from++) {
		const struct atf_packed_entry *entry = &layout->entries.items[from];

		status = entry->offset ? atf_packed_lane_read(index->packed, lane, (uint32_t)from) : -ATF_ERROR_CORRUPT;
		if (status)
			return status;
	}
	events = atf_index_run(index, layout->entries.items[last].first_seq, &count);
	status = atf_pack_lane_skip(lane, events, (uint32_t)count);
	lane->blocks = 0;
	return status;
}

int atf_index_append_packed(struct atf_index_packer *packer, int fd, const struct atf_index *index, const struct ada_event *events,
			    uint64_t count)
{
	uint64_t at = atf_packed_layout(index->packed)->end, done = 0;
	int status = 0;

	if (!index->layout.count)
		atf_pack_lane_segment(&packer->lane);
	packer->lane.thread_id = index->layout.header.thread_id;
	status = lane_to_end(&packer->lane, index);
	while (done < count && !status) {
		uint32_t some = count - done < ATF_PACK_EVENTS ? (uint32_t)(count - done) : ATF_PACK_EVENTS;
		struct atf_pack_bytes block;

		status = atf_pack_encode(packer->packer, &packer->lane, events + done, some, ATF_PACK_ZSTD, &block);
		if (status)
			break;
		atf_pack_accept(&packer->lane);
		atf_pack_place(block.bytes, at);
		status = atf_system(ada_file_write_at(fd, block.bytes, block.length, (off_t)at));
		at += block.length;
		done += some;
	}
	return status;
}

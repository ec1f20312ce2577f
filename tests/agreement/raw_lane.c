/* raw_lane DIRECTORY: packs a thread's plain segments as a recorder under pressure does: every second block isn't compressed. */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>
#include "atf/index/index.h"
#include "atf/session/thread.h"

#define SOME 30000u /* events of a block */

static void pack(struct atf_packer *packer, struct atf_pack_lane *lane, const struct atf_index *index, const char *path)
{
	const AtfIndexHeader *header = atf_index_header(index);
	const struct ada_event *events = atf_index_events(index);
	uint64_t count = atf_index_count(index);
	struct atf_pack_writer *writer;
	int status;

	lane->thread_id = header->thread_id;
	atf_pack_lane_segment(lane);
	status = atf_pack_writer_open(&writer, path, header->thread_id, header->arch);
	assert(!status);
	atf_pack_writer_unchecked(writer);
	for (uint64_t at = 0; at < count; at += SOME) {
		uint32_t some = count - at < SOME ? (uint32_t)(count - at) : SOME;
		struct atf_pack_bytes block;

		status = atf_pack_encode(packer, lane, events + at, some, at / SOME % 2 ? ATF_PACK_ZSTD : ATF_PACK_RAW, &block);
		assert(!status);
		status = atf_pack_writer_add(writer, &block, events + at, some, false);
		assert(!status);
		atf_pack_accept(lane);
	}
	status = atf_pack_writer_close(writer, header->flags);
	assert(!status);
}

int main(int argc, char **argv)
{
	struct atf_packer *packer = atf_packer_new();
	char plain[PATH_MAX], packed[PATH_MAX];
	struct atf_message message;
	struct atf_pack_lane lane;
	struct atf_index *index;

	if (argc != 2 || !packer)
		return 2;
	atf_pack_lane_open(&lane, 0);
	for (uint32_t i = 0; !atf_index_path(plain, sizeof plain, argv[1], i) && !atf_packed_path(packed, sizeof packed, argv[1], i) &&
			     !atf_index_open(&index, plain, &message);
	     i++) {
		pack(packer, &lane, index, packed);
		atf_index_close(index);
		unlink(plain);
	}
	atf_pack_lane_close(&lane);
	atf_packer_free(packer);
	return 0;
}

/* The calls that are open where a block begins: whole, or as what differs from the block before.
 *
 *   varint  kept    of the open calls of the block before, outermost first; 0 where this block's calls stand whole
 *   varint  children_ns of the innermost of these, where there is one
 *   varint  before_loss_ns, as ns before the block's first event, signed; with ATF_PACK_AFTER_LOSS
 *   then, up to open_count, a call each:
 *     signed  function, less that of the call around it (0 where there is none)
 *     varint  depth, less the least possible; times 2, plus 1 where events were lost since it began
 *     signed  start_ns, less that of the call around it (the block's first_ns)
 *     varint  children_ns
 *     varint  how many events before the block's first its CALL lies
 */
#include "atf/pack/packer.h"

#include <errno.h>

#define FRAME_BYTES_MIN 5
#define FRAME_BYTES (5 * ATF_PACK_VARINT_BYTES)

int atf_pack_open_write(struct atf_packer *packer, const struct atf_pack_lane *lane)
{
	size_t count = lane->frames.count, kept = lane->blocks && lane->kept_count <= count ? lane->kept_count : 0;
	const struct atf_pack_frame *frames = lane->frames.items;
	uint64_t first_ns = packer->head.first_ns;
	uint8_t *at;

	packer->open.count = 0;
	if (ada_array_reserve(&packer->open, 3 * ATF_PACK_VARINT_BYTES + (count - kept) * FRAME_BYTES))
		return -ENOMEM;
	at = atf_pack_put(packer->open.items, kept);
	if (kept)
		at = atf_pack_put(at, frames[kept - 1].children_ns);
	if (lane->after_loss)
		at = atf_pack_put(at, atf_pack_fold(first_ns - lane->before_loss_ns));
	for (size_t i = kept; i < count; i++) {
		static const struct atf_pack_frame none = { .depth = UINT32_MAX };
		const struct atf_pack_frame *around = i ? &frames[i - 1] : &none;

		at = atf_pack_put(at, atf_pack_fold(frames[i].function_id - around->function_id));
		at = atf_pack_put(at, (uint64_t)(uint32_t)(frames[i].depth - around->depth - 1) << 1 | frames[i].across_loss);
		at = atf_pack_put(at, atf_pack_fold(frames[i].start_ns - (i ? around->start_ns : first_ns)));
		at = atf_pack_put(at, frames[i].children_ns);
		at = atf_pack_put(at, lane->position - frames[i].position);
	}
	packer->open.count = (size_t)(at - packer->open.items);
	packer->head.open_count = (uint32_t)count;
	packer->head.flags = (lane->blocks ? 0 : ATF_PACK_WHOLE) | (lane->after_loss ? ATF_PACK_AFTER_LOSS : 0);
	return 0;
}

static bool read_frame(struct atf_pack_reader *reader, const struct atf_pack_lane *lane, const AtfPackBlock *head,
		       struct atf_pack_frame *frame, size_t number)
{
	static const struct atf_pack_frame none = { .depth = UINT32_MAX };
	const struct atf_pack_frame *around = number ? frame - 1 : &none;
	uint64_t depth;

	frame->function_id = around->function_id + atf_pack_unfold(atf_pack_get(reader));
	depth = atf_pack_get(reader);
	frame->across_loss = depth & 1;
	/* Depths rise, and stay below what one more call could have. */
	depth = (depth >> 1) + (number ? around->depth + 1ull : 0);
	frame->depth = (uint32_t)depth;
	frame->start_ns = (number ? around->start_ns : head->first_ns) + atf_pack_unfold(atf_pack_get(reader));
	frame->children_ns = atf_pack_get(reader);
	frame->position = lane->position - atf_pack_get(reader);
	frame->name = 0;
	return !reader->bad && depth < UINT32_MAX;
}

static int read_open(struct atf_pack_lane *lane, const uint8_t *block, const AtfPackBlock *head)
{
	struct atf_pack_reader reader = { block + sizeof *head, block + sizeof *head + head->open_bytes, false };
	uint64_t kept = atf_pack_get(&reader);

	if (reader.bad || kept > lane->frames.count || kept > head->open_count || (kept && head->flags & ATF_PACK_WHOLE) ||
	    head->open_count - kept > head->open_bytes / FRAME_BYTES_MIN)
		return -ATF_ERROR_CORRUPT;
	lane->frames.count = (size_t)kept;
	if (kept)
		lane->frames.items[kept - 1].children_ns = atf_pack_get(&reader);
	lane->after_loss = head->flags & ATF_PACK_AFTER_LOSS;
	if (lane->after_loss)
		lane->before_loss_ns = head->first_ns - atf_pack_unfold(atf_pack_get(&reader));
	if (ada_array_reserve(&lane->frames, head->open_count - kept))
		return -ATF_ERROR_MEMORY;
	while (lane->frames.count < head->open_count) {
		if (!read_frame(&reader, lane, head, &lane->frames.items[lane->frames.count], lane->frames.count))
			return -ATF_ERROR_CORRUPT;
		lane->frames.count++;
	}
	return reader.bad || reader.at < reader.end ? -ATF_ERROR_CORRUPT : 0;
}

int atf_pack_lane_read(struct atf_pack_lane *lane, const uint8_t *block)
{
	AtfPackBlock head;
	int status;

	memcpy(&head, block, sizeof head);
	if (head.flags & ATF_PACK_WHOLE)
		lane->frames.count = 0;
	lane->position = head.first_seq; /* calls that began in a segment before lie below 0 */
	lane->first_seq = head.first_seq;
	status = read_open(lane, block, &head);
	if (status)
		lane->frames.count = 0;
	return status;
}

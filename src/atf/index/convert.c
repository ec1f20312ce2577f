/* From a plain index file to a packed one, and back. */
#include "atf/index/index.h"

#include <stdlib.h>
#include <string.h>

/* What another file says beyond this; NULL: nothing, so that packing and unpacking gives it byte for byte. */
static const char *is_strange(const struct atf_index *index)
{
	AtfIndexHeader expected;
	AtfIndexFooter footer;
	struct atf_summary summary = { index->layout.count, index->layout.footer.time_start_ns, index->layout.footer.time_end_ns,
				       index->layout.footer.checksum, !atf_index_is_checked(index) };

	if (index->layout.completeness != ATF_COMPLETE)
		return "it is not complete";
	if (index->layout.count > UINT32_MAX)
		return "it holds more events than can be numbered";
	atf_header_start(&expected, index->layout.header.thread_id, index->layout.header.arch);
	atf_header_finish(&expected, &summary);
	expected.flags = index->layout.header.flags;
	atf_footer_fill(&footer, &summary);
	if (memcmp(&expected, &index->layout.header, sizeof expected) || memcmp(&footer, &index->layout.footer, sizeof footer))
		return "header or footer say what no writer of this version says";
	return NULL;
}

static bool falls(const struct ada_event *events, uint64_t count, uint64_t last_ns)
{
	for (uint64_t i = 0; i < count; last_ns = events[i++].timestamp_ns)
		if (events[i].timestamp_ns < last_ns || !events[i].event_kind)
			return true;
	return false;
}

int atf_index_packer_open(struct atf_index_packer *packer)
{
	*packer = (struct atf_index_packer){ .packer = atf_packer_new(), .events = malloc(ATF_PACK_EVENTS * sizeof *packer->events) };
	atf_pack_lane_open(&packer->lane, 0);
	if (packer->packer && packer->events)
		return 0;
	atf_index_packer_close(packer);
	return -ATF_ERROR_MEMORY;
}

void atf_index_packer_close(struct atf_index_packer *packer)
{
	atf_pack_lane_close(&packer->lane);
	atf_packer_free(packer->packer);
	free(packer->events);
}

/* Copies up to a block's events: they may lie in several runs. */
static uint32_t collect(struct atf_index_packer *packer, const struct atf_index *index, uint64_t at)
{
	uint32_t filled = 0;

	while (filled < ATF_PACK_EVENTS && at < index->layout.count) {
		uint64_t count;
		const struct ada_event *events = atf_index_run(index, at, &count);

		count = count < ATF_PACK_EVENTS - filled ? count : ATF_PACK_EVENTS - filled;
		memcpy(packer->events + filled, events, count * sizeof *events);
		filled += (uint32_t)count;
		at += count;
	}
	atf_index_release(index, at - filled, at);
	return filled;
}

static int pack_events(struct atf_index_packer *packer, const struct atf_index *index, struct atf_pack_writer *writer,
		       atf_index_progress *progress, void *context, struct atf_message *message)
{
	uint64_t last_ns = 0, at = 0;
	uint32_t count;
	int status = 0;

	for (; at < index->layout.count && !status; at += count) {
		struct atf_pack_bytes block;

		count = collect(packer, index, at);
		if (falls(packer->events, count, last_ns))
			return atf_fail(message, ATF_ERROR_CORRUPT, "not packed: times fall, or events were never written (ada verify)");
		last_ns = packer->events[count - 1].timestamp_ns;
		status = atf_pack_encode(packer->packer, &packer->lane, packer->events, count, ATF_PACK_ZSTD, &block);
		if (!status)
			status = atf_pack_writer_add(writer, &block, packer->events, count, false);
		atf_pack_accept(&packer->lane);
		if (!status && progress && progress(context, count))
			return atf_fail(message, ATF_ERROR_SYSTEM, "interrupted");
	}
	return status ? atf_fail(message, (enum atf_error) - status, "%s", atf_error_text(status)) : 0;
}

int atf_index_pack_as_is(struct atf_index_packer *packer, const struct atf_index *index, const char *path, uint32_t flags,
			 atf_index_progress *progress, void *context, struct atf_message *message)
{
	struct atf_pack_writer *writer;
	int status;

	packer->lane.thread_id = index->layout.header.thread_id;
	atf_pack_lane_segment(&packer->lane);
	status = atf_pack_writer_open(&writer, path, index->layout.header.thread_id, index->layout.header.arch);
	if (status)
		return atf_fail(message, ATF_ERROR_SYSTEM, "%s: %m", path);
	status = pack_events(packer, index, writer, progress, context, message);
	if (status) {
		atf_pack_writer_abandon(writer);
		return status;
	}
	status = atf_pack_writer_close(writer, flags);
	return status ? atf_fail(message, ATF_ERROR_SYSTEM, "%s: %m", path) : 0;
}

int atf_index_pack(struct atf_index_packer *packer, const struct atf_index *index, const char *path, atf_index_progress *progress,
		   void *context, struct atf_message *message)
{
	const char *strange = is_strange(index);

	if (strange)
		return atf_fail(message, ATF_ERROR_CORRUPT, "not packed: %s (ada verify, ada recover)", strange);
	return atf_index_pack_as_is(packer, index, path, index->layout.header.flags, progress, context, message);
}

int atf_index_pass(struct atf_index_packer *packer, const struct atf_index *index)
{
	uint64_t at = 0, count;
	int status = 0;

	packer->lane.thread_id = index->layout.header.thread_id;
	for (; at < index->layout.count && !status; at += count) {
		const struct ada_event *events = atf_index_run(index, at, &count);

		count = count < ATF_PACK_EVENTS ? count : ATF_PACK_EVENTS;
		status = atf_pack_lane_skip(&packer->lane, events, (uint32_t)count);
		atf_index_release(index, at, at + count);
	}
	return status;
}

int atf_index_unpack(const struct atf_index *index, const char *path, atf_index_progress *progress, void *context,
		     struct atf_message *message)
{
	const struct atf_index_options options = { .thread_id = index->layout.header.thread_id, .arch = index->layout.header.arch };
	struct atf_index_writer *writer;
	uint64_t at = 0, count;
	bool fits = true;
	int status;

	if (index->layout.completeness != ATF_COMPLETE)
		return atf_fail(message, ATF_ERROR_CORRUPT, "not unpacked: it is not complete (ada verify, ada recover)");
	status = atf_index_writer_open(&writer, path, &options);
	if (status)
		return atf_fail(message, ATF_ERROR_SYSTEM, "%s: %m", path);
	for (; at < index->layout.count && !status; at += count) {
		const struct ada_event *events = atf_index_run(index, at, &count);

		fits &= atf_index_sum_fits(index, at, events, count);
		status = atf_index_writer_append(writer, events, count);
		atf_index_release(index, at, at + count);
		if (!status && progress && progress(context, count)) {
			atf_index_writer_abandon(writer);
			return atf_fail(message, ATF_ERROR_SYSTEM, "interrupted");
		}
	}
	if (!status && (!fits || (index->packed && atf_packed_damaged(index->packed)))) {
		atf_index_writer_abandon(writer);
		return atf_fail(message, ATF_ERROR_CORRUPT, "not unpacked: a block of it is damaged (ada verify)");
	}
	status = status ? status : atf_index_writer_close(writer, index->layout.header.flags & ATF_FLAG_HAS_DETAIL);
	return status ? atf_fail(message, (enum atf_error) - status, "%s: %m", path) : 0;
}

bool atf_index_same(const struct atf_index *one, const struct atf_index *other)
{
	AtfIndexFooter footer = one->layout.footer;
	uint64_t at = 0, count, length;

	if (!atf_index_is_checked(one) || !atf_index_is_checked(other))
		footer.checksum = other->layout.footer.checksum; /* one of both says nothing; the events follow */
	if (one->layout.count != other->layout.count || memcmp(&one->layout.header, &other->layout.header, sizeof one->layout.header) ||
	    memcmp(&footer, &other->layout.footer, sizeof footer))
		return false;
	for (; at < one->layout.count; at += count) {
		const struct ada_event *events = atf_index_run(one, at, &count), *others = atf_index_run(other, at, &length);

		count = count < length ? count : length;
		if (memcmp(events, others, count * sizeof *events))
			return false;
		atf_index_release(one, at, at + count);
		atf_index_release(other, at, at + count);
	}
	return true;
}

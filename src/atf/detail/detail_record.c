/* One detail record: struct atf_detail to the bytes of the file and back. */
#include "atf/detail/detail.h"

#include <string.h>

/* Without what was captured. */
static size_t record_length(uint16_t stack_size, uint16_t flags)
{
	return ATF_DETAIL_BYTES_MIN + stack_size + (flags & ATF_DETAIL_VECTORS ? 8 * sizeof(uint64_t) : 0);
}

bool atf_detail_captured(const struct atf_detail *record, uint32_t *at, struct atf_captured *captured)
{
	AtfDetailCaptured entry;
	uint32_t left;

	if (!(record->flags & ATF_DETAIL_CAPTURED) || *at > record->captured_size || record->captured_size - *at < sizeof entry)
		return false;
	memcpy(&entry, record->captured + *at, sizeof entry);
	left = record->captured_size - *at - (uint32_t)sizeof entry;
	if (entry.length > ATF_DETAIL_CAPTURE_BYTES || ATF_CAPTURED_ROOM(entry.length) > left || entry.argument < 1 ||
	    entry.argument > ATF_CAPTURED_ERRNO)
		return false;
	*captured = (struct atf_captured){ .address = entry.address,
					   .bytes = record->captured + *at + sizeof entry,
					   .length = entry.length,
					   .argument = entry.argument,
					   .flags = entry.flags };
	*at += (uint32_t)sizeof entry + ATF_CAPTURED_ROOM(entry.length);
	return true;
}

size_t atf_detail_encode(uint8_t *bytes, const struct atf_detail *record, uint32_t thread_id)
{
	size_t fixed = record_length(record->stack_size, record->flags);
	size_t length = fixed + (record->flags & ATF_DETAIL_CAPTURED ? record->captured_size : 0);
	DetailEventHeader header = {
		.total_length = (uint32_t)length,
		.event_type = record->event_type,
		.flags = record->flags,
		.index_seq = record->index_seq,
		.thread_id = thread_id,
		.timestamp = record->timestamp_ns,
	};
	DetailFunctionPayload payload = {
		.function_id = record->function_id,
		.lr = record->lr,
		.fp = record->fp,
		.sp = record->sp,
		.stack_size = record->stack_size,
	};

	memcpy(payload.x_regs, record->x, sizeof record->x);
	memcpy(bytes, &header, sizeof header);
	memcpy(bytes + sizeof header, &payload, sizeof payload);
	if (record->stack_size)
		memcpy(bytes + ATF_DETAIL_BYTES_MIN, record->stack, record->stack_size);
	if (record->flags & ATF_DETAIL_VECTORS)
		memcpy(bytes + ATF_DETAIL_BYTES_MIN + record->stack_size, record->vectors, sizeof record->vectors);
	if (length > fixed)
		memcpy(bytes + fixed, record->captured, length - fixed);
	return length;
}

size_t atf_detail_decode(struct atf_detail *record, const uint8_t *bytes, uint64_t room, uint32_t thread_id)
{
	DetailFunctionPayload payload;
	DetailEventHeader header;
	size_t fixed;

	if (room < ATF_DETAIL_BYTES_MIN)
		return 0;
	memcpy(&header, bytes, sizeof header);
	memcpy(&payload, bytes + sizeof header, sizeof payload);
	fixed = record_length(payload.stack_size, header.flags);
	if (payload.stack_size > ATF_DETAIL_STACK_MAX || header.total_length > room || header.thread_id != thread_id ||
	    header.total_length < fixed || header.total_length - fixed > (header.flags & ATF_DETAIL_CAPTURED ? ATF_DETAIL_CAPTURED_MAX : 0))
		return 0;
	*record = (struct atf_detail){
		.timestamp_ns = header.timestamp,
		.function_id = payload.function_id,
		.index_seq = header.index_seq,
		.detail_seq = ADA_NO_DETAIL,
		.event_type = header.event_type,
		.flags = header.flags,
		.thread_id = header.thread_id,
		.lr = payload.lr,
		.fp = payload.fp,
		.sp = payload.sp,
		.stack = bytes + ATF_DETAIL_BYTES_MIN,
		.stack_size = payload.stack_size,
		.captured = bytes + fixed,
		.captured_size = (uint16_t)(header.total_length - fixed),
	};
	memcpy(record->x, payload.x_regs, sizeof record->x);
	if (header.flags & ATF_DETAIL_VECTORS)
		memcpy(record->vectors, record->stack + record->stack_size, sizeof record->vectors);
	return header.total_length;
}

/* Detail records whose values are known. */
#include "fixture.h"

#include <string.h>

bool fixture_has_detail(uint64_t i)
{
	return i % 5 != 4;
}

uint32_t fixture_detail_seq(uint64_t i)
{
	return fixture_has_detail(i) ? (uint32_t)(i - i / 5) : ADA_NO_DETAIL;
}

struct atf_detail fixture_detail(uint64_t i)
{
	static uint8_t stack[256], captured[2 * (sizeof(AtfDetailCaptured) + 264)];
	AtfDetailCaptured entries[2] = { { .address = i, .length = (uint16_t)(i * 13 % 257), .argument = 1, .flags = ATF_CAPTURED_STRING },
					 { .address = i + 1, .length = (uint16_t)(i % 257), .argument = 6, .flags = ATF_CAPTURED_BAD } };
	size_t second = sizeof entries[0] + ATF_CAPTURED_ROOM(entries[0].length);
	struct ada_event event = fixture_event(i);
	struct atf_detail record = {
		.timestamp_ns = event.timestamp_ns,
		.function_id = event.function_id,
		.index_seq = (uint32_t)i,
		.detail_seq = fixture_detail_seq(i),
		.event_type = event.event_kind == ADA_EVENT_CALL ? ATF_DETAIL_CALL : ATF_DETAIL_RETURN,
		.flags = (i % 3 ? 0 : ATF_DETAIL_VECTORS) | (i % 7 ? 0 : ATF_DETAIL_CAPTURED),
		.thread_id = THREAD_ID,
		.lr = i * 3,
		.fp = i * 5,
		.sp = i * 7,
		.stack = stack,
		.stack_size = (uint16_t)(i * 31 % 257),
		.captured = captured,
		.captured_size = (uint16_t)(i % 7 ? 0 : second + sizeof entries[1] + ATF_CAPTURED_ROOM(entries[1].length)),
	};
	size_t j;

	for (j = 0; j < 8; j++) {
		record.x[j] = (i << 8) + j;
		record.vectors[j] = record.flags & ATF_DETAIL_VECTORS ? ~record.x[j] : 0;
	}
	for (j = 0; j < sizeof stack; j++)
		stack[j] = (uint8_t)(i * 11 + j);
	memset(captured, 0, sizeof captured);
	memcpy(captured, &entries[0], sizeof entries[0]);
	memset(captured + sizeof entries[0], 'a' + (int)(i % 26), entries[0].length);
	memcpy(captured + second, &entries[1], sizeof entries[1]);
	memset(captured + second + sizeof entries[1], 'A' + (int)(i % 26), entries[1].length);
	return record;
}

void fixture_expect_same_detail(const struct atf_detail *record, const struct atf_detail *expected)
{
	assert_int_equal(record->timestamp_ns, expected->timestamp_ns);
	assert_int_equal(record->function_id, expected->function_id);
	assert_int_equal(record->index_seq, expected->index_seq);
	assert_int_equal(record->detail_seq, expected->detail_seq);
	assert_int_equal(record->event_type, expected->event_type);
	assert_int_equal(record->flags, expected->flags);
	assert_int_equal(record->thread_id, expected->thread_id);
	assert_memory_equal(record->x, expected->x, sizeof expected->x);
	assert_int_equal(record->lr, expected->lr);
	assert_int_equal(record->fp, expected->fp);
	assert_int_equal(record->sp, expected->sp);
	assert_int_equal(record->stack_size, expected->stack_size);
	assert_memory_equal(record->stack, expected->stack, expected->stack_size);
	assert_memory_equal(record->vectors, expected->vectors, sizeof expected->vectors);
	assert_int_equal(record->captured_size, expected->captured_size);
	assert_memory_equal(record->captured, expected->captured, expected->captured_size);
}

void fixture_expect_detail(const struct atf_detail *record, uint64_t i)
{
	struct atf_detail expected = fixture_detail(i);

	fixture_expect_same_detail(record, &expected);
}

AtfDetailWindow fixture_window(uint64_t first, uint64_t last)
{
	uint64_t i = first;

	while (!fixture_has_detail(i))
		i++;
	return (AtfDetailWindow){
		.start_ns = fixture_event(first).timestamp_ns,
		.end_ns = fixture_event(last).timestamp_ns,
		.marked_ns = fixture_event(first).timestamp_ns,
		.first_detail_seq = fixture_detail_seq(i),
		.marked_count = 1,
	};
}

void fixture_write_detail_index(const char *path, uint64_t first, size_t count)
{
	struct atf_index_options options = { .thread_id = THREAD_ID, .arch = ATF_ARCH_X86_64 };
	struct atf_index_writer *writer;
	size_t i;

	assert_int_equal(atf_index_writer_open(&writer, path, &options), 0);
	for (i = 0; i < count; i++) {
		struct ada_event event = fixture_event(first + i);

		event.detail_seq = fixture_detail_seq(first + i);
		assert_int_equal(atf_index_writer_append(writer, &event, 1), 0);
	}
	assert_int_equal(atf_index_writer_close(writer, true), 0);
}

void fixture_write_detail(const char *path, const struct fixture_range *windows, size_t count, uint8_t arch, bool finish)
{
	struct atf_detail_options options = { .thread_id = THREAD_ID, .arch = arch };
	struct atf_detail_writer *writer;
	size_t w;

	assert_int_equal(atf_detail_writer_open(&writer, path, &options), 0);
	for (w = 0; w < count; w++) {
		AtfDetailWindow window = fixture_window(windows[w].first, windows[w].last);
		uint64_t i;

		window.window_id = (uint32_t)w;
		assert_int_equal(atf_detail_writer_window(writer, &window), 0);
		for (i = windows[w].first; i <= windows[w].last; i++) {
			struct atf_detail record = fixture_detail(i);

			if (fixture_has_detail(i))
				assert_int_equal(atf_detail_writer_append(writer, &record), 0);
		}
	}
	if (finish)
		assert_int_equal(atf_detail_writer_close(writer), 0);
	else
		atf_detail_writer_abandon(writer);
}

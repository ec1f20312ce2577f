/* Protobuf's wire format against bytes written by hand from its specification. */
#include <stdlib.h>
#include "query/export/protobuf.h"
#include "../test.h"

#define expect(proto, ...)                                                                                                                 \
	do {                                                                                                                               \
		static const uint8_t wanted[] = { __VA_ARGS__ };                                                                           \
		assert_false((proto).failed);                                                                                              \
		assert_int_equal((proto).bytes.count, sizeof wanted);                                                                      \
		assert_memory_equal((proto).bytes.items, wanted, sizeof wanted);                                                           \
		ada_proto_free(&(proto));                                                                                                  \
	} while (0)

static void varints(void **state)
{
	struct ada_proto proto = {};

	ada_proto_varint(&proto, 1, 0);
	ada_proto_varint(&proto, 1, 127);
	ada_proto_varint(&proto, 1, 128);
	ada_proto_varint(&proto, 1, 150);
	expect(proto, 0x08, 0, 0x08, 0x7F, 0x08, 0x80, 0x01, 0x08, 0x96, 0x01);
	ada_proto_varint(&proto, 2, UINT64_MAX);
	expect(proto, 0x10, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01);
	ada_proto_varint(&proto, 15, 1);
	ada_proto_varint(&proto, 16, 1);
	ada_proto_varint(&proto, 58, 6);
	expect(proto, 0x78, 1, 0x80, 0x01, 1, 0xD0, 0x03, 6);
}

static void bytes(void **state)
{
	struct ada_proto proto = {};

	ada_proto_string(&proto, 2, "testing");
	ada_proto_string(&proto, 2, "");
	expect(proto, 0x12, 7, 't', 'e', 's', 't', 'i', 'n', 'g', 0x12, 0);
	ada_proto_double(&proto, 5, 1.0);
	expect(proto, 0x29, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F);
}

static void messages(void **state)
{
	struct ada_proto proto = {};
	size_t outer = ada_proto_begin(&proto, 3), inner = ada_proto_begin(&proto, 1);

	ada_proto_varint(&proto, 1, 150);
	ada_proto_end(&proto, inner);
	ada_proto_end(&proto, ada_proto_begin(&proto, 2));
	ada_proto_end(&proto, outer);
	expect(proto, 0x1A, 7, 0x0A, 3, 0x08, 0x96, 0x01, 0x12, 0);
}

/* Lengths of one, two and three bytes, one within the other. */
static void long_messages(void **state)
{
	static const size_t lengths[] = { 0, 1, 125, 126, 127, 128, 200, 16381, 16382, 16383, 16384, 100000 };

	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		size_t length = lengths[i], head = length < 128 ? 1 : length < 16384 ? 2 : 3, within = 1 + head + length;
		size_t outer_head = within < 128 ? 1 : within < 16384 ? 2 : 3;
		struct ada_proto proto = {};
		char *content = calloc(1, length + 1);
		size_t outer = ada_proto_begin(&proto, 1);

		memset(content, 'x', length);
		ada_proto_string(&proto, 2, content);
		ada_proto_end(&proto, outer);
		assert_int_equal(proto.bytes.count, 1 + outer_head + within);
		assert_int_equal(proto.bytes.items[1] & 0x7F, within & 0x7F);
		assert_int_equal(proto.bytes.items[1] >> 7, outer_head > 1);
		assert_int_equal(proto.bytes.items[1 + outer_head], 0x12);
		assert_memory_equal(proto.bytes.items + 1 + outer_head + 1 + head, content, length);
		ada_proto_free(&proto);
		free(content);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(varints), cmocka_unit_test(bytes), cmocka_unit_test(messages),
						   cmocka_unit_test(long_messages) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Protobuf: tags, varints, lengths. */
#include "query/export/protobuf.h"
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };
#define VARINT_MAX 10

static size_t encode(uint8_t *bytes, uint64_t value)
{
	size_t count = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[count++] = (uint8_t)value | 0x80;
	bytes[count++] = (uint8_t)value;
	return count;
}

static void append(struct ada_proto *proto, const void *bytes, size_t length)
{
	if (ada_array_reserve(&proto->bytes, length)) {
		proto->failed = true;
		return;
	}
	if (length)
		memcpy(proto->bytes.items + proto->bytes.count, bytes, length);
	proto->bytes.count += length;
}

static void put_varint(struct ada_proto *proto, uint64_t value)
{
	uint8_t bytes[VARINT_MAX];

	append(proto, bytes, encode(bytes, value));
}

void ada_proto_varint(struct ada_proto *proto, uint32_t field, uint64_t value)
{
	uint8_t bytes[2 * VARINT_MAX];
	size_t count = encode(bytes, (uint64_t)field << 3 | WIRE_VARINT);

	append(proto, bytes, count + encode(bytes + count, value));
}

void ada_proto_double(struct ada_proto *proto, uint32_t field, double value)
{
	put_varint(proto, (uint64_t)field << 3 | WIRE_FIXED64);
	append(proto, &value, sizeof value);
}

void ada_proto_string(struct ada_proto *proto, uint32_t field, const char *text)
{
	size_t length = strlen(text);

	put_varint(proto, (uint64_t)field << 3 | WIRE_BYTES);
	put_varint(proto, length);
	append(proto, text, length);
}

/* The length goes where most lengths have room: one byte. A longer one moves what is behind it. */
size_t ada_proto_begin(struct ada_proto *proto, uint32_t field)
{
	put_varint(proto, (uint64_t)field << 3 | WIRE_BYTES);
	append(proto, "", 1);
	return proto->bytes.count;
}

void ada_proto_end(struct ada_proto *proto, size_t begun)
{
	uint8_t bytes[VARINT_MAX];
	size_t length = proto->bytes.count - begun, count = encode(bytes, length);

	if (!proto->failed && count > 1 && ada_array_reserve(&proto->bytes, count))
		proto->failed = true;
	if (proto->failed)
		return;
	if (count > 1)
		memmove(proto->bytes.items + begun + count - 1, proto->bytes.items + begun, length);
	memcpy(proto->bytes.items + begun - 1, bytes, count);
	proto->bytes.count += count - 1;
}

void ada_proto_free(struct ada_proto *proto)
{
	ada_array_free(&proto->bytes);
}

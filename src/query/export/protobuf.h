/* Writes protobuf's wire format into memory, a message at a time. */
#ifndef ADA_QUERY_PROTOBUF_H
#define ADA_QUERY_PROTOBUF_H
#include <stdbool.h>
#include "base/array.h"

struct ada_proto {
	ADA_ARRAY(uint8_t) bytes;
	bool failed; /* no memory: what is there is not whole */
};

void ada_proto_varint(struct ada_proto *proto, uint32_t field, uint64_t value); /* uint, int, bool, enum */
void ada_proto_double(struct ada_proto *proto, uint32_t field, double value);
void ada_proto_string(struct ada_proto *proto, uint32_t field, const char *text);
/* A message inside the message: what is written between begin and end is its content. */
size_t ada_proto_begin(struct ada_proto *proto, uint32_t field);
void ada_proto_end(struct ada_proto *proto, size_t begun);
void ada_proto_free(struct ada_proto *proto);
#endif

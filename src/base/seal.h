/* A JSON file that knows its own checksum. Its first member is "checksum": "XXXXXXXX", the CRC32 (zlib's, eight lower-case hex
 * digits) of the whole file with these eight digits as zeros: so no byte of it changes unnoticed.
 *
 *   {
 *     "checksum": "a0b1c2d3",
 *     "format": ...
 */
#ifndef ADA_BASE_SEAL_H
#define ADA_BASE_SEAL_H
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

#define ADA_SEAL_KEY "checksum"

/* As ada_file_replace. `text` is one JSON object; where it begins with a checksum (an older text's), a new one takes its place. */
int ada_seal_replace(const char *path, const char *text, size_t length, struct ada_error *error);
/* The same, not durable: after a power failure the seal may be broken. For what is soon written anew. */
int ada_seal_replace_soon(const char *path, const char *text, size_t length, struct ada_error *error);

enum ada_seal {
	ADA_SEAL_NONE, /* it has none: an earlier version wrote it, or someone else */
	ADA_SEAL_SOUND,
	ADA_SEAL_BROKEN, /* some byte changed, perhaps one of the checksum's own */
};
/* Checks what a file holds. says, is: where the seal is broken and the written checksum can be read, that one and the right one; else 0
 * both. */
enum ada_seal ada_seal_check(const char *text, size_t length, uint32_t *says, uint32_t *is);
#endif

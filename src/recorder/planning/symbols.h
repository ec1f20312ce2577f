/* modules/ID.tsv: the names of a module's functions, as a plan has them (format: docs/manifest.schema.json). */
#ifndef ADA_RECORDER_SYMBOLS_H
#define ADA_RECORDER_SYMBOLS_H
#include "base/error.h"
#include "plan/plan.h"

/* A line a function: the part that all processes share. malloc'ed; NULL: no memory. */
char *ada_symbols_text(const struct ada_plan *plan, size_t *bytes);
/* text NULL: a module without known names; the file is then its first line. *checksum: CRC32 of the file. */
int ada_symbols_write(const char *path, const char *text, size_t text_bytes, const char *module_path, const uint8_t *build_id,
		      size_t build_id_bytes, uint64_t base, uint32_t *checksum, struct ada_error *error);
#endif

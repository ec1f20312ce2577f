/* What the ELF files of a session's modules say, where they still are the recorded ones: where a function is written, what it takes, what
 * constants hold. Opens a file when first asked; not for several threads at once. */
#ifndef ADA_QUERY_SOURCE_H
#define ADA_QUERY_SOURCE_H
#include "query/session/session.h"

/* False: not known. *file stays the module's. */
bool ada_module_source(struct ada_module *module, uint32_t symbol_index, const char **file, uint32_t *line);
/* Where the function's code lies in the process, if `address` is in it. */
bool ada_process_code(const struct ada_process *process, uint64_t function_id, uint64_t address, uint64_t *start, uint64_t *bytes);
/* The line of the function's code at `address` of the process. False: not known, or other code. */
struct ada_debug_line;
bool ada_process_line(const struct ada_process *process, uint64_t function_id, uint64_t address, struct ada_debug_line *line);
/* The debug information itself, for types; NULL: there is none. */
struct ada_debug_function;
const struct ada_debug_function *ada_module_debug(struct ada_module *module, uint32_t symbol_index);
/* The file that lay at `address` of the process at that time, and where in it that is. NULL: none, or its file isn't the recorded one any
 * more. */
struct ada_elf;
const struct ada_elf *ada_process_file(const struct ada_process *process, uint64_t address, uint64_t time_ns, uint64_t *in_file);
/* What lay at `address` of the process at that time and could not change: *bytes bytes of a segment that isn't writable, up to the
 * segment's end. NULL: no such module, or its file isn't the recorded one any more. */
const uint8_t *ada_process_constant(const struct ada_process *process, uint64_t address, uint64_t time_ns, uint64_t *bytes);
#endif

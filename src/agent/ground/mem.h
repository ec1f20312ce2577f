/* Memory and strings without libc. memcpy, memmove, memset and memcmp are hidden definitions of the same names, because the
 * compiler calls them on its own; they resolve inside libada-agent.so and no one else sees them.
 */
#ifndef ADA_AGENT_MEM_H
#define ADA_AGENT_MEM_H
#include <stdbool.h>
#include <stddef.h>

#define ADA_HIDDEN __attribute__((visibility("hidden")))

ADA_HIDDEN void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
ADA_HIDDEN void *memmove(void *to, const void *from, size_t bytes);
ADA_HIDDEN void *memset(void *to, int value, size_t bytes);
ADA_HIDDEN int memcmp(const void *one, const void *two, size_t bytes);

size_t ada_string_bytes(const char *string); /* without the 0 */
bool ada_string_equal(const char *one, const char *two);
bool ada_string_begins(const char *string, const char *prefix);
/* Cuts what doesn't fit; always ends in 0. Returns the bytes copied without that 0. */
size_t ada_string_copy(char *to, size_t capacity, const char *from);
#endif

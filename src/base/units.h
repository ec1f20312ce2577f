/* Durations, sizes and times as people write them, both ways. Parsers take the whole string or fail with a message that
 * names it; out of range is an error, never a wrap. */
#ifndef ADA_BASE_UNITS_H
#define ADA_BASE_UNITS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

int ada_parse_duration(const char *text, uint64_t *ns, struct ada_error *error); /* 50ms 5s 1.5us 2m 1h 300ns */
int ada_parse_size(const char *text, uint64_t *bytes, struct ada_error *error);	 /* 4096 64K 64M 1G, powers of 1024 */
int ada_parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *count, struct ada_error *error);
/* "+1.5s" or "0.039215771", a second's decimals, from start_ns; or plain ns. */
int ada_parse_time(const char *text, uint64_t start_ns, uint64_t *ns, struct ada_error *error);

#define ADA_UNITS_TEXT 32
/* Each fills and returns `text`. Three significant digits: "1.23 ms", "64.0 MiB", "12.3 M". */
char *ada_format_duration(uint64_t ns, char text[ADA_UNITS_TEXT]);
/* Of a call: "open 1.23 ms" of one that has not returned. */
char *ada_format_call_duration(uint64_t ns, bool open, char text[ADA_UNITS_TEXT]);
char *ada_format_size(uint64_t bytes, char text[ADA_UNITS_TEXT]);
char *ada_format_count(uint64_t count, char text[ADA_UNITS_TEXT]);
char *ada_format_grouped(uint64_t number, char text[ADA_UNITS_TEXT]); /* all its digits: "12,003" */
#endif

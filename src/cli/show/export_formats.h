/* The formats that ada export knows: those of query/export and query/stacks. */
#ifndef ADA_CLI_EXPORT_FORMATS_H
#define ADA_CLI_EXPORT_FORMATS_H
#include "query/export/export.h"

extern const struct ada_export_format ada_export_formats[];
extern const size_t ada_export_format_count;
#endif

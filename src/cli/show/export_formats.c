#include "cli/show/export_formats.h"

const struct ada_export_format ada_export_formats[] = {
	{ "perfetto", "for ui.perfetto.dev: protobuf, with arguments, marks, windows", ADA_EXPORT_BINARY, ada_export_perfetto },
	{ "chrome", "Chrome's trace event JSON", ADA_EXPORT_TEXT, ada_export_chrome },
	{ "speedscope", "for speedscope: JSON", ADA_EXPORT_TEXT, ada_export_speedscope },
	{ "folded", "stacks with their own time in ns, for flame graphs", ADA_EXPORT_TEXT, ada_export_folded },
	{ "svg", "a flame graph for browsers and bug reports, with zoom and search", ADA_EXPORT_TEXT, ada_export_svg },
	{ "ctf", "Common Trace Format 1.8: a directory", ADA_EXPORT_DIRECTORY, ada_export_ctf },
	{ "csv", "a row a call; with --events an event", ADA_EXPORT_TEXT, ada_export_csv },
	{ "rowbinary", "the 32-byte events, for ClickHouse", ADA_EXPORT_BINARY, ada_export_rowbinary },
	{ "clickhouse", "into a server, or a cluster of them", ADA_EXPORT_SERVER, NULL },
	{ "sqlite", "a SQLite file", ADA_EXPORT_FILE, ada_export_sqlite },
};
const size_t ada_export_format_count = sizeof ada_export_formats / sizeof *ada_export_formats;

/* The functions that `ada dump` prints: their names, made once, and whether the options want them. */
#ifndef ADA_CLI_DUMP_NAMES_H
#define ADA_CLI_DUMP_NAMES_H
#include "base/hash.h"
#include "cli/ground/options.h"
#include "query/session/session.h"

/* What is printed of a function, quoted for the format once and for all. */
struct ada_dump_name {
	char *function, *module;
	char *file; /* NULL: not known, or not asked for */
	uint32_t line;
	bool wanted; /* by --function, --exclude and --module */
};

struct ada_dump_names { /* all zero but for `options`: empty */
	const struct ada_options *options;
	struct ada_table numbers; /* function key -> number in items */
	ADA_ARRAY(struct ada_dump_name) items;
};

/* Good until the next question. NULL: no memory. */
const struct ada_dump_name *ada_dump_name(struct ada_dump_names *names, const struct ada_process *process, uint64_t function_id);
void ada_dump_names_close(struct ada_dump_names *names);
#endif

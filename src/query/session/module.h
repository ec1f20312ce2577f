/* A module (program or library) of a session, and the names of its functions from modules/ID.tsv.
 *
 * The table is read at the first question for a name: most readers name few modules. Not for several threads at once.
 */
#ifndef ADA_QUERY_MODULE_H
#define ADA_QUERY_MODULE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "elf/file/spoken.h"
#include "trigger/pattern.h"

struct ada_symbol {
	uint64_t address, size; /* in the ELF file */
	const char *mangled;	/* "" where nameless */
	char *name;		/* demangled; made at the first question */
};

struct ada_module {
	uint32_t number;	    /* in the session */
	char *path;		    /* of the ELF file */
	char *build_id;		    /* "" where there is none */
	char *table_path;	    /* modules/ID.tsv of the first process that has it; NULL: none */
	bool tried;		    /* to read the table */
	struct ada_error problem;   /* why it could not be read */
	char *text;		    /* the table's bytes, cut up in place: what `mangled` points into */
	struct ada_symbol *symbols; /* by symbolIndex */
	uint32_t symbol_count;
	bool debug_tried;
	struct ada_debug *debug; /* NULL: not asked for yet, or the file isn't the recorded one: see source.h */
};

struct ada_module *ada_module_new(const char *path, const char *build_id, const char *table_path); /* NULL: no memory */
void ada_module_free(struct ada_module *module);
/* Reads the table unless that was tried. 0, or -errno with the reason in module->problem. */
int ada_module_load(struct ada_module *module);
/* Takes over the table that `from` has read, where both are of the same file and the same table of names: `from` has then read none.
 * `from` must be of no use to others meanwhile. */
void ada_module_adopt(struct ada_module *module, struct ada_module *from);
/* Path and build-id from a table's first line; both malloc'ed. For recordings without a manifest. */
int ada_module_head(const char *table_path, char **path, char **build_id, struct ada_error *error);

const char *ada_module_name(const struct ada_module *module); /* file name without directory; "" for NULL */
/* Whether it is a library, other than those that all programs have and whose functions a reader knows: then the glob is one for
 * `ada trace --modules`. */
#define ADA_LIBRARY_GLOB 128
bool ada_module_is_library(const struct ada_module *module, char glob[ADA_LIBRARY_GLOB]);
/* NULL: no such function in the table, or no table. */
struct ada_symbol *ada_module_symbol(struct ada_module *module, uint32_t index);
/* What to call the function: demangled, module+0xADDRESS where nameless, module#INDEX where it isn't in the table (these need `buffer`).
 * module may be NULL. */
const char *ada_module_function(struct ada_module *module, uint64_t function_id, char buffer[ADA_NAME_BUFFER]);
/* The function's names, for patterns; its place where it has none. To be closed by ada_names_close. */
void ada_module_names(struct ada_names *names, struct ada_module *module, uint64_t function_id, char place[ADA_PLACE_TEXT]);
/* Whether any of the patterns means the function: by a name that it has (trigger/pattern.h), or as ada_module_function calls it. */
bool ada_module_is_meant(struct ada_module *module, uint64_t function_id, const struct ada_pattern_list *patterns);
#endif

/* Names of functions by a small number each, asked of the module's table once: for everything that prints a name an event.
 *
 * The number is the function's in this list (0, 1, ... as they were first asked for): what a reader makes of a name (quoted,
 * interned, written) it keeps in an array of its own beside it. Not for several threads at once. */
#ifndef ADA_QUERY_NAME_LIST_H
#define ADA_QUERY_NAME_LIST_H
#include "base/array.h"
#include "base/hash.h"
#include "query/session/session.h"

struct ada_name {
	uint64_t key; /* ada_process_function_key */
	uint32_t number;
	char *function;		   /* as ada_module_function says; bytes as in the file: maybe no UTF-8 */
	const char *mangled;	   /* "" where nameless */
	const char *module;	   /* file name without directory; "" where not known */
	struct ada_module *of;	   /* NULL: not known */
	struct ada_symbol *symbol; /* NULL: not in the table */
};

struct ada_name_list { /* all zero: empty */
	struct ada_table numbers;
	ADA_ARRAY(struct ada_name *) items;
};

/* Stays where it is until the names are closed. NULL: no memory. */
const struct ada_name *ada_name_list_get(struct ada_name_list *names, const struct ada_process *process, uint64_t function_id);
void ada_name_list_close(struct ada_name_list *names);
#endif

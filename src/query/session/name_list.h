/* Gives each function a small number and asks the module's table for its name once: for everything that prints a name an event.
 *
 * Numbers count from 0 in the order of first questions: so a reader keeps what it makes of names (quoted, interned, written) in an array
 * of its own. Not for several threads at once. */
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

/* The entry stays where it is until the names are closed. NULL: no memory. */
const struct ada_name *ada_name_list_get(struct ada_name_list *names, const struct ada_process *process, uint64_t function_id);
void ada_name_list_close(struct ada_name_list *names);
#endif

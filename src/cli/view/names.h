/* Functions of an answer, each named once: what refers to them has their numbers. */
#ifndef ADA_CLI_VIEW_NAMES_H
#define ADA_CLI_VIEW_NAMES_H
#include "base/hash.h"
#include "cli/view/view.h"

struct ada_view_names {		  /* all zero: empty */
	struct ada_table numbers; /* by key */
	ADA_ARRAY(struct ada_view_function {
		const struct ada_process *process;
		uint64_t function_id;
	})
	items;
};

/* The function's number; 0 also where memory is short: the first function stands for it. */
uint64_t ada_view_name(struct ada_view_names *names, const struct ada_process *process, uint64_t function_id);
void ada_view_names_put(struct ada_output *output, const struct ada_view_names *names); /* `, "functions": [["NAME", "MODULE"], ...]` */
void ada_view_names_free(struct ada_view_names *names);
void ada_view_put_function(struct ada_output *output, const struct ada_process *process, uint64_t function_id); /* ["NAME", "MODULE"] */
#endif

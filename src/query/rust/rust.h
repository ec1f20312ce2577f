/* What Rust has linked into a program: the functions of its library, and panics. */
#ifndef ADA_QUERY_RUST_H
#define ADA_QUERY_RUST_H
#include "query/calls/stack.h"
#include "query/session/session.h"

/* Whether a function is the library's, by its name; what the program's own types make of it is not. */
bool ada_rust_is_library(struct ada_module *module, uint64_t function_id);

/* Whether each panic calls that function once, before it tells of itself. */
bool ada_rust_panics(const struct ada_process *process, uint64_t function_id);
/* Whether the mark is of such a call, and which. */
bool ada_rust_panic_of_mark(const struct ada_process *process, const json_object *mark, const struct ada_thread **thread,
			    uint64_t *position);
/* Who panicked, of the calls that are open there: the innermost one outside the library. `count`: of those that are looked at; 0: nobody. */
size_t ada_rust_panicked(const struct ada_process *process, const struct ada_stack *path, size_t count);

struct ada_panic {
	char *file; /* NULL: where is not recorded */
	uint32_t line, column;
	char *text; /* NULL: not recorded; one that was cut ends in dots */
};
/* Of the call of that function at `position`. 0 or -ENOMEM; the caller frees it, also after an error. */
int ada_panic_read(const struct ada_thread *thread, uint64_t position, struct ada_panic *panic);
void ada_panic_free(struct ada_panic *panic);
#endif

/* --capture: which arguments' memory is kept of which functions. Grammar: docs/man/ada-trace.1. */
#ifndef ADA_TRIGGER_CAPTURE_H
#define ADA_TRIGGER_CAPTURE_H
#include "abi/policy.h"
#include "trigger/pattern.h"

struct ada_capture_rule {
	struct ada_pattern_list functions;
	struct ada_capture capture;
};
struct ada_capture_list {
	ADA_ARRAY(struct ada_capture_rule) items;
	bool off; /* nothing but what `items` say */
};

/* Adds those of "PATTERN:N=str|buf[M]|*BYTES,...", or turns what is captured by itself "off" or on ("auto"). -EINVAL with "at character N:
 * ...", as ada_trigger_parse. */
int ada_capture_add(struct ada_capture_list *list, const char *text, struct ada_error *error);
/* --redact: those of "PATTERN:N,...", as captures of nothing. Likewise. */
int ada_redact_add(struct ada_capture_list *list, const char *text, struct ada_error *error);
void ada_capture_list_free(struct ada_capture_list *list);
/* What `auto` means for a function of libc's or libstdc++'s of that name, versions left out; argument 0: nothing. */
struct ada_capture_set ada_capture_auto(const char *name);
/* The same for a function of Rust's library, which is in the program itself, by its mangled name. */
struct ada_capture_set ada_capture_auto_rust(const char *mangled);
/* Adds those of `more` whose arguments the set doesn't have, and whose bit `but` doesn't have. */
void ada_capture_join(struct ada_capture_set *set, const struct ada_capture_set *more, uint32_t but);
/* Adds errno, where libc's function of that name sets it, and there is room. */
void ada_capture_put_errno(struct ada_capture_set *set, const char *name);
/* Whether returns have something to capture. */
bool ada_capture_has_errno(const struct ada_capture_set *set);
/* Adds one, where the set doesn't have that argument. False: the set is full. */
bool ada_capture_put(struct ada_capture_set *set, const struct ada_capture *capture);
#endif

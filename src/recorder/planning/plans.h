/* The plans of a session: each ELF file is planned once, however many processes map it, and filtered once. Thread-safe. */
#ifndef ADA_RECORDER_PLANS_H
#define ADA_RECORDER_PLANS_H
#include <stdbool.h>
#include "plan/ground/refusal.h"
#include "plan/plan.h"
#include "recorder/planning/filter.h"

struct ada_planned {
	struct ada_plan *plan; /* NULL: none, see `error` */
	struct ada_error error;
	bool has_objects; /* it is libc's, and has functions with OBJECT events that the filter passes */
	/* Of a decoded plan */
	uint8_t *objects; /* by hook number: hooks of those functions; NULL: none */
	uint8_t *filter;  /* for a plan reply; NULL: hook all */
	uint32_t filter_bytes;
	uint32_t functions;		     /* functions that count: without ifunc symbols */
	uint32_t hookable;		     /* how many of them have a hook that passes the filter */
	uint32_t skipped[ADA_REFUSAL_COUNT]; /* the others, by reason */
};

struct ada_plans;
int ada_plans_open(struct ada_plans **plans, const struct ada_filter *filter);
/* The result stays valid until close. NULL only where memory is short. Another thread that asks for the same file waits. */
const struct ada_planned *ada_plans_get(struct ada_plans *plans, const char *path, bool decode);
/* Whether somebody has asked for a plan of that file, whichever. */
bool ada_plans_has(struct ada_plans *plans, const char *path);
/* By its name: glibc, or before 2.34 its threads. There nearly all threads wait, whoever calls. */
bool ada_plans_is_libc(const char *path);
/* The lines of modules/ID.tsv, which all processes share; made when the first one asks. NULL: no memory. */
const char *ada_plans_names(struct ada_plans *plans, const struct ada_planned *planned, size_t *bytes);
/* Plan number `number` of those that were made, with the path of its file; NULL: there are no more. One that couldn't be made, or has
 * names alone, is left out. */
const struct ada_plan *ada_plans_at(struct ada_plans *plans, size_t number, const char **path);
void ada_plans_close(struct ada_plans *plans);
#endif

/* Triggers: from the text of a rule to the form that agent and recorder use. Grammar: docs/man/ada-triggers.7, DESIGN section 5.
 *
 *   KIND=ARGS | KIND OP VALUE | KIND=ARGS OP VALUE, then @option,option...
 */
#ifndef ADA_TRIGGER_TRIGGER_H
#define ADA_TRIGGER_TRIGGER_H
#include <stdbool.h>
#include "abi/policy.h"
#include "base/array.h"
#include "base/error.h"
#include "trigger/pattern.h"

#define ADA_TRIGGER_CPUS_MAX 1024

struct ada_trigger {
	char *text;	    /* as it was given */
	char *kind_text;    /* for manifests: text without options, its first "=" as ":" ("symbol:malloc", "cpu>90%") */
	char *pattern_text; /* what follows KIND=, without options; "" where there is nothing */
	enum ada_rule_kind kind;
	ADA_ARRAY(struct ada_pattern) patterns; /* of functions; empty: names none */
	size_t begins;				/* SPAN: so many of them, the first, name what begins; the others what ends */
	enum ada_rule_op op;
	enum {
		ADA_TRIGGER_NO_VALUE,
		ADA_TRIGGER_INTEGER,
		ADA_TRIGGER_REAL,
		ADA_TRIGGER_NS,
		ADA_TRIGGER_BYTES,
		ADA_TRIGGER_SHARE,
		ADA_TRIGGER_RATE
	} unit;
	int64_t integer;     /* INTEGER, NS, BYTES; calls of a RATE */
	bool negative;	     /* INTEGER: written with "-" (0xffffffffffffffff is not, though integer is -1) */
	double real;	     /* REAL, SHARE: 0.9 is 90 %; of CPU time 1 is one CPU's, so up to ADA_TRIGGER_CPUS_MAX */
	uint64_t per_ns;     /* RATE */
	int argument;	     /* arg=F:N: 1 to 6; SPAN: of what ends */
	int begin_argument;  /* SPAN: of what begins */
	uint32_t percentile; /* per 100,000 */
	bool type_given;     /* @long, @ptr, @int, @double, ... */
	enum ada_value_type type;
	uint64_t signals;		 /* bit n - 1 */
	uint32_t from_minute, to_minute; /* time=: of the local day; from > to: over midnight */
	char exception[136];		 /* glob of the type's name; "": all */
	/* Options */
	bool nocase, pre_given, post_given;
	uint64_t pre_ns, pre_events, post_ns, post_events;
	uint64_t over, after, every, limit, limit_ns;
	char *label; /* NULL: none */
};

typedef void ada_trigger_warning(void *context, const char *text); /* one line */
/* -EINVAL with one line, "at character N: ...", N from 1: where the text stops making sense; the caller puts the text and its origin
 * before that line. An invalid regex is an error where `strict`, else a literal, with a warning of the same form. */
int ada_trigger_parse(struct ada_trigger **trigger, const char *text, bool strict, ada_trigger_warning *warn, void *context,
		      struct ada_error *error);
void ada_trigger_free(struct ada_trigger *trigger);
/* The rules of a file: a line each, blank lines and lines that begin with # left out. Strings are malloc'ed; origins "FILE:LINE". */
struct ada_trigger_lines {
	ADA_ARRAY(char *) texts;
	ADA_ARRAY(char *) origins;
};
int ada_trigger_file(struct ada_trigger_lines *lines, const char *path, struct ada_error *error);
void ada_trigger_lines_free(struct ada_trigger_lines *lines);

/* What a rule may begin with, one after another: "symbol=", "depth>", "crash"; NULL: there are no more. Valid until the next call. */
const char *ada_trigger_kind(size_t number);
/* Any of the patterns fits the name: as it is in the file, demangled, or demangled without its parameters. */
bool ada_trigger_may_match(const struct ada_trigger *trigger, const char *mangled); /* ada_pattern_may_match */
/* Which of its names mean the function; 0: none. Only a SPAN has any of what begins; those of all others count as of what ends. */
enum ada_trigger_side { ADA_TRIGGER_BEGINS = 1, ADA_TRIGGER_ENDS = 2 };
unsigned ada_trigger_sides(const struct ada_trigger *trigger, const struct ada_names *names);
/* Whether that pattern of the trigger means the function. */
bool ada_trigger_means(const struct ada_trigger *trigger, size_t pattern, const struct ada_names *names);
static inline enum ada_trigger_side ada_trigger_side_of(const struct ada_trigger *trigger, size_t pattern)
{
	return pattern < trigger->begins ? ADA_TRIGGER_BEGINS : ADA_TRIGGER_ENDS;
}
/* ADA_POLICY_CALL, ADA_POLICY_RETURN or both: which events of the functions that the trigger names have to be judged; 0: it names
 * none. */
int ada_trigger_flags(const struct ada_trigger *trigger);
/* The agent's form. `type`: the value's, where the rule doesn't give one. `rolls`: those that the rule doesn't give. */
struct ada_rolls {
	uint64_t pre_ns, pre_events, post_ns, post_events;
};
void ada_trigger_rule(const struct ada_trigger *trigger, double ticks_per_ns, const struct ada_rolls *rolls, enum ada_value_type type,
		      struct ada_rule *rule);
/* From a SPAN's form, which is of what ends, to that of what begins. `slot`: of the former. */
void ada_trigger_begin_rule(const struct ada_trigger *trigger, const struct ada_rule *ends, enum ada_value_type type, uint32_t slot,
			    struct ada_rule *rule);
/* time=: how long the interval lasts from now on; 0: now is outside. */
uint64_t ada_trigger_left_ns(const struct ada_trigger *trigger, uint64_t wall_ns);
/* How the result (argument 0) or an integer argument of a function is to be read: DWARF type, else the table of libc's
 * prototypes, else int. `path` NULL: no DWARF. */
enum ada_value_type ada_value_type_of(const char *path, const char *mangled, int argument);
/* For "no such function": puts the nearest names offered so far, at most 3, comma-separated, into text; "": none is near. */
struct ada_nearest;
struct ada_nearest *ada_nearest_open(const char *wanted);
void ada_nearest_offer(struct ada_nearest *nearest, const char *name);
void ada_nearest_offer_function(struct ada_nearest *nearest, const char *name); /* also for its name within its namespaces and classes */
void ada_nearest_offer_library(struct ada_nearest *nearest, const char *name);	/* also for what stands before ".so" */
void ada_nearest_text(const struct ada_nearest *nearest, char *text, size_t size);
void ada_nearest_close(struct ada_nearest *nearest);
#endif

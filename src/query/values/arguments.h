/* Reads arguments and results from a detail record, by their types: integers, enumerations by name, strings whose bytes were captured
 * with the stack or lie in the read-only bytes of a module. Types come from debug information, else from a table of libc's prototypes,
 * else there are none. */
#ifndef ADA_QUERY_ARGUMENTS_H
#define ADA_QUERY_ARGUMENTS_H
#include "base/array.h"
#include "base/output.h"
#include "query/session/session.h"

enum ada_argument_kind {
	ADA_ARGUMENT_OPAQUE,  /* only `text` tells the value */
	ADA_ARGUMENT_NUMBER,  /* `number` */
	ADA_ARGUMENT_REAL,    /* `real` */
	ADA_ARGUMENT_POINTER, /* `number` is the address */
	ADA_ARGUMENT_STRING,  /* `string`; `number` is its address */
};

struct ada_argument {
	char *name; /* "" unnamed; "result" of a RETURN */
	char *type; /* "const char *"; "" not known */
	char *text; /* the value as people write it: -5, RED (2), 0x7ffe..., "GET /", 0x55.. (not captured) */
	enum ada_argument_kind kind;
	bool captured;	  /* false: its target was not captured, or its register isn't recorded */
	bool is_unsigned; /* `number` holds its bits */
	int64_t number;
	double real;
	char *string; /* NULL, or the bytes that the value points to, up to their end or the end of what was captured */
	bool cut;     /* the string goes on beyond that */
};

struct ada_arguments {
	ADA_ARRAY(struct ada_argument) items;
	bool known; /* the function's parameters (or result) are known; it may have none */
	bool is_return;
	bool variadic;	/* more arguments follow, of types that nobody knows */
	char *function; /* its name without parameters */
};

/* For the record's event: parameters on a CALL, the result on a RETURN (none of void). Empty where no type is known. 0 or -ENOMEM. */
int ada_arguments_decode(struct ada_arguments *arguments, const struct ada_thread *thread, const struct atf_detail *record);
/* "open(path="/etc/passwd", flags=0)" or "= -1", malloc'ed; NULL: no memory, or nothing known. */
char *ada_arguments_text(const struct ada_arguments *arguments);
/* The same without the name: for a CALL "path="/etc/passwd", flags=0". */
char *ada_arguments_list(const struct ada_arguments *arguments);
/* An object {name, type, value, text, captured}: value is a number, a string, or null; pointers are "0x...". */
void ada_argument_json(struct ada_output *output, const struct ada_argument *argument);
/* An array of them: parameters of a CALL, the result of a RETURN. */
void ada_arguments_json(struct ada_output *output, const struct ada_arguments *arguments);
void ada_arguments_free(struct ada_arguments *arguments);
struct ada_captured {
	const struct ada_process *process;
	const struct atf_detail *record;
	bool is_return;
};

/* Bytes known to have been at `address`: of the captured stack, or constants of a module. NULL: none. */
const uint8_t *ada_captured_at(const struct ada_captured *captured, uint64_t address, uint64_t *bytes);
/* Whether that register, x[number], was dropped (--redact). */
#define ADA_REDACTED "(redacted)"
bool ada_captured_redacted(const struct atf_detail *record, int number);
/* The name of errno beside a result that says so, "ENOENT"; NULL: it wasn't captured, or has no name. */
const char *ada_captured_errno(const struct atf_detail *record);
/* What the record's arguments pointed at (argument 7: errno), as a JSON array of {argument, address, bytes, text, cut, unreadable}; malloc'ed, NULL: nothing was
 * captured, or no memory. */
char *ada_captured_json(const struct atf_detail *record);
#endif

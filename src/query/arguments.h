/* Arguments and results as their types say, from a detail record: integers, enumerations by name, strings whose bytes were
 * captured with the stack. Types come from debug information, else from a table of libc's prototypes, else there are none. */
#ifndef ADA_QUERY_ARGUMENTS_H
#define ADA_QUERY_ARGUMENTS_H
#include "base/array.h"
#include "query/session.h"

struct ada_argument {
	char *name;			/* "" unnamed; "result" of a RETURN */
	char *type;			/* "const char *"; "" not known */
	char *text;			/* the value as people write it: -5, RED (2), 0x7ffe..., "GET /", 0x55.. (not captured) */
	bool captured;			/* false: what it points to was not captured, or its register isn't recorded */
	bool is_number;			/* `number` holds it: */
	int64_t number;			/* of unsigned 64-bit types its bits */
	bool is_unsigned;
	char *string;			/* NULL, or the bytes that it points to, up to their end or the end of what was captured */
	bool cut;			/* the string goes on beyond what was captured */
};

struct ada_arguments { ADA_ARRAY(struct ada_argument) items; };

/* Of the record's event: parameters on a CALL, the result on a RETURN (none of void). Empty where no type is known.
 * 0 or -ENOMEM. */
int ada_arguments_decode(struct ada_arguments *arguments, const struct ada_thread *thread, const struct atf_detail *record);
/* "open(path="/etc/passwd", flags=0)" or "= -1", malloc'ed; NULL: no memory, or nothing known. */
char *ada_arguments_text(const struct ada_arguments *arguments);
void ada_arguments_free(struct ada_arguments *arguments);
#endif

/* A line of text that is being typed. No drawing. */
#ifndef ADA_CLI_SCREEN_FIELD_H
#define ADA_CLI_SCREEN_FIELD_H
#include <stddef.h>

#define ADA_FIELD_BYTES 1024

struct ada_field {
	char text[ADA_FIELD_BYTES]; /* UTF-8 */
	size_t length, at;	    /* bytes; what is typed goes in at `at` */
};

enum ada_field_state { ADA_FIELD_GOES_ON, ADA_FIELD_ENTERED, ADA_FIELD_LEFT };

void ada_field_set(struct ada_field *field, const char *text);
void ada_field_put(struct ada_field *field, const char *text); /* as if it were typed; all of it or nothing */
/* Arrows, Home End ^A ^E, Backspace, Delete, ^U ^K ^W, Enter; Escape, ^C and ^G leave. Other control characters do nothing. */
enum ada_field_state ada_field_key(struct ada_field *field, int key);

/* Of a message that says "at character N: ..." N, which counts bytes from 1; 0: it names none. */
size_t ada_field_fault(const char *message);
#endif

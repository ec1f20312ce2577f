/* Asks for a line of text at the foot of the screen. */
#ifndef ADA_CLI_SCREEN_ASK_H
#define ADA_CLI_SCREEN_ASK_H
#include <stdbool.h>
#include "base/error.h"
#include "cli/screen/field.h"

/* What to do with the text when it is entered. An error is shown below it, and pointed at where it names a character; then the user may
 * mend the text. */
typedef int ada_ask_take(void *context, const char *text, struct ada_error *error);

/* `field` holds what is proposed; Tab puts in `offer` (NULL: nothing). True: the text was taken; false: the user left. */
bool ada_ask(const char *question, struct ada_field *field, const char *offer, ada_ask_take *take, void *context);
#endif

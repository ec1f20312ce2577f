/* The terminal as a screen of lines, by ncurses. There is one; it is given back as it was however the command ends: at exit, on Ctrl-C and
 * SIGTERM (which only end the wait for a key), and while the command is stopped by Ctrl-Z. */
#ifndef ADA_CLI_SCREEN_SCREEN_H
#define ADA_CLI_SCREEN_SCREEN_H
#include <stdbool.h>
#include "base/error.h"

enum ada_ink { ADA_INK_PLAIN, ADA_INK_STRONG, ADA_INK_TITLE, ADA_INK_CHOSEN, ADA_INK_FAINT, ADA_INK_GOOD, ADA_INK_BAD, ADA_INKS };

/* Standard input and output are a terminal, and its kind is known. */
bool ada_screen_possible(void);
int ada_screen_open(const char *instead, struct ada_error *error); /* 0 or -errno; `instead`: what to do on a terminal that isn't known */
void ada_screen_close(void);					   /* also of none */

int ada_screen_rows(void);
int ada_screen_columns(void);
bool ada_screen_utf8(void);

/* A key (keys.h), waited for so long. What was drawn is shown first. */
int ada_screen_key(int timeout_ms);
void ada_screen_clear(void);
/* A whole line. Characters that the terminal can't show, or that don't take one column, become '?'; what is too long is cut. Rows beyond
 * the screen are left out. */
void ada_screen_put(int row, enum ada_ink ink, const char *text);
/* In the last row keys and what they do, two spaces between them: as many as it has room for. */
void ada_screen_hints(const char *hints);
/* A part of a line from `column` on. */
void ada_screen_put_at(int row, int column, enum ada_ink ink, const char *text);
void ada_screen_cursor(int row, int column); /* shown until the next clear */
#endif

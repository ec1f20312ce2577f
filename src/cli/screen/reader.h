/* A text over the whole screen, to be read: moves by the keys of pane.h and Space, searches by / n N, until q, Escape or Enter. */
#ifndef ADA_CLI_SCREEN_READER_H
#define ADA_CLI_SCREEN_READER_H
#include "cli/screen/sheet.h"

void ada_read(const char *title, const struct ada_sheet *sheet);
/* The same of lines that stand in the program: keys, and what they do. */
struct ada_key_help {
	const char *keys, *does; /* keys NULL: the last; does NULL: a heading */
};
void ada_read_keys(const char *title, const struct ada_key_help *keys);
#endif

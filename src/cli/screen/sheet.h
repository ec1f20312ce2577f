/* What a command prints, as lines for the screen: the answer is written by the code that prints it. */
#ifndef ADA_CLI_SCREEN_SHEET_H
#define ADA_CLI_SCREEN_SHEET_H
#include "base/array.h"
#include "base/output.h"

struct ada_sheet {
	struct ada_output output;
	int fd; /* a file in memory; 0: not open yet */
	char *text;
	ADA_ARRAY(const char *) lines; /* in `text`, until the next begin */
};

/* Empties it: write into sheet->output, then end. 0 or -errno. */
int ada_sheet_begin(struct ada_sheet *sheet);
int ada_sheet_end(struct ada_sheet *sheet);
const char *ada_sheet_line(const struct ada_sheet *sheet, uint64_t number); /* "" behind the last */
void ada_sheet_close(struct ada_sheet *sheet);
#endif

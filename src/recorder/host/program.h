/* What a command would run, and whether that can be traced. Looks only; creates nothing. */
#ifndef ADA_RECORDER_PROGRAM_H
#define ADA_RECORDER_PROGRAM_H
#include <limits.h>
#include "base/error.h"

struct ada_program {
	char path[PATH_MAX];	   /* what is executed: absolute, or as the user gave it */
	char executable[PATH_MAX]; /* the ELF file that then runs: `path`, or a script's interpreter */
};

/* Finds `name` like execvp and follows a script to its interpreter. 0; or -errno, and *exit_status is 126 or 127. */
int ada_program_find(struct ada_program *program, const char *name, int *exit_status, struct ada_error *error);
#endif

/* Where an export goes: standard output, a file that is there whole or not at all, a directory likewise. */
#ifndef ADA_CLI_EXPORT_TARGET_H
#define ADA_CLI_EXPORT_TARGET_H
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>
#include "base/error.h"
#include "query/export/export.h"

struct ada_target {
	const char *name;	  /* for messages */
	bool stream;		  /* written to `fd`, not by its path */
	int fd;			  /* of a file that is being made, or of standard output; -1: a directory is */
	int parent_fd, inside_fd; /* the directories of `path` and `inside`; -1: standard output, or written in place */
	mode_t mode;		  /* of the file that was there before, which the new one gets; 0: there was none. New files are private */
	char path[PATH_MAX];	  /* where the export lies in the end */
	char beside[PATH_MAX];	  /* until then: a directory of our own beside that place */
	char inside[PATH_MAX];	  /* and the export in that directory; one that is a directory is not there yet */
};

/* `path`: of --output; NULL or "-": standard output. Refuses targets that the format can't be written to. */
int ada_target_open(struct ada_target *target, const struct ada_export_format *format, const char *path, struct ada_error *error);
/* Puts the export in its place. 0, or -errno and nothing is left of the export. */
int ada_target_finish(struct ada_target *target, struct ada_error *error);
void ada_target_abandon(struct ada_target *target);
#endif

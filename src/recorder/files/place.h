/* The session directory: OUTPUT/session_YYYYMMDD_HHMMSS, OUTPUT/latest -> it. */
#ifndef ADA_RECORDER_PLACE_H
#define ADA_RECORDER_PLACE_H
#include "base/directory.h"
#include "recorder/files/scribe.h"

struct ada_session {
	char output[PATH_MAX]; /* for people, as is the next: the directory above may be another user's, with links in it */
	char directory[PATH_MAX];
	int output_fd, fd;		     /* the two directories, held open from the start */
	char root[ADA_DIRECTORY_PATH_BYTES]; /* the path by which all files are made (base/directory.h) */
	char name[64];
	char started[40]; /* wall-clock time, RFC 3339 */
	uint64_t start_ns, end_ns;
	uint64_t page_fault_ns; /* host/page.h */
	bool output_made;	/* --output did not exist */
};

/* 0, or -errno and nothing is left. Also lays some disk space aside, so that the manifest can tell of a full disk. */
int ada_session_make(struct ada_session *session, const char *output, struct ada_error *error);
/* Points `latest` to it: once the program runs. */
int ada_session_publish(const struct ada_session *session, struct ada_error *error);
void ada_session_free_reserve(const struct ada_session *session); /* at the end, or when the disk is full */
/* While the reserve makes room for a paper nobody else may take that room: who writes on a full disk has this lock. */
void ada_session_reserve_lock(void);
bool ada_session_reserve_try(void); /* false: a paper is being written */
void ada_session_reserve_unlock(void);
/* Writes the file anew from the object, and puts the object. Where the disk is full the file takes the place of the session's reserve. */
int ada_paper_replace(const struct ada_paper *paper, json_object *object, struct ada_error *error);
void ada_session_remove(struct ada_session *session); /* undoes ada_session_make where nothing was recorded yet, and closes */
void ada_session_leave(struct ada_session *session);
#endif

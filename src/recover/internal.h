/* What the parts of a recovery share. */
#ifndef ADA_RECOVER_INTERNAL_H
#define ADA_RECOVER_INTERNAL_H
#include "abi/wire.h"
#include "query/session/session.h"
#include "recover/recover.h"

/* The end of a file, cut off because it was no whole event. */
struct ada_torn {
	uint32_t thread;
	char process[32];
};

/* What shared memory said of a process, in the end. */
struct ada_salvaged_thread {
	uint32_t id, tid;
	uint64_t start_ns, end_ns, lost, overwritten, gaps;
	struct ada_shm_thread entry;
};
struct ada_salvaged {
	char directory[32];
	bool known;				       /* the rest is */
	bool exact;				       /* all that memory told of is there: the count of losses is exact */
	ADA_ARRAY(struct ada_salvaged_thread) threads; /* by id */
	struct ada_shm header;
	uint64_t crash_ns; /* of the crash in it */
};

struct ada_recovery {
	const struct ada_recover_options *options;
	struct ada_recovered *result;
	uint64_t at_ns; /* CLOCK_BOOTTIME */
	char at[32];	/* the same as a date, in UTC */
	ADA_ARRAY(struct ada_torn) torn;
	ADA_ARRAY(struct ada_salvaged *) salvaged;
};

/* Remembers a line about what can't be saved, now or ever. */
void ada_recover_problem(struct ada_recovery *recovery, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- salvage.c: puts into the files what is in the dead recorder's memory. The same, and -EBUSY where somebody else has the memory. */
int ada_recover_memory(struct ada_recovery *recovery, struct ada_error *error);
/* What memory told of the process; NULL: nothing. */
const struct ada_salvaged *ada_recover_salvaged(const struct ada_recovery *recovery, const char *directory);
void ada_recover_salvaged_free(struct ada_recovery *recovery);

/* A line that begins with a path, made readable for whoever has the session: the path is shown relative to the session. */
const char *ada_recover_within(const char *session, const char *text);

/* --- files.c: 0, or -errno of the first failure that another time may not meet. */
int ada_recover_files(struct ada_recovery *recovery, struct ada_error *error);

/* --- windows.c --- */
struct ada_saved_window {
	AtfDetailWindow bounds;	  /* window_id: its position */
	uint64_t records;	  /* of all threads */
	const json_object *entry; /* what the manifest said of it; NULL: nothing */
	bool cut;		  /* less than what the manifest said */
};
struct ada_saved_windows {
	ADA_ARRAY(struct ada_saved_window) kept;
	ADA_ARRAY(const json_object *) gone; /* entries of the manifest that have no detail left */
};
/* What is left of the process's windows, found from its files and the manifest as the recorder left it. 0 or -errno. */
int ada_recover_windows(const struct ada_process *process, struct ada_saved_windows *windows);
void ada_saved_windows_free(struct ada_saved_windows *windows);
/* Finishes the process's detail files, which then name these windows. */
int ada_recover_detail(struct ada_recovery *recovery, const struct ada_process *process, const struct ada_saved_windows *windows,
		       struct ada_error *error);

/* --- manifest.c --- */
int ada_recover_manifest(const struct ada_recovery *recovery, const struct ada_process *process, const struct ada_saved_windows *windows,
			 struct ada_error *error);
/* "recovered" of session.json and of manifests, without what only manifests say. */
json_object *ada_recover_note(const struct ada_recovery *recovery);
void ada_recover_set(json_object *object, const char *key, uint64_t value);
json_object *ada_recover_part(json_object *object, const char *key);		/* its member, made where there is none */
void ada_recover_segments(json_object *entry, const struct ada_thread *thread); /* manifest_threads.c: those of a thread that are there */

/* --- aged.c --- */
uint32_t ada_recover_first_segment(const char *thread);				  /* of a thread's directory: those before have gone */
int ada_recover_remove_aged(const char *thread, struct ada_error *error);	  /* which the recorder had not come to */
void ada_recover_aged_entry(json_object *entry, const struct ada_thread *thread); /* of the manifest, where segments have gone */
void ada_recover_aged_lanes(json_object *manifest, const struct ada_process *process);
/* Of a process whose last manifest is written: that one tells of what has gone since. */
int ada_recover_aged_manifest(const struct ada_process *process, struct ada_error *error);

/* Notes that nobody knows how a process ended that outlived the recorder. */
void ada_recover_exit(json_object *object);
#endif

/* Writes manifests and session.json beside the main thread, which must not wait for a disk: each file costs two fsyncs, and a tree of
 * hundreds of processes has such files by the thousand. Several threads, because a file system makes many durable at once. */
#ifndef ADA_RECORDER_SCRIBE_H
#define ADA_RECORDER_SCRIBE_H
#include <json-c/json.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* A file that is written anew again and again; begins as {0} and its path, and lives until ada_scribe_wait has returned. */
struct ada_paper {
	char path[PATH_MAX];
	const struct ada_session *session; /* session whose reserve it takes where the disk is full; NULL: none */
	/* The scribe's, under its lock */
	struct ada_paper *next;
	json_object *object;	/* what is to be written; NULL: nothing */
	bool busy, first, soon; /* soon: the object that is being written came as `first` */
	/* Any thread's to read by the functions below */
	bool pending;
	uint64_t written, pause_ns;
	bool failed;
};

struct ada_scribe;
int ada_scribe_open(struct ada_scribe **scribe);
/* Takes the object. It replaces an older object that nobody has begun to write. `first`: before all other papers, and not durable, since it
 * is written anew at the end at the latest. */
void ada_scribe_write(struct ada_scribe *scribe, struct ada_paper *paper, json_object *object, bool first);
void ada_scribe_wait(struct ada_scribe *scribe);  /* until all is written */
void ada_scribe_close(struct ada_scribe *scribe); /* NULL: nothing */

static inline bool ada_paper_pending(const struct ada_paper *paper)
{
	return __atomic_load_n(&paper->pending, __ATOMIC_ACQUIRE);
}

/* How often the paper was written, or tried: stderr tells of failures. */
static inline uint64_t ada_paper_written(const struct ada_paper *paper)
{
	return __atomic_load_n(&paper->written, __ATOMIC_ACQUIRE);
}

/* The last try failed: what is on the disk is older. */
static inline bool ada_paper_failed(const struct ada_paper *paper)
{
	return __atomic_load_n(&paper->failed, __ATOMIC_ACQUIRE);
}

/* How long to leave it as it is, from the last time on, so that a twentieth of the time goes into it at most: of a processor's, always. Of
 * waiting for a disk, or on a full machine for a processor, only as far as a second goes: somebody waits for what the file says. */
static inline uint64_t ada_paper_pause_ns(const struct ada_paper *paper)
{
	return __atomic_load_n(&paper->pause_ns, __ATOMIC_ACQUIRE);
}
#endif

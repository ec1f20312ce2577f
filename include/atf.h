/* libatf: writes and reads ATF v2 files, the recordings of ada. Format: docs/format.md and abi/file.h.
 *
 * Every function that can fail returns 0 or a negative atf_error (which is also what atf_error_text takes); what it could
 * not do is said in `struct atf_message` where it takes one. Handles are not shared between threads without a lock;
 * several readers of one file are fine. Times are ns of CLOCK_BOOTTIME.
 */
#ifndef ATF_H
#define ATF_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "abi/file.h"
#ifdef __cplusplus
extern "C" {
#endif

enum atf_error {
	ATF_OK = 0,
	ATF_ERROR_SYSTEM = 1,		/* errno says which */
	ATF_ERROR_NOT_ATF,		/* wrong magic, or shorter than a header */
	ATF_ERROR_VERSION,		/* a version, event size or byte order that this library doesn't read */
	ATF_ERROR_CORRUPT,		/* contradicts itself */
	ATF_ERROR_RANGE,		/* asked for what isn't in the file */
	ATF_ERROR_FULL,			/* index_seq would reach UINT32_MAX: roll to the next segment */
	ATF_ERROR_MEMORY,
};
const char *atf_error_text(int error);

struct atf_message { char text[256]; };	/* one line, no newline */

/* --- writer: one index file ------------------------------------------------------------------------------------------
 * Events are collected in aligned blocks; full blocks go to the sink. The CRC is computed on the way. A file is valid
 * for readers at every moment after atf_index_writer_flush (as a file without a footer).
 */

/* Where bytes go. The default sink is pwrite(2); the recorder's is io_uring. A block belongs to the sink from write()
 * until it has called atf_block_done(block), at once or later, on the same thread. */
struct atf_block {
	uint8_t *bytes;			/* aligned to 4096 */
	size_t length;			/* multiple of 4096 but for the last of a file and for flushes */
	off_t offset;			/* in the file; multiple of 4096 */
	int fd;
	struct atf_index_writer *writer;
};
struct atf_sink {
	int (*write)(struct atf_sink *sink, struct atf_block *block);	/* 0 or -errno */
	int (*wait)(struct atf_sink *sink, int fd);			/* until all blocks of fd are done; 0 or first -errno */
	int (*open)(struct atf_sink *sink, const char *path);		/* fd or -errno; creates, mode 0600 */
};
void atf_block_done(struct atf_block *block);

struct atf_index_writer;
struct atf_index_options {
	uint32_t thread_id;
	uint8_t arch;			/* ATF_ARCH_* */
	struct atf_sink *sink;		/* NULL: pwrite */
	size_t block_bytes;		/* 0: 256 KiB */
};
int atf_index_writer_open(struct atf_index_writer **writer, const char *path, const struct atf_index_options *options);
/* Appends events as they are (time in ns already). Times must not fall; a lower one is raised to the one before it. */
int atf_index_writer_append(struct atf_index_writer *writer, const struct ada_event *events, size_t count);
/* The next `count` events' place, to be filled by the caller and then committed: saves a copy. *room <= count may be less. */
struct ada_event *atf_index_writer_reserve(struct atf_index_writer *writer, size_t count, size_t *room);
int atf_index_writer_commit(struct atf_index_writer *writer, size_t count);
int atf_index_writer_flush(struct atf_index_writer *writer);	/* everything appended reaches the file (not the disk) */
uint64_t atf_index_writer_count(const struct atf_index_writer *writer);
int atf_index_writer_close(struct atf_index_writer *writer, bool has_detail);	/* footer, header, fsync; frees */
void atf_index_writer_abandon(struct atf_index_writer *writer);			/* frees, leaves a file without footer */

/* --- reader: one index file, mapped ---------------------------------------------------------------------------------- */
struct atf_index;
enum atf_completeness {
	ATF_COMPLETE,			/* header and footer agree */
	ATF_NO_FOOTER,			/* recovered: whole records that the size allows */
};
int atf_index_open(struct atf_index **index, const char *path, struct atf_message *message);
void atf_index_close(struct atf_index *index);
enum atf_completeness atf_index_completeness(const struct atf_index *index);
const AtfIndexHeader *atf_index_header(const struct atf_index *index);
uint64_t atf_index_count(const struct atf_index *index);
const struct ada_event *atf_index_events(const struct atf_index *index);	/* count of them; O(1) by index_seq */
int atf_index_get(const struct atf_index *index, uint64_t index_seq, struct ada_event *event);
/* First index_seq whose time is >= ns (count where none is): binary search. */
uint64_t atf_index_lower_bound(const struct atf_index *index, uint64_t ns);
/* Every check there is: sizes, counts, times that fall, kinds, CRC. Calls found() for each finding; returns how many, or < 0. */
typedef void atf_finding(void *context, const char *check, bool ok, const char *message);
int atf_index_verify(const char *path, atf_finding *found, void *context);

/* --- thread: the segments index.atf, index.1.atf, ... of one thread as one sequence ----------------------------------- */
struct atf_thread;
int atf_thread_open(struct atf_thread **thread, const char *directory, struct atf_message *message);
void atf_thread_close(struct atf_thread *thread);
uint32_t atf_thread_segments(const struct atf_thread *thread);
const struct atf_index *atf_thread_segment(const struct atf_thread *thread, uint32_t segment);
uint64_t atf_thread_count(const struct atf_thread *thread);
const struct ada_event *atf_thread_get(const struct atf_thread *thread, uint64_t position);	/* NULL out of range */
uint64_t atf_thread_lower_bound(const struct atf_thread *thread, uint64_t ns);

/* --- merge: many threads in time order. Ties go to the lower thread number, so the order is the same every time. ------- */
struct atf_merge;
int atf_merge_open(struct atf_merge **merge, struct atf_thread *const *threads, size_t count, uint64_t from_ns, uint64_t to_ns);
/* False at the end. `thread` is the position in the array given; `position` the event's in its thread. */
bool atf_merge_next(struct atf_merge *merge, size_t *thread, uint64_t *position, const struct ada_event **event);
void atf_merge_close(struct atf_merge *merge);

/* --- recovery: gives a file without footer its footer and header. ------------------------------------------------------ */
int atf_index_recover(const char *path, struct atf_message *message);

/* --- time -------------------------------------------------------------------------------------------------------------- */
struct ada_timing_anchor {		/* aligns a recording with audio or video */
	uint64_t hostTimeNs;		/* ada_get_timestamp_ns() at capture */
	uint64_t mediaTimeNs;
	char clock[32];			/* name of the media clock */
};
uint64_t ada_get_timestamp_ns(void);	/* CLOCK_BOOTTIME */

#ifdef __cplusplus
}
#endif
#endif

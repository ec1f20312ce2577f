/* libatf: writes and reads ATF v2 files, the recordings of ada. Format: docs/format.md and abi/file.h.
 *
 * Every function that can fail returns 0 or a negative atf_error (atf_error_text takes either sign); where the function takes a `struct
 * atf_message`, that says what could not be done. Handles are not shared between threads without a lock; several readers of one file are
 * fine. Times are ns of CLOCK_BOOTTIME.
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
	ATF_ERROR_SYSTEM = 1, /* errno says which */
	ATF_ERROR_NOT_ATF,    /* wrong magic, or shorter than a header */
	ATF_ERROR_VERSION,    /* a version, event size or byte order that this library doesn't read */
	ATF_ERROR_CORRUPT,    /* contradicts itself */
	ATF_ERROR_RANGE,      /* asked for what isn't in the file */
	ATF_ERROR_FULL,	      /* index_seq would reach UINT32_MAX: roll to the next segment */
	ATF_ERROR_MEMORY,
	ATF_ERROR_INVALID, /* an argument that makes no sense */
};
const char *atf_error_text(int error);

struct atf_message {
	char text[256];
}; /* one line, no newline */

/* --- writer: one index file ------------------------------------------------------------------------------------------
 * Events are collected in blocks of memory; a full block goes to the sink. The CRC is computed on the way. From open on
 * the file is valid for readers, as a file without a footer.
 *
 *   file    [header|event event ... ][event event event event][event ev..        ][footer]
 *           block 0                  block 1                  block 2, the last   written by close
 *
 * The header's 64 bytes are the beginning of block 0, so a block is contiguous in the file and in memory. A flush hands
 * over what a block holds so far, from the last multiple of 4096 that an earlier flush reached; the rest follows when
 * there is more. Bytes handed over never change, and where two writes overlap they hold the same bytes: so a sink may
 * finish them in any order. Footer and header are written by close itself (pwrite), after all blocks are done.
 */

/* Where blocks go. The default sink is pwrite(2); the recorder's is io_uring. A block belongs to the sink from write()
 * until the sink calls atf_block_done, at once or later, on the writer's thread. Meanwhile the sink may change bytes,
 * length and offset to keep track of what is left of it (a short write). */
struct atf_stream;
struct atf_block {
	uint8_t *bytes; /* aligned to 4096 */
	size_t length;	/* multiple of 4096, but for flushes and the last of a file */
	off_t offset;	/* in the file; multiple of 4096 */
	int fd;
	struct atf_stream *stream; /* the writer's part that it belongs to */
};
/* A sink that wants O_DIRECT opens the path twice: the descriptor that open() returns takes any offset and length (the
 * writer uses it for header and footer, and the sink for blocks whose length is no multiple of 4096). */
struct atf_sink {
	int (*open)(struct atf_sink *sink, const char *path);	      /* fd or -errno; a new file, 0600, read-write */
	int (*write)(struct atf_sink *sink, struct atf_block *block); /* 0, or -errno and the block was not taken */
	/* Returns when at least one more block of fd is done; called only where one is in flight. 0, or -errno where
	 * the sink itself is broken (a block's own failure goes to atf_block_done). -EAGAIN: none will be done soon; then the
	 * writer's function fails with errno EAGAIN, has done nothing, and may be called again later. */
	int (*wait)(struct atf_sink *sink, int fd);
	/* All blocks of fd are done. Makes the file durable if asked and closes it, at once or later. 0 or -errno. */
	int (*close)(struct atf_sink *sink, int fd, bool sync);
	int (*reopen)(struct atf_sink *sink, const char *path); /* as open, of a file that is there; NULL: can't */
	/* Where blocks lie while they are filled and written; both NULL: in the heap. `owner` is what the writer was opened with, not 0;
	 * the block begins at `offset` of its file. *bytes says how large the block may be, then how large it is (multiples of 4096, and
	 * aligned so). NULL: this block lies in the heap. The writer gives a block back when the bytes are in the file, or writing them
	 * failed. */
	uint8_t *(*take)(struct atf_sink *sink, uint64_t owner, off_t offset, size_t *bytes);
	void (*give)(struct atf_sink *sink, uint8_t *bytes);
	/* Header and footer couldn't be written (-errno). True: close fails with errno EAGAIN, and may be called again. NULL: never */
	bool (*later)(struct atf_sink *sink, int error);
};
void atf_block_done(struct atf_block *block, int error); /* error: 0 or -errno; the block stays the writer's */

struct atf_index_writer;
struct atf_index_options {
	uint32_t thread_id;
	uint8_t arch;	       /* ATF_ARCH_* */
	struct atf_sink *sink; /* NULL: pwrite */
	size_t block_bytes;    /* multiple of 4096; 0: 256 KiB */
	uint64_t max_events;   /* of this segment; 0: as many as index_seq can number */
	uint64_t time_min_ns;  /* lower times are raised to it: the time_max_ns of the segment before, or 0 */
	uint64_t owner;	       /* for the sink's take(); 0: blocks are in the heap */
};
/* DIRECTORY/index.atf, index.1.atf, ...: -ATF_ERROR_RANGE where it doesn't fit. */
int atf_index_path(char *path, size_t size, const char *directory, uint32_t segment);
/* The same of a packed segment: DIRECTORY/index.atp, index.1.atp, ... */
int atf_packed_path(char *path, size_t size, const char *directory, uint32_t segment);
/* Whichever of both is there, the plain one where both are, and where none is. */
int atf_index_find(char *path, size_t size, const char *directory, uint32_t segment);
/* Writers return -ATF_ERROR_FULL where the segment has no room for even one more event: close it, open the next. Once a
 * write has failed, everything returns -ATF_ERROR_SYSTEM with that errno; close then frees and leaves no footer. */
int atf_index_writer_open(struct atf_index_writer **writer, const char *path, const struct atf_index_options *options);
/* Appends events as they are (time in ns already). Times must not fall; a lower one is raised to the one before it.
 * All or nothing: ATF_ERROR_FULL where not all of them have room. Only where the sink can't now (EAGAIN) some may be in: count says. */
int atf_index_writer_append(struct atf_index_writer *writer, const struct ada_event *events, size_t count);
/* The place of up to `count` next events, which the caller fills and then commits: saves a copy. On success 1 <= *room <= count. Nothing
 * is appended before the commit; times are raised as in append. */
int atf_index_writer_reserve(struct atf_index_writer *writer, size_t count, struct ada_event **events, size_t *room);
int atf_index_writer_commit(struct atf_index_writer *writer, size_t count);
/* Hands everything appended to the sink. When the sink is done, all of it is in the file (not on the disk). */
int atf_index_writer_flush(struct atf_index_writer *writer);
/* So many of the first events are in the file: the sink has written all up to there. */
uint64_t atf_index_writer_written(const struct atf_index_writer *writer);
/* rest flushes and closes the descriptor; wake opens the file again. A writer at rest answers only count and time before it is woken. 0
 * or an error: then rest has kept the descriptor; a writer that wake failed for is still at rest and may be woken again. */
int atf_index_writer_rest(struct atf_index_writer *writer);
int atf_index_writer_wake(struct atf_index_writer *writer, const char *path);
uint64_t atf_index_writer_count(const struct atf_index_writer *writer);
uint64_t atf_index_writer_time_max_ns(const struct atf_index_writer *writer); /* of the last event, or time_min_ns */
int atf_index_writer_close(struct atf_index_writer *writer, bool has_detail); /* footer, header, fsync; and frees */
void atf_index_writer_abandon(struct atf_index_writer *writer);		      /* flushes and frees, leaves no footer */

/* --- reader: one index file, mapped, or read where it is small --------------------------------------------------------
 * A packed file (index.N.atp) is read like a plain one: its header is given as the plain file's, its events are decoded block by block as
 * they are asked for. A block's events stay where they are until the thread that asked for them has asked for four other blocks of the
 * file, or releases them. A block that is damaged reads as LOST events of one event each; verify says so. */
struct atf_index;
enum atf_completeness {
	ATF_COMPLETE,  /* header and footer agree with each other and with the size */
	ATF_NO_FOOTER, /* being written, or left by a crash: the whole records that the size allows */
	ATF_DAMAGED,   /* was finished once, but is cut or contradicts itself: what is left of it */
};
/* Zero records at the end of a file without a footer (space that a crash left unwritten) don't count. On success the
 * message says why the file is not complete, and is "" where it is. */
int atf_index_open(struct atf_index **index, const char *path, struct atf_message *message);
void atf_index_close(struct atf_index *index);
enum atf_completeness atf_index_completeness(const struct atf_index *index);
const AtfIndexHeader *atf_index_header(const struct atf_index *index);
uint64_t atf_index_count(const struct atf_index *index);
/* All of them; O(1) by index_seq. Of a packed file this decodes all into memory (NULL: there is not so much), where they stay. */
const struct ada_event *atf_index_events(const struct atf_index *index);
/* Whether this address lies in the mapping of the file: where reading it failed. */
bool atf_index_maps(const struct atf_index *index, uintptr_t address);
int atf_index_get(const struct atf_index *index, uint64_t index_seq, struct ada_event *event);
/* First index_seq whose time is >= ns (count where none is): binary search. */
uint64_t atf_index_lower_bound(const struct atf_index *index, uint64_t ns);
/* Every check there is: sizes, counts, times that fall, kinds, CRC. Calls found() for each check made, with what is
 * wrong or worth knowing ("" where nothing is); returns how many failed, or < 0 where the file can't be read. */
typedef void atf_finding(void *context, const char *check, bool ok, const char *message);
int atf_index_verify(const char *path, atf_finding *found, void *context);

/* --- thread: the segments index.atf, index.1.atf, ... of one thread as one sequence ------------------------------- */
struct atf_thread;
/* Where the first segments have gone into totals, those that windows have kept come first, and a LOST record of 0 events stands where
 * others have gone behind one of these. A later segment that can't be read cuts the thread there: what lies before it opens, and the message names it. A last segment without a
 * byte doesn't count: its writer has just made it. */
int atf_thread_open(struct atf_thread **thread, const char *directory, struct atf_message *message);
/* The same for less, where someone who should know says how many segments there are. Where that is wrong the function looks for
 * itself. */
int atf_thread_open_known(struct atf_thread **thread, const char *directory, uint32_t segments, struct atf_message *message);
void atf_thread_close(struct atf_thread *thread);
bool atf_thread_is_cut(const struct atf_thread *thread);
uint32_t atf_thread_segments(const struct atf_thread *thread);
const struct atf_index *atf_thread_segment(const struct atf_thread *thread, uint32_t segment);
uint64_t atf_thread_count(const struct atf_thread *thread);
const struct ada_event *atf_thread_get(const struct atf_thread *thread, uint64_t position); /* NULL out of range */
uint64_t atf_thread_lower_bound(const struct atf_thread *thread, uint64_t ns);
/* For reading many events: those from `position` on that lie side by side in memory, *count of them up to the end of their segment, or
 * packed block; NULL, 0 behind the last. */
const struct ada_event *atf_thread_run(const struct atf_thread *thread, uint64_t position, uint64_t *count);
/* Lets the pages of events [from, to), and what the kernel has mapped around them, leave this process's memory (they stay in the page
 * cache, and come back when read): keeps a long scan small. Safe beside other readers of the same thread. */
void atf_thread_release(const struct atf_thread *thread, uint64_t from, uint64_t to);

/* --- books: how many calls and ends a thread made while it was recorded, and where they are -------------------------
 *
 *   captured = event_count - torn - others + aged + lost
 *
 * `captured` counts every call and every end: each is in the files, or has gone to totals since (aged), or is missing (lost). */
struct atf_books {
	uint64_t event_count; /* records in its files, of all kinds */
	uint64_t calls, ends; /* of them: CALLs; RETURNs and EXCEPTIONs */
	uint64_t others;      /* of them: what is no call and no end (kinds above 3): LOST, OBJECT, RECORDER */
	uint64_t torn;	      /* of them: never written whole (kind 0). 0 in all that ada finished or recovered */
	uint64_t gaps, told;  /* the LOST ones, and how many events they stand for */
	uint64_t aged;	      /* as given */
	uint64_t lost;	      /* as given; no less than `told`: there are drops that no record stands for */
	uint64_t captured;
};
#define ATF_BOOKS_UNKNOWN UINT64_MAX
/* Reads the thread once, without what windows have kept, which has aged; NULL: a thread without files. aged, lost: what the manifest counts (threads[].aged, threads[].lost). lost is ATF_BOOKS_UNKNOWN where no manifest says how many: then the LOST records tell. */
void atf_thread_books(const struct atf_thread *thread, uint64_t aged, uint64_t lost, struct atf_books *books);

/* --- merge: many threads in time order. Ties go to the lower thread number, so the order is always the same. ------ */
struct atf_merge;
/* Events with from_ns <= time < to_ns; UINT64_MAX: to the end. The threads must stay open. */
int atf_merge_open(struct atf_merge **merge, struct atf_thread *const *threads, size_t count, uint64_t from_ns, uint64_t to_ns);
/* False at the end. `thread` is the position in the array given; `position` the event's in its thread. */
bool atf_merge_next(struct atf_merge *merge, size_t *thread, uint64_t *position, const struct ada_event **event);
void atf_merge_close(struct atf_merge *merge);

/* --- detail: registers and stack of the events inside windows --------------------------------------------------------
 * One file a segment: detail.atf goes with index.atf, detail.1.atf with index.1.atf. */
struct atf_detail { /* one record, decoded */
	uint64_t timestamp_ns, function_id;
	uint32_t index_seq; /* of its event in the index file of the same segment */
	uint32_t detail_seq;
	uint16_t event_type; /* ATF_DETAIL_CALL, ATF_DETAIL_RETURN; others are passed on as they are */
	uint16_t flags;
	uint32_t thread_id; /* the writer puts its own */
	uint64_t x[8];	    /* with flag ATF_DETAIL_REDACTED(n), x[n - 1] is not known */
	uint64_t lr, fp, sp;
	const uint8_t *stack; /* stack_size bytes from sp + 8 (x86-64) up; the reader's, or the caller's */
	uint16_t stack_size;
	uint64_t vectors[8]; /* valid with flag ATF_DETAIL_VECTORS */
	/* With flag ATF_DETAIL_CAPTURED: what arguments pointed at, captured_size bytes of AtfDetailCaptured; the reader's, or the caller's */
	const uint8_t *captured;
	uint16_t captured_size;
};
/* One of them: `bytes` are the record's. */
struct atf_captured {
	uint64_t address;
	const uint8_t *bytes;
	uint16_t length;
	uint8_t argument, flags; /* 1 to 6, ATF_CAPTURED_ERRNO; ATF_CAPTURED_STRING and its kin */
};
/* The one at *at, which begins as 0 and becomes where the next one is. False: there is none, or what is there is none. */
bool atf_detail_captured(const struct atf_detail *record, uint32_t *at, struct atf_captured *captured);
/* DIRECTORY/detail.atf, detail.1.atf, ...: as atf_index_path. */
int atf_detail_path(char *path, size_t size, const char *directory, uint32_t segment);

struct atf_detail_writer;
struct atf_detail_options {
	uint32_t thread_id;
	uint8_t arch;
	struct atf_sink *sink; /* as for the index */
};
int atf_detail_writer_open(struct atf_detail_writer **writer, const char *path, const struct atf_detail_options *options);
/* Begins a window: the records from here on belong to this window, and the first one's detail_seq is first_detail_seq (-ATF_ERROR_RANGE
 * where an earlier window has that number). first_ordinal and event_count are filled in by the writer. A window without records leaves no
 * entry. */
int atf_detail_writer_window(struct atf_detail_writer *writer, const AtfDetailWindow *window);
/* Bounds, marks and id of the last window begun, as they have become; more records may follow. */
int atf_detail_writer_window_update(struct atf_detail_writer *writer, const AtfDetailWindow *window);
/* Of the window begun last; detail_seq must be the next one, index_seq rises and time may not fall
 * (-ATF_ERROR_RANGE). */
int atf_detail_writer_append(struct atf_detail_writer *writer, const struct atf_detail *record);
int atf_detail_writer_flush(struct atf_detail_writer *writer);
uint64_t atf_detail_writer_count(const struct atf_detail_writer *writer);
int atf_detail_writer_close(struct atf_detail_writer *writer); /* tables, footer, header, fsync; and frees */
void atf_detail_writer_abandon(struct atf_detail_writer *writer);

struct atf_detail_file;
int atf_detail_open(struct atf_detail_file **file, const char *path, struct atf_message *message);
void atf_detail_close(struct atf_detail_file *file);
enum atf_completeness atf_detail_completeness(const struct atf_detail_file *file);
const AtfDetailHeader *atf_detail_header(const struct atf_detail_file *file);
uint64_t atf_detail_count(const struct atf_detail_file *file);
uint64_t atf_detail_window_count(const struct atf_detail_file *file);
int atf_detail_window(const struct atf_detail_file *file, uint64_t number, AtfDetailWindow *window);
/* By position in the file: O(1) where the offset table is sound, else after one scan at open. */
int atf_detail_get(const struct atf_detail_file *file, uint64_t ordinal, struct atf_detail *record);
/* Forward: the record of an event by its detail_seq, or by its index_seq. 0; ATF_NOT_PERSISTED (> 0), which is no error: the event lies
 * outside every window; < 0. Records have no detail_seq without a window table (atf_detail_window_count 0, as in a file without a
 * footer): atf_detail_find then returns -ATF_ERROR_RANGE, and records that are read have ADA_NO_DETAIL. */
enum { ATF_NOT_PERSISTED = 1 };
int atf_detail_find(const struct atf_detail_file *file, uint32_t detail_seq, struct atf_detail *record);
int atf_detail_find_index(const struct atf_detail_file *file, uint32_t index_seq, struct atf_detail *record);
/* Backward: atf_index_get(index, record.index_seq). Checks as atf_index_verify, and, where `index` is given, each record
 * against its event and each event inside a window against its record. */
int atf_detail_verify(const char *path, const struct atf_index *index, atf_finding *found, void *context);
int atf_detail_recover(const char *path, struct atf_message *message);
/* The same where the windows of the process are known, by time and without overlap: they give id, bounds and marks. Records that lie in
 * none of them become a window with id UINT32_MAX. A complete file with other windows is finished anew. */
int atf_detail_recover_windows(const char *path, const AtfDetailWindow *windows, size_t count, struct atf_message *message);
/* The record of the thread's event at `position`: as atf_detail_find, but also without a window table. Opens the files when first
 * asked. */
int atf_thread_detail(struct atf_thread *thread, uint64_t position, struct atf_detail *record);
/* The detail file of a segment; the thread owns the handle. NULL: there is no such file, or it can't be read. */
const struct atf_detail_file *atf_thread_detail_file(struct atf_thread *thread, uint32_t segment);

/* --- recovery: gives a file without footer (ATF_NO_FOOTER) its footer and header. ------------------------------------
 * Records that never reached the file, between others that did, become LOST events of one event each. Refuses a file
 * that a writer holds (flock) and one that is damaged; one that is complete stays as it is. The message says what was
 * done. */
int atf_index_recover(const char *path, struct atf_message *message);

/* --- time ----------------------------------------------------------------------------------------------------------- All times of a
 * recording are ns of CLOCK_BOOTTIME, the host's time. This clock never falls, is the same on every core and goes on while the machine
 * sleeps: so it aligns threads, processes and media. The clock needs no initialisation; ada_timing_init() reads it once, so that no later
 * reading is the first one. Any thread, any number of times. */
void ada_timing_init(void);
uint64_t ada_get_timestamp_ns(void);

/* One moment on two clocks: the host's, and one that counts in a recording of sound or picture, or whatever runs beside. */
struct ada_timing_anchor {
	uint64_t hostTimeNs;  /* ada_get_timestamp_ns() at that moment; not 0 */
	uint64_t mediaTimeNs; /* at most INT64_MAX */
	char clock[32];	      /* its name: letters, digits, _ - and . behind a letter; not boot nor wall, which are ada's */
};
/* Takes an anchor now: 0, or -ATF_ERROR_INVALID (the name, or what media_time_ns says). The function reads the host's clock, the media's
 * and the host's again, some times over, and keeps the reading that took the least time. The media's time is taken to lie in the middle
 * of that reading, so half of its length bounds the error (Cristian, Probabilistic clock synchronization, 1989): about 20 ns where
 * clock_gettime reads both. Without such a function, read both clocks one right behind the other and fill the struct. */
int ada_timing_anchor(struct ada_timing_anchor *anchor, const char *clock, uint64_t (*media_time_ns)(void *context), void *context);

/* Stores an anchor in a session: its directory, one of its pid directories, or NULL for ada_traces/latest. The session may be under way;
 * any process may store, many at a time, and none waits for the recorder. The anchor goes into session.json, or, as long as somebody else
 * holds that file, into anchors.jsonl beside it, which the recorder takes over. Durable on return. -ATF_ERROR_INVALID: a name or times
 * that make no sense, or that contradict an anchor which is there (a clock has to go forward); -ATF_ERROR_FULL: the session has as many
 * as it takes, several thousand. */
int atf_session_anchor(const char *session, const struct ada_timing_anchor *anchor, struct atf_message *message);
/* All anchors of a session, sorted by the names of clocks and then by time, with both times rising: so the anchors of one clock are a run
 * of the array, which the caller frees. An entry that is no anchor, or contradicts those before it, is left out and counted in the
 * message ("": nothing was). 0, or what keeps session.json from being read. */
int atf_session_anchors(const char *session, struct ada_timing_anchor **anchors, size_t *count, struct atf_message *message);

/* From the host's time to a media clock's, by `count` anchors of that clock alone, in the order of time, as atf_session_anchors has
 * them. With one anchor (h0, m0) the clocks run at the same rate:
 *
 * 	media(h) = m0 + (h - h0)
 *
 * With more, the media clock runs straight between two neighbours (h0, m0) and (h1, m1) with h0 <= h < h1; before the first two and
 * behind the last two it runs on their line. This corrects the drift, which is (m1 - m0) / (h1 - h0) - 1. The formula is Lagrange's
 * interpolation of degree one, the line through two points, in integers, rounded down:
 *
 * 	media(h) = m0 + floor((h - h0) * (m1 - m0) / (h1 - h0))
 *
 * An error e of one anchor's reading makes at most e between the two, and e * (1 + 2 d / (h1 - h0)) at a distance d outside of them.
 * atf_host_time goes the other way: it gives the first ns of the host at which media() is not below media_ns; 0 where that ns lies before
 * the host's start. -ATF_ERROR_INVALID: no anchor, or times that don't rise; -ATF_ERROR_RANGE: the result has no room in 64 bits. */
int atf_media_time(const struct ada_timing_anchor *anchors, size_t count, uint64_t host_ns, int64_t *media_ns);
int atf_host_time(const struct ada_timing_anchor *anchors, size_t count, int64_t media_ns, uint64_t *host_ns);

#ifdef __cplusplus
}
#endif
#endif

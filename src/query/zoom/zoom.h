/* What lies under each pixel of a picture of a thread, at any zoom, without reading every event for every picture.
 *
 * A thread's events are cut into leaves of ADA_ZOOM_LEAF. One reading of the thread notes of each leaf and depth how many calls begin
 * there, how long they take together, and which of them is the longest: a cell. Eight leaves make a node of the next level, eight of those
 * one of the level above, whose cells are the sums.
 *
 *   level 2   [                                       node                                       ]
 *   level 1   [         node         ][         node         ][         node         ][  node    ]
 *   level 0   [leaf][leaf][leaf][leaf]...                       each: cells by depth, what is open at its beginning,
 *   events    ................................................        which functions begin calls in it
 *
 * A picture goes down from the top: a node that lies under one pixel gives its cells; a leaf that is wider than a pixel is read. So no
 * more leaves are read than there are pixels, and what is drawn is this:
 *
 *   each call of a pixel or more, exactly (calls of one depth don't overlap, so no two such begin under the same pixel);
 *   of the shorter ones, by pixel and depth, the longest, and how many there are and how long all of them take.
 *
 * A leaf that is shorter than a pixel but lies under two is counted, as a whole, where its longest call of that depth begins.
 *
 * A leaf in which nothing happens for long is cut there: each part has cells of its own, one behind the other, and what must be shorter
 * than a pixel is each part. Else of a program that works in bursts each burst's last leaf would be read, and in a packed file, whose blocks
 * hold sixteen leaves, a block decoded for each pixel.
 * Bounds, so that no program fills the memory: a part has cells of ADA_ZOOM_DEPTHS depths, every other leaf is cut on an average, and keeps ADA_ZOOM_OPEN_MAX calls that are open
 * at its end; what is beyond appears where leaves are read, and the picture says that it is `cut`. Calls on several stacks of one thread
 * (fibers) overlap: of these the longest is drawn.
 *
 * Pictures don't wait for the reading: at any moment they are of what has been read so far, of which a call that is still open lasts until
 * the last event read. A reading of a thread that is being recorded goes on where it stood (ada_zoom_follow). What a long reading found is
 * kept beside the thread's files (keep.c) for the next one.
 *
 * Nor does what is looked at wait until the reading comes there (ahead.c): parts of the thread are read before it is their turn, as leaves
 * of their own, and pictures have them, too.
 *
 *   read in turn ----------------->|        [part read ahead]    [part]        not read
 */
#ifndef ADA_QUERY_ZOOM_H
#define ADA_QUERY_ZOOM_H
#include <stdatomic.h>
#include "query/calls/calls.h"
#include "query/session/selection.h"

#define ADA_ZOOM_LEAF 2048u /* events */
#define ADA_ZOOM_FAN_BITS 3u
#define ADA_ZOOM_FAN (1u << ADA_ZOOM_FAN_BITS) /* nodes of a level in one of the next */
#define ADA_ZOOM_DEPTHS 64u
#define ADA_ZOOM_OPEN_MAX 256u
#define ADA_ZOOM_LOSSES 65536u /* stretches of losses of a thread that are told apart */
#define ADA_ZOOM_NONE UINT32_MAX

struct ada_zoom_cell {
	uint64_t start_ns, duration_ns; /* of the longest call that begins here; where none has a known end, of the first */
	uint64_t position;		/* of its CALL; UINT64_MAX: no call here has a known end */
	uint64_t function_id;
	uint64_t busy_ns; /* all of them */
	uint32_t depth, calls;
};

struct ada_zoom_node {
	uint64_t first_ns, last_ns; /* its first and last event */
	uint64_t widest_ns;	    /* leaf: how long its longest part is */
	uint64_t functions[4];	    /* a bit for some of the functions that begin calls here: none is missing */
	uint64_t before_loss_ns;    /* leaf: events were lost right before, and the last one before that was then; 0: none were */
	size_t cell;		    /* its first */
	uint32_t cells;
	uint32_t open; /* leaf: the innermost call that is open at its beginning; ADA_ZOOM_NONE: none */
	uint8_t cut;   /* 0 or 1 */
};

/* A call that is open where a leaf ends. */
struct ada_zoom_open {
	uint64_t start_ns, end_ns; /* end UINT64_MAX: not known */
	uint64_t position, function_id;
	uint32_t depth;
	uint32_t caller; /* number; ADA_ZOOM_NONE: outermost */
};

struct ada_zoom_level {
	ADA_ARRAY(struct ada_zoom_node) nodes;
};

struct ada_zoom_loss {
	uint64_t from_ns, to_ns; /* the last event before, and the first behind */
	uint64_t events;
};

#define ADA_ZOOM_LEVELS 16
struct ada_zoom_builder; /* where the reading of a thread stands: internal.h */
struct ada_zoom_thread {
	const struct ada_thread *thread;
	struct ada_zoom_builder *builder;
	uint64_t first;	  /* position of its first leaf: 0, or of a part that was read ahead some multiple of ADA_ZOOM_LEAF */
	uint64_t read;	  /* position behind the last event read so far: of these pictures are */
	uint64_t read_ns; /* the last one's time */
	bool whole;	  /* all, and what is open at the end has ended there */
	uint32_t first_segment;
	uint64_t live; /* position of its first event */
	struct ada_zoom_level levels[ADA_ZOOM_LEVELS];
	unsigned int level_count;
	ADA_ARRAY(struct ada_zoom_cell) cells;
	ADA_ARRAY(struct ada_zoom_open) open;	   /* by position */
	ADA_ARRAY(struct ada_zoom_open) strays;	   /* calls on other stacks that end in another leaf than they begin in; by position */
	ADA_ARRAY(struct ada_zoom_loss) losses;	   /* by time */
	uint32_t depths;			   /* the deepest call's depth, plus one */
	ADA_ARRAY(struct ada_zoom_thread *) ahead; /* parts that were read ahead, by `first`; none lies in another */
};

struct ada_zoom {
	const struct ada_session *session;
	struct ada_zoom_thread *threads; /* one a thread of the session */
	size_t thread_count;
	atomic_uint_least64_t done; /* events that were read so far */
	uint64_t total;
	bool live;	   /* processes that aren't finalized go on: what is open in them stays so */
	bool keeps;	   /* what was found before is taken, and what took long is kept */
	uint64_t until_ns; /* of CLOCK_MONOTONIC: building ends soon behind it, and the next one goes on there; 0: at the end */
};

/* Empty; building fills it. 0 or -ENOMEM. */
int ada_zoom_open(struct ada_zoom *zoom, const struct ada_session *session);
/* Reads all events that weren't read yet, with so many workers (0: one a CPU). Others may ask for `done` meanwhile, and for pictures
 * between ada_zoom_enter and ada_zoom_leave. 0, -ENOMEM, or -EINTR soon after ada_interrupted(). */
int ada_zoom_build(struct ada_zoom *zoom, unsigned int workers);
/* The same session, opened again: what was read of its threads is kept, and the next building reads what has come since. Nobody may be
 * asking. 0, or -ENOMEM: the zoom is as it was. */
int ada_zoom_follow(struct ada_zoom *zoom, const struct ada_session *session);
void ada_zoom_close(struct ada_zoom *zoom);

/* Whoever looks at a thread that may be being read does it between these two, and not for long. */
void ada_zoom_enter(const struct ada_zoom_thread *thread);
void ada_zoom_leave(const struct ada_zoom_thread *thread);

/* --- what is kept (keep.c) ----------------------------------------------------------------------------------------------- */

#define ADA_ZOOM_KEPT "view.zoom" /* a file beside the thread's index */
/* Writes what was read of a whole thread. Where it can't be written, the next reading reads again: nobody is told. */
void ada_zoom_keep(const struct ada_zoom_thread *thread);
/* Takes it; false: there is none, or not of these files. */
bool ada_zoom_take(struct ada_zoom_thread *thread);

/* --- pictures ----------------------------------------------------------------------------------------------------------- */

struct ada_zoom_view {
	uint64_t from_ns, to_ns; /* from <= time < to */
	uint32_t columns;	 /* > 0 */
	uint32_t depths;	 /* deeper calls are left out */
};

/* What is read ahead (ahead.c); the thread is entered. */

/* Reads what the view has of the thread that wasn't read yet, until `until_ns` of CLOCK_MONOTONIC or little longer, and gives what is left
 * to the next question: all events in their order where they are some leaves for each of the `samples`, else so many leaves, spread over the
 * view and its newest first. 0 or -ENOMEM. */
int ada_zoom_ahead(struct ada_zoom_thread *thread, const struct ada_zoom_view *view, uint32_t samples, uint64_t until_ns);
/* How many of the events from <= position < to, which lie behind what was read in turn, were read ahead. */
uint64_t ada_zoom_ahead_events(const struct ada_zoom_thread *thread, uint64_t from, uint64_t to);
/* The part that was read ahead and has the event; else the thread itself. */
const struct ada_zoom_thread *ada_zoom_part(const struct ada_zoom_thread *thread, uint64_t position);
/* Depths of all that was read, ahead, too. */
uint32_t ada_zoom_depths(const struct ada_zoom_thread *thread);

struct ada_zoom_picture {
	/* cells[depth * columns + column]; calls 0: none begins there. A cell's longest call may reach beyond its column. */
	struct ada_zoom_cell *cells;
	struct ada_zoom_view view;
	uint32_t depths;			/* rows in `cells` */
	ADA_ARRAY(struct ada_zoom_open) before; /* calls that began before and are open where the view begins, outermost first */
	uint32_t leaves;			/* that were read for it */
	bool cut;
};
#define ADA_ZOOM_COARSEST 16u
/* How many columns should be one, a power of two, so that a picture of the view reads at most so many leaves; ADA_ZOOM_COARSEST if that isn't
 * enough. */
uint32_t ada_zoom_coarse(const struct ada_zoom_thread *thread, const struct ada_zoom_view *view, uint64_t leaves);
/* 0 or -ENOMEM. */
int ada_zoom_draw(struct ada_zoom_picture *picture, const struct ada_zoom_thread *thread, const struct ada_zoom_view *view);
void ada_zoom_picture_free(struct ada_zoom_picture *picture);
/* --- where functions are called; the thread is entered ------------------------------------------------------------------- */

struct ada_zoom_functions {
	const uint64_t *ids; /* of the thread's process, sorted */
	size_t count;
	uint64_t mask[4]; /* their bits in a node */
};
/* Sorts the ids, which stay the caller's. */
void ada_zoom_functions_make(struct ada_zoom_functions *functions, uint64_t *ids, size_t count);

/* columns[i] becomes true where a call of one of these functions begins; the others stay. *first becomes the position of the first one,
 * UINT64_MAX: there is none. Leaves before position `since` are passed over. Reads a leaf at least; gives the position from which on nothing
 * was looked at, for it was `until_ns` of CLOCK_MONOTONIC; UINT64_MAX: all was. */
uint64_t ada_zoom_find(bool *columns, uint64_t *first, const struct ada_zoom_thread *thread, const struct ada_zoom_view *view,
		       const struct ada_zoom_functions *functions, uint64_t since, uint64_t until_ns);

/* The nearest call of some functions, however far it is (seek.c). */
struct ada_zoom_seek {
	const struct ada_zoom_thread *thread;
	const struct ada_zoom_functions *functions;
	bool backwards;
	uint64_t next;	  /* position: what lies before it (backwards: from it on) was looked at, or has no such call */
	uint64_t next_ns; /* and nothing else is earlier than that (backwards: later) */
	bool done;	  /* nothing else is left */
	uint64_t found;	  /* position of the call; UINT64_MAX: none so far */
};
/* From the event at `position` on; backwards from the one before it. */
void ada_zoom_seek_open(struct ada_zoom_seek *seek, const struct ada_zoom_thread *thread, const struct ada_zoom_functions *functions,
			uint64_t position, bool backwards);
/* Goes on by a leaf, and by more until it has found one, what is left lies beyond `limit_ns`, or it's `until_ns` of CLOCK_MONOTONIC. */
void ada_zoom_seek_run(struct ada_zoom_seek *seek, uint64_t limit_ns, uint64_t until_ns);

/* --- paths --------------------------------------------------------------------------------------------------------------- */

/* A call, and the calls that it lies in, outermost first, itself the last. end_ns UINT64_MAX: not known. */
typedef ADA_ARRAY(struct ada_zoom_open) ada_zoom_path;
/* 0, -ENOMEM, or -ENOENT: no CALL is at that position. */
int ada_zoom_path_at(ada_zoom_path *path, const struct ada_zoom_thread *thread, uint64_t position);
#endif

/* Inside this room: a leaf's calls, read from its events. */
#ifndef ADA_QUERY_ZOOM_INTERNAL_H
#define ADA_QUERY_ZOOM_INTERNAL_H
#include <pthread.h>
#include "query/zoom/zoom.h"

struct ada_zoom_place { /* where the part's cell of a depth is */
	uint64_t part;
	uint32_t cell;
};

struct ada_zoom_builder {
	/* The reader holds `lock` for a stretch at a time, and takes it again at once. So that others get in between, whoever wants it
	 * holds `turn` until he has it. */
	pthread_mutex_t turn, lock;
	struct ada_zoom_thread *zoomed;
	struct ada_calls calls;			 /* its stack: what is open where the reading stands */
	ADA_ARRAY(struct ada_zoom_place) places; /* by depth */
	struct ada_zoom_node *leaf;		 /* the last one */
	uint64_t first;				 /* position of its first event */
	struct {
		uint64_t number;   /* from 1 */
		uint64_t first_ns; /* its first event */
		size_t cell;	   /* its first */
		uint64_t gap_ns;   /* nothing for so long ends it */
		uint32_t left;	   /* that the leaf may still begin */
		uint64_t splits;   /* parts so far that don't begin a leaf */
	} part;
	int status;
};

/* zoom.c: empty, with a builder. 0 or -ENOMEM. */
int ada_zoom_thread_open(struct ada_zoom_thread *zoomed, const struct ada_thread *thread);
void ada_zoom_thread_close(struct ada_zoom_thread *zoomed);
/* build.c: before the first stretch, and each stretch in turn; builder->status becomes -ENOMEM. */
void ada_zoom_read_open(struct ada_zoom_builder *builder);
struct ada_stretch;
void ada_zoom_read_stretch(struct ada_zoom_builder *builder, const struct ada_stretch *stretch);

/* ahead.c: of CLOCK_MONOTONIC. */
bool ada_zoom_is_late(uint64_t until_ns);
/* build.c: reads the events that are there and weren't read yet, until `until_ns` unless that is 0; `finish`: they are all that come. Adds what it reads to `done`, and ends
 * soon after `others` isn't 0. 0 or -errno. */
int ada_zoom_read(struct ada_zoom_thread *zoomed, bool finish, uint64_t until_ns, atomic_uint_least64_t *done, const atomic_int *others);
/* levels.c: of the leaves, once all are there. 0 or -ENOMEM. */
int ada_zoom_levels(struct ada_zoom_thread *zoomed);

/* Gets each call that begins in the leaf or is open at its beginning, once; `call->end_ns` is UINT64_MAX where it isn't known. */
struct ada_zoom_reader {
	void *context;
	/* The innermost is the last of `calls`' stack; may be NULL. */
	void (*begun)(void *context, const struct ada_calls *calls, const struct ada_call *call);
	void (*ended)(void *context, const struct ada_call *call);
};
/* The leaf's events stay in memory until they are released. */
int ada_zoom_leaf_read(const struct ada_zoom_thread *thread, size_t leaf, const struct ada_zoom_reader *reader); /* 0 or -ENOMEM */

/* Position of a leaf's first event, and the leaf of an event, which is not before the first. */
static inline uint64_t ada_zoom_leaf_first(const struct ada_zoom_thread *thread, size_t leaf)
{
	return thread->first + (uint64_t)leaf * ADA_ZOOM_LEAF;
}

static inline size_t ada_zoom_leaf_at(const struct ada_zoom_thread *thread, uint64_t position)
{
	return (size_t)((position - thread->first) / ADA_ZOOM_LEAF);
}

/* Leaves from <= number < to, which were read, leave this process's memory: pictures of a long thread read thousands. */
static inline void ada_zoom_leaf_release(const struct ada_zoom_thread *thread, size_t from, size_t to)
{
	uint64_t end = ada_zoom_leaf_first(thread, to);

	atf_thread_release(thread->thread->events, ada_zoom_leaf_first(thread, from),
			   end < thread->thread->count ? end : thread->thread->count);
}

/* A call of a table that is sorted by position; NULL: none begins there. */
#define ada_zoom_open_at(table, at)                                                                                                        \
	({                                                                                                                                 \
		size_t number_ = ada_array_below(table, position, at);                                                                     \
                                                                                                                                           \
		number_ < (table)->count && (table)->items[number_].position == (at) ? &(table)->items[number_] : NULL;                    \
	})

/* The column of a time; what lies outside of the view is in its first or last. */
static inline uint32_t ada_zoom_column(const struct ada_zoom_view *view, uint64_t ns)
{
	if (ns < view->from_ns)
		return 0;
	if (ns >= view->to_ns)
		return view->columns - 1;
	/* A division of 128 bits costs several times as much, and nobody looks at years. */
	if (!((view->to_ns - view->from_ns) >> 48) && !(view->columns >> 16))
		return (uint32_t)((ns - view->from_ns) * view->columns / (view->to_ns - view->from_ns));
	return (uint32_t)((unsigned __int128)(ns - view->from_ns) * view->columns / (view->to_ns - view->from_ns));
}

/* Nearly every event: a call above the one on top, or the end of that. Does what ada_calls_feed would do, but for children_ns, which no
 * picture has, and tells nobody. The call that has begun or ended, valid until the next event; NULL: it is no such event. */
static inline struct ada_call *ada_zoom_feed_plain(struct ada_calls *calls, const struct ada_event *event, uint64_t position)
{
	size_t count = calls->stack.count;
	struct ada_call *top = calls->stack.items + count;

	if (calls->after_loss || !count)
		return NULL;
	if (event->event_kind == ADA_EVENT_CALL) {
		if (top[-1].depth >= event->call_depth || count == calls->stack.capacity)
			return NULL;
		*top = (struct ada_call){ .function_id = event->function_id,
					  .caller_id = top[-1].function_id,
					  .start_ns = event->timestamp_ns,
					  .position = position,
					  .losses = calls->losses,
					  .depth = event->call_depth };
		calls->stack.count++;
	} else if (event->event_kind == ADA_EVENT_RETURN && top[-1].depth == event->call_depth &&
		   top[-1].function_id == event->function_id) {
		calls->stack.count--;
		top--;
		top->end_ns = event->timestamp_ns;
		top->end_position = position;
		top->across_loss = top->losses != calls->losses;
	} else {
		return NULL;
	}
	calls->last_ns = event->timestamp_ns;
	return top;
}

/* Adds a later cell of the same depth; of calls that last equally long the first stays. */
static inline void ada_zoom_cell_add(struct ada_zoom_cell *into, const struct ada_zoom_cell *from)
{
	uint32_t calls = into->calls + from->calls < from->calls ? UINT32_MAX : into->calls + from->calls;
	uint64_t busy_ns = into->busy_ns + from->busy_ns;

	if (!into->calls || into->position == UINT64_MAX || (from->position != UINT64_MAX && from->duration_ns > into->duration_ns))
		*into = *from;
	into->calls = calls;
	into->busy_ns = busy_ns;
}

/* A function's bit in a node. A node has no call of a function whose bit it hasn't; of one whose bit it has it may have none, either. */
static inline unsigned int ada_zoom_bit(uint64_t function_id)
{
	return (unsigned int)(function_id * 0x9E3779B97F4A7C15u >> 56);
}

static inline bool ada_zoom_may_have(const struct ada_zoom_node *node, const struct ada_zoom_functions *functions)
{
	uint64_t common = 0;

	for (int i = 0; i < 4; i++)
		common |= node->functions[i] & functions->mask[i];
	return common;
}

/* Whether the event is a call of one of them: find.c. */
bool ada_zoom_is_wanted(const struct ada_zoom_functions *functions, const struct ada_event *event);
#endif

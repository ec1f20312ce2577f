/* Inside this room: a leaf's calls, read from its events. */
#ifndef ADA_QUERY_ZOOM_INTERNAL_H
#define ADA_QUERY_ZOOM_INTERNAL_H
#include <pthread.h>
#include "query/zoom/zoom.h"

struct ada_zoom_place { /* where the leaf's cell of a depth is */
	uint64_t leaf;
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
	uint64_t number;			 /* of the leaf */
	uint64_t first;				 /* position of its first event */
	int status;
};

/* build.c: reads the events that are there and weren't read yet; `finish`: they are all that come. Adds what it reads to `done`, and ends
 * soon after `others` isn't 0. 0 or -errno. */
int ada_zoom_read(struct ada_zoom_thread *zoomed, bool finish, atomic_uint_least64_t *done, const atomic_int *others);
/* levels.c: of the leaves, once all are there. 0 or -ENOMEM. */
int ada_zoom_levels(struct ada_zoom_thread *zoomed);

/* Gets each call that begins in the leaf or is open at its beginning, once; `call->end_ns` is UINT64_MAX where it isn't known. */
struct ada_zoom_reader {
	void *context;
	/* The innermost is the last of `calls`' stack; may be NULL. */
	void (*begun)(void *context, const struct ada_calls *calls, const struct ada_call *call);
	void (*ended)(void *context, const struct ada_call *call);
};
int ada_zoom_leaf_read(const struct ada_zoom_thread *thread, size_t leaf, const struct ada_zoom_reader *reader); /* 0 or -ENOMEM */

/* Leaves that were read leave this process's memory: pictures of a long thread read thousands. */
static inline void ada_zoom_leaf_release(const struct ada_zoom_thread *thread, size_t leaf)
{
	uint64_t end = ((uint64_t)leaf + 1) * ADA_ZOOM_LEAF;

	atf_thread_release(thread->thread->events, (uint64_t)leaf * ADA_ZOOM_LEAF,
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
	return (uint32_t)((unsigned __int128)(ns - view->from_ns) * view->columns / (view->to_ns - view->from_ns));
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

/* A function's bit in a node. */
static inline unsigned int ada_zoom_bit(uint64_t function_id)
{
	return (unsigned int)(function_id * 0x9E3779B97F4A7C15u >> 56);
}

static inline bool ada_zoom_may_have(const struct ada_zoom_node *node, uint64_t function_id)
{
	unsigned int bit = ada_zoom_bit(function_id);

	return node->functions[bit / 64] >> bit % 64 & 1;
}
#endif

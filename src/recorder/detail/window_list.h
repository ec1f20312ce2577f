/* What window.c and window_cut.c share: the list of windows (window.h). */
#ifndef ADA_RECORDER_WINDOW_LIST_H
#define ADA_RECORDER_WINDOW_LIST_H
#include "recorder/detail/window.h"

struct ada_window_entry {
	struct ada_window window;    /* first: pointers are handed out */
	uint64_t known_end;	     /* latest end of its marks' post-rolls, of those that are known */
	uint64_t cap;		     /* a hole begins behind it; UINT64_MAX: none */
	ADA_ARRAY(uint64_t) tickets; /* post-rolls that go on */
	bool keeps;		     /* never ends by itself */
};

struct ada_hole {
	uint64_t from, to;
	uint32_t why;
};

struct ada_windows {
	ADA_ARRAY(struct ada_window_entry *) list; /* by start; ends rise, too */
	ADA_ARRAY(struct ada_hole) holes;	   /* by start; neither overlap nor touch */
	uint64_t start_ns;
	uint64_t ended_ns; /* UINT64_MAX: goes on */
	uint32_t ended_why;
	size_t settled; /* so many at the list's start are settled: nobody looks at them any more */
	size_t marks_kept;
};

/* First entry that ends at or after `ns`. */
size_t ada_windows_find(const struct ada_windows *windows, uint64_t ns);
/* Sets end_ns by what is known. */
void ada_window_entry_bound(struct ada_window_entry *entry);
void ada_windows_remove(struct ada_windows *windows, size_t i);
/* The entry's bounds have changed: merges it with neighbours that it touches now. */
void ada_windows_join(struct ada_windows *windows, size_t i);
int ada_windows_insert(struct ada_windows *windows, size_t i, struct ada_window_entry *entry);
/* The first hole that ends at or after `ns`. */
size_t ada_windows_hole_at(const struct ada_windows *windows, uint64_t ns);
#endif

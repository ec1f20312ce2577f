/* The manifest of a process whose recorder died, as it is made. manifest.c puts it together, manifest_threads.c and manifest_windows.c know
 * what their parts say. */
#ifndef ADA_RECOVER_MANIFEST_H
#define ADA_RECOVER_MANIFEST_H
#include "recover/internal.h"

struct ada_draft_sums {
	uint64_t events, lost, gaps, records;
};

struct ada_draft {
	const struct ada_recovery *recovery;
	const struct ada_process *process;
	const struct ada_saved_windows *windows;
	const struct ada_salvaged *salvaged; /* NULL: nothing of its memory was there */
	json_object *manifest;
	size_t sorted;		    /* so many of its threads[], the first ones, lie by number: in these a thread is looked for */
	struct ada_draft_sums sums; /* of all threads */
};

/* A member, whether it is there or not; `text`: NULL is null. */
void ada_recover_set_text(json_object *object, const char *key, const char *text);
void ada_recover_set_object(json_object *object, const char *key, json_object *value);

int ada_recover_by_number(const void *left, const void *right); /* for json_object_array_sort: by `id` */
/* From now on these are all the threads that are looked for: none of those added behind is asked for. */
void ada_recover_sort_threads(struct ada_draft *draft, json_object *threads);
/* Adds the thread's entry in threads[]: what recovery has to say of the thread. */
json_object *ada_recover_add_thread(struct ada_draft *draft, json_object *threads, const struct ada_thread *thread);
/* Adds threads without a file: none of their events was ever committed. */
void ada_recover_add_absent(struct ada_draft *draft, json_object *threads);
/* Sums of the thread table, and what the header counts. */
void ada_recover_take_counts(const struct ada_draft *draft, json_object *lane, json_object *recording);
/* The windows that are left, behind all threads; `note` says how many were cut. */
void ada_recover_add_windows(struct ada_draft *draft, json_object *note);
#endif

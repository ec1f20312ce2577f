/* What several exports need beside the calls: quoted names, marks and windows, when threads had a CPU, counters over time. */
#ifndef ADA_QUERY_EXPORT_PARTS_H
#define ADA_QUERY_EXPORT_PARTS_H
#include "query/export/export.h"

/* --- names, prepared once each: by their number in the export's list ------------------------------------------------- */
enum ada_export_quoting { ADA_EXPORT_JSON, ADA_EXPORT_CSV, ADA_EXPORT_UTF8 };
struct ada_export_text {
	char *function, *module;
};
struct ada_export_texts { /* all zero but for the quoting: empty */
	enum ada_export_quoting quoting;
	ADA_ARRAY(struct ada_export_text) items;
};
/* NULL: no memory. Stays until the next call. */
const struct ada_export_text *ada_export_text(struct ada_export_texts *texts, struct ada_export *export, const struct ada_process *process,
					      uint64_t function_id, uint32_t *number);
void ada_export_texts_close(struct ada_export_texts *texts);
uint32_t ada_export_symbol_index(const struct ada_name *name); /* of name->symbol */

/* "return", "exception", "open", "unknown" */
const char *ada_export_outcome(int outcome);
/* What relative times count from: the session's start, or the first event if that is earlier. Formats whose numbers are doubles need
 * relative times: ns since boot may be beyond 2^53. */
uint64_t ada_export_base_ns(const struct ada_selection *selection);
/* Path's last part. */
const char *ada_export_base_name(const char *path);
/* What to call a process: its program's file name, else its directory. */
const char *ada_export_process_name(const struct ada_process *process);

/* --- marks and windows of the manifests ------------------------------------------------------------------------------- */
struct ada_export_mark {
	const struct ada_process *process;
	const struct ada_thread *thread; /* NULL: of none */
	uint64_t ns;
	uint64_t window;   /* number in the session */
	uint64_t position; /* index_seq of the marked event, where has_position */
	bool has_position;
	const char *kind, *label; /* NULL: none */
	const char *rule;	  /* its text; NULL: not known */
	const json_object *value; /* NULL: none */
	uint64_t more;		  /* marks like it that were only counted */
};
struct ada_export_window {
	const struct ada_recorded_window *recorded;
	uint64_t number;	 /* in the session */
	uint64_t from_ns, to_ns; /* of it, within the selection; both inclusive */
	const char *kind;	 /* triggerKind; "" none */
};
struct ada_export_marks_receiver {
	void *context;
	int (*window)(void *context, const struct ada_export_window *window);
	int (*mark)(void *context, const struct ada_export_mark *mark);
};
/* Tells the process's marks and windows that lie in the selection, window by window. 0 or what a receiver returned. */
int ada_export_marks(const struct ada_selection *selection, const struct ada_process *process,
		     const struct ada_export_marks_receiver *receiver);

/* --- when a thread had a CPU, by sched.atf ------------------------------------------------------------------------------ */
enum ada_export_cpu_state {
	ADA_EXPORT_CPU_RUNNING,
	ADA_EXPORT_CPU_OFF,	  /* it waits */
	ADA_EXPORT_CPU_PREEMPTED, /* it could run, and has none */
	ADA_EXPORT_CPU_UNKNOWN,	  /* records are missing */
};
struct ada_export_cpu {
	enum ada_export_cpu_state state;
	uint64_t from_ns, to_ns;
	uint32_t other_tid; /* of PREEMPTED: who got the CPU; 0: none of the session's, or not known */
};
const char *ada_export_cpu_name(enum ada_export_cpu_state state);
/* Tells the stretches in order, without gaps, from the thread's first event in the selection (from its first record where that is later) to
 * its last one, or to the process's end where a call is open then. Nothing where the session doesn't say. 0 or what `take` returned. */
int ada_export_cpu(const struct ada_selection *selection, const struct ada_thread *thread, void *context,
		   int (*take)(void *context, const struct ada_export_cpu *stretch));

/* --- events and losses of one process over time ----------------------------------------------------------------------- */
#define ADA_EXPORT_BUCKET_NS 10000000ull
#define ADA_EXPORT_BUCKETS 65536u /* a longer process has longer buckets */
struct ada_export_rates {
	uint64_t start_ns, end_ns, bucket_ns;
	size_t buckets;
	uint64_t *events, *lost; /* by bucket */
	bool any_lost;
};
/* Begins with this process, and forgets what was counted before. 0 or -ENOMEM. */
int ada_export_rates_begin(struct ada_export_rates *rates, const struct ada_selection *selection, const struct ada_process *process);
void ada_export_rates_count(struct ada_export_rates *rates, const struct ada_event *event);
/* The curve of rates->events or rates->lost: where it changes, and its end at 0. */
int ada_export_rates_tell(const struct ada_export_rates *rates, const uint64_t *values, void *context,
			  int (*point)(void *context, uint64_t ns, uint64_t value));
void ada_export_rates_close(struct ada_export_rates *rates);
#endif

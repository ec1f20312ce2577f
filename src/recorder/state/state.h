/* What the recorder's threads share.
 *
 *   main thread     signals, ends of processes, drain, every file but the symbol tables, progress
 *   server          accepts; one thread a conversation: new providers, plans, symbol tables (a hanging client stalls no one)
 *   control         `ada trigger`: changes the policy, and with it segments, under provider->lock; hands all else to main
 *   late            one a late patch: holds the process by ptrace, and ends with it
 *   grower          allocates shared memory ahead of use; sees to it that the main thread isn't late (host/background.h)
 *   stock           makes segments ahead of processes (process/stock.h)
 *   ada-bound       measures the session, and lets its oldest segments go (bound/bound.h)
 *   ada-squeeze     compresses segments that were packed raw (squeeze/squeezer.h)
 *   ada-pack        a few threads that encode and write what is recorded packed (index/packers.h)
 *   sched           writes when threads ran (sched/sched.h)
 *   samples         writes what the system counts of threads (sched/samples.h)
 *   noter           looks where descriptors of marked processes lead to (descriptors/noter.h)
 *   presence        holds what tells agents that the recorder lives
 *   scribe          a few threads that write the manifests and session.json that main has put together (scribe.h)
 *
 * recorder->lock guards the list of providers (which only grows; a provider lives until the end) and the fields that say so.
 * provider->lock guards the provider's modules, and keeps its segment from being unmapped: a thread other than the main one touches the
 * segment only under this lock, and only while `mapped`; behind that a spare one is the main thread's to give away. provider->lock may be
 * held for long (policies, and their memory), so the main thread takes it only where it can come again; what the main thread looks at in
 * every turn is atomic, or under provider->facts, or the policy's. The grower doesn't hold provider->lock while it waits for memory:
 * `growing` keeps the segment mapped. Only the main thread touches lanes, files, exits and clock. Order: recorder->starting,
 * recorder->lock, provider->lock, provider->facts. The policy has locks of its own: policy_state.h.
 */
#ifndef ADA_RECORDER_STATE_H
#define ADA_RECORDER_STATE_H
#include <pthread.h>
#include "base/directory.h"
#include "recorder/bound/bound.h"
#include "recorder/files/place.h"
#include "recorder/files/scribe.h"
#include "recorder/host/background.h"
#include "recorder/host/options.h"
#include "recorder/host/own.h"
#include "recorder/host/presence.h"
#include "recorder/host/process.h"
#include "recorder/host/program.h"
#include "recorder/host/spawn.h"
#include "recorder/index/arena.h"
#include "recorder/index/drain.h"
#include "recorder/index/ledger.h"
#include "recorder/index/sink.h"
#include "recorder/planning/plans.h"

struct ada_module_state {
	bool known; /* the agent told of it */
	bool traced, symbols;
	uint32_t symbols_checksum; /* of modules/ID.tsv, where `symbols` */
	bool named;		   /* not traced, but hooked where triggers name its functions */
	uint32_t named_hooks;	   /* beyond those of `planned`'s filter, because triggers name their functions */
	const struct ada_planned *planned;
	struct ada_error problem; /* why the module isn't traced though asked for */
};

struct ada_heir_age {
	uint32_t generation, turns;
};

/* What a budget did to a process (each word atomic). */
struct ada_stops {
	uint64_t count, total_ns, longest_ns; /* how often and how long it stood still */
	uint64_t worked_ns, dearest_ns;	      /* CPU time of all, and of the one that took most: the rest is what the machine did else */
	uint64_t left, returned;	      /* hooks that went out, and that came back */
};
/* A stretch of time in which a function's hook was out (--budget). */
struct ada_mute {
	uint64_t function_id;
	bool filtered;		 /* calls of a mutex's function that had nobody to wait for; else all of its calls */
	uint64_t from_ns, to_ns; /* boot time; to 0: it still is */
	double calls_a_second;	 /* that it had made until then */
};

struct ada_budget;
struct ada_noted;
struct ada_provider {
	struct ada_recorder *recorder;
	struct ada_provider *parent; /* of a fork's child: the image whose memory it has; else NULL */
	uint32_t number;
	uint32_t ready; /* number that its segment had when it lay ready and the process took it by itself (abi/ready.h); 0: it didn't */
	pid_t pid, parent_pid;
	int pidfd;
	bool unwatched;		  /* main thread's: its end isn't told, it is to be asked for */
	char name[32];		  /* of its directory: pid_123, pid_123_2 */
	char directory[PATH_MAX]; /* below the session's root */
	char program[PATH_MAX];
	char *command; /* as /proc/PID/cmdline: NUL after each argument */
	size_t command_bytes;
	uint64_t start_ns, end_ns;

	pthread_mutex_t lock;
	struct ada_segment segment;
	bool mapped;
	bool growing;	       /* the grower is at work in the segment: set under `lock`, taken back without */
	uint64_t allowed_ns;   /* when the grower last looked at the limits of the process */
	size_t allowed_among;  /* how many processes shared the room then, where no group had a limit; else 0 */
	pthread_mutex_t facts; /* guards modules; nothing under it takes long */
	ADA_ARRAY(struct ada_module_state) modules;
	size_t inherited;     /* of the modules: those that a fork's child has of its parent */
	bool windows_changed; /* as `changed`, but because of windows; the main thread's */
	bool mutes_changed;   /* likewise, because of mutes */
	/* Atomic */
	bool changed;		/* the manifest is out of date */
	bool replaced;		/* by exec: another image of this pid said HELLO */
	bool continued;		/* and that image is recorded: its provider stands for the process */
	uint32_t conversations; /* under way: they still add to modules */
	bool starting;		/* the first of them is under way: the agent may yet say why there is nothing to record */
	bool settled;		/* what its first manifest tells of is there: the main thread takes it in */
	uint64_t gone_ns;	/* when its end was first seen; 0: not yet (ada_provider_note_gone) */
	/* Under `lock` */
	ADA_ARRAY(struct ada_shm_heir) heirs;	  /* images announced, taken out of the segment, and not heard of (heir.h) */
	uint32_t heirs_unlisted;		  /* the number of such images that the table had no room for */
	struct ada_heir_age heir_ages[ADA_HEIRS]; /* main thread's */

	struct ada_drain drain;
	struct ada_ledger ledger;
	uint64_t cpu_ns, cpu_before_ns; /* of the process, when last looked at, and when this image began (atomic) */
	struct ada_budget *budget;	/* recorder/budget; NULL: none yet, or no longer */
	ADA_ARRAY(struct ada_mute) mutes;
	/* Atomic: what recording costs, of the time that the program takes for itself, how many hooks are out, and of which version of the
	 * policy no function is among them */
	uint64_t cost_ppm, muted;
	uint32_t muted_version;
	struct ada_stops stops;
	struct ada_details *details; /* NULL: no detail is kept */
	struct ada_exit_info exit;
	unsigned unused_turns;	      /* turns in a row in which no process had the segment, though its own one lives */
	bool begun, ended, finalized; /* first manifest written; process gone; last manifest written */
	bool spare;		      /* its segment is to be another's, once that has no name of this process any more */
	bool forgotten;		      /* its names in the shared memory and the arena are gone */
	char *stopped;		      /* why recording ended before the process did, in words; NULL: it did not */
	bool stop_as_asked;
	struct ada_paper manifest;
	struct ada_paper descriptors; /* of what was `noted`, which is the noter's; NULL: nothing was */
	struct ada_noted *noted;
	uint64_t noted_ns;	 /* of the last mark that the noter was asked for: main thread's */
	uint64_t manifest_ns;	 /* when it was last put together */
	uint64_t trimmed;	 /* how often it had been written when the heap was last trimmed behind that */
	uint64_t aged_ns;	 /* up to here segments have gone, and detail with them; 0: none have */
	uint32_t policy_version; /* that the main thread has looked at */
	uint32_t names_next;	 /* thread whose name is looked at next: main thread's (names.h) */
	/* Copied from the segment before it is unmapped, so that the manifest can be built at any time */
	struct ada_shm header;
	struct ada_shm_module *module_table;
	struct ada_shm_thread *thread_table; /* by id */
	struct ada_pool_memory {
		uint64_t bytes;	     /* that the pool has got so far */
		uint64_t huge_bytes; /* of these in huge pages; UINT64_MAX: not known */
	} index_memory, detail_memory;
	uint32_t module_count, thread_count;
};

struct ada_unrecorded {
	pid_t pid;
	char program[256];
	char reason[256];
};

struct ada_recorder {
	const struct ada_trace_options *options;
	struct ada_program program;
	struct ada_session session;
	struct ada_inheritance inheritance;
	struct ada_shared shared;
	struct ada_arena_writer *arena; /* main thread's, but for the notes of providers; NULL: there is none */
	pid_t keeper;			/* not above 0: there is none */
	struct ada_presence_held presence;
	struct ada_filter *filter;
	struct ada_module_filter *module_filter;
	struct ada_filter *kept; /* --keep; NULL: nothing */
	struct ada_plans *plans;
	struct ada_policy *policy;
	struct ada_clock *clock;
	uint32_t ticks_a_wait; /* ADA_WAIT_NS by that clock, as it began */
	/* As the first agent has measured it (abi/wire.h); 0: not known. The second is read only where the first is there (atomic) */
	uint32_t price_event, price_object;
	struct ada_own own; /* main thread's */
	struct ada_background background;
	struct ada_sink *sink;
	bool flush;	     /* main thread's: what threads have done by now is wanted in their files, */
	uint64_t flushed_ns; /* and when that was last begun */
	struct ada_packers *packers;
	struct ada_bound *bound; /* NULL: the session may be of any size and age */
	struct ada_squeezer *squeezer;
	struct ada_scribe *scribe;
	struct ada_paper session_paper;
	struct ada_lane_options lane_options;
	struct ada_server *server;
	struct ada_stock *stock;     /* NULL: there is none */
	struct ada_sched *sched;     /* the scheduling lane; NULL: there is none, and */
	struct ada_error no_sched;   /* ... why; "": none was asked for */
	struct ada_samples *samples; /* NULL: there are none, and */
	struct ada_error no_samples; /* ... why */
	struct ada_noter *noter;     /* NULL: nothing is noted */
	struct ada_control *control;
	const char *control_path; /* of its socket, as session.json has it; NULL: it is closed */
	int wake;		  /* eventfd: other threads have news for the main one */
	int grower_wake;	  /* the grower's eventfd */
	bool grower_sleeps;	  /* and it sees new processes only by that one (atomic) */
	uint64_t grower_naps;	  /* since when it sleeps longer than it would while anything stirs; 0: it doesn't (atomic) */
	pid_t main_pid;
	int main_pidfd;
	struct ada_exit_info main_exit;

	ADA_ARRAY(char *) labels; /* of `ada mark`, main thread's: a manual mark's value is the number of its label, from 1 on */

	pthread_mutex_t starting; /* taken before `lock`, under which nothing takes long: one provider is made at a time */
	pthread_mutex_t lock;
	ADA_ARRAY(struct ada_provider *) providers;
	ADA_ARRAY(struct ada_unrecorded) unrecorded;
	bool closing;			  /* no new providers: under `starting`, too */
	uint8_t secret[ADA_SECRET_BYTES]; /* that agents of other users must know */
	bool has_secret;
	char agent[PATH_MAX]; /* libada-agent.so */
	/* For the next provider: what the pools of live providers hold, how many these are, and how many it has come across at all (atomic).
	 * The grower writes them */
	uint64_t pool_bytes, pool_count, pool_seen;
	/* What the machine leaves to the pools, and when the grower saw that the recorder's control groups have no limit (atomic) */
	uint64_t machine_room, unlimited_ns;
	int fold_told;	      /* -errno of a segment that could not be folded, as stderr was told; 0: none */
	size_t active;	      /* threads that had events when it was last counted */
	uint64_t looked_ns;   /* when files that are being written were last looked at: whether they have to be closed */
	uint64_t detail_open; /* bytes of detail files that are being written, then */
	bool sweeps_kept;     /* windows were given up: what they kept goes */
	bool bound_told;      /* stderr was told that the limit can't be kept */
	int disk_told;	      /* -errno of the disk's trouble that stderr was told of; 0: that there is none */
	int lane_files;	      /* files of lanes leave descriptors from this number on to all else */
	bool main_heard;      /* the spawned program's agent said HELLO */
};
#endif

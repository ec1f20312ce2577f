/* What the life half of the agent shares among its own files: the module table behind the one in the segment, and the
 * steps of a process's life (start.c, module.c, apply.c, got.c, process.c, intercept.c, crash.c).
 *
 * Who runs when: at the start one thread, before any constructor. Later the loader calls in (loader.c) with its lock held,
 * so module table and plans have one writer at a time. Only the text ranges are read by others, at any time.
 */
#ifndef ADA_AGENT_LIFE_H
#define ADA_AGENT_LIFE_H
#include <elf.h>
#include <link.h>
#include "abi/intercept.h"
#include "agent/agent.h"
#include "agent/heir.h"
#include "agent/mem.h"
#include "agent/sys.h"

struct ada_symbols {			/* the dynamic symbols of a module, as they lie in memory */
	uint64_t bias;
	const Elf64_Sym *table;
	const char *strings;
	const uint32_t *gnu_hash;	/* DT_GNU_HASH; NULL: the module can't be searched */
	const uint16_t *versions;	/* DT_VERSYM, or NULL */
	const Elf64_Verdef *definitions;
	uint32_t definition_count;
};

enum ada_module_state {
	ADA_MODULE_EMPTY = 0,
	ADA_MODULE_KNOWN,		/* in the segment's table */
	ADA_MODULE_PLANNED,		/* plan mapped, entries hooked; its imports wait until it is relocated */
	ADA_MODULE_DONE,
	ADA_MODULE_GONE,
};

struct ada_module {			/* same number as in the segment's table */
	uint32_t state;			/* enum ada_module_state */
	uint32_t reply;			/* enum ada_plan_reply_flag */
	const struct link_map *map;
	uint64_t bias;
	uint64_t start, end;		/* span of its PT_LOAD segments, in memory */
	const Elf64_Phdr *segments;
	uint32_t segment_count;
	uint32_t flags;			/* enum ada_module_flag */
	bool initial;			/* there at the start: searched first for symbols, as the loader does */
	uint64_t init;			/* what DT_INIT was before loader.c changed it; 0: it did not */
	const struct ada_plan_header *plan;	/* mapped until the end; NULL: none */
	const uint8_t *filter;			/* bit by hook number, then by import number; NULL: all */
	uint32_t filter_bytes;
	uint32_t function_base;			/* number in the policy's tables of its function 0; 0: none has one */
	uint8_t *applied;			/* bit by function: its entry is patched; NULL: no one's is */
	struct ada_symbols symbols;
	/* Kept when it is unloaded, for the same file at the same place again */
	uint64_t *entries;			/* by function: where its entry's jump goes; 0: not hooked. NULL: none is */
	void *imports;				/* got.c's: targets and trampolines of its GOT slots */
	const void *thunk;			/* loader.c's, for its DT_INIT; NULL: none yet */
	bool fresh;				/* loaded, or loaded again, since loader.c last looked */
	bool refused;				/* there was no room for its trampolines, or some of them */
};

/* --- module.c: the table. Modules are numbered in the order of their finding. A module that is unloaded keeps its number, and with it
 * plan, trampolines and stubs: the same file at the same place is this module again, so that a plugin that comes and goes costs
 * nothing each time. Where the table is full a module is left alone, and counted. --- */
extern struct ada_module ada_modules[ADA_MODULES_MAX];		/* state.S */
struct ada_module *ada_module_at(uint32_t id);
struct ada_shm_module *ada_module_entry(uint32_t id);		/* its half in the segment */
uint32_t ada_module_count(void);
struct ada_module *ada_module_of(uint64_t address);		/* the one whose span holds it; NULL: none */
bool ada_module_changed(void);					/* the link map differs from the table */
bool ada_module_settled(void);					/* the loader is at rest, and the table is up to date */
bool ada_module_move_agent_last(void);				/* our own entry of the link map; false: not found */
/* Its first definition behind the agent, as the loader finds one for RTLD_NEXT: a definition before it may call ours. 0: none. */
uint64_t ada_module_find_symbol(const char *name);
/* Link map against table: new ones are planned and their entries hooked, gone ones marked. `auxiliary`: the kernel's vector,
 * at the start only. `conversation` NULL: they are entered in the table, and left alone for good. */
int ada_module_scan(struct ada_conversation *conversation, const uint64_t *auxiliary);
void ada_module_refuse(struct ada_module *module);	/* what its plan says can't all be hooked: counted */
void ada_module_scan_imports(void);		/* of modules that were planned and have been relocated since */
void ada_module_copy_table(struct ada_shm *to, const struct ada_shm *from);	/* a fork's child has its parent's modules */
bool ada_module_filter(const struct ada_module *module, uint32_t bit);	/* false: the user left it out */
bool ada_module_applied(const struct ada_module *module, uint32_t function);	/* its entry is patched */
static inline uint32_t ada_module_number(const struct ada_module *module, uint32_t function)	/* in the policy's tables; 0: none */
{
	return module->function_base ? module->function_base + function : 0;
}
/* The PT_LOAD segment that holds an address of this process, or NULL. */
const Elf64_Phdr *ada_module_segment(const struct ada_module *module, uint64_t address);

/* --- place.c: the loader's list as it was last seen --- */
struct ada_place {
	const struct link_map *map;			/* NULL: none */
	uint64_t bias;
	uint32_t id;					/* of its module; ADA_NONE: there was no room for it */
	uint32_t round;					/* module.c's, when it was last seen */
};
struct ada_place *ada_place_find(const struct link_map *map);	/* NULL: it wasn't there */
bool ada_place_put(const struct link_map *map, uint32_t id);	/* which isn't there. False: no memory */
void ada_places_keep(uint32_t round);			/* of that round; the others are forgotten */
uint32_t ada_places_used(void);
uint32_t ada_places_refused(void);

/* --- text.c: which return addresses may be given a stub --- */
void ada_text_publish(void);					/* after each change of the table */

/* --- symbol.c: the dynamic linker's search, without the dynamic linker --- */
void ada_symbols_read(struct ada_symbols *symbols, const Elf64_Dyn *dynamic, uint64_t bias);
/* The defined symbol of that name; version "" is any default one. NULL: none. */
const Elf64_Sym *ada_symbols_find(const struct ada_symbols *symbols, const char *name, const char *version);

/* --- plan.c, apply.c, got.c --- */
const struct ada_plan_function *ada_plan_function_at(const struct ada_plan_header *plan, uint32_t number);
const char *ada_plan_name(const struct ada_plan_header *plan, uint32_t offset);
/* Number of the function that begins at `address` (of the file), or ADA_PLAN_NONE. `ifunc`: of that sort, rather. */
uint32_t ada_plan_find(const struct ada_plan_header *plan, uint64_t address, bool ifunc);
bool ada_plan_fits(const struct ada_plan_header *plan, uint64_t bytes);	/* every table lies inside */
/* Patches those entries of a module that its plan, reply and filter say and that aren't patched yet. `late`: while the program
 * runs, with every other thread stopped. */
int ada_apply(struct ada_module *module, uint32_t id, bool late);
int ada_apply_again(struct ada_module *module);		/* the same patches, after the module was loaded again */
void ada_got_apply(struct ada_module *module, uint32_t id);	/* needs the module relocated */
/* GOT hooks that lead to a function of module `to` whose entry is patched by now go on behind its hook: one event a call.
 * entries: by hook number, its trampoline; 0: none. */
void ada_got_forward(const struct ada_module *to, uint32_t id, const uint64_t *entries);

/* --- connect.c --- */
struct ada_shm *ada_connect_segment(const struct ada_conversation *conversation, uint64_t *bytes);	/* NULL: none came */
uint32_t ada_connect_flags(const struct ada_conversation *conversation);	/* enum ada_welcome_flag */
/* The plan of a module; *plan NULL where the recorder has none. reply->filter_bytes of filter live until the next call. 0 or -errno. */
int ada_connect_module(struct ada_conversation *conversation, uint32_t id, uint32_t flags, struct ada_plan_reply *reply,
		       const struct ada_plan_header **plan, const uint8_t **filter);
int ada_connect_applied(struct ada_conversation *conversation, uint32_t id);
int ada_connect_unload(struct ada_conversation *conversation, uint32_t id);
void ada_connect_end(struct ada_conversation *conversation);	/* DONE, and closes */
void ada_connect_fail(struct ada_conversation *conversation, int status);	/* FAILED, and closes */
bool ada_connect_was_heard(void);			/* the last ada_connect said HELLO, so the recorder knows of this process */
enum ada_disable ada_connect_reason(int status);	/* of a failure, as -errno */
bool ada_connect_set_path(const char *path);			/* of the socket; false: too long */
const char *ada_connect_path(void);
void ada_connect_set_secret(const uint8_t secret[ADA_SECRET_BYTES]);
int ada_connect_agent(void);				/* a descriptor of the agent's file, close-on-exec; or -errno */

/* --- process.c, environment.c --- */
void ada_process_attach(struct ada_shm *shm, uint64_t bytes, uint32_t flags);
void ada_process_watch_forks(void);
void ada_process_start(void);			/* in a new image, before it is attached */
/* The thread that traces the calling one, as /proc says: 0 where it is in a pid namespace outside ours, too. */
uint32_t ada_process_tracer(void);
bool ada_process_is_traced(void);		/* since it began, and not by the recorder */
uint32_t ada_process_pid(void);			/* of the process that records here: a vfork child's is another */
bool ada_process_is_own(void);			/* false: a vfork child that runs in our memory */
/* It has put seccomp filters on itself since the start: a socket could be the end of it, so there is no more conversation. */
bool ada_process_is_confined(void);
bool ada_process_follows(void);			/* exec'd images are to be recorded too */
bool ada_environment_take(char **environment);	/* ours out of the program's environment; false: it isn't for us */
/* Words (8 bytes) that ada_environment_give needs for this environment. */
size_t ada_environment_words(char *const *environment);
/* Begins with the new array of pointers. The image that gets it says in its HELLO which announcement it is. */
void ada_environment_give(char *const *environment, uint64_t *words, const char *preload, const struct ada_heir_ticket *ticket);
/* How an image that is executed now finds the agent: by its path, or by a descriptor of it, where the path leads elsewhere. */
struct ada_way {
	const char *preload;			/* the entry in the environment */
	int fd;					/* open for it; -1: none */
	char text[sizeof "LD_PRELOAD=" ADA_PRELOAD_FD + 10];
};
enum ada_heir_kind ada_environment_way(struct ada_way *way);	/* ADA_HEIR_EXEC: there is one */
void ada_environment_way_end(const struct ada_way *way);	/* the exec failed */
const struct ada_heir_ticket *ada_environment_ticket(void);	/* that this image was given */
/* ADA_HEIR_EXEC: exec of it may be given our environment; else why not. */
enum ada_heir_kind ada_image_kind(int directory, const char *path, int flags);

/* --- restraint.c, confine.c: what the program forbids itself, or lets its parent see --- */
enum ada_restraint_kind {
	ADA_RESTRAINT_NONE = 0,
	ADA_RESTRAINT_FILTER,		/* this struct sock_fprog, by seccomp */
	ADA_RESTRAINT_STRICT,		/* strict seccomp */
	ADA_RESTRAINT_COUNTER,		/* the calling thread reads no TSC */
	ADA_RESTRAINT_DISPATCH,		/* the calling thread's system calls are dispatched to user space */
	ADA_RESTRAINT_TRACED,		/* PTRACE_TRACEME */
};
struct ada_restraint {
	enum ada_restraint_kind kind;
	bool guest, held, forbids, watched;
	struct ada_dispatch dispatch;		/* as it was */
};
/* Around the call that asks for it. `kept`: the kernel did it. argument: of a filter, its address; of a dispatch, the selector's. */
void ada_restraint_begin(struct ada_restraint *restraint, enum ada_restraint_kind kind, uint64_t argument);
void ada_restraint_end(const struct ada_restraint *restraint, bool kept);
enum ada_heir_kind ada_restraint_reason(void);	/* why what is executed from here is not given the agent; ADA_HEIR_EXEC: it may be */
enum ada_filter_verdict { ADA_FILTER_ALLOWS, ADA_FILTER_FORBIDS, ADA_FILTER_REFUSED };	/* REFUSED: by the kernel, it is none */
enum ada_filter_verdict ada_filter_try(uint64_t program);

/* --- unwinder.c --- */
void ada_unwinder_start(void);			/* finds the real dl_iterate_phdr */

/* --- loader.c, late.c --- */
extern uint32_t ada_life_busy;			/* threads that change the table of modules: one at most, but for a moment */
/* Asks for the hooks of a module that the policy has come to name since its plan was applied. 0 or -errno. */
int ada_late_module(struct ada_conversation *conversation, uint32_t id, uint32_t flags);	/* LATE, AGAIN */
void ada_late_attach(struct ada_shm *shm);	/* the recorder may have hooks put in from now on */
void ada_late_forbid(void);			/* no longer */
void ada_loader_watch(void);			/* patches the loader's breakpoint function */

/* --- lock.c */
/* mlockall without what is ours. `call`: mlockall as the program has called it, 0 or else errno is set. */
long ada_lock_all(long flags, long (*call)(long flags));

/* --- intercept.c, crash.c, deliver.c --- */
struct sigaction;
/* The replacement of the function at `address` (of the file), or NULL; and where to put its original's way on. */
void *ada_intercept_replacement(const struct ada_module *module, uint64_t address, void ***original);
void ada_base_follow(void);		/* some module's code may set the FS base */
bool ada_base_moved(void);		/* the calling thread has no thread-local data of ours, as it seems */
bool ada_intercept_is_active(enum ada_intercept which);
void ada_crash_watch(void);
bool ada_crash_unwatch(void);		/* fatal signals are as without us from now on; false: they were */
bool ada_crash_signal(int number);			/* one that says that the program is broken */
bool ada_crash_watches(int number);			/* one that we handle where the program does not */
void ada_crash_rewatch(int number);			/* it may have become SIG_DFL without sigaction */
void ada_crash_dress(struct sigaction *action);		/* SIG_DFL becomes our handler */
void ada_crash_undress(struct sigaction *action);	/* our handler becomes SIG_DFL */
bool ada_signal_named(int number);			/* by a rule of the policy in force */
void ada_deliver_dress(struct sigaction *action);	/* the program's handler becomes one that marks and goes on into it */
void ada_deliver_undress(struct sigaction *action);

/* A broken invariant or something that could not be done: counted, and the program goes on. */
void ada_count_error(void);
#endif

/* The modules of this process and the hooks in them: the table behind the one in the segment, the loader's list, the text whose calls
 * get a stub, and patches, trampolines and GOT slots by the recorder's plans.
 *
 * Who runs when: at the start one thread, before any constructor. Later the loader calls in (loader.c) with its lock held, so module
 * table and plans have one writer at a time. Other threads read only the text ranges, at any time.
 */
#ifndef ADA_AGENT_PATCH_H
#define ADA_AGENT_PATCH_H
#include <elf.h>
#include <link.h>
#include "agent/ground/mem.h"
#include "agent/ground/sys.h"
#include "agent/hook/hook.h"
#include "agent/talk/talk.h"

struct ada_symbols { /* the dynamic symbols of a module, as they lie in memory */
	uint64_t bias;
	const Elf64_Sym *table;
	const char *strings;
	const uint32_t *gnu_hash; /* DT_GNU_HASH; NULL: the module can't be searched */
	const uint16_t *versions; /* DT_VERSYM, or NULL */
	const Elf64_Verdef *definitions;
	uint32_t definition_count;
};

enum ada_module_state {
	ADA_MODULE_EMPTY = 0,
	ADA_MODULE_KNOWN,   /* in the segment's table */
	ADA_MODULE_PLANNED, /* plan mapped, entries hooked; its imports wait until it is relocated */
	ADA_MODULE_DONE,
	ADA_MODULE_GONE,
};

struct ada_module {	/* same number as in the segment's table */
	uint32_t state; /* enum ada_module_state */
	uint32_t reply; /* enum ada_plan_reply_flag */
	const struct link_map *map;
	uint64_t bias;
	uint64_t start, end; /* span of its PT_LOAD segments, in memory */
	const Elf64_Phdr *segments;
	uint32_t segment_count;
	uint32_t flags;			    /* enum ada_module_flag */
	bool initial;			    /* there at the start: searched first for symbols, as the loader does */
	uint64_t init;			    /* what DT_INIT was before loader.c changed it; 0: it did not */
	const struct ada_plan_header *plan; /* mapped until the end; NULL: none */
	const uint8_t *filter;		    /* bit by hook number, then by import number; NULL: all */
	uint32_t filter_bytes;
	uint32_t function_base; /* number in the policy's tables of its function 0; 0: none has one */
	uint8_t *applied;	/* bit by function: its entry is patched; NULL: no one's is */
	struct ada_symbols symbols;
	/* Kept when the module is unloaded, for the same file at the same place again */
	int32_t *bound;	   /* by call: how far its near stub lies from its return address; 0: it has none. NULL: none has */
	uint64_t *entries; /* by function: where its entry's jump goes; 0: not hooked. NULL: none is */
	void *imports;	   /* got.c's: targets and trampolines of its GOT slots */
	const void *thunk; /* loader.c's, for its DT_INIT; NULL: none yet */
	bool fresh;	   /* loaded, or loaded again, since loader.c last looked */
	bool refused;	   /* there was no room for its trampolines, or some of them */
};

/* --- module.c: the table. Modules are numbered as they are found. A module that is unloaded keeps its number, plan, trampolines and
 * stubs: the same file at the same place is this module again, so a plugin that comes and goes costs nothing more. A module that finds
 * the table full is left alone, and counted. --- */
extern struct ada_module ada_modules[ADA_MODULES_MAX]; /* state.S */
struct ada_module *ada_module_at(uint32_t id);
struct ada_shm_module *ada_module_entry(uint32_t id); /* its half in the segment */
uint32_t ada_module_count(void);
extern uint32_t ada_life_busy;			    /* threads that change the table: one at most, except for a moment */
struct ada_module *ada_module_of(uint64_t address); /* the module whose span holds the address; NULL: none */
void ada_module_add(struct ada_shm *shm);	    /* adds the module at ada_module_count, which is filled in */
void ada_module_refuse(struct ada_module *module);  /* counts a module whose plan can't be applied whole */
void ada_module_copy_table(struct ada_shm *to, const struct ada_shm *from);		     /* a fork's child has its parent's modules */
bool ada_module_filter(const struct ada_module *module, uint32_t bit);			     /* false: the user left it out */
bool ada_module_applied(const struct ada_module *module, uint32_t function);		     /* its entry is patched */
bool ada_module_name_begins(const struct ada_module *module, const char *begin);	     /* its file's, without the directory */
static inline uint32_t ada_module_number(const struct ada_module *module, uint32_t function) /* in the policy's tables; 0: none */
{
	return module->function_base ? module->function_base + function : 0;
}
/* The PT_LOAD segment that holds an address of this process, or NULL. */
const Elf64_Phdr *ada_module_segment(const struct ada_module *module, uint64_t address);
uint64_t ada_module_constants_at(uint64_t address); /* ada_sys_constants */

/* --- mutex.c: filters of libc's mutexes (hook/filter.c) --- */
#define ADA_MUTEX_FUNCTIONS 5u /* lock, trylock, unlock; with a time limit: two */
struct ada_mutexes {
	uint64_t lock, try_lock, unlock; /* their trampolines; 0: not hooked */
	uint64_t entries[ADA_MUTEX_FUNCTIONS], filters[ADA_MUTEX_FUNCTIONS];
	uint32_t count;
};
bool ada_mutex_wants_filter(const struct ada_module *module, const struct ada_plan_hook *hook);
/* Builds the filter of the function with these flags, whose trampolines begin there. 0 or -errno. */
int ada_mutex_add(struct ada_mutexes *mutexes, struct ada_region *region, uint16_t flags, uint64_t entry, uint64_t twin);
void ada_mutex_offer(const struct ada_mutexes *mutexes); /* to the recorder, once the region is sealed */

/* --- place.c: the loader's list as it was last seen --- */
struct ada_place {
	const struct link_map *map; /* NULL: none */
	uint64_t bias;
	uint32_t id;	/* of its module; ADA_NONE: the module table had no room */
	uint32_t round; /* module.c's round in which it was seen last */
};
struct ada_place *ada_place_find(const struct link_map *map); /* NULL: it wasn't there */
bool ada_place_put(const struct link_map *map, uint32_t id);  /* which isn't there. False: no memory */
void ada_places_keep(uint32_t round);			      /* of that round; the others are forgotten */
uint32_t ada_places_refused(void);
struct ada_place *ada_place_of(const struct link_map *map); /* of the very module that was there */
const struct link_map *ada_places_list(void);		    /* the loader's, as it is */
bool ada_module_changed(void);				    /* the link map differs from the table */
bool ada_module_settled(void);				    /* the loader is at rest, and the table is up to date */

/* --- text.c: which return addresses may be given a stub --- */
bool ada_module_text_is_hookable(uint64_t return_address); /* ada_above.text_is_hookable */
void ada_text_publish(void);				   /* after each change of the table */

/* --- symbol.c: the dynamic linker's search, without the dynamic linker --- */
void ada_symbols_read(struct ada_symbols *symbols, const Elf64_Dyn *dynamic, uint64_t bias);
/* The defined symbol of that name; version "" is any default one. NULL: none. */
const Elf64_Sym *ada_symbols_find(const struct ada_symbols *symbols, const char *name, const char *version);

/* --- scan.c --- */
bool ada_module_move_agent_last(void); /* our own entry of the link map; false: not found */
/* The name's first definition behind the agent, as the loader finds one for RTLD_NEXT: a definition before the agent may call ours. 0:
 * none. */
uint64_t ada_module_find_symbol(const char *name);
/* Compares link map and table: plans new modules and hooks their entries, marks those that are gone. `auxiliary`: the kernel's vector, at
 * the start only. `conversation` NULL: new modules are entered in the table, and left alone for good. */
int ada_module_scan(struct ada_conversation *conversation, const uint64_t *auxiliary);
void ada_module_scan_imports(void); /* hooks the imports of modules that were planned and have been relocated since */

/* --- apply.c, got.c --- */
/* Set by start.c: returns the agent's own function for the one at `address` (of the file), or NULL; where to put the way on into the
 * original; and where to put the way there that records the call, if it has use for one. NULL: there are none. */
typedef void *ada_replacement_function(const struct ada_module *module, uint64_t address, void ***original, uint64_t **recorded);
extern ada_replacement_function *ada_apply_replacement;
/* Patches those entries of a module that its plan, reply and filter say and that aren't patched yet. `late`: while the program
 * runs, with every other thread stopped. */
int ada_apply(struct ada_module *module, uint32_t id, bool late);
int ada_apply_again(struct ada_module *module);		    /* the same patches, after the module was loaded again */
void ada_got_apply(struct ada_module *module, uint32_t id); /* needs the module relocated */
/* Lets GOT hooks that lead to a function of module `to` whose entry is patched by now go on behind that entry's hook: one event a call.
 * entries: trampolines by hook number; 0: none. */
void ada_got_forward(const struct ada_module *to, uint32_t id, const uint64_t *entries);

/* --- pages.c: pages of a module's text that are about to change --- */

struct ada_pages {
	uint8_t *changed; /* bit by page; NULL: not open */
	uint64_t start, count;
};

bool ada_pages_open(struct ada_pages *pages, const struct ada_module *module); /* false: no memory */
bool ada_pages_add(struct ada_pages *pages, uint64_t address);		       /* true: it wasn't one yet */
bool ada_pages_have(const struct ada_pages *pages, uint64_t address);
void ada_pages_copy(const struct ada_pages *pages); /* makes them private; they may be written to */
void ada_pages_close(struct ada_pages *pages);

/* --- bind.c: calls that lead to near stubs. `entries`: the job's trampolines by hook number; 0: none --- */
/* Chooses calls, adds their pages to those of the `patched` patches, and builds the calls' near stubs. */
void ada_bind_build(struct ada_module *module, const uint64_t *entries, struct ada_pages *pages, uint32_t patched);
uint32_t ada_bind_write(const struct ada_module *module, const uint64_t *entries); /* into the open text; how many it has led there */

/* --- loader.c, late.c --- */
/* Asks for hooks of a module that the policy has come to name since the module's plan was applied. 0 or -errno. */
int ada_late_module(struct ada_conversation *conversation, uint32_t id, uint32_t flags); /* LATE, AGAIN */
void ada_late_attach(struct ada_shm *shm); /* the recorder may have hooks put in from now on */
void ada_late_forbid(void);		   /* no longer */
/* Patches the loader's breakpoint function. `changed` is called whenever modules have come or gone. */
void ada_loader_watch(void (*changed)(void));
#endif

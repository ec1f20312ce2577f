/* What the files of the policy share: rules and their history, which functions they name in which file, and each provider's
 * tables.
 *
 * There are three locks. `late` is held while processes are patched late, one after the other; the agent's questions are answered
 * meanwhile. `change` is held for whole changes (a rule, a module, a provider); its holder may have taken nothing but `late` before.
 * `lock` guards what readers look at (rules, version, hashes, cost, the list of tables); it may be taken under any other lock, and none
 * under it. Whoever writes those things holds `change` and `lock`.
 *
 *   late -> change -> recorder->lock -> provider->lock -> lock
 */
#ifndef ADA_RECORDER_POLICY_STATE_H
#define ADA_RECORDER_POLICY_STATE_H
#include <pthread.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/hash.h"
#include "recorder/index/segment.h"
#include "recorder/policy/policy.h"
#include "trigger/capture.h"

/* Beside a function's number: */
#define ADA_POLICY_LITERAL (1u << 31) /* a literal pattern fits it */
#define ADA_POLICY_BEGINS (1u << 30)  /* of a rule of spans, the function begins; */
#define ADA_POLICY_ENDS (1u << 29)    /* ends; it may do both. Of other rules it always has this */
#define ADA_POLICY_NUMBER(word) ((word) & (ADA_POLICY_ENDS - 1))
#define ADA_NO_SLOT UINT32_MAX

struct ada_policy_rule {
	uint32_t id, slot, since, until; /* versions; until UINT32_MAX: in force */
	uint32_t incarnation;
	struct ada_trigger *trigger;
	struct ada_rule agent; /* the agent's form */
	int flags;	       /* enum ada_policy_flag of the functions that it names */
	bool typed;	       /* the type of its value is settled */
	/* Of spans, the slot and form of what begins (ADA_RULE_SPAN_BEGIN); else ADA_NO_SLOT */
	uint32_t begin_slot;
	bool redacted; /* what it compares is an argument that --redact drops, of some function */
	struct ada_rule begin;
	bool begin_typed;
	bool *hits;			     /* by pattern: some function fitted */
	bool *told;			     /* by pattern: the user knows that no function does */
	uint64_t matches, marks, overlooked; /* of providers that are gone */
};

struct ada_policy_match {
	const struct ada_policy_rule *rule;
	ADA_ARRAY(uint32_t) functions; /* ADA_POLICY_NUMBER: symbolIndex */
	bool told;		       /* of those that can't be hooked */
};

struct ada_policy_captured {
	uint32_t function; /* symbolIndex */
	uint8_t set;	   /* of ada_policy.sets */
	bool named;	   /* --capture names it literally, and the user hasn't been told yet if it can't be hooked */
};

struct ada_policy_redacted {
	uint32_t function;  /* symbolIndex */
	uint32_t arguments; /* bit N: argument N, of 1 to 6 */
};

/* The functions of a file, which are the same in both of its plans (names only, decoded). */
struct ada_policy_image {
	ADA_ARRAY(const struct ada_plan *) plans;
	char *path;				    /* NULL: not known yet */
	ADA_ARRAY(struct ada_policy_match) matches; /* of rules in force, where they name any */
	ADA_ARRAY(struct ada_policy_captured) captured;
	ADA_ARRAY(struct ada_policy_redacted) redacted; /* by function */
};

struct ada_policy_module {
	uint32_t id, base; /* base: number of its function 0; 0: none has one */
	struct ada_policy_image *image;
	const struct ada_plan *plan; /* decoded: `hooked` has its numbers; NULL: nothing is hooked */
	uint8_t *hooked;	     /* by hook number: the agent was told to; NULL with a plan: all */
	uint8_t *patched;	     /* which of these a late patch hooked: a child may have been forked before. NULL: none */
	/* What a late patch is about to hook in all */
	const struct ada_planned *late; /* NULL: nothing */
	uint8_t *late_hooks;
};

/* A provider's share: numbers of its functions, and what its two tables hold. The policy only writes the segment's memory, never reads
 * it, but for the byte in which it changes a bit (policy_mute.c). */
struct ada_policy_tables {
	struct ada_provider *provider;
	ADA_ARRAY(struct ada_policy_module) modules;
	uint32_t functions; /* the highest number given */
	int current;	    /* the table in force */
	uint64_t generation[2];
	uint32_t functions_ready[2], classes_ready[2]; /* numbers and classes that have pages */
	uint32_t incarnations[ADA_RULES_MAX];	       /* of the states; under `lock`, too. 0: being made */
	struct ada_table classes;		       /* of the table in force: mask -> class */
	uint32_t class_count;			       /* class 0 included */
	struct ada_table redacted;		       /* under `lock`: function id -> arguments as in ada_policy_redacted */
	bool redact_all;			       /* under `lock`: there was no memory for one of them */
	ADA_ARRAY(uint8_t) muted;		       /* under provider->lock, by number: 1, it is (policy_mute.c); may be shorter */
	bool stale;				       /* the table in force can't be extended */
	bool left;				       /* its segment is going or gone: under `lock` */
	bool failed;				       /* told that /dev/shm has no room */
	uint32_t late_told;			       /* under `late`: as of this version the user knows what isn't hooked */
};

struct ada_policy {
	pthread_mutex_t late, change, lock;
	struct ada_recorder *recorder;
	double ticks_per_ns;
	bool strict;
	struct ada_rolls rolls;
	ADA_ARRAY(struct ada_policy_rule *) rules; /* all that ever were, by id */
	ADA_ARRAY(struct ada_policy_rule *) by_slot[ADA_RULES_MAX];
	ADA_ARRAY(uint64_t) hashes; /* by version - 1 */
	uint32_t version;
	uint32_t incarnations[ADA_RULES_MAX];
	struct ada_policy_rule *begins[ADA_RULES_MAX]; /* in force, of which the slot is the begin_slot */
	uint32_t freed[ADA_RULES_MAX];		       /* version that freed the slot; 0: never used */
	ADA_ARRAY(struct ada_policy_image *) images;
	ADA_ARRAY(struct ada_policy_tables *) tables;
	ADA_ARRAY(uint64_t) masks;   /* scratch: by function number */
	ADA_ARRAY(uint8_t) objects;  /* scratch: flags that the plans and captures say, by function number */
	ADA_ARRAY(uint8_t) captured; /* scratch: number of the set, by function number */
	struct ada_capture_list captures, redactions;
	struct ada_capture_set sets[ADA_CAPTURE_SETS]; /* from 1 on: what is captured of some function */
	uint32_t set_count;
	struct ada_policy_cost cost;
};

/* The rule in force in this slot; NULL: none, or what begins has it (`begins`). */
struct ada_policy_rule *ada_policy_in_slot(const struct ada_policy *policy, uint32_t slot);

/* policy_slot.c, under `change` */
/* Finds slots for a new rule. 0 or -ENOSPC. */
int ada_policy_slots_find(const struct ada_policy *policy, struct ada_policy_rule *rule);
/* A new rule has them; or one that goes, as of this version. */
void ada_policy_slots_take(struct ada_policy *policy, struct ada_policy_rule *rule);
void ada_policy_slots_free(struct ada_policy *policy, const struct ada_policy_rule *rule, uint32_t version);
/* What the agent is to know of a slot: the form of the rule in force there; NULL: there is none. *flags: of the functions that it names. */
const struct ada_rule *ada_policy_slot_form(const struct ada_policy *policy, uint32_t slot, int *flags);

static inline void ada_policy_module_free(struct ada_policy_module *module)
{
	free(module->hooked);
	free(module->patched);
	free(module->late_hooks);
}

/* policy_provider.c, under `change` */
void ada_policy_tables_free(struct ada_policy *policy);
void ada_policy_compile_all(struct ada_policy *policy);
struct ada_policy_module *ada_policy_module_of(struct ada_policy_tables *tables, uint32_t id); /* or NULL */
struct ada_policy_tables *ada_policy_tables_of(const struct ada_policy *policy, const struct ada_provider *provider);
/* Adds what the states of live providers hold. Under `lock`. */
void ada_policy_count_live(struct ada_policy *policy, struct ada_rule_info *rules, size_t count);

/* policy_late.c, under `late` alone: hooks functions that the rule (NULL: any) names and that aren't hooked yet, in running processes or
 * only in `one`. Tells failures on stderr, the first one in *warning, too; but not where the user was told of a version after `since`. */
void ada_policy_late(struct ada_policy *policy, const struct ada_policy_rule *rule, const struct ada_policy_tables *one, uint32_t since,
		     struct ada_error *warning);
/* Notes, before a fork's child goes on, which of its parent's hooks it lacks. Under `change` and provider->lock. */
void ada_policy_check_inherited(struct ada_policy_tables *tables);

/* policy_capture.c */
int ada_policy_captures_open(struct ada_policy *policy, const struct ada_trace_options *options, struct ada_error *error);
/* Under `change`: finds what is captured of a new image's functions. 0 or -ENOMEM. */
int ada_policy_captures_match(struct ada_policy *policy, struct ada_policy_image *image);
/* Arguments of that function of it that --redact drops: bit N. */
uint32_t ada_policy_redacted_of(const struct ada_policy_image *image, uint32_t function);
/* Under `change`, too: a module's functions, of a provider. */
void ada_policy_redact_module(struct ada_policy *policy, struct ada_policy_tables *tables, const struct ada_policy_module *module);

/* policy_match.c, under `change` */
/* `path`: of the file, which names what has no name in it; NULL: known from before. NULL: no memory. */
struct ada_policy_image *ada_policy_image(struct ada_policy *policy, const struct ada_plan *plan, const char *path);
void ada_policy_images_free(struct ada_policy *policy);
/* A new rule, over all images; or one that goes. */
int ada_policy_match_rule(struct ada_policy *policy, struct ada_policy_rule *rule);
void ada_policy_unmatch_rule(struct ada_policy *policy, const struct ada_policy_rule *rule);
/* Finds the types of values in this image for rules that need one. True where a rule's form has changed. */
bool ada_policy_settle_types(struct ada_policy *policy, struct ada_policy_image *image);
/* Sets the bits of hooks whose functions rules in force name, in `bits` (`bytes` long, zeroed or not). Returns how many it set anew. */
uint32_t ada_policy_hook_bits(const struct ada_policy_image *image, const struct ada_plan *plan, uint8_t *bits);
/* policy_warn.c: a line for each function that a rule names literally and that has no hook of its own. Once a rule and image. */
void ada_policy_warn_refused(struct ada_policy_image *image, const struct ada_plan *plan, struct ada_error *first);
/* A line for each of its patterns that fits nothing yet, once. */
void ada_policy_warn_rule(struct ada_policy_rule *rule, const struct ada_policy_tables *tables, struct ada_error *first);
/* Tells it on stderr, and in `first` (may be NULL) if that is still empty. */
void ada_policy_tell(struct ada_error *first, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* policy_mute.c: a new process has muted what its parent has by now. 0 or -ENOMEM. */
int ada_policy_mutes_inherit(struct ada_policy_tables *tables, const struct ada_policy_tables *parent);
/* Under provider->lock: what is muted, to the flags of numbers up to `functions`. */
void ada_policy_mutes_add(const struct ada_policy_tables *tables, uint8_t *flags, uint32_t functions);

/* Under provider->lock: a module has come whose numbers another one has, or had. Nothing of it is muted. */
void ada_policy_mutes_drop(struct ada_policy_tables *tables, const struct ada_policy_module *module);

/* policy_table.c, under `change` and provider->lock, `mapped` */
/* Fills the table not in force and swaps it in. 0 or -errno: the old one stays. */
int ada_policy_compile(struct ada_policy *policy, struct ada_policy_tables *tables);
/* Puts the newest module's functions into the table in force; `rules_changed`: only a swap will do. */
int ada_policy_extend(struct ada_policy *policy, struct ada_policy_tables *tables, const struct ada_policy_module *module,
		      bool rules_changed);
/* Pages for numbers up to `functions` in both tables. */
int ada_policy_room(struct ada_policy_tables *tables, uint32_t functions);
#endif

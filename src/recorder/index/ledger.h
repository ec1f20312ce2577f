/* What recording costs a process, by function: the events that each function made, and what can be said of them without a second look.
 *
 * The drain shows the ledger each batch of events that it writes. Behind the first ADA_LEDGER_WHOLE events the ledger looks at one batch
 * in ADA_LEDGER_STEP and counts it as so many: shares are what it is for. But whoever asks for news, as a budget does ten times a second, is
 * to see all of a process that makes few events: else of four functions none is seen in one look, and twice what they make in the next. So
 * the first ADA_LEDGER_ANEW events behind each such question are counted, too. All of it is the main thread's. */
#ifndef ADA_RECORDER_LEDGER_H
#define ADA_RECORDER_LEDGER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "abi/record.h"
#include "base/array.h"

#define ADA_LEDGER_WHOLE 4000000u
#define ADA_LEDGER_STEP 8u
#define ADA_LEDGER_ANEW 65536u
#define ADA_LEDGER_MOST 95u
#define ADA_LEDGER_SHORT_NS 256u /* what takes longer was interrupted, or is worth its price */

/* What events take, in ns. */
struct ada_price {
	double event_ns;  /* a call, or its end; 0: not known */
	double object_ns; /* an OBJECT event (abi/object.h), which goes with calls that take another way through the hook */
};
struct ada_ledger_function {
	uint64_t function_id;
	uint64_t events;	   /* calls and their ends */
	uint64_t leaves;	   /* of the calls: those that called nothing which is recorded */
	uint64_t shorts, short_ns; /* of these: those shorter than ADA_LEDGER_SHORT_NS, and how long they took */
	struct ada_ledger_lately {
		uint64_t shorts, ns;
	} lately;	  /* the same of late: what came before counts less and less */
	uint64_t objects; /* OBJECT events of its calls, which are no events above */
	bool small;	  /* of a few instructions (ada_ledger_size_up) */
	struct ada_ledger_seen {
		uint64_t events, leaves, objects;
	} seen; /* when ada_ledger_news last told of them */
};
/* By symbol index, up to the highest that was seen: the function's place in the ledger, and one; 0: it made no event. A process that lives
 * for a moment calls a few of the thousands that its modules have: four bytes for each of those is what it may cost. */
struct ada_ledger_module {
	ADA_ARRAY(uint32_t) places;
};
struct ada_ledger {
	ADA_ARRAY(struct ada_ledger_module) modules;	 /* by module id */
	ADA_ARRAY(struct ada_ledger_function) functions; /* that made events, as they came */
	uint64_t events;				 /* that it was shown, of all kinds */
	uint64_t objects;				 /* OBJECT events, estimated likewise */
	uint64_t counted;				 /* calls and ends that functions have, estimated where not all were looked at */
	uint64_t whole_until;				 /* up to so many events, each batch is looked at */
	unsigned int skipped;				 /* batches since the last one that was looked at */
	size_t sized_up;				 /* functions of which it is known whether they are small */
	double small_ns;				 /* as found when small_counted calls and ends were counted; 0: not yet */
	uint64_t small_counted;				 /* 0: it is to be found anew */
};
/* `events` as they are in the file, of one thread, one behind the other. */
void ada_ledger_take(struct ada_ledger *ledger, const struct ada_event *events, size_t count);
/* Asks of each function that is new since the last time whether it has so few instructions that its calls take next to no time of their own. */
void ada_ledger_size_up(struct ada_ledger *ledger, bool (*is_small)(const void *context, uint64_t function_id), const void *context);
/* The price by what half of the calls of small functions that call nothing didn't exceed of late, by the means of these functions. In code that goes from
 * function to function, as a server's, hooks find their lines in no cache: there that is three times what the shortest function's calls in a
 * loop show. Such loops lose their hooks first, so what they showed counts half as much each time that it is found anew.
 * Elsewhere it may be too much by as much as small functions do themselves. 0: there were too few as yet. It is found anew once a sixteenth
 * more calls were counted, or a quarter of a million, or functions sized up: to sort all functions takes longer than most looks at a budget. */
double ada_ledger_small_ns(struct ada_ledger *ledger);
/* The price that counts, where the agent has measured `measured` on a function of its own (agent/life/price.c; zeros: it has not): what the
 * program's shortest calls show and, since the hooks' own ends don't show in these, a little more; but no less than was measured. An OBJECT
 * event is dearer here by as much as others are. */
struct ada_price ada_ledger_price(const struct ada_ledger *ledger, const struct ada_price *measured);
/* The functions with the most events, most first: at most `most` of them in `rows`. Returns how many there are in all. */
size_t ada_ledger_dearest(const struct ada_ledger *ledger, struct ada_ledger_function *rows, size_t most);
/* How many functions make ADA_LEDGER_MOST percent of the events; 0: very many. */
size_t ada_ledger_functions_of_most(const struct ada_ledger *ledger);
/* Tells of each function that has had events since the last time: how many, of which kinds. `tell` NULL: only notes that they are
 * known by now. */
void ada_ledger_news(struct ada_ledger *ledger, void (*tell)(void *context, uint64_t function_id, const struct ada_ledger_seen *news),
		     void *context);
void ada_ledger_free(struct ada_ledger *ledger);
#endif

/* Which functions' hooks a budget leaves in. Pure arithmetic over what was counted: knows no process, and no clock of its own.
 *
 * A share is what recording a function costs, as a part of the time that the program takes for itself: it stays the same however much else
 * is recorded, so what is known of a hook that is out says what it would cost again.
 *
 *        more than the budget                           less than LOW of it
 *   IN ------------------------> OUT for a pause  ------------------------------> IN, if its share fits below HIGH;
 *        dearest first, until                         once its pause is over       else, and between LOW and HIGH, one at a time, on
 *        HIGH of it is left                                                        trial: the next look says what it costs by now.
 *                                                                                  Too much: OUT for longer
 *
 * Looks differ from each other by a fifth where nothing changes: were there no such distance between HIGH and LOW, functions would come
 * and go all the time, and a change costs more than most of them.
 *
 * Shares of a process's first moments are those of a program that starts. What several that return cost by then, more than they were thought
 * to, the others are thought to cost more as well that left when they did, and were never tried since.
 *
 * A relapse: it costs far more than the budget soon behind a return. Then what is known of shares is no longer true, as in a server that was
 * seen to start, and now serves; or they change from look to look. Nothing returns for a rest, which is twice as long each time, and half as
 * long again where what has returned stays for a while. Who costs somewhat more than was left goes again, and another may try.
 *
 * Where text is spared, something returns a minute behind the last return, or the first look, and no sooner.
 */
#ifndef ADA_RECORDER_DECIDE_H
#define ADA_RECORDER_DECIDE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADA_BUDGET_HIGH 0.8
#define ADA_BUDGET_LOW 0.5
#define ADA_BUDGET_PAUSE_NS 5000000000ull
#define ADA_BUDGET_PAUSE_MAX_NS 300000000000ull
#define ADA_BUDGET_TRIAL_NS 2000000000ull /* between two trials */
#define ADA_BUDGET_RELAPSE 1.5		  /* of the budget */
#define ADA_BUDGET_PROOF_NS 1000000000ull /* behind a return: what costs so much by then is a relapse */
#define ADA_BUDGET_REST_NS 2000000000ull
#define ADA_BUDGET_REST_MAX_NS 60000000000ull

enum ada_verdict { ADA_VERDICT_STAY, ADA_VERDICT_LEAVE, ADA_VERDICT_RETURN };
struct ada_budget_function {
	/* What the last look saw */
	uint64_t events;  /* calls and ends */
	uint64_t objects; /* OBJECT events of its calls */
	double leaves;	  /* of its calls: the part that called nothing which is recorded, 0 to 1 */
	bool fixed;	  /* its hook stays */
	bool filters;	  /* it is filtered where it is `out`: some of its calls are recorded all the same */
	/* Kept from look to look; begins with zeros */
	bool out;
	double share;
	bool tried;		    /* it was back at least once: its share is of later than its process's beginning */
	double was;		    /* its share when it came back, up to the next look; else 0 */
	uint64_t back_ns, pause_ns; /* how long it was to be out the last time, and until when */
	enum ada_verdict verdict;   /* what is to be done now */
};
struct ada_choice {
	struct ada_budget_function *function;
	double weight;
};
void ada_choices_sort(struct ada_choice *choices, size_t count); /* heaviest first */
struct ada_budget_look {
	uint64_t now_ns;
	uint64_t cpu_ns;  /* that the process has used since the last look */
	double event_ns;  /* that an event takes, ... */
	double object_ns; /* ... and an OBJECT event */
	double unseen;	  /* events that were lost, for each that was counted */
	bool spares;	  /* text that processes share, on a machine that they fill: to bring a hook back costs more than hooks do */
};
struct ada_decider {
	double budget;		      /* share of the program's own time, above 0 */
	double cost;		      /* as of the last look: the sum of the shares that are in */
	double event_ns;	      /* what an event took by then */
	double judged_was, judged_is; /* what those cost that came back of late, as it was thought, and as it was */
	size_t judged;
	uint64_t trial_ns, trial_gap_ns; /* the next trial is not before; and how long behind this one, where most of the budget is used */
	uint64_t returned_ns;		 /* when one returned last that has not proved yet to fit; 0: none */
	uint64_t rest_ns, rested_ns;	 /* the last rest behind a relapse, and until when nothing returns */
	uint64_t spared_ns;		 /* the first look, or when one returned last */
};
/* Verdicts on all functions. Nothing changes by them: the caller says what it has done. */
void ada_decide(struct ada_decider *decider, const struct ada_budget_look *look, struct ada_budget_function *functions, size_t count);
/* The share up to which the cheapest functions that are out cost next to nothing, all together. */
double ada_decide_trifle(double budget, const struct ada_budget_function *functions, size_t count);
/* Its hook, which was chosen for it, is back. */
void ada_decide_returned(struct ada_decider *decider, struct ada_budget_function *function, uint64_t now_ns);
void ada_decide_left(struct ada_budget_function *function, uint64_t now_ns);  /* its hook is out */
void ada_decide_stays(struct ada_budget_function *function, uint64_t now_ns); /* it is out, and is to be for a pause from now on */
#endif

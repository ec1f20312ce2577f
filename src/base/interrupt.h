/* Ctrl-C on long work: the first one asks to stop in order, so that files are finished or taken away; the second one kills. */
#ifndef ADA_BASE_INTERRUPT_H
#define ADA_BASE_INTERRUPT_H
#include <stdbool.h>
#include <stdint.h>

void ada_interrupt_catch(void); /* SIGINT, SIGTERM and SIGHUP, from now on */
bool ada_interrupted(void);	/* ask this every few milliseconds of work */
int ada_interrupt_status(void); /* exit status for it: 128 + the signal */

/* A time limit: so many ns from now on ada_interrupted() says yes as well; 0 takes the limit away. */
void ada_interrupt_after(uint64_t ns);
bool ada_interrupt_expired(void); /* the limit was reached, and no signal came */
#endif

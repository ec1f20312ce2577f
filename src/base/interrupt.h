/* Ctrl-C on long work: the first one asks to stop in order, so that files are finished or taken away; the second one kills. */
#ifndef ADA_BASE_INTERRUPT_H
#define ADA_BASE_INTERRUPT_H
#include <stdbool.h>

void ada_interrupt_catch(void);		/* SIGINT, SIGTERM and SIGHUP, from now on */
bool ada_interrupted(void);		/* ask this every few milliseconds of work */
int ada_interrupt_status(void);		/* exit status for it: 128 + the signal */
#endif

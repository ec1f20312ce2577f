/* heir.c: announces to the recorder what comes out of this process. */
#ifndef ADA_AGENT_HEIR_H
#define ADA_AGENT_HEIR_H
#include <stdbool.h>
#include "abi/wire.h"

#define ADA_HEIR_TICKET_BYTES 34 /* "#", three numbers of 32 bits, two dots, and the end */

/* Names an announcement; provider ADA_NONE: none. heir ADA_NONE: one that the table had no room for. */
struct ada_heir_ticket {
	uint32_t provider, heir, generation;
};
extern const struct ada_heir_ticket ada_heir_none;

/* `shm`: of the process that announces; NULL: it has no segment, and nothing is announced. The path is as given to exec. */
struct ada_heir_ticket ada_heir_announce(struct ada_shm *shm, enum ada_heir_kind kind, int directory, const char *path, int flags);
void ada_heir_withdraw(struct ada_shm *shm, const struct ada_heir_ticket *ticket); /* the exec failed */
char *ada_heir_number(char *to, uint32_t number);				   /* writes it in decimal, without NUL; returns the end */
#endif

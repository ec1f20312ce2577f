/* Mapped files that shrink, or whose disk fails, while they are read. The kernel answers the next access with SIGBUS; here the
 * page reads as zeros from then on, and whoever answers asks whether that happened. */
#ifndef ADA_BASE_FAULT_H
#define ADA_BASE_FAULT_H
#include <stdbool.h>
#include <stdint.h>

void ada_fault_catch(void);	   /* SIGBUS, from now on */
uintptr_t ada_fault_address(void); /* in the first page that could not be read; 0: all could */
/* Between these two a fault of this thread is told to it alone: what it has mapped meanwhile is to be unmapped, and tried again. */
void ada_fault_hold(void);
bool ada_fault_release(void); /* whether there was one */
#endif

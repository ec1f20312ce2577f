/* What ada says on stderr while it records. A thread of its own does the writing: a terminal or a pipe that takes no more must hold up
 * neither the drain nor whoever holds a lock. */
#ifndef ADA_RECORDER_SAY_H
#define ADA_RECORDER_SAY_H
#include <stdbool.h>

void ada_say_open(void); /* before this, after ada_say_close, and without a thread, texts are written at once */
/* As it is; lines end with \n. Any thread, under any lock. */
void ada_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool ada_say_is_through(void); /* all is written */
void ada_say_close(void);      /* waits until it is */
#endif

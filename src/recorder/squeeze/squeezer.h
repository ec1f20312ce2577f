/* Compresses closed segments that have raw blocks, which a packer writes while it can't keep up (packers.h), as the machine has nothing
 * better to do.
 *
 *   main thread                                         the squeezer's own, nice 19
 *   a segment is closed, some blocks are raw: listed
 *   one after the other   ------- its path ------->     FILE.tmp: the same blocks compressed, on the disk
 *   FILE.tmp takes its place, or goes   <--- done ---
 *
 * Nobody waits for it but the end of the recording, for a second. What isn't done then stays raw: `ada pack` makes up for that, too. Recovery
 * removes FILE.tmp.
 * All functions are the main thread's; a squeezer NULL does nothing.
 */
#ifndef ADA_RECORDER_SQUEEZER_H
#define ADA_RECORDER_SQUEEZER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ada_squeezer;
struct ada_squeeze {
	uint32_t provider, thread, segment;
	uint64_t bytes; /* of its file */
};

int ada_squeezer_open(struct ada_squeezer **squeezer);	/* 0 or -ENOMEM; the thread begins when first needed */
void ada_squeezer_close(struct ada_squeezer *squeezer); /* what is on its way is given up */

void ada_squeezer_closed(struct ada_squeezer *squeezer, const struct ada_squeeze *segment);
/* The segment whose turn it is; false: none, or one is on its way. */
bool ada_squeezer_next(const struct ada_squeezer *squeezer, struct ada_squeeze *segment);
size_t ada_squeezer_left(const struct ada_squeezer *squeezer); /* segments that are listed, with the one that is on its way */
/* That one: its file; NULL: it isn't wanted any more. */
void ada_squeezer_send(struct ada_squeezer *squeezer, const char *path);
/* One that was sent is done. */
bool ada_squeezer_done(const struct ada_squeezer *squeezer, struct ada_squeeze *segment);
/* What came of it takes the file's place; unless it isn't wanted any more, or failed: then the file stays as it is. */
void ada_squeezer_take(struct ada_squeezer *squeezer, bool wanted);
#endif

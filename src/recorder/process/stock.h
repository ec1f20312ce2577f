/* Segments that are ready before anybody asks for one: to make their memory takes longer than all else of a process's beginning, and
 * its first instruction waits. They have no names and no process: what is never taken vanishes with the recorder. */
#ifndef ADA_RECORDER_STOCK_H
#define ADA_RECORDER_STOCK_H
#include "recorder/state/state.h"

struct ada_stock;
int ada_stock_open(struct ada_stock **stock, struct ada_recorder *recorder, struct ada_error *error);
/* What a process of this session gets, but for its own limits, its pid and its provider. */
struct ada_segment_options ada_stock_options(const struct ada_recorder *recorder);
/* One that was made so, assigned to options->pid. *agent_fd: as ada_segment_create. -ENOENT: none is ready, or options ask for another;
 * another error: it is gone, and none was assigned. `stock` NULL: there is none. */
int ada_stock_take(struct ada_stock *stock, const struct ada_segment_options *options, struct ada_segment *segment, int *agent_fd);
/* Somebody has taken one, and waits for it no more. `forks`: there will be others, soon. */
void ada_stock_refill(struct ada_stock *stock, bool forks);
void ada_stock_close(struct ada_stock *stock);
#endif

/* Segments that are ready before anybody asks for one: making their memory takes longer than all else at a process's beginning, and its
 * first instruction waits. Ready segments have no names and no process: those that nobody takes vanish with the recorder. */
#ifndef ADA_RECORDER_STOCK_H
#define ADA_RECORDER_STOCK_H
#include "recorder/state/state.h"

struct ada_stock;
int ada_stock_open(struct ada_stock **stock, struct ada_recorder *recorder, struct ada_error *error);
/* The options for a process of this session, without its own limits, pid and provider. */
struct ada_segment_options ada_stock_options(const struct ada_recorder *recorder);
/* Takes a ready segment and assigns it to options->pid. *agent_fd: as ada_segment_create. -ENOENT: none is ready, or options ask for
 * another; any other error: the segment is gone, and none was assigned. `stock` NULL: there is no stock. */
int ada_stock_take(struct ada_stock *stock, const struct ada_segment_options *options, struct ada_segment *segment, int *agent_fd);
/* Somebody has taken a segment, and no longer waits. `forks`: others will come soon. */
void ada_stock_refill(struct ada_stock *stock, bool forks);
void ada_stock_close(struct ada_stock *stock);
#endif

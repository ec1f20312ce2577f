/* Segments that are ready before anybody asks for one (abi/ready.h): making their memory takes longer than all else at a process's
 * beginning, and its first instruction waits. A fork's child takes one by itself and says so afterwards; for all others the recorder
 * takes it. Ready segments have no process: those that nobody takes vanish with the recorder.
 *
 *   place    FREE ---> LISTED ------------------------------------> FREE    taken by the recorder, or given up
 *                         |
 *                         +--- the HELLO of who took it: ADOPTED ---> ENTERED ---> FREE    a provider has it; its conversation is over
 */
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
/* Whether a segment with these options is like those that lie ready. */
bool ada_stock_suits(const struct ada_stock *stock, const struct ada_segment_options *options);

/* A process says that it has taken the segment of that number: the segment is the caller's, and has the name of a ready one. -ENOENT: no
 * such segment, or not taken. From then on the caller says how far its process has come: it is in the list of providers or will never be
 * (ada_stock_entered), its conversation is over (ada_stock_done). -ESHUTDOWN: the recording has ended, and what became of it was told. */
int ada_stock_adopt(struct ada_stock *stock, uint32_t number, struct ada_segment *segment);
void ada_stock_entered(struct ada_stock *stock, uint32_t number);
void ada_stock_done(struct ada_stock *stock, uint32_t number);
/* Waits until the process that has taken that segment has been entered. It has said HELLO before anyone could ask for it, so it is in the
 * list of providers soon or never. */
void ada_stock_await(struct ada_stock *stock, uint32_t number);
/* Waits until all that have taken a segment by now have been heard to their end. */
void ada_stock_settle(struct ada_stock *stock);

/* As ada_spares_want and ada_spares_give. */
bool ada_stock_wants(struct ada_stock *stock, const struct ada_segment *segment);
void ada_stock_give(struct ada_stock *stock, struct ada_segment *segment, uint32_t provider);
/* Somebody has taken a segment, and no longer waits. `forks`: others will come soon. */
void ada_stock_refill(struct ada_stock *stock, bool forks);
void ada_stock_rest(struct ada_stock *stock); /* makes no more: before the server goes */
/* Main thread: the recording ends. Who has a segment and wasn't heard of records no more, and is noted as unrecorded. */
void ada_stock_end(struct ada_stock *stock);
/* Behind the conversations, which take from it, and before the presence page goes. Who has taken one records no more. */
void ada_stock_close(struct ada_stock *stock);
#endif

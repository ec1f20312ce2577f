/* Which functions of a scene are shown, and in what order. */
#ifndef ADA_CLI_LIVE_BOARD_H
#define ADA_CLI_LIVE_BOARD_H
#include "cli/live/scene.h"

enum ada_board_sort { ADA_BOARD_SELF, ADA_BOARD_CALLS, ADA_BOARD_TOTAL, ADA_BOARD_P99, ADA_BOARD_MAX, ADA_BOARD_SORTS };

struct ada_board {
	enum ada_board_sort sort;		     /* largest first */
	char filter[256];			     /* "": all, else those whose names hold it, in any case */
	ADA_ARRAY(struct ada_function_stats *) rows; /* the scene's */
};

const char *ada_board_sort_name(enum ada_board_sort sort);
bool ada_board_sort_of(const char *name, enum ada_board_sort *sort);
/* What a function is sorted by. */
uint64_t ada_board_value(const struct ada_function_stats *function, enum ada_board_sort sort);
/* Takes the functions of a scene. 0 or -ENOMEM. */
int ada_board_fill(struct ada_board *board, const struct ada_scene *scene);
void ada_board_close(struct ada_board *board);
/* The same number for the same function of the same file, also in a session that was opened anew. */
uint64_t ada_board_identity(const struct ada_function_stats *function);
#endif

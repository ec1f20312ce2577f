/* Which moment of a session is shown: the last one, however it moves, or one of before, at rest or on its way to the end. No clock of its
 * own. */
#ifndef ADA_CLI_LIVE_PLAYER_H
#define ADA_CLI_LIVE_PLAYER_H
#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"

#define ADA_PLAYER_SPEED_MAX 10 /* 1024 times as fast as it was, or as slow */

struct ada_player {
	uint64_t first_ns, last_ns; /* of the session */
	bool live;		    /* last_ns goes on */
	bool follows;		    /* the last moment is shown */
	bool paused;
	uint64_t at_ns; /* what is shown, if it isn't the last moment */
	int speed;	/* its logarithm to the base of 2 */
	uint64_t step_ns;
};

/* What the session is by now. */
void ada_player_bounds(struct ada_player *player, uint64_t first_ns, uint64_t last_ns, bool live);
void ada_player_turn(struct ada_player *player, uint64_t passed_ns); /* so much time has passed */
void ada_player_pause(struct ada_player *player);		     /* or goes on; at the end of a finished session from the beginning */
void ada_player_faster(struct ada_player *player, int by);
void ada_player_step(struct ada_player *player, int by);	 /* and pauses */
void ada_player_seek(struct ada_player *player, uint64_t at_ns); /* to the end, or behind it: follows */
uint64_t ada_player_moment(const struct ada_player *player);	 /* 0: the last one */
/* "50%" of the session; false: the text is no percentage. */
bool ada_player_percent(const struct ada_player *player, const char *text, uint64_t *at_ns);
#endif

#include "cli/live/player.h"
#include <stdlib.h>
#include <string.h>

void ada_player_bounds(struct ada_player *player, uint64_t first_ns, uint64_t last_ns, bool live)
{
	player->first_ns = first_ns;
	player->last_ns = last_ns > first_ns ? last_ns : first_ns;
	player->live = live;
	if (!player->follows)
		ada_player_seek(player, player->at_ns);
}

void ada_player_seek(struct ada_player *player, uint64_t at_ns)
{
	player->at_ns = at_ns > player->first_ns ? at_ns : player->first_ns;
	player->follows = player->at_ns >= player->last_ns && !(player->paused && player->live);
	if (player->at_ns > player->last_ns)
		player->at_ns = player->last_ns;
}

void ada_player_turn(struct ada_player *player, uint64_t passed_ns)
{
	double by = (double)passed_ns;

	if (player->paused || player->follows)
		return;
	by = player->speed >= 0 ? by * (double)(1 << player->speed) : by / (double)(1 << -player->speed);
	ada_player_seek(player, by < (double)(player->last_ns - player->at_ns) ? player->at_ns + (uint64_t)by : player->last_ns);
}

void ada_player_pause(struct ada_player *player)
{
	if (player->follows && player->live) {
		player->at_ns = player->last_ns;
		player->follows = false;
		player->paused = true;
	} else if (player->follows) {
		player->paused = false;
		ada_player_seek(player, player->first_ns);
	} else {
		player->paused = !player->paused;
	}
}

void ada_player_faster(struct ada_player *player, int by)
{
	player->speed += by;
	if (player->speed > ADA_PLAYER_SPEED_MAX)
		player->speed = ADA_PLAYER_SPEED_MAX;
	if (player->speed < -ADA_PLAYER_SPEED_MAX)
		player->speed = -ADA_PLAYER_SPEED_MAX;
}

void ada_player_step(struct ada_player *player, int by)
{
	uint64_t at_ns = player->follows ? player->last_ns : player->at_ns;

	player->paused = true;
	player->follows = false;
	if (by < 0)
		at_ns = at_ns > player->step_ns ? at_ns - player->step_ns : 0;
	else
		at_ns += player->step_ns;
	ada_player_seek(player, at_ns);
}

uint64_t ada_player_moment(const struct ada_player *player)
{
	return player->follows ? 0 : player->at_ns;
}

bool ada_player_percent(const struct ada_player *player, const char *text, uint64_t *at_ns)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || strcmp(end, "%") || !(percent >= 0 && percent <= 100))
		return false;
	*at_ns = player->first_ns + (uint64_t)((double)(player->last_ns - player->first_ns) * percent / 100);
	return true;
}

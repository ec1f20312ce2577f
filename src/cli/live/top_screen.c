#include "cli/live/top_screen.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/interrupt.h"
#include "base/units.h"
#include "cli/ground/answer.h"
#include "cli/live/tables.h"
#include "cli/live/top_internal.h"
#include "cli/screen/keys.h"
#include "cli/screen/screen.h"

#define TURN_MS 1000
#define PLAY_MS 250   /* a session that is played back moves more often */
#define HEAR_MS 100   /* while the recorder was asked for something */
#define ANSWER_MS 200 /* of the recorder: meanwhile no key is heard */
#define SPEED_TEXT 16

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* --- looking -------------------------------------------------------------------------------------------------------------- */

/* Looks that follow each other in time make a trend. */
static int tell_trend(struct ada_top *top)
{
	const struct ada_scene *scene = &top->watch->scene;
	bool follows = scene->end_ns > top->trend_at_ns && scene->end_ns - top->trend_at_ns <= 4 * top->watch->span_ns + 4000000000ull;
	int result = 0;

	if (scene->end_ns == top->trend_at_ns)
		return 0;
	if (!follows)
		ada_trend_forget(&top->trend);
	top->trend_at_ns = scene->end_ns;
	ada_trend_begin(&top->trend);
	for (size_t i = 0; i < scene->stats.functions.count && !result; i++) {
		const struct ada_function_stats *function = scene->stats.functions.items[i];

		result = ada_trend_tell(&top->trend, ada_board_identity(function), ada_scene_a_second(scene, function->calls));
	}
	return result;
}

int ada_top_arrange(struct ada_top *top)
{
	int result = ada_board_fill(&top->board, &top->watch->scene);
	uint64_t cursor = top->functions.cursor;

	for (uint64_t i = 0; i < top->board.rows.count; i++)
		if (top->chosen && ada_board_identity(top->board.rows.items[i]) == top->chosen)
			cursor = i;
	top->functions.count = top->board.rows.count;
	ada_pane_move(&top->functions, cursor);
	return result;
}

void ada_top_look(struct ada_top *top)
{
	struct ada_error error = {};
	const struct ada_session *session;
	int result;

	top->watch->playing = ada_player_moment(&top->player) && !top->player.paused;
	result = ada_watch_look(top->watch, ada_player_moment(&top->player), &error);
	session = top->watch->session;
	if (result == -EINTR)
		return;
	if (!result) {
		result = tell_trend(top) ?: ada_top_arrange(top);
		if (result)
			ada_error_set(&error, ENOMEM, "out of memory");
		ada_player_bounds(&top->player, session->start_ns, ada_scene_last_ns(session), top->watch->status);
	}
	if (result && *error.text) {
		top->message = error;
		top->good = false;
	}
}

/* --- drawing -------------------------------------------------------------------------------------------------------------- */

static void put_mode(const struct ada_top *top, int row)
{
	const struct ada_player *player = &top->player;
	const char *state = player->follows ? player->live ? "live" : "at the end" : player->paused ? "paused" : "plays";
	char line[512], speed[SPEED_TEXT] = "", at[ADA_CLOCK_TEXT], span[ADA_UNITS_TEXT], share[ADA_WATCH_SHARE];
	const struct ada_scene *scene = &top->watch->scene;

	if (player->speed)
		snprintf(speed, sizeof speed, player->speed > 0 ? " x%d" : " x1/%d",
			 1 << (player->speed > 0 ? player->speed : -player->speed));
	snprintf(line, sizeof line, "%s%s at %s, %s before it%s   sorted by %s%s%s%s", state, speed,
		 ada_clock_view_text(scene->session, scene->end_ns, at), ada_format_duration(scene->end_ns - scene->from_ns, span),
		 ada_watch_share(top->watch, share), ada_board_sort_name(top->board.sort), *top->board.filter ? "   only *" : "",
		 top->board.filter, *top->board.filter ? "*" : "");
	ada_screen_put(row, ADA_INK_FAINT, line);
	if (top->watch->recorder_gone)
		ada_screen_put_at(row, (int)ada_output_width(line) + 3, ADA_INK_BAD, "its recorder is gone: `ada recover` finishes it");
	else if (top->watch->silent)
		ada_screen_put_at(row, (int)ada_output_width(line) + 3, ADA_INK_BAD, "its recorder doesn't answer");
}

/* The sheet's lines: titles, then rows. */
static int put_rows(const struct ada_top *top, const struct ada_pane *pane, int row, bool focus)
{
	ada_screen_put(row++, ADA_INK_TITLE, ada_sheet_line(&top->sheet, 0));
	for (uint64_t i = 1; i < top->sheet.lines.count; i++) {
		bool chosen = focus && pane->top + i - 1 == pane->cursor;

		ada_screen_put(row++, chosen ? ADA_INK_CHOSEN : ADA_INK_PLAIN, ada_sheet_line(&top->sheet, i));
	}
	return row;
}

static int draw_tables(struct ada_top *top, int row)
{
	int left = ada_screen_rows() - row - 1 - 3, thread_rows;
	const struct ada_scene *scene = &top->watch->scene;
	struct ada_tables_trend trend = { &top->trend, ada_screen_utf8() };
	int result;

	thread_rows = left / 3 > (int)scene->threads.count ? (int)scene->threads.count : left / 3;
	ada_pane_fit(&top->functions, top->board.rows.count, left > thread_rows ? (uint64_t)(left - thread_rows) : 1);
	ada_pane_fit(&top->threads, scene->threads.count, thread_rows > 0 ? (uint64_t)thread_rows : 1);
	result = ada_sheet_begin(&top->sheet);
	if (!result)
		result = ada_tables_functions(scene, &top->board, top->functions.top, top->functions.height, &trend, ADA_FORMAT_TEXT,
					      &top->sheet.output) ?:
				 ada_sheet_end(&top->sheet);
	if (result)
		return result;
	put_rows(top, &top->functions, row, !top->in_threads);
	result = ada_sheet_begin(&top->sheet);
	if (!result)
		result = ada_tables_threads(scene, top->threads.top, top->threads.height, ADA_FORMAT_TEXT, &top->sheet.output) ?:
				 ada_sheet_end(&top->sheet);
	if (!result)
		put_rows(top, &top->threads, row + (int)top->functions.height + 2, top->in_threads);
	return result;
}

static void draw_top(struct ada_top *top)
{
	int rows = ada_screen_rows(), result;

	ada_screen_clear();
	result = ada_sheet_begin(&top->sheet);
	if (!result) {
		ada_tables_brief(top->watch, &top->sheet.output);
		result = ada_sheet_end(&top->sheet);
	}
	if (!result)
		ada_screen_put(0, ADA_INK_STRONG, ada_sheet_line(&top->sheet, 0));
	put_mode(top, 1);
	if (!result)
		result = draw_tables(top, 3);
	if (result)
		ada_error_set(&top->message, -result, "can't draw: %s", strerror(-result));
	if (*top->message.text)
		ada_screen_put(rows - 1, top->good ? ADA_INK_GOOD : ADA_INK_BAD, top->message.text);
	else
		ada_screen_hints("h help  q quit  s sort  / filter  Enter callers  m mark  a add a rule  Space pause");
}

/* --- the loop ------------------------------------------------------------------------------------------------------------- */

/* Whether anything can have changed since the last look. */
static bool moves(const struct ada_top *top)
{
	return !top->watch->settled || (!top->player.paused && !top->player.follows);
}

static void wait_and_turn(struct ada_top *top)
{
	uint64_t every_ms = top->player.follows || top->player.paused ? TURN_MS : PLAY_MS,
		 passed_ms = (now_ns() - top->turned_ns) / 1000000;
	bool moved;
	uint64_t wait_ms = passed_ms < every_ms ? every_ms - passed_ms : 0;
	int key = ada_screen_key((int)(top->errand && wait_ms > HEAR_MS ? HEAR_MS : wait_ms));

	ada_top_hear(top);
	if (key == ADA_KEY_OVER)
		top->status = ada_interrupted() ? ada_interrupt_status() : 0;
	else if (key != ADA_KEY_NONE)
		ada_top_press(top, key);
	passed_ms = (now_ns() - top->turned_ns) / 1000000;
	if (top->status >= 0 || passed_ms < every_ms)
		return;
	moved = moves(top);
	ada_player_turn(&top->player, passed_ms * 1000000);
	top->turned_ns = now_ns();
	if (moved)
		ada_top_look(top);
}

int ada_top_screen(struct ada_watch *watch, enum ada_board_sort sort, uint64_t at_ns)
{
	struct ada_top top = { .watch = watch, .board.sort = sort, .status = -1 };
	struct ada_error error = {};

	if (ada_screen_open("add --once", &error))
		return ada_answer_fail(watch->options->command, &error);
	watch->answer_ms = ANSWER_MS;
	top.turned_ns = now_ns();
	top.player = (struct ada_player){ .follows = watch->status && !at_ns, .paused = at_ns, .at_ns = at_ns, .step_ns = watch->span_ns };
	ada_player_bounds(&top.player, watch->session->start_ns, ada_scene_last_ns(watch->session), watch->status);
	ada_top_look(&top);
	while (top.status < 0) {
		draw_top(&top);
		wait_and_turn(&top);
	}
	ada_screen_close();
	ada_errand_close(top.errand);
	ada_trend_forget(&top.trend);
	ada_board_close(&top.board);
	ada_sheet_close(&top.sheet);
	return top.status;
}

#include "cli/live/top_screen.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/interrupt.h"
#include "base/units.h"
#include "cli/ground/answer.h"
#include "cli/live/callers.h"
#include "cli/live/player.h"
#include "cli/live/tables.h"
#include "cli/screen/ask.h"
#include "cli/screen/keys.h"
#include "cli/screen/pane.h"
#include "cli/screen/reader.h"
#include "cli/screen/screen.h"
#include "cli/screen/sheet.h"
#include "query/session/json.h"

#define TURN_MS 1000
#define PLAY_MS 250	 /* a session that is played back moves more often */
#define ANSWER_SECONDS 2 /* of the recorder: meanwhile no key is heard */
#define SPAN_MIN_NS 1000
#define SPAN_MAX_NS 1000000000000
#define SPEED_TEXT 16

struct top {
	struct ada_watch *watch;
	struct ada_player player;
	struct ada_board board;
	struct ada_trend trend;
	struct ada_pane functions, threads;
	uint64_t chosen; /* identity of the function under the cursor */
	bool in_threads; /* the keys move there */
	struct ada_sheet sheet;
	struct ada_error message; /* at the foot, until the next key */
	bool good;		  /* it isn't about a failure */
	uint64_t trend_at_ns, turned_ns;
	int status; /* to exit with; < 0: goes on */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* --- looking -------------------------------------------------------------------------------------------------------------- */

/* Looks that follow each other in time make a trend. */
static int tell_trend(struct top *top)
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

/* Sorts and filters anew; the cursor stays on its function. */
static int arrange(struct top *top)
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

static void look_again(struct top *top)
{
	struct ada_error error = {};
	int result = ada_watch_look(top->watch, ada_player_moment(&top->player), &error);
	const struct ada_session *session = top->watch->session;

	if (result == -EINTR)
		return;
	if (!result) {
		result = tell_trend(top) ?: arrange(top);
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

static void put_mode(const struct top *top, int row)
{
	const struct ada_player *player = &top->player;
	const char *state = player->follows ? player->live ? "live" : "at the end" : player->paused ? "paused" : "plays";
	char line[512], speed[SPEED_TEXT] = "", at[ADA_CLOCK_TEXT], span[ADA_UNITS_TEXT];
	const struct ada_scene *scene = &top->watch->scene;

	if (player->speed)
		snprintf(speed, sizeof speed, player->speed > 0 ? " x%d" : " x1/%d",
			 1 << (player->speed > 0 ? player->speed : -player->speed));
	snprintf(line, sizeof line, "%s%s at %s, %s before it   sorted by %s%s%s%s", state, speed,
		 ada_clock_view_text(scene->session, scene->end_ns, at), ada_format_duration(scene->end_ns - scene->from_ns, span),
		 ada_board_sort_name(top->board.sort), *top->board.filter ? "   only *" : "", top->board.filter,
		 *top->board.filter ? "*" : "");
	ada_screen_put(row, ADA_INK_FAINT, line);
	if (top->watch->recorder_gone)
		ada_screen_put_at(row, (int)ada_output_width(line) + 3, ADA_INK_BAD, "its recorder is gone: `ada recover` finishes it");
}

/* The sheet's lines: titles, then rows. */
static int put_rows(const struct top *top, const struct ada_pane *pane, int row, bool focus)
{
	ada_screen_put(row++, ADA_INK_TITLE, ada_sheet_line(&top->sheet, 0));
	for (uint64_t i = 1; i < top->sheet.lines.count; i++) {
		bool chosen = focus && pane->top + i - 1 == pane->cursor;

		ada_screen_put(row++, chosen ? ADA_INK_CHOSEN : ADA_INK_PLAIN, ada_sheet_line(&top->sheet, i));
	}
	return row;
}

static int draw_tables(struct top *top, int row)
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

static void draw_top(struct top *top)
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
		ada_screen_put(rows - 1, ADA_INK_FAINT,
			       "h help  q quit  s sort  / filter  Enter callers  m mark  a add a rule  Space pause");
}

/* --- what keys do --------------------------------------------------------------------------------------------------------- */

static const struct ada_key_help keys[] = {
	{ "Functions and threads", NULL },
	{ "arrows, j k, PageUp PageDown, g G", "move" },
	{ "Tab", "from the functions to the threads and back" },
	{ "s, S", "sort by the next field, or the one before: self, calls, total, p99, max" },
	{ "/", "show only functions whose names hold this text; empty: all" },
	{ "Enter", "who calls the chosen function, in the time shown" },
	{ "While it is being recorded", NULL },
	{ "m", "mark this moment: the detail around it is kept" },
	{ "a", "add a rule (ada-triggers(7)); Tab puts in the chosen function's name" },
	{ "Time", NULL },
	{ "Space", "pause, and go on" },
	{ "< >", "play at half the speed, or twice" },
	{ "Left Right", "a step back or on, and pause" },
	{ "[ ]", "the beginning; the end, where a session that is being recorded is followed" },
	{ "t", "go to a time: +1.5s, 50%, or as --at takes it" },
	{ "- +", "count a tenth of the time before the moment, or ten times as much" },
	{ "h ?, q", "this help; quit" },
	{ NULL, NULL },
};

static void say(struct top *top, int result, const struct ada_error *error, const char *format, unsigned long long number)
{
	top->good = !result;
	if (result)
		top->message = *error;
	else
		snprintf(top->message.text, sizeof top->message.text, format, number);
}

static int take_filter(void *context, const char *text, struct ada_error *error)
{
	struct top *top = context;

	if (strlen(text) >= sizeof top->board.filter)
		return ada_error_set(error, EINVAL, "too long");
	strcpy(top->board.filter, text);
	top->functions.cursor = 0;
	top->chosen = 0;
	return 0;
}

static void ask_filter(struct top *top)
{
	struct ada_field field;

	ada_field_set(&field, top->board.filter);
	if (ada_ask("only functions with", &field, NULL, take_filter, top))
		arrange(top);
}

static int take_time(void *context, const char *text, struct ada_error *error)
{
	struct top *top = context;
	const struct ada_session *session = top->watch->session;
	uint64_t at_ns;
	int result = 0;

	if (!ada_player_percent(&top->player, text, &at_ns))
		result = ada_clock_view_parse(&session->view, session, text, &at_ns, error);
	if (result)
		return result;
	top->player.paused = true;
	ada_player_seek(&top->player, at_ns);
	return 0;
}

static void ask_time(struct top *top)
{
	struct ada_field field = {};

	if (ada_ask("go to (+1.5s, 50%)", &field, NULL, take_time, top))
		look_again(top);
}

/* Whether there is a recorder to speak to; else says so. */
static bool can_speak(struct top *top)
{
	struct ada_error error = {};

	if (!top->watch->status)
		say(top, ada_error_set(&error, ESRCH, "the session has ended: nothing can be asked of its recorder any more"), &error, "",
		    0);
	return top->watch->status;
}

static void mark_now(struct top *top)
{
	struct ada_error error = {};
	struct ada_live live;
	uint64_t processes = 0;
	int result = ada_live_find(&live, top->watch->options->session, &error);

	if (!result)
		result = ada_live_mark(&live, NULL, &processes, &error);
	say(top, result, &error, processes == 1 ? "marked in %llu process" : "marked in %llu processes", processes);
}

static int take_rule(void *context, const char *text, struct ada_error *error)
{
	struct top *top = context;
	struct ada_live live;
	struct ada_live_rule rule;
	int result = ada_live_find(&live, top->watch->options->session, error);

	if (!result)
		result = ada_live_add_rule(&live, text, &rule, error);
	if (result)
		return result;
	say(top, 0, error, "rule %llu is in force", rule.id);
	if (*rule.warning)
		snprintf(top->message.text, sizeof top->message.text, "rule %llu: %s", (unsigned long long)rule.id, rule.warning);
	return 0;
}

static const struct ada_function_stats *chosen(const struct top *top)
{
	return top->functions.cursor < top->board.rows.count ? top->board.rows.items[top->functions.cursor] : NULL;
}

static void ask_rule(struct top *top)
{
	const struct ada_function_stats *function = chosen(top);
	struct ada_field field = {};
	char name[ADA_NAME_BUFFER];

	ada_ask("add a rule", &field, function ? ada_module_function(function->module, function->function_id, name) : NULL, take_rule, top);
}

static void show_callers(struct top *top)
{
	const struct ada_function_stats *function = chosen(top);
	struct ada_error error = {};

	if (function && ada_callers_read(&top->watch->scene.selection,
					 &(struct ada_callee){ function->module, function->function_id, function->key }, &error))
		say(top, -EINVAL, &error, "", 0);
}

static void widen(struct top *top, bool wider)
{
	uint64_t span_ns = wider ? top->watch->span_ns * 10 : top->watch->span_ns / 10;

	if (span_ns < SPAN_MIN_NS || span_ns > SPAN_MAX_NS)
		return;
	top->watch->span_ns = top->player.step_ns = span_ns;
	top->watch->live_span_ns = 0;
	ada_trend_forget(&top->trend);
	look_again(top);
}

static void sort_by(struct top *top, unsigned int further)
{
	top->board.sort = (enum ada_board_sort)((top->board.sort + further) % ADA_BOARD_SORTS);
	arrange(top);
}

/* Keys that choose the moment. False: none of them. */
static bool time_key(struct top *top, int key)
{
	switch (key) {
	case ' ': ada_player_pause(&top->player); break;
	case '<': ada_player_faster(&top->player, -1); break;
	case '>': ada_player_faster(&top->player, 1); break;
	case ADA_KEY_LEFT: ada_player_step(&top->player, -1); break;
	case ADA_KEY_RIGHT: ada_player_step(&top->player, 1); break;
	case '[': ada_player_seek(&top->player, 0); break;
	case ']':
		top->player.paused = false;
		ada_player_seek(&top->player, UINT64_MAX);
		break;
	default: return false;
	}
	look_again(top);
	return true;
}

static void press(struct top *top, int key)
{
	struct ada_pane *pane = top->in_threads ? &top->threads : &top->functions;

	top->message = (struct ada_error){};
	if (time_key(top, key))
		return;
	switch (key) {
	case 'q': top->status = 0; return;
	case 'h':
	case '?': ada_read_keys("Keys of ada top", keys); return;
	case 's': sort_by(top, 1); return;
	case 'S': sort_by(top, ADA_BOARD_SORTS - 1); return;
	case '/': ask_filter(top); return;
	case 't': ask_time(top); return;
	case 'm':
		if (can_speak(top))
			mark_now(top);
		return;
	case 'a':
		if (can_speak(top))
			ask_rule(top);
		return;
	case '+': widen(top, true); return;
	case '-': widen(top, false); return;
	case ADA_KEY_TAB: top->in_threads = !top->in_threads; return;
	case ADA_KEY_ENTER: show_callers(top); return;
	}
	if (ada_pane_key(pane, key) && !top->in_threads)
		top->chosen = chosen(top) ? ada_board_identity(chosen(top)) : 0;
}

/* --- the loop ------------------------------------------------------------------------------------------------------------- */

/* Whether anything can have changed since the last look. */
static bool moves(const struct top *top)
{
	return !top->watch->settled || (!top->player.paused && !top->player.follows);
}

static void wait_and_turn(struct top *top)
{
	uint64_t every_ms = top->player.follows || top->player.paused ? TURN_MS : PLAY_MS,
		 passed_ms = (now_ns() - top->turned_ns) / 1000000;
	bool moved;
	int key = ada_screen_key(passed_ms < every_ms ? (int)(every_ms - passed_ms) : 0);

	if (key == ADA_KEY_OVER)
		top->status = ada_interrupted() ? ada_interrupt_status() : 0;
	else if (key != ADA_KEY_NONE)
		press(top, key);
	passed_ms = (now_ns() - top->turned_ns) / 1000000;
	if (top->status >= 0 || passed_ms < every_ms)
		return;
	moved = moves(top);
	ada_player_turn(&top->player, passed_ms * 1000000);
	top->turned_ns = now_ns();
	if (moved)
		look_again(top);
}

int ada_top_screen(struct ada_watch *watch, enum ada_board_sort sort, uint64_t at_ns)
{
	struct top top = { .watch = watch, .board.sort = sort, .status = -1 };
	struct ada_error error = {};

	if (ada_screen_open(&error))
		return ada_answer_fail(watch->options->command, &error);
	watch->answer_seconds = ANSWER_SECONDS;
	top.turned_ns = now_ns();
	top.player = (struct ada_player){ .follows = watch->status && !at_ns, .paused = at_ns, .at_ns = at_ns, .step_ns = watch->span_ns };
	ada_player_bounds(&top.player, watch->session->start_ns, ada_scene_last_ns(watch->session), watch->status);
	look_again(&top);
	while (top.status < 0) {
		draw_top(&top);
		wait_and_turn(&top);
	}
	ada_screen_close();
	ada_trend_forget(&top.trend);
	ada_board_close(&top.board);
	ada_sheet_close(&top.sheet);
	return top.status;
}

/* What the keys of `ada top` do. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "cli/live/callers.h"
#include "cli/live/top_internal.h"
#include "cli/screen/ask.h"
#include "cli/screen/keys.h"
#include "cli/screen/reader.h"
#include "query/session/clock_view.h"

#define PATIENCE_MS 300 /* with the recorder; what it answers later is told then */
#define SPAN_MIN_NS 1000
#define SPAN_MAX_NS 1000000000000

static const struct ada_key_help keys[] = {
	{ "Functions and threads", NULL },
	{ "arrows, j k, PageUp PageDown, g G", "move" },
	{ "Tab", "from the functions to the threads and back" },
	{ "s, S", "sort by the next field, or the one before: self, calls, total, p99, max" },
	{ "/", "show only functions whose names hold this text; empty: all" },
	{ "Enter", "who calls the chosen function, in the time shown" },
	{ "columns", "those that the terminal has no room for are left out" },
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

static void say(struct ada_top *top, int result, const struct ada_error *error, const char *format, unsigned long long number)
{
	top->good = !result;
	if (result)
		top->message = *error;
	else
		snprintf(top->message.text, sizeof top->message.text, format, number);
}

static int take_filter(void *context, const char *text, struct ada_error *error)
{
	struct ada_top *top = context;

	if (strlen(text) >= sizeof top->board.filter)
		return ada_error_set(error, EINVAL, "too long");
	strcpy(top->board.filter, text);
	top->functions.cursor = 0;
	top->chosen = 0;
	return 0;
}

static void ask_filter(struct ada_top *top)
{
	struct ada_field field;

	ada_field_set(&field, top->board.filter);
	if (ada_ask("only functions with", &field, NULL, take_filter, top))
		ada_top_arrange(top);
}

static int take_time(void *context, const char *text, struct ada_error *error)
{
	struct ada_top *top = context;
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

static void ask_time(struct ada_top *top)
{
	struct ada_field field = {};

	if (ada_ask("go to (+1.5s, 50%)", &field, NULL, take_time, top))
		ada_top_look(top);
}

/* Whether there is a recorder to speak to; else says so. */
static bool can_speak(struct ada_top *top)
{
	struct ada_error error = {};

	if (!top->watch->status)
		say(top, ada_error_set(&error, ESRCH, "the session has ended: nothing can be asked of its recorder any more"), &error, "",
		    0);
	return top->watch->status;
}

/* What came of it. 0, or the recorder's refusal. */
static int tell(struct ada_top *top, struct ada_error *error)
{
	int result = ada_errand_result(top->errand, top->message.text, sizeof top->message.text, error);

	ada_errand_close(top->errand);
	top->errand = NULL;
	top->good = !result;
	return result;
}

void ada_top_hear(struct ada_top *top)
{
	struct ada_error error = {};

	if (top->errand && ada_errand_wait(top->errand, 0) && tell(top, &error))
		say(top, -EINVAL, &error, "", 0);
}

/* rule NULL: marks. A recorder that is busy answers later: keys don't wait for it. 0, or what is wrong. */
static int ask_recorder(struct ada_top *top, const char *rule, struct ada_error *error)
{
	int result;

	if (top->errand)
		return ada_error_set(error, EBUSY, "the recorder hasn't answered what it was asked before");
	result = ada_errand_begin(&top->errand, top->watch->options->session, rule, error);
	if (result)
		return result;
	if (ada_errand_wait(top->errand, PATIENCE_MS))
		return tell(top, error);
	say(top, 0, error,
	    rule ? "the recorder doesn't answer yet: the rule may come into force later" :
		   "the recorder doesn't answer yet: the mark may come later",
	    0);
	return 0;
}

static void mark_now(struct ada_top *top)
{
	struct ada_error error = {};

	if (ask_recorder(top, NULL, &error))
		say(top, -EINVAL, &error, "", 0);
}

static int take_rule(void *context, const char *text, struct ada_error *error)
{
	return ask_recorder(context, text, error);
}

static const struct ada_function_stats *chosen(const struct ada_top *top)
{
	return top->functions.cursor < top->board.rows.count ? top->board.rows.items[top->functions.cursor] : NULL;
}

static void ask_rule(struct ada_top *top)
{
	const struct ada_function_stats *function = chosen(top);
	struct ada_field field = {};
	char name[ADA_NAME_BUFFER];

	ada_ask("add a rule", &field, function ? ada_module_function(function->module, function->function_id, name) : NULL, take_rule, top);
}

static void show_callers(struct ada_top *top)
{
	const struct ada_function_stats *function = chosen(top);
	struct ada_error error = {};

	if (function && ada_callers_read(&top->watch->scene.selection,
					 &(struct ada_callee){ function->module, function->function_id, function->key }, &error))
		say(top, -EINVAL, &error, "", 0);
}

static void widen(struct ada_top *top, bool wider)
{
	uint64_t span_ns = wider ? top->watch->span_ns * 10 : top->watch->span_ns / 10;

	if (span_ns < SPAN_MIN_NS || span_ns > SPAN_MAX_NS)
		return;
	top->watch->span_ns = top->player.step_ns = span_ns;
	top->watch->live_span_ns = 0;
	ada_trend_forget(&top->trend);
	ada_top_look(top);
}

static void sort_by(struct ada_top *top, unsigned int further)
{
	top->board.sort = (enum ada_board_sort)((top->board.sort + further) % ADA_BOARD_SORTS);
	ada_top_arrange(top);
}

/* Keys that choose the moment. False: none of them. */
static bool time_key(struct ada_top *top, int key)
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
	ada_top_look(top);
	return true;
}

void ada_top_press(struct ada_top *top, int key)
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

#include "cli/screen/screen.h"
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>
#include "base/interrupt.h"
#include "base/output.h"
#include "cli/screen/keys.h"
#include <term.h> /* last: it has macros of short names */

#define ESCAPE_MS 25 /* what comes so soon behind an Escape belongs to it */

static SCREEN *screen;
static bool utf8;
static attr_t inks[ADA_INKS];

bool ada_screen_possible(void)
{
	const char *terminal = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && terminal && *terminal && strcmp(terminal, "dumb");
}

/* Without colours what differs is bold, faint or reversed: that says the same. */
static void mix_inks(void)
{
	inks[ADA_INK_STRONG] = A_BOLD;
	inks[ADA_INK_TITLE] = A_UNDERLINE;
	inks[ADA_INK_CHOSEN] = A_REVERSE;
	inks[ADA_INK_FAINT] = A_DIM;
	inks[ADA_INK_GOOD] = inks[ADA_INK_PLAIN] = A_NORMAL;
	inks[ADA_INK_BAD] = A_BOLD;
	if (!has_colors() || !ada_output_colours(STDOUT_FILENO) || start_color() == ERR || use_default_colors() == ERR)
		return;
	init_pair(1, COLOR_GREEN, -1);
	init_pair(2, COLOR_RED, -1);
	init_pair(3, COLOR_CYAN, -1);
	inks[ADA_INK_GOOD] = COLOR_PAIR(1);
	inks[ADA_INK_BAD] = COLOR_PAIR(2) | A_BOLD;
	inks[ADA_INK_TITLE] = COLOR_PAIR(3) | A_BOLD;
}

/* Asked for alone: newterm doesn't free what it has made where it fails. */
static bool is_known_terminal(void)
{
	int found;
	bool known = setupterm(NULL, STDOUT_FILENO, &found) == OK;

	if (known)
		del_curterm(cur_term);
	return known;
}

int ada_screen_open(const char *instead, struct ada_error *error)
{
	static bool registered;
	const char *terminal = getenv("TERM");

	setlocale(LC_CTYPE, "");
	utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	/* Before ncurses looks: it leaves alone the signals that are taken. */
	ada_interrupt_catch();
	screen = is_known_terminal() ? newterm(NULL, stdout, stdin) : NULL;
	if (!screen)
		return ada_error_set(error, ENOTTY, "the terminal '%s' is not known here: set TERM, or %s", terminal ? terminal : "",
				     instead);
	if (!registered)
		atexit(ada_screen_close);
	registered = true;
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	timeout(0);
	curs_set(0);
	mix_inks();
	return 0;
}

void ada_screen_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

int ada_screen_columns(void)
{
	return COLS;
}

int ada_screen_rows(void)
{
	return LINES;
}

bool ada_screen_utf8(void)
{
	return utf8;
}

/* --- keys ----------------------------------------------------------------------------------------------------------------- */

static int special(wint_t code)
{
	switch (code) {
	case KEY_UP: return ADA_KEY_UP;
	case KEY_DOWN: return ADA_KEY_DOWN;
	case KEY_LEFT: return ADA_KEY_LEFT;
	case KEY_RIGHT: return ADA_KEY_RIGHT;
	case KEY_PPAGE: return ADA_KEY_PAGE_UP;
	case KEY_NPAGE: return ADA_KEY_PAGE_DOWN;
	case KEY_HOME: return ADA_KEY_HOME;
	case KEY_END: return ADA_KEY_END;
	case KEY_BACKSPACE: return ADA_KEY_BACKSPACE;
	case KEY_DC: return ADA_KEY_DELETE;
	case KEY_BTAB: return ADA_KEY_BACK_TAB;
	case KEY_ENTER: return ADA_KEY_ENTER;
	}
	return ADA_KEY_NONE; /* KEY_RESIZE, and keys that mean nothing here */
}

static bool read_key(int *key)
{
	wint_t character = 0;

	switch (get_wch(&character)) {
	case OK:
		*key = character == 0x7f || character == '\b' ? ADA_KEY_BACKSPACE : character == '\n' ? ADA_KEY_ENTER : (int)character;
		return true;
	case KEY_CODE_YES: *key = special(character); return true;
	}
	return false;
}

int ada_screen_key(int timeout_ms)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	int key;

	refresh();
	if (read_key(&key))
		return key;
	if (ada_interrupted())
		return ADA_KEY_OVER;
	/* A signal ends the wait: of a new size ncurses then tells by a key of its own. */
	if (poll(&input, 1, timeout_ms) > 0 && !(input.revents & POLLIN))
		return ADA_KEY_OVER;
	if (ada_interrupted())
		return ADA_KEY_OVER;
	if (read_key(&key))
		return key;
	/* A terminal that has gone is readable, and nothing comes. */
	return input.revents & (POLLHUP | POLLERR) ? ADA_KEY_OVER : ADA_KEY_NONE;
}

/* --- drawing -------------------------------------------------------------------------------------------------------------- */

void ada_screen_clear(void)
{
	erase();
	curs_set(0);
}

/* How many bytes at `text` make the next character, and whether it takes one column here. */
static size_t next_character(const char *text, bool *plain)
{
	size_t length = ada_utf8_length(text);
	wchar_t wide;

	*plain = length == 1 && *text >= ' ' && *text != 0x7f;
	if (length > 1 && utf8) {
		mbstate_t state = {};

		*plain = mbrtowc(&wide, text, length, &state) == length && wcwidth(wide) == 1;
	}
	return length ? length : 1;
}

void ada_screen_put_at(int row, int column, enum ada_ink ink, const char *text)
{
	if (row < 0 || row >= LINES)
		return;
	attrset(inks[ink]);
	while (*text && column < COLS) {
		bool plain;
		size_t length = next_character(text, &plain);

		mvaddnstr(row, column++, plain ? text : "?", plain ? (int)length : 1);
		text += length;
	}
	attrset(A_NORMAL);
}

void ada_screen_put(int row, enum ada_ink ink, const char *text)
{
	if (row < 0 || row >= LINES)
		return;
	attrset(inks[ink]);
	mvhline(row, 0, ' ', COLS);
	ada_screen_put_at(row, 0, ink, text);
}

void ada_screen_hints(const char *hints)
{
	size_t room = (size_t)ada_screen_columns(), shown = 0;
	char text[256];

	for (const char *at = hints; at; at = strstr(at + 1, "  "))
		shown = (size_t)(at - hints) <= room ? (size_t)(at - hints) : shown;
	if (strlen(hints) <= room)
		shown = strlen(hints);
	snprintf(text, sizeof text, "%.*s", (int)shown, hints);
	ada_screen_put(ada_screen_rows() - 1, ADA_INK_FAINT, text);
}

void ada_screen_cursor(int row, int column)
{
	curs_set(1);
	move(row, column < COLS ? column : COLS - 1);
}

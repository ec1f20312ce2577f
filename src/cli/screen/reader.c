#include "cli/screen/reader.h"
#include <stdio.h>
#include <string.h>
#include "cli/screen/ask.h"
#include "cli/screen/keys.h"
#include "cli/screen/pane.h"
#include "cli/screen/screen.h"

#define WAIT_MS 1000
#define NARROW 60 /* columns */

struct reading {
	const char *title;
	const struct ada_sheet *sheet;
	struct ada_pane pane;
	struct ada_field search;
	const char *message;
};

static void draw_text(struct reading *reading)
{
	int rows = ada_screen_rows();

	ada_pane_fit(&reading->pane, reading->sheet->lines.count, rows > 2 ? (uint64_t)rows - 2 : 1);
	ada_screen_clear();
	ada_screen_put(0, ADA_INK_TITLE, reading->title);
	for (uint64_t i = 0; i < reading->pane.height; i++) {
		uint64_t line = reading->pane.top + i;

		ada_screen_put((int)i + 1, line == reading->pane.cursor ? ADA_INK_CHOSEN : ADA_INK_PLAIN,
			       ada_sheet_line(reading->sheet, line));
	}
	if (*reading->message)
		ada_screen_put(rows - 1, ADA_INK_FAINT, reading->message);
	else
		ada_screen_hints("q back  / search  n N next, previous");
}

static int take_any(void *context, const char *text, struct ada_error *error)
{
	return 0;
}

static void find_text(struct reading *reading, bool backwards)
{
	uint64_t count = reading->sheet->lines.count, at = reading->pane.cursor;

	for (uint64_t i = 1; i <= count && reading->search.length; i++) {
		uint64_t line = backwards ? (at + count - i) % count : (at + i) % count;

		if (strcasestr(ada_sheet_line(reading->sheet, line), reading->search.text)) {
			ada_pane_move(&reading->pane, line);
			return;
		}
	}
	reading->message = "not found";
}

void ada_read(const char *title, const struct ada_sheet *sheet)
{
	struct reading reading = { .title = title, .sheet = sheet, .message = "" };

	for (;;) {
		int key;

		draw_text(&reading);
		key = ada_screen_key(WAIT_MS);
		if (key != ADA_KEY_NONE)
			reading.message = "";
		if (key == 'q' || key == ADA_KEY_ESCAPE || key == ADA_KEY_ENTER || key == ADA_KEY_OVER)
			return;
		if (key == '/' && ada_ask("search", &reading.search, NULL, take_any, NULL))
			find_text(&reading, false);
		else if (key == 'n' || key == 'N')
			find_text(&reading, key == 'N');
		else
			ada_pane_key(&reading.pane, key == ' ' ? ADA_KEY_PAGE_DOWN : key);
	}
}

/* What the keys do stands beside them, or below where there is little room. */
static void put_key(struct ada_output *output, const struct ada_key_help *key, size_t columns)
{
	size_t indent = columns < NARROW ? 4 : 27;

	ada_output_format(output, columns < NARROW ? "  %s\n    " : "  %-24s ", key->keys);
	ada_output_wrapped(output, key->does, columns, indent, indent);
	ada_output_string(output, "\n");
}

void ada_read_keys(const char *title, const struct ada_key_help *keys)
{
	struct ada_sheet sheet = {};

	if (!ada_sheet_begin(&sheet)) {
		for (; keys->keys; keys++)
			if (keys->does)
				put_key(&sheet.output, keys, (size_t)ada_screen_columns());
			else
				ada_output_format(&sheet.output, "%s\n", keys->keys);
		if (!ada_sheet_end(&sheet))
			ada_read(title, &sheet);
	}
	ada_sheet_close(&sheet);
}

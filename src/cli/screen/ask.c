#include "cli/screen/ask.h"
#include <stdio.h>
#include <string.h>
#include "base/output.h"
#include "cli/screen/keys.h"
#include "cli/screen/screen.h"

#define WAIT_MS 1000

/* Columns of the first `bytes` of the text. */
static int width_to(const struct ada_field *field, size_t bytes)
{
	char text[ADA_FIELD_BYTES];

	bytes = bytes < field->length ? bytes : field->length;
	memcpy(text, field->text, bytes);
	text[bytes] = 0;
	return (int)ada_output_width(text);
}

static void draw_question(const char *question, const struct ada_field *field, const struct ada_error *error)
{
	int bottom = ada_screen_rows() - 1, begin = (int)ada_output_width(question) + 2;
	size_t fault = ada_field_fault(error->text);
	bool failed = *error->text;
	int row = failed ? bottom - 2 : bottom;

	ada_screen_put(row, ADA_INK_PLAIN, "");
	ada_screen_put_at(row, 0, ADA_INK_STRONG, question);
	ada_screen_put_at(row, begin - 2, ADA_INK_STRONG, ": ");
	ada_screen_put_at(row, begin, ADA_INK_PLAIN, field->text);
	if (failed) {
		ada_screen_put(bottom - 1, ADA_INK_PLAIN, "");
		ada_screen_put(bottom, ADA_INK_BAD, error->text);
		if (fault)
			ada_screen_put_at(bottom - 1, begin + width_to(field, fault - 1), ADA_INK_BAD, "^");
	}
	ada_screen_cursor(row, begin + width_to(field, field->at));
}

bool ada_ask(const char *question, struct ada_field *field, const char *offer, ada_ask_take *take, void *context)
{
	struct ada_error error = {};

	for (;;) {
		enum ada_field_state state;
		int key;

		draw_question(question, field, &error);
		key = ada_screen_key(WAIT_MS);
		if (key == ADA_KEY_TAB && offer)
			ada_field_put(field, offer);
		if (key == ADA_KEY_NONE || key == ADA_KEY_TAB)
			continue;
		state = ada_field_key(field, key);
		if (state == ADA_FIELD_LEFT)
			return false;
		if (state == ADA_FIELD_GOES_ON)
			continue;
		error = (struct ada_error){};
		if (!take(context, field->text, &error))
			return true;
	}
}

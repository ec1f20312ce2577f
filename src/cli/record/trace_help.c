/* The help of `ada trace`, which has more options than a screen has lines: those that most recordings want have their line, of the others
 * the names are told. `ada help trace` has a line for each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/ground/options.h"
#include "cli/record/trace_options.h"

static const char *const common[] = { "budget",	 "capture", "detail", "exclude",       "functions",    "index-buffer",
				      "modules", "on-full", "output", "post-roll-sec", "pre-roll-sec", "trigger" };

static bool is_common(const char *name)
{
	for (size_t i = 0; i < sizeof common / sizeof *common; i++)
		if (!strcmp(common[i], name))
			return true;
	return false;
}

static bool ends(const struct argp_option *option)
{
	return !option->name && !option->doc;
}

/* The names of the options that have no line, for argp to free; NULL: there is no memory. argp breaks the lines. */
static char *tell_others(const struct argp_option *option)
{
	const char *before = "Also";
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	for (; !ends(option); option++)
		if (option->name && !(option->flags & OPTION_HIDDEN) && !is_common(option->name)) {
			fprintf(stream, "%s --%s", before, option->name);
			before = ",";
		}
	fputs(": `ada help trace` has a line for each, ada-trace(1) explains them.", stream);
	return fclose(stream) ? NULL : text;
}

char *ada_trace_help_filter(int key, const char *text, void *input)
{
	char *others;

	if (key != ARGP_KEY_HELP_EXTRA || ada_options_whole_help)
		return (char *)text;
	others = tell_others(ada_trace_argp_whole.options);
	return others ? others : (char *)text;
}

const struct argp *ada_trace_argp(void)
{
	static struct argp_option *shown; /* for as long as the process lives, as argp wants it */
	static struct argp abridged;
	size_t count = 0;

	while (!ends(&ada_trace_argp_whole.options[count]))
		count++;
	if (!shown)
		shown = calloc(count + 1, sizeof *shown);
	if (ada_options_whole_help || !shown)
		return &ada_trace_argp_whole;
	count = 0;
	abridged = ada_trace_argp_whole;
	for (const struct argp_option *option = ada_trace_argp_whole.options; !ends(option); option++) {
		if (!option->name)
			continue;
		shown[count] = *option;
		shown[count].group = 0;
		if (!is_common(option->name))
			shown[count].flags |= OPTION_HIDDEN;
		count++;
	}
	abridged.options = shown;
	return &abridged;
}

/* driver AGENT OUTPUT [NAME=VALUE]... -- PROGRAM [ARG]...: ada_trace() with a given agent library. The options of tests are
 * those of struct ada_trace_options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "recorder/recorder.h"

static void set(struct ada_trace_options *options, const char *name, const char *value)
{
	if (!strcmp(name, "mode"))
		options->index_mode = (enum ada_index_mode)atoi(value);
	else if (!strcmp(name, "block"))
		options->on_full = atoi(value) ? ADA_ON_FULL_BLOCK : ADA_ON_FULL_DROP;
	else if (!strcmp(name, "buffer"))
		options->index_buffer_bytes = strtoull(value, NULL, 10);
	else if (!strcmp(name, "segment"))
		options->segment_bytes = strtoull(value, NULL, 10);
	else if (!strcmp(name, "follow"))
		options->follow = atoi(value);
	else
		exit(97);
}

int main(int argc, char **argv)
{
	struct ada_trace_options options = {
		.agent = argv[1], .output = argv[2], .follow = true, .libcalls = true, .index_buffer_bytes = ADA_INDEX_BUFFER_DEFAULT
	};
	struct ada_error error = { "" };
	int i = 3, status = 0;

	for (; i < argc && strcmp(argv[i], "--"); i++) {
		char *value = strchr(argv[i], '=');

		*value = 0;
		set(&options, argv[i], value + 1);
	}
	options.command = argv + i + 1;
	if (ada_trace(&options, &status, &error))
		fprintf(stderr, "ada: %s\n", error.text);
	return status;
}

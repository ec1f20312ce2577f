/* Patterns of --functions, --exclude and --modules: any text is a pattern or an error of one line, and what a name passes by one list
 * it doesn't pass with the same list excluded. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include "recorder/planning/filter.h"

#define PLACE "lua5.4+0x8870" /* of what has no name */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const char *const names[] = { "main", "_ZN3foo3barEi", "memcpy@@GLIBC_2.14", "", "_Z", "a.part.0" };
	struct ada_filter *chosen = NULL, *excluded = NULL;
	struct ada_module_filter *modules = NULL;
	struct ada_strings none = {}, list = {};
	struct ada_error error = {};
	char text[256];
	const char *item = text;
	int status;

	if (length >= sizeof text)
		return 0;
	if (length)
		memcpy(text, bytes, length);
	text[length] = 0;
	list.items = &item;
	list.count = 1;
	status = ada_filter_open(&chosen, &list, &none, &error);
	assert(status == 0 || (status == -EINVAL && *error.text && !strchr(error.text, '\n')));
	assert(ada_filter_open(&excluded, &none, &list, &error) == status);
	for (size_t i = 0; !status && i < sizeof names / sizeof *names; i++)
		assert(ada_filter_passes(chosen, names[i], PLACE) != ada_filter_passes(excluded, names[i], PLACE));
	assert(ada_module_filter_open(&modules, &list, &error) == status);
	ada_module_filter_means(modules, "/usr/lib/x86_64-linux-gnu/libc.so.6");
	ada_module_filter_close(modules);
	ada_filter_close(chosen);
	ada_filter_close(excluded);
	return 0;
}

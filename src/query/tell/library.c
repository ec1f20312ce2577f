/* Where a story ends in a library whose own functions were not recorded: what to record next. */
#include <errno.h>
#include <string.h>
#include "query/tell/tell.h"

/* Those that all programs have, and whose functions a reader knows by their names. */
static bool is_everywhere(const char *name)
{
	static const char *const names[] = { "libc.so",	 "libm.so",    "libpthread.so", "libdl.so",    "librt.so",
					     "ld-linux", "linux-vdso", "libstdc++.so",	"libgcc_s.so", "[vdso]" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

/* False: it was told already, or there is no memory. */
static bool is_first(struct ada_story *story, const struct ada_module *module)
{
	for (size_t i = 0; i < story->libraries.count; i++)
		if (story->libraries.items[i] == module)
			return false;
	if (ada_array_push(&story->libraries, module))
		story->result = -ENOMEM;
	return !story->result;
}

void ada_narrate_library(struct ada_story *story, const struct ada_process *process, uint64_t function_id)
{
	struct ada_module *module = ada_process_module(process, function_id);
	const char *name = module ? ada_module_name(module) : NULL, *suffix = name ? strstr(name, ".so") : NULL;
	char function[ADA_WORDS_NAME];

	if (!suffix || ada_process_traces(process, function_id) || is_everywhere(name) || !is_first(story, module))
		return;
	ada_narrate_say(story, "library",
			"What %s does is not recorded: it is a function of %s; `ada trace --modules='%.*s.so*'` records that library's own "
			"functions, too.",
			ada_words_function(story, process, function_id, function), name, (int)(suffix - name), name);
	ada_narrate_cite_file(story, process, "manifest.json", "modules[%u].traced", ADA_FUNCTION_MODULE(function_id));
}

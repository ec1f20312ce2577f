/* Where a story ends in a library whose own functions were not recorded: what to record next. */
#include <errno.h>
#include <string.h>
#include "query/tell/tell.h"

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
	char function[ADA_WORDS_NAME], glob[ADA_LIBRARY_GLOB];

	if (!module || !ada_module_is_library(module, glob) || ada_process_traces(process, function_id) || !is_first(story, module))
		return;
	ada_narrate_say(story, "library",
			"What %s does is not recorded: it is a function of %s; `ada trace --modules='%s'` records that library's own "
			"functions, too.",
			ada_words_function(story, process, function_id, function), ada_module_name(module), glob);
	ada_narrate_cite_file(story, process, "manifest.json", "modules[%u].traced", ADA_FUNCTION_MODULE(function_id));
}

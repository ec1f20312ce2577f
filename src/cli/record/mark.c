/* ada mark [SESSION] [LABEL]: a manual trigger. */
#include <stdio.h>
#include "cli/ground/answer.h"
#include "cli/ground/live.h"
#include "cli/record/commands.h"

static const struct ada_usage usage = {
	"[SESSION] [LABEL]",
	"Marks this moment in a session that is being recorded: the detail around it is kept."
	"\vThe session's policy must have a rule `manual`, as it has by default. LABEL is noted with the mark.",
};

int ada_cmd_mark(int argc, char **argv)
{
	struct ada_options options = {};
	struct ada_live live;
	struct ada_error error = { "" };
	const char *label;
	uint64_t processes;

	ada_options_take(&options, &usage, argc, argv);
	ada_options_session(&options);
	label = ada_options_word(&options);
	ada_options_end(&options);
	if (ada_live_find(&live, options.session, &error))
		return ada_answer_fail(argv[0], &error);
	if (ada_live_mark(&live, label, &processes, &error))
		return ada_answer_fail(argv[0], &error);
	printf("marked in %llu process%s\n", (unsigned long long)processes, processes == 1 ? "" : "es");
	return 0;
}

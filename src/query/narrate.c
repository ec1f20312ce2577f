/* Narratives: which sections there are. */
#include "query/narrate.h"
#include <stdlib.h>

int ada_narrate(struct ada_narrative *narrative, const struct ada_selection *selection,
		const struct ada_narrate_options *options, struct ada_error *error)
{
	*narrative = (struct ada_narrative){ .session = selection->session };
	narrative->completeness = ada_session_completeness(selection->session);
	return 0;
}

void ada_narrative_free(struct ada_narrative *narrative)
{
	for (size_t i = 0; i < narrative->sections.count; i++) {
		struct ada_section *section = &narrative->sections.items[i];

		for (size_t j = 0; j < section->sentences.count; j++) {
			free(section->sentences.items[j].text);
			ada_array_free(&section->sentences.items[j].evidence);
		}
		ada_array_free(&section->sentences);
		free(section->title);
	}
	ada_array_free(&narrative->sections);
}

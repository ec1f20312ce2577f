/* Narratives as text, Markdown and JSON. */
#include "query/narrate.h"

void ada_narrative_print(struct ada_output *output, const struct ada_narrative *narrative, enum ada_narrative_format format)
{
	if (format == ADA_NARRATIVE_JSON)
		ada_output_string(output, "\"rows\": [],\n");
}

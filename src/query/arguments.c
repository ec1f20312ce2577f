/* See arguments.h. */
#include "query/arguments.h"

int ada_arguments_decode(struct ada_arguments *arguments, const struct ada_thread *thread, const struct atf_detail *record)
{
	*arguments = (struct ada_arguments){};
	return 0;
}

char *ada_arguments_text(const struct ada_arguments *arguments)
{
	return NULL;
}

void ada_arguments_json(struct ada_output *output, const struct ada_arguments *arguments)
{
	ada_output_string(output, "[]");
}

void ada_arguments_free(struct ada_arguments *arguments)
{
}

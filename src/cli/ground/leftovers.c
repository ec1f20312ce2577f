#include "cli/ground/leftovers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "base/quote.h"
#include "base/units.h"
#include "cli/ground/rows.h"
#include "recover/leftovers.h"

enum field { WHAT, BYTES, PATH, SESSION, REMOVED, FIELDS };

static const struct ada_column columns[FIELDS] = {
	[WHAT] = { "what", "WHAT", ADA_CELL_TEXT },	[BYTES] = { "bytes", "BYTES", ADA_CELL_NUMBER },
	[PATH] = { "path", "PATH", ADA_CELL_NAME },	[SESSION] = { "session", "SESSION", ADA_CELL_NAME },
	[REMOVED] = { "removed", NULL, ADA_CELL_BOOL },
};

static void say_count(struct ada_output *output, size_t count, size_t removed, bool purge)
{
	if (!count) {
		ada_output_string(output, "No dead recorder left anything.\n");
		return;
	}
	ada_output_u64(output, purge ? removed : count);
	ada_output_string(output, purge ? " removed.\n" :
					  " left by dead recorders: `ada recover SESSION` saves what is in memory, "
					  "`ada recover --purge` removes all.\n");
}

int ada_recover_leftovers(const char *command, enum ada_format format, bool purge)
{
	static struct ada_output output;
	struct ada_leftovers leftovers = { .dead = { .items = NULL } };
	size_t removed = 0;
	struct ada_rows rows;
	int status;

	if (ada_leftovers_find(&leftovers)) {
		fprintf(stderr, "%s: out of memory\n", command);
		return ADA_EXIT_FAILED;
	}
	ada_output_open(&output, STDOUT_FILENO);
	ada_output_string(&output, format == ADA_FORMAT_JSON ? "{" : "");
	ada_rows_open(&rows, &output, format, "rows", columns, FIELDS);
	for (size_t i = 0; i < leftovers.dead.count; i++) {
		const struct ada_leftover *leftover = &leftovers.dead.items[i];
		bool gone = purge && ada_leftover_remove(leftover);

		removed += gone;
		if (purge && !gone)
			fprintf(stderr, "%s: %s could not be removed\n", command, leftover->path);
		ada_rows_add(&rows, (const struct ada_cell[FIELDS]){
					    [WHAT] = { .text = leftover->memory ? "memory" : "sockets" },
					    [BYTES] = { .number = leftover->bytes },
					    [PATH] = { .text = leftover->path },
					    [SESSION] = { .text = leftover->session, .absent = !*leftover->session },
					    [REMOVED] = { .number = gone },
				    });
	}
	ada_rows_close(&rows);
	if (format == ADA_FORMAT_JSON)
		ada_output_string(&output, purge ? "\"purged\": true}\n" : "\"purged\": false}\n");
	else if (format == ADA_FORMAT_TEXT)
		say_count(&output, leftovers.dead.count, removed, purge);
	status = ada_output_finish(&output, command);
	if (purge && removed < leftovers.dead.count)
		status = ADA_EXIT_FAILED;
	ada_array_free(&leftovers.dead);
	return status;
}

static bool lies_in(const char *session, const char *place)
{
	size_t length = strlen(place);

	return !strncmp(session, place, length) && (!session[length] || session[length] == '/');
}

void ada_leftovers_notice(const char *near)
{
	struct ada_leftovers leftovers = { .dead = { .items = NULL } };
	const struct ada_leftover *memory = NULL;
	char size[ADA_UNITS_TEXT], place[PATH_MAX], *session;
	bool known = realpath(near, place);

	if (ada_leftovers_find(&leftovers))
		return;
	for (size_t i = 0; i < leftovers.dead.count && !memory; i++) {
		const struct ada_leftover *leftover = &leftovers.dead.items[i];

		if (leftover->memory && (!leftover->young || (known && lies_in(leftover->session, place))))
			memory = leftover;
	}
	session = memory && *memory->session ? ada_quote_argument(memory->session) : NULL;
	if (session)
		fprintf(stderr, "ada: a recorder that died left %s bytes of shared memory: `ada recover %s` saves what is in it\n",
			ada_format_count(memory->bytes, size), session);
	else if (memory)
		fprintf(stderr, "ada: a recorder that died left %s bytes of shared memory: `ada recover --list` names them\n",
			ada_format_count(memory->bytes, size));
	free(session);
	ada_array_free(&leftovers.dead);
}

#include "query/noted/noted.h"
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"

#define LOOKS_MAX 4096
#define ENDS_TOLD 3

static bool read_looks(struct ada_noted *noted)
{
	const json_object *list = ada_json_get(noted->document, "looks");
	uint64_t last_ns = 0;

	if (strcmp(ada_json_text(noted->document, "format", ""), "ada-descriptors") || !json_object_is_type(list, json_type_array) ||
	    !json_object_is_type(ada_json_get(noted->document, "descriptors"), json_type_array))
		return false;
	for (size_t i = 0; i < ada_json_length(list) && i < LOOKS_MAX; i++) {
		const json_object *entry = json_object_array_get_idx(list, i);
		struct ada_noted_look look = { ada_json_u64(entry, "startNs", 0), ada_json_u64(entry, "endNs", 0) };

		if (look.start_ns < last_ns || look.end_ns < look.start_ns || ada_array_push(&noted->looks, look))
			return false;
		last_ns = look.end_ns;
	}
	return true;
}

struct ada_noted *ada_noted_open(const struct ada_process *process)
{
	struct ada_noted *noted;
	struct ada_error error = { "" };
	char path[PATH_MAX];

	if (ada_path(path, "%s/descriptors.json", process->path))
		return NULL;
	noted = calloc(1, sizeof *noted);
	if (!noted)
		return NULL;
	noted->process = process;
	if (!ada_json_read(&noted->document, path, &error) && read_looks(noted))
		return noted;
	ada_noted_close(noted);
	return NULL;
}

void ada_noted_close(struct ada_noted *noted)
{
	if (!noted)
		return;
	json_object_put(noted->document);
	ada_array_free(&noted->looks);
	free(noted);
}

const json_object *ada_noted_at(const struct ada_noted *noted, const struct ada_noted_look *look, uint64_t descriptor)
{
	const json_object *list = ada_json_get(noted->document, "descriptors"), *found = NULL;

	for (size_t i = 0; i < ada_json_length(list); i++) {
		const json_object *lead = json_object_array_get_idx(list, i);

		if (ada_json_u64(lead, "fd", UINT64_MAX) != descriptor || ada_json_u64(lead, "fromNs", UINT64_MAX) > look->start_ns ||
		    ada_json_u64(lead, "toNs", 0) < look->end_ns)
			continue;
		if (found) /* it can't be both */
			return NULL;
		found = lead;
	}
	return found;
}

/* --- in words -------------------------------------------------------------------------------------------------------------- */

/* The image of that process which was recorded at the time; NULL: none. */
static const struct ada_process *process_at(const struct ada_noted *noted, uint64_t pid, uint64_t ns)
{
	const struct ada_session *session = noted->process->session;
	const struct ada_process *found = NULL;

	for (size_t i = 0; i < session->processes.count; i++) {
		const struct ada_process *process = session->processes.items[i];

		if (process->pid == pid && ada_json_u64(process->manifest, "startNs", 0) <= ns)
			found = process;
	}
	return found;
}

static void put_ends(FILE *stream, const struct ada_noted *noted, const json_object *lead)
{
	const json_object *ends = ada_json_get(lead, "ends");
	size_t count = ada_json_length(ends);

	fprintf(stream, " whose other end%s", count > 1 ? "s are" : " is");
	for (size_t i = 0; i < count && i < ENDS_TOLD; i++) {
		const json_object *end = json_object_array_get_idx(ends, i);
		uint64_t pid = ada_json_u64(end, "pid", 0);
		const struct ada_process *process = process_at(noted, pid, ada_json_u64(lead, "toNs", 0));

		fprintf(stream, "%s descriptor %" PRIu64, !i ? "" : i + 1 == count ? " and" : ",", ada_json_u64(end, "fd", 0));
		if (process == noted->process)
			fputs(" of the same process", stream);
		else if (process)
			fprintf(stream, " of %s", process->directory);
		else
			fprintf(stream, " of process %" PRIu64, pid);
	}
	if (count > ENDS_TOLD)
		fprintf(stream, " and %zu more", count - ENDS_TOLD);
}

static void put_socket(FILE *stream, const struct ada_noted *noted, const json_object *lead)
{
	const char *peer = ada_json_text(lead, "peer", NULL), *local = ada_json_text(lead, "local", NULL);
	bool accepted = ada_json_bool(lead, "accepted", false), ends = ada_json_length(ada_json_get(lead, "ends"));

	if (peer && ada_json_bool(lead, "listens", false))
		peer = NULL;
	if (peer)
		fprintf(stream, "a connection %s %s", accepted ? "from" : "with", peer);
	else if (ada_json_bool(lead, "listens", false) && local)
		fprintf(stream, "a socket that listens at %s", local);
	else if (accepted && local)
		fprintf(stream, "a connection accepted at %s", local);
	else if (local)
		fprintf(stream, "a socket at %s", local);
	else if (ends)
		fputs("a socket", stream);
	if (ends)
		put_ends(stream, noted, lead);
}

static void put_anonymous(FILE *stream, const char *name)
{
	static const char *const names[][2] = {
		{ "[eventpoll]", "an epoll instance" }, { "[eventfd]", "an eventfd" },	      { "[timerfd]", "a timer" },
		{ "[signalfd]", "a signalfd" },		{ "inotify", "an inotify instance" }, { "[pidfd]", "a pidfd" },
		{ "[io_uring]", "an io_uring" }
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i][0]))
			fputs(names[i][1], stream);
}

char *ada_noted_text(const struct ada_noted *noted, const json_object *lead)
{
	const char *kind = ada_json_text(lead, "kind", "");
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	if (!strcmp(kind, "file"))
		fputs(ada_json_text(lead, "path", ""), stream);
	else if (!strcmp(kind, "socket"))
		put_socket(stream, noted, lead);
	else if (!strcmp(kind, "anonymous"))
		put_anonymous(stream, ada_json_text(lead, "name", ""));
	else if (!strcmp(kind, "pipe") && ada_json_length(ada_json_get(lead, "ends"))) {
		fputs("a pipe", stream);
		put_ends(stream, noted, lead);
	} else if (!strcmp(kind, "pipe"))
		fputs("a pipe", stream);
	if (fclose(stream) || !*text) {
		free(text);
		return NULL;
	}
	return text;
}

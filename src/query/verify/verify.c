/* Checks of a session: the JSON files and the sums. Checksums: bytes.c; the threads' files: thread.c, detail.c. */
#include "query/verify/verify.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "query/verify/muted.h"

void ada_verify_found(struct ada_verify *verify, const char *file, const char *check, bool ok, const char *format, ...)
{
	char message[PATH_MAX + 512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	verify->checks++;
	verify->failures += !ok;
	verify->found(verify->context, &(struct ada_finding){ file, check, ok, message });
}

/* Counter and ns of the anchors never fall: else two events could change places. */
static void verify_clock(struct ada_verify *verify, const char *file, const json_object *document)
{
	const json_object *anchors = ada_json_get(ada_json_get(document, "clock"), "anchors");
	uint64_t counter = 0, ns = 0;

	for (size_t i = 0; i < ada_json_length(anchors); i++) {
		const json_object *anchor = json_object_array_get_idx(anchors, i);

		if (ada_json_u64(anchor, "counter", 0) < counter || ada_json_u64(anchor, "ns", 0) < ns) {
			ada_verify_found(verify, file, "clock", false, "anchor %zu lies before the one in front of it", i);
			return;
		}
		counter = ada_json_u64(anchor, "counter", 0);
		ns = ada_json_u64(anchor, "ns", 0);
	}
	ada_verify_found(verify, file, "clock", true, "%s", "");
}

/* A number of one document against the same number of another. */
static void verify_number(struct ada_verify *verify, const char *file, const char *check, uint64_t says, uint64_t is)
{
	if (says == is)
		ada_verify_found(verify, file, check, true, "%s", "");
	else
		ada_verify_found(verify, file, check, false, "says %" PRIu64 " where there are %" PRIu64, says, is);
}

static uint64_t sum(const json_object *array, const char *key)
{
	uint64_t total = 0;

	for (size_t i = 0; i < ada_json_length(array); i++)
		total += ada_json_u64(json_object_array_get_idx(array, i), key, 0);
	return total;
}

static void verify_manifest(struct ada_verify *verify, const struct ada_process *process)
{
	const json_object *threads = ada_json_get(process->manifest, "threads");
	const json_object *lane = ada_json_get(process->manifest, "index_lane");
	char file[PATH_MAX];

	ada_path(file, "%s/manifest.json", process->directory);
	if (!process->manifest) {
		ada_verify_found(verify, file, "manifest", false, "missing or not JSON");
		return;
	}
	if (strcmp(ada_json_text(process->manifest, "format", ""), "ada-manifest"))
		ada_verify_found(verify, file, "manifest", false, "format is not ada-manifest");
	else if (!process->finalized)
		ada_verify_found(verify, file, "manifest", true, "not finalized: still being recorded, or left by a crash");
	else
		ada_verify_found(verify, file, "manifest", true, "%s", "");
	ada_verify_seal(verify, process->path, "manifest.json", file, process->manifest);
	verify_clock(verify, file, process->manifest);
	verify_number(verify, file, "events", ada_json_u64(lane, "event_count", 0), sum(threads, "events"));
	verify_number(verify, file, "lost", ada_json_u64(lane, "lost", 0), sum(threads, "lost"));
	ada_verify_tables(verify, process);
	ada_verify_descriptors(verify, process);
}

/* Holds what session.json says of a process against its manifest, where neither changes any more. */
static void verify_entry(struct ada_verify *verify, const json_object *entry)
{
	const char *directory = ada_json_text(entry, "directory", "");
	const struct ada_session *session = verify->session;

	for (size_t i = 0; i < session->processes.count; i++) {
		const struct ada_process *process = session->processes.items[i];
		const json_object *lane = ada_json_get(process->manifest, "index_lane");
		char check[64];

		if (strcmp(process->directory, directory) || !process->finalized)
			continue;
		snprintf(check, sizeof check, "events of %.40s", directory);
		verify_number(verify, "session.json", check, ada_json_u64(entry, "events", 0), ada_json_u64(lane, "event_count", 0));
		snprintf(check, sizeof check, "lost of %.40s", directory);
		verify_number(verify, "session.json", check, ada_json_u64(entry, "lost", 0), ada_json_u64(lane, "lost", 0));
	}
}

/* session.json lies in the directory above where the user asked for a pid directory. */
static void verify_seal_of_session(struct ada_verify *verify)
{
	const struct ada_session *session = verify->session;
	bool is_process = session->processes.count == 1 && !strcmp(session->processes.items[0]->path, session->path);
	char directory[PATH_MAX];

	if (!ada_path(directory, is_process ? "%s/.." : "%s", session->path))
		ada_verify_seal(verify, directory, "session.json", "session.json", session->document);
}

static void verify_document(struct ada_verify *verify)
{
	const struct ada_session *session = verify->session;
	const json_object *processes = ada_json_get(session->document, "processes");

	if (!session->document) {
		/* A pid directory alone, away from its session, is fine. */
		if (session->processes.count != 1 || strcmp(session->processes.items[0]->path, session->path))
			ada_verify_found(verify, "session.json", "session", false, "missing or not JSON");
		return;
	}
	if (strcmp(ada_json_text(session->document, "format", ""), "ada-session"))
		ada_verify_found(verify, "session.json", "session", false, "format is not ada-session");
	else if (!ada_json_bool(session->document, "finalized", false))
		ada_verify_found(verify, "session.json", "session", true, "not finalized: still being recorded, or left by a crash");
	else
		ada_verify_found(verify, "session.json", "session", true, "%s", "");
	verify_seal_of_session(verify);
	verify_clock(verify, "session.json", session->document);
	for (size_t i = 0; ada_json_bool(session->document, "finalized", false) && i < ada_json_length(processes); i++)
		verify_entry(verify, json_object_array_get_idx(processes, i));
}

static int verify_process(struct ada_verify *verify, const struct ada_process *process)
{
	struct ada_verify_mutes mutes;
	int result;

	verify_manifest(verify, process);
	result = ada_verify_mutes_open(&mutes, verify, process);
	verify->mutes = &mutes;
	for (size_t i = 0; i < process->thread_count && !result; i++)
		result = ada_verify_thread(verify, &verify->session->threads.items[process->first_thread + i]);
	verify->mutes = NULL;
	if (!result)
		ada_verify_mutes_tell(&mutes, verify, process);
	ada_verify_mutes_close(&mutes);
	return result ? result : ada_verify_windows(verify, process);
}

int ada_verify_session(struct ada_verify *verify, struct ada_error *error)
{
	const struct ada_session *session = verify->session;
	int result = 0;

	for (size_t i = 0; i < session->problems.count; i++)
		ada_verify_found(verify, ".", "readable", false, "%s", session->problems.items[i]);
	verify_document(verify);
	ada_verify_sched(verify);
	for (size_t i = 0; i < session->processes.count && !result; i++)
		result = verify_process(verify, session->processes.items[i]);
	return result ? ada_error_system(error, -result, "%s", session->path) : 0;
}

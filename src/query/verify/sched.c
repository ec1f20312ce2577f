/* The files of the lanes sched and samples, by themselves and against session.json. */
#include <inttypes.h>
#include <limits.h>
#include <unistd.h>
#include "atf/sched/sched_list.h"
#include "base/file.h"
#include "query/verify/verify.h"

/* What is true once nobody writes the file any more. */
static void verify_finished(struct ada_verify *verify, const char *path, const char *file, const char *lane, uint64_t *events)
{
	struct atf_message message;
	struct atf_sched *sched;
	uint64_t count;

	if (!ada_json_bool(verify->session->document, "finalized", false) || atf_sched_open(&sched, path, &message))
		return;
	/* The disk may have had no room for its end: then session.json says so. */
	ada_verify_found(verify, file, "finished",
			 atf_sched_completeness(sched) == ATF_COMPLETE ||
				 ada_json_get(ada_json_get(verify->session->document, lane), "reason"),
			 "%s", message.text);
	atf_sched_events(sched, &count);
	*events += count;
	atf_sched_close(sched);
}

static void verify_file(struct ada_verify *verify, const char *file, const char *lane, uint64_t *events)
{
	struct ada_verify_file context = { .verify = verify, .file = file };
	char path[PATH_MAX];
	int result;

	if (ada_path(path, "%s/%s", verify->session->path, file))
		return;
	do {
		ada_verify_file_begin(&context);
		result = atf_sched_verify(path, ada_verify_file_found, &context);
		if (result < 0)
			ada_verify_file_found(&context, "readable", false, atf_error_text(result));
	} while (ada_verify_file_again(&context));
	if (result >= 0)
		verify_finished(verify, path, file, lane, events);
}

/* Each begins where the one before has ended. */
static void verify_list(struct ada_verify *verify, const struct atf_sched_names *names, const char *lane)
{
	struct atf_message message;
	struct atf_sched_list *list;
	uint64_t last_ns = 0, count;
	bool falls = false;

	if (names->missing)
		ada_verify_found(verify, lane, "readable", false,
				 "%" PRIu32 " files of %s.%" PRIu32 ".atf to %s.%" PRIu32 ".atf are missing", names->missing, lane,
				 names->first, lane, names->end - 1);
	if (names->plain || names->missing || atf_sched_list_open(&list, verify->session->path, lane, &message))
		return;
	count = atf_sched_list_count(list);
	for (uint64_t i = 0; i < count && !falls; i++) {
		falls = atf_sched_list_at(list, i)->timestamp_ns < last_ns;
		last_ns = atf_sched_list_at(list, i)->timestamp_ns;
	}
	ada_verify_found(verify, lane, "order", !falls, "times fall from one file to the next");
	atf_sched_list_close(list);
}

/* Those that windows keep have left the list before its first. */
static void verify_kept(struct ada_verify *verify, const struct atf_sched_names *names, const char *lane, uint64_t *events)
{
	atf_sched_numbers kept;
	char file[NAME_MAX], path[PATH_MAX];
	int status = names->plain ? 0 : atf_sched_kept_find(&kept, verify->session->path, lane);

	if (names->plain)
		return;
	if (status)
		ada_verify_found(verify, lane, "readable", false, "%s", atf_error_text(status));
	for (size_t i = 0; i < kept.count; i++) {
		atf_sched_kept_name(file, lane, kept.items[i]);
		if (!ada_path(path, "%s/%s", verify->session->path, file) && !access(path, F_OK))
			verify_file(verify, file, lane, events);
		if (kept.items[i] >= names->first && ada_json_bool(verify->session->document, "finalized", false))
			ada_verify_found(verify, file, "order", false, "its number is of the list %s.%" PRIu32 ".atf to %s.%" PRIu32 ".atf",
					 lane, names->first, lane, names->end - 1);
	}
	ada_array_free(&kept);
}

static void verify_lane(struct ada_verify *verify, const char *lane)
{
	const json_object *document = verify->session->document, *said = ada_json_get(document, lane);
	uint64_t events = 0, claimed = ada_json_u64(said, "events", 0);
	struct atf_sched_names names;
	char file[NAME_MAX], path[PATH_MAX];

	if (!atf_sched_names_find(&names, verify->session->path, lane)) {
		/* A process's directory has none of its own. */
		if (ada_json_bool(said, "recorded", false) && !ada_path(path, "%s/session.json", verify->session->path) &&
		    !access(path, F_OK))
			ada_verify_found(verify, lane, "readable", false, "%s.atf is missing, and session.json says that it was recorded",
					 lane);
		return;
	}
	verify_kept(verify, &names, lane, &events);
	for (uint32_t i = names.first; i < names.end; i++) {
		atf_sched_name(file, &names, lane, i);
		if (!ada_path(path, "%s/%s", verify->session->path, file) && !access(path, F_OK)) /* it may have gone meanwhile */
			verify_file(verify, file, lane, &events);
	}
	if (!ada_json_bool(document, "finalized", false))
		return;
	verify_list(verify, &names, lane);
	/* What wrote session.json for a recorder that died may know less. */
	if (!ada_json_get(document, "recovered") && events != claimed)
		ada_verify_found(verify, "session.json", lane, false, "says %" PRIu64 " records where there are %" PRIu64, claimed, events);
}

void ada_verify_sched(struct ada_verify *verify)
{
	verify_lane(verify, "sched");
	verify_lane(verify, "samples");
}

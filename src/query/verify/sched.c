/* sched.atf and samples.atf, by themselves and against session.json. */
#include <inttypes.h>
#include <limits.h>
#include <unistd.h>
#include "atf/sched/sched.h"
#include "base/file.h"
#include "query/verify/verify.h"

/* What session.json says of the file, where nobody writes it any more. */
static void verify_said(struct ada_verify *verify, const char *path, const char *file, const char *field)
{
	const json_object *document = verify->session->document, *said = ada_json_get(document, field);
	uint64_t events = ada_json_u64(said, "events", 0), count;
	struct atf_message message;
	struct atf_sched *sched;

	if (!ada_json_bool(document, "finalized", false) || atf_sched_open(&sched, path, &message))
		return;
	/* The disk may have had no room for its end: then session.json says so. */
	ada_verify_found(verify, file, "finished", atf_sched_completeness(sched) == ATF_COMPLETE || ada_json_get(said, "reason"), "%s",
			 message.text);
	atf_sched_events(sched, &count);
	/* What wrote session.json for a recorder that died may know less. */
	if (!ada_json_get(document, "recovered") && events != count)
		ada_verify_found(verify, "session.json", field, false, "says %" PRIu64 " records where there are %" PRIu64, events, count);
	atf_sched_close(sched);
}

static void verify_one(struct ada_verify *verify, const char *file, const char *field)
{
	const struct ada_session *session = verify->session;
	bool recorded = ada_json_bool(ada_json_get(session->document, field), "recorded", false);
	struct ada_verify_file context = { .verify = verify, .file = file };
	char path[PATH_MAX];
	int result;

	if (ada_path(path, "%s/%s", session->path, file))
		return;
	if (access(path, F_OK)) {
		/* A process's directory has none of its own. */
		if (recorded && !ada_path(path, "%s/session.json", session->path) && !access(path, F_OK))
			ada_verify_found(verify, file, "readable", false, "is missing, and session.json says that it was recorded");
		return;
	}
	do {
		ada_verify_file_begin(&context);
		result = atf_sched_verify(path, ada_verify_file_found, &context);
		if (result < 0)
			ada_verify_file_found(&context, "readable", false, atf_error_text(result));
	} while (ada_verify_file_again(&context));
	if (result >= 0)
		verify_said(verify, path, file, field);
}

void ada_verify_sched(struct ada_verify *verify)
{
	verify_one(verify, "sched.atf", "sched");
	verify_one(verify, "samples.atf", "samples");
}
